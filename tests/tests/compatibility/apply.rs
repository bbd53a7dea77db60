//! How an object in the cluster follows its manifest.

use std::fmt::Write as _;

use http::Request;
use lockstep_apply::FIELD_MANAGER;
use lockstep_apply::merge::{clear, merge};
use lockstep_lab::{Lab, LabOptions};
use serde_json::{Value, json};

use super::Difference;

pub(super) const DIFFERENCES: &[Difference] = &[
    Difference {
        id: "removed-labels-go",
        title: "What a manifest drops is removed",
        decision: "D5",
        case: "a config map with the labels `a` and `b` and the keys `x` and `y`; the next release has only `a` and `x`",
        reference: "labels a, b; keys x, y",
        ours: "labels a; keys x",
        why: "The reference compares two objects and cannot know that it wrote the third. Server-side apply records who set a \
              field, and so takes back what is no longer said. What others added stays.",
        observe: || {
            let applied = |labels: Value, data: Value| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "labels": labels}, "data": data});
            let releases = [
                applied(json!({"a": "1", "b": "1"}), json!({"x": "1", "y": "1"})),
                applied(json!({"a": "1"}), json!({"x": "1"})),
            ];
            let live = apply_in_a_lab("/api/v1/namespaces/default/configmaps/a", &releases);
            format!("labels {}; keys {}", names(&live["metadata"]["labels"]), names(&live["data"]))
        },
    },
    Difference {
        id: "additions-to-a-whole",
        title: "Additions to tolerations, node selectors, capabilities and supplemental groups are removed",
        decision: "D5",
        case: "somebody adds `b` to each of them in a Deployment whose manifest has `a` or 1",
        reference: "tolerations a, b; nodeSelector a, b; capabilities a, b; supplementalGroups 1, 2",
        ours: "tolerations a; nodeSelector a; capabilities a; supplementalGroups 1",
        why: "The server treats these as one value each, so one writer owns all of it. A manifest that has none leaves those of \
              others alone, as the reference does.",
        observe: || {
            let pod = |names: &[&str], groups: &[u8]| {
                let tolerations: Vec<Value> =
                    names.iter().map(|name| json!({"key": name, "operator": "Exists"})).collect();
                let selector: Value = names.iter().map(|name| ((*name).to_owned(), json!(""))).collect();
                json!({"tolerations": tolerations, "nodeSelector": selector, "securityContext": {"supplementalGroups": groups},
                    "containers": [{"name": "c", "securityContext": {"capabilities": {"add": names}}}]})
            };
            let live =
                merge(&a_deployment(&pod(&["a"], &[1])), &a_deployment(&pod(&["a", "b"], &[1, 2]))).unwrap();
            let pod = &live["spec"]["template"]["spec"];
            let tolerations: Vec<&Value> =
                pod["tolerations"].as_array().unwrap().iter().map(|it| &it["key"]).collect();
            format!(
                "tolerations {}; nodeSelector {}; capabilities {}; supplementalGroups {}",
                list(&json!(tolerations)),
                names(&pod["nodeSelector"]),
                list(&pod["containers"][0]["securityContext"]["capabilities"]["add"]),
                list(&pod["securityContext"]["supplementalGroups"])
            )
        },
    },
    Difference {
        id: "every-field-that-is-said",
        title: "Every field that a manifest has is kept as it says",
        decision: "D5",
        case: "a manifest with `imagePullPolicy: Always`, `hostPID: false` and a startup probe every 5 seconds; somebody changes all three",
        reference: "IfNotPresent, true, 60",
        ours: "Always, false, 5",
        why: "The reference has a rule for some fields and forgets the others after it has created an object, so an update of them \
              never arrives. This holds for all fields of all kinds, among them the strategy of a DaemonSet, the traffic policies of a \
              Service and the annotations of an image stream's tag.",
        observe: || {
            let pod = |policy: &str, host: bool, seconds: u8| {
                json!({"hostPID": host,
                    "containers": [{"name": "c", "imagePullPolicy": policy, "startupProbe": {"periodSeconds": seconds}}]})
            };
            let live =
                merge(&a_deployment(&pod("Always", false, 5)), &a_deployment(&pod("IfNotPresent", true, 60)))
                    .unwrap();
            let pod = &live["spec"]["template"]["spec"];
            let container = &pod["containers"][0];
            list(&json!([
                container["imagePullPolicy"],
                pod["hostPID"],
                container["startupProbe"]["periodSeconds"]
            ]))
        },
    },
    Difference {
        id: "server-defaults-are-no-difference",
        title: "What the server fills in is no reason to write",
        decision: "never write an equal object",
        case: "a Job, a probe, a webhook's service, a user in a binding and a projected field, each as the server completes it: what is written",
        reference: "Job, probe, webhook, binding, projected field, at every visit",
        ours: "nothing",
        why: "The reference has a default in each of its rules, and where one is missing it writes for ever. Here a default belongs to \
              the type that it is in.",
        observe: || {
            let mut written = Vec::new();
            for (name, manifest, live) in completed_by_the_server() {
                if merge(&manifest, &live).is_some() {
                    written.push(name);
                }
            }
            if written.is_empty() { "nothing".to_owned() } else { written.join(", ") }
        },
    },
    Difference {
        id: "other-kinds-keep-foreign-labels",
        title: "Labels and annotations of others survive a change of a custom resource",
        decision: "D5",
        case: "the spec of a custom resource changes that carries a label `theirs` of somebody",
        reference: "labels ours; spec new",
        ours: "labels ours, theirs; spec new",
        why: "For kinds that it does not know, the reference replaces the labels and annotations whenever it writes, although it keeps \
              those of all others.",
        observe: || {
            let live = merge(
                &a_thing(&json!({"ours": ""}), &json!("new")),
                &a_thing(&json!({"ours": "", "theirs": ""}), &json!("old")),
            );
            let live = live.unwrap();
            format!("labels {}; spec {}", names(&live["metadata"]["labels"]), list(&json!([live["spec"]])))
        },
    },
    Difference {
        id: "other-kinds-get-their-labels",
        title: "A new label of a custom resource is written",
        decision: "D5",
        case: "the manifest of a custom resource gets a label `ours`, and its spec stays",
        reference: "labels none",
        ours: "labels ours",
        why: "For kinds that it does not know, the reference compares everything but the metadata.",
        observe: || {
            let live =
                merge(&a_thing(&json!({"ours": ""}), &json!("same")), &a_thing(&json!({}), &json!("same")));
            format!("labels {}", live.map_or("none".to_owned(), |live| names(&live["metadata"]["labels"])))
        },
    },
    Difference {
        id: "other-kinds-have-defaults",
        title: "A default in a custom resource is no difference",
        decision: "never write an equal object",
        case: "a custom resource in whose spec the server has filled in a field",
        reference: "written at every visit",
        ours: "not written",
        why: "What a manifest does not say is not compared. A field that somebody else added there is still found, because the object \
              says who wrote it.",
        observe: || {
            let live = a_thing(&json!({}), &json!({"said": 1, "filledIn": true}));
            let written = merge(&a_thing(&json!({}), &json!({"said": 1})), &live).is_some();
            if written { "written at every visit" } else { "not written" }.to_owned()
        },
    },
    Difference {
        id: "injected-bundles-of-every-kind",
        title: "An injected CA bundle is left alone in every kind",
        decision: "D5",
        case: "bundles are injected into a MutatingWebhookConfiguration and an APIService: what is removed",
        reference: "both",
        ours: "neither",
        why: "The annotation means the same everywhere. The reference honours it for two kinds and fights about the others.",
        observe: || {
            let annotations = json!({"annotations": {"service.beta.openshift.io/inject-cabundle": "true"}});
            let webhooks = |client: Value| {
                json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration", "metadata": annotations,
                    "webhooks": [{"name": "h", "clientConfig": client}]})
            };
            let service = |spec: Value| json!({"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": annotations, "spec": spec});
            let bundle = || json!({"caBundle": "QQ=="});
            let pairs = [
                (webhooks(json!({})), webhooks(bundle())),
                (service(json!({"group": "g"})), service(json!({"group": "g", "caBundle": "QQ=="}))),
            ];
            let changed = pairs.iter().filter(|(manifest, live)| {
                let live = written_by("service-ca-operator", live, &["webhooks", "spec"]);
                merge(manifest, &live).is_some() || !clear(manifest, &live).is_empty()
            });
            ["neither", "one", "both"][changed.count()].to_owned()
        },
    },
    Difference {
        id: "order-without-a-meaning",
        title: "The order of webhooks means nothing",
        decision: "never write an equal object",
        case: "the webhooks `a` and `b` are in the cluster as `b` and `a`",
        reference: "written",
        ours: "not written",
        why: "The server tells them apart by name. Where an order has a meaning, as in the environment of a container, it is kept.",
        observe: || {
            let webhooks = |names: [&str; 2]| {
                json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
                    "webhooks": names.map(|name| json!({"name": name}))})
            };
            let written = merge(&webhooks(["a", "b"]), &webhooks(["b", "a"])).is_some();
            if written { "written" } else { "not written" }.to_owned()
        },
    },
    Difference {
        id: "ports-without-a-name",
        title: "Two container ports without a name are two",
        decision: "accident of the reference",
        case: "a container with the ports 80 and 443, both without a name; the cluster has 80",
        reference: "443",
        ours: "80, 443",
        why: "The reference matches ports by name, so that both are the same one. The server tells them apart by number and protocol.",
        observe: || {
            let pod = |ports: &[u16]| {
                let ports: Vec<Value> = ports.iter().map(|port| json!({"containerPort": port})).collect();
                json!({"containers": [{"name": "c", "ports": ports}]})
            };
            let live = merge(&a_deployment(&pod(&[80, 443])), &a_deployment(&pod(&[80]))).unwrap();
            let ports = live["spec"]["template"]["spec"]["containers"][0]["ports"].as_array().unwrap();
            list(&ports.iter().map(|port| port["containerPort"].clone()).collect())
        },
    },
    Difference {
        id: "fields-of-tomorrow",
        title: "Fields that this version does not know survive a write",
        decision: "D5",
        case: "a Deployment in the cluster has a field `futureField`, and its replicas are corrected",
        reference: "replicas 1; futureField gone",
        ours: "replicas 1; futureField kept",
        why: "The reference writes back what its own types can hold. Here an object is what the server sent.",
        observe: || {
            let spec = |spec: Value| json!({"apiVersion": "apps/v1", "kind": "Deployment", "spec": spec});
            let live = merge(&spec(json!({"replicas": 1})), &spec(json!({"replicas": 5, "futureField": 1})))
                .unwrap();
            let kept = if live["spec"]["futureField"] == 1 { "kept" } else { "gone" };
            format!("replicas {}; futureField {kept}", live["spec"]["replicas"])
        },
    },
    Difference {
        id: "job-with-a-selector",
        title: "A selector in the manifest of a Job is the server's to judge",
        decision: "accident of the reference",
        case: "the manifest of a Job has a selector",
        reference: "the process crashes",
        ours: "the selector is sent",
        why: "The server allows it together with `manualSelector` and refuses it otherwise, with a message that names the field.",
        observe: || {
            let job = |spec: Value| json!({"apiVersion": "batch/v1", "kind": "Job", "spec": spec});
            let selector = json!({"selector": {"matchLabels": {"a": "b"}}});
            let live = merge(&job(selector), &job(json!({}))).unwrap();
            if live["spec"]["selector"].is_null() {
                "the selector is dropped"
            } else {
                "the selector is sent"
            }
            .to_owned()
        },
    },
    Difference {
        id: "allocated-node-ports",
        title: "A node port that the server has allocated stays",
        decision: "never write an equal object",
        case: "a Service of type NodePort whose manifest names no node port; the server has given it 30001",
        reference: "removed, and another one allocated, at every visit",
        ours: "30001",
        why: "A Service of this type cannot be without one, so leaving it out means any.",
        observe: || {
            let service = |port: Value| json!({"apiVersion": "v1", "kind": "Service", "spec": {"type": "NodePort", "ports": [port]}});
            let live = service(json!({"port": 80, "nodePort": 30001}));
            let live = written_by("kubectl", &live, &["spec"]);
            let manifest = service(json!({"port": 80}));
            if clear(&manifest, &live).is_empty() {
                merge(&manifest, &live).unwrap_or(live)["spec"]["ports"][0]["nodePort"].to_string()
            } else {
                "removed".to_owned()
            }
        },
    },
    Difference {
        id: "replicas-of-an-autoscaler",
        title: "Replicas that an autoscaler sets are left to it",
        decision: "D5",
        case: "a Deployment without replicas in its manifest is scaled to 5 through its scale subresource",
        reference: "1",
        ours: "5",
        why: "The reference reads a missing number as 1. Who sets it through the subresource that exists for it is asked to do so.",
        observe: || {
            let deployment =
                |spec: Value| json!({"apiVersion": "apps/v1", "kind": "Deployment", "spec": spec});
            let mut live = deployment(json!({"replicas": 5}));
            live["metadata"]["managedFields"] = json!([{"manager": "autoscaler", "operation": "Update", "subresource": "scale",
                "fieldsV1": {"f:spec": {"f:replicas": {}}}}]);
            let manifest = deployment(json!({}));
            let cleared = !clear(&manifest, &live).is_empty();
            let live = merge(&manifest, &live).unwrap_or(live);
            if cleared { "1".to_owned() } else { live["spec"]["replicas"].to_string() }
        },
    },
    Difference {
        id: "only-what-somebody-wrote",
        title: "A field is cleared only when somebody wrote it",
        decision: "D5",
        case: "a Deployment has `minReadySeconds` and `paused`, which its manifest leaves out; its managed fields name `kubectl` for `paused` only: what is cleared",
        reference: "/spec/minReadySeconds, /spec/paused",
        ours: "/spec/paused",
        why: "What nobody is recorded for was filled in by the server or by an admission plug-in, and would come back.",
        observe: || {
            let deployment =
                |spec: Value| json!({"apiVersion": "apps/v1", "kind": "Deployment", "spec": spec});
            let mut live = deployment(json!({"paused": true, "minReadySeconds": 5}));
            live["metadata"]["managedFields"] = json!([{"manager": "kubectl", "operation": "Update", "fieldsV1": {"f:spec": {"f:paused": {}}}}]);
            let cleared = clear(&deployment(json!({})), &live);
            cleared.iter().map(|field| field.pointer.as_str()).collect::<Vec<_>>().join(", ")
        },
    },
];

