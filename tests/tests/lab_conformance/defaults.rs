//! What the server adds to built-in kinds, and how it writes what it was given.

use serde_json::{Value, json};

use crate::objects::{pod, pods_of, service, template};
use crate::subresources::REQUEST;
use crate::target::{Target, cases};

cases!("defaults", controllers: false;
    a_deployment_is_completed,
    a_rich_pod_template_is_completed,
    a_daemon_set_is_completed,
    a_stateful_set_is_completed,
    a_replica_set_is_completed,
    a_job_is_completed,
    a_cron_job_is_completed,
    a_pod_is_completed,
    a_pod_on_the_host_network_is_completed,
    services_of_every_type_are_completed,
    roles_and_bindings_are_completed,
    a_network_policy_is_completed,
    a_disruption_budget_is_completed,
    webhook_configurations_are_completed,
    admission_policies_are_completed,
    an_api_service_is_completed,
    a_priority_class_is_completed,
    storage_kinds_are_completed,
    a_volume_claim_is_completed,
    an_ingress_is_completed,
    an_autoscaler_is_completed,
    a_lease_and_an_event_are_stored,
    a_signing_request_knows_who_asked,
    secrets_and_service_accounts_are_completed,
    quotas_and_limit_ranges_are_stored,
    flow_control_kinds_are_completed,
    a_node_is_completed,
    an_endpoint_slice_is_stored,
    empty_values_disappear_or_stay,
);

async fn made(t: &Target, path: &str, body: Value) {
    t.post(path, body).await;
}

fn workload(api: &str, kind: &str, spec: Value) -> Value {
    json!({"apiVersion": api, "kind": kind, "metadata": {"name": "a"}, "spec": spec})
}

async fn a_deployment_is_completed(t: &Target) {
    made(t, "deployments", workload("apps/v1", "Deployment", pods_of("a"))).await;
    let mut spec = pods_of("b");
    spec["strategy"] = json!({"type": "Recreate"});
    spec["replicas"] = json!(0);
    let mut body = workload("apps/v1", "Deployment", spec);
    body["metadata"]["name"] = json!("b");
    made(t, "deployments", body).await;
    let mut spec = pods_of("c");
    spec["strategy"] = json!({"rollingUpdate": {"maxSurge": 1}});
    let mut body = workload("apps/v1", "Deployment", spec);
    body["metadata"]["name"] = json!("c");
    made(t, "deployments", body).await;
}

/// Everything that payloads have in their templates.
fn rich() -> Value {
    json!({"metadata": {"labels": {"app": "a"}, "annotations": {}, "creationTimestamp": null}, "spec": {
        "serviceAccountName": "sa", "priorityClassName": "system-cluster-critical", "hostNetwork": false,
        "nodeSelector": {"kubernetes.io/os": "linux"}, "automountServiceAccountToken": false,
        "securityContext": {"runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}},
        "tolerations": [{"key": "k", "operator": "Exists", "effect": "NoSchedule"},
            {"key": "u", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 120}],
        "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
            {"labelSelector": {"matchLabels": {"app": "a"}}, "topologyKey": "kubernetes.io/hostname"}]}},
        "initContainers": [{"name": "i", "image": "example.com/i", "command": ["true"]}],
        "containers": [{"name": "c", "image": "example.com/c@sha256:0123456789012345678901234567890123456789012345678901234567890123",
            "args": ["--a=$(A)"], "env": [{"name": "A", "value": ""}, {"name": "P", "valueFrom": {"fieldRef":
                {"fieldPath": "metadata.name"}}}, {"name": "S", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
                {"name": "R", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}}],
            "ports": [{"containerPort": 8443, "name": "https"}, {"containerPort": 53, "protocol": "UDP"}],
            "resources": {"requests": {"cpu": "10m", "memory": "1024Ki"}},
            "securityContext": {"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}},
            "livenessProbe": {"httpGet": {"path": "healthz", "port": "https", "scheme": "HTTPS"}},
            "readinessProbe": {"tcpSocket": {"port": 8443}, "initialDelaySeconds": 0},
            "startupProbe": {"exec": {"command": ["x"]}}, "lifecycle": {"preStop": {"httpGet": {"port": 80}}},
            "volumeMounts": [{"name": "cm", "mountPath": "/cm"}, {"name": "e", "mountPath": "/e", "readOnly": true}]},
            {"name": "g", "image": "example.com/g:latest", "livenessProbe": {"grpc": {"port": 5}}}],
        "volumes": [{"name": "cm", "configMap": {"name": "x"}}, {"name": "s", "secret": {"secretName": "y"}},
            {"name": "e", "emptyDir": {"sizeLimit": "1024Ki"}}, {"name": "h", "hostPath": {"path": "/x"}},
            {"name": "d", "downwardAPI": {"items": [{"path": "p", "fieldRef": {"fieldPath": "metadata.labels"}}]}},
            {"name": "pr", "projected": {"sources": [{"serviceAccountToken": {"path": "token"}},
                {"configMap": {"name": "z"}}, {"secret": {"name": "z", "optional": true}}]}},
            {"name": "none"}, {"name": "pvc", "persistentVolumeClaim": {"claimName": "q"}},
            {"name": "iscsi", "iscsi": {"targetPortal": "1.2.3.4", "iqn": "iqn.2001-04.com.example:s", "lun": 0}}],
        "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"app": "a"}}}],
        "imagePullSecrets": [{"name": "pull"}], "hostAliases": [{"ip": "10.0.0.1", "hostnames": ["x"]}]}})
}

