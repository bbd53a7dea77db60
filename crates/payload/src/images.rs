//! `image-references`: the images of a release, by tag name.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use lockstep_api::names::{group, kind};
use lockstep_api::object;

use crate::yaml;

/// The ImageStream of a release.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ImageReferences {
    /// `metadata.name`: has to be the version of the release.
    pub name: String,
    /// When the release was made, as written.
    pub creation_timestamp: Option<String>,
    /// All tags in written order.
    pub tags: Vec<ImageTag>,
}

/// One tag of the ImageStream.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ImageTag {
    /// The short name of the image.
    pub name: String,
    /// Pull spec, when the tag points at an image.
    pub pull_spec: Option<String>,
    /// Annotations: source location, commit and so on.
    pub annotations: BTreeMap<String, String>,
}

/// Why `image-references` could not be used.
#[derive(Debug, thiserror::Error)]
pub enum ImagesError {
    /// Neither JSON nor YAML, or not one object.
    #[error("unmarshal image-references: {0}")]
    Unmarshal(String),
    /// Another kind of object.
    #[error("image-references is a {0}, not a v1 ImageStream")]
    Kind(String),
    /// The name is not the version.
    #[error("version from image-references ({images}) differs from release-metadata ({metadata})")]
    Version {
        /// `metadata.name` of the ImageStream.
        images: String,
        /// Version of `release-metadata`.
        metadata: String,
    },
}

/// Reads `image-references`, JSON or YAML.
///
/// # Errors
/// Anything but one `image.openshift.io/v1` ImageStream.
pub fn read(bytes: &[u8]) -> Result<ImageReferences, ImagesError> {
    let documents = yaml::documents(bytes).map_err(|error| ImagesError::Unmarshal(error.to_string()))?;
    let [document] = documents.as_slice() else {
        return Err(ImagesError::Unmarshal(format!("wanted one object, found {}", documents.len())));
    };
    let stream = &document.value;
    let (api_version, found) = (object::api_version(stream), object::kind(stream));
    if found.is_empty() {
        return Err(ImagesError::Unmarshal("Object 'Kind' is missing".to_owned()));
    }
    if api_version != format!("{}/v1", group::IMAGE) {
        let message = format!("no kind {found:?} is registered for version {api_version:?}");
        return Err(ImagesError::Unmarshal(message));
    }
    if found != kind::IMAGE_STREAM {
        return Err(ImagesError::Kind(format!("v1 {found}")));
    }
    let tags = match &stream["spec"]["tags"] {
        Value::Null => Vec::new(),
        Value::Array(tags) => tags.iter().map(read_tag).collect(),
        _ => return Err(ImagesError::Unmarshal("field spec.tags: wanted a list".to_owned())),
    };
    Ok(ImageReferences {
        name: object::name(stream).to_owned(),
        creation_timestamp: stream["metadata"]["creationTimestamp"].as_str().map(str::to_owned),
        tags,
    })
}

fn read_tag(tag: &Value) -> ImageTag {
    let is_image = tag["from"]["kind"].as_str() == Some("DockerImage");
    let pull_spec = tag["from"]["name"].as_str().filter(|_| is_image).map(str::to_owned);
    let annotations = tag["annotations"].as_object().into_iter().flatten();
    ImageTag {
        name: tag["name"].as_str().unwrap_or_default().to_owned(),
        pull_spec,
        annotations: annotations
            .filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())))
            .collect(),
    }
}

// === impl ImageReferences ===

impl ImageReferences {
    /// The names of images that somebody may have meant by another name, sorted: those that share a word with it.
    pub fn near(&self, name: &str) -> Vec<&str> {
        let words: Vec<&str> = name.split('-').filter(|word| word.len() > 2).collect();
        let is_near = |tag: &&str| {
            let shares =
                |word: &&str| tag.split('-').any(|other| other.starts_with(*word) || word.starts_with(other));
            tag.contains(name) || (!words.is_empty() && words.iter().any(shares))
        };
        let tags = self.tags.iter().filter(|tag| tag.pull_spec.is_some()).map(|tag| tag.name.as_str());
        let mut near: Vec<&str> = tags.filter(is_near).collect();
        near.sort_unstable();
        near
    }

    /// Pull specs by tag name; tags that do not point at an image are left out.
    pub fn pull_specs(&self) -> BTreeMap<String, String> {
        self.tags.iter().filter_map(|tag| Some((tag.name.clone(), tag.pull_spec.clone()?))).collect()
    }

    /// Checks that the images belong to this version.
    ///
    /// # Errors
    /// When they do not.
    pub fn require_version(&self, version: &semver::Version) -> Result<(), ImagesError> {
        if self.name == version.to_string() {
            return Ok(());
        }
        Err(ImagesError::Version { images: self.name.clone(), metadata: version.to_string() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: &str =
        "kind: ImageStream\napiVersion: image.openshift.io/v1\nmetadata: {name: 1.0.0-abc}\n";

    #[test]
    fn only_tags_that_point_at_images_are_in_the_map() {
        let text = format!(
            "{STREAM}spec:\n  tags:\n  - name: docker-tag\n    from: {{kind: DockerImage, name: A}}\n  - name: image-stream-tag\n    from: {{kind: ImageStreamTag, name: B}}\n  - name: no-from\n"
        );
        let images = read(text.as_bytes()).unwrap();
        assert_eq!(images.tags.len(), 3);
        assert_eq!(images.pull_specs(), BTreeMap::from([("docker-tag".to_owned(), "A".to_owned())]));
        assert!(ImageReferences::default().pull_specs().is_empty());
        assert!(read(STREAM.as_bytes()).unwrap().pull_specs().is_empty());
    }

    #[test]
    fn both_of_two_images_are_in_the_map() {
        let text = r#"{"kind":"ImageStream","apiVersion":"image.openshift.io/v1","metadata":{"name":"1"},"spec":{"tags":[
            {"name":"console","from":{"kind":"DockerImage","name":"A"}},
            {"name":"cluster-update-console-plugin","from":{"kind":"DockerImage","name":"B"}}]}}"#;
        let specs = read(text.as_bytes()).unwrap().pull_specs();
        assert_eq!(
            specs.into_iter().map(|(name, spec)| name + "=" + &spec).collect::<Vec<_>>(),
            ["cluster-update-console-plugin=B", "console=A"]
        );
    }

    #[test]
    fn each_problem_has_its_text() {
        let cases = [
            ("a: [", "unmarshal image-references: line "),
            ("", "unmarshal image-references: wanted one object, found 0"),
            ("a: 1", "unmarshal image-references: Object 'Kind' is missing"),
            (
                "kind: ConfigMap\napiVersion: v1",
                "unmarshal image-references: no kind \"ConfigMap\" is registered for version \"v1\"",
            ),
            (
                "kind: Image\napiVersion: image.openshift.io/v1",
                "image-references is a v1 Image, not a v1 ImageStream",
            ),
        ];
        for (text, expected) in cases {
            let error = read(text.as_bytes()).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        }
        let images = read(STREAM.as_bytes()).unwrap();
        assert!(images.require_version(&"1.0.0-abc".parse().unwrap()).is_ok());
        let error = images.require_version(&"1.0.1".parse().unwrap()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "version from image-references (1.0.0-abc) differs from release-metadata (1.0.1)"
        );
    }
}
