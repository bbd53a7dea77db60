//! Reading `metadata.managedFields`: who owns which field of a live object.
//!
//! A node of `fieldsV1` is a map: `f:NAME` is a field, `k:{…}` a list item by its key, `v:…` a member of a set, `.` the
//! value itself. An empty node is a leaf, or a value that is owned as a whole.

use std::iter::Peekable;

use serde_json::{Map, Value, map};

use super::path::{Segment, has_key};
use crate::FIELD_MANAGER;

/// A node of `fieldsV1`.
pub(crate) type Node = Map<String, Value>;

/// One entry of `metadata.managedFields`.
#[derive(Clone, Copy)]
pub(crate) struct Entry<'a>(pub(crate) &'a Value);

/// The nodes of fields by name, for a walk in the order of names: no key has to be put together for a lookup.
pub(crate) struct Fields<'a> {
    rest: Option<Peekable<map::Iter<'a>>>,
    /// Fields that nobody asked for.
    passed: Vec<&'a str>,
}

// === impl Entry ===

impl<'a> Entry<'a> {
    /// All entries of a live object.
    pub(crate) fn all(live: &'a Value) -> impl Iterator<Item = Self> {
        live["metadata"]["managedFields"].as_array().into_iter().flatten().map(Self)
    }

    /// The name of the manager.
    pub(crate) fn manager(self) -> &'a str {
        self.0["manager"].as_str().unwrap_or_default()
    }

    /// Whether it was written by server-side apply.
    pub(crate) fn is_apply(self) -> bool {
        self.0["operation"] == "Apply"
    }

    /// Whether it was written through a subresource such as `status` or `scale`.
    pub(crate) fn has_subresource(self) -> bool {
        self.0["subresource"].as_str().is_some_and(|name| !name.is_empty())
    }

    /// Whether it says what we applied.
    pub(crate) fn is_ours(self) -> bool {
        self.manager() == FIELD_MANAGER && self.is_apply() && !self.has_subresource()
    }

    /// The fields that it owns.
    pub(crate) fn fields(self) -> Option<&'a Node> {
        self.0["fieldsV1"].as_object()
    }
}

/// The fields that we applied; nothing when we never did.
pub(crate) fn ours(live: &Value) -> Option<&Node> {
    Entry::all(live).find(|entry| entry.is_ours())?.fields()
}

/// Whether a node owns the value at a path, or something in it.
pub(crate) fn owns(node: &Node, path: &[Segment]) -> bool {
    let Some((segment, rest)) = path.split_first() else { return true };
    if node.is_empty() {
        // Owned as a whole.
        return true;
    }
    let inside = |child: &Value| child.as_object().is_some_and(|child| owns(child, rest));
    match segment {
        Segment::Field(name) => node.get(&format!("f:{name}")).is_some_and(inside),
        Segment::Member(member) => members(node).any(|(value, _)| value == *member),
        Segment::Key(wanted) => {
            // A path may name fewer fields than the key has.
            keys(node).any(|(key, child)| has_key(&Value::Object(key), wanted) && inside(child))
        }
        // Items that are told apart by their place are owned with their list.
        Segment::Index(_) => false,
    }
}

/// The keys of list items, with their nodes.
pub(crate) fn keys(node: &Node) -> impl Iterator<Item = (Map<String, Value>, &Value)> {
    node.iter()
        .filter_map(|(name, child)| Some((serde_json::from_str(name.strip_prefix("k:")?).ok()?, child)))
}

/// The members of a set, with their nodes.
pub(crate) fn members(node: &Node) -> impl Iterator<Item = (Value, &Value)> {
    node.iter()
        .filter_map(|(name, child)| Some((serde_json::from_str(name.strip_prefix("v:")?).ok()?, child)))
}

// === impl Fields ===

impl<'a> Fields<'a> {
    /// The fields below a node.
    pub(crate) fn of(node: Option<&'a Node>) -> Self {
        Self { rest: node.map(|node| node.iter().peekable()), passed: Vec::new() }
    }

    /// The node of a field. The names must come in ascending order.
    pub(crate) fn next(&mut self, name: &str) -> Option<&'a Node> {
        let rest = self.rest.as_mut()?;
        while let Some((key, child)) =
            rest.next_if(|(key, _)| key.strip_prefix("f:").is_none_or(|field| field <= name))
        {
            match key.strip_prefix("f:") {
                Some(field) if field == name => return child.as_object(),
                Some(field) => self.passed.push(field),
                None => {}
            }
        }
        None
    }

    /// All fields that were not asked for.
    pub(crate) fn left_over(mut self) -> Vec<&'a str> {
        self.passed.extend(self.rest.into_iter().flatten().filter_map(|(key, _)| key.strip_prefix("f:")));
        self.passed
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::compare::path::parse;

    #[test]
    fn fields_are_found_in_ascending_order_past_what_is_no_field() {
        let node = json!({".": {}, "f:a": {"f:x": {}}, "f:c": {}, "k:{}": {}});
        let mut fields = Fields::of(node.as_object());
        assert_eq!(fields.next("a").map(Map::len), Some(1));
        assert_eq!(fields.next("b"), None);
        assert_eq!(fields.next("c").map(Map::len), Some(0));
        assert_eq!(fields.next("d"), None);
        assert_eq!(Fields::of(None).next("a"), None);
    }

    #[test]
    fn fields_that_nobody_asks_for_are_left_over() {
        let node = json!({".": {}, "f:a": {}, "f:b": {}, "f:c": {}, "f:d": {}});
        let mut fields = Fields::of(node.as_object());
        assert!(fields.next("b").is_some() && fields.next("c").is_some());
        assert_eq!(fields.left_over(), ["a", "d"]);
    }

    #[test]
    fn a_path_is_owned_with_its_whole_and_with_its_parts() {
        let node = json!({"f:spec": {"f:args": {}, "f:containers": {"k:{\"name\":\"a\",\"zone\":1}": {"f:image": {}}},
            "f:set": {"v:\"x\"": {}}}});
        for (path, owned) in [
            ("spec", true),
            ("spec.args", true),
            ("spec.args[3]", true),
            ("spec.other", false),
            (r#"spec.containers[name="a"]"#, true),
            (r#"spec.containers[name="a"].image"#, true),
            (r#"spec.containers[name="a"].tty"#, false),
            (r#"spec.containers[name="b"].image"#, false),
            (r#"spec.set[="x"]"#, true),
            (r#"spec.set[="y"]"#, false),
        ] {
            assert_eq!(owns(node.as_object().unwrap(), &parse(path).unwrap()), owned, "{path}");
        }
    }

    #[test]
    fn only_an_apply_of_ours_without_a_subresource_is_ours() {
        let entry = |manager: &str, operation: &str, subresource: &str| {
            let entry = json!({"manager": manager, "operation": operation, "subresource": subresource,
                "fieldsV1": {"f:spec": {}}});
            ours(&json!({"metadata": {"managedFields": [entry]}})).is_some()
        };
        assert!(entry("lockstep", "Apply", ""));
        assert!(!entry("lockstep", "Apply", "status"));
        assert!(!entry("lockstep", "Update", ""));
        assert!(!entry("kubectl", "Apply", ""));
    }
}
