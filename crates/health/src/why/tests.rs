//! The diagnosis over made snapshots; every single rule is tested by the situations of the suite `why`.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::*;

const NOW: Timestamp = Timestamp::constant(1_767_225_600, 0);

fn ago(minutes: i64) -> String {
    NOW.checked_sub(jiff::SignedDuration::from_mins(minutes)).unwrap().to_string()
}

fn snapshot(objects: &[(&str, Vec<Value>)]) -> Snapshot {
    let lease = json!({"metadata": {"namespace": "openshift-cluster-version", "name": "version"},
        "spec": {"renewTime": ago(0), "leaseDurationSeconds": 137}});
    let lease = ("leases.coordination.k8s.io", vec![lease]);
    let objects =
        objects.iter().chain([&lease]).map(|(key, list)| ((*key).to_owned(), list.clone())).collect();
    Snapshot { version: VERSION, now: NOW, objects, ..Snapshot::default() }
}

fn version() -> (&'static str, Vec<Value>) {
    let it = json!({"metadata": {"name": "version"}, "status": {"history": [{"state": "Completed", "version": "4.20.0"}],
        "conditions": [{"type": "Progressing", "status": "False", "lastTransitionTime": ago(60)}]}});
    ("clusterversions.config.openshift.io", vec![it])
}

/// An operator that is unavailable, with one namespace.
fn operator(name: &str) -> Value {
    json!({"metadata": {"name": name}, "status": {
        "relatedObjects": [{"resource": "namespaces", "name": format!("openshift-{name}")}],
        "conditions": [
            {"type": "Available", "status": "False", "reason": "Down", "message": "no replica", "lastTransitionTime": ago(20)},
            {"type": "Progressing", "status": "False", "lastTransitionTime": ago(20)},
            {"type": "Degraded", "status": "False", "lastTransitionTime": ago(20)}]}})
}

fn crashing(namespace: &str, name: &str, words: &str) -> Value {
    json!({"metadata": {"namespace": namespace, "name": name, "creationTimestamp": ago(30)},
        "spec": {"nodeName": "worker-0", "containers": [{"name": "main", "image": "registry.example.com/a"}]},
        "status": {"phase": "Running", "containerStatuses": [{"name": "main", "ready": false, "restartCount": 9,
            "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off"}},
            "lastState": {"terminated": {"exitCode": 1, "reason": "Error", "message": words}}}]}})
}

fn operators(names: &[&str]) -> (&'static str, Vec<Value>) {
    ("clusteroperators.config.openshift.io", names.iter().map(|name| operator(name)).collect())
}

fn ids(diagnosis: &Diagnosis) -> Vec<&str> {
    diagnosis.causes.iter().map(|it| it.id).collect()
}

#[test]
fn crash_explains_the_operator_of_its_namespace_and_nothing_else() {
    let pods = vec![crashing("openshift-dns", "dns-1", "panic: nil")];
    let diagnosis = diagnose(&snapshot(&[version(), operators(&["dns", "console"]), ("pods", pods)]));
    assert_eq!(ids(&diagnosis), ["P01", "O02"]);
    let first = &diagnosis.causes[0];
    assert_eq!(first.blocks, ["operator dns"]);
    assert_eq!(
        first.explains.iter().map(|it| (it.id, it.object.name.as_str())).collect::<Vec<_>>(),
        [("O02", "dns")]
    );
    assert_eq!(diagnosis.unexplained.iter().map(|it| it.operator.as_str()).collect::<Vec<_>>(), ["console"]);
}

#[test]
fn trouble_of_somebody_else_comes_last_and_is_never_sure() {
    let pods = vec![crashing("shop", "cart-1", "panic: nil")];
    let diagnosis = diagnose(&snapshot(&[version(), operators(&["dns"]), ("pods", pods)]));
    assert_eq!(ids(&diagnosis), ["O02", "P01"]);
    assert_eq!(diagnosis.causes[1].confidence, Confidence::Likely);
    assert!(diagnosis.causes[1].blocks.is_empty());
}

#[test]
fn without_an_api_everything_else_follows_from_that() {
    let probes = vec![Probe::Dns {
        name: "api.stage.example.com".into(),
        from: String::new(),
        outcome: Outcome::Failed("no such host".into()),
    }];
    let records = vec![Record { phase: "service start".into(), ..Record::default() }];
    let services = [("release-image".to_owned(), records)].into();
    let it = Snapshot { probes, services, now: NOW, api_error: "no such host".into(), ..Snapshot::default() };
    let diagnosis = diagnose(&it);
    assert_eq!(ids(&diagnosis), ["A01"]);
    assert_eq!(diagnosis.phase, Phase::Bootstrap);
    assert_eq!(diagnosis.causes[0].explains[0].id, "B01");
}

