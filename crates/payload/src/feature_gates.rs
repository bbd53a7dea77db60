//! What a cluster's FeatureGate object says: its feature set, and the gates that are on for a version.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::selection::Selection;

/// Feature set and gates of a cluster.
///
/// *Compatibility*: nothing of this is decided for the life of a process. Whoever sees the object change reads it again
/// and selects again; the reference shuts itself down to come back with the new values.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FeatureGates {
    /// The feature set; empty is the default one.
    pub feature_set: String,
    /// The gates that are on.
    pub enabled: BTreeSet<String>,
}

/// A FeatureGate manifest with gates of several versions, of which none can be chosen.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("FeatureGate manifest {file} contains {count} feature gates, but expected exactly one")]
pub struct AmbiguousGates {
    /// The file.
    pub file: String,
    /// How many versions it has gates for.
    pub count: usize,
}

// === impl FeatureGates ===

impl FeatureGates {
    /// Reads the object of a cluster for a version.
    ///
    /// What is not there is a default: no object is the default feature set, no entry for the version is no gates.
    pub fn of_cluster(object: Option<&Value>, version: &str) -> Self {
        let Some(object) = object else { return Self::default() };
        let entry = entries(object).iter().find(|entry| entry["version"] == version);
        Self { feature_set: feature_set(object), enabled: entry.map(enabled).unwrap_or_default() }
    }

    /// Reads a manifest, which has the gates of at most one version: that of the release it goes with.
    ///
    /// # Errors
    /// When it has several.
    pub fn of_manifest(file: &str, object: &Value) -> Result<Self, AmbiguousGates> {
        match entries(object) {
            [] => Ok(Self { feature_set: feature_set(object), enabled: BTreeSet::new() }),
            [entry] => Ok(Self { feature_set: feature_set(object), enabled: enabled(entry) }),
            several => Err(AmbiguousGates { file: file.to_owned(), count: several.len() }),
        }
    }

    /// Whether a gate is on.
    pub fn is_enabled(&self, gate: &str) -> bool {
        self.enabled.contains(gate)
    }

    /// The same selection for these feature set and gates.
    #[must_use]
    pub fn select(&self, selection: &Selection) -> Selection {
        Selection {
            feature_set: Some(self.feature_set.clone()),
            feature_gates: Some(self.enabled.clone()),
            ..selection.clone()
        }
    }
}

fn feature_set(object: &Value) -> String {
    object["spec"]["featureSet"].as_str().unwrap_or_default().to_owned()
}

fn entries(object: &Value) -> &[Value] {
    object["status"]["featureGates"].as_array().map(Vec::as_slice).unwrap_or_default()
}

fn enabled(entry: &Value) -> BTreeSet<String> {
    let gates = entry["enabled"].as_array().into_iter().flatten();
    gates.filter_map(|gate| gate["name"].as_str()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn a_feature_gate(set: &str, versions: &[(&str, &[&str])]) -> Value {
        let entry = |(version, names): &(&str, &[&str])| {
            let gates: Vec<Value> = names.iter().map(|name| json!({"name": name})).collect();
            json!({"version": version, "enabled": gates, "disabled": [{"name": "Off"}]})
        };
        json!({"apiVersion": "config.openshift.io/v1", "kind": "FeatureGate", "metadata": {"name": "cluster"},
            "spec": {"featureSet": set}, "status": {"featureGates": versions.iter().map(entry).collect::<Vec<_>>()}})
    }

    fn gates(versions: &[(&str, &[&str])]) -> Vec<String> {
        let object = a_feature_gate("", versions);
        FeatureGates::of_cluster(Some(&object), "4.14.0").enabled.into_iter().collect()
    }

    #[test]
    fn gates_of_the_specification() {
        assert_eq!(gates(&[("4.14.0", &["A", "B"]), ("4.13.0", &["Old"])]), ["A", "B"]);
        assert!(gates(&[("4.13.0", &["Old"])]).is_empty());
        assert!(gates(&[("4.14.0", &[])]).is_empty());
    }

    #[test]
    fn what_is_absent_or_misshapen_is_the_default() {
        assert_eq!(FeatureGates::of_cluster(None, "4.14.0"), FeatureGates::default());
        for object in [json!({}), json!({"spec": {"featureSet": 1}, "status": {"featureGates": {"a": 1}}})] {
            assert_eq!(FeatureGates::of_cluster(Some(&object), "4.14.0"), FeatureGates::default());
        }
    }

    #[test]
    fn a_manifest_has_the_gates_of_one_version_or_none() {
        let of = |versions: &[(&str, &[&str])]| {
            FeatureGates::of_manifest("gate.yaml", &a_feature_gate("OKD", versions))
        };
        let one = of(&[("4.14.0", &["A"])]).unwrap();
        assert!(one.is_enabled("A") && !one.is_enabled("Off"));
        assert_eq!(
            of(&[]).unwrap(),
            FeatureGates { feature_set: "OKD".to_owned(), ..FeatureGates::default() }
        );
        assert_eq!(
            of(&[("4.14.0", &[]), ("4.13.0", &[])]).unwrap_err().to_string(),
            "FeatureGate manifest gate.yaml contains 2 feature gates, but expected exactly one"
        );
    }

    #[test]
    fn a_change_of_the_cluster_changes_the_selection_where_the_reference_shuts_down() {
        const TECH: &str = "TechPreviewNoUpgrade";
        type State<'a> = (&'a str, &'a [(&'a str, &'a [&'a str])]);
        let unknown: &[(&str, &[&str])] = &[];
        let listed: &[(&str, &[&str])] = &[("4.14.0", &["A"])];
        // At the start, now, whether the reference shuts down.
        let rows: [(State<'_>, State<'_>, bool); 6] = [
            (("", unknown), ("", unknown), false),
            (("", unknown), (TECH, unknown), true),
            (("", unknown), ("AnythingElse", unknown), true),
            ((TECH, unknown), (TECH, unknown), false),
            ((TECH, unknown), ("", unknown), true),
            ((TECH, unknown), (TECH, listed), true),
        ];
        for ((set, versions), (now_set, now_versions), reference_shuts_down) in rows {
            let select = |set: &str, versions: &[(&str, &[&str])]| {
                let object = a_feature_gate(set, versions);
                FeatureGates::of_cluster(Some(&object), "4.14.0").select(&Selection::default())
            };
            let (before, now) = (select(set, versions), select(now_set, now_versions));
            assert_eq!(before != now, reference_shuts_down, "{set:?} {now_set:?}");
            assert_eq!(now.feature_set.as_deref(), Some(now_set), "selected again, with the new value");
        }
    }
}
