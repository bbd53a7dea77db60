//! Filling in the defaults of a schema.

use serde_json::Value;

use super::structural::Structural;

// === impl Structural ===

impl Structural {
    /// Sets the defaults for what is missing, and for `null`s that the schema does not allow. Pruning comes first.
    pub(crate) fn default(&self, value: &mut Value) {
        match value {
            Value::Object(object) => {
                for (name, property) in &self.properties {
                    let Some(default) = &property.default else { continue };
                    let is_missing =
                        object.get(&**name).is_none_or(|value| value.is_null() && property.refuses_null());
                    if is_missing {
                        object.insert(name.to_string(), default.clone());
                    }
                }
                for (name, value) in object.iter_mut() {
                    if let Some(property) = self.properties.get(name.as_str()) {
                        property.default(value);
                    } else if let Some(additional) = self.additional_schema() {
                        additional.default_element(value);
                    }
                }
            }
            Value::Array(list) => {
                if let Some(items) = self.items.as_deref() {
                    for value in list {
                        items.default_element(value);
                    }
                }
            }
            _ => {}
        }
    }

    /// An element of a list or map is never missing, but it can be `null`.
    fn default_element(&self, value: &mut Value) {
        if value.is_null()
            && self.refuses_null()
            && let Some(default) = &self.default
        {
            *value = default.clone();
        }
        self.default(value);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn defaults_appear_in_what_is_there_and_in_other_defaults() {
        let schema = Structural::parse(&json!({"properties": {
            "a": {"type": "object", "default": {}, "properties": {"b": {"type": "string", "default": "x"}}},
            "absent": {"type": "object", "properties": {"b": {"default": "x"}}},
            "list": {"items": {"properties": {"c": {"default": 1}}}},
            "map": {"additionalProperties": {"type": "object", "properties": {"d": {"default": true}}}},
            "null": {"default": "set"},
            "kept": {"default": "set", "nullable": true},
            "words": {"items": {"type": "string", "default": "w"}},
        }}));
        let mut value = json!({"list": [{}, {"c": 2}], "map": {"k": {}}, "null": null, "kept": null, "words": [null, "v"]});
        schema.default(&mut value);
        assert_eq!(
            value,
            json!({"a": {"b": "x"}, "list": [{"c": 1}, {"c": 2}], "map": {"k": {"d": true}}, "null": "set",
                "kept": null, "words": ["w", "v"]})
        );
    }
}
