//! An operator's own `image-references`: "this text in my manifests stands for that image of the release".

use std::collections::BTreeSet;

use super::loose::{get, path, text};
use super::stream::{DOCKER_IMAGE, Stream, StreamError, Tag, read_value};

/// What one operator declares.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Declared {
    /// The texts that are replaced.
    pub entries: Vec<Entry>,
    /// All tags that it names, also those that it gives no text for: they stay in the release.
    pub named: BTreeSet<String>,
}

/// One text that stands for an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Tag of the release.
    pub tag: String,
    /// The text in the manifests.
    pub literal: String,
    /// Line of the file, from 1.
    pub line: usize,
}

/// Why an operator's `image-references` cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct ReferencesError {
    /// Line of the file, from 1.
    pub line: usize,
    /// What is wrong there.
    pub why: String,
}

/// Reads the file.
pub fn read(bytes: &[u8]) -> Result<Declared, ReferencesError> {
    let (value, first) = read_value(bytes).map_err(|error| {
        let why = match &error {
            StreamError::Syntax(why) => format!("unable to load release image-references: {why}"),
            StreamError::Kind { .. } => format!("unrecognized image-references in release payload: {error}"),
        };
        ReferencesError { line: line_in(&why), why }
    })?;
    let tags = path(&value, &["spec", "tags"]);
    let tags = match tags {
        serde_json::Value::Null => &[],
        serde_json::Value::Array(tags) => tags.as_slice(),
        _ => {
            let why = "unable to load release image-references: field spec.tags: wanted a list".to_owned();
            return Err(ReferencesError { line: first, why });
        }
    };
    let mut declared = Declared::default();
    for tag in tags {
        let (name, from) = (text(tag, "name"), get(tag, "from"));
        let line = line_of_name(bytes, name).unwrap_or(first);
        if name.is_empty() {
            return Err(ReferencesError { line, why: "a tag has no name".to_owned() });
        }
        declared.named.insert(name.to_owned());
        if text(from, "kind") != DOCKER_IMAGE {
            continue;
        }
        let literal = text(from, "name");
        if literal.is_empty() {
            return Err(ReferencesError { line, why: format!("no from.name for the tag {name}") });
        }
        if let Some(other) = declared.entries.iter().find(|entry| entry.literal == literal) {
            let why = format!(
                "the source repository {literal:?} was defined more than once (for {:?} and {name:?})",
                other.tag
            );
            return Err(ReferencesError { line, why });
        }
        declared.entries.push(Entry { tag: name.to_owned(), literal: literal.to_owned(), line });
    }
    Ok(declared)
}

// === impl Declared ===

impl Declared {
    /// Finds the tags of the release that the entries stand for.
    pub fn resolve<'a>(
        &'a self,
        stream: &'a Stream,
        allow_missing: bool,
    ) -> Result<Vec<(&'a Entry, &'a Tag)>, Vec<ReferencesError>> {
        let (mut found, mut errors) = (Vec::new(), Vec::new());
        for entry in &self.entries {
            match stream.tag(&entry.tag).filter(|tag| tag.pull_spec().is_some()) {
                Some(tag) => found.push((entry, tag)),
                None if allow_missing => {}
                None => {
                    let why = format!("no input image tag named {:?}", entry.tag);
                    errors.push(ReferencesError { line: entry.line, why });
                }
            }
        }
        if errors.is_empty() { Ok(found) } else { Err(errors) }
    }
}

/// The line of `name: NAME`, whatever the case of the key and the quotes.
fn line_of_name(bytes: &[u8], name: &str) -> Option<usize> {
    let text = String::from_utf8_lossy(bytes);
    let is_it = |line: &str| {
        let Some((key, value)) = line.split_once(':') else { return false };
        let key = key.trim_matches(|char: char| " \t-\"'{".contains(char));
        let value = value.split(" #").next().unwrap_or_default();
        let value = value.trim().trim_matches(|char: char| "\"',}".contains(char));
        key.eq_ignore_ascii_case("name") && value == name
    };
    text.lines().position(is_it).map(|index| index + 1)
}

