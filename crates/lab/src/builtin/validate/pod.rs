//! Pods and templates of pods.

use serde_json::Value;

use crate::meta::{self, Cursor, names};

use super::container::{self, Pod, optional_label, seccomp, user_id};
use super::scalars::{Errors, immutable, ip_address, one_of, optional_one_of, same};
use super::volume;

const UPDATABLE: &str = "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,\
                         `spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),\
                         `spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";

/// A template of pods. Its labels and annotations are named without `metadata`, as in the real server.
pub(super) fn template(template: &Cursor<'_, '_>, errors: &mut Errors) {
    let metadata = template.field("metadata");
    meta::labels(&template.field_with("labels", metadata.field("labels").value()), errors);
    let annotations = template.field_with("annotations", metadata.field("annotations").value());
    meta::annotations(&annotations, errors);
    spec(&template.field("spec"), false, errors);
    let ephemeral = template.field("spec");
    if !ephemeral.field("ephemeralContainers").is_empty() {
        let detail = "ephemeral containers not allowed in pod template";
        errors.push(ephemeral.field("ephemeralContainers").forbidden(detail));
    }
}

/// A template whose labels a selector must select, and whose pods run for ever; `owner` names the kind in messages.
pub(super) fn selected_template(at: &Cursor<'_, '_>, selector: &Value, owner: &str, errors: &mut Errors) {
    let metadata = at.field("metadata");
    let labels = metadata.field("labels");
    let is_empty = selector.as_object().is_some_and(|map| {
        map.values().all(|part| {
            part.as_object().is_some_and(serde_json::Map::is_empty)
                || part.as_array().is_some_and(Vec::is_empty)
        })
    });
    if !is_empty && (selector.is_null() || !meta::selects(selector, labels.value())) {
        errors.push(labels.invalid_as(labels.value().clone(), "`selector` does not match template `labels`"));
    }
    template(at, errors);
    runs_for_ever(&at.field("spec"), owner, errors);
}

/// The pods of a workload start again, and have no deadline.
pub(super) fn runs_for_ever(spec: &Cursor<'_, '_>, owner: &str, errors: &mut Errors) {
    if spec.field("restartPolicy").text() != "Always" {
        errors.push(spec.field("restartPolicy").not_supported(&["Always"]));
    }
    if spec.field("activeDeadlineSeconds").is_set() {
        let detail = format!("activeDeadlineSeconds in {owner} is not Supported");
        errors.push(spec.field("activeDeadlineSeconds").forbidden(detail));
    }
}

/// The spec of a pod, or of a template when `is_pod` is not set.
pub(super) fn spec(spec: &Cursor<'_, '_>, is_pod: bool, errors: &mut Errors) {
    let grace = spec.field("terminationGracePeriodSeconds");
    if !grace.is_set() {
        errors.push(grace.required(""));
    }
    let volumes = volume::volumes(&spec.field("volumes"), errors);
    let pod = Pod { volumes, grace_period: grace.number() };
    let containers = spec.field("containers");
    container::containers(&containers, &pod, errors);
    container::init_containers(&spec.field("initContainers"), &containers, &pod, errors);
    host_network(spec, is_pod, errors);
    one_of(&spec.field("restartPolicy"), &["Always", "OnFailure", "Never"], errors);
    one_of(&spec.field("dnsPolicy"), &["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"], errors);
    meta::labels(&spec.field("nodeSelector"), errors);
    security_context(spec, errors);
    for secret in spec.field("imagePullSecrets").items() {
        if secret.map().is_some_and(|map| map.keys().any(|key| key != "name")) {
            errors.push(secret.invalid("only name may be set"));
        }
    }
    affinity(&spec.field("affinity"), errors);
    dns_config(spec, errors);
    for gate in spec.field("readinessGates").items() {
        let kind = gate.field("conditionType");
        kind.each_invalid(names::qualified_name(kind.text()), errors);
    }
    topology(&spec.field("topologySpreadConstraints"), errors);
    for name in ["serviceAccountName", "nodeName"] {
        let value = spec.field(name);
        if !value.is_empty() {
            value.each_invalid(names::dns_subdomain(value.text()), errors);
        }
    }
    let deadline = spec.field("activeDeadlineSeconds");
    if let Some(number) = deadline.number() {
        deadline.each_invalid(names::in_range(number, 1, i64::from(i32::MAX)), errors);
    }
    for name in ["hostname", "subdomain"] {
        optional_label(&spec.field(name), errors);
    }
    tolerations(&spec.field("tolerations"), errors);
    for alias in spec.field("hostAliases").items() {
        ip_address(&alias.field("ip"), errors);
        for name in alias.field("hostnames").items() {
            volume::host_name(&name, errors);
        }
    }
    for name in ["priorityClassName", "runtimeClassName"] {
        let value = spec.field(name);
        if value.is_set() && !(name == "priorityClassName" && value.is_empty()) {
            value.each_invalid(names::dns_subdomain(value.text()), errors);
        }
    }
    optional_one_of(&spec.field("preemptionPolicy"), &["PreemptLowerPriority", "Never"], errors);
}