async fn a_rich_pod_template_is_completed(t: &Target) {
    let spec = json!({"selector": {"matchLabels": {"app": "a"}}, "template": rich()});
    made(t, "deployments", workload("apps/v1", "Deployment", spec)).await;
}

async fn a_daemon_set_is_completed(t: &Target) {
    made(t, "daemonsets", workload("apps/v1", "DaemonSet", pods_of("a"))).await;
}

async fn a_stateful_set_is_completed(t: &Target) {
    let mut spec = pods_of("a");
    spec["serviceName"] = json!("a");
    spec["volumeClaimTemplates"] = json!([{"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1.5Gi"}}}}]);
    made(t, "statefulsets", workload("apps/v1", "StatefulSet", spec)).await;
}

async fn a_replica_set_is_completed(t: &Target) {
    made(t, "replicasets", workload("apps/v1", "ReplicaSet", pods_of("a"))).await;
    let spec = json!({"template": template("a")});
    made(t, "replicationcontrollers", workload("v1", "ReplicationController", spec)).await;
}

fn job_spec() -> Value {
    let mut spec = json!({"template": template("a")});
    spec["template"]["spec"]["restartPolicy"] = json!("Never");
    spec
}

async fn a_job_is_completed(t: &Target) {
    made(t, "jobs", workload("batch/v1", "Job", job_spec())).await;
    let mut spec = job_spec();
    spec["template"]["spec"]["restartPolicy"] = json!("Always");
    let mut body = workload("batch/v1", "Job", spec);
    body["metadata"]["name"] = json!("b");
    made(t, "jobs", body).await;
}

async fn a_cron_job_is_completed(t: &Target) {
    let spec = json!({"schedule": "*/5 * * * *", "jobTemplate": {"spec": job_spec()}});
    made(t, "cronjobs", workload("batch/v1", "CronJob", spec)).await;
    made(
        t,
        "cronjobs",
        workload("batch/v1", "CronJob", json!({"schedule": "often", "jobTemplate": {"spec": job_spec()}})),
    )
    .await;
}

async fn a_pod_is_completed(t: &Target) {
    made(t, "pods", pod("a")).await;
    let mut body = pod("b");
    body["spec"]["containers"][0]["resources"] = json!({"limits": {"cpu": "1", "memory": "1Gi"}});
    let answer = t.post("pods", body).await;
    t.note("status", answer.body["status"].clone());
}

async fn a_pod_on_the_host_network_is_completed(t: &Target) {
    let mut body = pod("a");
    body["spec"]["hostNetwork"] = json!(true);
    body["spec"]["containers"][0]["ports"] = json!([{"containerPort": 80}]);
    made(t, "pods", body).await;
}

async fn services_of_every_type_are_completed(t: &Target) {
    made(t, "services", service("plain")).await;
    for (name, change) in [
        ("headless", json!({"clusterIP": "None"})),
        (
            "node",
            json!({"type": "NodePort", "ports": [{"name": "a", "port": 80, "targetPort": "http"},
            {"name": "b", "port": 53, "protocol": "UDP"}]}),
        ),
        ("balanced", json!({"type": "LoadBalancer", "externalTrafficPolicy": "Local"})),
        (
            "external",
            json!({"type": "ExternalName", "externalName": "example.com", "selector": null, "ports": null}),
        ),
        ("sticky", json!({"sessionAffinity": "ClientIP"})),
        ("unselected", json!({"selector": null, "publishNotReadyAddresses": true})),
        ("dual", json!({"ipFamilyPolicy": "PreferDualStack"})),
    ] {
        let mut body = service(name);
        for (key, value) in change.as_object().into_iter().flatten() {
            body["spec"][key] = value.clone();
        }
        made(t, "services", body).await;
    }
}

