//! Rehearsals: the engine against the lab in virtual time. Releases that work converge, those that cannot say why.
#![expect(clippy::unwrap_used, reason = "a test fails by a panic, also in the functions that tests share")]

use std::sync::Arc;
use std::time::Duration;

use lockstep_apply::progress::{Event, Happening, Outcome, WaitReason};
use lockstep_graph::InstallOrder;
use lockstep_lab::Scenario;
use lockstep_payload::{Release, Selection};
use lockstep_rehearsal::{Act, Rehearsal, Target};
use lockstep_tests::releases::example;

/// Runs a rehearsal; gives its acts and all events.
fn rehearse(rehearsal: &Rehearsal<'_>) -> (Vec<Act>, Vec<Event>) {
    let mut events = Vec::new();
    let acts = rehearsal.run(|event| events.push(event.clone())).unwrap();
    (acts, events)
}

fn a_rehearsal<'a>(target: &'a (Release, Selection), scenario: &str) -> Rehearsal<'a> {
    let head = "apiVersion: lab.lockstep.dev/v1\nkind: Scenario\n";
    Rehearsal {
        target: Target { release: &target.0, selection: &target.1 },
        from: None,
        install_order: InstallOrder::Flat,
        scenario: Scenario::read("test.yaml", format!("{head}{scenario}").as_bytes()).unwrap(),
        seed: 7,
        speed: None,
        timeout: Duration::from_hours(2),
        hold: Duration::from_mins(1),
    }
}

/// The one act of an installation that did not get there: what is missing, as one text.
fn what_is_missing(rehearsal: &Rehearsal<'_>, outcome: Outcome) -> String {
    let (acts, _) = rehearse(rehearsal);
    assert_eq!(acts[0].ending.outcome, outcome, "{:#?}", acts[0].ending.missing);
    acts[0].ending.missing.join("\n")
}

#[test]
fn both_example_releases_and_the_update_between_them_converge_in_every_order() {
    let (old, new) = (example("1.0.0"), example("1.1.0"));
    for install_order in [InstallOrder::Flat, InstallOrder::RunLevel] {
        for target in [&old, &new] {
            let (acts, _) = rehearse(&Rehearsal { install_order, ..a_rehearsal(target, "") });
            assert_eq!(acts[0].ending.outcome, Outcome::Converged, "{:#?}", acts[0].ending.missing);
        }
        let from = Some(Target { release: &old.0, selection: &old.1 });
        let (acts, events) = rehearse(&Rehearsal { from, install_order, ..a_rehearsal(&new, "") });
        assert_eq!(acts.len(), 2);
        for act in &acts {
            assert_eq!(act.ending.outcome, Outcome::Converged, "{:#?}", act.ending.missing);
            assert!(act.ending.missing.is_empty());
        }
        let drifted = events.iter().filter(|event| matches!(event.what, Happening::Drifted { .. }));
        assert_eq!(drifted.count(), 0, "nobody changed anything");
    }
}

#[test]
fn a_second_run_over_a_converged_cluster_writes_nothing() {
    let release = example("1.0.0");
    let from = Some(Target { release: &release.0, selection: &release.1 });
    let (acts, events) = rehearse(&Rehearsal { from, ..a_rehearsal(&release, "") });
    assert_eq!(acts[1].ending.outcome, Outcome::Converged, "{:#?}", acts[1].ending.missing);
    let compared: Vec<&Event> =
        events.iter().filter(|event| matches!(event.what, Happening::Compared { .. })).collect();
    let Happening::Compared { equal, different, missing } = compared[1].what else { panic!("{compared:?}") };
    assert_eq!((different, missing), (0, 0));
    assert!(equal > 100, "{equal}");
    assert_eq!(acts[1].ending.writes, 0);
}

#[test]
fn who_got_there_in_time_stays_for_longer_than_that_time() {
    let release = example("1.0.0");
    let hold = Duration::from_hours(5);
    let (acts, events) = rehearse(&Rehearsal { hold, ..a_rehearsal(&release, "") });
    assert_eq!(acts[0].ending.outcome, Outcome::Converged, "{:#?}", acts[0].ending.missing);
    let end = events.last().unwrap().at;
    assert!(end > hold.as_secs_f64(), "it ended after {end} s");
}

#[test]
fn the_same_seed_gives_the_same_events_and_another_seed_others() {
    let release = example("1.0.0");
    let events = |seed| rehearse(&Rehearsal { seed, ..a_rehearsal(&release, "") }).1;
    let first = events(1);
    assert_eq!(first, events(1));
    assert_ne!(first, events(2));
}

#[test]
fn an_operator_that_never_reports_is_named() {
    let release = example("1.0.0");
    let scenario = "operators:\n- name: dns\n  behaviour: silent\n";
    let missing = what_is_missing(&a_rehearsal(&release, scenario), Outcome::TimedOut);
    assert!(missing.contains("ClusterOperator dns"), "{missing}");
    assert!(missing.contains("for 1 h"), "{missing}");
}

#[test]
fn a_missing_definition_is_named_with_who_could_bring_it() {
    let (mut release, selection) = example("1.0.0");
    release.manifests.retain(|manifest| !(manifest.is_crd() && manifest.id.name.starts_with("dnses.")));
    let release = (release, selection);
    let missing = what_is_missing(&a_rehearsal(&release, ""), Outcome::TimedOut);
    assert!(missing.contains("the kind operator.openshift.io/v1 DNS is not served"), "{missing}");
    assert!(missing.contains("nothing in the release provides it"), "{missing}");
}