fn a_deployment(pod: &Value) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}, "spec": {"template": {"spec": pod}}})
}

fn a_thing(labels: &Value, spec: &Value) -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "a", "labels": labels}, "spec": spec})
}

/// An object whose top-level fields somebody wrote, each as a whole.
fn written_by(manager: &str, object: &Value, fields: &[&str]) -> Value {
    let owned: Value = fields.iter().map(|name| (format!("f:{name}"), json!({}))).collect();
    let mut object = object.clone();
    object["metadata"]["managedFields"] =
        json!([{"manager": manager, "operation": "Update", "fieldsV1": owned}]);
    object
}

/// Manifests, and the objects that the server makes of them.
fn completed_by_the_server() -> [(&'static str, Value, Value); 5] {
    let job = |spec: Value| json!({"apiVersion": "batch/v1", "kind": "Job", "spec": spec});
    let probe = |action: Value| {
        a_deployment(&json!({"containers": [{"name": "c", "livenessProbe": {"httpGet": action}}]}))
    };
    let webhook = |service: Value| {
        json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
            "webhooks": [{"name": "h", "clientConfig": {"service": service}}]})
    };
    let binding = |subject: Value| json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "subjects": [subject]});
    let projected = |field: Value| {
        let items = json!([{"path": "p", "fieldRef": field}]);
        a_deployment(
            &json!({"volumes": [{"name": "v", "projected": {"defaultMode": 420, "sources": [{"downwardAPI": {"items": items}}]}}]}),
        )
    };
    [
        ("Job", job(json!({})), job(json!({"parallelism": 1, "completions": 1, "manualSelector": false}))),
        ("probe", probe(json!({"port": 1})), probe(json!({"port": 1, "path": "/", "scheme": "HTTP"}))),
        ("webhook", webhook(json!({"name": "s"})), webhook(json!({"name": "s", "port": 443}))),
        (
            "binding",
            binding(json!({"kind": "User", "name": "u"})),
            binding(json!({"kind": "User", "name": "u", "apiGroup": "rbac.authorization.k8s.io"})),
        ),
        (
            "projected field",
            projected(json!({"fieldPath": "f"})),
            projected(json!({"fieldPath": "f", "apiVersion": "v1"})),
        ),
    ]
}

/// Applies one object after the other to the same address in a lab; what is there in the end.
fn apply_in_a_lab(address: &str, objects: &[Value]) -> Value {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let lab = Lab::new(LabOptions::default());
        let client = lab.client();
        let mut live = Value::Null;
        for object in objects {
            let request = Request::patch(format!("{address}?fieldManager={FIELD_MANAGER}&force=true"))
                .header("content-type", "application/apply-patch+yaml")
                .body(object.to_string().into_bytes());
            live = client.request(request.unwrap()).await.unwrap();
        }
        live
    })
}

/// The keys of a map.
fn names(map: &Value) -> String {
    list(&map.as_object().into_iter().flatten().map(|(name, _)| json!(name)).collect())
}

/// The entries of a list, texts without quotes.
fn list(items: &Value) -> String {
    let mut text = String::new();
    for item in items.as_array().into_iter().flatten() {
        let separator = if text.is_empty() { "" } else { ", " };
        let item = item.as_str().map_or_else(|| item.to_string(), ToOwned::to_owned);
        write!(text, "{separator}{item}").unwrap();
    }
    text
}