/// The line that a message of the YAML reader names.
fn line_in(why: &str) -> usize {
    let rest = why.split_once("line ").map(|(_, rest)| rest).unwrap_or_default();
    rest.split(':').next().and_then(|line| line.parse().ok()).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::versions;
    use lockstep_api::names::annotation;
    use std::collections::BTreeMap;

    const HEAD: &str = "kind: ImageStream\napiVersion: image.openshift.io/v1\nspec:\n  tags:\n";

    fn declared(tags: &str) -> Result<Declared, ReferencesError> {
        read(format!("{HEAD}{tags}").as_bytes())
    }

    fn stream(tags: &[(&str, &str, &str)]) -> Stream {
        let mut stream = Stream::default();
        for (name, image, versions) in tags {
            let notes = BTreeMap::from([(annotation::BUILD_VERSIONS.to_owned(), (*versions).to_owned())]);
            stream.tags.push(Tag { annotations: Some(notes), ..Tag::image(name, image) });
        }
        stream
    }

    fn versions_of(declared: &Declared, stream: &Stream) -> Result<versions::Versions, String> {
        let resolved = declared.resolve(stream, false).map_err(|errors| errors[0].to_string())?;
        let tags = resolved.iter().map(|(_, tag)| (tag.name.as_str(), tag.annotations.as_ref().unwrap()));
        versions::known(tags, &BTreeMap::new(), &mut Vec::new())
    }

    #[test]
    fn rows_of_the_specification() {
        let test = "  - name: test\n    from: {kind: DockerImage, Name: 'x/test/other:value'}\n";
        let other_kind = "  - name: other\n    from: {kind: ImageStreamTag, name: y}\n";
        let both = declared(&format!("{test}{other_kind}")).unwrap();
        let error = both.resolve(&Stream::default(), false).unwrap_err();
        assert_eq!((error[0].line, error[0].why.as_str()), (5, "no input image tag named \"test\""));
        assert_eq!(both.resolve(&Stream::default(), true).unwrap(), []);
        let alone = declared(other_kind).unwrap();
        assert!(alone.resolve(&Stream::default(), false).unwrap().is_empty());
        assert_eq!(alone.named.len(), 1, "but it stays in the release");

        let payload = stream(&[("test", "r/test@sha256:12", "other=1.0.0"), ("test-2", "r/2", "more=1.0.0")]);
        let resolved = both.resolve(&payload, false).unwrap();
        let [(entry, tag)] = resolved.as_slice() else { unreachable!() };
        assert_eq!(
            (entry.literal.as_str(), tag.pull_spec()),
            ("x/test/other:value", Some("r/test@sha256:12"))
        );
        let known = versions_of(&both, &payload).unwrap();
        assert_eq!(known.keys().collect::<Vec<_>>(), ["other"], "only of tags that are referenced");
        assert_eq!(known["other"].tags, ["test"]);

        let two = declared(&format!("{test}  - name: test-2\n    from: {{kind: DockerImage, name: x/2}}\n"))
            .unwrap();
        let payload = stream(&[("test", "r/test", "test=1.3.7"), ("test-2", "r/2", "test=1.3.6")]);
        assert!(
            versions_of(&two, &payload).unwrap_err().contains("multiple versions defined for version test")
        );
    }

    #[test]
    fn mistakes_are_told_with_their_line() {
        let rows = [
            ("  - name: a\n    from: {kind: DockerImage}\n", 5, "no from.name for the tag a"),
            ("  - name: a\n    from: {kind: DockerImage, name: ''}\n", 5, "no from.name for the tag a"),
            (
                "  - name: etcd\n    from: {kind: DockerImage, name: r/etcd}\n  - name: \"etcd-2\" # two\n    from: {kind: DockerImage, name: r/etcd}\n",
                7,
                "the source repository \"r/etcd\" was defined more than once (for \"etcd\" and \"etcd-2\")",
            ),
            ("  - from: {kind: DockerImage, name: r/etcd}\n", 1, "a tag has no name"),
            ("  x: [\n", 6, "unable to load release image-references: "),
        ];
        for (tags, line, why) in rows {
            let error = declared(tags).unwrap_err();
            assert!(error.why.starts_with(why), "{error}");
            assert_eq!(error.line, line, "{error}");
        }
        let error = read(b"kind: ImageStream\napiVersion: v1\n").unwrap_err();
        assert!(error.why.starts_with("unrecognized image-references in release payload"), "{error}");
    }

    #[test]
    fn json_is_read_too() {
        let json = "{\"kind\":\"ImageStream\",\n\"apiVersion\":\"image.openshift.io/v1\",\"spec\":{\"tags\":[\n{\n\"name\": \"a\",\n\"from\":{\"kind\":\"DockerImage\",\"name\":\"r/a\"}}]}}";
        let declared = read(json.as_bytes()).unwrap();
        assert_eq!((declared.entries[0].line, declared.entries[0].literal.as_str()), (4, "r/a"));
    }
}
