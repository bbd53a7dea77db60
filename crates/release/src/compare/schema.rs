//! Whether a schema accepts less than another.
//!
//! Told is what makes an object that was valid invalid, or drops what it says. A schema under a field that is new is not
//! looked at: no object has it yet.

use serde_json::{Map, Value};

use super::definition::Incompatible;

/// Limits that narrow when they grow.
const LOWER: [(&str, &str); 4] = [
    ("minimum", "the least value"),
    ("minLength", "the least length"),
    ("minItems", "the least number of items"),
    ("minProperties", "the least number of fields"),
];
/// Limits that narrow when they shrink.
const UPPER: [(&str, &str); 4] = [
    ("maximum", "the greatest value"),
    ("maxLength", "the greatest length"),
    ("maxItems", "the greatest number of items"),
    ("maxProperties", "the greatest number of fields"),
];
/// Marks of a schema that keeps what it does not know.
const KEEPS_UNKNOWN: &str = "x-kubernetes-preserve-unknown-fields";
const INT_OR_STRING: &str = "x-kubernetes-int-or-string";
const RULES: &str = "x-kubernetes-validations";

/// Where and how the second schema accepts less than the first.
pub(super) fn narrowed(before: &Value, after: &Value) -> Vec<Incompatible> {
    let mut walk = Walk { found: Vec::new() };
    walk.schema(before, after, "");
    walk.found
}

struct Walk {
    found: Vec<Incompatible>,
}

// === impl Walk ===

impl Walk {
    fn tell(&mut self, rule: &'static str, path: &str, message: String) {
        self.found.push(Incompatible { rule, path: path.to_owned(), message });
    }

    fn schema(&mut self, before: &Value, after: &Value, path: &str) {
        if before == after || !before.is_object() {
            return;
        }
        self.kind(before, after, path);
        self.limits(before, after, path);
        self.choices(before, after, path);
        self.rules(before, after, path);
        self.unknown_fields(before, after, path);
        self.required(before, after, path);
        self.properties(before, after, path);
        if before["items"].is_object() {
            self.schema(&before["items"], &after["items"], &format!("{path}[]"));
        }
        let (old, new) = (&before["additionalProperties"], &after["additionalProperties"]);
        if old.is_object() && new.is_object() {
            self.schema(old, new, &format!("{path}[*]"));
        }
    }

    fn kind(&mut self, before: &Value, after: &Value, path: &str) {
        let is_wider = |old: &str, new: &str| {
            (old, new) == ("integer", "number")
                || new.is_empty() && (after[INT_OR_STRING] == true || after[KEEPS_UNKNOWN] == true)
        };
        let text = |schema: &Value| match schema["type"].as_str() {
            Some(kind) => kind.to_owned(),
            None if schema[INT_OR_STRING] == true => "integer or string".to_owned(),
            None => String::new(),
        };
        let (old, new) = (text(before), text(after));
        if old != new && !old.is_empty() && !is_wider(&old, after["type"].as_str().unwrap_or_default()) {
            let new = if new.is_empty() { "not given" } else { &new };
            self.tell("type-changed", path, format!("the type was {old} and is {new}"));
        }
        if before["nullable"] == true && after["nullable"] != true {
            self.tell("null-refused", path, "null was accepted and is refused".to_owned());
        }
        let list = |schema: &Value| schema["x-kubernetes-list-type"].as_str().unwrap_or("atomic").to_owned();
        let keys = |schema: &Value| schema["x-kubernetes-list-map-keys"].clone();
        if (list(before), keys(before)) != (list(after), keys(after)) && list(after) != "atomic" {
            let text = format!("items must now differ: the list was {} and is {}", list(before), list(after));
            self.tell("list-type-changed", path, text);
        }
    }

