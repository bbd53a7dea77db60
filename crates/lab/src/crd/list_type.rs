//! Lists that are sets or maps have no element twice.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::structural::Structural;
use crate::status::FieldError;

// === impl Structural ===

impl Structural {
    /// The elements that occur twice in lists of the types `set` and `map`, each named at its second place.
    pub(crate) fn check_lists(&self, object: &Value) -> Vec<FieldError> {
        let mut errors = Vec::new();
        if let Value::Object(object) = object {
            check_object(self, object, "", &mut errors);
        }
        errors
    }
}

fn check_object(schema: &Structural, object: &Map<String, Value>, path: &str, errors: &mut Vec<FieldError>) {
    if let Some(additional) = schema.additional_schema() {
        for (key, value) in object.iter().filter(|(_, value)| has_parts(value)) {
            check(additional, value, &format!("{path}[{key}]"), errors);
        }
    }
    for (key, value) in object.iter().filter(|(_, value)| has_parts(value)) {
        if let Some(property) = schema.properties.get(key.as_str()) {
            let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            check(property, value, &path, errors);
        }
    }
}

fn has_parts(value: &Value) -> bool {
    value.is_object() || value.is_array()
}

fn check(schema: &Structural, value: &Value, path: &str, errors: &mut Vec<FieldError>) {
    match value {
        Value::Object(object) => check_object(schema, object, path, errors),
        Value::Array(list) => {
            match schema.list_type.as_deref() {
                Some("set") => check_set(list, path, errors),
                Some("map") => check_map(schema, list, path, errors),
                _ => {}
            }
            if let Some(items) = &schema.items {
                for (index, value) in list.iter().enumerate().filter(|(_, value)| has_parts(value)) {
                    check(items, value, &format!("{path}[{index}]"), errors);
                }
            }
        }
        _ => {}
    }
}

fn check_set(list: &[Value], path: &str, errors: &mut Vec<FieldError>) {
    for index in second_places(list.iter().map(Value::to_string)) {
        errors.push(FieldError::duplicate(format!("{path}[{index}]"), list[index].clone()));
    }
}

fn check_map(schema: &Structural, list: &[Value], path: &str, errors: &mut Vec<FieldError>) {
    if let Some((index, value)) =
        list.iter().enumerate().find(|(_, value)| !value.is_object() && !value.is_null())
    {
        let detail = "must be an object for an array of list-type map";
        errors.push(FieldError::invalid(format!("{path}[{index}]"), value.clone(), detail));
        return;
    }
    let key_of = |item: &Value| -> Value {
        let fields = schema.list_map_keys.iter();
        let fields = fields.filter_map(|key| item.get(&**key).map(|value| (key.to_string(), value.clone())));
        Value::Object(fields.collect())
    };
    for index in second_places(list.iter().map(|item| key_of(item).to_string())) {
        errors.push(FieldError::duplicate(format!("{path}[{index}]"), key_of(&list[index])));
    }
}

/// Where a text occurs for the second time; a third time is not reported.
fn second_places(texts: impl ExactSizeIterator<Item = String>) -> Vec<usize> {
    if texts.len() < 2 {
        return Vec::new();
    }
    let mut times: BTreeMap<String, u32> = BTreeMap::new();
    let mut places = Vec::new();
    for (index, text) in texts.enumerate() {
        let times = times.entry(text).or_default();
        *times += 1;
        if *times == 2 {
            places.push(index);
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn duplicates_are_named_once_with_their_keys() {
        let schema = Structural::parse(&json!({"properties": {
            "set": {"x-kubernetes-list-type": "set", "items": {}},
            "map": {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a", "b"], "items": {}},
        }}));
        let object =
            json!({"set": ["x", 1, "x", "x"], "map": [{"a": 1, "c": 1}, {"a": 1, "b": 2}, {"a": 1}]});
        let errors: Vec<String> = schema.check_lists(&object).iter().map(ToString::to_string).collect();
        assert_eq!(errors, [r#"map[2]: Duplicate value: {"a":1}"#, r#"set[2]: Duplicate value: "x""#]);
    }

    #[test]
    fn lists_inside_maps_have_the_key_in_brackets() {
        let schema = Structural::parse(&json!({"properties": {"m": {"additionalProperties":
            {"x-kubernetes-list-type": "set", "items": {}}}}}));
        let errors = schema.check_lists(&json!({"m": {"k": [1, 1]}}));
        assert_eq!(errors[0].field, "m[k][1]");
    }
}
