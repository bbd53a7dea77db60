//! The rules of the protocol: the example operator keeps them all, and for each rule an operator that breaks it is found out.
#![expect(clippy::unwrap_used, reason = "a test fails by a panic, also in the functions that tests share")]

#[path = "conformance/actor.rs"]
mod actor;
#[path = "conformance/breaches.rs"]
mod breaches;
#[path = "conformance/folders.rs"]
mod folders;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::time::Duration;

use lockstep_health::conformance::{Finding, Outcome, Rule, manifest_rules, running_rules};
use lockstep_tests::cli::{lockstep, lockstep_with, root};
use lockstep_tests::example_operator::{Example, REPORT, Stage, bring_manifests, is_at, until};
use serde_json::Value;

use actor::play;
use breaches::BREACHES;

const EXAMPLE: &str = "examples/operator/manifests";

fn broken(findings: &[Finding]) -> Vec<&'static str> {
    findings.iter().filter(|finding| finding.outcome.is_fail()).map(|finding| finding.rule.id).collect()
}

// === running operators ===

#[test]
fn an_operator_that_keeps_to_the_protocol_breaks_no_rule() {
    let findings = play(actor::well_behaved);
    assert_eq!(broken(&findings), Vec::<&str>::new(), "{findings:#?}");
    let seen = findings.iter().filter(|finding| finding.outcome == Outcome::Pass).count();
    assert!(seen + 3 >= findings.len(), "little was seen: {findings:#?}");
}

#[test]
fn each_running_rule_is_broken_by_an_operator_and_found_out_by_its_id() {
    let ids: BTreeSet<&str> = running_rules().iter().map(|rule| rule.id).collect();
    let tried: BTreeSet<&str> = BREACHES.iter().map(|(id, _)| *id).collect();
    assert_eq!(tried, ids, "a rule without an operator that breaks it, or the other way round");
    for (id, script) in BREACHES {
        let findings = play(*script);
        let found = findings.iter().find(|finding| finding.rule.id == *id).unwrap();
        let Outcome::Fail(evidence) = &found.outcome else { panic!("{id}: {:?}", found.outcome) };
        assert!(!evidence.is_empty() && evidence.iter().all(|line| !line.is_empty()), "{id}");
    }
}

// === manifests ===

#[test]
fn each_manifest_rule_is_broken_by_a_folder_and_found_out_by_its_id() {
    let ids: BTreeSet<&str> = manifest_rules().iter().map(|rule| rule.id).collect();
    let tried: BTreeSet<&str> = folders::BREACHES.iter().map(|breach| breach.id).collect();
    assert_eq!(tried, ids, "a rule without a folder that breaks it, or the other way round");
    for breach in folders::BREACHES {
        let found = broken(&breach.judge());
        assert!(found.contains(&breach.id), "{}: {found:?}", breach.id);
    }
}

#[test]
fn the_folder_of_the_example_passes_and_the_command_says_so() {
    let run = lockstep(&["conformance", "--manifests", EXAMPLE]);
    assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
    assert!(
        run.stdout.ends_with(&format!("{EXAMPLE}: 15 pass, 0 fail, 0 not seen, 1 not applicable\n")),
        "{}",
        run.stdout
    );
    let json: Value =
        serde_json::from_str(&lockstep(&["conformance", "--manifests", EXAMPLE, "-o", "json"]).stdout)
            .unwrap();
    assert_eq!((json["kind"].as_str(), json["passes"].as_bool()), (Some("ConformanceReport"), Some(true)));
}