async fn roles_and_bindings_are_completed(t: &Target) {
    let api = "rbac.authorization.k8s.io/v1";
    made(t, "roles", json!({"apiVersion": api, "kind": "Role", "metadata": {"name": "a"}})).await;
    let subjects = json!([{"kind": "ServiceAccount", "name": "s", "namespace": "n"}, {"kind": "Group", "name": "g"},
        {"kind": "User", "name": "u", "apiGroup": "rbac.authorization.k8s.io"}]);
    made(
        t,
        "rolebindings",
        json!({"apiVersion": api, "kind": "RoleBinding", "metadata": {"name": "a"},
        "roleRef": {"kind": "Role", "name": "a"}, "subjects": subjects}),
    )
    .await;
    made(
        t,
        "clusterroles",
        json!({"apiVersion": api, "kind": "ClusterRole", "metadata": {"name": "{id}"},
        "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]}, "rules": []}),
    )
    .await;
    made(
        t,
        "clusterrolebindings",
        json!({"apiVersion": api, "kind": "ClusterRoleBinding", "metadata": {"name": "{id}"},
        "roleRef": {"kind": "ClusterRole", "name": "view", "apiGroup": "rbac.authorization.k8s.io"}}),
    )
    .await;
}

async fn a_network_policy_is_completed(t: &Target) {
    let api = "networking.k8s.io/v1";
    for (name, spec) in [
        ("empty", json!({"podSelector": {}})),
        ("in", json!({"podSelector": {"matchLabels": {"a": "b"}}, "ingress": [{"ports": [{"port": 80}]}]})),
        ("out", json!({"podSelector": {}, "egress": [{"to": [{"ipBlock": {"cidr": "10.0.0.0/8"}}]}]})),
        ("none", json!({"podSelector": {}, "ingress": [], "egress": []})),
    ] {
        made(
            t,
            "networkpolicies",
            json!({"apiVersion": api, "kind": "NetworkPolicy", "metadata": {"name": name},
            "spec": spec}),
        )
        .await;
    }
}

async fn a_disruption_budget_is_completed(t: &Target) {
    let spec = json!({"maxUnavailable": 1, "selector": {"matchLabels": {"a": "b"}}});
    made(t, "poddisruptionbudgets", workload("policy/v1", "PodDisruptionBudget", spec)).await;
    let mut both =
        workload("policy/v1", "PodDisruptionBudget", json!({"maxUnavailable": 1, "minAvailable": "50%"}));
    both["metadata"]["name"] = json!("b");
    made(t, "poddisruptionbudgets", both).await;
}

async fn webhook_configurations_are_completed(t: &Target) {
    let hook = |name: &str| {
        json!([{"name": name, "sideEffects": "None", "admissionReviewVersions": ["v1"],
            "clientConfig": {"service": {"name": "s", "namespace": "n"}},
            "rules": [{"apiGroups": ["none.example.com"], "apiVersions": ["v1"], "resources": ["things"], "operations": ["CREATE"]}]}])
    };
    let body = |kind: &str| {
        json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": "{id}"},
            "webhooks": hook("a.example.com")})
    };
    made(t, "validatingwebhookconfigurations", body("ValidatingWebhookConfiguration")).await;
    made(t, "mutatingwebhookconfigurations", body("MutatingWebhookConfiguration")).await;
    let mut wrong = body("ValidatingWebhookConfiguration");
    wrong["webhooks"] = hook("short");
    made(t, "validatingwebhookconfigurations", wrong).await;
    t.delete_unrecorded("validatingwebhookconfigurations/{id}", json!({})).await;
    t.delete_unrecorded("mutatingwebhookconfigurations/{id}", json!({})).await;
}

async fn admission_policies_are_completed(t: &Target) {
    let api = "admissionregistration.k8s.io/v1";
    let policy = json!({"apiVersion": api, "kind": "ValidatingAdmissionPolicy", "metadata": {"name": "{id}"}, "spec": {
        "matchConstraints": {"resourceRules": [{"apiGroups": ["none.example.com"], "apiVersions": ["v1"],
            "resources": ["things"], "operations": ["CREATE"]}]}, "validations": [{"expression": "true"}]}});
    let answer = t.post_quiet("validatingadmissionpolicies", policy).await;
    t.note("policy", json!([answer.code, answer.body["spec"]]));
    made(
        t,
        "validatingadmissionpolicybindings",
        json!({"apiVersion": api, "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": "{id}"}, "spec": {"policyName": "none-{id}", "validationActions": ["Deny"],
            "matchResources": {}}}),
    )
    .await;
}

