//! The ImageStream of a release: `image-references`, written exactly in the shape that readers are used to.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::Value;

use lockstep_api::names::{annotation, group, kind};
use lockstep_payload::yaml;

use super::loose::{get, path, text};

/// The kind of reference that names an image by its pull spec.
pub const DOCKER_IMAGE: &str = "DockerImage";

/// An ImageStream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stream {
    /// Name of the stream: the version of the release.
    pub name: String,
    /// When the release was made, as written.
    pub created: Option<String>,
    /// Notes.
    pub annotations: BTreeMap<String, String>,
    /// The images.
    pub tags: Vec<Tag>,
}

/// One image of the stream. The order of the fields is the order in which they are written.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Tag {
    /// Short name of the image.
    pub name: String,
    /// Notes; `null` when nobody ever looked at the image.
    pub annotations: Option<BTreeMap<String, String>>,
    /// Where the image is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<From>,
    /// Always written, mostly `null`.
    pub generation: Option<i64>,
    /// How a server would import it.
    pub import_policy: ImportPolicy,
    /// How a server would refer to it.
    pub reference_policy: ReferencePolicy,
}

/// What a tag points to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct From {
    /// `DockerImage` for a pull spec.
    pub kind: String,
    /// Namespace of an image in a cluster.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// The pull spec.
    pub name: String,
}

/// How a server would import an image.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ImportPolicy {
    /// Whether certificates are not checked.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub insecure: bool,
    /// Whether it is imported again and again.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub scheduled: bool,
    /// `Legacy` or `PreserveOriginal`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub import_mode: String,
}

/// How a server would refer to an image.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ReferencePolicy {
    /// Always written, mostly empty.
    #[serde(rename = "type")]
    pub kind: String,
}

/// Why bytes are no ImageStream.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StreamError {
    /// Neither YAML nor JSON, or of the wrong shape.
    #[error("{0}")]
    Syntax(String),
    /// Another kind of object.
    #[error(
        "invalid kind/apiVersion: wanted {} in {}/v1, found {kind:?} in {api_version:?}",
        kind::IMAGE_STREAM,
        group::IMAGE
    )]
    Kind {
        /// What it is.
        kind: String,
        /// And in which version.
        api_version: String,
    },
}

/// Reads the one object of a file and checks that it is an ImageStream; the line is the one on which it starts.
pub(super) fn read_value(bytes: &[u8]) -> Result<(Value, usize), StreamError> {
    let documents = yaml::documents(bytes).map_err(|error| StreamError::Syntax(error.to_string()))?;
    let count = documents.len();
    let document = documents.into_iter().next().filter(|_| count == 1);
    let document =
        document.ok_or_else(|| StreamError::Syntax(format!("wanted one object, found {count}")))?;
    let (found, api_version) = (text(&document.value, "kind"), text(&document.value, "apiVersion"));
    if found != kind::IMAGE_STREAM || api_version != format!("{}/v1", group::IMAGE) {
        return Err(StreamError::Kind { kind: found.to_owned(), api_version: api_version.to_owned() });
    }
    Ok((document.value, document.line))
}

/// Reads a list of tags.
pub(super) fn read_tags(stream: &Value) -> Result<Vec<Tag>, StreamError> {
    match path(stream, &["spec", "tags"]) {
        Value::Null => Ok(Vec::new()),
        Value::Array(tags) => Ok(tags.iter().map(read_tag).collect()),
        _ => Err(StreamError::Syntax("field spec.tags: wanted a list".to_owned())),
    }
}

fn read_tag(tag: &Value) -> Tag {
    let from = get(tag, "from");
    let policy = get(tag, "importPolicy");
    let is_set = |key: &str| get(policy, key).as_bool().unwrap_or_default();
    Tag {
        name: text(tag, "name").to_owned(),
        annotations: get(tag, "annotations").as_object().map(|_| read_annotations(tag)),
        from: from.as_object().map(|_| From {
            kind: text(from, "kind").to_owned(),
            namespace: text(from, "namespace").to_owned(),
            name: text(from, "name").to_owned(),
        }),
        generation: get(tag, "generation").as_i64(),
        import_policy: ImportPolicy {
            insecure: is_set("insecure"),
            scheduled: is_set("scheduled"),
            import_mode: text(policy, "importMode").to_owned(),
        },
        reference_policy: ReferencePolicy { kind: text(get(tag, "referencePolicy"), "type").to_owned() },
    }
}

