//! Everything that is no workload: access, admission, definitions, networking, storage, priorities, devices.

use serde_json::{Value, json};

use super::{Object, Rule, inside, part, text, unset, zero};

/// The group of roles, users and groups.
const RBAC: &str = "rbac.authorization.k8s.io";
/// The port of a webhook or an extension server.
const HTTPS: i32 = 443;

pub(super) fn rule(type_name: &str) -> Option<Rule> {
    access(type_name)
        .or_else(|| admission(type_name))
        .or_else(|| definition(type_name))
        .or_else(|| network_and_storage(type_name))
        .or_else(|| priority_and_devices(type_name))
}

fn access(type_name: &str) -> Option<Rule> {
    Some(match type_name {
        "rbac.v1.ClusterRoleBinding" | "rbac.v1.RoleBinding" => {
            |binding| zero(inside(binding, "roleRef"), "apiGroup", RBAC)
        }
        "rbac.v1.Subject" => |subject| {
            if matches!(text(subject, "kind"), "User" | "Group") {
                zero(subject, "apiGroup", RBAC);
            }
        },
        "authentication.v1.TokenRequestSpec" => |spec| unset(spec, "expirationSeconds", 3600),
        _ => return None,
    })
}

fn admission(type_name: &str) -> Option<Rule> {
    Some(match type_name {
        "admissionregistration.v1.ValidatingWebhook" => webhook,
        "admissionregistration.v1.MutatingWebhook" => |hook| {
            webhook(hook);
            unset(hook, "reinvocationPolicy", "Never");
        },
        "admissionregistration.v1.RuleWithOperations"
        | "admissionregistration.v1.NamedRuleWithOperations" => |rule| unset(rule, "scope", "*"),
        "admissionregistration.v1.ServiceReference"
        | "apiextensions.v1.ServiceReference"
        | "apiregistration.v1.ServiceReference" => |service| unset(service, "port", HTTPS),
        "admissionregistration.v1.ValidatingAdmissionPolicySpec"
        | "admissionregistration.v1.MutatingAdmissionPolicySpec" => {
            |spec| unset(spec, "failurePolicy", "Fail")
        }
        "admissionregistration.v1.MatchResources" => matching,
        _ => return None,
    })
}

fn matching(object: &mut Object) {
    unset(object, "matchPolicy", "Equivalent");
    unset(object, "namespaceSelector", json!({}));
    unset(object, "objectSelector", json!({}));
}

fn webhook(hook: &mut Object) {
    unset(hook, "failurePolicy", "Fail");
    matching(hook);
    unset(hook, "timeoutSeconds", 10);
}

fn definition(type_name: &str) -> Option<Rule> {
    Some(match type_name {
        "apiextensions.v1.CustomResourceDefinition" => custom_resource_definition,
        _ => return None,
    })
}

fn custom_resource_definition(definition: &mut Object) {
    let spec = inside(definition, "spec");
    let names = inside(spec, "names");
    let kind = text(names, "kind").to_owned();
    if !kind.is_empty() {
        zero(names, "singular", kind.to_lowercase());
        zero(names, "listKind", format!("{kind}List"));
    }
    unset(spec, "conversion", json!({"strategy": "None"}));
    let versions = spec.get("versions").and_then(Value::as_array);
    let stored = versions.into_iter().flatten().find(|version| version["storage"] == true);
    if let Some(name) = stored.map(|version| version["name"].clone()) {
        zero(inside(definition, "status"), "storedVersions", json!([name]));
    }
}

fn network_and_storage(type_name: &str) -> Option<Rule> {
    Some(match type_name {
        "networking.v1.NetworkPolicy" => network_policy,
        "networking.v1.NetworkPolicyPort" => |port| unset(port, "protocol", "TCP"),
        "networking.v1.IngressClassParametersReference" => |parameters| unset(parameters, "scope", "Cluster"),
        "storage.v1.StorageClass" => |class| {
            unset(class, "reclaimPolicy", "Delete");
            unset(class, "volumeBindingMode", "Immediate");
        },
        "storage.v1.CSIDriver" => |driver| {
            let spec = inside(driver, "spec");
            unset(spec, "attachRequired", true);
            unset(spec, "podInfoOnMount", false);
            unset(spec, "storageCapacity", false);
            unset(spec, "fsGroupPolicy", "ReadWriteOnceWithFSType");
            zero(spec, "volumeLifecycleModes", json!(["Persistent"]));
            unset(spec, "requiresRepublish", false);
            unset(spec, "seLinuxMount", false);
        },
        _ => return None,
    })
}

