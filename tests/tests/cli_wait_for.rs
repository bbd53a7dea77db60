//! `lockstep wait-for` as an installer calls it, on a real API server: codes, last lines, an interruption, a record.

use std::fs;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use lockstep_tests::cli::{Run, binary};
use lockstep_tests::operator::signal;
use lockstep_tests::staged::Staged;
use xtask::kube::{Server, ServerOptions};

#[track_caller]
fn ended(run: &Run, code: i32, parts: &[&str]) {
    let all = format!("{}{}", run.stdout, run.stderr);
    assert_eq!(run.code, code, "{all}");
    for part in parts {
        assert!(all.contains(part), "{part:?} is missing: {all}");
    }
}

/// Every form in its time, with short limits, before and after the cluster is there.
#[test]
fn each_form_has_its_code_and_says_what_is_missing_and_what_to_do() {
    let kube = Server::start(&ServerOptions::default()).unwrap();
    let staged = Staged::new(kube.kubeconfig());
    let wait = |arguments: &[&str]| staged.lockstep(&[&["wait-for"], arguments].concat());
    let short = ["--stable-for", "2s", "--period", "4s"];
    let next = "\nnext:\n  ";
    ended(&wait(&["api"]), 0, &["the Kubernetes API v1.", "done after"]);
    ended(&wait(&["bootstrap-complete", "--timeout", "1s"]), 5, &["ConfigMap kube-system/bootstrap", next]);
    ended(
        &wait(&["install-complete", "--timeout", "1s"]),
        6,
        &["there is no ClusterVersion version yet", next],
    );
    ended(&wait(&[&["stable"][..], &short].concat()), 7, &["there is no ClusterOperator", next]);
    ended(
        &wait(&["operator", "dns", "--timeout", "1s"]),
        6,
        &["there is no ClusterOperator dns yet", "lockstep why dns"],
    );
    ended(&wait(&["converged", "--timeout", "1s"]), 6, &["✗ all operators are Available", next]);

    staged.kubectl(
        &["-n", "kube-system", "create", "configmap", "bootstrap", "--from-literal=status=complete"],
        None,
    );
    ended(&wait(&["bootstrap-complete"]), 0, &["safe to remove the bootstrap host"]);
    staged.version("Cluster version is 1.0.0", &["C1.0.0"]);
    staged.operator(("dns", "1.0.0", "True", "True", "False", "rolling out"));
    let restless = wait(&[&["install-complete"][..], &short].concat());
    ended(&restless, 7, &["ClusterOperator dns: progressing since", "rolling out", "cause", next]);
    staged.operator(("dns", "1.0.0", "True", "False", "False", ""));
    ended(&wait(&["operator", "dns"]), 0, &["ClusterOperator dns to settle: done"]);
    let folder = tempfile::tempdir().unwrap();
    let record = folder.path().join("rests.jsonl").display().to_string();
    ended(
        &wait(&[&["install-complete", "--record", &record][..], &short].concat()),
        0,
        &["all operators to come to rest: done"],
    );
    let lines = fs::read_to_string(record).unwrap();
    assert!(lines.contains("\"judgement\"") && lines.contains("\"verdict\":\"stable\""), "{lines}");
    ended(
        &wait(&["converged", "--timeout", "5s"]),
        0,
        &["✓ ClusterVersion is at the desired version (1.0.0)"],
    );
    let json = wait(&["converged", "-o", "json"]);
    ended(&json, 0, &["\"told\":\"step\"", "\"told\":\"end\""]);
}

#[test]
fn a_wait_sees_a_change_when_it_happens_and_an_interruption_ends_it_with_8() {
    let kube = Server::start(&ServerOptions::default()).unwrap();
    let staged = Staged::new(kube.kubeconfig());
    staged.operator(("dns", "1.0.0", "False", "True", "False", "starting"));
    let start = |arguments: &[&str]| {
        Command::new(binary())
            .arg("wait-for")
            .args(arguments)
            .env("KUBECONFIG", kube.kubeconfig())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap()
    };
    let waiting = start(&["operator", "dns"]);
    let mut interrupted = start(&["operator", "never"]);
    thread::sleep(Duration::from_secs(2));
    staged.operator(("dns", "1.0.0", "True", "False", "False", ""));
    let output = waiting.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stdout));
    signal(interrupted.id(), "INT");
    let begun = Instant::now();
    while interrupted.try_wait().unwrap().is_none() {
        assert!(begun.elapsed() < Duration::from_mins(1), "it does not end");
        thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(interrupted.wait().unwrap().code(), Some(8));
}
