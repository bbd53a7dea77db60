//! Version replacement: `0.0.1-snapshot` becomes the release's version, `0.0.1-snapshot-KEY` a component's.

use lockstep_api::names::VERSION_PLACEHOLDER;

use super::loose::line_at;
use super::versions::Versions;

/// Why the placeholders of a file cannot be replaced.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct PlaceholderError {
    /// Line of the first placeholder that is wrong, from 1.
    pub line: usize,
    /// What is wrong.
    pub why: String,
}

/// Replaces all placeholders of a file; `release` is the release's name, which counts when it is a semantic version.
///
/// # Compatibility
/// A version that several images agree on is used; the reference calls it inconsistent.
pub fn replace(text: &[u8], release: Option<&str>, versions: &Versions) -> Result<Vec<u8>, PlaceholderError> {
    let release = release.and_then(|name| semver::Version::parse(name).ok()).map(|mut version| {
        version.build = semver::BuildMetadata::EMPTY;
        version.to_string()
    });
    let mut out = Vec::with_capacity(text.len());
    let (mut missing, mut conflicts) = (Vec::new(), Vec::new());
    let mut at = 0;
    while at < text.len() {
        let begins = text[at] == b'0'
            && text[at..].starts_with(VERSION_PLACEHOLDER.as_bytes())
            && can_begin(&text[..at]);
        if !begins {
            out.push(text[at]);
            at += 1;
            continue;
        }
        let rest = &text[at + VERSION_PLACEHOLDER.len()..];
        let length = rest.iter().take_while(|byte| is_key(**byte)).count();
        let (key, end) = (&rest[..length], at + VERSION_PLACEHOLDER.len() + length);
        match (key, &release) {
            ([], Some(release)) => out.extend_from_slice(release.as_bytes()),
            ([b'-', key @ ..], _) => {
                let key = String::from_utf8_lossy(key).into_owned();
                match versions.get(&key) {
                    None => missing.push((at, key)),
                    Some(known) if known.differs => conflicts.push((at, key, known.tags.clone())),
                    Some(known) => out.extend_from_slice(known.version.as_bytes()),
                }
            }
            _ => out.extend_from_slice(&text[at..end]),
        }
        at = end;
    }
    judge(text, &missing, conflicts)?;
    Ok(out)
}

/// What is missing counts more than what is not clear.
fn judge(
    text: &[u8],
    missing: &[(usize, String)],
    conflicts: Vec<(usize, String, Vec<String>)>,
) -> Result<(), PlaceholderError> {
    let fail = |at: usize, why: String| Err(PlaceholderError { line: line_at(text, at), why });
    match missing {
        [] => {}
        [(at, key)] if key.is_empty() => {
            return fail(*at, "empty version references are not allowed".to_owned());
        }
        [(at, key)] => return fail(*at, format!("unknown version reference {key:?}")),
        [(at, _), ..] => {
            let keys: Vec<&str> = missing.iter().map(|(_, key)| key.as_str()).collect();
            return fail(*at, format!("unknown version references: {}", keys.join(", ")));
        }
    }
    match conflicts.into_iter().next() {
        None => Ok(()),
        Some((at, key, mut tags)) => {
            tags.sort();
            let tags = tags.join(", ");
            let why = format!("the version for {key:?} is inconsistent across the referenced images: {tags}");
            fail(at, why)
        }
    }
}

fn can_begin(before: &[u8]) -> bool {
    match before {
        [] | [.., b'\\', b'n' | b't' | b'r'] => true,
        [.., last] => !last.is_ascii_alphanumeric() && *last != b'_',
    }
}

