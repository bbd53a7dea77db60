//! Containers of a pod.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::meta::{Cursor, NameRule, names};

use super::quantity::Quantity;
use super::scalars::{
    Errors, amount_not_negative, descending_path, dns_label, not_negative, one_of, port, required_name,
};

/// What the containers of one pod share.
pub(super) struct Pod<'v> {
    /// The well-formed volumes by name.
    pub volumes: BTreeMap<&'v str, &'v Value>,
    /// The time that the pod gets to end.
    pub grace_period: Option<i64>,
}

const ONE_HANDLER: &str = "may not specify more than 1 handler type";
const NO_SIDECAR: &str = "may not be set for init containers without restartPolicy=Always";

/// The containers of a pod.
pub(super) fn containers(list: &Cursor<'_, '_>, pod: &Pod<'_>, errors: &mut Errors) {
    if list.is_empty() {
        errors.push(list.required(""));
        return;
    }
    let mut seen = BTreeSet::new();
    for container in list.items() {
        common(&container, pod, errors);
        if !seen.insert(container.field("name").text()) {
            errors.push(container.field("name").duplicate());
        }
        hooks_and_probes(&container, pod, errors);
    }
    let mut ports = BTreeSet::new();
    for container in list.items() {
        host_ports(&container, &mut ports, errors);
    }
}

/// The containers that run before the others.
pub(super) fn init_containers(
    list: &Cursor<'_, '_>,
    regular: &Cursor<'_, '_>,
    pod: &Pod<'_>,
    errors: &mut Errors,
) {
    let mut seen: BTreeSet<&str> = regular.items().map(|it| it.field("name").text()).collect();
    for container in list.items() {
        common(&container, pod, errors);
        let name = container.field("name");
        if !name.is_empty() && !seen.insert(name.text()) {
            errors.push(name.duplicate());
        }
        host_ports(&container, &mut BTreeSet::new(), errors);
        if container.field("restartPolicy").text() == "Always" {
            hooks_and_probes(&container, pod, errors);
        } else {
            for field in ["lifecycle", "livenessProbe", "readinessProbe", "startupProbe"] {
                if container.field(field).is_set() {
                    errors.push(container.field(field).forbidden(NO_SIDECAR));
                }
            }
        }
    }
}

fn common(container: &Cursor<'_, '_>, pod: &Pod<'_>, errors: &mut Errors) {
    required_name(&container.field("name"), names::dns_label, errors);
    if container.field("image").is_empty() {
        errors.push(container.field("image").required(""));
    }
    one_of(&container.field("terminationMessagePolicy"), &["File", "FallbackToLogsOnError"], errors);
    ports(&container.field("ports"), errors);
    env(&container.field("env"), errors);
    env_from(&container.field("envFrom"), errors);
    mounts(container, pod, errors);
    devices(container, pod, errors);
    one_of(&container.field("imagePullPolicy"), &["Always", "IfNotPresent", "Never"], errors);
    resources(&container.field("resources"), errors);
    security_context(&container.field("securityContext"), errors);
}

fn ports(ports: &Cursor<'_, '_>, errors: &mut Errors) {
    let mut seen = BTreeSet::new();
    for port in ports.items() {
        let (name, number, host) = (port.field("name"), port.field("containerPort"), port.field("hostPort"));
        if !name.is_empty() {
            let sentences = names::port_name(name.text());
            if sentences.is_empty() && !seen.insert(name.text()) {
                errors.push(name.duplicate());
            }
            name.each_invalid(sentences, errors);
        }
        match number.number().unwrap_or(0) {
            0 => errors.push(number.required("")),
            value => number.each_invalid(names::port_number(value), errors),
        }
        if let Some(value) = host.number().filter(|it| *it != 0) {
            host.each_invalid(names::port_number(value), errors);
        }
        one_of(&port.field("protocol"), &["SCTP", "TCP", "UDP"], errors);
    }
}

fn host_ports(container: &Cursor<'_, '_>, seen: &mut BTreeSet<String>, errors: &mut Errors) {
    for port in container.field("ports").items() {
        let host = port.field("hostPort");
        if let Some(number) = host.number().filter(|it| *it != 0) {
            let key = format!("{}/{}/{number}", port.field("protocol").text(), port.field("hostIP").text());
            if !seen.insert(key.clone()) {
                errors.push(crate::status::FieldError::duplicate(host.path(), key));
            }
        }
    }
}