    fn limits(&mut self, before: &Value, after: &Value, path: &str) {
        for (limits, is_tighter) in
            [(LOWER, (|old, new| new > old) as fn(f64, f64) -> bool), (UPPER, |old, new| new < old)]
        {
            for (name, what) in limits {
                let Some(new) = after[name].as_f64() else { continue };
                match before[name].as_f64() {
                    // NB: no limit below and a limit of 0 is the same for lengths and counts.
                    None if new == 0.0 && name.starts_with("min") && name != "minimum" => {}
                    None => self.tell("limit-tightened", path, format!("{what} had no limit and is {new}")),
                    Some(old) if is_tighter(old, new) => {
                        self.tell("limit-tightened", path, format!("{what} was {old} and is {new}"));
                    }
                    Some(_) => {}
                }
            }
        }
        for (name, what) in [
            ("exclusiveMinimum", "the least value itself is refused"),
            ("exclusiveMaximum", "the greatest value itself is refused"),
            ("uniqueItems", "items that are equal are refused"),
        ] {
            if after[name] == true && before[name] != true {
                self.tell("limit-tightened", path, what.to_owned());
            }
        }
        for name in ["pattern", "format", "multipleOf"] {
            if !after[name].is_null() && after[name] != before[name] {
                let old =
                    if before[name].is_null() { "nothing".to_owned() } else { before[name].to_string() };
                let text = format!("{name} was {old} and is {}", after[name]);
                self.tell("format-changed", path, text);
            }
        }
    }

    fn choices(&mut self, before: &Value, after: &Value, path: &str) {
        let Some(new) = accepted(after) else { return };
        let list = |values: &[&Value]| values.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        match accepted(before) {
            None => {
                let all: Vec<&Value> = new.iter().collect();
                self.tell("choice-removed", path, format!("any value was accepted, now only {}", list(&all)));
            }
            Some(old) => {
                let gone: Vec<&Value> = old.iter().filter(|value| !new.contains(value)).collect();
                if !gone.is_empty() {
                    let text = format!("no longer accepted: {}", list(&gone));
                    self.tell("choice-removed", path, text);
                }
            }
        }
    }

    fn rules(&mut self, before: &Value, after: &Value, path: &str) {
        let rules = |schema: &Value| schema[RULES].as_array().cloned().unwrap_or_default();
        let old: Vec<Value> = rules(before).iter().map(|rule| rule["rule"].clone()).collect();
        for rule in rules(after).iter().filter(|rule| !old.contains(&rule["rule"])) {
            let text =
                rule["rule"].as_str().unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
            self.tell("rule-added", path, format!("a new rule may refuse what was accepted: {text}"));
        }
        for name in ["allOf", "anyOf", "oneOf", "not"] {
            let new = &after[name];
            let is_new = match (before[name].as_array(), new.as_array()) {
                // More alternatives accept more; more conditions accept less.
                (old, Some(new)) if name == "allOf" => {
                    let is_known = |one| is_choice(one) || old.is_some_and(|old| old.contains(one));
                    !new.iter().all(is_known)
                }
                // Exactly one may fit: with another alternative two may.
                (Some(old), Some(new)) if name == "oneOf" => {
                    old.len() != new.len() || old.iter().any(|one| !new.contains(one))
                }
                (Some(old), Some(new)) => old.iter().any(|one| !new.contains(one)),
                _ => !new.is_null() && *new != before[name],
            };
            if is_new {
                self.tell(
                    "condition-changed",
                    path,
                    format!("`{name}` is another and may refuse what was accepted"),
                );
            }
        }
    }

    fn unknown_fields(&mut self, before: &Value, after: &Value, path: &str) {
        if before[KEEPS_UNKNOWN] == true && after[KEEPS_UNKNOWN] != true {
            let text = "fields that the schema does not know were kept and are dropped";
            self.tell("unknown-fields-dropped", path, text.to_owned());
        }
        let accepts_any = |schema: &Value| match &schema["additionalProperties"] {
            Value::Bool(any) => *any,
            other => other.is_object(),
        };
        if accepts_any(before) && !accepts_any(after) && after[KEEPS_UNKNOWN] != true {
            let text = "names that the schema does not list were accepted and are not";
            self.tell("unknown-fields-dropped", path, text.to_owned());
        }
    }

