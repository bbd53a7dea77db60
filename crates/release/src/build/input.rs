//! Input image streams: which image each tag stands for.
//!
//! A stream of a cluster says where its images came from (`spec`) and what was imported (`status`); a stream without a
//! status is a plain list and is taken as it stands.

use serde_json::Value;

use super::loose::{get, path, text};
use super::stream::{DOCKER_IMAGE, Stream, Tag, read_tags, read_value};
use crate::reference::PullSpec;

/// Which pull spec of an image is recorded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ReferenceMode {
    /// The public repository of the stream.
    #[default]
    Public,
    /// Where the image came from.
    Source,
}

/// Reads an image stream file and finds the image of each tag.
pub fn read(bytes: &[u8], mode: ReferenceMode, is_excluded: impl Fn(&str) -> bool) -> Result<Stream, String> {
    let (value, _) = read_value(bytes).map_err(|error| {
        format!(
            "unrecognized input image stream file, must be an ImageStream in image.openshift.io/v1: {error}"
        )
    })?;
    let mut stream =
        Stream::read(bytes).map_err(|error| format!("unable to load input image stream file: {error}"))?;
    let spec =
        read_tags(&value).map_err(|error| format!("unable to load input image stream file: {error}"))?;
    let status = Status::of(&value);
    stream.tags.clear();
    for tag in spec.into_iter().filter(|tag| !is_excluded(&tag.name)) {
        if let Some(image) = of_spec(&tag, &status, mode)? {
            stream.tags.push(with_image(tag, &image));
        }
    }
    for name in status.names().filter(|name| !is_excluded(name)) {
        if stream.tag(name).is_none()
            && let Some(image) = status.image(name, None, mode)?
        {
            stream.tags.push(Tag::image(name, &image));
        }
    }
    stream.sort();
    Ok(stream)
}

fn with_image(tag: Tag, image: &str) -> Tag {
    let plain = Tag::image(&tag.name, image);
    Tag { from: plain.from, generation: None, ..tag }
}

/// The image of a tag of the specification; nothing leaves it to the status.
fn of_spec(tag: &Tag, status: &Status<'_>, mode: ReferenceMode) -> Result<Option<String>, String> {
    let own = tag.from.as_ref().filter(|from| from.kind == DOCKER_IMAGE).map(|from| from.name.as_str());
    let by_digest = own.filter(|own| PullSpec::parse(own).is_ok_and(|spec| spec.digest.is_some()));
    if status.tags.is_empty() {
        return match (by_digest, own) {
            (Some(own), _) => Ok(Some(own.to_owned())),
            (None, Some(own)) if status.is_missing => Ok(Some(own.to_owned())),
            _ => Err(not_imported(&tag.name)),
        };
    }
    if let (Some(wanted), Some(reached)) = (tag.generation, status.generation(&tag.name)) {
        if wanted > reached {
            return Err(not_imported(&tag.name));
        }
        return status.image(&tag.name, own, mode);
    }
    match by_digest {
        Some(own) => Ok(Some(own.to_owned())),
        None => status.image(&tag.name, own, mode),
    }
}

fn not_imported(tag: &str) -> String {
    format!("the tag {tag:?} in the source input stream has not been imported yet")
}

/// What a cluster imported.
struct Status<'a> {
    is_missing: bool,
    tags: Vec<&'a Value>,
    public: &'a str,
    internal: &'a str,
}

// === impl Status ===

impl<'a> Status<'a> {
    fn of(stream: &'a Value) -> Self {
        let status = get(stream, "status");
        Self {
            is_missing: path(status, &["tags"]).is_null(),
            tags: get(status, "tags").as_array().into_iter().flatten().collect(),
            public: text(status, "publicDockerImageRepository"),
            internal: text(status, "dockerImageRepository"),
        }
    }

