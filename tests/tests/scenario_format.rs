//! The format of scenarios: code, JSON Schema, documentation and examples say the same.
#![expect(clippy::unwrap_used, reason = "a test fails by a panic, also in the functions that tests share")]

use std::fs;

use lockstep_lab::{Scenario, scenario_reference, scenario_schema};
use lockstep_payload::yaml;
use lockstep_tests::cli::root;
use serde_json::Value;

fn text(file: &str) -> String {
    fs::read_to_string(root().join(file)).unwrap()
}

/// Names and texts of all example scenarios, and of those in the documentation.
fn examples() -> Vec<(String, String)> {
    let folder = root().join("examples/scenarios");
    let mut found: Vec<(String, String)> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.display().to_string(), fs::read_to_string(&path).unwrap()))
        .collect();
    found.sort();
    let page = text("docs/reference/scenario.md");
    let blocks = page.split("```yaml\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    found.extend(blocks.map(|block| ("docs/reference/scenario.md".to_owned(), block.to_owned())));
    found
}

/// Whether a value fits a schema, for the keywords that ours uses; patterns are left to the reader of the lab.
fn fits(schema: &Value, value: &Value, definitions: &Value) -> bool {
    let Some(keywords) = schema.as_object() else { return false };
    keywords.iter().all(|(keyword, rule)| match keyword.as_str() {
        "$ref" => fits(&definitions[rule.as_str().unwrap().rsplit('/').next().unwrap()], value, definitions),
        "type" => match rule.as_str().unwrap() {
            "object" => value.is_object(),
            "array" => value.is_array(),
            "string" => value.is_string(),
            "integer" => value.is_u64(),
            "number" => value.is_number(),
            "boolean" => value.is_boolean(),
            other => unreachable!("{other}"),
        },
        "const" => value == rule,
        "enum" => rule.as_array().unwrap().contains(value),
        "anyOf" => rule.as_array().unwrap().iter().any(|one| fits(one, value, definitions)),
        "items" => {
            value.as_array().is_none_or(|items| items.iter().all(|item| fits(rule, item, definitions)))
        }
        "required" => rule.as_array().unwrap().iter().all(|key| value.get(key.as_str().unwrap()).is_some()),
        "properties" => value.as_object().is_none_or(|fields| {
            fields.iter().all(|(key, value)| rule.get(key).is_none_or(|rule| fits(rule, value, definitions)))
        }),
        "additionalProperties" if *rule == false => value
            .as_object()
            .is_none_or(|fields| fields.keys().all(|key| schema["properties"].get(key).is_some())),
        "additionalProperties" => {
            value.as_object().is_none_or(|fields| fields.values().all(|value| fits(rule, value, definitions)))
        }
        "minLength" => value.as_str().is_none_or(|text| text.len() as u64 >= rule.as_u64().unwrap()),
        "minProperties" => value.as_object().is_none_or(|map| map.len() as u64 >= rule.as_u64().unwrap()),
        "maxProperties" => value.as_object().is_none_or(|map| map.len() as u64 <= rule.as_u64().unwrap()),
        "minimum" => value.as_f64() >= rule.as_f64(),
        "maximum" => value.as_f64() <= rule.as_f64(),
        "$schema" | "$id" | "title" | "description" | "$defs" | "pattern" => true,
        other => unreachable!("a keyword that this test does not know: {other}"),
    })
}

#[test]
fn the_shipped_schema_is_what_the_code_prints() {
    let printed = format!("{:#}\n", scenario_schema());
    assert!(
        text("docs/reference/scenario.schema.json") == printed,
        "docs/reference/scenario.schema.json is old; it has to be:\n{printed}"
    );
}

#[test]
fn the_page_has_a_table_of_every_field() {
    let printed = scenario_reference();
    assert!(
        text("docs/reference/scenario.md").ends_with(&printed),
        "the tables at the end of docs/reference/scenario.md are old; they have to be:\n{printed}"
    );
}

#[test]
fn reader_and_schema_accept_every_example() {
    let schema = scenario_schema();
    let examples = examples();
    assert!(examples.len() >= 9, "{}", examples.len());
    for (file, text) in examples {
        let read = Scenario::read(&file, text.as_bytes());
        assert!(read.is_ok(), "{}", read.unwrap_err());
        let value = yaml::documents(text.as_bytes()).unwrap().remove(0).value;
        assert!(fits(&schema, &value, &schema["$defs"]), "the schema refuses {file}");
    }
}

#[test]
fn reader_and_schema_refuse_the_same_mistakes() {
    let schema = scenario_schema();
    for mistake in [
        "nodess: []",
        "seed: -1",
        "workloads: [{readyAfter: 5}]",
        "workloads: [{behaviour: explode}]",
        "workloads: [{behaviour: {crashLoop: {exitcode: 1}}}]",
        "operators: [{versions: {operator: 1}}]",
        "operators: [{steps: [{conditions: []}]}]",
        "people: [{do: delete}]",
        "operators: [{progressingFor: {from: 1s}}]",
        "faults: [{anything: goes}]",
        "faults: [{name: a}]",
        "faults: [{name: a, effect: {refuse: {code: 418}}}]",
        "faults: [{name: a, effect: {outage: {}, dropWatch: {}}}]",
        "faults: [{name: a, effect: {outage: {}}, times: 0}]",
    ] {
        let text = format!("apiVersion: lab.lockstep.dev/v1\nkind: Scenario\n{mistake}\n");
        assert!(Scenario::read("x", text.as_bytes()).is_err(), "{mistake}");
        let value = yaml::documents(text.as_bytes()).unwrap().remove(0).value;
        assert!(!fits(&schema, &value, &schema["$defs"]), "{mistake}");
    }
}
