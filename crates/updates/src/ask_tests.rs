//! What can be asked for, and what is said against it.

use serde_json::{Value, json};

use super::*;

fn image(version: &str) -> String {
    format!("registry.example.com/release@sha256:{version}")
}

/// A cluster with a history of `C` or `P` and a version, newest first.
fn cluster(history: &[&str], spec: &Value, status: &Value) -> ClusterVersion {
    let entry = |text: &&str| {
        let state = if text.starts_with('C') { "Completed" } else { "Partial" };
        let version = &text[1..];
        json!({"state": state, "startedTime": "2026-01-01T00:00:00Z", "version": version, "image": image(version)})
    };
    let entries: Vec<Value> = history.iter().map(entry).collect();
    let desired = history.first().map(|text| &text[1..]).unwrap_or_default();
    let mut object = json!({"apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion",
        "metadata": {"name": "version"}, "spec": {"clusterID": "", "channel": "stable"}, "status": {
            "history": entries, "desired": {"version": desired, "image": image(desired)},
            "availableUpdates": [{"version": "4.1.2", "image": image("4.1.2")}, {"version": "4.2.0", "image": image("4.2.0")}]}});
    for (part, value) in [("spec", spec), ("status", status)] {
        for (key, value) in value.as_object().unwrap() {
            object[part][key] = value.clone();
        }
    }
    serde_json::from_value(object).unwrap()
}

fn quiet() -> ClusterVersion {
    cluster(&["C4.1.1", "C4.1.0"], &json!({}), &json!({}))
}

fn to(target: &str) -> Wish {
    Wish { target: target.to_owned(), ..Wish::default() }
}

fn forced(target: &str) -> Wish {
    Wish { force: true, ..to(target) }
}

fn warned(target: &str) -> Wish {
    Wish { with_warnings: true, ..to(target) }
}

fn condition(kind: &str, status: &str, reason: &str, message: &str) -> Value {
    json!([{"type": kind, "status": status, "reason": reason, "message": message,
        "lastTransitionTime": "2026-01-01T00:00:00Z"}])
}

#[test]
fn a_version_is_looked_up_and_asked_for_with_its_image() {
    let ask = choose(&quiet(), &to("4.1.2")).unwrap();
    assert_eq!((ask.from.as_str(), ask.to.as_str()), ("4.1.1", "4.1.2"));
    assert_eq!(
        serde_json::to_value(&ask.update).unwrap(),
        json!({"version": "4.1.2", "image": image("4.1.2")})
    );
    assert!(ask.warnings.is_empty() && !ask.is_asked_already);
    let back = choose(&quiet(), &to("4.1.0")).unwrap();
    assert_eq!(back.update.image, image("4.1.0"), "the history knows it");
}

#[test]
fn an_unknown_version_is_refused_with_those_that_are_known() {
    let text = choose(&quiet(), &to("4.9.9")).unwrap_err().to_string();
    assert!(text.contains("4.1.2, 4.2.0, 4.1.1, 4.1.0") && text.contains("@sha256:"), "{text}");
    let nothing = cluster(&[], &json!({}), &json!({"availableUpdates": null}));
    let text = choose(&nothing, &to("4.9.9")).unwrap_err().to_string();
    assert!(text.contains("none at all"), "{text}");
}

#[test]
fn a_version_with_two_images_is_refused_with_both() {
    let twice = json!([{"version": "4.1.2", "image": "a/b@sha256:1"}, {"version": "4.1.2", "image": "a/b@sha256:2"},
        {"version": "4.1.3", "image": "a/b@sha256:3"}, {"version": "4.1.3", "image": "mirror/b@sha256:3"}]);
    let version = cluster(&["C4.1.1"], &json!({}), &json!({"availableUpdates": twice}));
    let text = choose(&version, &to("4.1.2")).unwrap_err().to_string();
    assert!(text.contains("a/b@sha256:1, a/b@sha256:2"), "{text}");
    assert_eq!(
        choose(&version, &to("4.1.3")).unwrap().update.image,
        "a/b@sha256:3",
        "one image in two places"
    );
}

#[test]
fn a_pull_spec_needs_a_digest_or_force() {
    let tag = "registry.example.com/release:4.1.2";
    assert_eq!(choose(&quiet(), &to(tag)), Err(Denial::NoDigest { image: tag.to_owned() }));
    let ask = choose(&quiet(), &forced(tag)).unwrap();
    assert_eq!((ask.update.image.as_str(), ask.update.version.as_str(), ask.update.force), (tag, "", true));
    let known = choose(&quiet(), &to("mirror.example.com/release@sha256:4.1.2")).unwrap();
    assert_eq!((known.to.as_str(), known.update.version.as_str()), ("4.1.2", "4.1.2"), "told by its digest");
}

