//! Network policies and ingresses.

use std::net::IpAddr;

use serde_json::Value;

use crate::meta::{self, Cursor, names};

use super::scalars::{Errors, immutable, is_cidr, required_name};

/// A `NetworkPolicy`.
pub(super) fn policy(new: &Cursor<'_, '_>, errors: &mut Errors) {
    let spec = new.field("spec");
    meta::label_selector(&spec.field("podSelector"), errors);
    for (direction, peers) in [("ingress", "from"), ("egress", "to")] {
        for rule in spec.field(direction).items() {
            for port in rule.field("ports").items() {
                policy_port(&port, errors);
            }
            for peer in rule.field(peers).items() {
                policy_peer(&peer, errors);
            }
        }
    }
    let types = spec.field("policyTypes");
    if types.list().len() > 2 {
        errors.push(types.invalid("may not specify more than two policyTypes"));
        return;
    }
    for kind in types.items() {
        if !["Ingress", "Egress"].contains(&kind.text()) {
            errors.push(kind.not_supported(&["Ingress", "Egress"]));
        }
    }
}

fn policy_port(at: &Cursor<'_, '_>, errors: &mut Errors) {
    let (protocol, port, end) = (at.field("protocol"), at.field("port"), at.field("endPort"));
    if protocol.is_set() && !["TCP", "UDP", "SCTP"].contains(&protocol.text()) {
        errors.push(protocol.not_supported(&["TCP", "UDP", "SCTP"]));
    }
    if let Some(number) = port.number() {
        port.each_invalid(names::port_number(number), errors);
        if let Some(last) = end.number() {
            if last < number {
                errors.push(end.invalid_as(number, "must be greater than or equal to `port`"));
            }
            end.each_invalid(names::port_number(last), errors);
        }
    } else if port.is_set() {
        if end.is_set() {
            errors.push(end.invalid("may not be specified when `port` is non-numeric"));
        }
        port.each_invalid(names::port_name(port.text()), errors);
    } else if end.is_set() {
        errors.push(end.invalid("may not be specified when `port` is not specified"));
    }
}

fn policy_peer(peer: &Cursor<'_, '_>, errors: &mut Errors) {
    let mut count = 0;
    for name in ["podSelector", "namespaceSelector"] {
        if peer.field(name).is_set() {
            count += 1;
            meta::label_selector(&peer.field(name), errors);
        }
    }
    let block = peer.field("ipBlock");
    if block.is_set() {
        count += 1;
        ip_block(&block, errors);
    }
    if count == 0 {
        errors.push(peer.required("must specify a peer"));
    } else if count > 1 && block.is_set() {
        errors.push(peer.forbidden("may not specify both ipBlock and another peer"));
    }
}

const CIDR: &str = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";

fn ip_block(block: &Cursor<'_, '_>, errors: &mut Errors) {
    let cidr = block.field("cidr");
    if cidr.is_empty() {
        errors.push(cidr.required(""));
        return;
    }
    if !is_cidr(cidr.text()) {
        errors.push(cidr.invalid(CIDR));
        return;
    }
    for except in block.field("except").items() {
        if !is_cidr(except.text()) {
            errors.push(except.invalid(CIDR));
        } else if !contains(cidr.text(), except.text()) {
            errors.push(except.invalid("must be a strict subset of `cidr`"));
        }
    }
}

/// Whether a network is a real part of another.
fn contains(whole: &str, part: &str) -> bool {
    let read = |text: &str| {
        let (address, bits) = text.split_once('/')?;
        let bits: u32 = bits.parse().ok()?;
        Some(match address.parse::<IpAddr>().ok()? {
            IpAddr::V4(ip) => (u128::from(ip.to_bits()) << 96, bits, true),
            IpAddr::V6(ip) => (ip.to_bits(), bits, false),
        })
    };
    let (Some((whole, bits, whole_v4)), Some((part, part_bits, part_v4))) = (read(whole), read(part)) else {
        return false;
    };
    let mask = if bits == 0 { 0 } else { u128::MAX << (128 - bits) };
    whole_v4 == part_v4 && bits < part_bits && whole & mask == part & mask
}

/// An Ingress.
pub(super) fn ingress(new: &Cursor<'_, '_>, old: Option<&Cursor<'_, '_>>, errors: &mut Errors) {
    let spec = new.field("spec");
    let (rules, backend) = (spec.field("rules"), spec.field("defaultBackend"));
    if rules.is_empty() && !backend.is_set() {
        errors.push(
            spec.invalid_as(rules.value().clone(), "either `defaultBackend` or `rules` must be specified"),
        );
    }
    if backend.is_set() {
        ingress_backend(&backend, errors);
    }
    for rule in rules.items() {
        ingress_rule(&rule, errors);
    }
    for tls in spec.field("tls").items() {
        for host in tls.field("hosts").items() {
            host_name(&host, errors);
        }
        let secret = tls.field("secretName");
        if !secret.is_empty() {
            secret.each_invalid(names::dns_subdomain(secret.text()), errors);
        }
    }
    let class = spec.field("ingressClassName");
    if class.is_set() {
        class.each_invalid(names::dns_subdomain(class.text()), errors);
    }
    let metadata = new.field("metadata");
    let annotation =
        metadata.field("annotations").value().get("kubernetes.io/ingress.class").and_then(Value::as_str);
    if let Some(annotation) = annotation
        && old.is_none()
        && class.is_set()
        && annotation != class.text()
    {
        let detail = "must match `ingressClassName` when both are specified";
        errors.push(crate::status::FieldError::invalid(
            "annotations.kubernetes.io/ingress.class",
            annotation,
            detail,
        ));
    }
}