fn env(env: &Cursor<'_, '_>, errors: &mut Errors) {
    for variable in env.items() {
        required_name(&variable.field("name"), names::env_name, errors);
        let from = variable.field("valueFrom");
        if !from.is_set() {
            continue;
        }
        let mut sources = 0;
        if from.field("fieldRef").is_set() {
            sources += 1;
            field_ref(&from.field("fieldRef"), ENV_FIELDS, errors);
        }
        if from.field("resourceFieldRef").is_set() {
            sources += 1;
            resource_ref(&from.field("resourceFieldRef"), false, errors);
        }
        for name in ["configMapKeyRef", "secretKeyRef"] {
            let reference = from.field(name);
            if reference.is_set() {
                sources += 1;
                let target = reference.field("name");
                for sentence in NameRule::Subdomain.check(target.text(), false) {
                    errors.push(target.invalid(sentence));
                }
                required_name(&reference.field("key"), names::config_key, errors);
            }
        }
        if from.field("fileKeyRef").is_set() {
            sources += 1;
        }
        let detail = if sources == 0 {
            "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
        } else if !variable.field("value").is_empty() {
            "may not be specified when `value` is not empty"
        } else if sources > 1 {
            "may not have more than one field specified at a time"
        } else {
            continue;
        };
        errors.push(from.invalid_as("", detail));
    }
}

const ENV_FIELDS: &[&str] = &[
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];

/// The fields that a volume of the downward API may show.
pub(super) const VOLUME_FIELDS: &[&str] =
    &["metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid"];

/// A reference to a field of the pod itself.
pub(super) fn field_ref(reference: &Cursor<'_, '_>, known: &[&str], errors: &mut Errors) {
    for name in ["apiVersion", "fieldPath"] {
        if reference.field(name).is_empty() {
            errors.push(reference.field(name).required(""));
            return;
        }
    }
    let path = reference.field("fieldPath");
    let subscript =
        path.text().split_once("['").and_then(|(map, rest)| Some((map, rest.strip_suffix("']")?)));
    match subscript {
        Some((map @ ("metadata.annotations" | "metadata.labels"), key)) => {
            let key = if map == "metadata.annotations" { key.to_lowercase() } else { key.to_owned() };
            for sentence in names::qualified_name(&key) {
                errors.push(reference.invalid_as(key.as_str(), sentence));
            }
        }
        Some((map, _)) => {
            errors.push(path.invalid(format!(
                "error converting fieldPath: field label does not support subscript: {map}"
            )));
        }
        None if known.contains(&path.text()) => {}
        None if ENV_FIELDS.contains(&path.text()) || VOLUME_FIELDS.contains(&path.text()) => {
            errors.push(path.not_supported(known));
        }
        None => {
            errors.push(
                path.invalid(format!(
                    "error converting fieldPath: field label not supported: {}",
                    path.text()
                )),
            );
        }
    }
}

const RESOURCE_FIELDS: &[&str] = &[
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
];

/// A reference to an amount of a container.
pub(super) fn resource_ref(reference: &Cursor<'_, '_>, in_volume: bool, errors: &mut Errors) {
    let (container, resource) = (reference.field("containerName"), reference.field("resource"));
    if in_volume && container.is_empty() {
        errors.push(container.required(""));
    } else if resource.is_empty() {
        errors.push(resource.required(""));
    } else if !RESOURCE_FIELDS.contains(&resource.text())
        && !["limits.hugepages-", "requests.hugepages-"].iter().any(|it| resource.text().starts_with(it))
    {
        errors.push(resource.not_supported(RESOURCE_FIELDS));
    }
}

fn env_from(sources: &Cursor<'_, '_>, errors: &mut Errors) {
    for source in sources.items() {
        let prefix = source.field("prefix");
        if !prefix.is_empty() {
            prefix.each_invalid(names::env_name(prefix.text()), errors);
        }
        let mut count = 0;
        for name in ["configMapRef", "secretRef"] {
            let reference = source.field(name);
            if reference.is_set() {
                count += 1;
                let target = reference.field("name");
                if target.is_empty() {
                    errors.push(target.required(""));
                } else {
                    target.each_invalid(NameRule::Subdomain.check(target.text(), true), errors);
                }
            }
        }
        match count {
            0 => errors.push(sources.invalid_as("", "must specify one of: `configMapRef` or `secretRef`")),
            1 => {}
            _ => errors.push(sources.invalid_as("", "may not have more than one field specified at a time")),
        }
    }
}

