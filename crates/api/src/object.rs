//! Reading the common parts of any Kubernetes object held as JSON, and its identity in a release.
//!
//! Every reader here is total: a field that is missing, or has another type than expected, reads as empty, because
//! that is how the rest of the world reads it. Whoever wants to complain about a wrong type looks at the value itself.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What makes an object the same object: API group, kind, namespace and name.
///
/// *Compatibility*: the API version is not part of it; `extensions/v1` and `extensions/v2` of one name are one object.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ResourceId {
    /// The API group, empty for the core group.
    #[serde(default)]
    pub group: String,
    /// The kind, as written in the manifest.
    pub kind: String,
    /// The namespace, empty for a cluster-scoped object or when the manifest leaves it out.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// The name.
    pub name: String,
}

// === impl ResourceId ===

impl ResourceId {
    /// Makes an identity from its four parts; `namespace` may be empty.
    pub fn new(
        group: impl Into<String>,
        kind: impl Into<String>,
        namespace: impl Into<String>,
        name: impl Into<String>,
    ) -> Self {
        Self { group: group.into(), kind: kind.into(), namespace: namespace.into(), name: name.into() }
    }

    /// Reads the identity of an object; parts that it does not have are empty.
    pub fn of(object: &Value) -> Self {
        Self::new(group(object), kind(object), namespace(object), name(object))
    }
}

/// The form that load errors and logs print, with the namespace only where there is one.
impl fmt::Display for ResourceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { group, kind, namespace, name } = self;
        write!(f, "Group: {group:?} Kind: {kind:?} ")?;
        if !namespace.is_empty() {
            write!(f, "Namespace: {namespace:?} ")?;
        }
        write!(f, "Name: {name:?}")
    }
}

// === readers ===

/// The `apiVersion`, or the empty string.
pub fn api_version(object: &Value) -> &str {
    text(object, "apiVersion")
}

/// The `kind`, or the empty string.
pub fn kind(object: &Value) -> &str {
    text(object, "kind")
}

/// The API group of the object's `apiVersion`; empty for the core group.
pub fn group(object: &Value) -> &str {
    split_api_version(api_version(object)).0
}

/// The API version without its group.
pub fn version(object: &Value) -> &str {
    split_api_version(api_version(object)).1
}

/// Splits `group/version` into its two parts; a text without a slash is a version of the core group.
///
/// *Compatibility*: a text with more than one slash gives two empty parts, as in the reference.
pub fn split_api_version(api_version: &str) -> (&str, &str) {
    match api_version.split_once('/') {
        None => ("", api_version),
        Some((_, version)) if version.contains('/') => ("", ""),
        Some(parts) => parts,
    }
}

/// Joins group and version into an `apiVersion`.
pub fn join_api_version(group: &str, version: &str) -> String {
    if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") }
}

/// The `metadata.name`, or the empty string.
pub fn name(object: &Value) -> &str {
    text(&object["metadata"], "name")
}

/// The `metadata.namespace`, or the empty string.
pub fn namespace(object: &Value) -> &str {
    text(&object["metadata"], "namespace")
}

/// The annotations, or `None` when the object has no usable map of them.
///
/// *Compatibility*: one value that is not a string makes the **whole** map read as absent; a `null` value reads as the
/// empty string. An empty map is a map, which matters: the reason for leaving a manifest out differs.
pub fn annotations(object: &Value) -> Option<BTreeMap<&str, &str>> {
    string_map(&object["metadata"]["annotations"])
}

/// One annotation under the rule of [`annotations`].
pub fn annotation<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    annotations(object)?.get(key).copied()
}

/// The labels, or `None` when the object has no usable map of them; the rule is that of [`annotations`].
pub fn labels(object: &Value) -> Option<BTreeMap<&str, &str>> {
    string_map(&object["metadata"]["labels"])
}

fn text<'a>(object: &'a Value, key: &str) -> &'a str {
    object[key].as_str().unwrap_or_default()
}

