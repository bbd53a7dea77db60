//! What holds for all rules; each rule by itself is broken in the suite `conformance`.

use std::collections::BTreeSet;

use jiff::Timestamp;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn history(reports: Vec<Value>, workloads: Vec<Value>) -> History {
    let seen = |objects: Vec<Value>| {
        objects.into_iter().zip(0..).map(|(object, second)| Seen { at: at(second), object }).collect()
    };
    let (reports, workloads) = (seen(reports), seen(workloads));
    History { name: "x".into(), reports, workloads, related: Vec::new(), begin: at(0), end: at(100) }
}

#[test]
fn ids_are_words_in_lower_case_and_stand_once() {
    let rules = [manifest_rules(), running_rules()].concat();
    let ids: BTreeSet<&str> = rules.iter().map(|rule| rule.id).collect();
    assert_eq!(ids.len(), rules.len());
    assert!(
        rules.iter().all(|rule| rule.id.chars().all(|letter| letter.is_ascii_lowercase() || letter == '-'))
    );
    assert!(rules.iter().all(|rule| !rule.says.ends_with('.') && !rule.remedy.ends_with('.')));
}

#[test]
fn of_nothing_no_running_rule_is_broken_or_kept() {
    for finding in running(&history(Vec::new(), Vec::new())) {
        let is_open = matches!(finding.outcome, Outcome::NotSeen(_) | Outcome::NotApplicable(_));
        assert!(is_open || ["no-flapping", "messages-steady"].contains(&finding.rule.id), "{finding:?}");
    }
}

#[test]
fn an_empty_folder_lacks_what_is_always_needed() {
    let broken: Vec<&str> = manifests(&Folder::default())
        .into_iter()
        .filter(|finding| finding.outcome.is_fail())
        .map(|finding| finding.rule.id)
        .collect();
    assert_eq!(
        broken,
        ["roles-shipped", "deployment-shipped", "clusteroperator-shipped", "image-references-shipped"]
    );
}

#[test]
fn text_names_the_verdict_the_proof_and_what_to_do() {
    let rule = Rule { id: "some-rule", says: "It is so", remedy: "make it so" };
    let findings = [
        Finding { rule, outcome: Outcome::Pass },
        Finding { rule, outcome: Outcome::Fail(vec!["it is not".into()]) },
        Finding { rule, outcome: Outcome::not_seen("nothing happened") },
    ];
    let text = output::text("x", &findings);
    assert!(text.contains("fail            some-rule"), "{text}");
    assert!(text.contains("it is not\n                  next: make it so"), "{text}");
    assert!(text.ends_with("x: 1 pass, 1 fail, 1 not seen, 0 not applicable\n"), "{text}");
    let document = output::json("x", &findings);
    assert_eq!(document["passes"], json!(false));
    assert_eq!(
        document["findings"][1],
        json!({"id": "some-rule", "says": "It is so", "remedy": "make it so", "verdict": "fail", "evidence": ["it is not"]})
    );
}

/// Any JSON, with the names that rules look for among the keys.
fn odd() -> impl Strategy<Value = Value> {
    let keys = [
        "status",
        "conditions",
        "type",
        "versions",
        "name",
        "lastTransitionTime",
        "metadata",
        "kind",
        "spec",
        "relatedObjects",
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        prop_oneof![
            Just("True"),
            Just("Progressing"),
            Just("Deployment"),
            Just("9999-12-31T23:59:59Z"),
            Just("")
        ]
        .prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            prop::collection::vec((prop::sample::select(keys.to_vec()), inner), 0..5)
                .prop_map(|pairs| pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()),
        ]
    })
}

proptest! {
    #[test]
    fn whatever_is_read_is_judged_without_a_panic(reports in prop::collection::vec(odd(), 0..4), workloads in prop::collection::vec(odd(), 0..3)) {
        let files = workloads.iter().cloned().map(|object| ManifestFile { name: "a.yaml".into(), objects: vec![object] });
        prop_assert_eq!(manifests(&Folder::new(files)).len(), manifest_rules().len());
        prop_assert_eq!(running(&history(reports, workloads)).len(), running_rules().len());
    }
}
