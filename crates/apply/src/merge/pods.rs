//! The reference's test tables for pod templates.

use serde_json::{Value, json};

use super::merge;

/// The pod template of a Deployment and that of a `CronJob`.
fn in_a_deployment(pod: &Value) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}, "spec": {"template": {"spec": pod}}})
}

fn merged(live: &Value, manifest: &Value) -> Option<Value> {
    let manifest = in_a_deployment(manifest);
    let result = merge(&manifest, &in_a_deployment(live))?;
    assert_eq!(merge(&manifest, &result), None, "not stable: {result}");
    Some(result["spec"]["template"]["spec"].clone())
}

/// Live, manifest and what comes out, where anything does.
type Case = (Value, Value, Option<Value>);

fn check(cases: impl IntoIterator<Item = Case>) {
    for (live, manifest, expected) in cases {
        assert_eq!(merged(&live, &manifest), expected, "live {live} manifest {manifest}");
    }
}

/// The same cases as fields of one container.
fn check_container(cases: impl IntoIterator<Item = Case>) {
    let pod = |mut container: Value| {
        container["name"] = json!("c");
        json!({"containers": [container]})
    };
    check(cases.into_iter().map(|(live, manifest, expected)| (pod(live), pod(manifest), expected.map(pod))));
}

fn containers(names: &[&str]) -> Value {
    names.iter().map(|name| json!({"name": name})).collect()
}

#[test]
fn containers_are_matched_by_name_and_others_go() {
    check([
        (json!({}), json!({}), None),
        (
            json!({"containers": containers(&["test", "to-be-removed"]), "securityContext": {"runAsNonRoot": false}}),
            json!({"containers": containers(&["test"])}),
            Some(json!({"containers": containers(&["test"]), "securityContext": {}})),
        ),
        (
            json!({"initContainers": containers(&["test-init"]), "containers": containers(&["test"])}),
            json!({}),
            Some(json!({})),
        ),
        (json!({"initContainers": containers(&["test-init"])}), json!({}), Some(json!({}))),
        (
            json!({"initContainers": containers(&["a"]), "containers": containers(&["a"])}),
            json!({"initContainers": containers(&["a", "b"]), "containers": containers(&["a", "b"])}),
            Some(json!({"initContainers": containers(&["a", "b"]), "containers": containers(&["a", "b"])})),
        ),
        (
            json!({"initContainers": containers(&["test-init"]), "containers": containers(&["test"])}),
            json!({"initContainers": containers(&["test-init"]), "containers": containers(&["test"])}),
            None,
        ),
        (
            json!({"containers": containers(&["A", "B"])}),
            json!({"containers": containers(&["B"])}),
            Some(json!({"containers": containers(&["B"])})),
        ),
        (
            json!({"containers": containers(&["A", "B"])}),
            json!({"containers": containers(&["B", "A"])}),
            None,
        ),
        (
            json!({"containers": [{"name": "c", "securityContext": {"runAsUser": 1}}]}),
            json!({"containers": []}),
            Some(json!({"containers": []})),
        ),
    ]);
}

#[test]
fn flags_of_a_pod_are_cleared_when_the_manifest_leaves_them_out() {
    let token = |value: bool| json!({"automountServiceAccountToken": value});
    check([
        (json!({}), json!({"hostUsers": false}), Some(json!({"hostUsers": false}))),
        (json!({}), token(false), Some(token(false))),
        (token(false), json!({}), Some(json!({}))),
        (token(true), token(false), Some(token(false))),
        (token(false), token(false), None),
        (
            json!({"hostUsers": true, "shareProcessNamespace": false, "priority": 1, "hostNetwork": true}),
            json!({}),
            Some(json!({})),
        ),
        (
            json!({"hostNetwork": false, "dnsPolicy": "ClusterFirst", "terminationGracePeriodSeconds": 30}),
            json!({}),
            None,
        ),
        (
            json!({"dnsPolicy": "Default", "terminationGracePeriodSeconds": 5}),
            json!({}),
            Some(json!({"dnsPolicy": "ClusterFirst", "terminationGracePeriodSeconds": 30})),
        ),
        (
            json!({"restartPolicy": "Never", "serviceAccountName": "a", "priorityClassName": "p"}),
            json!({"priorityClassName": ""}),
            None,
        ),
        (
            json!({"restartPolicy": "Never"}),
            json!({"restartPolicy": "Always"}),
            Some(json!({"restartPolicy": "Always"})),
        ),
    ]);
}