fn host_network(spec: &Cursor<'_, '_>, is_pod: bool, errors: &mut Errors) {
    if !spec.field("hostNetwork").is_true() {
        return;
    }
    for container in spec.field("containers").items() {
        for port in container.field("ports").items() {
            let host = port.field("hostPort").number().unwrap_or(0);
            if (is_pod || host != 0) && port.field("containerPort").number().unwrap_or(0) != host {
                let detail = "must match `containerPort` when `hostNetwork` is true";
                errors.push(port.field("hostPort").invalid_as(host, detail));
            }
        }
    }
}

fn security_context(spec: &Cursor<'_, '_>, errors: &mut Errors) {
    let context = spec.field("securityContext");
    if !context.is_set() {
        return;
    }
    for name in ["fsGroup", "runAsUser", "runAsGroup"] {
        user_id(&context.field(name), errors);
    }
    for group in context.field("supplementalGroups").items() {
        user_id(&group, errors);
    }
    if spec.field("shareProcessNamespace").is_true() && spec.field("hostPID").is_true() {
        let detail = "ShareProcessNamespace and HostPID cannot both be enabled";
        errors.push(context.field("shareProcessNamespace").invalid_as(true, detail));
    }
    optional_one_of(&context.field("fsGroupChangePolicy"), &["Always", "OnRootMismatch"], errors);
    seccomp(&context.field("seccompProfile"), errors);
    optional_one_of(&context.field("supplementalGroupsPolicy"), &["Merge", "Strict"], errors);
}

fn dns_config(spec: &Cursor<'_, '_>, errors: &mut Errors) {
    let config = spec.field("dnsConfig");
    if spec.field("dnsPolicy").text() == "None" {
        if !config.is_set() {
            errors.push(config.required("must provide `dnsConfig` when `dnsPolicy` is None"));
            return;
        }
        if config.field("nameservers").is_empty() {
            let detail = "must provide at least one DNS nameserver when `dnsPolicy` is None";
            errors.push(config.field("nameservers").required(detail));
            return;
        }
    }
    let servers = config.field("nameservers");
    if servers.list().len() > 3 {
        errors.push(servers.invalid("must not have more than 3 nameservers"));
    }
    for server in servers.items() {
        ip_address(&server, errors);
    }
    if config.field("searches").list().len() > 32 {
        errors.push(config.field("searches").invalid("must not have more than 32 search paths"));
    }
    for option in config.field("options").items() {
        if option.field("name").is_empty() {
            errors.push(option.required("must not be empty"));
        }
    }
}