fn mounts(container: &Cursor<'_, '_>, pod: &Pod<'_>, errors: &mut Errors) {
    let all = container.field("volumeMounts");
    let device_list = container.field("volumeDevices");
    let mut paths = BTreeSet::new();
    for mount in all.items() {
        let (name, path) = (mount.field("name"), mount.field("mountPath"));
        if name.is_empty() {
            errors.push(name.required(""));
        }
        if !pod.volumes.contains_key(name.text()) {
            errors.push(name.not_found());
        }
        if path.is_empty() {
            errors.push(path.required(""));
        }
        if !paths.insert(path.text()) {
            errors.push(path.invalid("must be unique"));
        }
        for device in device_list.items() {
            if device.field("name").text() == name.text() {
                errors.push(name.invalid("must not already exist in volumeDevices"));
            }
            if device.field("devicePath").text() == path.text() {
                errors.push(path.invalid("must not already exist as a path in volumeDevices"));
            }
        }
        let (sub, expression) = (mount.field("subPath"), mount.field("subPathExpr"));
        if !sub.is_empty() {
            descending_path(&all.field("subPath"), sub.text(), errors);
        }
        if !expression.is_empty() {
            if !sub.is_empty() {
                errors.push(expression.invalid("subPathExpr and subPath are mutually exclusive"));
            }
            descending_path(&all.field("subPathExpr"), expression.text(), errors);
        }
        let propagation = mount.field("mountPropagation");
        if propagation.is_set() {
            let at = all.field_with("mountPropagation", propagation.value());
            if !["Bidirectional", "HostToContainer", "None"].contains(&propagation.text()) {
                errors.push(at.not_supported(&["Bidirectional", "HostToContainer", "None"]));
            }
            if propagation.text() == "Bidirectional"
                && !container.field("securityContext").field("privileged").is_true()
            {
                errors.push(
                    at.forbidden(
                        "Bidirectional mount propagation is available only to privileged containers",
                    ),
                );
            }
        }
    }
}

fn devices(container: &Cursor<'_, '_>, pod: &Pod<'_>, errors: &mut Errors) {
    let (mut paths, mut seen) = (BTreeSet::new(), BTreeSet::new());
    for device in container.field("volumeDevices").items() {
        let (name, path) = (device.field("name"), device.field("devicePath"));
        if name.is_empty() {
            errors.push(name.required(""));
        }
        if !seen.insert(name.text()) {
            errors.push(name.invalid("must be unique"));
        }
        match pod.volumes.get(name.text()) {
            None => errors.push(name.not_found()),
            Some(volume)
                if volume.get("persistentVolumeClaim").is_none() && volume.get("ephemeral").is_none() =>
            {
                errors.push(name.invalid(
                    "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode",
                ));
            }
            Some(_) => {}
        }
        if path.is_empty() {
            errors.push(path.required(""));
        }
        if !paths.insert(path.text()) {
            errors.push(path.invalid("must be unique"));
        }
    }
}

fn hooks_and_probes(container: &Cursor<'_, '_>, pod: &Pod<'_>, errors: &mut Errors) {
    let lifecycle = container.field("lifecycle");
    for hook in ["postStart", "preStop"] {
        let hook = lifecycle.field(hook);
        if hook.is_set() {
            handler(&hook, pod.grace_period, errors);
        }
    }
    for name in ["livenessProbe", "readinessProbe", "startupProbe"] {
        let probe = container.field(name);
        if !probe.is_set() {
            continue;
        }
        handler(&probe, pod.grace_period, errors);
        for number in
            ["initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"]
        {
            not_negative(&probe.field(number), errors);
        }
        let period = probe.field("terminationGracePeriodSeconds");
        if period.number().is_some_and(|it| it <= 0) {
            errors.push(period.invalid("must be greater than 0"));
        }
        if name == "readinessProbe" {
            if period.is_set() {
                errors.push(period.invalid("must not be set for readinessProbes"));
            }
        } else if probe.field("successThreshold").number().is_some_and(|it| it != 1) {
            errors.push(probe.field("successThreshold").invalid("must be 1"));
        }
    }
}

fn handler(at: &Cursor<'_, '_>, grace_period: Option<i64>, errors: &mut Errors) {
    let mut found = false;
    for name in ["exec", "httpGet", "tcpSocket", "grpc", "sleep"] {
        let action = at.field(name);
        if !action.is_set() {
            continue;
        }
        if found {
            errors.push(action.forbidden(ONE_HANDLER));
            continue;
        }
        found = true;
        match name {
            "exec" => {
                if action.field("command").is_empty() {
                    errors.push(action.field("command").required(""));
                }
            }
            "httpGet" => http_get(&action, errors),
            "sleep" => {
                let seconds = action.field("seconds").number().unwrap_or(0);
                if let Some(most) = grace_period.filter(|most| seconds < 0 || seconds > *most) {
                    let detail =
                        format!("must be non-negative and less than terminationGracePeriodSeconds ({most})");
                    errors.push(action.invalid_as(seconds, detail));
                }
            }
            _ => port(&action.field("port"), errors),
        }
    }
    if !found {
        errors.push(at.required("must specify a handler type"));
    }
}