#[test]
fn the_security_context_of_a_pod_follows_the_manifest() {
    let context = |context: Value| json!({"securityContext": context});
    let profile = json!({"type": "RuntimeDefault"});
    let equal = json!({"runAsNonRoot": true, "runAsUser": 1, "runAsGroup": 2, "seccompProfile": profile});
    check([
        (
            context(
                json!({"seLinuxOptions": {"user": "u"}, "runAsUser": 1, "runAsGroup": 2, "runAsNonRoot": true, "fsGroup": 3, "seccompProfile": profile}),
            ),
            context(json!({})),
            Some(context(json!({}))),
        ),
        (context(json!({})), json!({}), None),
        (context(equal.clone()), context(equal), None),
        (
            context(json!({"runAsNonRoot": true, "runAsUser": 1234, "runAsGroup": 1234})),
            context(json!({"runAsNonRoot": false, "runAsGroup": 5, "seccompProfile": profile})),
            Some(context(json!({"runAsNonRoot": false, "runAsGroup": 5, "seccompProfile": profile}))),
        ),
        (
            context(json!({"fsGroupChangePolicy": "Always", "runAsUser": 1})),
            context(json!({"runAsUser": 1})),
            None,
        ),
    ]);
}

#[test]
fn the_security_context_of_a_container_follows_the_manifest() {
    let context = |context: Value| json!({"securityContext": context});
    let full = json!({"runAsUser": 1, "runAsNonRoot": true, "capabilities": {"add": ["bar"]}, "seLinuxOptions": {"user": "u"}});
    check_container([
        (context(full.clone()), context(json!({})), Some(context(json!({})))),
        (context(full), json!({}), Some(json!({}))),
        (context(json!({"runAsGroup": 4})), context(json!({})), None),
        (context(json!({"privileged": false})), context(json!({"privileged": false})), None),
    ]);
}

#[test]
fn resources_are_exact_and_compared_by_value() {
    let limits = |cpu: &str| json!({"resources": {"limits": {"cpu": cpu}, "requests": {"cpu": cpu}}});
    check_container([
        (limits("2m"), json!({"resources": {}}), Some(json!({"resources": {}}))),
        (limits("2m"), json!({}), Some(json!({"resources": {}}))),
        (limits("2m"), limits("4m"), Some(limits("4m"))),
        (limits("2m"), limits("2m"), None),
        (limits("100m"), limits("0.1"), None),
        (json!({}), limits("2m"), Some(limits("2m"))),
        (
            json!({"resources": {"limits": {"cpu": "1", "memory": "1Gi"}}}),
            json!({"resources": {"limits": {"cpu": "1"}}}),
            Some(json!({"resources": {"limits": {"cpu": "1"}}})),
        ),
    ]);
}

#[test]
fn container_ports_are_matched_by_number() {
    let ports = |ports: Value| json!({"ports": ports});
    check_container([
        (json!({}), ports(json!([{"containerPort": 8080}])), Some(ports(json!([{"containerPort": 8080}])))),
        (
            ports(json!([{"name": "a", "containerPort": 8080, "protocol": "TCP"}])),
            ports(json!([{"name": "a", "containerPort": 9191}])),
            Some(ports(json!([{"name": "a", "containerPort": 9191}]))),
        ),
        (ports(json!([{"containerPort": 8080}])), ports(json!([])), Some(ports(json!([])))),
        (ports(json!([{"containerPort": 1, "protocol": "TCP"}])), ports(json!([{"containerPort": 1}])), None),
        (
            ports(json!([{"containerPort": 1, "protocol": "TCP"}])),
            ports(json!([{"containerPort": 1}, {"containerPort": 2}])),
            Some(ports(json!([{"containerPort": 1, "protocol": "TCP"}, {"containerPort": 2}]))),
        ),
    ]);
    let pod =
        |host_port: Value| json!({"hostNetwork": true, "containers": [{"name": "c", "ports": [host_port]}]});
    check([
        (pod(json!({"containerPort": 1, "hostPort": 1})), pod(json!({"containerPort": 1})), None),
        (
            pod(json!({"containerPort": 1, "hostPort": 2})),
            pod(json!({"containerPort": 1})),
            Some(pod(json!({"containerPort": 1}))),
        ),
    ]);
}

#[test]
fn probes_are_exact_after_defaults() {
    let probe = |name: &str, from: u8| json!({name: {"initialDelaySeconds": from, "timeoutSeconds": from + 1, "periodSeconds": from + 2, "successThreshold": from + 3, "failureThreshold": from + 4}});
    for name in ["livenessProbe", "readinessProbe"] {
        let short = json!({name: {"httpGet": {"port": 80}}});
        let filled_in = json!({name: {"httpGet": {"port": 80, "path": "/", "scheme": "HTTP"}, "timeoutSeconds": 1, "periodSeconds": 10,
            "successThreshold": 1, "failureThreshold": 3}});
        let other = json!({name: {"tcpSocket": {"port": 80}}});
        check_container([
            (probe(name, 1), probe(name, 7), Some(probe(name, 7))),
            (probe(name, 1), json!({}), Some(json!({}))),
            (filled_in.clone(), short.clone(), None),
            (other, short.clone(), Some(short)),
        ]);
    }
    check_container([(
        json!({"startupProbe": {"periodSeconds": 3}, "lifecycle": {}, "tty": true}),
        json!({}),
        None,
    )]);
}

