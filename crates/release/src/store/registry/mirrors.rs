//! Where else images are: `ImageDigestMirrorSet`s and `ImageContentSourcePolicy`s.

use std::path::Path;

use lockstep_payload::yaml;
use serde_json::Value;

use crate::reference::PullSpec;
use crate::store::StoreError;

/// The policy that keeps clients away from the source.
const NEVER: &str = "NeverContactSource";
/// The policy that holds when none is named.
const ALLOW: &str = "AllowContactingSource";

/// The rules of a file, in its order.
#[derive(Debug, Clone, Default)]
pub(super) struct Mirrors {
    rules: Vec<Rule>,
}

#[derive(Debug, Clone)]
struct Rule {
    source: String,
    mirrors: Vec<String>,
    is_source_allowed: bool,
}

// === impl Mirrors ===

impl Mirrors {
    /// Reads a file.
    pub(super) fn load(path: &Path) -> Result<Self, StoreError> {
        let refused = |why: String| StoreError::Refused(format!("{}: {why}", path.display()));
        let bytes = std::fs::read(path).map_err(|error| refused(error.to_string()))?;
        Self::read(&bytes, &path.display().to_string()).map_err(refused)
    }

    fn read(bytes: &[u8], name: &str) -> Result<Self, String> {
        let documents = yaml::documents(bytes).map_err(|error| error.to_string())?;
        let mut rules: Vec<Rule> = Vec::new();
        for document in &documents {
            add(&document.value, &mut rules).map_err(|why| match why {
                Wrong::Kind(why) => format!("line {}: {why}", document.line),
                Wrong::Entry(why) => why,
            })?;
        }
        if rules.is_empty() {
            return Err(format!("no data found in ImageDigestMirrorSet {name}"));
        }
        Ok(Self { rules })
    }

    /// The rules of objects of a cluster, which may be none.
    pub(super) fn of_objects(objects: &[Value]) -> Result<Self, StoreError> {
        let mut rules = Vec::new();
        for object in objects {
            add(object, &mut rules).map_err(|(Wrong::Kind(why) | Wrong::Entry(why))| {
                StoreError::Refused(format!("{}: {why}", lockstep_api::object::name(object)))
            })?;
        }
        Ok(Self { rules })
    }

    /// The repositories where content of a repository is looked for by digest, in this order.
    ///
    /// # Compatibility
    /// Mirrors first: in a site without a way out, asking the source first only costs time.
    pub(super) fn places(&self, spec: &PullSpec) -> Vec<PullSpec> {
        let name = spec.name();
        let mut places: Vec<PullSpec> = Vec::new();
        let mut is_source_allowed = true;
        for rule in &self.rules {
            let Some(rest) = name.strip_prefix(&rule.source) else { continue };
            if !rest.is_empty() && !rest.starts_with('/') {
                continue;
            }
            is_source_allowed &= rule.is_source_allowed;
            let found =
                rule.mirrors.iter().filter_map(|mirror| PullSpec::parse(&format!("{mirror}{rest}")).ok());
            for mirror in found {
                if !places.contains(&mirror) {
                    places.push(mirror);
                }
            }
        }
        let source = spec.bare();
        if is_source_allowed && !places.contains(&source) {
            places.push(source);
        }
        places
    }
}

/// What is wrong with an object.
enum Wrong {
    /// It is none of those that name mirrors.
    Kind(String),
    /// One of its entries.
    Entry(String),
}

/// Adds the rules of one object.
fn add(object: &Value, rules: &mut Vec<Rule>) -> Result<(), Wrong> {
    let kind = object["kind"].as_str().unwrap_or_default();
    let spec = &object["spec"];
    let list = match kind {
        "ImageDigestMirrorSet" => &spec["imageDigestMirrors"],
        "ImageContentSourcePolicy" => &spec["repositoryDigestMirrors"],
        other => {
            let why = format!("wanted an ImageDigestMirrorSet or ImageContentSourcePolicy, not {other:?}");
            return Err(Wrong::Kind(why));
        }
    };
    for entry in list.as_array().into_iter().flatten() {
        let rule = Rule::read(entry).map_err(Wrong::Entry)?;
        let conflicts =
            |other: &Rule| other.source == rule.source && other.is_source_allowed != rule.is_source_allowed;
        if rules.iter().any(conflicts) {
            let why = format!("{kind} can only contain one MirrorSourcePolicy for source {}", rule.source);
            return Err(Wrong::Entry(why));
        }
        rules.push(rule);
    }
    Ok(())
}

// === impl Rule ===

