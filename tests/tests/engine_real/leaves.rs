//! The leaves of a manifest, and other values for them.

use serde_json::{Value, json};

/// The JSON pointers of every leaf but those that address the object.
pub(crate) fn leaves(object: &Value) -> Vec<String> {
    let mut found = Vec::new();
    collect(object, &mut String::new(), &mut found);
    let address = ["/apiVersion", "/kind", "/metadata/name", "/metadata/namespace"];
    found.retain(|pointer| !address.contains(&pointer.as_str()));
    found
}

fn collect(value: &Value, pointer: &mut String, found: &mut Vec<String>) {
    let length = pointer.len();
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                pointer.push('/');
                pointer.push_str(&key.replace('~', "~0").replace('/', "~1"));
                collect(value, pointer, found);
                pointer.truncate(length);
            }
        }
        Value::Array(list) => {
            for (place, value) in list.iter().enumerate() {
                pointer.push('/');
                pointer.push_str(&place.to_string());
                collect(value, pointer, found);
                pointer.truncate(length);
            }
        }
        Value::Null => {}
        _ => found.push(pointer.clone()),
    }
}

/// Another value of the same type.
pub(crate) fn changed(leaf: &Value) -> Value {
    match leaf {
        Value::Bool(is) => json!(!is),
        Value::Number(number) => number.as_i64().map_or(json!(1), |number| json!(number + 1)),
        Value::String(text) => json!(format!("{text}x")),
        other => other.clone(),
    }
}
