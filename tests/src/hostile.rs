//! Requests that no client means: valid ones, damaged in one or several places, the same for the same seed.

use lockstep_lab::Rng;
use serde_json::{Map, Value, json};

use crate::clients::{Answer, Call};

/// The group of the custom kind that some requests are about; [`definition`] defines it.
const GROUP: &str = "hostile.example.com";
/// The namespace of namespaced objects.
pub const NAMESPACE: &str = "default";

/// An endless source of damaged requests.
pub struct Hostile {
    rng: Rng,
    valid: Vec<Call>,
}

/// Words for parts of a path.
const SEGMENTS: &[&str] = &[
    "",
    ".",
    "..",
    "%2F",
    "%00",
    "%ff",
    "%zz",
    "*",
    "api",
    "apis",
    "v1",
    "v9",
    "apps",
    "namespaces",
    "configmaps",
    "things",
    "status",
    "scale",
    "finalize",
    "approval",
    "log",
    "a",
    "A_B",
    "%F0%9F%90%99",
    "customresourcedefinitions",
    "watch",
];
/// Parameters with values that make little sense.
const PARAMETERS: &[&str] = &[
    "limit=-1",
    "limit=1",
    "limit=99999999999999999999",
    "limit=x",
    "continue=x",
    "continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiJcdTAwMDAifQ",
    "resourceVersion=x",
    "resourceVersion=-1",
    "resourceVersion=0",
    "resourceVersion=1",
    "resourceVersion=18446744073709551616",
    "resourceVersionMatch=Exact",
    "resourceVersionMatch=Sometimes",
    "labelSelector=a%20in%20(",
    "labelSelector=a%3D%3D%3Db",
    "labelSelector=!",
    "labelSelector=%00",
    "fieldSelector=metadata.name%3Da",
    "fieldSelector=spec.nothing%3Da",
    "fieldSelector=%3D%3D",
    "timeoutSeconds=-1",
    "timeoutSeconds=99999999999999",
    "timeoutSeconds=18446744073709551615",
    "timeoutSeconds=x",
    "watch=true",
    "watch=maybe",
    "allowWatchBookmarks=true",
    "sendInitialEvents=true",
    "sendInitialEvents=x",
    "dryRun=All",
    "dryRun=Some",
    "fieldValidation=Strict",
    "fieldValidation=Loose",
    "fieldManager=",
    "fieldManager=%0A",
    "force=true",
    "force=x",
    "propagationPolicy=Foreground",
    "propagationPolicy=Nobody",
    "gracePeriodSeconds=-1",
    "gracePeriodSeconds=x",
    "orphanDependents=x",
    "pretty=true",
    "&&&",
    "=",
    "%",
];
const METHODS: &[&str] =
    &["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "CONNECT", "BREW"];
const CONTENT_TYPES: &[&str] = &[
    "application/json",
    "application/yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
    "application/vnd.kubernetes.protobuf",
    "text/plain",
    ";",
    "",
];

/// The CRD of the custom kind: typed, untyped and embedded parts, lists of every type, a status and a scale.
pub fn definition() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("targets.{GROUP}")},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {"kind": "Target", "listKind": "TargetList", "plural": "targets", "singular": "target"},
            "versions": [{
                "name": "v1",
                "served": true,
                "storage": true,
                "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.replicas",
                    "statusReplicasPath": ".status.replicas"}},
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                    "spec": {"type": "object", "properties": {
                        "replicas": {"type": "integer", "minimum": 0, "default": 1},
                        "name": {"type": "string", "pattern": "^[a-z]+$", "maxLength": 9},
                        "share": {"x-kubernetes-int-or-string": true},
                        "items": {"type": "array", "x-kubernetes-list-type": "map",
                            "x-kubernetes-list-map-keys": ["key"],
                            "items": {"type": "object", "required": ["key"], "properties": {
                                "key": {"type": "string"}, "value": {"type": "number", "nullable": true}}}},
                        "names": {"type": "array", "x-kubernetes-list-type": "set",
                            "items": {"type": "string"}},
                        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
                        "map": {"type": "object", "additionalProperties": {"type": "integer"}},
                    }},
                    "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
                }}},
            }],
        },
    })
}