fn is_key(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-'
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::versions::Known;
    use proptest::prelude::*;

    type Pairs = &'static [(&'static str, &'static str, bool)];

    fn known(pairs: &[(&str, &str, bool)]) -> Versions {
        let entry = |(key, version, differs): &(&str, &str, bool)| {
            let known = Known {
                version: (*version).to_owned(),
                tags: vec!["tag2".to_owned(), "tag1".to_owned()],
                differs: *differs,
            };
            ((*key).to_owned(), known)
        };
        pairs.iter().map(entry).collect()
    }

    fn replaced(release: &str, versions: &[(&str, &str, bool)], text: &str) -> Result<String, String> {
        let release = Some(release).filter(|release| !release.is_empty());
        replace(text.as_bytes(), release, &known(versions))
            .map(|bytes| String::from_utf8(bytes).unwrap())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn rows_of_the_specification() {
        const A: Pairs = &[("a", "2.0.0", false)];
        const NONE: Pairs = &[];
        let bare = r"version: 0.0.1-snapshot\n";
        let of_a = r"version: 0.0.1-snapshot-a\n";
        let rows: [(&str, Pairs, &str, Result<&str, &str>); 15] = [
            ("", NONE, bare, Ok(bare)),
            ("", NONE, r"version: 0.0.1-snapshot-\n", Err("empty version references are not allowed")),
            ("", NONE, of_a, Err("unknown version reference \"a\"")),
            ("2.0.0", NONE, bare, Ok(r"version: 2.0.0\n")),
            ("2.0", NONE, bare, Ok(bare)),
            ("", A, of_a, Ok(r"version: 2.0.0\n")),
            (
                "",
                &[("a", "2.0.0", true)],
                of_a,
                Err("the version for \"a\" is inconsistent across the referenced images: tag1, tag2"),
            ),
            (
                "",
                &[("a", "2.0.0", true), ("b", "3.0.0", false)],
                r"version: 0.0.1-snapshot-b\n",
                Ok(r"version: 3.0.0\n"),
            ),
            ("", A, "0.0.1-snapshot-a", Ok("2.0.0")),
            ("", A, ":0.0.1-snapshot-a", Ok(":2.0.0")),
            ("", A, "-0.0.1-snapshot-a_", Ok("-2.0.0_")),
            ("", A, "0.0.1-snapshot-a 0.0.1-snapshot-b", Err("unknown version reference \"b\"")),
            (
                "",
                &[("a", "2.0.0", false), ("b", "1.0.0", false)],
                "0.0.1-snapshot-a 0.0.1-snapshot-b",
                Ok("2.0.0 1.0.0"),
            ),
            ("", NONE, "0.0.1-snapshot-a0.0.1-snapshot-b", Err("unknown version reference \"a0\"")),
            (
                "",
                &[("a", "2.0.0", true)],
                "0.0.1-snapshot-a 0.0.1-snapshot-b 0.0.1-snapshot-b",
                Err("unknown version references: b, b"),
            ),
        ];
        for (release, versions, text, wanted) in rows {
            let wanted = wanted.map(str::to_owned).map_err(str::to_owned);
            assert_eq!(replaced(release, versions, text), wanted, "{text}");
        }
    }

    #[test]
    fn words_that_only_look_like_it_stay() {
        for text in ["0.0.1-snapshotfoo", "10.0.1-snapshot", "x0.0.1-snapshot", "0.0.1-snapsho"] {
            assert_eq!(replaced("2.0.0", &[], text).unwrap(), text);
        }
        assert_eq!(replaced("2.0.0+build", &[], "0.0.1-snapshot").unwrap(), "2.0.0");
        assert_eq!(replaced("2.0.0", &[], r"a\n0.0.1-snapshot").unwrap(), r"a\n2.0.0");
        let upper = replaced("2.0.0", &[], "0.0.1-snapshot-Kubernetes").unwrap_err();
        assert_eq!(upper, "empty version references are not allowed");
    }

    #[test]
    fn an_error_knows_its_line() {
        let error = replace(b"a\n\nv: 0.0.1-snapshot-x\n", None, &Versions::new()).unwrap_err();
        assert_eq!(error.line, 3);
    }

    proptest! {
        #[test]
        fn nothing_panics_and_text_without_placeholders_is_unchanged(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
            prop_assert_eq!(replace(&bytes, Some("1.0.0"), &Versions::new()).unwrap(), bytes);
        }
    }
}
