//! `release-metadata`: version, architecture, URL and channels of a release.

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use lockstep_api::names::payload::metadata as key;

/// What `release-metadata` says.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReleaseMetadata {
    /// The version, strictly semantic.
    pub version: semver::Version,
    /// Versions from which this release can be reached.
    pub previous: Vec<String>,
    /// Versions that can be reached from it.
    pub next: Vec<String>,
    /// Where a person reads about the release.
    pub url: Option<String>,
    /// Whether the release carries images of several architectures.
    pub multi_architecture: bool,
    /// Channels, sorted.
    pub channels: Vec<String>,
    /// All further keys as they stand.
    pub metadata: Map<String, Value>,
    /// Values that were understood as "nothing" because they are wrong.
    pub warnings: Vec<String>,
}

/// Why `release-metadata` could not be used.
#[derive(Debug, thiserror::Error)]
pub enum MetadataError {
    /// Not JSON, or not the expected shape.
    #[error("unmarshal Cincinnati metadata: {0}")]
    Unmarshal(String),
    /// A kind that this version does not know.
    #[error("unrecognized Cincinnati metadata kind {0:?}")]
    Kind(String),
    /// No version.
    #[error("missing required Cincinnati metadata version")]
    MissingVersion,
    /// A version that is not semantic.
    #[error("invalid Cincinnati metadata version {version:?}: {cause}")]
    Version {
        /// As written.
        version: String,
        /// What is wrong with it.
        cause: semver::Error,
    },
}

/// Reads `release-metadata`.
///
/// # Errors
/// A file without a usable version; wrong optional values are only warnings.
pub fn read(bytes: &[u8]) -> Result<ReleaseMetadata, MetadataError> {
    let unmarshal = |message: String| MetadataError::Unmarshal(message);
    let Fields(fields) = serde_json::from_slice(bytes).map_err(|error| unmarshal(error.to_string()))?;
    let kind = text(&fields, "kind").map_err(unmarshal)?;
    if kind != key::KIND {
        return Err(MetadataError::Kind(kind));
    }
    let version = text(&fields, "version").map_err(unmarshal)?;
    if version.is_empty() {
        return Err(MetadataError::MissingVersion);
    }
    let version =
        semver::Version::parse(&version).map_err(|cause| MetadataError::Version { version, cause })?;
    let metadata = match field(&fields, "metadata") {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(map)) => map.clone(),
        Some(_) => return Err(unmarshal("field metadata: wanted an object".to_owned())),
    };
    let mut warnings = Vec::new();
    Ok(ReleaseMetadata {
        version,
        previous: texts(&fields, "previous").map_err(unmarshal)?,
        next: texts(&fields, "next").map_err(unmarshal)?,
        url: read_url(&metadata, &mut warnings),
        multi_architecture: read_architecture(&metadata, &mut warnings),
        channels: read_channels(&metadata, &mut warnings),
        metadata,
        warnings,
    })
}

/// The top level in written order, which a sorted map would forget.
struct Fields(Vec<(String, Value)>);

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visit;

        impl<'de> Visitor<'de> for Visit {
            type Value = Fields;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
                let mut fields = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    fields.push(entry);
                }
                Ok(Fields(fields))
            }
        }

        deserializer.deserialize_map(Visit)
    }
}

/// *Compatibility*: keys are matched without regard to case; of several the last one counts.
fn field<'a>(fields: &'a [(String, Value)], name: &str) -> Option<&'a Value> {
    fields.iter().rev().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value)
}

fn text(fields: &[(String, Value)], name: &str) -> Result<String, String> {
    match field(fields, name) {
        None | Some(Value::Null) => Ok(String::new()),
        Some(Value::String(text)) => Ok(text.clone()),
        Some(_) => Err(format!("field {name}: wanted a string")),
    }
}

fn texts(fields: &[(String, Value)], name: &str) -> Result<Vec<String>, String> {
    let wanted = || format!("field {name}: wanted a list of strings");
    match field(fields, name) {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(items)) => {
            items.iter().map(|item| item.as_str().map(str::to_owned).ok_or_else(wanted)).collect()
        }
        Some(_) => Err(wanted()),
    }
}

fn read_url(metadata: &Map<String, Value>, warnings: &mut Vec<String>) -> Option<String> {
    match metadata.get(key::URL)? {
        Value::String(url) => match url_problem(url) {
            None => Some(url.clone()),
            Some(problem) => {
                warnings.push(format!("invalid release URL: {url:?}: {problem}"));
                None
            }
        },
        other => {
            warnings.push(format!("URL is not a string: {other}"));
            None
        }
    }
}

/// The mistakes that Go's URL parser finds in practice; it is otherwise lenient, and so are we.
fn url_problem(url: &str) -> Option<&'static str> {
    if url.chars().any(|character| character.is_ascii_control()) {
        return Some("invalid control character in URL");
    }
    if url.starts_with(':') {
        return Some("missing protocol scheme");
    }
    let first_segment = url.split(['/', '?', '#']).next().unwrap_or_default();
    if let Some((scheme, _)) = first_segment.split_once(':')
        && !scheme.starts_with(|character: char| character.is_ascii_alphabetic())
    {
        return Some("first path segment in URL cannot contain colon");
    }
    let bytes = url.as_bytes();
    let bad_escape = bytes.iter().enumerate().any(|(index, byte)| {
        *byte == b'%'
            && !bytes.get(index + 1..index + 3).is_some_and(|hex| hex.iter().all(u8::is_ascii_hexdigit))
    });
    if bad_escape { Some("invalid URL escape") } else { None }
}