#[test]
fn what_is_wrong_with_the_cluster_stops_a_request_until_it_is_accepted() {
    let failing = condition("Failing", "True", "ClusterOperatorDegraded", "dns is degraded");
    let version = cluster(&["C4.1.1"], &json!({}), &json!({"conditions": failing}));
    let text = choose(&version, &to("4.1.2")).unwrap_err().to_string();
    assert!(text.contains("dns is degraded") && text.contains("--allow-upgrade-with-warnings"), "{text}");
    assert_eq!(choose(&version, &warned("4.1.2")).unwrap().warnings.len(), 1);

    let progressing = cluster(&["P4.1.1", "C4.1.0"], &json!({}), &json!({}));
    let text = choose(&progressing, &to("4.1.2")).unwrap_err().to_string();
    assert!(text.contains("an update from 4.1.0 to 4.1.1 is in progress"), "{text}");
    assert!(choose(&progressing, &warned("4.1.2")).is_ok());
}

#[test]
fn what_the_operator_would_refuse_needs_force() {
    let not_upgradeable = condition("Upgradeable", "False", "AdminAckRequired", "acknowledge it first");
    let version = cluster(&["C4.1.1"], &json!({}), &json!({"conditions": not_upgradeable}));
    assert!(choose(&version, &to("4.1.2")).is_ok(), "within the minor version it does not matter");
    let text = choose(&version, &to("4.2.0")).unwrap_err().to_string();
    assert!(text.contains("acknowledge it first") && text.contains("--force"), "{text}");
    let asked = choose(&version, &warned("4.2.0")).unwrap();
    assert!(asked.warnings.iter().any(|it| it.contains("ReleaseAccepted")), "{:?}", asked.warnings);
    let forced = choose(&version, &forced("4.2.0")).unwrap();
    assert!(forced.update.force && forced.warnings.iter().any(|it| it.contains("skips")), "{forced:?}");
}

#[test]
fn a_risk_that_the_update_service_names_must_be_accepted() {
    let risky = json!([{"release": {"version": "4.1.3", "image": image("4.1.3")}, "risks": [], "conditions":
        condition("Recommended", "False", "Slow", "it is slow")}]);
    let version = cluster(&["C4.1.1"], &json!({}), &json!({"conditionalUpdates": risky}));
    let text = choose(&version, &to("4.1.3")).unwrap_err().to_string();
    assert!(text.contains("it is slow"), "{text}");
    assert!(choose(&version, &warned("4.1.3")).is_ok());
}

#[test]
fn what_is_asked_for_already_is_not_asked_again_and_accepted_risks_stay() {
    let asked = json!({"desiredUpdate": {"version": "4.1.2", "acceptRisks": [{"name": "Slow"}]}});
    let version = cluster(&["P4.1.2", "C4.1.1"], &asked, &json!({}));
    assert!(choose(&version, &to("4.1.2")).unwrap().is_asked_already);
    assert!(!choose(&version, &forced("4.1.2")).unwrap().is_asked_already, "force is something new");
    assert!(choose(&quiet(), &to("4.1.1")).unwrap().is_asked_already, "the cluster is there");
    let next = choose(&version, &warned("4.2.0")).unwrap();
    assert_eq!(next.update.accept_risks[0].name, "Slow");
}

#[test]
fn an_abort_goes_back_to_the_release_that_was_complete_last() {
    assert_eq!(abort(&quiet()), Ok(None), "nothing is on its way");
    let asked = json!({"desiredUpdate": {"version": "4.1.2", "image": image("4.1.2")}});
    let under_way = cluster(&["P4.1.2", "P4.1.3", "C4.1.1"], &asked, &json!({}));
    let text = abort(&under_way).unwrap_err().to_string();
    assert!(text.contains("previous version 4.1.3"), "only the release before: {text}");
    let under_way = cluster(&["P4.1.2", "C4.1.1"], &asked, &json!({}));
    let ask = abort(&under_way).unwrap().unwrap();
    assert_eq!((ask.from.as_str(), ask.update.version.as_str()), ("4.1.2", "4.1.1"));
    assert_eq!(ask.update.image, image("4.1.1"));

    let minor = cluster(&["P4.2.0", "C4.1.1"], &json!({}), &json!({}));
    let text = abort(&minor).unwrap_err().to_string();
    assert!(text.ends_with(&format!("lockstep upgrade to {} --force", image("4.1.1"))), "{text}");
    let installing = cluster(&["P4.1.1"], &json!({}), &json!({}));
    assert!(matches!(abort(&installing), Err(Denial::NothingBefore { .. })));
}

#[test]
fn an_abort_of_a_refused_request_takes_the_request_back() {
    let asked = json!({"desiredUpdate": {"image": image("4.9.0")}});
    let refused = cluster(&["C4.1.1"], &asked, &json!({}));
    assert_eq!(abort(&refused).unwrap().unwrap().update.image, image("4.1.1"));
}
