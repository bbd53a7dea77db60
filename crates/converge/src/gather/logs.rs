//! The last words of containers that crash: what they say about networks, certificates, rights and panics.

use lockstep_apply::kinds::Resource;
use lockstep_apply::server::{Call, Server};
use lockstep_health::why::resource;
use lockstep_health::why::snapshot::Snapshot;
use serde_json::Value;

use super::Logs;
use super::redact::Redactor;

/// How many containers are asked.
const MOST: usize = 20;
/// How many lines of each.
const LINES: &str = "40";
/// Only lines that say what went wrong are kept: a log may have anything in it.
const TELLING: [&str; 12] = [
    "dial tcp",
    "x509",
    "forbidden",
    "panic",
    "timeout",
    "no such host",
    "refused",
    "no route",
    "tls:",
    "fatal",
    "error",
    "denied",
];

/// Log lines of containers that crash again and again, by `namespace/pod/container`.
pub(super) async fn of_crashing(server: &Server, picture: &Snapshot, redactor: &Redactor) -> Logs {
    let pods = picture.objects.get(resource::PODS.key).map(Vec::as_slice).unwrap_or_default();
    let crashing = pods.iter().flat_map(crashing_containers).take(MOST);
    let mut logs = Logs::new();
    for (namespace, pod, container) in crashing {
        let of = Resource::new("", "v1", "Pod", "pods", true);
        let call = Call::get(&of, Some(namespace), pod)
            .subresource("log")
            .with("container", container)
            .with("previous", "true")
            .with("tailLines", LINES)
            .accept("*/*");
        let Ok(answer) = server.send(call).await else { continue };
        if let Value::String(text) = answer.object {
            let lines: Vec<String> =
                text.lines().filter(|line| is_telling(line)).map(|line| redactor.text(line)).collect();
            logs.insert(format!("{namespace}/{pod}/{container}"), lines.join("\n"));
        }
    }
    logs
}

fn crashing_containers(pod: &Value) -> impl Iterator<Item = (&str, &str, &str)> {
    let (namespace, name) = (
        pod["metadata"]["namespace"].as_str().unwrap_or_default(),
        pod["metadata"]["name"].as_str().unwrap_or_default(),
    );
    let lists = ["initContainerStatuses", "containerStatuses"];
    let containers = lists.into_iter().flat_map(|list| pod["status"][list].as_array().into_iter().flatten());
    containers
        .filter(move |status| status["state"]["waiting"]["reason"] == "CrashLoopBackOff")
        .map(move |status| (namespace, name, status["name"].as_str().unwrap_or_default()))
}

fn is_telling(line: &str) -> bool {
    let line = line.to_ascii_lowercase();
    TELLING.iter().any(|word| line.contains(word))
}