fn read_architecture(metadata: &Map<String, Value>, warnings: &mut Vec<String>) -> bool {
    match metadata.get(key::ARCHITECTURE) {
        None => false,
        Some(Value::String(text)) if text == key::ARCHITECTURE_MULTI => true,
        Some(Value::String(text)) => {
            warnings.push(format!("unrecognized {} value {text:?}", key::ARCHITECTURE));
            false
        }
        Some(other) => {
            warnings.push(format!("{} is not a string: {other}", key::ARCHITECTURE));
            false
        }
    }
}

fn read_channels(metadata: &Map<String, Value>, warnings: &mut Vec<String>) -> Vec<String> {
    let name = key::CHANNELS;
    let all = match metadata.get(name) {
        None => return Vec::new(),
        Some(Value::String(text)) => text,
        Some(other) => {
            warnings.push(format!("{name} is not a string: {other}"));
            return Vec::new();
        }
    };
    if all.is_empty() {
        warnings.push(format!("{name} is an empty string"));
        return Vec::new();
    }
    let mut channels = Vec::new();
    for (index, channel) in all.split(',').enumerate() {
        if channel.is_empty() {
            warnings.push(format!("{name} entry {index} is an empty string: {all:?}"));
        } else {
            channels.push(channel.to_owned());
        }
    }
    if channels.is_empty() {
        warnings.push(format!("no non-empty channels in {name}"));
    }
    channels.sort();
    channels
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn of(value: &Value) -> Result<ReleaseMetadata, MetadataError> {
        read(value.to_string().as_bytes())
    }

    fn with(metadata: Value) -> ReleaseMetadata {
        let mut value = json!({"kind": "cincinnati-metadata-v0", "version": "1.0.0"});
        value["metadata"] = metadata;
        of(&value).unwrap()
    }

    #[test]
    fn each_problem_has_its_text() {
        let cases = [
            ("nonsense".to_owned(), "unmarshal Cincinnati metadata: expected"),
            (
                "[]".to_owned(),
                "unmarshal Cincinnati metadata: invalid type: sequence, expected a JSON object",
            ),
            (json!({"kind": "other"}).to_string(), "unrecognized Cincinnati metadata kind \"other\""),
            (json!({}).to_string(), "unrecognized Cincinnati metadata kind \"\""),
            (
                json!({"kind": "cincinnati-metadata-v0"}).to_string(),
                "missing required Cincinnati metadata version",
            ),
            (
                json!({"kind": "cincinnati-metadata-v0", "version": "v1.0.0"}).to_string(),
                "invalid Cincinnati metadata version \"v1.0.0\": ",
            ),
            (
                json!({"kind": "cincinnati-metadata-v0", "version": "1.0"}).to_string(),
                "invalid Cincinnati metadata version \"1.0\": ",
            ),
            (
                json!({"kind": "cincinnati-metadata-v0", "version": "1.01.0"}).to_string(),
                "invalid Cincinnati metadata version \"1.01.0\": ",
            ),
            (
                json!({"kind": "cincinnati-metadata-v0", "version": 1}).to_string(),
                "unmarshal Cincinnati metadata: field version",
            ),
        ];
        for (text, expected) in cases {
            let error = read(text.as_bytes()).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        }
    }

    #[test]
    fn channels_are_sorted_and_wrong_values_are_warnings() {
        let good =
            with(json!({"url": "https://example.com/1", key::CHANNELS: "channel-c,channel-a,channel-b"}));
        assert_eq!(good.channels, ["channel-a", "channel-b", "channel-c"]);
        assert_eq!(good.url.as_deref(), Some("https://example.com/1"));
        assert!(good.warnings.is_empty());
        let cases = [
            (json!({"url": ":bad"}), "invalid release URL: "),
            (json!({"url": 5}), "URL is not a string: 5"),
            (
                json!({key::ARCHITECTURE: "amd64"}),
                "unrecognized release.openshift.io/architecture value \"amd64\"",
            ),
            (json!({key::ARCHITECTURE: 1}), "release.openshift.io/architecture is not a string: 1"),
            (json!({key::CHANNELS: ""}), "io.openshift.upgrades.graph.release.channels is an empty string"),
            (
                json!({key::CHANNELS: "a,,b"}),
                "io.openshift.upgrades.graph.release.channels entry 1 is an empty string: \"a,,b\"",
            ),
            (json!({key::CHANNELS: 1}), "io.openshift.upgrades.graph.release.channels is not a string: 1"),
        ];
        for (metadata, expected) in cases {
            let found = with(metadata);
            assert!(found.warnings[0].starts_with(expected), "{:?}", found.warnings);
        }
        let empty = with(json!({key::CHANNELS: ",,"}));
        assert_eq!(empty.warnings.last().unwrap(), &format!("no non-empty channels in {}", key::CHANNELS));
    }

    #[test]
    fn multi_is_the_only_architecture_and_keys_ignore_case() {
        assert!(with(json!({key::ARCHITECTURE: "multi"})).multi_architecture);
        let value =
            json!({"Kind": "cincinnati-metadata-v0", "VERSION": "1.0.0-abc", "MetaData": {"url": "u"}});
        assert_eq!(of(&value).unwrap().url.as_deref(), Some("u"));
        let twice = br#"{"kind":"cincinnati-metadata-v0","version":"1.0.0","VERSION":"2.0.0"}"#;
        assert_eq!(read(twice).unwrap().version.to_string(), "2.0.0", "the last one counts");
    }

    proptest! {
        #[test]
        fn no_input_makes_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = read(&bytes);
        }

        #[test]
        fn no_metadata_makes_it_panic(url in "\\PC*", channels in "\\PC*") {
            let found = with(json!({"url": url, key::CHANNELS: channels}));
            prop_assert!(found.channels.iter().all(|channel| !channel.is_empty()));
        }
    }
}