#[test]
fn asked_for_one_operator_only_what_concerns_it_is_told() {
    let pods = vec![crashing("openshift-dns", "dns-1", "x"), crashing("openshift-console", "console-1", "y")];
    let it = snapshot(&[version(), operators(&["dns", "console"]), ("pods", pods)]);
    let of = |what: &str| {
        let found = about(diagnose(&it), &About::read(what));
        found.causes.iter().map(|it| it.object.name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(of("dns"), ["dns-1"]);
    assert_eq!(of("clusteroperator/console"), ["console-1"]);
    assert_eq!(of("pods/openshift-console/console-1"), ["console-1"]);
    assert_eq!(of("node/worker-9"), Vec::<String>::new());
}

#[test]
fn secrets_in_last_words_are_not_told() {
    let pods = vec![crashing("openshift-dns", "dns-1", "GET https://jane:hunter2@db.example.com failed")];
    let diagnosis = diagnose(&snapshot(&[version(), operators(&["dns"]), ("pods", pods)]));
    let all = told(&diagnosis) + &serde_json::to_string(&diagnosis).unwrap();
    assert!(!all.contains("hunter2") && all.contains("db.example.com"), "{all}");
}

#[test]
fn cause_evidence_damage_and_command_are_told_in_this_order() {
    let pods = vec![crashing("openshift-dns", "dns-1", "panic: nil")];
    let text = told(&diagnose(&snapshot(&[version(), operators(&["dns"]), ("pods", pods)])));
    let places: Vec<usize> = [
        "ROOT CAUSE",
        "[P01] error",
        "why: ",
        "seen: ",
        "blocks: operator dns",
        "do: kubectl",
        "explains: O02",
    ]
    .iter()
    .map(|part| text.find(part).unwrap_or_else(|| panic!("{part}: {text}")))
    .collect();
    assert!(places.is_sorted(), "{text}");
}

#[test]
fn machines_read_the_keys_of_the_catalogue() {
    let pods = vec![crashing("openshift-dns", "dns-1", "panic: nil")];
    let told =
        serde_json::to_value(diagnose(&snapshot(&[version(), operators(&["dns"]), ("pods", pods)]))).unwrap();
    let cause = &told["causes"][0];
    for key in ["id", "level", "confidence", "phase", "object", "since", "evidence", "fix", "explains"] {
        assert!(cause.get(key).is_some(), "{key}");
    }
    assert_eq!(cause["object"]["namespace"], "openshift-dns");
    assert_eq!((told["phase"].as_str(), cause["level"].as_str()), (Some("S"), Some("error")));
}

#[test]
fn snapshot_is_the_same_after_it_was_written_and_read() {
    let it = snapshot(&[version(), operators(&["dns"])]);
    let text = serde_json::to_string(&it).unwrap();
    assert_eq!(serde_json::from_str::<Snapshot>(&text).unwrap(), it);
}

#[test]
fn thousands_of_pods_and_events_are_one_cause_each_group() {
    let pods =
        (0..5000).map(|at| crashing(&format!("shop-{}", at % 200), &format!("pod-{at}"), "panic: nil"));
    let events = (0..20_000).map(|at| {
        json!({"metadata": {"namespace": format!("shop-{}", at % 200), "name": format!("e-{at}")}, "type": "Warning", "reason": "BackOff",
            "involvedObject": {"kind": "Pod", "namespace": format!("shop-{}", at % 200), "name": format!("pod-{}", at % 5000)}, "message": "back-off"})
    });
    let it =
        snapshot(&[version(), operators(&["dns"]), ("pods", pods.collect()), ("events", events.collect())]);
    let diagnosis = diagnose(&it);
    assert_eq!(diagnosis.causes.len(), 201);
    assert_eq!(diagnosis.causes[0].id, "O02");
    assert!(diagnosis.causes.iter().all(|it| it.others.len() <= 20));
}

#[test]
fn every_rule_has_an_id_of_its_own_and_explains_only_rules_that_exist() {
    let ids: std::collections::BTreeSet<&str> = catalogue().iter().map(|it| it.id).collect();
    assert_eq!(ids.len(), catalogue().len());
    for rule in catalogue() {
        assert!(rule.why.ends_with('.'), "{}", rule.id);
        for hidden in rule.hides.iter().filter(|it| **it != "*") {
            assert!(ids.iter().any(|id| id.starts_with(hidden)), "{} explains {hidden}", rule.id);
        }
    }
}
