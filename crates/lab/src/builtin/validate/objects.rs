//! Kinds with few checks of their own.

use crate::meta::{self, Cursor, names};
use crate::status::{FieldError, FieldErrorKind};

use super::scalars::{Errors, at_most_100_percent, immutable, number_or_percent, one_of, optional_one_of};

/// A `PodDisruptionBudget`.
pub(super) fn disruption_budget(new: &Cursor<'_, '_>, errors: &mut Errors) {
    let spec = new.field("spec");
    let numbers = [spec.field("minAvailable"), spec.field("maxUnavailable")];
    if numbers.iter().all(Cursor::is_set) {
        // The real server shows its own form of the structure.
        let shown = format!(
            r#"{{"MinAvailable":{},"Selector":{},"MaxUnavailable":{},"UnhealthyPodEvictionPolicy":{}}}"#,
            numbers[0].value(),
            spec.field("selector").value(),
            numbers[1].value(),
            spec.field("unhealthyPodEvictionPolicy").value()
        );
        errors.push(FieldError {
            kind: FieldErrorKind::Invalid,
            field: spec.path(),
            value: None,
            detail: format!("{shown}: minAvailable and maxUnavailable cannot be both set"),
        });
    }
    for number in numbers.iter().filter(|number| number.is_set()) {
        number_or_percent(number, errors);
        at_most_100_percent(number, errors);
    }
    meta::label_selector(&spec.field("selector"), errors);
    optional_one_of(&spec.field("unhealthyPodEvictionPolicy"), &["AlwaysAllow", "IfHealthyBudget"], errors);
}

/// A `PriorityClass`.
pub(super) fn priority_class(new: &Cursor<'_, '_>, old: Option<&Cursor<'_, '_>>, errors: &mut Errors) {
    let (value, policy) = (new.field("value"), new.field("preemptionPolicy"));
    if let Some(old) = old {
        let number = |at: &Cursor<'_, '_>| at.field("value").number().unwrap_or(0);
        if number(new) != number(old) {
            errors.push(value.forbidden("may not be changed in an update."));
        }
        immutable(&policy, &old.field("preemptionPolicy"), errors);
        return;
    }
    let metadata = new.field("metadata");
    let name = metadata.field("name");
    if name.text().starts_with("system-") {
        let known = match name.text() {
            "system-node-critical" => Some(2_000_001_000),
            "system-cluster-critical" => Some(2_000_000_000),
            _ => None,
        };
        let why = match known {
            None => format!("{} is not a known system priority class", name.text()),
            Some(known) if value.number() != Some(known) => {
                format!("value of {} PriorityClass must be {known}", name.text())
            }
            Some(_) if new.field("globalDefault").is_true() => {
                format!("globalDefault of {} PriorityClass must be false", name.text())
            }
            Some(_) => String::new(),
        };
        if !why.is_empty() {
            let detail = format!(
                "priority class names with 'system-' prefix are reserved for system use only. error: {why}"
            );
            errors.push(name.forbidden(detail));
        }
    } else if value.number().is_some_and(|it| it > 1_000_000_000) {
        errors.push(value.forbidden("maximum allowed value of a user defined priority is 1000000000"));
    }
    optional_one_of(&policy, &["PreemptLowerPriority", "Never"], errors);
}

/// A Lease.
pub(super) fn lease(new: &Cursor<'_, '_>, errors: &mut Errors) {
    let spec = new.field("spec");
    let (duration, transitions) = (spec.field("leaseDurationSeconds"), spec.field("leaseTransitions"));
    if duration.number().is_some_and(|it| it <= 0) {
        errors.push(duration.invalid("must be greater than 0"));
    }
    super::scalars::not_negative(&transitions, errors);
}