    fn required(&mut self, before: &Value, after: &Value, path: &str) {
        let required = |schema: &Value| schema["required"].as_array().cloned().unwrap_or_default();
        let old = required(before);
        for name in required(after).iter().filter(|name| !old.contains(name)).filter_map(Value::as_str) {
            if after["properties"][name].get("default").is_none() {
                let text = "it was optional and is required".to_owned();
                self.tell("field-required", &field(path, name), text);
            }
        }
    }

    fn properties(&mut self, before: &Value, after: &Value, path: &str) {
        let none = Map::new();
        let properties = |schema: &'_ Value| schema["properties"].as_object().cloned();
        let (old, new) = (properties(before), properties(after));
        let new = new.unwrap_or_else(|| none.clone());
        for (name, old) in old.unwrap_or(none) {
            let path = field(path, &name);
            match new.get(&name) {
                Some(new) => self.schema(&old, new, &path),
                None if after[KEEPS_UNKNOWN] == true || after["additionalProperties"].is_object() => {}
                None => {
                    self.tell("field-removed", &path, "the field is gone; its value is dropped".to_owned());
                }
            }
        }
    }
}

/// The values that a schema accepts by itself and by all its conditions together; nothing when it lists none.
fn accepted(schema: &Value) -> Option<Vec<Value>> {
    let conditions = schema["allOf"].as_array().into_iter().flatten();
    let lists = std::iter::once(schema).chain(conditions).filter_map(|one| one["enum"].as_array().cloned());
    lists.reduce(|all, list| all.into_iter().filter(|value| list.contains(value)).collect())
}

/// Whether a condition is only a list of values, which [`accepted`] has looked at.
fn is_choice(condition: &Value) -> bool {
    condition.as_object().is_some_and(|fields| fields.keys().eq(["enum"]))
}