/// The server writes a status of its own at once.
async fn an_api_service_is_completed(t: &Target) {
    let body = json!({"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
        "metadata": {"name": "v1.{group}"}, "spec": {"group": "{group}", "version": "v1", "groupPriorityMinimum": 100,
            "versionPriority": 10, "service": {"name": "s", "namespace": "n"}, "insecureSkipTLSVerify": true}});
    made(t, "apiservices", body).await;
    t.delete_unrecorded("apiservices/v1.{group}", json!({})).await;
}

async fn a_priority_class_is_completed(t: &Target) {
    let body = json!({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "{id}"},
        "value": 1000, "globalDefault": false, "description": ""});
    made(t, "priorityclasses", body).await;
    t.merge("priorityclasses/{id}", json!({"value": 2000})).await;
}

async fn storage_kinds_are_completed(t: &Target) {
    let api = "storage.k8s.io/v1";
    made(
        t,
        "storageclasses",
        json!({"apiVersion": api, "kind": "StorageClass", "metadata": {"name": "{id}"},
        "provisioner": "example.com/p", "parameters": {"a": "b"}}),
    )
    .await;
    made(
        t,
        "csidrivers",
        json!({"apiVersion": api, "kind": "CSIDriver", "metadata": {"name": "{id}.example.com"},
        "spec": {}}),
    )
    .await;
    t.merge("storageclasses/{id}", json!({"parameters": {"a": "c"}})).await;
}

async fn a_volume_claim_is_completed(t: &Target) {
    let spec = json!({"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1.5Gi"}},
        "storageClassName": "none"});
    made(t, "persistentvolumeclaims", workload("v1", "PersistentVolumeClaim", spec)).await;
}

async fn an_ingress_is_completed(t: &Target) {
    let path = json!({"path": "/", "pathType": "Prefix", "backend": {"service": {"name": "s", "port": {"number": 80}}}});
    let spec = json!({"rules": [{"host": "a.example.com", "http": {"paths": [path]}}]});
    made(t, "ingresses", workload("networking.k8s.io/v1", "Ingress", spec)).await;
    made(t, "ingressclasses", json!({"apiVersion": "networking.k8s.io/v1", "kind": "IngressClass",
        "metadata": {"name": "{id}"}, "spec": {"controller": "example.com/c", "parameters": {"kind": "K", "name": "n"}}})).await;
}

async fn an_autoscaler_is_completed(t: &Target) {
    let spec = json!({"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "a"}, "maxReplicas": 5});
    made(t, "horizontalpodautoscalers", workload("autoscaling/v2", "HorizontalPodAutoscaler", spec)).await;
    let spec = json!({"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "a"}, "maxReplicas": 5,
        "behavior": {"scaleDown": {"policies": [{"type": "Pods", "value": 1, "periodSeconds": 10}]}}});
    let mut body = workload("autoscaling/v2", "HorizontalPodAutoscaler", spec);
    body["metadata"]["name"] = json!("b");
    made(t, "horizontalpodautoscalers", body).await;
}

async fn a_lease_and_an_event_are_stored(t: &Target) {
    let spec = json!({"holderIdentity": "me", "leaseDurationSeconds": 15, "renewTime": "2026-01-01T00:00:00.000000Z",
        "acquireTime": "2026-01-01T01:00:00.000000+01:00"});
    made(t, "leases", workload("coordination.k8s.io/v1", "Lease", spec)).await;
    made(t, "events", json!({"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e"}, "reason": "R", "message": "m",
        "type": "Warning", "count": 3, "firstTimestamp": "2026-01-01T00:00:00Z", "lastTimestamp": "2026-01-01T00:00:00Z",
        "source": {"component": "test"}, "involvedObject": {"kind": "Pod", "name": "p", "namespace": "{id}",
            "apiVersion": "v1"}})).await;
    t.get("/apis/events.k8s.io/v1/namespaces/{id}/events/e").await;
    made(
        t,
        "events",
        json!({"apiVersion": "v1", "kind": "Event", "metadata": {"name": "f"},
        "involvedObject": {"kind": "Pod", "name": "p", "namespace": "other"}}),
    )
    .await;
}

async fn a_signing_request_knows_who_asked(t: &Target) {
    let body = json!({"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest",
        "metadata": {"name": "{id}"}, "spec": {"request": REQUEST, "signerName": "example.com/signer",
            "usages": ["client auth"], "username": "liar", "groups": ["liars"]}});
    let answer = t.post_quiet("certificatesigningrequests", body.clone()).await;
    // Who the caller is differs between the servers; that it is not what the body says does not.
    t.note(
        "user",
        json!([answer.code, answer.body["spec"]["username"] != "liar", answer.body["spec"]["usages"]]),
    );
    let mut wrong = body;
    wrong["metadata"]["name"] = json!("{id}-b");
    wrong["spec"]["request"] = json!("bm90IHBlbQ==");
    t.post("certificatesigningrequests", wrong.clone()).await;
    wrong["spec"] = json!({"request": REQUEST, "signerName": "nosigner"});
    t.post("certificatesigningrequests", wrong).await;
}

async fn secrets_and_service_accounts_are_completed(t: &Target) {
    made(t, "secrets", json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}})).await;
    made(
        t,
        "secrets",
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "b"}, "type": "kubernetes.io/tls",
        "data": {"tls.crt": ""}}),
    )
    .await;
    made(
        t,
        "secrets",
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "c"},
        "type": "kubernetes.io/dockerconfigjson", "stringData": {".dockerconfigjson": "{}"}}),
    )
    .await;
    made(
        t,
        "serviceaccounts",
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "a"},
        "secrets": [], "imagePullSecrets": [{"name": "x"}]}),
    )
    .await;
}

