//! Writes of built-in kinds to a real API server and to the lab: what is refused is refused with the same code, sentence and causes, what is
//! taken ends as the same object.
//!
//! `lab_validation/bases.json` has an object per kind that is taken, without defaults. `lab_validation/cases.json` has one case per line: a
//! name, the base, what is done (`create`, `update`, `update:SUBRESOURCE`), and the changes: a JSON pointer and the value that is
//! set there, null for removing it, `repeat:N` for a text of that length. A change is made to the object as the real server filled it with
//! defaults.
#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by a panic, also in the functions that tests share"
)]

use std::collections::BTreeMap;

use http::Request;
use kube::Client;
use kube::client::Body;
use lockstep_lab::check_builtin;
use lockstep_schema::{Kind, Schema};
use lockstep_tests::clients;
use serde_json::{Map, Value, json};
use xtask::kube::{Server, ServerOptions};

/// A case: its name, its base, what is done, and what is changed before.
type Case = (String, String, String, Vec<(String, Value)>);

const BASES: &str = include_str!("lab_validation/bases.json");
const CASES: &str = include_str!("lab_validation/cases.json");

/// A real server and a way to talk to it.
struct Real {
    client: Client,
    _server: Server,
}

impl Real {
    async fn start() -> Self {
        let options = ServerOptions {
            api_server_flags: vec!["--disable-admission-plugins=ServiceAccount".into()],
            ..ServerOptions::default()
        };
        let server = Server::start(&options).unwrap_or_else(|error| panic!("{error}"));
        Self { client: clients::of_file(server.kubeconfig()).await, _server: server }
    }

    async fn send(&self, method: &str, path: &str, body: &Value) -> Value {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("content-type", "application/json")
            .body(Body::from(if body.is_null() { Vec::new() } else { body.to_string().into_bytes() }))
            .unwrap();
        let response = self.client.send(request).await.unwrap();
        let bytes = response.into_body().collect_bytes().await.unwrap();
        serde_json::from_slice(&bytes).unwrap_or_else(|error| panic!("{error}: {bytes:?}"))
    }
}

fn kind_of(object: &Value) -> &'static Kind {
    let text = |name: &str| object[name].as_str().unwrap();
    Schema::builtin().kind(text("apiVersion"), text("kind")).unwrap()
}

fn collection(object: &Value) -> String {
    let kind = kind_of(object);
    let root = if kind.group.is_empty() { "/api".to_owned() } else { format!("/apis/{}", kind.group) };
    let namespace = if kind.namespaced { "/namespaces/default" } else { "" };
    format!("{root}/{}{namespace}/{}", kind.version, kind.plural)
}

/// What a client would send after it got the object back: without what the server adds to the base itself.
fn sendable(base: &Value, live: &Value) -> Value {
    let mut object = live.clone();
    object["metadata"] = base["metadata"].clone();
    let map = object.as_object_mut().unwrap();
    if kind_of(base).subresources.contains_key("status") && kind_of(base).kind != "Node" {
        map.remove("status");
    }
    match kind_of(base).kind {
        "Service" => {
            for name in ["clusterIP", "clusterIPs"] {
                restore(&mut object["spec"], &base["spec"], name);
            }
        }
        "Job" => {
            restore(&mut object["spec"], &base["spec"], "selector");
            restore(&mut object["spec"]["template"], &base["spec"]["template"], "metadata");
        }
        _ => {}
    }
    object
}

fn restore(object: &mut Value, base: &Value, name: &str) {
    match base.get(name) {
        Some(value) => object[name] = value.clone(),
        None => drop(object.as_object_mut().unwrap().remove(name)),
    }
}

/// Sets or removes the value at a JSON pointer, and makes the maps on the way.
fn change(object: &mut Value, pointer: &str, value: &Value) {
    let long = value.as_str().and_then(|text| text.strip_prefix("repeat:"));
    let long = long.map(|count| Value::from("x".repeat(count.parse().unwrap())));
    let value = long.as_ref().unwrap_or(value);
    let mut steps: Vec<String> =
        pointer.split('/').skip(1).map(|step| step.replace("~1", "/").replace("~0", "~")).collect();
    let last = steps.pop().unwrap();
    let mut place = object;
    for step in steps {
        if place.is_null() {
            *place = json!({});
        }
        place = match step.parse::<usize>() {
            Ok(index) if place.is_array() => &mut place[index],
            _ => &mut place[&step],
        };
    }
    match (place, value) {
        (Value::Object(map), Value::Null) => drop(map.remove(&last)),
        (Value::Array(items), Value::Null) => drop(items.remove(last.parse().unwrap())),
        (Value::Array(items), value) if last == "-" => items.push(value.clone()),
        (Value::Array(items), value) => items[last.parse::<usize>().unwrap()] = value.clone(),
        (Value::Null, Value::Null) => {}
        (place, value) => {
            if !place.is_object() {
                *place = Value::Object(Map::new());
            }
            place[last] = value.clone();
        }
    }
}

