//! Versions of components: the labels of images that name them, and what an operator may ask for.

use std::collections::{BTreeMap, BTreeSet};

use lockstep_api::names::annotation;

/// Versions that component images may declare.
const ALLOWED: [&str; 6] = ["kubernetes", "machine-os", "kernel", "crio", "kubectl", "kubernetes-tests"];
/// The component whose version is only believed of [`KUBECTL_TAGS`].
const KUBECTL: &str = "kubectl";
const KUBECTL_TAGS: [&str; 2] = ["cli", "cli-artifacts"];
/// The component that several images carry at different versions; the first one counts.
const MACHINE_OS: &str = "machine-os";

/// One version of a label.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ComponentVersion {
    /// Without build metadata.
    pub version: String,
    /// What people read; may be empty.
    pub display: String,
}

/// A version that an operator's manifests may ask for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    /// The version.
    pub version: String,
    /// The images that say so, in tag order.
    pub tags: Vec<String>,
    /// Whether they do not agree.
    pub differs: bool,
}

/// Versions by component.
pub type Versions = BTreeMap<String, Known>;

/// Reads a label of versions and the one with their display names.
pub fn parse(label: &str, names: &str) -> Result<BTreeMap<String, ComponentVersion>, String> {
    let mut found = BTreeMap::new();
    if label.trim().is_empty() {
        return Ok(found);
    }
    for pair in label.split(',').map(str::trim) {
        let (key, version) =
            pair.split_once('=').ok_or_else(|| format!("the version pair {pair:?} must be NAME=VERSION"))?;
        check_key(key)?;
        let mut version = semver::Version::parse(version).map_err(|error| {
            format!("the version pair {pair:?} must have a valid semantic version: {error}")
        })?;
        version.build = semver::BuildMetadata::EMPTY;
        let version = ComponentVersion { version: version.to_string(), display: String::new() };
        found.insert(key.to_owned(), version);
    }
    for pair in names.split(',').map(str::trim).filter(|_| !names.trim().is_empty()) {
        let (key, display) = pair
            .split_once('=')
            .ok_or_else(|| format!("the display name pair {pair:?} must be NAME=DISPLAYNAME"))?;
        check_key(key)?;
        let is_allowed =
            |char: char| char.is_ascii_alphanumeric() || char.is_ascii_whitespace() || "-:().".contains(char);
        if !display.chars().all(is_allowed) {
            return Err(format!(
                "the display name {display:?} must only be alphanumerics, spaces, and symbols in [().:-]"
            ));
        }
        if let Some(version) = found.get_mut(key) {
            display.clone_into(&mut version.display);
        }
    }
    Ok(found)
}

fn check_key(key: &str) -> Result<(), String> {
    if key.len() < 2 {
        return Err(format!("the version name {key:?} must be at least 2 characters"));
    }
    let is_inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if key.bytes().all(is_inner) && !key.starts_with('-') && !key.ends_with('-') {
        return Ok(());
    }
    Err(format!("the version name {key:?} must only be ASCII alphanumerics and internal hyphens"))
}

/// Checks the labels of a component image.
pub fn check_labels(tag: &str, label: &str, names: &str) -> Result<(), String> {
    let versions = parse(label, names).map_err(|why| {
        let (versions, display) = (annotation::BUILD_VERSIONS, annotation::BUILD_VERSION_DISPLAY_NAMES);
        format!("tag {tag:?} has an invalid {versions} or {display} label: {why}")
    })?;
    match versions.keys().find(|key| !ALLOWED.contains(&key.as_str())) {
        Some(key) => Err(format!(
            "tag {tag:?} references a component version {key:?} which is not in the allowed list: {}",
            ALLOWED.join(", ")
        )),
        None => Ok(()),
    }
}

