//! `lockstep why` on a real API server with thousands of Pods: how long a person waits for the cause.
//!
//! Prints one JSON line per run; `cargo xtask bench why` makes a report of them. Arguments: the program, the number of Pods
//! and the number of runs.
#![expect(clippy::print_stdout, reason = "the other side reads it")]

use std::error::Error;
use std::process::Command;
use std::time::Instant;

use futures::StreamExt as _;
use lockstep_tests::clients::{self, Call};
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use xtask::kube::{Server, ServerOptions};

/// Namespaces that the Pods are spread over.
const NAMESPACES: usize = 50;
/// Requests at a time.
const AT_ONCE: usize = 16;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [program, pods, runs] = &arguments[..] else {
        return Err("usage: why_bench PROGRAM PODS RUNS".into());
    };
    let (pods, runs): (usize, usize) = (pods.parse()?, runs.parse()?);
    let server = Server::start(&ServerOptions::default())?;
    Runtime::new()?.block_on(async {
        let client = clients::of_file(server.kubeconfig()).await;
        stage(&client, pods).await
    })?;
    println!("{}", json!({"pods": pods, "namespaces": NAMESPACES}));
    for _ in 0..runs {
        let begun = Instant::now();
        let output = Command::new(program)
            .args(["why", "-o", "json", "--kubeconfig"])
            .arg(server.kubeconfig())
            .output()?;
        let seconds = begun.elapsed().as_secs_f64();
        let diagnosis: Value = serde_json::from_slice(&output.stdout)?;
        let ids: Vec<&Value> =
            diagnosis["causes"].as_array().into_iter().flatten().map(|it| &it["id"]).collect();
        println!("{}", json!({"seconds": seconds, "code": output.status.code(), "causes": ids}));
    }
    Ok(())
}

/// Pods that run, one that crashes, and an Event for every second one.
async fn stage(client: &kube::Client, pods: usize) -> Result<(), Box<dyn Error>> {
    let mut first = Vec::new();
    for number in 0..NAMESPACES {
        let name = format!("openshift-part-{number}");
        first.push(Call::post("/api/v1/namespaces", &json!({"metadata": {"name": name}})));
    }
    send_all(client, first).await?;
    let accounts = (0..NAMESPACES).map(|number| {
        let list = format!("/api/v1/namespaces/openshift-part-{number}/serviceaccounts");
        Call::post(list, &json!({"metadata": {"name": "default"}}))
    });
    send_all(client, accounts.collect()).await?;
    let place = |number: usize| format!("/api/v1/namespaces/openshift-part-{}", number % NAMESPACES);
    let created = (0..pods).map(|number| Call::post(format!("{}/pods", place(number)), &pod(number)));
    send_all(client, created.collect()).await?;
    let told = (0..pods).map(|number| {
        let status = json!({"status": status(number)}).to_string();
        Call::new("PATCH", format!("{}/pods/pod-{number}/status", place(number)))
            .body("application/merge-patch+json", status)
    });
    send_all(client, told.collect()).await?;
    let events =
        (0..pods).step_by(2).map(|number| Call::post(format!("{}/events", place(number)), &event(number)));
    send_all(client, events.collect()).await
}

async fn send_all(client: &kube::Client, calls: Vec<Call>) -> Result<(), Box<dyn Error>> {
    let answers = futures::stream::iter(calls).map(|call| async move { call.send(client).await });
    let answers: Vec<_> = answers.buffer_unordered(AT_ONCE).collect().await;
    for answer in answers {
        let answer = answer.ok_or("no answer")?;
        if answer.code >= 300 && answer.code != 409 {
            return Err(answer.body.to_string().into());
        }
    }
    Ok(())
}

fn pod(number: usize) -> Value {
    json!({"metadata": {"name": format!("pod-{number}"), "labels": {"app": "part"}},
        "spec": {"nodeName": format!("node-{}", number % 100), "containers": [{"name": "c",
            "image": format!("registry.example.com/part@sha256:{:064x}", number),
            "env": [{"name": "A", "value": "b"}], "resources": {"requests": {"cpu": "10m"}}}]}})
}

fn status(number: usize) -> Value {
    let state = if number == 7 {
        json!({"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 5m0s restarting failed container"}})
    } else {
        json!({"running": {"startedAt": "2026-01-01T00:00:00Z"}})
    };
    json!({"phase": "Running",
        "conditions": [{"type": "Ready", "status": if number == 7 { "False" } else { "True" }}],
        "containerStatuses": [{"name": "c", "image": "x", "imageID": "", "ready": number != 7,
            "restartCount": if number == 7 { 9 } else { 0 }, "state": state}]})
}

fn event(number: usize) -> Value {
    let namespace = format!("openshift-part-{}", number % NAMESPACES);
    json!({"metadata": {"name": format!("pod-{number}.1"), "namespace": namespace},
        "involvedObject": {"kind": "Pod", "namespace": namespace, "name": format!("pod-{number}")},
        "reason": "Pulled", "message": "Container image is present on the machine", "type": "Normal", "count": 1})
}
