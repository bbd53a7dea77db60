//! One string of an object changed, as somebody else would do it.

use serde_json::{Value, json};

/// A change of one string.
#[derive(Clone, Debug, PartialEq)]
pub struct Edit {
    /// The merge patch.
    pub patch: Value,
    /// What the patch replaces, as a JSON pointer: the string itself, or the outermost list that it is in.
    pub pointer: String,
    /// What was there.
    pub before: Value,
}

/// What makes an object this object; nobody can change it.
const IDENTITY: [&str; 4] = ["/apiVersion", "/kind", "/metadata/name", "/metadata/namespace"];

/// The JSON pointers of all strings of an object, apart from those that make it this object.
pub fn strings(object: &Value) -> Vec<String> {
    let mut found = Vec::new();
    collect(object, String::new(), &mut found);
    found.retain(|pointer| !IDENTITY.contains(&pointer.as_str()));
    found
}

fn collect(value: &Value, pointer: String, found: &mut Vec<String>) {
    match value {
        Value::String(_) => found.push(pointer),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                collect(item, format!("{pointer}/{index}"), found);
            }
        }
        Value::Object(fields) => {
            for (name, field) in fields {
                let token = name.replace('~', "~0").replace('/', "~1");
                collect(field, format!("{pointer}/{token}"), found);
            }
        }
        _ => {}
    }
}

impl Edit {
    /// A change of this string of a live object; nothing when it has none there.
    pub fn of(live: &Value, string: &str) -> Option<Self> {
        let text = live.pointer(string)?.as_str()?;
        let pointer = outermost_list(live, string);
        let before = live.pointer(pointer)?.clone();
        let mut after = before.clone();
        *after.pointer_mut(&string[pointer.len()..])? = format!("{text}x").into();
        let tokens = pointer.rsplit('/').filter(|token| !token.is_empty());
        let patch = tokens.fold(after, |inner, token| {
            let name = token.replace("~1", "/").replace("~0", "~");
            json!({ name: inner })
        });
        Some(Self { patch, pointer: pointer.to_owned(), before })
    }

    /// Whether an object is there again as it was before.
    pub fn is_undone(&self, live: &Value) -> bool {
        live.pointer(&self.pointer) == Some(&self.before)
    }
}

/// The shortest beginning of a pointer that leads to a list, or all of it: a merge patch cannot go into a list.
fn outermost_list<'a>(object: &Value, pointer: &'a str) -> &'a str {
    let ends = pointer.match_indices('/').skip(1).map(|(end, _)| &pointer[..end]);
    ends.chain([pointer]).find(|start| object.pointer(start).is_some_and(Value::is_array)).unwrap_or(pointer)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn an_object() -> Value {
        json!({
            "apiVersion": "v1", "kind": "A", "metadata": {"name": "a", "namespace": "b", "labels": {"x.y/z~": "1"}},
            "spec": {"number": 7, "items": [{"name": "n", "list": ["p", "q"]}, {"name": "m"}]},
        })
    }

    #[test]
    fn every_string_can_be_chosen_except_the_identity() {
        assert_eq!(
            strings(&an_object()),
            [
                "/metadata/labels/x.y~1z~0",
                "/spec/items/0/list/0",
                "/spec/items/0/list/1",
                "/spec/items/0/name",
                "/spec/items/1/name",
            ]
        );
    }

    #[test]
    fn a_string_in_lists_is_changed_by_the_whole_outer_list() {
        let live = an_object();
        let edit = Edit::of(&live, "/spec/items/0/list/1").unwrap();
        let items = json!([{"name": "n", "list": ["p", "qx"]}, {"name": "m"}]);
        assert_eq!(edit.patch, json!({"spec": {"items": items}}));
        assert_eq!(edit.pointer, "/spec/items");
        assert!(edit.is_undone(&live) && !edit.is_undone(&edit.patch));
    }

    #[test]
    fn a_key_with_a_slash_is_written_as_it_is() {
        let edit = Edit::of(&an_object(), "/metadata/labels/x.y~1z~0").unwrap();
        assert_eq!(edit.patch, json!({"metadata": {"labels": {"x.y/z~": "1x"}}}));
        assert_eq!(edit.before, "1");
    }

    #[test]
    fn what_the_live_object_does_not_have_is_not_changed() {
        assert_eq!(Edit::of(&an_object(), "/spec/other"), None);
        assert_eq!(Edit::of(&an_object(), "/spec/number"), None);
    }
}
