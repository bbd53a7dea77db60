//! The JSON Schema of a rule, for editors and for the schema of scenario files.

use serde_json::{Value, json};

use super::Rule;

// === impl Rule ===

impl Rule {
    /// The JSON Schema (2020-12) of one rule, self-contained.
    pub fn json_schema() -> Value {
        let span = |what: &str| json!({"type": "string", "pattern": "^([0-9]+h)?([0-9]+m)?([0-9]+s)?([0-9]+ms)?$", "minLength": 2, "description": what});
        let text = |what: &str| json!({"type": "string", "description": what});
        let object = |what: &str, properties: Value, required: &[&str]| {
            json!({"type": "object", "description": what, "properties": properties, "required": required,
                "additionalProperties": false})
        };
        let timeout = |what: &str| {
            let hang = json!({"type": "boolean", "description": "Whether no answer comes at all."});
            object(what, json!({"after": span("When the answer comes."), "hang": hang}), &[])
        };
        let watch = |what: &str| {
            object(what, json!({"after": span("How long after the start of the watch or of the rule.")}), &[])
        };
        let codes = json!({"enum": [401, 403, 404, 409, 429, 500, 503],
            "description": "401, 403, 404, 409, 429, 500 or 503."});
        let effects = json!({
            "latency": object(
                "The request waits this long, or a random time between both, and goes on.",
                json!({"from": span("The shortest time."), "to": span("The longest time.")}),
                &["from"],
            ),
            "refuse": object(
                "The request is refused as the real server refuses.",
                json!({"code": codes, "retryAfter": span("When the client may come again; for 429 and 503.")}),
                &["code"],
            ),
            "timeoutBeforeCommit": timeout("The request is not executed; a timeout is the answer."),
            "timeoutAfterCommit": timeout("The request is executed; a timeout is the answer all the same."),
            "dropWatch": watch("A watch ends, also one that is open already."),
            "stallWatch": watch("A watch stays open and says nothing any more, also one that is open already."),
            "expireWatch": object("The version of a watch or list is too old: 410.", json!({}), &[]),
            "outage": object(
                "Nobody is there: requests get a 503 that is no answer of an API server, open watches end.",
                json!({}),
                &[],
            ),
            "clockJump": object(
                "The clock of the lab is set forward or back, once.",
                json!({"by": {"type": "string", "pattern": "^[+-]?([0-9]+h)?([0-9]+m)?([0-9]+s)?([0-9]+ms)?$",
                    "minLength": 2, "description": "By how much, such as `5m` or `-1h`."}}),
                &["by"],
            ),
        });
        let verbs = ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"];
        let matching = json!({
            "verbs": {"type": "array", "items": {"enum": verbs}, "description": format!("What the request wants to do: `{}`.", verbs.join("`, `"))},
            "resources": {"type": "array", "items": text("A resource."),
                "description": "The resources: `pods`, `deployments.apps`, `*.apps`, `*`; with `/status` only that subresource."},
            "namespace": text("The namespace."),
            "objectName": text("The name of the object."),
            "userAgent": text("What the `User-Agent` of the client begins with."),
        });
        object(
            "One fault on purpose.",
            json!({
                "name": {"type": "string", "pattern": "^[A-Za-z0-9._-]+$", "description": "Its name, unique in a lab."},
                "match": object("Which requests it concerns; all when left out.", matching, &[]),
                "effect": {"type": "object", "description": "What happens: exactly one of these.", "properties": effects,
                    "minProperties": 1, "maxProperties": 1, "additionalProperties": false},
                "from": span("From when on, counted from the start of the lab; left out: from when it is added."),
                "for": span("For how long; left out: until it is removed."),
                "times": {"type": "integer", "minimum": 1, "description": "How often at most; left out: always."},
                "probability": {"type": "number", "minimum": 0, "maximum": 1, "description": "How likely, from 0 to 1; left out: always."},
            }),
            &["name", "effect"],
        )
    }

    /// The fields of a rule as Markdown, for the page about scenarios.
    pub(crate) fn reference() -> String {
        let schema = Self::json_schema();
        let fields = &schema["properties"];
        let effects = each(&fields["effect"]["properties"]).map(|(name, effect)| {
            let parts: Vec<String> = each(&effect["properties"])
                .map(|(name, field)| format!("`{name}`: {}", about(field)))
                .collect();
            let parts = if parts.is_empty() { "–".to_owned() } else { parts.join("<br>") };
            format!("| `{name}` | {parts} | {} |\n", about(effect))
        });
        format!(
            "### faults[]\n\n{}\n### faults[].match\n\n{}\n### faults[].effect\n\n\
             | word | fields | meaning |\n|---|---|---|\n{}\n",
            table(fields),
            table(&fields["match"]["properties"]),
            effects.collect::<String>(),
        )
    }
}

fn table(fields: &Value) -> String {
    let rows =
        each(fields).map(|(name, field)| format!("| `{name}` | {} | {} |\n", form(field), about(field)));
    format!("| field | form | meaning |\n|---|---|---|\n{}", rows.collect::<String>())
}

fn form(field: &Value) -> &'static str {
    match field["type"].as_str() {
        // Of the texts with a pattern only durations are never short.
        Some("string") if !field["minLength"].is_null() => "duration",
        Some("string") => "text",
        Some("array") => "list of text",
        Some("object") => "record",
        _ => "number",
    }
}

fn about(schema: &Value) -> &str {
    schema["description"].as_str().unwrap_or_default()
}

fn each(map: &Value) -> impl Iterator<Item = (&String, &Value)> {
    map.as_object().into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::faults::Effect;

    /// The names that serde expects, from its own message about a wrong one.
    fn expected<T: for<'de> serde::Deserialize<'de>>(wrong: &Value) -> BTreeSet<String> {
        let error = T::deserialize(wrong).err().unwrap().to_string();
        let (_, names) = error.split_once("expected one of").unwrap_or_else(|| panic!("{error}"));
        names.split('`').skip(1).step_by(2).map(str::to_owned).collect()
    }

    fn keys(value: &Value) -> BTreeSet<String> {
        value.as_object().unwrap().keys().cloned().collect()
    }

    #[test]
    fn the_schema_has_the_fields_that_are_read() {
        let schema = Rule::json_schema();
        assert_eq!(keys(&schema["properties"]), expected::<Rule>(&json!({"zzz": 1})));
        let effects = &schema["properties"]["effect"]["properties"];
        assert_eq!(keys(effects), expected::<Effect>(&json!({"zzz": 1})));
        let matching = &schema["properties"]["match"]["properties"];
        assert_eq!(keys(matching), expected::<crate::faults::Match>(&json!({"zzz": 1})));
        let verbs: BTreeSet<String> =
            serde_json::from_value(matching["verbs"]["items"]["enum"].clone()).unwrap();
        assert_eq!(verbs, expected::<crate::faults::Verb>(&json!("zzz")));
    }
}
