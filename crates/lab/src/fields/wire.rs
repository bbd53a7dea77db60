//! The form of a set in `fieldsV1`: objects by path element, `.` for a member that has others below it.

use serde_json::{Map, Value};

use super::element::PathElement;
use super::set::FieldSet;

impl FieldSet {
    /// The set as the value of `fieldsV1`.
    pub(crate) fn encode(&self) -> Value {
        Value::Object(self.encode_nodes())
    }

    fn encode_nodes(&self) -> Map<String, Value> {
        let nodes = self.nodes.iter().map(|(element, node)| {
            let mut below = node.below.encode_nodes();
            if node.member && !below.is_empty() {
                below.insert(".".into(), Value::Object(Map::new()));
            }
            (element.encode(), Value::Object(below))
        });
        nodes.collect()
    }

    /// Reads the value of `fieldsV1`.
    ///
    /// # Errors
    /// When a key is no path element, or something else than an object stands below one.
    pub(crate) fn decode(fields: &Value) -> Result<Self, String> {
        Ok(decode(fields)?.0)
    }
}

/// The set below an element, and whether the element itself is a member.
fn decode(fields: &Value) -> Result<(FieldSet, bool), String> {
    let mut set = FieldSet::default();
    let mut member = false;
    let fields = match fields {
        Value::Object(fields) => Some(fields),
        Value::Null => None,
        other => return Err(format!("`{other}` stands where the fields below an element are expected")),
    };
    for (key, value) in fields.into_iter().flatten() {
        if key == "." {
            member = true;
        } else if let Some(element) = PathElement::decode(key)? {
            let (below, is_member) = decode(value)?;
            set.put(element, is_member, below);
        }
    }
    // What has nothing below it can only be there as a member.
    let member = member || set.is_empty();
    Ok((set, member))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::fields::set::tests::any_set;

    #[test]
    fn a_member_with_others_below_has_a_dot() {
        let fields = json!({
            "f:data": {".": {}, "f:a": {}},
            "f:spec": {"f:ports": {"k:{\"port\":80,\"protocol\":\"TCP\"}": {".": {}, "f:port": {}}}},
            "f:metadata": {"f:finalizers": {".": {}, "v:\"x\"": {}}},
        });
        let set = FieldSet::decode(&fields).unwrap();
        assert_eq!(set.encode(), fields);
        assert_eq!(set.paths().len(), 6);
        assert!(set.has(&[PathElement::field("data")]));
        assert!(!set.has(&[PathElement::field("spec")]));
    }

    #[test]
    fn keys_are_rewritten_in_the_canonical_form() {
        let set =
            FieldSet::decode(&json!({"k:{\"protocol\": \"TCP\", \"port\": 80.0}": {}, "x:1": {}})).unwrap();
        assert_eq!(set.encode(), json!({"k:{\"port\":80,\"protocol\":\"TCP\"}": {}}));
    }

    #[test]
    fn broken_fields_are_refused() {
        assert!(FieldSet::decode(&json!({"f:a": 1})).is_err());
        assert!(FieldSet::decode(&json!({"a": {}})).is_err());
        assert!(FieldSet::decode(&json!([])).is_err());
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(set in any_set()) {
            prop_assert_eq!(FieldSet::decode(&set.encode()), Ok(set));
        }
    }
}
