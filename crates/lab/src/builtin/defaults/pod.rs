//! Pods, their templates and their containers.

use serde_json::{Value, json};

use super::{Object, Rule, items, pod_resources, text, unset, zero};

pub(super) fn rule(type_name: &str) -> Option<Rule> {
    Some(match type_name {
        "core.v1.Pod" => pod,
        "core.v1.PodSpec" => pod_spec,
        "core.v1.Container" | "core.v1.EphemeralContainer" => container,
        "core.v1.ContainerPort" => |port| zero(port, "protocol", "TCP"),
        "core.v1.Probe" => probe,
        "core.v1.HTTPGetAction" => |action| {
            zero(action, "path", "/");
            zero(action, "scheme", "HTTP");
        },
        "core.v1.GRPCAction" => |action| unset(action, "service", ""),
        "core.v1.ObjectFieldSelector" => |selector| zero(selector, "apiVersion", "v1"),
        "core.v1.FileKeySelector" => |selector| unset(selector, "optional", false),
        _ => return None,
    })
}

/// What only Pods have, not templates.
fn pod(pod: &mut Object) {
    let Some(spec) = pod.get_mut("spec").and_then(Value::as_object_mut) else { return };
    for list in ["containers", "initContainers"] {
        for container in items(spec, list) {
            if let Some(resources) = container.get_mut("resources").and_then(Value::as_object_mut) {
                pod_resources::requests_from_limits(resources);
            }
        }
    }
    pod_resources::whole_pod(spec);
    unset(spec, "enableServiceLinks", true);
    if spec.get("hostNetwork") == Some(&Value::Bool(true)) {
        for list in ["containers", "initContainers"] {
            for port in items(spec, list).flat_map(|container| items(container, "ports")) {
                if let Some(number) = port.get("containerPort").filter(|number| **number != 0).cloned() {
                    zero(port, "hostPort", number);
                }
            }
        }
    }
}

fn pod_spec(spec: &mut Object) {
    zero(spec, "dnsPolicy", "ClusterFirst");
    zero(spec, "restartPolicy", "Always");
    unset(spec, "securityContext", json!({}));
    unset(spec, "terminationGracePeriodSeconds", 30);
    zero(spec, "schedulerName", "default-scheduler");
}

fn container(container: &mut Object) {
    let policy = pull_policy(text(container, "image"));
    zero(container, "imagePullPolicy", policy);
    zero(container, "terminationMessagePath", "/dev/termination-log");
    zero(container, "terminationMessagePolicy", "File");
}

fn probe(probe: &mut Object) {
    zero(probe, "timeoutSeconds", 1);
    zero(probe, "periodSeconds", 10);
    zero(probe, "successThreshold", 1);
    zero(probe, "failureThreshold", 3);
}

/// An image with the tag `latest` is always pulled; one without a tag has that tag, unless it has a digest.
pub(super) fn pull_policy(image: &str) -> &'static str {
    let (name, digest) = image.split_once('@').map_or((image, None), |(name, digest)| (name, Some(digest)));
    let after_slash = name.rfind('/').map_or(0, |slash| slash + 1);
    let (repository, tag) = match name[after_slash..].find(':') {
        Some(colon) => (&name[..after_slash + colon], Some(&name[after_slash + colon + 1..])),
        None => (name, None),
    };
    let is_latest = match (tag, digest) {
        (None, None) => true,
        (tag, _) => tag == Some("latest"),
    };
    let digest_fits = digest.is_none_or(|digest| digest.contains(':'));
    if is_latest && digest_fits && is_repository(repository) { "Always" } else { "IfNotPresent" }
}

/// Whether this is a repository at all; with any other text the server takes no tag for granted.
fn is_repository(name: &str) -> bool {
    let (domain, path) = match name.split_once('/') {
        Some((first, rest))
            if first.contains(['.', ':']) || first == "localhost" || first.contains(char::is_uppercase) =>
        {
            (first, rest)
        }
        _ => ("", name),
    };
    let is_hex =
        |text: &str| text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let domain_fits = domain.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-:[]".contains(&byte));
    domain_fits && !is_hex(name) && path.split('/').all(is_path_component)
}