/// Objects with the address of their collection; creating them in a fresh lab works.
pub fn objects() -> Vec<(String, Value)> {
    let template = json!({
        "metadata": {"labels": {"app": "a"}},
        "spec": {"containers": [{"name": "c", "image": "i", "ports": [{"containerPort": 80}],
            "env": [{"name": "E", "value": "1"}], "resources": {"requests": {"cpu": "100m"}}}]},
    });
    let core = |plural: &str| format!("/api/v1/namespaces/{NAMESPACE}/{plural}");
    let named = |group: &str, plural: &str| format!("/apis/{group}/v1/namespaces/{NAMESPACE}/{plural}");
    vec![
        (core("configmaps"), object("v1", "ConfigMap", json!({"data": {"k": "v"}}))),
        (core("secrets"), object("v1", "Secret", json!({"stringData": {"k": "v"}, "data": {"b": "YQ=="}}))),
        (
            core("services"),
            object(
                "v1",
                "Service",
                json!({"spec": {"selector": {"app": "a"},
            "ports": [{"name": "http", "port": 80, "targetPort": "http"}]}}),
            ),
        ),
        (core("pods"), object("v1", "Pod", json!({"spec": template["spec"]}))),
        (core("serviceaccounts"), object("v1", "ServiceAccount", json!({}))),
        (
            core("events"),
            object(
                "v1",
                "Event",
                json!({"reason": "R", "message": "m", "type": "Normal",
            "involvedObject": {"kind": "Pod", "name": "a", "namespace": NAMESPACE}}),
            ),
        ),
        (
            named("apps", "deployments"),
            object(
                "apps/v1",
                "Deployment",
                json!({"spec": {"replicas": 2,
                "selector": {"matchLabels": {"app": "a"}}, "template": template}}),
            ),
        ),
        (
            named("batch", "cronjobs"),
            object(
                "batch/v1",
                "CronJob",
                json!({"spec": {"schedule": "* * * * *", "jobTemplate": {"spec":
                {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}}}}}),
            ),
        ),
        (
            named("coordination.k8s.io", "leases"),
            object("coordination.k8s.io/v1", "Lease", json!({"spec": {}})),
        ),
        (
            named("rbac.authorization.k8s.io", "rolebindings"),
            object(
                "rbac.authorization.k8s.io/v1",
                "RoleBinding",
                json!({
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"},
                "subjects": [{"kind": "ServiceAccount", "name": "s", "namespace": NAMESPACE}]}),
            ),
        ),
        (
            named("networking.k8s.io", "networkpolicies"),
            object("networking.k8s.io/v1", "NetworkPolicy", json!({"spec": {"podSelector": {}}})),
        ),
        ("/api/v1/namespaces".into(), object("v1", "Namespace", json!({}))),
        (
            "/api/v1/nodes".into(),
            object("v1", "Node", json!({"spec": {"taints": [{"key": "k", "effect": "NoSchedule"}]}})),
        ),
        (
            "/apis/rbac.authorization.k8s.io/v1/clusterroles".into(),
            object(
                "rbac.authorization.k8s.io/v1",
                "ClusterRole",
                json!({"rules": [
                {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]}),
            ),
        ),
        ("/apis/apiextensions.k8s.io/v1/customresourcedefinitions".into(), definition()),
        (
            named(GROUP, "targets"),
            object(
                &format!("{GROUP}/v1"),
                "Target",
                json!({"spec": {"replicas": 1, "name": "abc", "share": "5%",
                "items": [{"key": "a", "value": 1.5}], "names": ["x", "y"], "free": {"a": [1, {"b": null}]},
                "map": {"one": 1}}, "status": {"replicas": 1}}),
            ),
        ),
    ]
}

fn object(api_version: &str, kind: &str, rest: Value) -> Value {
    let mut object = json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": "a",
        "labels": {"app": "a"}, "annotations": {"n": "v"}}});
    if let (Value::Object(object), Value::Object(rest)) = (&mut object, rest) {
        object.extend(rest);
    }
    object
}

// === impl Hostile ===

