//! Versions of components over all images of a release.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use lockstep_api::names::annotation;
use lockstep_payload::images::ImageReferences;

use crate::build::versions::parse;

/// The component whose version is only believed of [`KUBECTL_TAGS`].
const KUBECTL: &str = "kubectl";
const KUBECTL_TAGS: [&str; 2] = ["cli", "cli-artifacts"];
/// The component that images may carry at different versions.
const MACHINE_OS: &str = "machine-os";

/// Versions by component.
pub type ComponentVersions = BTreeMap<String, Component>;

/// The version of one component.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Component {
    /// The version.
    pub version: String,
    /// What people read; may be empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub display_name: String,
    /// The last tag that names the component.
    pub tag: String,
}

/// The versions that the tags of a release declare, and what is strange about them.
///
/// # Compatibility
/// Per component the first version in the order of texts counts, and the first display name beside it.
pub fn of(images: &ImageReferences) -> (ComponentVersions, Vec<String>) {
    let mut said: BTreeMap<String, BTreeSet<(String, String)>> = BTreeMap::new();
    let mut tags: BTreeMap<String, String> = BTreeMap::new();
    let mut warnings = Vec::new();
    for tag in &images.tags {
        let label = |key: &str| tag.annotations.get(key).map_or("", String::as_str);
        let found = parse(label(annotation::BUILD_VERSIONS), label(annotation::BUILD_VERSION_DISPLAY_NAMES));
        let found = match found {
            Ok(found) => found,
            Err(why) => {
                let text =
                    format!("the referenced image {} had an invalid version annotation: {why}", tag.name);
                warnings.push(text);
                continue;
            }
        };
        for (key, version) in found {
            tags.insert(key.clone(), tag.name.clone());
            let counts = key != KUBECTL || KUBECTL_TAGS.contains(&tag.name.as_str());
            if counts {
                said.entry(key).or_default().insert((version.version, version.display));
            }
        }
    }
    let several: Vec<&str> = said
        .iter()
        .filter(|(key, all)| all.len() > 1 && *key != MACHINE_OS)
        .map(|(key, _)| key.as_str())
        .collect();
    if !several.is_empty() {
        warnings.push(format!(
            "multiple versions or display names reported for the following component(s): {}",
            several.join(",  ")
        ));
    }
    let first = |(key, all): (String, BTreeSet<(String, String)>)| {
        let (version, display_name) = all.into_iter().next()?;
        let tag = tags.get(&key).cloned().unwrap_or_default();
        Some((key, Component { version, display_name, tag }))
    };
    (said.into_iter().filter_map(first).collect(), warnings)
}

#[cfg(test)]
mod tests {
    use lockstep_payload::images::ImageTag;

    use super::*;

    fn found(tags: &[(&str, &str, &str)]) -> (Vec<[String; 4]>, Vec<String>) {
        let tag = |(name, versions, names): &(&str, &str, &str)| ImageTag {
            name: (*name).to_owned(),
            pull_spec: None,
            annotations: BTreeMap::from([
                (annotation::BUILD_VERSIONS.to_owned(), (*versions).to_owned()),
                (annotation::BUILD_VERSION_DISPLAY_NAMES.to_owned(), (*names).to_owned()),
            ]),
        };
        let (versions, warnings) =
            of(&ImageReferences { tags: tags.iter().map(tag).collect(), ..ImageReferences::default() });
        let row = |(key, found): (String, Component)| [key, found.version, found.display_name, found.tag];
        (versions.into_iter().map(row).collect(), warnings)
    }

    #[test]
    fn rows_of_the_specification() {
        const SEVERAL: &str = "multiple versions or display names reported for the following component(s): ";
        let a1 =
            |version: &str, display: &str, tag: &str| vec![["a1", version, display, tag].map(str::to_owned)];
        let kubectl = |version: &str, tag: &str| vec![["kubectl", version, "", tag].map(str::to_owned)];
        assert_eq!(found(&[("t", "", "")]), (vec![], vec![]));
        let (none, warnings) = found(&[("test1", "a1=", "")]);
        assert!(none.is_empty());
        assert!(warnings[0].starts_with("the referenced image test1 had an invalid version annotation: the version pair \"a1=\" must have a valid semantic version: "), "{warnings:?}");
        assert_eq!(found(&[("t1", "a1=1.0.0", ""), ("t2", "a1=1.0.0", "")]), (a1("1.0.0", "", "t2"), vec![]));
        assert_eq!(
            found(&[("t1", "a1=1.0.0", ""), ("t2", "a1=1.0.1", "")]),
            (a1("1.0.0", "", "t2"), vec![format!("{SEVERAL}a1")])
        );
        assert_eq!(
            found(&[("t1", "a1=1.0.0", "a1=Test Name"), ("t2", "a1=1.0.0", "")]),
            (a1("1.0.0", "", "t2"), vec![format!("{SEVERAL}a1")])
        );
        assert_eq!(
            found(&[("t1", "a1=1.0.0", "a1=Test Name 2"), ("t2", "a1=1.0.0", "a1=Test Name")]),
            (a1("1.0.0", "Test Name", "t2"), vec![format!("{SEVERAL}a1")])
        );
        assert_eq!(
            found(&[("cli", "kubectl=1.1.0", ""), ("z", "kubectl=1.0.0", "")]),
            (kubectl("1.1.0", "z"), vec![])
        );
        assert_eq!(
            found(&[("cli", "kubectl=1.1.0", ""), ("cli-artifacts", "kubectl=1.0.0", "")]),
            (kubectl("1.0.0", "cli-artifacts"), vec![format!("{SEVERAL}kubectl")])
        );
        assert_eq!(found(&[("a", "machine-os=1.0.0", ""), ("b", "machine-os=2.0.0", "")]).1, [""; 0]);
    }
}
