//! The lab answers as a real API server does: the same scripts run on both, and every answer is compared field by field.
//!
//! `LOCKSTEP_CASE=TEXT` runs only cases with that text in group or name, `LOCKSTEP_DIFF=FILE` writes every difference
//! and the traces of the cases that have one.
#![recursion_limit = "256"]
#![expect(
    clippy::needless_pass_by_value,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a script passes its values as it writes them; a test fails by a panic, also in the functions that tests share"
)]

#[path = "lab_conformance/objects.rs"]
mod objects;
#[path = "lab_conformance/target.rs"]
mod target;
#[path = "lab_conformance/wire.rs"]
mod wire;

#[path = "lab_conformance/apply.rs"]
mod apply;
#[path = "lab_conformance/apply_lists.rs"]
mod apply_lists;
#[path = "lab_conformance/custom.rs"]
mod custom;
#[path = "lab_conformance/defaults.rs"]
mod defaults;
#[path = "lab_conformance/definitions.rs"]
mod definitions;
#[path = "lab_conformance/deletion.rs"]
mod deletion;
#[path = "lab_conformance/discovery.rs"]
mod discovery;
#[path = "lab_conformance/dry_run.rs"]
mod dry_run;
#[path = "lab_conformance/errors.rs"]
mod errors;
#[path = "lab_conformance/namespaces.rs"]
mod namespaces;
#[path = "lab_conformance/pages.rs"]
mod pages;
#[path = "lab_conformance/partial.rs"]
mod partial;
#[path = "lab_conformance/patch.rs"]
mod patch;
#[path = "lab_conformance/selectors.rs"]
mod selectors;
#[path = "lab_conformance/subresources.rs"]
mod subresources;
#[path = "lab_conformance/watch.rs"]
mod watch;
#[path = "lab_conformance/writes.rs"]
mod writes;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::time::{Duration, Instant};

use futures::StreamExt as _;
use kube::Client;
use lockstep_lab::{Lab, LabOptions};
use lockstep_tests::clients;
use lockstep_tests::normalise::{Difference, differences};
use serde_json::{Value, json};
use target::{Case, Target};
use xtask::kube::{Server, ServerOptions};

/// Files of cases.
const FILES: &[&[Case]] = &[
    writes::CASES,
    patch::CASES,
    apply::CASES,
    apply_lists::CASES,
    selectors::CASES,
    pages::CASES,
    watch::CASES,
    deletion::CASES,
    namespaces::CASES,
    definitions::CASES,
    custom::CASES,
    subresources::CASES,
    errors::CASES,
    partial::CASES,
    dry_run::CASES,
    defaults::CASES,
    discovery::CASES,
];
/// Each group has at least this many.
const LEAST_PER_GROUP: usize = 8;
/// All groups together have at least this many.
const LEAST: usize = 120;
/// Cases that run at a time on each server.
const CONCURRENCY: usize = 8;
/// A case that takes longer is named.
const SLOW: Duration = Duration::from_secs(5);
/// How long one case may take.
const PATIENCE: Duration = Duration::from_secs(90);

/// A difference that is accepted; it is also described in `docs/lab.md`.
struct Accepted {
    case: &'static str,
    /// Beginning of the step's label, which starts with its number.
    step: &'static str,
    /// Beginnings of the paths.
    paths: &'static [&'static str],
    /// Codes of both answers, the real one first, where they are not equal: exactly these.
    codes: Option<[u16; 2]>,
    reason: &'static str,
}