impl Hostile {
    /// The requests of this seed.
    pub fn new(seed: u64) -> Self {
        let mut valid: Vec<Call> = ["/api", "/apis", "/version", "/healthz", "/openapi/v3", "/api/v1"]
            .map(|path| Call::new("GET", path))
            .into();
        for (collection, object) in objects() {
            let name = object["metadata"]["name"].as_str().unwrap_or_default();
            let path = format!("{collection}/{name}");
            let merge = json!({"metadata": {"labels": {"x": "y"}}, "spec": {"replicas": 3}});
            let operations = json!([{"op": "add", "path": "/metadata/labels/x", "value": "y"},
                {"op": "copy", "from": "/metadata/labels", "path": "/metadata/annotations"},
                {"op": "test", "path": "/kind", "value": object["kind"]},
                {"op": "remove", "path": "/metadata/labels/app"}]);
            let options =
                json!({"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background"});
            valid.extend([
                Call::post(&collection, &object),
                Call::post(&collection, &object),
                Call::new("PUT", &path).body("application/json", object.to_string()),
                Call::apply(&path, "one", &object),
                Call::apply(&path, "two", &object),
                Call::apply(&format!("{path}/status"), "three", &object),
                Call::new("PATCH", &path).body("application/merge-patch+json", merge.to_string()),
                Call::new("PATCH", &path).body("application/json-patch+json", operations.to_string()),
                Call::new("GET", &path),
                Call::new("GET", format!("{collection}?limit=2&labelSelector=app%3Da")),
                Call::new(
                    "GET",
                    format!("{collection}?watch=true&timeoutSeconds=1&allowWatchBookmarks=true"),
                ),
                Call::new("DELETE", &path).body("application/json", options.to_string()),
                Call::new("PUT", format!("{path}/scale")).body(
                    "application/json",
                    r#"{"kind":"Scale",
                    "apiVersion":"autoscaling/v1","metadata":{"name":"a"},"spec":{"replicas":2}}"#,
                ),
            ]);
        }
        Self { rng: Rng::new(seed), valid }
    }

    /// The next one: a valid request with up to four damages.
    pub fn call(&mut self) -> Call {
        let which = self.below(self.valid.len());
        let mut call = self.valid[which].clone();
        for _ in 0..self.below(5) {
            self.damage(&mut call);
        }
        call
    }

    fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.rng.below(bound as u64)).unwrap_or_default()
    }

    fn pick(&mut self, words: &[&'static str]) -> &'static str {
        words[self.below(words.len())]
    }

    fn damage(&mut self, call: &mut Call) {
        match self.below(12) {
            0 => self.pick(METHODS).clone_into(&mut call.method),
            1 => self.pick(CONTENT_TYPES).clone_into(&mut call.content_type),
            2 => self.damage_path(call),
            3 | 4 => {
                let join = if call.path.contains('?') { '&' } else { '?' };
                call.path = format!("{}{join}{}", call.path, self.pick(PARAMETERS));
            }
            5 | 6 => self.damage_bytes(&mut call.body),
            _ => match serde_json::from_slice::<Value>(&call.body) {
                Ok(mut value) => {
                    let target = self.below(count(&value));
                    self.damage_node(&mut value, target);
                    call.body = value.to_string().into_bytes();
                }
                Err(_) => self.damage_bytes(&mut call.body),
            },
        }
    }

    fn damage_path(&mut self, call: &mut Call) {
        let (path, query) = call.path.split_once('?').unwrap_or((&call.path, ""));
        let mut segments: Vec<&str> = path.split('/').collect();
        let at = 1 + self.below(segments.len() - 1);
        match self.below(4) {
            0 => segments[at] = self.pick(SEGMENTS),
            1 => segments.insert(at, self.pick(SEGMENTS)),
            2 if segments.len() > 2 => drop(segments.remove(at)),
            _ => segments.push(self.pick(SEGMENTS)),
        }
        let question = if query.is_empty() { "" } else { "?" };
        call.path = format!("{}{question}{query}", segments.join("/"));
    }

    fn damage_bytes(&mut self, body: &mut Vec<u8>) {
        let at = self.below(body.len() + 1);
        match self.below(5) {
            0 => body.truncate(at),
            1 => {
                let byte = u8::try_from(self.below(256)).unwrap_or_default();
                body.insert(at, byte);
            }
            2 if at < body.len() => body[at] ^= 1 << self.below(8),
            3 => {
                let end = at + self.below(body.len() - at + 1);
                let piece = body[at..end].to_vec();
                body.splice(at..at, piece);
            }
            _ => drop(body.splice(at..at, *b"\"\\ud800\"")),
        }
    }

    /// Damages the node with this number, counted from the root.
    fn damage_node(&mut self, value: &mut Value, mut number: usize) {
        if number == 0 {
            *value = self.value();
            return;
        }
        match value {
            Value::Array(items) => {
                for item in items {
                    let size = count(item);
                    if number <= size {
                        return self.damage_node(item, number - 1);
                    }
                    number -= size;
                }
            }
            Value::Object(fields) => {
                let keys: Vec<String> = fields.keys().cloned().collect();
                for key in keys {
                    let size = count(&fields[&key]);
                    if number <= size {
                        return self.damage_field(fields, &key, number - 1);
                    }
                    number -= size;
                }
            }
            _ => {}
        }
    }

    fn damage_field(&mut self, fields: &mut Map<String, Value>, key: &str, number: usize) {
        match self.below(4) {
            0 => drop(fields.remove(key)),
            1 => {
                if let Some(value) = fields.remove(key) {
                    fields.insert(format!("{key}x"), value);
                }
            }
            _ => {
                if let Some(value) = fields.get_mut(key) {
                    self.damage_node(value, number);
                }
            }
        }
    }

    fn value(&mut self) -> Value {
        match self.below(16) {
            0 => Value::Null,
            1 => json!(true),
            2 => json!(-1),
            3 => json!(u64::MAX),
            4 => json!(i64::MIN),
            5 => json!(1e300),
            6 => json!(0.1),
            7 => json!(""),
            8 => json!("a"),
            9 => json!("\u{0}\n\u{202e}🐙"),
            10 => json!("x".repeat(300)),
            11 => json!([]),
            12 => json!({}),
            13 => json!([null, {"a": [1]}, "b"]),
            14 => json!({"name": "a", "": null, "metadata": {"name": 1}}),
            _ => (0..60).fold(json!(1), |inner, _| json!({"a": [inner]})),
        }
    }
}

/// How many nodes a value has.
fn count(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(count).sum(),
        Value::Object(fields) => fields.values().map(count).sum::<usize>(),
        _ => 0,
    }
}