fn host_name(host: &Cursor<'_, '_>, errors: &mut Errors) {
    if host.text().contains('*') {
        host.each_invalid(names::wildcard_subdomain(host.text()), errors);
    } else {
        host.each_invalid(names::dns_subdomain(host.text()), errors);
    }
}

fn ingress_rule(rule: &Cursor<'_, '_>, errors: &mut Errors) {
    let host = rule.field("host");
    if !host.is_empty() {
        if host.text().parse::<IpAddr>().is_ok() {
            errors.push(host.invalid("must be a DNS name, not an IP address"));
        }
        host_name(&host, errors);
    }
    let http = rule.field("http");
    if !http.is_set() {
        return;
    }
    if http.field("paths").is_empty() {
        errors.push(http.field("paths").required(""));
    }
    for path in http.field("paths").items() {
        ingress_path(&path, errors);
    }
}

fn ingress_path(at: &Cursor<'_, '_>, errors: &mut Errors) {
    let (kind, path) = (at.field("pathType"), at.field("path"));
    let text = path.text();
    match kind.text() {
        "" => {
            errors.push(kind.required("pathType must be specified"));
            return;
        }
        "Exact" | "Prefix" => {
            if !text.starts_with('/') {
                errors.push(path.invalid("must be an absolute path"));
            }
            for part in ["//", "/./", "/../", "%2f", "%2F"] {
                if text.contains(part) {
                    errors.push(path.invalid(format!("must not contain '{part}'")));
                }
            }
            for end in ["/..", "/."] {
                if text.ends_with(end) {
                    errors.push(path.invalid(format!("cannot end with '{end}'")));
                }
            }
        }
        "ImplementationSpecific" => {
            if !text.is_empty() && !text.starts_with('/') {
                errors.push(path.invalid("must be an absolute path"));
            }
        }
        _ => errors.push(kind.not_supported(&["Exact", "ImplementationSpecific", "Prefix"])),
    }
    ingress_backend(&at.field("backend"), errors);
}

fn ingress_backend(backend: &Cursor<'_, '_>, errors: &mut Errors) {
    let (service, resource) = (backend.field("service"), backend.field("resource"));
    if service.is_set() && resource.is_set() {
        errors.push(backend.invalid_as("", "cannot set both resource and service backends"));
    } else if resource.is_set() {
        for name in ["kind", "name"] {
            if resource.field(name).is_empty() {
                errors.push(resource.field(name).required(""));
            }
        }
    } else if service.is_set() {
        required_name(&service.field("name"), names::dns_label, errors);
        let port = service.field("port");
        let (name, number) = (port.field("name"), port.field("number"));
        match (name.is_empty(), number.number().unwrap_or(0)) {
            (false, 1..) => errors.push(backend.invalid_as("", "cannot set both port name & port number")),
            (false, _) => name.each_invalid(names::port_name(name.text()), errors),
            (true, 0) => errors.push(backend.required("port name or number is required")),
            (true, value) => number.each_invalid(names::port_number(value), errors),
        }
    } else {
        errors.push(backend.invalid_as("", "resource or service backend is required"));
    }
}

/// An `IngressClass`.
pub(super) fn ingress_class(new: &Cursor<'_, '_>, old: Option<&Cursor<'_, '_>>, errors: &mut Errors) {
    let spec = new.field("spec");
    let controller = spec.field("controller");
    if let Some(old) = old {
        immutable(&controller, &old.field("spec").field("controller"), errors);
    }
    if controller.text().len() > 250 {
        errors.push(controller.too_long(250));
    }
    match controller.text().split_once('/') {
        _ if controller.is_empty() => errors.push(controller.required("")),
        Some((host, path)) if !host.is_empty() && !path.is_empty() => {
            for sentence in names::dns_subdomain(host) {
                errors.push(controller.invalid_as(host, sentence));
            }
        }
        _ => errors.push(controller.invalid("must be a domain-prefixed path (such as \"acme.io/foo\")")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exception_is_a_real_part_of_its_network() {
        assert!(contains("10.0.0.0/8", "10.1.0.0/16"));
        assert!(!contains("10.0.0.0/8", "10.0.0.0/8") && !contains("10.0.0.0/8", "11.0.0.0/16"));
        assert!(!contains("::/0", "10.0.0.0/8"));
        assert!(contains("0.0.0.0/0", "169.254.169.254/32"));
    }
}