/// Every accepted difference. One that does not occur any more fails the suite.
const ACCEPTED: &[Accepted] = &[
    Accepted {
        case: "an_apply_of_wrong_yaml_is_refused",
        step: "1 broken",
        paths: &[".body.message"],
        codes: None,
        reason: "another YAML parser has other sentences",
    },
    Accepted {
        case: "an_apply_of_wrong_yaml_is_refused",
        step: "5 twice",
        paths: &[".warnings"],
        codes: None,
        reason: "doubled keys are found in JSON bodies only",
    },
    Accepted {
        case: "a_rule_refuses_what_it_does_not_hold_for",
        step: "2 POST",
        paths: &[".code", ".body"],
        codes: Some([422, 201]),
        reason: "rules in CEL are not evaluated",
    },
    Accepted {
        case: "a_transition_rule_refuses_a_change",
        step: "1 PATCH",
        paths: &[".code", ".body"],
        codes: Some([422, 200]),
        reason: "rules in CEL are not evaluated",
    },
    Accepted {
        case: "versions_without_conversion_change_only_their_name",
        step: "8 PATCH",
        paths: &[".code", ".body"],
        codes: Some([500, 409]),
        reason: "the real server fails over managers of another version, the lab answers",
    },
    Accepted {
        case: "a_second_binding_is_a_conflict",
        step: "2 PATCH",
        paths: &[".body.message", ".body.details.causes"],
        codes: None,
        reason: "the real server shows a difference of Go structs",
    },
    Accepted {
        case: "built_in_resources_are_described",
        step: "",
        paths: &[".storageVersionHash"],
        codes: None,
        reason: "there is no migration of stored objects that could use it",
    },
];

/// What one case left on one server.
type Trace = Vec<(String, Value)>;

/// Two clients of the same kind of server: without and with controllers.
struct Pair {
    bare: Client,
    controlled: Client,
}

/// One difference of one case.
struct Found {
    case: &'static str,
    step: String,
    /// Of both answers; none where a step is no answer.
    codes: [Option<u64>; 2],
    difference: Difference,
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_all().build().unwrap()
}

/// The real server: service account admission is off, because without controllers there are no service accounts.
///
/// The store forgets old versions after 10 to 20 s, so that an expired version can be seen.
fn real_server(controller_manager: bool) -> Server {
    let api_server_flags = vec![
        "--disable-admission-plugins=ServiceAccount".to_owned(),
        "--etcd-compaction-interval=10s".to_owned(),
        // As on every cluster: some messages name the key of the store.
        "--etcd-prefix=/registry".to_owned(),
    ];
    let options = ServerOptions { controller_manager, api_server_flags, ..ServerOptions::default() };
    Server::start(&options).unwrap_or_else(|error| panic!("{error}"))
}

/// What the real server is compared with.
fn second_target(bare: &Lab, controlled: &Lab) -> Pair {
    Pair { bare: bare.client(), controlled: controlled.client() }
}

fn cases() -> Vec<&'static Case> {
    let wanted = std::env::var("LOCKSTEP_CASE").unwrap_or_default();
    let all = FILES.iter().flat_map(|file| file.iter());
    all.filter(|case| case.name.contains(&wanted) || case.group.contains(&wanted)).collect()
}