/// Small letters and digits, with `.`, `_`, `__` or any number of `-` between them.
fn is_path_component(text: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = text.as_bytes();
    let (Some(first), Some(last)) = (bytes.first(), bytes.last()) else { return false };
    let separators = text.split(|letter: char| u8::try_from(letter).is_ok_and(is_letter));
    is_letter(*first)
        && is_letter(*last)
        && separators
            .filter(|between| !between.is_empty())
            .all(|between| matches!(between, "." | "_" | "__") || between.bytes().all(|byte| byte == b'-'))
}

#[cfg(test)]
mod tests {
    use super::super::tests::filled;
    use super::*;

    #[test]
    fn the_tag_of_the_image_decides_when_it_is_pulled() {
        for (image, policy) in [
            ("a", "Always"),
            ("a:latest", "Always"),
            ("a:v1", "IfNotPresent"),
            ("registry:5000/a", "Always"),
            ("registry:5000/a:1", "IfNotPresent"),
            ("quay.io/a/b@sha256:0123", "IfNotPresent"),
            ("quay.io/a/b:latest@sha256:0123", "Always"),
            ("", "IfNotPresent"),
            ("${IMAGE}", "IfNotPresent"),
            ("quay.io/Upper", "IfNotPresent"),
            ("quay.io/a--b__c.d", "Always"),
            ("quay.io/a..b", "IfNotPresent"),
        ] {
            assert_eq!(pull_policy(image), policy, "{image}");
        }
    }

    #[test]
    fn only_pods_take_requests_from_limits_and_host_ports_from_the_host_network() {
        let spec = json!({"hostNetwork": true, "containers": [{"name": "a", "image": "a:1", "ports": [{"containerPort": 80}],
            "resources": {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "10m"}}}]});
        let pod = filled(json!({"apiVersion": "v1", "kind": "Pod", "spec": spec.clone()}));
        let container = &pod["spec"]["containers"][0];
        assert_eq!(container["resources"]["requests"], json!({"cpu": "10m", "memory": "1Gi"}));
        assert_eq!(container["ports"][0], json!({"containerPort": 80, "hostPort": 80, "protocol": "TCP"}));
        assert_eq!(pod["spec"]["enableServiceLinks"], true);
        let template = filled(json!({"apiVersion": "v1", "kind": "PodTemplate", "template": {"spec": spec}}));
        let container = &template["template"]["spec"]["containers"][0];
        assert_eq!(container["resources"]["requests"], json!({"cpu": "10m"}));
        assert_eq!(container["ports"][0], json!({"containerPort": 80, "protocol": "TCP"}));
        assert!(template["template"]["spec"].get("enableServiceLinks").is_none());
    }

    #[test]
    fn probes_and_field_references_get_their_numbers_and_versions() {
        let pod = filled(
            json!({"apiVersion": "v1", "kind": "Pod", "spec": {"ephemeralContainers": [{"name": "e"}], "containers": [{
            "name": "a", "livenessProbe": {"httpGet": {"port": 1}, "periodSeconds": 5},
            "startupProbe": {"grpc": {"port": 1}},
            "env": [{"name": "N", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]}]}}),
        );
        let container = &pod["spec"]["containers"][0];
        assert_eq!(
            container["livenessProbe"],
            json!({"httpGet": {"path": "/", "port": 1, "scheme": "HTTP"}, "timeoutSeconds": 1, "periodSeconds": 5,
                "successThreshold": 1, "failureThreshold": 3})
        );
        assert_eq!(container["startupProbe"]["grpc"], json!({"port": 1, "service": ""}));
        assert_eq!(container["env"][0]["valueFrom"]["fieldRef"]["apiVersion"], "v1");
        assert_eq!(pod["spec"]["ephemeralContainers"][0]["terminationMessagePolicy"], "File");
    }
}