fn topology(constraints: &Cursor<'_, '_>, errors: &mut Errors) {
    let key = |at: &Cursor<'_, '_>| {
        (at.field("topologyKey").text().to_owned(), at.field("whenUnsatisfiable").text().to_owned())
    };
    for (index, constraint) in constraints.items().enumerate() {
        let skew = constraint.field("maxSkew");
        if skew.number().unwrap_or(0) <= 0 {
            errors.push(skew.invalid_as(skew.number().unwrap_or(0), "must be greater than zero"));
        }
        if constraint.field("topologyKey").is_empty() {
            errors.push(constraint.field("topologyKey").required("can not be empty"));
        }
        let action = constraint.field("whenUnsatisfiable");
        if !["DoNotSchedule", "ScheduleAnyway"].contains(&action.text()) {
            errors.push(action.not_supported(&["DoNotSchedule", "ScheduleAnyway"]));
        }
        let this = key(&constraint);
        if constraints.items().skip(index + 1).any(|other| key(&other) == this) {
            let field = constraint.field("{topologyKey, whenUnsatisfiable}").path();
            errors.push(crate::status::FieldError::duplicate(field, format!("{{{}, {}}}", this.0, this.1)));
        }
        meta::label_selector(&constraint.field("labelSelector"), errors);
    }
}

fn affinity(affinity: &Cursor<'_, '_>, errors: &mut Errors) {
    const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
    const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";
    let node = affinity.field("nodeAffinity");
    let required = node.field(REQUIRED);
    if required.is_set() {
        let terms = required.field("nodeSelectorTerms");
        if terms.is_empty() {
            errors.push(terms.required("must have at least one node selector term"));
        }
        for term in terms.items() {
            node_term(&term, true, errors);
        }
    }
    let weight = |term: &Cursor<'_, '_>, errors: &mut Errors| {
        let weight = term.field("weight").number().unwrap_or(0);
        if !(1..=100).contains(&weight) {
            errors.push(term.field("weight").invalid_as(weight, "must be in the range 1-100"));
        }
    };
    for term in node.field(PREFERRED).items() {
        weight(&term, errors);
        node_term(&term.field("preference"), false, errors);
    }
    for name in ["podAffinity", "podAntiAffinity"] {
        let part = affinity.field(name);
        for term in part.field(REQUIRED).items() {
            pod_term(&term, errors);
        }
        for term in part.field(PREFERRED).items() {
            weight(&term, errors);
            pod_term(&term.field("podAffinityTerm"), errors);
        }
    }
}

fn node_term(term: &Cursor<'_, '_>, checks_values: bool, errors: &mut Errors) {
    for requirement in term.field("matchExpressions").items() {
        let (operator, values, key) =
            (requirement.field("operator"), requirement.field("values"), requirement.field("key"));
        match operator.text() {
            "In" | "NotIn" if values.is_empty() => {
                errors.push(values.required("must be specified when `operator` is 'In' or 'NotIn'"));
            }
            "Exists" | "DoesNotExist" if !values.is_empty() => {
                errors.push(
                    values.forbidden("may not be specified when `operator` is 'Exists' or 'DoesNotExist'"),
                );
            }
            "Gt" | "Lt" if values.list().len() != 1 => {
                errors
                    .push(values.required("must be specified single value when `operator` is 'Lt' or 'Gt'"));
            }
            "In" | "NotIn" | "Exists" | "DoesNotExist" | "Gt" | "Lt" => {}
            _ => errors.push(operator.invalid("not a valid selector operator")),
        }
        key.each_invalid(names::qualified_name(key.text()), errors);
        for value in values.items().filter(|_| checks_values) {
            value.each_invalid(names::label_value(value.text()), errors);
        }
    }
}

fn pod_term(term: &Cursor<'_, '_>, errors: &mut Errors) {
    meta::label_selector(&term.field("labelSelector"), errors);
    meta::label_selector(&term.field("namespaceSelector"), errors);
    for namespace in term.field("namespaces").list() {
        let name = namespace.as_str().unwrap_or_default();
        for sentence in names::dns_label(name) {
            errors.push(term.field("namespace").invalid_as(name, sentence));
        }
    }
    let key = term.field("topologyKey");
    if key.is_empty() {
        errors.push(key.required("can not be empty"));
    }
    key.each_invalid(names::qualified_name(key.text()), errors);
}