/// Runs every case on one server.
async fn run(cases: &[&'static Case], pair: &Pair, side: &str) -> BTreeMap<&'static str, Trace> {
    let shared = format!("shared-{side}.example.com");
    let target = Target::new(pair.bare.clone(), "default", &shared);
    futures::stream::iter(objects::shared_definitions())
        .for_each_concurrent(CONCURRENCY, async |definition| drop(target.define(definition).await))
        .await;
    assert!(target.trace().is_empty(), "the shared definitions were refused: {:#?}", target.trace());

    let runs = cases.iter().enumerate().map(|(number, case)| {
        let client = if case.controllers { &pair.controlled } else { &pair.bare };
        let target = Target::new(client.clone(), &format!("conf-{side}-{number:03}"), &shared);
        async move {
            target.given("namespaces", objects::namespace("{id}")).await;
            let start = Instant::now();
            if tokio::time::timeout(PATIENCE, (case.run)(&target)).await.is_err() {
                target.note("timed out", side);
            }
            if start.elapsed() > SLOW {
                println!("slow: {} took {:.1?} on server {side}", case.name, start.elapsed());
            }
            (case.name, target.trace())
        }
    });
    futures::stream::iter(runs).buffer_unordered(CONCURRENCY).collect().await
}

/// Steps are compared by position; one that only one side has is a difference too.
fn compare(case: &'static str, left: &Trace, right: &Trace) -> Vec<Found> {
    let mut found = Vec::new();
    for index in 0..left.len().max(right.len()) {
        let step = |trace: &Trace| trace.get(index).map(|(label, _)| label.clone());
        let value =
            |trace: &Trace| trace.get(index).map_or(json!("no such step"), |(_, value)| value.clone());
        let (one, two) = (step(left), step(right));
        let label = one.clone().or(two.clone()).unwrap_or_default();
        let (left, right) = (value(left), value(right));
        let codes = [&left, &right].map(|outcome| outcome["code"].as_u64());
        let mut all = differences(&left, &right);
        if one != two {
            let (left, right) = (one.map(Value::from), two.map(Value::from));
            all.insert(0, Difference { path: "(step)".into(), left, right });
        }
        found.extend(all.into_iter().map(|difference| Found {
            case,
            step: label.clone(),
            codes,
            difference,
        }));
    }
    found
}

fn is_accepted(accepted: &Accepted, found: &Found) -> bool {
    accepted.case == found.case
        && found.step.starts_with(accepted.step)
        && accepted.paths.iter().any(|path| found.difference.path.starts_with(path))
        && accepted.codes.is_none_or(|codes| found.codes == codes.map(|code| Some(code.into())))
}

fn write_report(found: &[&Found], left: &BTreeMap<&str, Trace>, right: &BTreeMap<&str, Trace>) {
    let Some(file) = std::env::var_os("LOCKSTEP_DIFF") else { return };
    let mut text = String::new();
    for found in found {
        writeln!(text, "{} | {} | {}", found.case, found.step, found.difference).unwrap();
    }
    let names: BTreeSet<&str> = found.iter().map(|found| found.case).collect();
    for name in names {
        writeln!(text, "\n=== {name}").unwrap();
        for (side, traces) in [("real", left), ("second", right)] {
            for (label, outcome) in &traces[name] {
                writeln!(text, "--- {side} {label}\n{outcome:#}").unwrap();
            }
        }
    }
    std::fs::write(file, text).unwrap();
}

/// For whoever writes a case: everything that the first server answered.
fn write_traces(left: &BTreeMap<&str, Trace>) {
    let Some(file) = std::env::var_os("LOCKSTEP_TRACE") else { return };
    let mut text = String::new();
    for (name, trace) in left {
        writeln!(text, "\n=== {name}").unwrap();
        for (label, outcome) in trace {
            writeln!(text, "--- {label}\n{outcome:#}").unwrap();
        }
    }
    std::fs::write(file, text).unwrap();
}

#[test]
fn both_servers_give_the_same_answers() {
    let start = Instant::now();
    let (bare, controlled) = std::thread::scope(|scope| {
        let other = scope.spawn(|| real_server(true));
        (real_server(false), other.join().unwrap())
    });
    let cases = cases();
    let ready = start.elapsed();
    let (left, right) = runtime().block_on(async {
        let real = Pair {
            bare: clients::of_file(bare.kubeconfig()).await,
            controlled: clients::of_file(controlled.kubeconfig()).await,
        };
        let options = LabOptions { compaction: Duration::from_secs(5), ..LabOptions::default() };
        let bare = Lab::new(LabOptions { controllers: false, ..options.clone() });
        let controlled = Lab::new(options);
        let second = second_target(&bare, &controlled);
        tokio::join!(run(&cases, &real, "a"), run(&cases, &second, "b"))
    });

    let found: Vec<Found> =
        cases.iter().flat_map(|case| compare(case.name, &left[case.name], &right[case.name])).collect();
    let (accepted, wrong): (Vec<&Found>, Vec<&Found>) =
        found.iter().partition(|found| ACCEPTED.iter().any(|accepted| is_accepted(accepted, found)));
    write_report(&wrong, &left, &right);
    write_traces(&left);

    let mut groups: BTreeMap<&str, usize> = BTreeMap::new();
    for case in &cases {
        *groups.entry(case.group).or_default() += 1;
    }
    for (group, count) in &groups {
        println!("{count:4} cases: {group}");
    }
    let silent: Vec<&&str> =
        left.iter().filter(|(_, trace)| trace.is_empty()).map(|(name, _)| name).collect();
    assert!(silent.is_empty(), "cases that record nothing: {silent:?}");
    let steps: usize = left.values().map(Vec::len).sum();
    println!(
        "{:4} cases with {steps} answers, servers ready after {ready:.1?}, all after {:.1?}",
        cases.len(),
        start.elapsed()
    );
    for entry in ACCEPTED {
        println!("accepted: {} | {} | {:?}: {}", entry.case, entry.step, entry.paths, entry.reason);
    }
    for found in &wrong {
        println!("DIFFERENT {} | {} | {}", found.case, found.step, found.difference);
    }
    let unfinished = left.values().flatten().filter(|(label, _)| label.ends_with("timed out")).count();
    assert_eq!(unfinished, 0, "cases did not end on the real server");
    assert!(wrong.is_empty(), "{} differences, {} accepted", wrong.len(), accepted.len());
    if std::env::var_os("LOCKSTEP_CASE").is_none() {
        let stale = |entry: &&Accepted| !accepted.iter().any(|found| is_accepted(entry, found));
        let stale: Vec<&str> = ACCEPTED.iter().filter(stale).map(|entry| entry.case).collect();
        assert!(stale.is_empty(), "accepted differences that do not occur any more: {stale:?}");
    }
}

#[test]
fn the_suite_is_as_large_as_it_has_to_be() {
    let mut names = BTreeSet::new();
    let mut groups: BTreeMap<&str, usize> = BTreeMap::new();
    for case in FILES.iter().flat_map(|file| file.iter()) {
        assert!(names.insert(case.name), "{} is there twice", case.name);
        *groups.entry(case.group).or_default() += 1;
    }
    assert!(groups.values().all(|count| *count >= LEAST_PER_GROUP), "{groups:?}");
    assert!(names.len() >= LEAST, "{}", names.len());
}

#[test]
fn every_accepted_difference_is_on_the_page() {
    let page = lockstep_tests::cli::root().join("docs/lab.md");
    let page = std::fs::read_to_string(page).unwrap_or_default();
    let missing: Vec<&str> =
        ACCEPTED.iter().filter(|entry| !page.contains(entry.case)).map(|entry| entry.case).collect();
    assert!(missing.is_empty(), "docs/lab.md does not name {missing:?}");
}

#[test]
fn a_difference_has_its_case_step_and_path_and_is_accepted_only_there() {
    let trace = |value: i64| {
        vec![("1 GET a".to_owned(), json!({"code": 200})), ("2 GET b".to_owned(), json!({"x": value}))]
    };
    assert!(compare("case", &trace(1), &trace(1)).is_empty());
    let found = compare("case", &trace(1), &trace(2));
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].step.as_str(), found[0].difference.path.as_str()), ("2 GET b", ".x"));
    let entry = |case, step, paths| Accepted { case, step, paths, codes: None, reason: "" };
    assert!(is_accepted(&entry("case", "2 GET", &[".y", ".x"]), &found[0]));
    assert!(!is_accepted(&entry("other", "2 GET", &[".x"]), &found[0]));
    assert!(!is_accepted(&entry("case", "1 GET", &[".x"]), &found[0]));
    assert!(!is_accepted(&entry("case", "2 GET", &[".y"]), &found[0]));

    let shorter = compare("case", &trace(1), &trace(1)[..1].to_vec());
    assert!(shorter.iter().any(|found| found.difference.path == "(step)"), "a missing step is a difference");
}