/// An Event of the old or the new group.
pub(super) fn event(group: &str, new: &Cursor<'_, '_>, old: Option<&Cursor<'_, '_>>, errors: &mut Errors) {
    let is_new = group == "events.k8s.io";
    let about = new.field(if is_new { "regarding" } else { "involvedObject" });
    let metadata = new.field("metadata");
    let (namespace, about_namespace) = (metadata.field("namespace").text(), about.field("namespace").text());
    let wrong = |errors: &mut Errors| {
        let detail = "does not match event.namespace";
        errors.push(FieldError::invalid("involvedObject.namespace", about_namespace, detail));
    };
    if new.field("eventTime").is_set() {
        if about_namespace.is_empty() && !matches!(namespace, "default" | "kube-system") {
            wrong(errors);
        }
        let controller = new.field(if is_new { "reportingController" } else { "reportingComponent" });
        if controller.is_empty() {
            errors.push(controller.required(""));
        }
        controller.each_invalid(names::qualified_name(controller.text()), errors);
        for (name, most) in [("reportingInstance", 128), ("action", 128), ("reason", 128)] {
            let value = new.field(name);
            if value.is_empty() {
                errors.push(value.required(""));
            }
            if value.text().len() > most {
                errors.push(value.invalid_as("", format!("can have at most {most} characters")));
            }
        }
        let message = new.field(if is_new { "note" } else { "message" });
        if message.text().len() > 1024 {
            errors.push(FieldError::invalid("message", "", "can have at most 1024 characters"));
        }
    } else if about_namespace.is_empty() {
        if !matches!(namespace, "" | "default") {
            wrong(errors);
        }
    } else if namespace != about_namespace {
        wrong(errors);
    }
    for sentence in names::dns_subdomain(namespace) {
        errors.push(FieldError::invalid("namespace", namespace, sentence));
    }
    if is_new {
        new_event(new, old, errors);
    }
}

fn new_event(new: &Cursor<'_, '_>, old: Option<&Cursor<'_, '_>>, errors: &mut Errors) {
    if let Some(old) = old {
        for name in [
            "regarding",
            "reason",
            "note",
            "type",
            "action",
            "related",
            "reportingController",
            "reportingInstance",
        ] {
            let shown = match name {
                "regarding" => "involvedObject",
                "note" => "message",
                name => name,
            };
            immutable(&new.field_with(shown, new.field(name).value()), &old.field(name), errors);
        }
        return;
    }
    errors.extend(meta::validate_meta_create(new.value(), true, meta::NameRule::Subdomain));
    if !new.field("eventTime").is_set() {
        errors.push(new.field("eventTime").required(""));
    }
    let kind = new.field("type");
    if !["Normal", "Warning"].contains(&kind.text()) {
        errors.push(kind.invalid_as("", format!("has invalid value: {}", kind.text())));
    }
}

/// A `HorizontalPodAutoscaler`.
pub(super) fn autoscaler(new: &Cursor<'_, '_>, errors: &mut Errors) {
    const TYPES: &[&str] = &["ContainerResource", "External", "Object", "Pods", "Resource"];
    let spec = new.field("spec");
    let (least, most) = (spec.field("minReplicas"), spec.field("maxReplicas"));
    if least.number().is_some_and(|it| it < 1) {
        errors.push(least.invalid("must be greater than or equal to 1"));
    }
    match most.number().unwrap_or(0) {
        0 => errors.push(most.required("must be set and greater than 0")),
        number if number < 0 => errors.push(most.invalid("must be greater than or equal to 1")),
        _ => {}
    }
    if least.number().is_some_and(|it| most.number().unwrap_or(0) < it) {
        let shown = most.number().unwrap_or(0);
        errors.push(most.invalid_as(shown, "must be greater than or equal to `minReplicas`"));
    }
    let target = spec.field("scaleTargetRef");
    for name in ["kind", "name"] {
        let value = target.field(name);
        if value.is_empty() {
            errors.push(value.required(""));
        } else {
            value.each_invalid(names::path_segment(value.text(), false), errors);
        }
    }
    for metric in spec.field("metrics").items() {
        let kind = metric.field("type");
        if kind.is_empty() {
            errors.push(kind.required("must specify a metric source type"));
        }
        if !TYPES.contains(&kind.text()) {
            errors.push(kind.not_supported(TYPES));
        }
    }
}