/// A policy that does not say what it is about is about what comes in, and about what goes out if it has rules for that.
fn network_policy(policy: &mut Object) {
    let spec = inside(policy, "spec");
    let has_egress = spec.get("egress").and_then(Value::as_array).is_some_and(|rules| !rules.is_empty());
    let types = if has_egress { json!(["Ingress", "Egress"]) } else { json!(["Ingress"]) };
    zero(spec, "policyTypes", types);
}

fn priority_and_devices(type_name: &str) -> Option<Rule> {
    Some(match type_name {
        "scheduling.v1.PriorityClass" => |class| unset(class, "preemptionPolicy", "PreemptLowerPriority"),
        "flowcontrol.v1.FlowSchemaSpec" => |spec| zero(spec, "matchingPrecedence", 1000),
        "flowcontrol.v1.ExemptPriorityLevelConfiguration" => |level| {
            unset(level, "nominalConcurrencyShares", 0);
            unset(level, "lendablePercent", 0);
        },
        "flowcontrol.v1.LimitedPriorityLevelConfiguration" => |level| {
            unset(level, "nominalConcurrencyShares", 30);
            unset(level, "lendablePercent", 0);
        },
        "flowcontrol.v1.QueuingConfiguration" => |queues| {
            zero(queues, "handSize", 8);
            zero(queues, "queues", 64);
            zero(queues, "queueLengthLimit", 50);
        },
        "resource.v1.ExactDeviceRequest" | "resource.v1.DeviceSubRequest" => |request| {
            zero(request, "allocationMode", "ExactCount");
            if text(request, "allocationMode") == "ExactCount" {
                zero(request, "count", 1);
            }
        },
        "resource.v1.DeviceToleration" => |toleration| zero(toleration, "operator", "Equal"),
        "resource.v1.Device" => |device| {
            let mappings = part(device, "nodeAllocatableResourceMappings");
            for mapping in mappings.into_iter().flat_map(|mappings| mappings.values_mut()) {
                if let Value::Object(mapping) = mapping {
                    unset(mapping, "allocationMultiplier", "1");
                }
            }
        },
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::filled;
    use super::*;

    #[test]
    fn users_and_groups_have_a_group_and_service_accounts_have_none() {
        let binding = filled(
            json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
            "roleRef": {"kind": "ClusterRole", "name": "a"},
            "subjects": [{"kind": "User", "name": "u"}, {"kind": "ServiceAccount", "name": "s", "namespace": "n"}]}),
        );
        assert_eq!(binding["roleRef"]["apiGroup"], RBAC);
        assert_eq!(binding["subjects"][0]["apiGroup"], RBAC);
        assert_eq!(binding["subjects"][1], json!({"kind": "ServiceAccount", "name": "s", "namespace": "n"}));
    }

    #[test]
    fn a_definition_derives_its_names_from_its_kind() {
        let definition =
            filled(json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "spec": {"group": "g", "scope": "Cluster", "names": {"plural": "as", "kind": "A"},
                "versions": [{"name": "v0"}, {"name": "v1", "storage": true}],
                "conversion": {"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"],
                    "clientConfig": {"service": {"name": "s", "namespace": "n"}}}}}}));
        assert_eq!(
            definition["spec"]["names"],
            json!({"plural": "as", "kind": "A", "singular": "a", "listKind": "AList"})
        );
        assert_eq!(definition["spec"]["conversion"]["webhook"]["clientConfig"]["service"]["port"], 443);
        assert_eq!(definition["status"]["storedVersions"], json!(["v1"]));
    }

    #[test]
    fn a_policy_is_about_egress_only_when_it_has_rules_for_it() {
        let types = |spec: Value| {
            let object = json!({"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "spec": spec});
            filled(object)["spec"]["policyTypes"].clone()
        };
        assert_eq!(types(json!({})), json!(["Ingress"]));
        assert_eq!(types(json!({"egress": [{}]})), json!(["Ingress", "Egress"]));
        assert_eq!(types(json!({"egress": [{}], "policyTypes": ["Egress"]})), json!(["Egress"]));
    }

    #[test]
    fn webhooks_and_their_rules_get_everything_they_do_not_say() {
        let hooks = filled(
            json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration",
            "webhooks": [{"name": "a", "sideEffects": "None", "admissionReviewVersions": ["v1"],
                "clientConfig": {"service": {"name": "s", "namespace": "n"}}, "rules": [{"operations": ["*"]}]}]}),
        );
        assert_eq!(
            hooks["webhooks"][0],
            json!({"name": "a", "sideEffects": "None", "admissionReviewVersions": ["v1"], "failurePolicy": "Fail",
                "matchPolicy": "Equivalent", "namespaceSelector": {}, "objectSelector": {}, "timeoutSeconds": 10,
                "reinvocationPolicy": "Never", "rules": [{"operations": ["*"], "scope": "*"}],
                "clientConfig": {"service": {"name": "s", "namespace": "n", "port": 443}}})
        );
    }
}