#[test]
fn an_image_that_cannot_be_pulled_is_named_with_its_pod() {
    let release = example("1.0.0");
    let scenario = "workloads:\n- namespace: openshift-dns-operator\n  behaviour: imagePullFailure\n";
    let missing = what_is_missing(&a_rehearsal(&release, scenario), Outcome::TimedOut);
    assert!(missing.contains("ClusterOperator dns"), "{missing}");
    assert!(missing.contains("Pod openshift-dns-operator/dns-operator-"), "{missing}");
    assert!(missing.contains("cannot pull"), "{missing}");
}

#[test]
fn an_operator_before_its_deployment_is_a_deadlock_with_its_cycle() {
    let (mut release, selection) = example("1.0.0");
    for manifest in &mut release.manifests {
        if manifest.is_cluster_operator() && manifest.id.name == "dns" {
            manifest.file = Arc::from("0000_08_dns-operator_05_clusteroperator.yaml");
        }
    }
    release.manifests.sort_by(|one, other| one.file.cmp(&other.file));
    let release = (release, selection);
    let missing = what_is_missing(&a_rehearsal(&release, ""), Outcome::TimedOut);
    assert!(missing.contains("This is a deadlock: ClusterOperator dns waits for Deployment"), "{missing}");
    assert!(missing.contains("0000_08_dns-operator_06_deployment.yaml"), "{missing}");
}

#[test]
fn two_controllers_that_fight_are_both_named_and_cost_few_writes() {
    let release = example("1.0.0");
    let scenario = "people:
- name: autoscaler
  at: 15m
  object: {apiVersion: apps/v1, kind: Deployment, namespace: openshift-ingress-operator, name: ingress-operator}
  do: {fight: {field: /spec/replicas, value: 3, every: 1s}}
";
    let rehearsal = Rehearsal { hold: Duration::from_mins(20), ..a_rehearsal(&release, scenario) };
    let (acts, events) = rehearse(&rehearsal);
    let missing = acts[0].ending.missing.join("\n");
    assert_eq!(acts[0].ending.outcome, Outcome::Failed, "{missing}");
    assert!(missing.contains("Deployment openshift-ingress-operator/ingress-operator"), "{missing}");
    assert!(missing.contains("spec.replicas"), "{missing}");
    assert!(missing.contains("\"autoscaler\"") && missing.contains("\"lockstep\""), "{missing}");
    let repaired = |event: &&Event| matches!(&event.what, Happening::Repaired { object, .. } if object.contains("ingress"));
    let first = events.iter().find(|event| matches!(event.what, Happening::Drifted { .. })).unwrap().at;
    let writes = events.iter().filter(repaired).filter(|event| event.at <= first + 600.0).count();
    assert!((1..=6).contains(&writes), "{writes} writes in ten minutes");
    let done = events.iter().filter(|event| matches!(event.what, Happening::Done { .. })).count();
    let Happening::Began { tasks, .. } = &events[0].what else { panic!("{:?}", events[0]) };
    assert_eq!(done, tasks.len(), "everything else converges");
}

#[test]
fn deletions_edits_and_lost_labels_are_repaired() {
    let release = example("1.0.0");
    let scenario = "people:
- name: alice
  at: 20m
  object: {apiVersion: v1, kind: ConfigMap, namespace: openshift-dns, name: dns-forwarders}
  do: delete
- name: bob
  at: 21m
  object: {apiVersion: apps/v1, kind: Deployment, namespace: openshift-console-operator, name: console-operator}
  do: {patch: {json: [{op: replace, path: /spec/replicas, value: 5}]}}
- name: carol
  at: 22m
  object: {apiVersion: v1, kind: Namespace, name: openshift-dns}
  do: {label: {remove: [lockstep.dev/payload]}}
";
    let rehearsal = Rehearsal { hold: Duration::from_mins(30), ..a_rehearsal(&release, scenario) };
    let (acts, events) = rehearse(&rehearsal);
    assert_eq!(acts[0].ending.outcome, Outcome::Converged, "{:#?}", acts[0].ending.missing);
    for object in [
        "ConfigMap openshift-dns/dns-forwarders",
        "Deployment openshift-console-operator/console-operator",
        "Namespace openshift-dns",
    ] {
        let seconds = events.iter().find_map(|event| match &event.what {
            Happening::Repaired { object: repaired, seconds } if repaired == object => Some(*seconds),
            _ => None,
        });
        assert!(seconds.is_some_and(|seconds| seconds < 1.0), "{object}: {seconds:?}");
    }
}

#[test]
fn waits_say_their_reason_and_the_file_that_ends_them() {
    let release = example("1.0.0");
    let (_, events) = rehearse(&a_rehearsal(&release, ""));
    let waits: Vec<_> = events
        .iter()
        .filter_map(|event| match &event.what {
            Happening::Waiting { wait, .. } => Some(wait),
            _ => None,
        })
        .collect();
    for reason in [WaitReason::KindNotServed, WaitReason::NamespaceMissing, WaitReason::OperatorNotAvailable]
    {
        assert!(waits.iter().any(|wait| wait.reason == reason), "{reason}");
    }
    let of_kind = waits.iter().find(|wait| wait.reason == WaitReason::KindNotServed).unwrap();
    assert!(of_kind.provider.is_some() && of_kind.sentence.contains(".crd.yaml brings it"), "{of_kind:?}");
}

#[test]
fn a_bad_day_of_the_server_is_survived() {
    let release = example("1.0.0");
    let path = lockstep_tests::cli::root().join("examples/scenarios/faults.yaml");
    let scenario = Scenario::read("faults.yaml", &std::fs::read(path).unwrap()).unwrap();
    let (acts, events) = rehearse(&Rehearsal { scenario, ..a_rehearsal(&release, "") });
    assert_eq!(acts[0].ending.outcome, Outcome::Converged, "{:#?}", acts[0].ending.missing);
    assert!(events.len() > 300);
}