/// The versions that the tags of an operator's `image-references` declare, and the defaults for the rest.
pub fn known<'a>(
    tags: impl IntoIterator<Item = (&'a str, &'a BTreeMap<String, String>)>,
    defaults: &BTreeMap<String, ComponentVersion>,
    warnings: &mut Vec<String>,
) -> Result<Versions, String> {
    let mut found = Versions::new();
    let mut kubectl = BTreeMap::<String, BTreeSet<&str>>::new();
    for (tag, annotations) in tags {
        let text = |key: &str| annotations.get(key).map(String::as_str).unwrap_or_default();
        let label = text(annotation::BUILD_VERSIONS);
        let versions = parse(label, text(annotation::BUILD_VERSION_DISPLAY_NAMES)).map_err(|_| {
            format!("input image stream has an invalid version annotation for tag {tag:?}: {label}")
        })?;
        for (key, version) in versions {
            let version = version.version;
            if key == KUBECTL {
                kubectl.entry(version.clone()).or_default().insert(tag);
                if !KUBECTL_TAGS.contains(&tag) {
                    continue;
                }
            }
            add(&mut found, key, version, tag)?;
        }
    }
    if kubectl.len() > 2 {
        let tags: BTreeSet<&str> = kubectl.into_values().flatten().collect();
        warnings.push(format!(
            "input image stream has multiple versions defined for version {KUBECTL} for all the tags {}",
            tags.into_iter().collect::<Vec<_>>().join(", ")
        ));
    }
    for (key, version) in defaults {
        found.entry(key.clone()).or_insert_with(|| Known {
            version: version.version.clone(),
            tags: Vec::new(),
            differs: false,
        });
    }
    Ok(found)
}