/// The parts of an answer that programs and people look at: of an object what the two servers do not choose for themselves.
fn essence(answer: &Value) -> Value {
    if answer["kind"] != "Status" {
        let mut object = answer.clone();
        let metadata = object["metadata"].as_object_mut().unwrap();
        for name in ["managedFields", "resourceVersion"] {
            metadata.remove(name);
        }
        return object;
    }
    let mut causes = answer["details"]["causes"].clone();
    for cause in causes.as_array_mut().into_iter().flatten() {
        cause["message"] = without_structures(cause["message"].as_str().unwrap()).into();
    }
    let mut details = answer["details"].clone();
    details.as_object_mut().map(|details| details.remove("causes"));
    let message = without_structures(answer["message"].as_str().unwrap());
    json!({"code": answer["code"], "message": message, "details": details, "causes": causes})
}

/// A message without the structures and the differences of structures that it shows: the real server shows some of them in a form that
/// it never sends.
fn without_structures(message: &str) -> String {
    let mut text = String::new();
    let mut rest = message.split('\n').next().unwrap();
    while let Some(start) = [" value: {", " value: [{"].iter().filter_map(|it| rest.find(it)).min() {
        let (before, value) = rest.split_at(start + " value: ".len());
        text.push_str(before);
        text.push_str("STRUCTURE");
        let mut values = serde_json::Deserializer::from_str(value).into_iter::<Value>();
        values.next().unwrap().unwrap();
        rest = &value[values.byte_offset()..];
    }
    text + rest
}

/// What both servers choose for themselves in a new object.
fn without_choices(mut object: Value) -> Value {
    if object["kind"] == "Status" {
        return object;
    }
    let uid = object["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
    let mut text = object.to_string().replace(&format!("{uid:?}"), "\"UID\"");
    for name in
        ["clusterIP", "nodePort", "creationTimestamp", "lastPhaseTransitionTime", "lastTransitionTime"]
    {
        if let Some(value) = find(&mut object, name) {
            text = text.replace(&value.to_string(), &format!("\"{name}\""));
        }
    }
    essence(&serde_json::from_str(&text).unwrap())
}

/// The first value of this name that is no word.
fn find(value: &mut Value, name: &str) -> Option<Value> {
    match value {
        Value::Object(map) => match map.get(name) {
            Some(found) if found != "None" => Some(found.clone()),
            _ => map.values_mut().find_map(|value| find(value, name)),
        },
        Value::Array(items) => items.iter_mut().find_map(|value| find(value, name)),
        _ => None,
    }
}

#[tokio::test]
async fn the_lab_takes_and_refuses_what_the_real_server_does_in_the_same_words() {
    let real = Real::start().await;
    let bases: BTreeMap<String, Value> = serde_json::from_str(BASES).unwrap();
    let cases: Vec<Case> = serde_json::from_str(CASES).unwrap();
    let (mut live, mut wrong) = (BTreeMap::new(), Vec::new());
    for (name, base) in &bases {
        let stored = real.send("POST", &collection(base), base).await;
        assert_ne!(stored["kind"], "Status", "{name}: {stored}");
        let mut fresh = sendable(base, &stored);
        fresh["metadata"]["uid"] = "u".into();
        fresh["metadata"]["creationTimestamp"] = "2020-01-01T00:00:00Z".into();
        let made = write(&fresh, "", None);
        assert_ne!(made["kind"], "Status", "{name}: {made}");
        let (want, got) = (without_choices(stored.clone()), without_choices(made));
        if want != got {
            wrong.push(format!("the base {name}\n  real: {want}\n  lab:  {got}"));
        }
        live.insert(name.as_str(), stored);
    }
    for (name, base, action, changes) in &cases {
        let mut stored = live[base.as_str()].clone();
        if action != "create" {
            // The server itself writes the status of some of them.
            let path = format!("{}/{}", collection(&stored), stored["metadata"]["name"].as_str().unwrap());
            stored = real.send("GET", &path, &Value::Null).await;
        }
        let mut object = if action == "create" { sendable(&bases[base], &stored) } else { stored.clone() };
        for (pointer, value) in changes {
            change(&mut object, pointer, value);
        }
        let (want, got) = if action == "create" {
            let want = real.send("POST", &format!("{}?dryRun=All", collection(&object)), &object).await;
            object["metadata"]["uid"] = "u".into();
            object["metadata"]["creationTimestamp"] = "2020-01-01T00:00:00Z".into();
            let got = write(&object, "", None);
            if want["reason"] == "AlreadyExists" && got["kind"] != "Status" {
                // It came through the checks, and only then met its base.
                continue;
            }
            (without_choices(want), without_choices(got))
        } else {
            let part = action.strip_prefix("update").unwrap().trim_start_matches(':');
            let slash = if part.is_empty() { "" } else { "/" };
            let object_name = stored["metadata"]["name"].as_str().unwrap();
            let path = format!("{}/{object_name}{slash}{part}?dryRun=All", collection(&stored));
            (real.send("PUT", &path, &object).await, write(&object, part, Some(&stored)))
        };
        let (want, got) = (essence(&want), essence(&got));
        if want != got {
            wrong.push(format!("{name}\n  real: {want}\n  lab:  {got}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

/// The answer of the lab.
fn write(object: &Value, part: &str, old: Option<&Value>) -> Value {
    let mut object = object.clone();
    if kind_of(&object).namespaced && object["metadata"]["namespace"].is_null() {
        object["metadata"]["namespace"] = "default".into();
    }
    let text = |name: &str| object[name].as_str().unwrap();
    check_builtin(text("apiVersion"), text("kind"), part, &object, old).unwrap_or_else(|status| status)
}