#[test]
fn exit_codes_tell_broken_from_not_checked() {
    let folder =
        folders::BREACHES.iter().find(|breach| breach.id == "image-references-shipped").unwrap().folder();
    let text = folder.path().display().to_string();
    let bad = lockstep(&["conformance", "--manifests", &text]);
    assert_eq!(bad.code, 1, "{}", bad.stdout);
    assert!(bad.stdout.contains("fail            image-references-shipped"), "{}", bad.stdout);
    assert!(bad.stdout.contains("next: list each image in image-references"), "{}", bad.stdout);
    for (arguments, words) in [
        (&["conformance", "--manifests", "nowhere"][..], "reading `nowhere`"),
        (&["conformance", "--manifests", "examples/operator/src"], "no file that is read as a manifest"),
        (&["conformance"], "required"),
        (&["conformance", "dns", "--manifests", EXAMPLE], "cannot be used with"),
        (&["conformance", "dns", "--kubeconfig", "nowhere"], "nowhere"),
    ] {
        let run = lockstep(arguments);
        assert_eq!(run.code, 2, "{arguments:?}: {}", run.stderr);
        assert!(run.stderr.contains(words), "{arguments:?}: {}", run.stderr);
    }
}

// === the command and a running operator ===

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_command_watches_the_example_in_the_lab_and_finds_nothing_broken() {
    let stage = Stage::start().await;
    bring_manifests(&stage.client).await;
    let first = Example::start(&stage.kubeconfig, stage.folder.path(), "1.0.0", "");
    until(&stage.client, "the first version", REPORT, |it| is_at(it, "1.0.0")).await;
    let kubeconfig = stage.kubeconfig.display().to_string();
    let watching = tokio::task::spawn_blocking(move || {
        lockstep(&["conformance", "example", "--for", "20s", "-o", "json", "--kubeconfig", &kubeconfig])
    });
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(first.stop(), 0);
    let second = Example::start(&stage.kubeconfig, stage.folder.path(), "1.1.0", "");
    until(&stage.client, "the second version", REPORT, |it| is_at(it, "1.1.0")).await;
    let run = watching.await.unwrap();
    assert_eq!(run.code, 0, "{}{}\n{}", run.stdout, run.stderr, second.log());
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    let verdict = |id: &str| {
        let findings = report["findings"].as_array().unwrap();
        findings.iter().find(|finding| finding["id"] == id).unwrap()["verdict"].as_str().unwrap().to_owned()
    };
    assert_eq!(verdict("version-after-operands"), "pass");
    assert_eq!(verdict("transition-time-moves"), "pass");

    let missing = lockstep_with(
        &["conformance", "nobody", "--for", "1s"],
        &[("KUBECONFIG", &stage.kubeconfig.display().to_string())],
    );
    assert_eq!(missing.code, 2, "{}", missing.stderr);
    assert!(
        missing.stderr.contains("clusteroperator/nobody was not there within 1s; those that are: example"),
        "{}",
        missing.stderr
    );
}

// === the page ===

fn table(rules: &[Rule]) -> String {
    let mut out = String::from("| rule | what holds | when it is broken |\n|---|---|---|\n");
    for rule in rules {
        let _ = writeln!(out, "| `{}` | {} | {} |", rule.id, rule.says, rule.remedy);
    }
    out
}

#[test]
fn the_page_lists_every_rule() {
    let place = root().join("docs/reference/conformance.md");
    let (begin, middle) = ("<!-- rules about manifests -->\n", "<!-- rules about running operators -->\n");
    let end = "<!-- end -->\n";
    let page = fs::read_to_string(&place).unwrap();
    let (before, rest) = page.split_once(begin).unwrap();
    let (_, after) = rest.split_once(end).unwrap();
    let wanted = format!(
        "{before}{begin}\n{}\n{middle}\n{}\n{end}{after}",
        table(&manifest_rules()),
        table(&running_rules())
    );
    if std::env::var_os("LOCKSTEP_BLESS").is_some() {
        fs::write(&place, &wanted).unwrap();
    }
    let page = fs::read_to_string(&place).unwrap();
    assert!(
        page == wanted,
        "docs/reference/conformance.md is out of date; LOCKSTEP_BLESS=1 cargo test -p lockstep-tests --test conformance"
    );
}