/// An `APIService`: its name is its version and group.
pub(super) fn api_service(new: &Cursor<'_, '_>, errors: &mut Errors) {
    let (spec, metadata) = (new.field("spec"), new.field("metadata"));
    let (group, version, name) = (spec.field("group"), spec.field("version"), metadata.field("name"));
    let wanted = format!("{}.{}", version.text(), group.text());
    let mut first = names::path_segment(name.text(), false);
    if first.is_empty() && !name.is_empty() && name.text() != wanted {
        first.push(format!("must be `spec.version+\".\"+spec.group`: {wanted:?}"));
    }
    // The name comes before the rest of the metadata in the real server, which has nothing else to say about it.
    let at = errors.iter().position(|error| error.field != "metadata.name").unwrap_or(errors.len());
    errors.splice(at..at, first.into_iter().map(|sentence| name.invalid(sentence)));
    if group.is_empty() && version.text() != "v1" {
        errors.push(group.required("only v1 may have an empty group and it better be legacy kube"));
    }
    if !group.is_empty() {
        group.each_invalid(names::dns_subdomain(group.text()), errors);
    }
    version.each_invalid(names::dns_1035_label(version.text()), errors);
    for (name, most) in [("groupPriorityMinimum", 20000), ("versionPriority", 1000)] {
        let value = spec.field(name);
        let number = value.number().unwrap_or(0);
        if number <= 0 || number > most {
            errors.push(value.invalid_as(number, format!("must be positive and less than {most}")));
        }
    }
    let (service, bundle, insecure) =
        (spec.field("service"), spec.field("caBundle"), spec.field("insecureSkipTLSVerify"));
    if !service.is_set() {
        if !bundle.is_empty() {
            let bytes = bundle.text().trim_end_matches('=').len() * 3 / 4;
            errors.push(
                bundle.invalid_as(format!("{bytes} bytes"), "local APIServices may not have a caBundle"),
            );
        }
        if insecure.is_true() {
            errors.push(insecure.invalid("local APIServices may not have insecureSkipTLSVerify"));
        }
        return;
    }
    for name in ["namespace", "name"] {
        if service.field(name).is_empty() {
            errors.push(service.field(name).required(""));
        }
    }
    let port = service.field("port");
    let number = port.number().unwrap_or(0);
    let sentences = names::port_number(number);
    if !sentences.is_empty() {
        errors.push(port.invalid_as(number, format!("port is not valid: {}", sentences.join(", "))));
    }
    if insecure.is_true() && !bundle.is_empty() {
        errors.push(insecure.invalid("may not be true if caBundle is present"));
    }
}

/// An `EndpointSlice`.
pub(super) fn endpoint_slice(new: &Cursor<'_, '_>, old: Option<&Cursor<'_, '_>>, errors: &mut Errors) {
    let kind = new.field("addressType");
    one_of(&kind, &["FQDN", "IPv4", "IPv6"], errors);
    for endpoint in new.field("endpoints").items() {
        let addresses = endpoint.field("addresses");
        if addresses.is_empty() {
            errors.push(addresses.required("must contain at least 1 address"));
        }
        for address in addresses.items() {
            let is_right = match kind.text() {
                "IPv4" => address.text().parse::<std::net::Ipv4Addr>().is_ok(),
                "IPv6" => address.text().parse::<std::net::Ipv6Addr>().is_ok(),
                _ => true,
            };
            if !is_right {
                let detail =
                    if kind.text() == "IPv4" { "must be an IPv4 address" } else { "must be an IPv6 address" };
                errors.push(address.invalid(detail));
            }
        }
    }
    if let Some(old) = old {
        immutable(&kind, &old.field("addressType"), errors);
    }
}