async fn quotas_and_limit_ranges_are_stored(t: &Target) {
    made(
        t,
        "resourcequotas",
        workload("v1", "ResourceQuota", json!({"hard": {"pods": 100, "requests.cpu": "1000m"}})),
    )
    .await;
    made(
        t,
        "limitranges",
        workload(
            "v1",
            "LimitRange",
            json!({"limits": [{"type": "Container",
        "default": {"cpu": "500m"}, "max": {"memory": "1024Mi"}}]}),
        ),
    )
    .await;
}

async fn flow_control_kinds_are_completed(t: &Target) {
    let api = "flowcontrol.apiserver.k8s.io/v1";
    let body = json!({"apiVersion": api, "kind": "FlowSchema", "metadata": {"name": "{id}"},
        "spec": {"priorityLevelConfiguration": {"name": "global-default"}, "rules": []}});
    let answer = t.post_quiet("flowschemas", body).await;
    t.note("schema", json!([answer.code, answer.body["spec"]]));
    let body = json!({"apiVersion": api, "kind": "PriorityLevelConfiguration", "metadata": {"name": "{id}"},
        "spec": {"type": "Limited", "limited": {"limitResponse": {"type": "Queue"}}}});
    let answer = t.post_quiet("prioritylevelconfigurations", body).await;
    t.note("level", json!([answer.code, answer.body["spec"]]));
}

async fn a_node_is_completed(t: &Target) {
    made(
        t,
        "nodes",
        json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "{id}",
        "labels": {"node-role.kubernetes.io/worker": ""}}, "spec": {"podCIDR": "10.1.0.0/24",
            "taints": [{"key": "a", "effect": "NoSchedule"}]}}),
    )
    .await;
}

async fn an_endpoint_slice_is_stored(t: &Target) {
    made(
        t,
        "endpointslices",
        json!({"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "metadata": {"name": "a"},
        "addressType": "IPv4", "endpoints": [{"addresses": ["10.0.0.1"]}], "ports": [{"port": 80}]}),
    )
    .await;
}

async fn empty_values_disappear_or_stay(t: &Target) {
    let mut spec = pods_of("a");
    spec["paused"] = json!(false);
    spec["minReadySeconds"] = json!(0);
    let pod = &mut spec["template"]["spec"];
    pod["volumes"] = json!([]);
    pod["hostNetwork"] = json!(false);
    pod["nodeSelector"] = json!({});
    pod["securityContext"] = json!({});
    pod["affinity"] = json!({});
    pod["tolerations"] = json!([]);
    pod["shareProcessNamespace"] = json!(false);
    pod["containers"][0]["env"] = json!([{"name": "A", "value": ""}]);
    pod["containers"][0]["args"] = json!([]);
    pod["containers"][0]["resources"] = json!({});
    made(t, "deployments", workload("apps/v1", "Deployment", spec)).await;
    made(t, "configmaps", json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "labels": {},
        "annotations": {}, "finalizers": [], "ownerReferences": []}, "data": {}, "binaryData": {"b": "eA=="}})).await;
}
