//! One server as one case sees it: a client, names of its own, and a trace of what was answered.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use futures::future::BoxFuture;
use kube::Client;
use lockstep_tests::normalise::Normaliser;
use serde_json::{Value, json};

use crate::wire::{Answer, Call, Lines, next_event};

/// How long something that a controller does may take.
const PATIENCE: Duration = Duration::from_secs(40);
/// How often it is looked at.
const PAUSE: Duration = Duration::from_millis(50);
/// How long an event that was caused may take.
const EVENT: Duration = Duration::from_secs(15);

/// A script that runs on both servers.
pub(crate) struct Case {
    pub(crate) group: &'static str,
    /// Cause and effect.
    pub(crate) name: &'static str,
    /// Whether it needs what the controller manager does: garbage collection and the end of namespaces.
    pub(crate) controllers: bool,
    pub(crate) run: for<'a> fn(&'a Target) -> BoxFuture<'a, ()>,
}

/// The table of contents of a file of cases.
macro_rules! cases {
    ($group:literal, controllers: $controllers:literal; $($name:ident),+ $(,)?) => {
        /// The cases of this file.
        pub(crate) const CASES: &[$crate::target::Case] = &[$($crate::target::Case {
            group: $group,
            name: stringify!($name),
            controllers: $controllers,
            run: |target| Box::pin($name(target)),
        }),+];
    };
}
pub(crate) use cases;

/// What a case talks to.
///
/// Paths: `configmaps/a?x=y` is completed by group, version and the namespace of the case; a path that begins with `/`
/// is taken as it is. In paths and bodies `{id}` is a name that only this case has (it is also its namespace),
/// `{group}` an API group of its own, `{shared}` the group of the custom kinds that all cases share.
pub(crate) struct Target {
    pub(crate) client: Client,
    id: String,
    shared: String,
    trace: Mutex<Vec<(String, Value)>>,
}

/// A running watch of a case.
pub(crate) struct Watch<'a> {
    target: &'a Target,
    label: String,
    lines: Option<Lines>,
}

/// Where the resources that cases use are served; a cluster-scoped one has no namespace.
const SERVED: &[(&str, bool, &[&str])] = &[
    (
        "/api/v1",
        true,
        &[
            "configmaps",
            "events",
            "limitranges",
            "persistentvolumeclaims",
            "pods",
            "podtemplates",
            "replicationcontrollers",
            "resourcequotas",
            "secrets",
            "serviceaccounts",
            "services",
        ],
    ),
    ("/api/v1", false, &["namespaces", "nodes", "persistentvolumes"]),
    ("/apis/apps/v1", true, &["daemonsets", "deployments", "replicasets", "statefulsets"]),
    ("/apis/batch/v1", true, &["cronjobs", "jobs"]),
    ("/apis/autoscaling/v2", true, &["horizontalpodautoscalers"]),
    ("/apis/policy/v1", true, &["poddisruptionbudgets"]),
    ("/apis/networking.k8s.io/v1", true, &["ingresses", "networkpolicies"]),
    ("/apis/networking.k8s.io/v1", false, &["ingressclasses"]),
    ("/apis/coordination.k8s.io/v1", true, &["leases"]),
    ("/apis/discovery.k8s.io/v1", true, &["endpointslices"]),
    ("/apis/rbac.authorization.k8s.io/v1", true, &["rolebindings", "roles"]),
    ("/apis/rbac.authorization.k8s.io/v1", false, &["clusterrolebindings", "clusterroles"]),
    ("/apis/scheduling.k8s.io/v1", false, &["priorityclasses"]),
    ("/apis/storage.k8s.io/v1", false, &["csidrivers", "storageclasses"]),
    ("/apis/apiextensions.k8s.io/v1", false, &["customresourcedefinitions"]),
    ("/apis/apiregistration.k8s.io/v1", false, &["apiservices"]),
    ("/apis/certificates.k8s.io/v1", false, &["certificatesigningrequests"]),
    (
        "/apis/admissionregistration.k8s.io/v1",
        false,
        &[
            "mutatingwebhookconfigurations",
            "validatingadmissionpolicies",
            "validatingadmissionpolicybindings",
            "validatingwebhookconfigurations",
        ],
    ),
    ("/apis/flowcontrol.apiserver.k8s.io/v1", false, &["flowschemas", "prioritylevelconfigurations"]),
    ("/apis/{shared}/v1", true, &["checks", "plains", "pairs", "widgets"]),
];