#[test]
fn volumes_and_mounts_are_exact() {
    let pod = |volumes: Value, mounts: Value| json!({"volumes": volumes, "containers": [{"name": "c", "volumeMounts": mounts}]});
    let mount = |name: &str, path: &str| json!({"name": name, "mountPath": path});
    let (empty, map) =
        (json!([{"name": "v", "emptyDir": {}}]), json!([{"name": "v", "configMap": {"name": "m"}}]));
    let none = json!({"containers": [{"name": "c"}]});
    check([
        (
            none.clone(),
            pod(empty.clone(), json!([mount("v", "/mnt")])),
            Some(pod(empty.clone(), json!([mount("v", "/mnt")]))),
        ),
        (
            pod(empty.clone(), json!([mount("v", "/mnt/a")])),
            pod(map.clone(), json!([mount("v", "/mnt/b")])),
            Some(pod(map.clone(), json!([mount("v", "/mnt/b")]))),
        ),
        (
            pod(json!([{"name": "vol-a", "emptyDir": {}}]), json!([mount("vol-a", "/mnt")])),
            pod(json!([{"name": "vol-b", "configMap": {"name": "m"}}]), json!([mount("vol-b", "/mnt")])),
            Some(pod(
                json!([{"name": "vol-b", "configMap": {"name": "m"}}]),
                json!([mount("vol-b", "/mnt")]),
            )),
        ),
        (pod(empty.clone(), json!([mount("v", "/mnt")])), none.clone(), Some(none)),
        (
            pod(empty.clone(), json!([mount("v", "/mnt/a"), mount("v", "/mnt/b")])),
            pod(empty.clone(), json!([mount("v", "/mnt/a")])),
            Some(pod(empty.clone(), json!([mount("v", "/mnt/a")]))),
        ),
    ]);
    let volumes = |source: Value| json!({"volumes": [source]});
    let filled_in = [
        (json!({"name": "v", "emptyDir": {}}), json!({"name": "v"})),
        (
            json!({"name": "v", "hostPath": {"path": "/", "type": ""}}),
            json!({"name": "v", "hostPath": {"path": "/"}}),
        ),
        (
            json!({"name": "v", "secret": {"secretName": "s", "defaultMode": 420}}),
            json!({"name": "v", "secret": {"secretName": "s"}}),
        ),
        (
            json!({"name": "v", "projected": {"defaultMode": 420, "sources": [{"serviceAccountToken": {"path": "t", "expirationSeconds": 3600}}, {"configMap": {"name": "m"}},
                {"downwardAPI": {"items": [{"path": "p", "fieldRef": {"fieldPath": "f", "apiVersion": "v1"}}]}}]}}),
            json!({"name": "v", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}, {"configMap": {"name": "m"}},
                {"downwardAPI": {"items": [{"path": "p", "fieldRef": {"fieldPath": "f"}}]}}]}}),
        ),
        (json!({"name": "v", "iscsi": {"iscsiInterface": "default"}}), json!({"name": "v", "iscsi": {}})),
        (
            json!({"name": "v", "rbd": {"pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"}}),
            json!({"name": "v", "rbd": {}}),
        ),
        (
            json!({"name": "v", "azureDisk": {"cachingMode": "ReadWrite", "kind": "Shared", "fsType": "ext4", "readOnly": false}}),
            json!({"name": "v", "azureDisk": {}}),
        ),
        (
            json!({"name": "v", "scaleIO": {"storageMode": "ThinProvisioned", "fsType": "xfs"}}),
            json!({"name": "v", "scaleIO": {}}),
        ),
    ];
    check(filled_in.into_iter().map(|(live, manifest)| (volumes(live), volumes(manifest), None)));
}