fn string_map(value: &Value) -> Option<BTreeMap<&str, &str>> {
    value
        .as_object()?
        .iter()
        .map(|(key, value)| match value {
            Value::Null => Some((key.as_str(), "")),
            value => Some((key.as_str(), value.as_str()?)),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn annotated(annotations: Value) -> Value {
        let mut object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}});
        object["metadata"]["annotations"] = annotations;
        object
    }

    #[test]
    fn identity_leaves_the_version_out() {
        let first = json!({"apiVersion": "extensions/v1", "kind": "ConfigMap",
            "metadata": {"name": "a-config", "namespace": "default"}});
        let mut second = first.clone();
        second["apiVersion"] = json!("extensions/v2");
        assert_eq!(ResourceId::of(&first), ResourceId::of(&second));
    }

    #[test]
    fn identities_differ_when_any_part_differs() {
        let base = ResourceId::new("g", "K", "ns", "n");
        for other in [
            ResourceId::new("h", "K", "ns", "n"),
            ResourceId::new("g", "L", "ns", "n"),
            ResourceId::new("g", "K", "", "n"),
            ResourceId::new("g", "K", "ns", "m"),
        ] {
            assert_ne!(base, other);
        }
    }

    #[test]
    fn display_names_the_namespace_only_when_there_is_one() {
        assert_eq!(
            ResourceId::new("extensions", "ConfigMap", "default", "a-config").to_string(),
            r#"Group: "extensions" Kind: "ConfigMap" Namespace: "default" Name: "a-config""#
        );
        assert_eq!(
            ResourceId::new("", "Namespace", "", "a").to_string(),
            r#"Group: "" Kind: "Namespace" Name: "a""#
        );
    }

    #[test]
    fn api_version_splits_as_the_reference_splits_it() {
        assert_eq!(split_api_version("apps/v1"), ("apps", "v1"));
        assert_eq!(split_api_version("v1"), ("", "v1"));
        assert_eq!(split_api_version(""), ("", ""));
        assert_eq!(split_api_version("a/b/c"), ("", ""));
        assert_eq!(join_api_version("apps", "v1"), "apps/v1");
        assert_eq!(join_api_version("", "v1"), "v1");
    }

    #[test]
    fn parts_of_a_wrong_type_read_as_empty() {
        let object = json!({"apiVersion": 1, "kind": null, "metadata": {"name": 7, "namespace": ["x"]}});
        assert_eq!(ResourceId::of(&object), ResourceId::default());
        assert_eq!(ResourceId::of(&json!("text")), ResourceId::default());
        assert_eq!(ResourceId::of(&json!({"metadata": "text"})), ResourceId::default());
    }

    #[test]
    fn one_annotation_that_is_no_string_hides_all_of_them() {
        let object = annotated(json!({"a": "1", "b": true}));
        assert_eq!(annotations(&object), None);
        assert_eq!(annotation(&object, "a"), None);
    }

    #[test]
    fn null_annotation_reads_as_empty_and_keeps_the_others() {
        let object = annotated(json!({"a": "1", "b": null}));
        assert_eq!(annotations(&object), Some(BTreeMap::from([("a", "1"), ("b", "")])));
        assert_eq!(annotation(&object, "b"), Some(""));
    }

    #[test]
    fn empty_map_of_annotations_is_not_the_same_as_none() {
        assert_eq!(annotations(&annotated(json!({}))), Some(BTreeMap::new()));
        assert_eq!(annotations(&annotated(Value::Null)), None);
        assert_eq!(annotations(&annotated(json!("text"))), None);
        assert_eq!(annotations(&json!({})), None);
    }

    #[test]
    fn identity_round_trips_through_json_without_an_empty_namespace() {
        let id = ResourceId::new("", "Namespace", "", "a");
        let value = serde_json::to_value(&id).unwrap();
        assert_eq!(value, json!({"group": "", "kind": "Namespace", "name": "a"}));
        assert_eq!(serde_json::from_value::<ResourceId>(value).unwrap(), id);
    }
}
