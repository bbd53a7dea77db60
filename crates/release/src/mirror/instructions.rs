//! What a cluster has to be told so that it finds the images where they are now.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Serialize;

/// Which kind of object tells it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Kind {
    /// An `ImageDigestMirrorSet`.
    #[default]
    Idms,
    /// An `ImageContentSourcePolicy`, for clusters that know no other.
    Icsp,
}

/// A repository that images are named by, and where they are as well.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MirrorRule {
    /// The repository in pull specs.
    pub source: String,
    /// The repositories that hold the same images, the first is tried first.
    pub mirrors: Vec<String>,
}

/// The words that differ between the kinds.
struct Words {
    kind: &'static str,
    api_version: &'static str,
    install_key: &'static str,
    list_key: &'static str,
}

/// Joins pairs of source and mirror: sorted by source, the mirrors of each in the order in which they came, each once.
pub fn merge(pairs: impl IntoIterator<Item = (String, String)>) -> Vec<MirrorRule> {
    let mut rules: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (source, mirror) in pairs {
        let mirrors = rules.entry(source).or_default();
        if !mirrors.contains(&mirror) {
            mirrors.push(mirror);
        }
    }
    rules.into_iter().map(|(source, mirrors)| MirrorRule { source, mirrors }).collect()
}

/// What to add to `install-config.yaml`, and the object for a cluster that is there.
pub fn text(rules: &[MirrorRule], kind: Kind) -> String {
    let Words { kind, api_version, install_key, list_key } = kind.words();
    let mut text = String::from(
        "\nTo use the new mirrored repository to install, add the following section to the install-config.yaml:\n\n",
    );
    // Writing to a String cannot fail.
    let _ = writeln!(text, "{install_key}:");
    write_rules(&mut text, rules, "");
    let _ = write!(
        text,
        "\n\nTo use the new mirrored repository for upgrades, use the following to create an {kind}:\n\n"
    );
    text.push_str(&object(rules, kind, api_version, list_key));
    text
}

fn object(rules: &[MirrorRule], kind: &str, api_version: &str, list_key: &str) -> String {
    let mut text = format!(
        "apiVersion: {api_version}\nkind: {kind}\nmetadata:\n  name: example\nspec:\n  {list_key}:\n"
    );
    write_rules(&mut text, rules, "  ");
    text
}

fn write_rules(text: &mut String, rules: &[MirrorRule], indent: &str) {
    for rule in rules {
        let _ = writeln!(text, "{indent}- mirrors:");
        for mirror in &rule.mirrors {
            let _ = writeln!(text, "{indent}  - {mirror}");
        }
        let _ = writeln!(text, "{indent}  source: {}", rule.source);
    }
}

// === impl Kind ===

impl Kind {
    fn words(self) -> Words {
        match self {
            Self::Idms => Words {
                kind: "ImageDigestMirrorSet",
                api_version: "config.openshift.io/v1",
                install_key: "imageDigestSources",
                list_key: "imageDigestMirrors",
            },
            Self::Icsp => Words {
                kind: "ImageContentSourcePolicy",
                api_version: "operator.openshift.io/v1alpha1",
                install_key: "imageContentSources",
                list_key: "repositoryDigestMirrors",
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(pairs: &[(&str, &str)]) -> Vec<MirrorRule> {
        merge(pairs.iter().map(|(source, mirror)| ((*source).to_owned(), (*mirror).to_owned())))
    }

    fn rule(source: &str, mirrors: &[&str]) -> MirrorRule {
        MirrorRule { source: source.into(), mirrors: mirrors.iter().map(|it| (*it).to_owned()).collect() }
    }

    #[test]
    fn sources_are_sorted_and_their_mirrors_stay_in_order() {
        assert_eq!(merged(&[("ocp", "A"), ("ocp", "B"), ("ocp", "A")]), [rule("ocp", &["A", "B"])]);
        let two = merged(&[("z", "B"), ("a", "A"), ("z", "A")]);
        assert_eq!(two, [rule("a", &["A"]), rule("z", &["B", "A"])]);
        assert!(merged(&[]).is_empty());
    }

    #[test]
    fn both_kinds_have_the_texts_that_people_copy() {
        let mirror = "mirror.example.com/ocp/release";
        let rules =
            merged(&[("src.example.com/ocp/release", mirror), ("src.example.com/ocp/art-dev", mirror)]);
        let expected = "
To use the new mirrored repository to install, add the following section to the install-config.yaml:

imageDigestSources:
- mirrors:
  - mirror.example.com/ocp/release
  source: src.example.com/ocp/art-dev
- mirrors:
  - mirror.example.com/ocp/release
  source: src.example.com/ocp/release


To use the new mirrored repository for upgrades, use the following to create an ImageDigestMirrorSet:

apiVersion: config.openshift.io/v1
kind: ImageDigestMirrorSet
metadata:
  name: example
spec:
  imageDigestMirrors:
  - mirrors:
    - mirror.example.com/ocp/release
    source: src.example.com/ocp/art-dev
  - mirrors:
    - mirror.example.com/ocp/release
    source: src.example.com/ocp/release
";
        assert_eq!(text(&rules, Kind::Idms), expected);
        let policy = expected
            .replace("imageDigestSources", "imageContentSources")
            .replace("config.openshift.io/v1", "operator.openshift.io/v1alpha1")
            .replace("ImageDigestMirrorSet", "ImageContentSourcePolicy")
            .replace("imageDigestMirrors", "repositoryDigestMirrors");
        assert_eq!(text(&rules, Kind::Icsp), policy);
    }
}
