//! `release-metadata`: version, neighbours in the graph and what else is known of a release.

use serde::Serialize;
use serde_json::{Map, Value};

use lockstep_api::names::metadata as key;

/// What `release-metadata` is written from.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Metadata {
    /// The version.
    pub version: String,
    /// Versions from which this one can be reached.
    pub previous: Vec<String>,
    /// Versions that can be reached from it.
    pub next: Vec<String>,
    /// Everything else.
    pub metadata: Map<String, Value>,
}

#[derive(Serialize)]
struct Written<'a> {
    kind: &'static str,
    version: &'a str,
    previous: Vec<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    next: Vec<&'a str>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    metadata: &'a Map<String, Value>,
}

/// Checks and writes a list of versions as they are written in the file.
pub fn check_versions(versions: &[String]) -> Result<(), String> {
    for version in versions {
        semver::Version::parse(version)
            .map_err(|error| format!("{version:?} is not a valid semantic version: {error}"))?;
    }
    Ok(())
}

// === impl Metadata ===

impl Metadata {
    /// Whether the release says that it is for several processors.
    pub fn is_multi(&self) -> bool {
        self.metadata.get(key::ARCHITECTURE).is_some_and(|value| value == key::ARCHITECTURE_MULTI)
    }

    /// Adds what `--metadata` says: keys of the metadata, or a whole document of this kind.
    pub fn add(&mut self, json: &str) -> Result<(), String> {
        let wrong = |why: String| format!("invalid --metadata: {why}");
        let value: Value = serde_json::from_str(json).map_err(|error| wrong(error.to_string()))?;
        let Value::Object(fields) = value else { return Err(wrong("wanted a JSON object".to_owned())) };
        for (name, value) in fields {
            match (name.as_str(), value) {
                ("kind", Value::String(kind)) if kind == key::KIND => {}
                ("version", Value::String(version)) if version == self.version => {}
                ("kind" | "version", value) => {
                    return Err(wrong(format!("{name} is {value}, not that of this release")));
                }
                ("previous", value) => self.previous.extend(texts(&name, value).map_err(wrong)?),
                ("next", value) => self.next.extend(texts(&name, value).map_err(wrong)?),
                ("metadata", Value::Object(inner)) => self.metadata.extend(inner),
                ("metadata", _) => return Err(wrong("metadata is no object".to_owned())),
                (_, value) => {
                    self.metadata.insert(name, value);
                }
            }
        }
        Ok(())
    }

    /// Writes it: lists sorted as texts, `next` and `metadata` only when there is something, no newline at the end.
    pub fn write(&self) -> Vec<u8> {
        let sorted = |versions: &'_ [String]| -> Vec<String> {
            let mut sorted = versions.to_vec();
            sorted.sort();
            sorted.dedup();
            sorted
        };
        let (previous, next) = (sorted(&self.previous), sorted(&self.next));
        let written = Written {
            kind: key::KIND,
            version: &self.version,
            previous: previous.iter().map(String::as_str).collect(),
            next: next.iter().map(String::as_str).collect(),
            metadata: &self.metadata,
        };
        // A tree of texts always serialises.
        serde_json::to_vec_pretty(&written).unwrap_or_default()
    }

    /// Values that builders of update graphs cannot read.
    pub fn warnings(&self) -> Vec<String> {
        let is_other = |(_, value): &(&String, &Value)| !value.is_string();
        self.metadata
            .iter()
            .filter(is_other)
            .map(|(name, _)| {
                format!("metadata {name:?} is no text; builders of update graphs cannot read such a release")
            })
            .collect()
    }
}

fn texts(name: &str, value: Value) -> Result<Vec<String>, String> {
    serde_json::from_value(value).map_err(|_| format!("{name} is no list of texts"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(json: &str) -> Result<Metadata, String> {
        let mut metadata = Metadata { version: "4.16.15".to_owned(), ..Metadata::default() };
        metadata.add(json)?;
        Ok(metadata)
    }

    #[test]
    fn lists_are_sorted_as_texts_and_empty_ones_are_left_out_except_previous() {
        let mut metadata = of(r#"{"url": "https://example.com/1"}"#).unwrap();
        metadata.previous = ["4.16.9", "4.15.18", "4.16.10", "4.16.9"].map(str::to_owned).into();
        let wanted = r#"{
  "kind": "cincinnati-metadata-v0",
  "version": "4.16.15",
  "previous": [
    "4.15.18",
    "4.16.10",
    "4.16.9"
  ],
  "metadata": {
    "url": "https://example.com/1"
  }
}"#;
        assert_eq!(String::from_utf8(metadata.write()).unwrap(), wanted);
        let bare = Metadata { version: "1.0.0".to_owned(), ..Metadata::default() };
        let wanted =
            "{\n  \"kind\": \"cincinnati-metadata-v0\",\n  \"version\": \"1.0.0\",\n  \"previous\": []\n}";
        assert_eq!(String::from_utf8(bare.write()).unwrap(), wanted);
    }

    #[test]
    fn what_is_written_is_read_by_the_consumer() {
        let metadata =
            of(r#"{"previous": ["4.16.1"], "next": ["4.17.0"], "metadata": {"url": "u"}, "x": 1}"#).unwrap();
        let read = lockstep_payload::metadata::read(&metadata.write()).unwrap();
        assert_eq!((read.previous, read.next), (vec!["4.16.1".to_owned()], vec!["4.17.0".to_owned()]));
        assert_eq!(metadata.warnings().len(), 1);
    }

    #[test]
    fn wrong_metadata_is_refused() {
        for json in [
            "",
            "[]",
            r#"{"previous": "4.1.0"}"#,
            r#"{"metadata": []}"#,
            r#"{"kind": "x"}"#,
            r#"{"version": "1.0.0"}"#,
        ] {
            assert!(of(json).unwrap_err().starts_with("invalid --metadata: "), "{json}");
        }
        assert!(
            check_versions(&["4.1".to_owned()])
                .unwrap_err()
                .starts_with("\"4.1\" is not a valid semantic version: ")
        );
    }
}