fn add(found: &mut Versions, key: String, version: String, tag: &str) -> Result<(), String> {
    match found.get_mut(&key) {
        None => {
            found.insert(key, Known { version, tags: vec![tag.to_owned()], differs: false });
        }
        Some(known) if known.version != version && key != MACHINE_OS => {
            return Err(format!(
                "input image stream has multiple versions defined for version {key}: {tag} defines {version} but was \
                 already set to {} on {}",
                known.version,
                known.tags.join(", ")
            ));
        }
        Some(known) => {
            known.differs |= known.version != version;
            known.tags.push(tag.to_owned());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(label: &str, names: &str) -> Result<String, String> {
        let found = parse(label, names)?;
        let pair = |(key, it): (String, ComponentVersion)| format!("{key}={}|{}", it.version, it.display);
        Ok(found.into_iter().map(pair).collect::<Vec<_>>().join(","))
    }

    #[test]
    fn rows_of_the_specification() {
        let good = [
            ("", "", ""),
            ("", "a=b", ""),
            ("a1=1.0.0", "", "a1=1.0.0|"),
            ("a1=1.0.0", "a1=b 1 c d : -", "a1=1.0.0|b 1 c d : -"),
            (
                "a1=1.0.0",
                "a1=Red Hat Enterprise Linux CoreOS 9.8",
                "a1=1.0.0|Red Hat Enterprise Linux CoreOS 9.8",
            ),
            ("a1=1.0.0", "a1=other,a1=valid", "a1=1.0.0|valid"),
            ("a1=1.0.0,b1=2.0.0", "a1=other,a1=valid", "a1=1.0.0|valid,b1=2.0.0|"),
            (" a1=1.0.0-rc.1+build , b1=2.0.0", "", "a1=1.0.0-rc.1|,b1=2.0.0|"),
            ("a1=1.0.0", "zz=ignored", "a1=1.0.0|"),
        ];
        for (label, names, wanted) in good {
            assert_eq!(text(label, names).unwrap(), wanted, "{label} {names}");
        }
        let bad = [
            ("a=1.0.0", "", "the version name \"a\" must be at least 2 characters"),
            ("a!=1.0.0", "", "the version name \"a!\" must only be ASCII"),
            ("-a=1.0.0", "", "the version name \"-a\" must only be ASCII"),
            ("ab", "", "the version pair \"ab\" must be NAME=VERSION"),
            ("a1=", "", "the version pair \"a1=\" must have a valid semantic version: "),
            ("a1=1.0", "", "the version pair \"a1=1.0\" must have a valid semantic version: "),
            ("a1=1.0.0", "a=b", "the version name \"a\" must be at least"),
            ("a1=1.0.0", "a1=!", "the display name \"!\" must only be"),
            ("a1=1.0.0", "a1=!,a1=valid", "the display name \"!\" must only be"),
            ("a1=1.0.0", "a1", "the display name pair \"a1\" must be NAME=DISPLAYNAME"),
        ];
        for (label, names, wanted) in bad {
            let error = text(label, names).unwrap_err();
            assert!(error.starts_with(wanted), "{error}");
        }
    }

    fn of(tags: &[(&str, &str)]) -> Result<(Versions, Vec<String>), String> {
        let tags: Vec<(&str, BTreeMap<String, String>)> = tags
            .iter()
            .map(|(tag, label)| {
                (*tag, BTreeMap::from([(annotation::BUILD_VERSIONS.to_owned(), (*label).to_owned())]))
            })
            .collect();
        let mut warnings = Vec::new();
        let defaults = parse("default=9.0.0,test=9.9.9", "").unwrap();
        let tags = tags.iter().map(|(tag, annotations)| (*tag, annotations));
        Ok((known(tags, &defaults, &mut warnings)?, warnings))
    }

    #[test]
    fn equal_versions_agree_and_different_ones_are_an_error_except_of_the_machine() {
        let (versions, _) = of(&[("a", "test=1.3.7"), ("b", "test=1.3.7")]).unwrap();
        assert_eq!((versions["test"].tags.len(), versions["test"].differs), (2, false));
        assert_eq!(versions["default"].version, "9.0.0");
        let error = of(&[("a", "test=1.3.7"), ("b", "test=1.3.6")]).unwrap_err();
        let wanted = "input image stream has multiple versions defined for version test: b defines 1.3.6 but was already \
                      set to 1.3.7 on a";
        assert_eq!(error, wanted);
        let (versions, _) = of(&[("a", "machine-os=1.0.0"), ("b", "machine-os=2.0.0")]).unwrap();
        assert_eq!((versions[MACHINE_OS].version.as_str(), versions[MACHINE_OS].differs), ("1.0.0", true));
        let error = of(&[("a", "x")]).unwrap_err();
        assert_eq!(error, "input image stream has an invalid version annotation for tag \"a\": x");
    }

    #[test]
    fn kubectl_is_believed_of_the_client_only() {
        let (versions, warnings) =
            of(&[("a", "kubectl=1.0.0"), ("b", "kubectl=2.0.0"), ("cli", "kubectl=3.0.0")]).unwrap();
        assert_eq!(
            (versions[KUBECTL].version.as_str(), versions[KUBECTL].tags.as_slice()),
            ("3.0.0", &["cli".to_owned()][..])
        );
        assert!(warnings[0].ends_with("for version kubectl for all the tags a, b, cli"), "{warnings:?}");
        let (versions, warnings) = of(&[("a", "kubectl=1.0.0"), ("b", "kubectl=2.0.0")]).unwrap();
        assert!(!versions.contains_key(KUBECTL) && warnings.is_empty());
    }

    #[test]
    fn labels_of_images_may_only_name_components_that_are_known() {
        assert!(check_labels("t", "kubernetes=1.30.0", "").is_ok());
        let error = check_labels("t", "other=1.30.0", "").unwrap_err();
        assert!(error.starts_with(
            "tag \"t\" references a component version \"other\" which is not in the allowed list"
        ));
        let error = check_labels("t", "other", "").unwrap_err();
        assert!(error.starts_with("tag \"t\" has an invalid io.openshift.build.versions or "), "{error}");
    }
}