/// What a pod bears of nodes.
pub(super) fn tolerations(tolerations: &Cursor<'_, '_>, errors: &mut Errors) {
    for toleration in tolerations.items() {
        let (key, operator) = (toleration.field("key"), toleration.field("operator"));
        let (value, effect) = (toleration.field("value"), toleration.field("effect"));
        if !key.is_empty() {
            key.each_invalid(names::qualified_name(key.text()), errors);
        } else if operator.text() != "Exists" {
            let detail =
                "operator must be Exists when `key` is empty, which means \"match all values and all keys\"";
            errors.push(operator.invalid(detail));
        }
        if toleration.field("tolerationSeconds").is_set() && effect.text() != "NoExecute" {
            errors.push(effect.invalid("effect must be 'NoExecute' when `tolerationSeconds` is set"));
        }
        match operator.text() {
            "Equal" | "" => {
                let sentences = names::label_value(value.text());
                if !sentences.is_empty() {
                    errors.push(operator.invalid_as(value.text(), sentences.join(";")));
                }
            }
            "Exists" => {
                if !value.is_empty() {
                    errors.push(
                        operator.invalid_as(value.text(), "value must be empty when `operator` is 'Exists'"),
                    );
                }
            }
            "Lt" | "Gt" => errors.push(operator.not_supported(&["Equal", "Exists", "Lt", "Gt"])),
            _ => errors.push(operator.not_supported(&["Equal", "Exists"])),
        }
        if !effect.is_empty() {
            one_of(&effect, &["NoSchedule", "PreferNoSchedule", "NoExecute"], errors);
        }
    }
}

/// A new pod; its metadata is checked already.
pub(super) fn create(root: &Cursor<'_, '_>, errors: &mut Errors) {
    pod(root, errors);
    let pod_spec = root.field("spec");
    if !pod_spec.field("ephemeralContainers").is_empty() {
        errors.push(pod_spec.field("ephemeralContainers").forbidden("cannot be set on create"));
    }
    if !pod_spec.field("nodeName").is_empty() && !pod_spec.field("schedulingGates").is_empty() {
        let detail = "cannot be set until all schedulingGates have been cleared";
        errors.push(pod_spec.field("nodeName").forbidden(detail));
    }
}

fn pod(root: &Cursor<'_, '_>, errors: &mut Errors) {
    let pod_spec = root.field("spec");
    let metadata = root.field("metadata");
    let annotations = metadata.field("annotations");
    let mirror = annotations.key("kubernetes.io/config.mirror");
    if mirror.is_set() && pod_spec.field("nodeName").is_empty() {
        errors.push(mirror.invalid("must set spec.nodeName if mirror pod annotation is set"));
    }
    spec(&pod_spec, true, errors);
    for list in ["containers", "initContainers"] {
        for container in pod_spec.field(list).items() {
            let image = container.field("image");
            if image.text().trim() != image.text() {
                errors.push(image.invalid("must not have leading or trailing whitespace"));
            }
        }
    }
}