/// What is wrong with an answer, whatever was asked: an API server says `Status` or one of a few plain texts, and
/// never fails over what a client sends.
pub fn objection(answer: &Answer) -> Option<String> {
    let Answer { code, body } = answer;
    if (200..300).contains(code) {
        return None;
    }
    let is_status = body["kind"] == "Status" && body["status"] == "Failure" && body["code"] == *code;
    match (code, body) {
        // Plain Go errors that reach the rim of the real server: typed apply, sizes, versions of new objects.
        (500, _) if is_status && body.get("reason").is_none() => None,
        // A scale without the field that its CRD names; there is no other word for it on the real server.
        (500, _) if is_status && says(body, "replicas field") => None,
        // What the lab does not serve, it says; `docs/lab.md` lists it.
        (501, _) if is_status && says(body, "the lab does not serve") => None,
        (500.., _) => Some(format!("a failure of the server: {code} {body}")),
        (_, Value::Object(_)) if is_status => None,
        (404, Value::String(text)) if text == "404 page not found\n" => None,
        (405, Value::String(text)) if text == "405 method not allowed\n" || text.is_empty() => None,
        // The answer to HEAD has no body.
        (_, Value::String(text)) if text.is_empty() => None,
        _ => Some(format!("no Status: {code} {body}")),
    }
}

fn says(body: &Value, words: &str) -> bool {
    body["message"].as_str().is_some_and(|message| message.contains(words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_requests_and_another_one_others() {
        let of = |seed| {
            let mut source = Hostile::new(seed);
            (0..200).map(|_| format!("{:?}", source.call())).collect::<Vec<_>>()
        };
        assert_eq!(of(1), of(1));
        assert_ne!(of(1), of(2));
    }

    #[test]
    fn an_answer_is_a_status_or_a_known_text() {
        let objection = |code, body: Value| objection(&Answer { code, body });
        assert_eq!(objection(200, json!("anything")), None);
        assert_eq!(objection(404, json!("404 page not found\n")), None);
        let status = json!({"kind": "Status", "status": "Failure", "code": 422, "reason": "Invalid"});
        assert_eq!(objection(422, status.clone()), None);
        assert!(objection(400, status).is_some());
        assert!(objection(500, json!("oops")).is_some());
        assert!(objection(404, json!("not here")).is_some());
    }
}