#[test]
fn the_environment_is_exact_in_its_order() {
    let env = |env: Value| json!({"env": env});
    let field = |more: Value| {
        let mut field = json!({"fieldPath": "metadata.name"});
        for (name, value) in more.as_object().unwrap() {
            field[name] = value.clone();
        }
        env(json!([{"name": "F", "valueFrom": {"fieldRef": field}}]))
    };
    let value = |name: &str, value: &str| json!({"name": name, "value": value});
    check_container([
        (field(json!({"apiVersion": "v1"})), field(json!({})), None),
        (
            env(json!([value("ENVVAR", "a")])),
            env(json!([value("ENVVAR", "b")])),
            Some(env(json!([value("ENVVAR", "b")]))),
        ),
        (
            env(json!([value("KUBERNETES_SERVICE_HOST", "a")])),
            env(json!([value("KUBERNETES_SERVICE_HOST", "b")])),
            Some(env(json!([value("KUBERNETES_SERVICE_HOST", "b")]))),
        ),
        (env(json!([{"name": "E"}])), env(json!([value("E", "")])), None),
        (
            env(json!([value("A", "1"), value("B", "$(A)")])),
            env(json!([value("B", "$(A)"), value("A", "1")])),
            Some(env(json!([value("B", "$(A)"), value("A", "1")]))),
        ),
        (
            env(json!([value("B", "2"), value("X", "3")])),
            env(json!([value("A", "1"), value("B", "2")])),
            Some(env(json!([value("A", "1"), value("B", "2")]))),
        ),
        (env(json!([value("A", "1")])), json!({}), Some(json!({}))),
        (json!({"envFrom": [{"prefix": "p"}], "command": ["a"], "args": ["b"]}), json!({}), Some(json!({}))),
        (
            json!({"command": ["a", "b"]}),
            json!({"command": ["b", "a"]}),
            Some(json!({"command": ["b", "a"]})),
        ),
    ]);
}

#[test]
fn the_order_of_tolerations_means_nothing() {
    let tolerations = |list: &[Value]| json!({"tolerations": list});
    let seconds = |key: &str, seconds: u32| json!({"key": key, "effect": "NoExecute", "operator": "Exists", "tolerationSeconds": seconds});
    let key = |key: &str| json!({"key": key, "effect": "NoSchedule", "operator": "Exists"});
    let (not_ready, unreachable) = (seconds("not-ready", 120), seconds("unreachable", 120));
    let required = [
        key("master"),
        key("unschedulable"),
        key("network-unavailable"),
        key("not-ready"),
        unreachable.clone(),
        not_ready.clone(),
    ];
    let existing = [
        key("master"),
        key("unschedulable"),
        key("network-unavailable"),
        not_ready.clone(),
        unreachable.clone(),
        not_ready.clone(),
    ];
    check([
        (json!({}), json!({}), None),
        (tolerations(&[key("a")]), json!({}), None),
        (tolerations(&[key("a")]), tolerations(&[key("a")]), None),
        (tolerations(&[key("a"), key("b")]), tolerations(&[key("b"), key("a")]), None),
        (tolerations(&[key("a"), key("b")]), tolerations(&[key("a")]), Some(tolerations(&[key("a")]))),
        (tolerations(&existing), tolerations(&required), Some(tolerations(&required))),
        (
            tolerations(&[seconds("a", 0)]),
            tolerations(&[json!({"key": "a", "effect": "NoExecute", "operator": "Exists"})]),
            Some(tolerations(&[json!({"key": "a", "effect": "NoExecute", "operator": "Exists"})])),
        ),
    ]);
}

#[test]
fn what_a_manifest_does_not_have_to_say_is_kept_or_replaced_as_a_whole() {
    let affinity = |labels: Value| json!({"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": labels}}});
    check([
        (affinity(json!([{"topologyKey": "a"}])), json!({}), None),
        (affinity(json!([{"topologyKey": "a"}])), json!({"affinity": {}}), Some(json!({"affinity": {}}))),
        (
            affinity(json!([{"topologyKey": "a"}])),
            affinity(json!([{"topologyKey": "b"}])),
            Some(affinity(json!([{"topologyKey": "b"}]))),
        ),
        (json!({"nodeSelector": {"a": ""}}), json!({}), None),
        (
            json!({"nodeSelector": {"a": "", "b": ""}}),
            json!({"nodeSelector": {"a": ""}}),
            Some(json!({"nodeSelector": {"a": ""}})),
        ),
        (
            json!({"hostPID": true, "schedulerName": "x", "imagePullSecrets": [{"name": "a"}]}),
            json!({}),
            None,
        ),
        (json!({"hostPID": true}), json!({"hostPID": false}), Some(json!({"hostPID": false}))),
    ]);
}

#[test]
fn duplicate_names_in_a_manifest_are_written_once_and_left() {
    let twice = json!({"containers": [{"name": "a", "image": "1"}, {"name": "a", "image": "2"}]});
    check([
        (json!({"containers": containers(&["a"])}), twice.clone(), Some(twice.clone())),
        (json!({}), twice.clone(), Some(twice)),
    ]);
}