/// An update of a pod: of its spec almost nothing may change.
pub(super) fn update(new: &Cursor<'_, '_>, old: &Cursor<'_, '_>, errors: &mut Errors) {
    pod(new, errors);
    let (spec, before) = (new.field("spec"), old.field("spec"));
    for list in ["containers", "initContainers"] {
        let (now, then) = (spec.field(list), before.field(list));
        if now.list().len() != then.list().len() {
            errors.push(now.forbidden("pod updates may not add or remove containers"));
            return;
        }
        for container in now.items() {
            let image = container.field("image");
            if image.is_empty() {
                errors.push(image.required(""));
            }
            if image.text().trim() != image.text() {
                errors.push(image.invalid("must not have leading or trailing whitespace"));
            }
        }
    }
    let (deadline, then) = (spec.field("activeDeadlineSeconds"), before.field("activeDeadlineSeconds"));
    match (deadline.number(), then.number()) {
        (Some(now), Some(then)) if then < now => {
            errors.push(deadline.invalid("must be less than or equal to previous value"));
            return;
        }
        (None, Some(_)) => {
            let detail = "must not update from a positive integer to nil value";
            errors.push(deadline.invalid_as(Value::Null, detail));
        }
        _ => {}
    }
    let (now, then) = (spec.field("tolerations"), before.field("tolerations"));
    let without_seconds = |value: &Value| {
        let mut value = value.clone();
        value.as_object_mut().map(|map| map.remove("tolerationSeconds"));
        value
    };
    let kept = |old: &Value| now.list().iter().any(|new| without_seconds(new) == without_seconds(old));
    if then.list().iter().all(kept) {
        tolerations(&now, errors);
    } else {
        errors.push(now.forbidden("existing toleration can not be modified except its tolerationSeconds"));
    }
    if !same_but_updatable(spec.value(), before.value()) {
        errors.push(spec.forbidden(UPDATABLE));
    }
}

fn same_but_updatable(new: &Value, old: &Value) -> bool {
    if new == old {
        return true;
    }
    let mut munged = new.clone();
    for list in ["containers", "initContainers"] {
        let before = old.get(list).and_then(Value::as_array).into_iter().flatten();
        let now = munged.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten();
        for (now, before) in now.zip(before) {
            now["image"] = before["image"].clone();
        }
    }
    let gated = old.get("schedulingGates").and_then(Value::as_array).is_some_and(|gates| !gates.is_empty());
    let mut free = vec!["activeDeadlineSeconds", "schedulingGates", "tolerations"];
    if gated {
        free.extend(["nodeSelector", "affinity"]);
    }
    if let Some(map) = munged.as_object_mut() {
        for name in free {
            match old.get(name) {
                Some(value) => drop(map.insert(name.into(), value.clone())),
                None => drop(map.remove(name)),
            }
        }
        if old["terminationGracePeriodSeconds"].as_i64().is_some_and(|it| it < 0)
            && map.get("terminationGracePeriodSeconds").and_then(Value::as_i64) == Some(1)
        {
            map.insert("terminationGracePeriodSeconds".into(), old["terminationGracePeriodSeconds"].clone());
        }
    }
    munged == *old
}

/// A write of the status of a pod.
pub(super) fn update_status(new: &Cursor<'_, '_>, old: &Cursor<'_, '_>, errors: &mut Errors) {
    let (status, before) = (new.field("status"), old.field("status"));
    let nominated = status.field("nominatedNodeName");
    if !nominated.is_empty() && !same(&nominated, &before.field("nominatedNodeName")) {
        nominated.each_invalid(names::dns_subdomain(nominated.text()), errors);
    }
    immutable(&status.field("qosClass"), &before.field("qosClass"), errors);
    for list in ["containerStatuses", "initContainerStatuses"] {
        restarted(list, &status, old, errors);
    }
}

/// A container that has ended for good does not run again.
fn restarted(list: &str, status: &Cursor<'_, '_>, old: &Cursor<'_, '_>, errors: &mut Errors) {
    let policy = old.field("spec").field("restartPolicy").text().to_owned();
    if policy == "Always" || policy.is_empty() {
        return;
    }
    for now in status.field(list).items() {
        let name = now.field("name").text();
        let before = old.field("status").field(list).list().iter().find(|it| it["name"] == name);
        let ended = before.and_then(|it| it["state"]["terminated"].as_object());
        let final_end = ended
            .is_some_and(|it| policy == "Never" || it.get("exitCode").and_then(Value::as_i64) == Some(0));
        if final_end && !now.field("state").field("terminated").is_set() {
            let detail = "may not be transitioned to non-terminated state";
            errors.push(now.field("state").forbidden(detail));
        }
    }
}