#[test]
fn other_codes_than_the_accepted_ones_are_a_difference() {
    let answer =
        |code: u16, body: i64| vec![("1 GET a".to_owned(), json!({"code": code, "body": {"x": body}}))];
    let entry =
        Accepted { case: "case", step: "1", paths: &[".code", ".body"], codes: Some([422, 201]), reason: "" };
    let accepted = |left: &Trace, right: &Trace| {
        let found = compare("case", left, right);
        assert!(!found.is_empty());
        found.iter().all(|found| is_accepted(&entry, found))
    };
    assert!(accepted(&answer(422, 1), &answer(201, 2)));
    assert!(!accepted(&answer(201, 1), &answer(422, 2)), "the other way round");
    assert!(!accepted(&answer(422, 1), &answer(500, 2)));
    assert!(!accepted(&answer(422, 1), &answer(422, 2)), "equal codes with another body");
    assert!(!accepted(&answer(422, 1), &vec![("1 GET a".to_owned(), json!("no answer"))]));
}

#[test]
fn only_a_storage_that_is_not_ready_is_asked_again() {
    assert!(wire::is_not_ready(429, "storage is (re)initializing"));
    assert!(!wire::is_not_ready(429, "Too many requests, please try again later."));
    assert!(!wire::is_not_ready(500, "storage is (re)initializing"));
}
