//! The definitions of our kinds as the API server takes them.
//!
//! They are data, kept in `crds/` beside the sources. One definition serves every feature set: fields behind a feature
//! gate are part of it, and whether they may be used is decided by the operator.

/// The definition of ClusterVersion, as YAML.
///
/// *Compatibility*: messages are those of the reference, but the rules also hold where it stumbles: its rule about
/// `marketplace` refuses additional capabilities without a baseline set, with a text about a missing key.
pub const CLUSTER_VERSION: &str = include_str!("../crds/clusterversions.yaml");

/// The definition of ClusterOperator, as YAML.
pub const CLUSTER_OPERATOR: &str = include_str!("../crds/clusteroperators.yaml");

/// Objects that an API server with these definitions accepts or refuses, as a JSON list.
///
/// Each case has `name`, `crd` (the plural), `object`, `accepted`, `message_contains` and sometimes `update`. The object
/// is created; if it has a status, that is then written through the status subresource; an `update` then replaces the
/// object. `accepted` tells the outcome of the last of these steps, and the ones before it succeed.
pub const VALIDATION_CASES: &str = include_str!("../crds/validation-cases.json");

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Value;

    use super::*;
    use crate::capability::{BaselineSet, KNOWN};
    use crate::fixture::{a_full_cluster_operator, a_full_cluster_version};
    use crate::names::{annotation, profile};
    use crate::{ClusterOperator, ClusterVersion};

    /// Paths of all properties below spec and status of a definition, found by indentation.
    ///
    /// NB: this is not a YAML reader; it knows just enough of how our two files are written.
    fn properties(crd: &str) -> BTreeSet<String> {
        let mut keys: Vec<(usize, &str)> = Vec::new();
        let mut found = BTreeSet::new();
        for line in crd.lines() {
            let Some((key, _)) = line.trim_start().trim_start_matches("- ").split_once(':') else { continue };
            if !key.chars().all(|c| c.is_ascii_alphanumeric() || c == '-') {
                continue;
            }
            let indent = line.len() - line.trim_start().len();
            keys.retain(|(outer, _)| *outer < indent);
            keys.push((indent, key));
            let path: Vec<&str> =
                keys.windows(2).filter(|pair| pair[0].1 == "properties").map(|pair| pair[1].1).collect();
            found.insert(path.join("."));
        }
        found.retain(|path| path.starts_with("spec.") || path.starts_with("status."));
        found
    }

    /// Paths of all known fields below spec and status of an object.
    fn fields(object: &Value) -> BTreeSet<String> {
        fn walk(value: &Value, path: &str, found: &mut BTreeSet<String>) {
            match value {
                Value::Array(items) => items.iter().for_each(|item| walk(item, path, found)),
                Value::Object(map) => {
                    for (key, value) in map.iter().filter(|(key, _)| *key != "future") {
                        let path = format!("{path}.{key}");
                        // What is inside is free.
                        if key != "extension" {
                            walk(value, &path, found);
                        }
                        found.insert(path);
                    }
                }
                _ => {}
            }
        }
        let mut found = BTreeSet::new();
        walk(&object["spec"], "spec", &mut found);
        walk(&object["status"], "status", &mut found);
        found
    }

    fn without_future(mut value: Value) -> Value {
        match &mut value {
            Value::Array(items) => items.iter_mut().for_each(|item| *item = without_future(item.take())),
            Value::Object(map) => {
                map.remove("future");
                map.values_mut().for_each(|item| *item = without_future(item.take()));
            }
            _ => {}
        }
        value
    }

    #[test]
    fn definitions_have_exactly_the_fields_that_the_types_have() {
        for (crd, object) in
            [(CLUSTER_VERSION, a_full_cluster_version()), (CLUSTER_OPERATOR, a_full_cluster_operator())]
        {
            let (properties, fields) = (properties(crd), fields(&object));
            let only_one_has = properties.symmetric_difference(&fields).collect::<Vec<_>>();
            assert!(only_one_has.is_empty(), "{only_one_has:?}");
            assert!(properties.contains("status.conditions.lastTransitionTime"), "the scan finds something");
        }
    }

    #[test]
    fn full_objects_fill_known_fields_only() {
        let version: ClusterVersion =
            serde_json::from_value(without_future(a_full_cluster_version())).unwrap();
        let mut operator: ClusterOperator =
            serde_json::from_value(without_future(a_full_cluster_operator())).unwrap();
        operator.metadata.other.remove("managedFields").unwrap();
        for text in [format!("{version:?}"), format!("{operator:?}")] {
            assert!(text.contains("other: {}"));
            assert!(!text.replace("other: {}", "").contains("other: {"), "{text}");
        }
    }

    #[test]
    fn definitions_list_the_capabilities_and_baseline_sets_that_the_code_knows() {
        let line = "\n                      ";
        let list = format!("{line}enum:{line}- {}\n", KNOWN.join(&format!("{line}- ")));
        let lists = CLUSTER_VERSION.matches(&list).count();
        assert_eq!(lists, 3, "additional, enabled and known");
        let sets = BaselineSet::ALL.map(BaselineSet::as_str).join(", ");
        assert!(CLUSTER_VERSION.contains(&format!("enum: [{sets}]")));
    }

    #[test]
    fn definitions_are_included_in_self_managed_clusters_of_any_size() {
        for crd in [CLUSTER_VERSION, CLUSTER_OPERATOR] {
            for profile in [profile::SELF_MANAGED_HIGH_AVAILABILITY, profile::SINGLE_NODE_DEVELOPER] {
                assert!(crd.contains(&format!("\n    {}{profile}: \"true\"\n", annotation::INCLUDE_PREFIX)));
            }
        }
    }

    #[test]
    fn accepted_objects_can_be_read_and_written_without_loss_of_meaning() {
        let cases: Vec<Value> = serde_json::from_str(VALIDATION_CASES).unwrap();
        let names: BTreeSet<&str> = cases.iter().map(|case| case["name"].as_str().unwrap()).collect();
        assert_eq!(names.len(), cases.len(), "names are unique");
        for case in &cases {
            let accepted = case["accepted"].as_bool().unwrap();
            assert_eq!(accepted, case["message_contains"].as_str().unwrap().is_empty(), "{case}");
            if !accepted {
                continue;
            }
            let object = case["object"].clone();
            if case["crd"] == "clusterversions" {
                let read: ClusterVersion = serde_json::from_value(object).unwrap();
                let again = serde_json::from_value(serde_json::to_value(&read).unwrap()).unwrap();
                assert_eq!(read, again);
            } else {
                let read: ClusterOperator = serde_json::from_value(object.clone()).unwrap();
                assert_eq!(serde_json::to_value(&read).unwrap(), object);
            }
        }
    }
}