    fn names(&self) -> impl Iterator<Item = &'a str> {
        self.tags.iter().map(|tag| text(tag, "tag"))
    }

    fn newest(&self, name: &str) -> Option<&'a Value> {
        let tag = self.tags.iter().find(|tag| text(tag, "tag") == name)?;
        get(tag, "items").as_array()?.first()
    }

    fn generation(&self, name: &str) -> Option<i64> {
        get(self.newest(name)?, "generation").as_i64()
    }

    fn has_failed(&self, name: &str) -> bool {
        let tag = self.tags.iter().find(|tag| text(tag, "tag") == name);
        let conditions = tag.and_then(|tag| get(tag, "conditions").as_array()).into_iter().flatten();
        conditions.into_iter().any(|it| text(it, "type") == "ImportSuccess" && text(it, "status") == "False")
    }

    /// The imported image of a tag; nothing when there is none and nobody tried.
    fn image(&self, name: &str, own: Option<&str>, mode: ReferenceMode) -> Result<Option<String>, String> {
        let Some(item) = self.newest(name) else {
            return if self.has_failed(name) || own.is_some() { Err(not_imported(name)) } else { Ok(None) };
        };
        let image = text(item, "image");
        if image.is_empty() {
            return match own {
                Some(_) => Err(format!("the tag {name:?} in the source input stream has no image id")),
                None => Ok(None),
            };
        }
        let source = text(item, "dockerImageReference");
        let is_internal = !self.internal.is_empty()
            && source.starts_with(self.internal.split('/').next().unwrap_or_default());
        if mode == ReferenceMode::Source && !source.is_empty() && !is_internal {
            let spec = PullSpec::parse(source).map_err(|error| error.to_string())?;
            return Ok(Some(format!("{}@{image}", spec.name())));
        }
        if self.public.is_empty() {
            return Err("only image streams or releases with public image repositories can be the source for releases \
                        when using the default --reference-mode"
                .to_owned());
        }
        Ok(Some(format!("{}@{image}", self.public)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const DIGEST: &str = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    fn images(spec: &Value, status: &Value, mode: ReferenceMode) -> Result<Vec<String>, String> {
        let stream = json!({"kind": "ImageStream", "apiVersion": "image.openshift.io/v1", "metadata": {"name": "s"},
            "spec": {"tags": spec}, "status": status});
        let found = read(stream.to_string().as_bytes(), mode, |name| name == "excluded")?;
        let text = |tag: &Tag| format!("{} {}", tag.name, tag.pull_spec().unwrap_or_default());
        Ok(found.tags.iter().map(text).collect())
    }

    fn imported(tag: &str, generation: i64) -> Value {
        json!({"tag": tag, "items": [{"image": "sha256:new", "generation": generation,
            "dockerImageReference": format!("src.example.com/a/b@{DIGEST}")}, {"image": "sha256:old"}]})
    }

    #[test]
    fn a_list_without_a_status_is_taken_as_it_stands() {
        let spec = json!([
            {"name": "b", "from": {"kind": "DockerImage", "name": "r/b:1"}},
            {"name": "a", "from": {"kind": "DockerImage", "name": format!("r/a@{DIGEST}")}},
            {"name": "excluded", "from": {"kind": "DockerImage", "name": "r/x:1"}}]);
        let found = images(&spec, &json!({"dockerImageRepository": ""}), ReferenceMode::Public).unwrap();
        assert_eq!(found, [format!("a r/a@{DIGEST}"), "b r/b:1".to_owned()]);
    }

    #[test]
    fn imported_images_are_recorded_at_the_public_repository_or_at_their_source() {
        let status = json!({"publicDockerImageRepository": "public.example.com/s", "tags": [imported("a", 2), imported("only", 1)]});
        let spec = json!([{"name": "a", "generation": 2, "from": {"kind": "DockerImage", "name": "r/a:1"}}]);
        let public = images(&spec, &status, ReferenceMode::Public).unwrap();
        assert_eq!(public, ["a public.example.com/s@sha256:new", "only public.example.com/s@sha256:new"]);
        let source = images(&spec, &status, ReferenceMode::Source).unwrap();
        assert_eq!(source[0], "a src.example.com/a/b@sha256:new");
        let internal = json!({"publicDockerImageRepository": "public.example.com/s",
            "dockerImageRepository": "src.example.com/s", "tags": [imported("a", 2)]});
        assert_eq!(
            images(&spec, &internal, ReferenceMode::Source).unwrap(),
            ["a public.example.com/s@sha256:new"]
        );
    }

    #[test]
    fn what_is_not_imported_is_told() {
        let tag = |generation: i64| json!([{"name": "a", "generation": generation, "from": {"kind": "DockerImage", "name": "r/a:1"}}]);
        let status = json!({"publicDockerImageRepository": "p/s", "tags": [imported("a", 2)]});
        let error = images(&tag(3), &status, ReferenceMode::Public).unwrap_err();
        assert_eq!(error, "the tag \"a\" in the source input stream has not been imported yet");
        let failed =
            json!({"tags": [{"tag": "b", "conditions": [{"type": "ImportSuccess", "status": "False"}]}]});
        assert!(
            images(&json!([]), &failed, ReferenceMode::Public).unwrap_err().contains("not been imported yet")
        );
        let private = json!({"tags": [imported("a", 2)]});
        assert!(
            images(&tag(2), &private, ReferenceMode::Public)
                .unwrap_err()
                .starts_with("only image streams or releases with public")
        );
        let no_id = json!({"publicDockerImageRepository": "p/s", "tags": [{"tag": "a", "items": [{}]}]});
        assert!(images(&tag(2), &no_id, ReferenceMode::Public).unwrap_err().contains("has no image id"));
        assert!(
            read(b"kind: List", ReferenceMode::Public, |_| false)
                .unwrap_err()
                .starts_with("unrecognized input image stream file")
        );
    }
}
