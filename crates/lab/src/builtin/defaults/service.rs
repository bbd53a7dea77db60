//! Services, endpoints and other parts of the core that are no workloads.

use serde_json::{Value, json};

use super::{Object, Rule, inside, items, text, unset, zero};

/// Three hours.
const AFFINITY_SECONDS: i32 = 10_800;

pub(super) fn rule(type_name: &str) -> Option<Rule> {
    Some(match type_name {
        "core.v1.Service" => service,
        "core.v1.Endpoints" => |endpoints| {
            for port in items(endpoints, "subsets").flat_map(|subset| items(subset, "ports")) {
                zero(port, "protocol", "TCP");
            }
        },
        "core.v1.Secret" => |secret| zero(secret, "type", "Opaque"),
        "core.v1.Namespace" => namespace,
        "core.v1.NamespaceStatus" => |status| zero(status, "phase", "Active"),
        "core.v1.NodeStatus" => |status| {
            if let Some(capacity) = status.get("capacity").cloned() {
                unset(status, "allocatable", capacity);
            }
        },
        "core.v1.LimitRangeItem" => limit_range_item,
        "discovery.v1.EndpointPort" => |port| {
            unset(port, "name", "");
            unset(port, "protocol", "TCP");
        },
        _ => return None,
    })
}

fn service(service: &mut Object) {
    let spec = inside(service, "spec");
    zero(spec, "sessionAffinity", "None");
    match text(spec, "sessionAffinity") {
        "None" => drop(spec.remove("sessionAffinityConfig")),
        "ClientIP" => {
            let seconds =
                spec.get("sessionAffinityConfig").map(|config| &config["clientIP"]["timeoutSeconds"]);
            if seconds.is_none_or(Value::is_null) {
                spec.insert(
                    "sessionAffinityConfig".into(),
                    json!({"clientIP": {"timeoutSeconds": AFFINITY_SECONDS}}),
                );
            }
        }
        _ => {}
    }
    zero(spec, "type", "ClusterIP");
    for port in items(spec, "ports") {
        zero(port, "protocol", "TCP");
        if let Some(number) = port.get("port").cloned() {
            zero(port, "targetPort", number);
        }
    }
    let ty = text(spec, "type").to_owned();
    let has_external_address =
        spec.get("externalIPs").and_then(Value::as_array).is_some_and(|ips| !ips.is_empty());
    if matches!(ty.as_str(), "NodePort" | "LoadBalancer") || (ty == "ClusterIP" && has_external_address) {
        zero(spec, "externalTrafficPolicy", "Cluster");
    }
    if matches!(ty.as_str(), "NodePort" | "LoadBalancer" | "ClusterIP") {
        unset(spec, "internalTrafficPolicy", "Cluster");
    }
    if ty == "LoadBalancer" {
        unset(spec, "allocateLoadBalancerNodePorts", true);
        for ingress in items(inside(inside(service, "status"), "loadBalancer"), "ingress") {
            if !text(ingress, "ip").is_empty() {
                unset(ingress, "ipMode", "VIP");
            }
        }
    }
}

/// Every namespace carries its name as a label.
fn namespace(namespace: &mut Object) {
    let metadata = inside(namespace, "metadata");
    let name = text(metadata, "name").to_owned();
    if !name.is_empty() {
        inside(metadata, "labels").insert("kubernetes.io/metadata.name".into(), name.into());
    }
}

/// The limits of containers follow from one another.
fn limit_range_item(item: &mut Object) {
    if text(item, "type") != "Container" {
        return;
    }
    for (from, to) in [("max", "default"), ("default", "defaultRequest"), ("min", "defaultRequest")] {
        let amounts = item.get(from).and_then(Value::as_object).cloned().unwrap_or_default();
        for (name, amount) in amounts {
            inside(item, to).entry(name).or_insert(amount);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::filled;
    use super::*;

    #[test]
    fn the_type_of_a_service_decides_its_policies() {
        let service = |spec: Value| {
            filled(json!({"apiVersion": "v1", "kind": "Service", "spec": spec}))["spec"].clone()
        };
        assert_eq!(
            service(json!({"ports": [{"port": 80}]})),
            json!({"type": "ClusterIP", "sessionAffinity": "None", "internalTrafficPolicy": "Cluster",
                "ports": [{"port": 80, "targetPort": 80, "protocol": "TCP"}]})
        );
        let balancer = service(json!({"type": "LoadBalancer", "sessionAffinity": "ClientIP"}));
        assert_eq!(balancer["externalTrafficPolicy"], "Cluster");
        assert_eq!(balancer["allocateLoadBalancerNodePorts"], true);
        assert_eq!(balancer["sessionAffinityConfig"]["clientIP"]["timeoutSeconds"], 10_800);
        let name = service(json!({"type": "ExternalName", "externalName": "a"}));
        assert!(name.get("internalTrafficPolicy").is_none());
    }

    #[test]
    fn a_namespace_carries_its_name() {
        let namespace = filled(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}}));
        assert_eq!(namespace["metadata"]["labels"], json!({"kubernetes.io/metadata.name": "a"}));
        assert_eq!(namespace["status"]["phase"], "Active");
        let nameless =
            filled(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"generateName": "a"}}));
        assert!(nameless["metadata"].get("labels").is_none());
    }

    #[test]
    fn limits_of_containers_follow_from_one_another() {
        let range = filled(json!({"apiVersion": "v1", "kind": "LimitRange", "spec": {"limits": [
            {"type": "Container", "max": {"cpu": "2"}, "min": {"memory": "1Mi"}}, {"type": "Pod", "max": {"cpu": "2"}}]}}));
        assert_eq!(
            range["spec"]["limits"],
            json!([{"type": "Container", "max": {"cpu": "2"}, "min": {"memory": "1Mi"}, "default": {"cpu": "2"},
                "defaultRequest": {"cpu": "2", "memory": "1Mi"}}, {"type": "Pod", "max": {"cpu": "2"}}])
        );
    }
}