impl Rule {
    fn read(entry: &Value) -> Result<Self, String> {
        let source = entry["source"].as_str().unwrap_or_default().to_owned();
        if PullSpec::parse(&source).is_err() || source.starts_with('.') {
            return Err(format!("invalid source {source:?}"));
        }
        let mut mirrors = Vec::new();
        for mirror in entry["mirrors"].as_array().into_iter().flatten() {
            let mirror = mirror.as_str().unwrap_or_default();
            PullSpec::parse(mirror).map_err(|error| format!("source {source}: invalid mirror: {error}"))?;
            mirrors.push(mirror.to_owned());
        }
        let is_source_allowed = match entry["mirrorSourcePolicy"].as_str().unwrap_or_default() {
            "" | ALLOW => true,
            NEVER => false,
            other => {
                return Err(format!(
                    "source {source}: mirrorSourcePolicy {other:?} is neither {ALLOW} nor {NEVER}"
                ));
            }
        };
        Ok(Self { source, mirrors, is_source_allowed })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(entries: &str) -> String {
        format!("kind: ImageDigestMirrorSet\nspec:\n  imageDigestMirrors:\n{entries}")
    }

    fn places(text: &str, name: &str) -> Vec<String> {
        let mirrors = Mirrors::read(text.as_bytes(), "f").unwrap();
        mirrors.places(&PullSpec::parse(name).unwrap()).iter().map(PullSpec::to_string).collect()
    }

    #[test]
    fn mirrors_come_first_and_the_source_last() {
        let whole = set("  - {source: r.io/ocp-test/release, mirrors: [m.io/mirrors/match]}\n");
        assert_eq!(places(&whole, "r.io/ocp-test/release"), ["m.io/mirrors/match", "r.io/ocp-test/release"]);
        let prefix = set("  - {source: r.io/ocp-test, mirrors: [m.io/mirrors]}\n");
        assert_eq!(
            places(&prefix, "r.io/ocp-test/release"),
            ["m.io/mirrors/release", "r.io/ocp-test/release"]
        );
        assert_eq!(places(&prefix, "r.io/ocp-tests/release"), ["r.io/ocp-tests/release"], "no whole part");
        assert_eq!(places(&prefix, "other.io/x"), ["other.io/x"]);
    }

    #[test]
    fn several_mirrors_keep_their_order_and_come_once() {
        let text = set(
            "  - {source: r.io/a, mirrors: [m.io/a, n.io/a, m.io/a]}\n  - {source: r.io, mirrors: [n.io, o.io]}\n",
        );
        assert_eq!(places(&text, "r.io/a"), ["m.io/a", "n.io/a", "o.io/a", "r.io/a"]);
        let sets = format!(
            "{}---\n{}",
            set("  - {source: r.io/a, mirrors: [m.io/a]}\n"),
            set("  - {source: r.io/b, mirrors: [m.io/b]}\n")
        );
        assert_eq!(places(&sets, "r.io/b"), ["m.io/b", "r.io/b"]);
    }

    #[test]
    fn a_source_that_is_never_contacted_is_left_out() {
        let text = set("  - {source: r.io/a, mirrors: [m.io/a], mirrorSourcePolicy: NeverContactSource}\n");
        assert_eq!(places(&text, "r.io/a"), ["m.io/a"]);
        let empty = set(
            "  - {source: r.io/a, mirrors: [m.io/a], mirrorSourcePolicy: \"\"}\n  - {source: r.io/a, mirrors: [n.io/a], mirrorSourcePolicy: AllowContactingSource}\n",
        );
        assert_eq!(places(&empty, "r.io/a"), ["m.io/a", "n.io/a", "r.io/a"]);
    }

    #[test]
    fn the_older_kind_is_read_too() {
        let text = "apiVersion: operator.openshift.io/v1alpha1\nkind: ImageContentSourcePolicy\nspec:\n  repositoryDigestMirrors:\n  - {source: r.io/a, mirrors: [m.io/a]}\n";
        assert_eq!(places(text, "r.io/a"), ["m.io/a", "r.io/a"]);
    }

    #[test]
    fn what_cannot_be_followed_is_refused() {
        let error = |text: &str| Mirrors::read(text.as_bytes(), "f.yaml").unwrap_err();
        assert!(
            error(&set("  - {source: .invalid-source-spec, mirrors: [m.io/a]}\n"))
                .starts_with("invalid source")
        );
        let both = set(
            "  - {source: r.io/a, mirrors: [m.io/a], mirrorSourcePolicy: NeverContactSource}\n  - {source: r.io/a, mirrors: [n.io/a]}\n",
        );
        assert_eq!(
            error(&both),
            "ImageDigestMirrorSet can only contain one MirrorSourcePolicy for source r.io/a"
        );
        assert_eq!(error(""), "no data found in ImageDigestMirrorSet f.yaml");
        assert!(error("kind: Pod\n").contains("not \"Pod\""));
        assert!(error(&set("  - {source: r.io/a, mirrors: [M]}\n")).contains("invalid mirror"));
    }
}