// === impl Target ===

impl Target {
    pub(crate) fn new(client: Client, id: &str, shared: &str) -> Self {
        Self { client, id: id.to_owned(), shared: shared.to_owned(), trace: Mutex::default() }
    }

    /// What was answered, without what may differ between two servers.
    pub(crate) fn trace(&self) -> Vec<(String, Value)> {
        let group = self.fill("{group}");
        let mut normaliser = Normaliser::new([
            (group.as_str(), "{group}"),
            (self.shared.as_str(), "{shared}"),
            (self.id.as_str(), "{id}"),
        ]);
        let trace = self.trace.lock().expect("no case panics while it records");
        trace.iter().map(|(label, outcome)| (normaliser.text(label), normaliser.value(outcome))).collect()
    }

    /// Places the names of this case into a text.
    pub(crate) fn fill(&self, text: &str) -> String {
        let group = format!("{}.example.com", self.id);
        text.replace("{group}", &group).replace("{shared}", &self.shared).replace("{id}", &self.id)
    }

    fn fill_value(&self, value: &Value) -> Value {
        serde_json::from_str(&self.fill(&value.to_string())).expect("names do not break JSON")
    }

    /// The whole path for what a case wrote.
    pub(crate) fn path(&self, path: &str) -> String {
        if path.starts_with('/') {
            return self.fill(path);
        }
        let resource = path.split(['/', '?']).next().unwrap_or_default();
        let served = SERVED.iter().find(|(_, _, resources)| resources.contains(&resource));
        let (api, namespaced, _) = served.expect("a resource of the table, else the whole path");
        let namespace = if *namespaced { "/namespaces/{id}" } else { "" };
        self.fill(&format!("{api}{namespace}/{path}"))
    }

    /// Writes a value that the case computed into the trace.
    pub(crate) fn note(&self, what: &str, value: impl Into<Value>) {
        self.record(what, value.into());
    }

    fn record(&self, label: &str, outcome: Value) {
        let mut trace = self.trace.lock().expect("no case panics while it records");
        let label = format!("{} {label}", trace.len() + 1);
        trace.push((label, outcome));
    }

    fn call(&self, method: &'static str, path: &str) -> Call {
        Call::new(method, self.path(path))
    }

    /// Sends any request and records its answer under a name that is equal on both servers.
    pub(crate) async fn send(&self, label: &str, call: Call) -> Answer {
        let answer = call.send(&self.client).await;
        self.record(label, answer.outcome());
        answer
    }

    async fn do_it(&self, path: &str, call: Call) -> Answer {
        let label = format!("{} {}", call.method, plain(path));
        self.send(&label, call).await
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.do_it(path, self.call("GET", path)).await
    }