fn read_annotations(value: &Value) -> BTreeMap<String, String> {
    let annotations = get(value, "annotations").as_object().into_iter().flatten();
    annotations.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect()
}

// === impl Stream ===

impl Stream {
    /// Reads `image-references` of a release or the tags of any other ImageStream, YAML or JSON.
    pub fn read(bytes: &[u8]) -> Result<Self, StreamError> {
        let (value, _) = read_value(bytes)?;
        let metadata = get(&value, "metadata");
        Ok(Self {
            name: text(metadata, "name").to_owned(),
            created: get(metadata, "creationTimestamp").as_str().map(str::to_owned),
            annotations: read_annotations(metadata),
            tags: read_tags(&value)?,
        })
    }

    /// Writes it: two blanks for each level, keys in the order of the reference, no newline at the end.
    pub fn write(&self) -> Vec<u8> {
        let written = Written {
            kind: kind::IMAGE_STREAM,
            api_version: format!("{}/v1", group::IMAGE),
            metadata: Metadata {
                name: &self.name,
                creation_timestamp: self.created.as_deref(),
                annotations: &self.annotations,
            },
            spec: Spec { lookup_policy: LookupPolicy { local: false }, tags: &self.tags },
            status: Status { docker_image_repository: "" },
        };
        // A tree of texts always serialises.
        serde_json::to_vec_pretty(&written).unwrap_or_default()
    }

    /// One tag.
    pub fn tag(&self, name: &str) -> Option<&Tag> {
        self.tags.iter().find(|tag| tag.name == name)
    }

    /// Makes or replaces a tag: what was noted about the old image is forgotten.
    pub fn override_tag(&mut self, name: &str, pull_spec: &str) {
        let notes = BTreeMap::from([(annotation::RELEASE_OVERRIDE.to_owned(), "true".to_owned())]);
        let tag = Tag { annotations: Some(notes), ..Tag::image(name, pull_spec) };
        match self.tags.iter_mut().find(|tag| tag.name == name) {
            Some(there) => *there = tag,
            None => self.tags.push(tag),
        }
    }

    /// Keeps the tags that a release needs; says how many were dropped.
    pub fn prune(&mut self, kept: &BTreeSet<String>) -> usize {
        let before = self.tags.len();
        self.tags.retain(|tag| kept.contains(&tag.name));
        before - self.tags.len()
    }

    /// Notes on each tag which operators name it.
    pub fn note_users(&mut self, users: &BTreeMap<String, BTreeSet<String>>) {
        for tag in &mut self.tags {
            if let Some(notes) = &mut tag.annotations {
                notes.remove(annotation::USED_BY);
            }
            if let Some(users) = users.get(&tag.name) {
                let users: Vec<&str> = users.iter().map(String::as_str).collect();
                let notes = tag.annotations.get_or_insert_default();
                notes.insert(annotation::USED_BY.to_owned(), users.join(","));
            }
        }
    }

    /// Sorts the tags by name.
    pub fn sort(&mut self) {
        self.tags.sort_by(|one, other| one.name.cmp(&other.name));
    }
}

// === impl Tag ===

impl Tag {
    /// A tag that points to an image.
    pub fn image(name: &str, pull_spec: &str) -> Self {
        let from =
            From { kind: DOCKER_IMAGE.to_owned(), namespace: String::new(), name: pull_spec.to_owned() };
        Self { name: name.to_owned(), from: Some(from), ..Self::default() }
    }

    /// The pull spec, when it points to an image.
    pub fn pull_spec(&self) -> Option<&str> {
        self.from.as_ref().filter(|from| from.kind == DOCKER_IMAGE).map(|from| from.name.as_str())
    }

    /// Whether it was replaced when the release was made.
    pub fn is_override(&self) -> bool {
        self.annotations.as_ref().is_some_and(|notes| notes.contains_key(annotation::RELEASE_OVERRIDE))
    }
}