fn http_get(action: &Cursor<'_, '_>, errors: &mut Errors) {
    if action.field("path").is_empty() {
        errors.push(action.field("path").required(""));
    }
    port(&action.field("port"), errors);
    if !["HTTP", "HTTPS"].contains(&action.field("scheme").text()) {
        errors.push(action.field("scheme").not_supported(&["HTTP", "HTTPS"]));
    }
    let headers = action.field("httpHeaders");
    for header in headers.items() {
        let name = header.field("name").text();
        for sentence in names::header_name(name) {
            errors.push(headers.invalid_as(name, sentence));
        }
    }
}

/// Requests and limits of a container or a pod.
pub(super) fn resources(resources: &Cursor<'_, '_>, errors: &mut Errors) {
    let (limits, requests) = (resources.field("limits"), resources.field("requests"));
    for (name, _) in limits.entries() {
        resource(&limits.key(name), name, errors);
    }
    for (name, value) in requests.entries() {
        resource(&requests.key(name), name, errors);
        let limit = limits.key(name);
        let can_exceed = !name.starts_with("hugepages-") && is_native(name);
        match (Quantity::of(value), Quantity::of(limit.value())) {
            (Some(request), Some(most)) => {
                let texts = (value.as_str().unwrap_or_default(), limit.text());
                if request != most && !can_exceed {
                    errors.push(
                        requests.invalid_as(texts.0, format!("must be equal to {name} limit of {}", texts.1)),
                    );
                } else if request > most {
                    let detail = format!("must be less than or equal to {name} limit of {}", texts.1);
                    errors.push(requests.invalid_as(texts.0, detail));
                }
            }
            (_, None) if !limit.is_set() && !can_exceed => {
                errors.push(limits.required("Limit must be set for non overcommitable resources"));
            }
            _ => {}
        }
    }
}

fn is_native(name: &str) -> bool {
    !name.contains('/') || name.contains("kubernetes.io/")
}

fn resource(value: &Cursor<'_, '_>, name: &str, errors: &mut Errors) {
    let sentences = names::qualified_name(name);
    let is_wrong = !sentences.is_empty();
    for sentence in sentences {
        errors.push(value.invalid_as(name, sentence));
    }
    let is_standard =
        matches!(name, "cpu" | "memory" | "ephemeral-storage") || name.starts_with("hugepages-");
    if !is_wrong && !name.contains('/') && !is_standard {
        errors.push(value.invalid_as(name, "must be a standard resource type or fully qualified"));
        errors.push(value.invalid_as(name, "must be a standard resource for containers"));
    }
    amount_not_negative(value, errors);
    if !is_native(name) && Quantity::of(value.value()).is_some_and(|it| !it.is_whole()) {
        errors.push(value.invalid("must be an integer"));
    }
}

fn security_context(context: &Cursor<'_, '_>, errors: &mut Errors) {
    if !context.is_set() {
        return;
    }
    for name in ["runAsUser", "runAsGroup"] {
        user_id(&context.field(name), errors);
    }
    seccomp(&context.field("seccompProfile"), errors);
    if context.field("allowPrivilegeEscalation").value() == &Value::Bool(false) {
        if context.field("privileged").is_true() {
            errors.push(
                context.invalid("cannot set `allowPrivilegeEscalation` to false and `privileged` to true"),
            );
        }
        if context.field("capabilities").field("add").list().iter().any(|it| it == "CAP_SYS_ADMIN") {
            errors.push(context.invalid(
                "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN",
            ));
        }
    }
}

/// The number of a user or a group.
pub(super) fn user_id(id: &Cursor<'_, '_>, errors: &mut Errors) {
    if let Some(number) = id.number() {
        id.each_invalid(names::in_range(number, 0, i64::from(i32::MAX)), errors);
    }
}

/// The rules about system calls.
pub(super) fn seccomp(profile: &Cursor<'_, '_>, errors: &mut Errors) {
    if !profile.is_set() {
        return;
    }
    let (kind, file) = (profile.field("type"), profile.field("localhostProfile"));
    if kind.is_empty() {
        errors.push(kind.required("type is required when seccompProfile is set"));
    } else if !["Localhost", "RuntimeDefault", "Unconfined"].contains(&kind.text()) {
        errors.push(kind.not_supported(&["Localhost", "RuntimeDefault", "Unconfined"]));
    }
    if kind.text() == "Localhost" {
        if file.is_set() {
            descending_path(&file, file.text(), errors);
        } else {
            errors.push(file.required("must be set when seccomp type is Localhost"));
        }
    } else if file.is_set() {
        errors
            .push(file.invalid_as(profile.value().clone(), "can only be set when seccomp type is Localhost"));
    }
}

/// The name of something a pod refers to, where a label is wanted.
pub(super) fn optional_label(value: &Cursor<'_, '_>, errors: &mut Errors) {
    if !value.is_empty() {
        dns_label(value, errors);
    }
}
