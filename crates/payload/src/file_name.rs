//! Run level and component, from the name of a manifest file.

use serde::Serialize;

use lockstep_api::names::payload;

/// The two parts of `0000_<run level>_<component>_<rest>` that decide the order of an update.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RunLevel {
    /// The digits as written: `9` and `09` are different levels, and no level is ever compared as a number.
    pub level: String,
    /// The component, words of letters and digits joined by single dashes.
    pub component: String,
}

/// Reads run level and component of a file name, if it follows the convention.
///
/// *Compatibility*: accepts exactly what `^0000_(\d+)_([a-zA-Z0-9]+(-[a-zA-Z0-9]+)*?)_` accepts; a name that does not
/// match is not an error, it only changes how the graph is built.
pub fn run_level(file: &str) -> Option<RunLevel> {
    let rest = file.strip_prefix(payload::file::RUN_LEVEL_PREFIX)?;
    let (level, rest) = rest.split_once('_')?;
    let (component, _) = rest.split_once('_')?;
    let is_level = !level.is_empty() && level.bytes().all(|byte| byte.is_ascii_digit());
    let is_word = |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphanumeric());
    (is_level && component.split('-').all(is_word))
        .then(|| RunLevel { level: level.to_owned(), component: component.to_owned() })
}

/// Whether a file of this name is loaded as a manifest: its extension decides, with regard to case.
pub fn is_manifest(file: &str) -> bool {
    file.rsplit_once('.')
        .is_some_and(|(_, extension)| payload::file::MANIFEST_EXTENSIONS.contains(&extension))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parts(file: &str) -> Option<(String, String)> {
        run_level(file).map(|found| (found.level, found.component))
    }

    #[test]
    fn names_of_the_specification_give_their_parts() {
        let some = |level: &str, component: &str| Some((level.to_owned(), component.to_owned()));
        let cases = [
            ("0000_10_a_file.yaml", some("10", "a")),
            ("0000_01_x-y-z_file1", some("01", "x-y-z")),
            ("0000_50_cluster_storage_x.yaml", some("50", "cluster")),
            ("0000_00_cluster-version-operator_30_deployment.yaml", some("00", "cluster-version-operator")),
            ("0000_10-helm-chart-repository.crd.yaml", None),
            ("0000_10_consoleclidownload.crd.yaml", None),
            ("99_ingress-operator_01_roles.yaml", None),
            ("a", None),
            ("", None),
            ("0000_", None),
            ("0000__a_x", None),
            ("0000_10__x", None),
            ("0000_10_a--b_x", None),
            ("0000_10_-a_x", None),
            ("0000_10_a-_x", None),
            ("0000_1x_a_x", None),
            ("0000_١_a_x", None),
            ("0000_10_a.b_x", None),
            ("x0000_10_a_x", None),
        ];
        for (file, expected) in cases {
            assert_eq!(parts(file), expected, "{file}");
        }
    }

    #[test]
    fn only_three_extensions_are_manifests() {
        for file in ["a.yaml", "a.yml", "a.json", ".yaml"] {
            assert!(is_manifest(file), "{file}");
        }
        for file in ["a", "yaml", "a.YAML", "a.yaml.bak", "a.sh", ".gitkeep", "release-metadata"] {
            assert!(!is_manifest(file), "{file}");
        }
    }

    proptest! {
        #[test]
        fn any_name_is_read_without_a_panic_and_its_parts_stand_in_it(file in "\\PC*|0000_[0-9a]{0,3}_[a-z-]{0,6}_?.{0,4}") {
            if let Some(found) = run_level(&file) {
                let start = format!("0000_{}_{}_", found.level, found.component);
                prop_assert!(file.starts_with(&start));
            }
        }
    }
}