// === Shape ===

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Written<'a> {
    kind: &'static str,
    api_version: String,
    metadata: Metadata<'a>,
    spec: Spec<'a>,
    status: Status,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Metadata<'a> {
    name: &'a str,
    creation_timestamp: Option<&'a str>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    annotations: &'a BTreeMap<String, String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Spec<'a> {
    lookup_policy: LookupPolicy,
    tags: &'a [Tag],
}

#[derive(Serialize)]
struct LookupPolicy {
    local: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Status {
    docker_image_repository: &'static str,
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: &str = r#"{
  "kind": "ImageStream",
  "apiVersion": "image.openshift.io/v1",
  "metadata": {
    "name": "4.16.15",
    "creationTimestamp": "2024-09-20T14:45:10Z",
    "annotations": {
      "release.openshift.io/from-release": "ci.example.com/ocp/release:4.16.0"
    }
  },
  "spec": {
    "lookupPolicy": {
      "local": false
    },
    "tags": [
      {
        "name": "hyperkube",
        "annotations": {
          "io.openshift.build.commit.ref": "",
          "io.openshift.build.versions": "kubernetes=1.25.4"
        },
        "from": {
          "kind": "DockerImage",
          "name": "src.example.com/ocp/art-dev@sha256:12"
        },
        "generation": null,
        "importPolicy": {
          "importMode": "Legacy"
        },
        "referencePolicy": {
          "type": ""
        }
      },
      {
        "name": "plain",
        "annotations": null,
        "generation": 2,
        "importPolicy": {},
        "referencePolicy": {
          "type": ""
        }
      }
    ]
  },
  "status": {
    "dockerImageRepository": ""
  }
}"#;

    #[test]
    fn what_is_read_is_written_in_the_same_shape() {
        let stream = Stream::read(SHAPE.as_bytes()).unwrap();
        assert_eq!(String::from_utf8(stream.write()).unwrap(), SHAPE);
        assert_eq!(
            stream.tag("hyperkube").unwrap().pull_spec(),
            Some("src.example.com/ocp/art-dev@sha256:12")
        );
        let empty = String::from_utf8(Stream::default().write()).unwrap();
        assert!(empty.contains("\"creationTimestamp\": null") && !empty.contains("annotations"), "{empty}");
        assert!(empty.contains("\"tags\": []"));
    }

    #[test]
    fn keys_are_read_whatever_their_case() {
        let text = "KIND: ImageStream\napiversion: image.openshift.io/v1\nSpec:\n  Tags:\n  - Name: a\n    From: {Kind: DockerImage, Name: r/a}\n";
        assert_eq!(Stream::read(text.as_bytes()).unwrap().tag("a").unwrap().pull_spec(), Some("r/a"));
    }

    #[test]
    fn another_kind_is_refused() {
        for text in ["kind: List", "kind: ImageStream\napiVersion: v1", "[]", "", "a: [", "{}\n---\n{}"] {
            assert!(Stream::read(text.as_bytes()).is_err(), "{text}");
        }
    }

    #[test]
    fn an_override_forgets_the_notes_and_users_are_noted_anew() {
        let mut stream = Stream::read(SHAPE.as_bytes()).unwrap();
        stream.override_tag("hyperkube", "r/new");
        stream.override_tag("added", "r/added");
        stream.sort();
        let users = BTreeMap::from([("added".to_owned(), BTreeSet::from(["b".to_owned(), "a".to_owned()]))]);
        stream.note_users(&users);
        stream.note_users(&users);
        let notes = stream.tag("hyperkube").unwrap().annotations.clone().unwrap();
        assert_eq!(
            notes.into_iter().collect::<Vec<_>>(),
            [("io.openshift.release.override".to_owned(), "true".to_owned())]
        );
        assert_eq!(stream.tag("added").unwrap().annotations.as_ref().unwrap()[annotation::USED_BY], "a,b");
        assert_eq!(stream.prune(&BTreeSet::from(["added".to_owned()])), 2);
        assert_eq!(stream.tags[0].name, "added");
    }
}
