//! The form of a scenario file as data: one table is what the reader checks, the JSON Schema prints and the
//! documentation lists.

use std::fmt::Write as _;

use serde::Deserialize as _;
use serde_json::{Map, Value, json};

use super::span::Span;
use crate::Rule;

/// What may stand somewhere in a scenario.
#[derive(Debug)]
pub(crate) enum Shape {
    /// Any text.
    Text,
    /// A whole number from 0.
    Count,
    /// `true` or `false`.
    Flag,
    /// A duration or a distribution of durations.
    Span,
    /// Any value at all.
    Anything,
    /// A Kubernetes object, or a part of one.
    Object,
    /// A fault of the API server.
    Fault,
    /// Texts by free keys.
    Texts,
    /// Exactly this text.
    Exactly(&'static str),
    /// One of these words.
    Word(&'static [&'static str]),
    /// A list of one shape.
    List(&'static Shape),
    /// A record with known fields.
    Record(&'static [Field]),
    /// One of several variants: a word, or a record under that word.
    Choice(&'static [Variant]),
}

/// A field of a record.
#[derive(Debug)]
pub(crate) struct Field {
    /// Its key.
    pub(crate) name: &'static str,
    /// What may stand there.
    pub(crate) shape: Shape,
    /// Whether it must be there.
    pub(crate) required: bool,
    /// What it means, in a sentence.
    pub(crate) about: &'static str,
}

/// A variant of a choice.
#[derive(Debug)]
pub(crate) struct Variant {
    /// Its word.
    pub(crate) name: &'static str,
    /// Its fields; none of them is required.
    pub(crate) fields: &'static [Field],
    /// What it means, in a sentence.
    pub(crate) about: &'static str,
}

impl Field {
    /// An optional field.
    pub(crate) const fn new(name: &'static str, shape: Shape, about: &'static str) -> Self {
        Self { name, shape, required: false, about }
    }

    /// A field that must be there.
    pub(crate) const fn required(name: &'static str, shape: Shape, about: &'static str) -> Self {
        Self { name, shape, required: true, about }
    }
}

// === checking ===

/// Finds everything that is wrong with a value, and writes a word of a choice that has fields as a record.
pub(crate) fn check(shape: &Shape, value: &mut Value, path: &str, problems: &mut Vec<String>) {
    let mut complain = |what: String| {
        let place = if path.is_empty() { "the file" } else { path };
        problems.push(format!("{place}: {what}"));
    };
    match shape {
        Shape::Anything => {}
        Shape::Text if value.is_string() => {}
        Shape::Text => complain(format!("`{value}` is no text; put it in quotes")),
        Shape::Count if value.is_u64() => {}
        Shape::Count => complain(format!("`{value}` is no whole number from 0")),
        Shape::Flag if value.is_boolean() => {}
        Shape::Flag => complain(format!("`{value}` is neither `true` nor `false`")),
        Shape::Span => {
            if let Err(what) = Span::read(value) {
                complain(what);
            }
        }
        Shape::Object if value.is_object() => {}
        Shape::Object => complain(format!("`{value}` is no object with fields")),
        Shape::Fault => {
            let rule = Rule::deserialize(&*value).map_err(|error| error.to_string());
            if let Err(what) = rule.and_then(|rule| rule.check().map_err(|error| error.to_string())) {
                complain(what);
            }
        }
        Shape::Exactly(text) if value == text => {}
        Shape::Exactly(text) => {
            complain(format!("`{value}` is not known to this version of lockstep; it reads `{text}`"));
        }
        Shape::Word(words) if value.as_str().is_some_and(|word| words.contains(&word)) => {}
        Shape::Word(words) => complain(format!("`{value}` is not known; write one of: {}", words.join(", "))),
        Shape::Texts => match value.as_object() {
            Some(map) if map.values().all(Value::is_string) => {}
            _ => complain("has to be a map of texts; put numbers in quotes".to_owned()),
        },
        Shape::List(item) => match value.as_array_mut() {
            Some(items) => {
                for (index, value) in items.iter_mut().enumerate() {
                    check(item, value, &format!("{path}[{index}]"), problems);
                }
            }
            None => complain("has to be a list; start each entry with `- `".to_owned()),
        },
        Shape::Record(fields) => match value.as_object_mut() {
            Some(map) => check_record(fields, map, path, problems),
            None => complain("has to be a map of fields".to_owned()),
        },
        Shape::Choice(variants) => check_choice(variants, value, path, problems),
    }
}

fn check_record(fields: &[Field], map: &mut Map<String, Value>, path: &str, problems: &mut Vec<String>) {
    let below = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    for (name, value) in map.iter_mut() {
        match fields.iter().find(|field| field.name == name) {
            Some(field) => check(&field.shape, value, &below(name), problems),
            None => problems.push(format!("{}: there is no such field; {}", below(name), known(fields))),
        }
    }
    for field in fields.iter().filter(|field| field.required && !map.contains_key(field.name)) {
        problems.push(format!("{}: is missing; {}", below(field.name), field.about));
    }
}

fn known(fields: &[Field]) -> String {
    let names: Vec<&str> = fields.iter().map(|field| field.name).collect();
    if names.is_empty() {
        "no field may stand here".to_owned()
    } else {
        format!("known are: {}", names.join(", "))
    }
}

fn check_choice(variants: &[Variant], value: &mut Value, path: &str, problems: &mut Vec<String>) {
    let word = match &*value {
        Value::String(word) => Some(word.clone()),
        Value::Object(map) if map.len() == 1 => map.keys().next().cloned(),
        _ => None,
    };
    let Some(variant) = word.and_then(|word| variants.iter().find(|variant| variant.name == word)) else {
        let names: Vec<&str> = variants.iter().map(|variant| variant.name).collect();
        let place = if path.is_empty() { "the file" } else { path };
        problems.push(format!("{place}: is not known; write one of: {}", names.join(", ")));
        return;
    };
    if variant.fields.is_empty() {
        if value.is_object() {
            problems.push(format!("{path}: `{}` has no fields; write only the word", variant.name));
        }
        return;
    }
    if value.is_string() {
        *value = json!({variant.name: {}});
    }
    let below = if path.is_empty() { variant.name.to_owned() } else { format!("{path}.{}", variant.name) };
    match value[variant.name].as_object_mut() {
        Some(map) => check_record(variant.fields, map, &below, problems),
        None => problems.push(format!("{below}: has to be a map of fields")),
    }
}

// === JSON Schema ===

/// The shape as a JSON Schema.
pub(crate) fn to_schema(shape: &Shape) -> Value {
    match shape {
        Shape::Text => json!({"type": "string"}),
        Shape::Count => json!({"type": "integer", "minimum": 0}),
        Shape::Flag => json!({"type": "boolean"}),
        Shape::Span => json!({"$ref": "#/$defs/duration"}),
        Shape::Anything => json!({}),
        Shape::Object => json!({"type": "object"}),
        Shape::Fault => Rule::json_schema(),
        Shape::Texts => json!({"type": "object", "additionalProperties": {"type": "string"}}),
        Shape::Exactly(text) => json!({"const": text}),
        Shape::Word(words) => json!({"enum": words}),
        Shape::List(item) => json!({"type": "array", "items": to_schema(item)}),
        Shape::Record(fields) => record_schema(fields),
        Shape::Choice(variants) => {
            let words: Vec<&str> = variants.iter().map(|variant| variant.name).collect();
            let records = variants.iter().filter(|variant| !variant.fields.is_empty()).map(|variant| {
                json!({
                    "type": "object",
                    "description": variant.about,
                    "properties": {variant.name: record_schema(variant.fields)},
                    "required": [variant.name],
                    "additionalProperties": false,
                })
            });
            let mut any = vec![json!({"enum": words})];
            any.extend(records);
            json!({"anyOf": any})
        }
    }
}

fn record_schema(fields: &[Field]) -> Value {
    let properties: Map<String, Value> = fields
        .iter()
        .map(|field| {
            let mut schema = to_schema(&field.shape);
            schema["description"] = field.about.into();
            (field.name.to_owned(), schema)
        })
        .collect();
    let required: Vec<&str> = fields.iter().filter(|field| field.required).map(|field| field.name).collect();
    let mut schema = json!({"type": "object", "properties": properties, "additionalProperties": false});
    if !required.is_empty() {
        schema["required"] = required.into();
    }
    schema
}

/// The definition of a duration, which the rest refers to.
pub(crate) fn span_schema() -> Value {
    let fixed = json!({"type": "string", "pattern": "^([0-9]+(h|ms|m|s))+$"});
    json!({"anyOf": [
        fixed,
        {"type": "object", "properties": {"from": fixed, "to": fixed}, "required": ["from", "to"],
            "additionalProperties": false},
        {"type": "object", "properties": {"median": fixed, "spread": {"type": "number", "minimum": 1, "maximum": 100}},
            "required": ["median", "spread"], "additionalProperties": false},
    ]})
}

// === documentation ===

/// The table of a record's fields for the documentation, one line per field.
pub(crate) fn table(fields: &[Field]) -> String {
    let mut out = String::from("| field | form | meaning |\n|---|---|---|\n");
    for field in fields {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "| `{}` | {} | {} |", field.name, words(&field.shape), field.about);
    }
    out
}

fn words(shape: &Shape) -> String {
    match shape {
        Shape::Text => "text".to_owned(),
        Shape::Count => "number".to_owned(),
        Shape::Flag => "`true` or `false`".to_owned(),
        Shape::Span => "duration".to_owned(),
        Shape::Anything => "anything".to_owned(),
        Shape::Object => "object".to_owned(),
        Shape::Texts => "map of texts".to_owned(),
        Shape::Exactly(text) => format!("`{text}`"),
        Shape::Word(words) => words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", "),
        Shape::List(item) => format!("list of {}", words(item)),
        Shape::Fault | Shape::Record(_) => "record".to_owned(),
        Shape::Choice(variants) => {
            variants.iter().map(|variant| format!("`{}`", variant.name)).collect::<Vec<_>>().join(", ")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INNER: &[Field] = &[Field::new("after", Shape::Span, "When.")];
    const RECORD: Shape = Shape::Record(&[
        Field::required("name", Shape::Text, "Say who."),
        Field::new(
            "act",
            Shape::Choice(&[
                Variant { name: "rest", fields: &[], about: "Nothing." },
                Variant { name: "work", fields: INNER, about: "Something." },
            ]),
            "What.",
        ),
    ]);

    fn problems(mut value: Value) -> Vec<String> {
        let mut problems = Vec::new();
        check(&RECORD, &mut value, "", &mut problems);
        problems
    }

    #[test]
    fn all_problems_are_found_each_with_its_path() {
        let found = problems(json!({"nam": 1, "act": {"work": {"after": "soon", "x": 1}}}));
        assert_eq!(found.len(), 4, "{found:?}");
        assert!(found[0].starts_with("act.work.after: `soon` is no duration; write 90s"), "{found:?}");
        assert_eq!(found[1], "act.work.x: there is no such field; known are: after");
        assert_eq!(found[2], "nam: there is no such field; known are: name, act");
        assert_eq!(found[3], "name: is missing; Say who.");
    }

    #[test]
    fn a_word_with_fields_may_stand_alone_and_one_without_must() {
        let mut value = json!({"name": "a", "act": "work"});
        check(&RECORD, &mut value, "", &mut Vec::new());
        assert_eq!(value["act"], json!({"work": {}}));
        assert_eq!(
            problems(json!({"name": "a", "act": {"rest": {}}})),
            ["act: `rest` has no fields; write only the word"]
        );
        assert_eq!(
            problems(json!({"name": "a", "act": "sleep"})),
            ["act: is not known; write one of: rest, work"]
        );
    }
}