    /// GET in another form than plain JSON.
    pub(crate) async fn get_as(&self, path: &str, accept: &str) -> Answer {
        self.do_it(path, self.call("GET", path).accept(accept)).await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Answer {
        self.do_it(path, self.call("POST", path).body(&self.fill_value(&body))).await
    }

    pub(crate) async fn put(&self, path: &str, body: Value) -> Answer {
        self.do_it(path, self.call("PUT", path).body(&self.fill_value(&body))).await
    }

    pub(crate) async fn delete(&self, path: &str) -> Answer {
        self.do_it(path, self.call("DELETE", path)).await
    }

    /// DELETE with options in its body.
    pub(crate) async fn delete_with(&self, path: &str, options: Value) -> Answer {
        self.do_it(path, self.call("DELETE", path).body(&self.fill_value(&delete_options(options)))).await
    }

    /// DELETE whose answer is not compared.
    pub(crate) async fn delete_unrecorded(&self, path: &str, options: Value) -> Answer {
        self.call("DELETE", path).body(&self.fill_value(&delete_options(options))).send(&self.client).await
    }

    /// A merge patch whose answer is not compared.
    pub(crate) async fn merge_quiet(&self, path: &str, body: Value) -> Answer {
        let body = self.fill_value(&body).to_string().into_bytes();
        self.call("PATCH", path).bytes("application/merge-patch+json", body).send(&self.client).await
    }

    /// A patch with any content type.
    pub(crate) async fn patch(&self, path: &str, content_type: &str, body: Value) -> Answer {
        let body = self.fill_value(&body).to_string().into_bytes();
        self.do_it(path, self.call("PATCH", path).bytes(content_type, body)).await
    }

    pub(crate) async fn merge(&self, path: &str, body: Value) -> Answer {
        self.patch(path, "application/merge-patch+json", body).await
    }

    /// A merge patch whose refusal quotes the whole stored object: recorded without its texts.
    pub(crate) async fn merge_refused(&self, path: &str, body: Value) {
        let answer = self.merge_quiet(path, body).await;
        let cause = &answer.body["details"]["causes"][0];
        let outcome = json!({"code": answer.code, "reason": answer.body["reason"], "cause": cause["reason"],
            "field": cause["field"]});
        self.record(&format!("PATCH {}", plain(path)), outcome);
    }

    pub(crate) async fn json_patch(&self, path: &str, body: Value) -> Answer {
        self.patch(path, "application/json-patch+json", body).await
    }

    pub(crate) async fn apply(&self, manager: &str, path: &str, body: Value) -> Answer {
        let join = if path.contains('?') { '&' } else { '?' };
        let path = format!("{path}{join}fieldManager={manager}");
        self.patch(&path, "application/apply-patch+yaml", body).await
    }

    pub(crate) async fn force(&self, manager: &str, path: &str, body: Value) -> Answer {
        let join = if path.contains('?') { '&' } else { '?' };
        self.apply(manager, &format!("{path}{join}force=true"), body).await
    }

    /// POST whose answer is not compared.
    pub(crate) async fn post_quiet(&self, path: &str, body: Value) -> Answer {
        self.call("POST", path).body(&self.fill_value(&body)).send(&self.client).await
    }

    /// Creates something that the case needs; recorded only when that fails.
    pub(crate) async fn given(&self, path: &str, body: Value) -> Answer {
        let answer = self.post_quiet(path, body).await;
        if answer.code != 201 {
            self.record(&format!("given {}", plain(path)), answer.outcome());
        }
        answer
    }

    /// Creates again until the answer is as expected, and records the last one.
    pub(crate) async fn eventually_post(
        &self,
        path: &str,
        body: Value,
        expected: impl Fn(&Answer) -> bool,
    ) -> Answer {
        let call = self.call("POST", path).body(&self.fill_value(&body));
        let start = Instant::now();
        loop {
            let answer = call.send(&self.client).await;
            if expected(&answer) || start.elapsed() > PATIENCE {
                self.record(&format!("eventually POST {}", plain(path)), answer.outcome());
                return answer;
            }
            self.delete_unrecorded(&format!("{path}/{}", answer.meta("name")), json!({})).await;
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// An apply whose answer is not compared.
    pub(crate) async fn apply_quiet(&self, manager: &str, path: &str, body: Value) -> Answer {
        let body = self.fill_value(&body).to_string().into_bytes();
        let call = self.call("PATCH", &format!("{path}?fieldManager={manager}"));
        call.bytes("application/apply-patch+yaml", body).send(&self.client).await
    }

    /// Looks at something without recording it.
    pub(crate) async fn peek(&self, path: &str) -> Answer {
        self.call("GET", path).send(&self.client).await
    }

    /// Asks again until the answer is as expected, and records the last one.
    pub(crate) async fn eventually(&self, path: &str, expected: impl Fn(&Answer) -> bool) -> Answer {
        let answer = self.settled(path, expected).await;
        self.record(&format!("eventually GET {}", plain(path)), answer.outcome());
        answer
    }

    /// Asks again until the answer is as expected, unrecorded.
    pub(crate) async fn settled(&self, path: &str, expected: impl Fn(&Answer) -> bool) -> Answer {
        let start = Instant::now();
        loop {
            let answer = self.peek(path).await;
            if expected(&answer) || start.elapsed() > PATIENCE {
                return answer;
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Creates a definition and waits until its kind is served; recorded only when it is refused.
    pub(crate) async fn define(&self, definition: Value) -> Answer {
        let answer = self.given("customresourcedefinitions", definition).await;
        if answer.code == 201 {
            self.served(&answer.body).await;
        }
        answer
    }

    /// Waits until the kinds of a definition answer.
    pub(crate) async fn served(&self, definition: &Value) {
        let spec = &definition["spec"];
        let (group, plural) = (text(&spec["group"]), text(&spec["names"]["plural"]));
        for version in spec["versions"].as_array().into_iter().flatten() {
            if version["served"] == true {
                let path = format!("/apis/{group}/{}/{plural}?limit=1", text(&version["name"]));
                self.settled(&path, |answer| answer.code == 200).await;
            }
        }
    }

    /// Starts a watch; a refusal is recorded and such a watch has no events.
    pub(crate) async fn watch(&self, path: &str) -> Watch<'_> {
        self.watch_as(path, "application/json").await
    }

    pub(crate) async fn watch_as(&self, path: &str, accept: &str) -> Watch<'_> {
        let join = if path.contains('?') { '&' } else { '?' };
        let call = self.call("GET", &format!("{path}{join}watch=true")).accept(accept);
        let label = format!("watch {}", plain(path));
        let lines = match call.watch(&self.client).await {
            Ok(lines) => Some(lines),
            Err(answer) => {
                self.record(&label, answer.outcome());
                None
            }
        };
        Watch { target: self, label, lines }
    }
}

// === impl Watch ===

impl Watch<'_> {
    /// Records the next `count` events, or fewer when the watch ends or falls silent.
    pub(crate) async fn events(&mut self, count: usize) -> Vec<Value> {
        self.collect(|events| events.len() == count).await
    }

    /// Records everything until the server ends the watch.
    pub(crate) async fn until_the_end(&mut self) -> Vec<Value> {
        self.collect(|_| false).await
    }

    /// Records events up to and with the first bookmark.
    pub(crate) async fn until_the_bookmark(&mut self) -> Vec<Value> {
        self.collect(|events| events.last().is_some_and(|event| event["type"] == "BOOKMARK")).await
    }

    /// Next events, unrecorded: for those whose order is open.
    pub(crate) async fn peek_events(&mut self, count: usize) -> Vec<Value> {
        self.read(|events| events.len() == count).await
    }

    async fn collect(&mut self, done: impl Fn(&[Value]) -> bool) -> Vec<Value> {
        let events = self.read(done).await;
        if self.lines.is_some() {
            self.target.record(&self.label, Value::Array(events.clone()));
        }
        events
    }

    async fn read(&mut self, done: impl Fn(&[Value]) -> bool) -> Vec<Value> {
        let mut events = Vec::new();
        let Some(lines) = &mut self.lines else { return events };
        while !done(&events) {
            match next_event(lines, EVENT).await {
                Some(event) => events.push(event),
                None => break,
            }
        }
        events
    }
}

/// A path without the values that each server makes up.
fn plain(path: &str) -> String {
    let Some((path, query)) = path.split_once('?') else { return path.to_owned() };
    let made_up = |pair: &str| {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        let version =
            key == "resourceVersion" && value.len() > 1 && value.bytes().all(|byte| byte.is_ascii_digit());
        if version || (key == "continue" && value.len() > 20) {
            format!("{key}=…")
        } else {
            pair.to_owned()
        }
    };
    let query: Vec<String> = query.split('&').map(made_up).collect();
    format!("{path}?{}", query.join("&"))
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn delete_options(mut options: Value) -> Value {
    options["apiVersion"] = json!("v1");
    options["kind"] = json!("DeleteOptions");
    options
}