fn field(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn found(before: &Value, after: &Value) -> Vec<(&'static str, String)> {
        narrowed(before, after).into_iter().map(|one| (one.rule, one.path)).collect()
    }

    #[test]
    fn another_alternative_may_refuse_only_where_exactly_one_has_to_fit() {
        let with = |name: &str, all: Value| json!({"type": "object", (name): all});
        let (few, more) = (
            json!([{"required": ["a"]}, {"required": ["b"]}]),
            json!([{"required": ["b"]}, {"required": ["a"]}, {}]),
        );
        let changed = [("condition-changed", String::new())];
        for (before, after) in [(&few, &more), (&more, &few)] {
            assert_eq!(found(&with("oneOf", before.clone()), &with("oneOf", after.clone())), changed);
        }
        assert_eq!(found(&with("anyOf", few.clone()), &with("anyOf", more)), []);
        let turned = json!([{"required": ["b"]}, {"required": ["a"]}]);
        assert_eq!(found(&with("oneOf", few.clone()), &with("oneOf", turned)), [], "the order says nothing");
        assert_eq!(found(&with("oneOf", few), &json!({"type": "object"})), [], "all is accepted");
    }

    #[test]
    fn each_way_to_accept_less_is_told_and_its_reverse_is_not() {
        let object = |content: Value| json!({"type": "object", "properties": {"a": content}});
        let text = |content: Value| {
            let mut schema = json!({"type": "string"});
            schema.as_object_mut().unwrap().extend(content.as_object().cloned().unwrap());
            object(schema)
        };
        let cases = [
            ("type-changed", object(json!({"type": "string"})), object(json!({"type": "integer"}))),
            (
                "field-removed",
                object(json!({"type": "object", "properties": {"b": {}}})),
                object(json!({"type": "object"})),
            ),
            ("limit-tightened", text(json!({})), text(json!({"maxLength": 3}))),
            ("limit-tightened", text(json!({"maxLength": 4})), text(json!({"maxLength": 3}))),
            ("limit-tightened", text(json!({"minLength": 1})), text(json!({"minLength": 2}))),
            (
                "limit-tightened",
                object(json!({"minimum": 1})),
                object(json!({"minimum": 1, "exclusiveMinimum": true})),
            ),
            ("limit-tightened", object(json!({"maxItems": 4})), object(json!({"maxItems": 2}))),
            ("format-changed", text(json!({})), text(json!({"pattern": "^a"}))),
            ("choice-removed", text(json!({"enum": ["x", "y"]})), text(json!({"enum": ["x"]}))),
            ("choice-removed", text(json!({})), text(json!({"enum": ["x"]}))),
            (
                "rule-added",
                text(json!({})),
                text(json!({"x-kubernetes-validations": [{"rule": "self != ''"}]})),
            ),
            ("null-refused", text(json!({"nullable": true})), text(json!({}))),
            ("condition-changed", text(json!({})), text(json!({"not": {"enum": ["z"]}}))),
            (
                "condition-changed",
                text(json!({"anyOf": [{"a": 1}, {"b": 1}]})),
                text(json!({"anyOf": [{"a": 1}]})),
            ),
            ("unknown-fields-dropped", object(json!({(KEEPS_UNKNOWN): true})), object(json!({}))),
            (
                "unknown-fields-dropped",
                object(json!({"additionalProperties": {"type": "string"}})),
                object(json!({"properties": {}})),
            ),
            (
                "list-type-changed",
                object(json!({"type": "array"})),
                object(json!({"type": "array", "x-kubernetes-list-type": "set"})),
            ),
        ];
        for (rule, wide, narrow) in cases {
            let there = found(&wide, &narrow);
            assert!(
                there.iter().any(|(found, path)| (*found, path.starts_with('a')) == (rule, true)),
                "{rule}: {there:?}"
            );
            let back = found(&narrow, &wide);
            // A type that changes is another type on the way back as well.
            assert_eq!(back.is_empty(), rule != "type-changed", "{rule} back: {back:?}");
        }
    }

    #[test]
    fn a_required_field_counts_unless_it_has_a_default() {
        let before = json!({"properties": {"a": {"properties": {"b": {}}}}});
        let required = json!({"properties": {"a": {"required": ["b", "c"], "properties": {"b": {"default": 1}, "c": {}}}}});
        assert_eq!(found(&before, &required), [("field-required", "a.c".to_owned())]);
    }

    #[test]
    fn what_is_new_or_wider_is_no_finding() {
        let before = json!({"properties": {"a": {"type": "integer"}, "l": {"items": {"type": "string"}}}});
        let after = json!({"properties": {
            "a": {"type": "number", "minLength": 0},
            "l": {"items": {"type": "string"}},
            "new": {"type": "object", "required": ["x"], "enum": ["y"], "properties": {"x": {"maxLength": 1}}}}});
        assert_eq!(found(&before, &after), []);
        let any =
            json!({"properties": {"a": {(INT_OR_STRING): true}, "l": {"items": {(KEEPS_UNKNOWN): true}}}});
        assert_eq!(found(&before, &any), []);
    }

    #[test]
    fn lists_of_values_count_together_wherever_they_stand() {
        let two = json!({"properties": {"a": {"allOf": [{"enum": ["x", "y"]}, {"enum": ["x", "y", "z"]}]}}});
        let one = json!({"properties": {"a": {"enum": ["x", "y"]}}});
        assert_eq!(found(&two, &one), []);
        assert_eq!(found(&one, &two), []);
        let fewer = json!({"properties": {"a": {"allOf": [{"enum": ["x"]}]}}});
        assert_eq!(found(&two, &fewer), [("choice-removed", "a".to_owned())]);
    }

    #[test]
    fn paths_go_through_lists_and_maps() {
        let schema = |kind: &str| json!({"properties": {"l": {"items": {"properties": {"m": {"additionalProperties": {"type": kind}}}}}}});
        assert_eq!(found(&schema("string"), &schema("integer")), [("type-changed", "l[].m[*]".to_owned())]);
    }
}
