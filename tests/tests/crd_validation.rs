//! Our ClusterVersion and ClusterOperator definitions in a real API server: what it takes, what it refuses, in which words.
#![expect(clippy::panic, reason = "a test fails by a panic, also in the functions that tests share")]

use std::process::Output;

use lockstep_api::crd::{CLUSTER_OPERATOR, CLUSTER_VERSION, VALIDATION_CASES};
use serde_json::Value;
use xtask::kube::{Server, ServerOptions};

/// The answer to one step of a case: the object as the server keeps it, or its words.
type Answer = Result<Value, String>;

fn start() -> Server {
    let server = Server::start(&ServerOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    let both = format!("{CLUSTER_VERSION}\n---\n{CLUSTER_OPERATOR}");
    let created = kubectl(&server, &["create", "--validate=strict", "-f", "-"], &both);
    assert!(created.status.success(), "{}", errors(&created));
    assert_eq!(errors(&created), "", "the definitions cause no warnings");
    let established = ["wait", "--for=condition=Established", "--timeout=60s", "crd", "--all"];
    let waited = kubectl(&server, &established, "");
    assert!(waited.status.success(), "{}", errors(&waited));
    server
}

fn kubectl(server: &Server, arguments: &[&str], input: &str) -> Output {
    server.kubectl_stdin(arguments, input.as_bytes()).unwrap_or_else(|error| panic!("{error}"))
}

fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn answer(output: &Output) -> Answer {
    if output.status.success() {
        Ok(serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}")))
    } else {
        Err(errors(output))
    }
}

/// The steps of a case, in order, until one is refused; the last answer and how many steps the case has left.
fn play(server: &Server, case: &Value) -> (Answer, usize) {
    let (object, update) = (&case["object"], &case["update"]);
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    let path = format!("/apis/config.openshift.io/v1/{}/{name}", case["crd"].as_str().unwrap_or_default());
    let put = |live: &Value, path: &str, change: &dyn Fn(&mut Value)| {
        let mut next = live.clone();
        change(&mut next);
        answer(&kubectl(server, &["replace", "--raw", path, "-f", "-"], &next.to_string()))
    };

    let mut left = usize::from(object.get("status").is_some()) + usize::from(!update.is_null());
    let created =
        kubectl(server, &["create", "--validate=ignore", "-o", "json", "-f", "-"], &object.to_string());
    let mut last = answer(&created);
    if let (Ok(live), Some(status)) = (&last, object.get("status")) {
        left -= 1;
        last = put(live, &format!("{path}/status"), &|next| next["status"] = status.clone());
    }
    if let (Ok(live), false) = (&last, update.is_null()) {
        left -= 1;
        last = put(live, &path, &|next| {
            // An update replaces the object; only what the server insists on stays.
            let version = next["metadata"]["resourceVersion"].take();
            *next = update.clone();
            next["metadata"]["resourceVersion"] = version;
        });
    }
    kubectl(server, &["delete", "--raw", &path], "");
    (last, left)
}

#[test]
fn every_case_has_its_outcome_and_its_words() {
    let server = start();
    let cases: Vec<Value> = serde_json::from_str(VALIDATION_CASES).unwrap();
    let mut wrong = Vec::new();
    for case in &cases {
        let (name, text) = (case["name"].as_str().unwrap(), case["message_contains"].as_str().unwrap());
        let problem = match (play(&server, case), case["accepted"].as_bool().unwrap()) {
            ((_, left), _) if left > 0 => format!("a step before the last was refused, {left} not reached"),
            ((Ok(_), _), true) => continue,
            ((Err(words), _), false) if words.contains(text) => continue,
            ((Ok(_), _), false) => format!("accepted, should be refused with {text:?}"),
            ((Err(words), _), true) => format!("refused: {words}"),
            ((Err(words), _), false) => format!("refused with {words:?}, which lacks {text:?}"),
        };
        wrong.push(format!("{name}: {problem}"));
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
    let refused = cases.iter().filter(|case| case["accepted"] == false).count();
    assert!(refused >= 20 && cases.len() - refused >= 20, "{refused} of {}", cases.len());
}
