//! Services.

use std::collections::BTreeSet;
use std::net::IpAddr;

use serde_json::{Value, json};

use crate::meta::{self, Cursor, names};
use crate::status::FieldError;

use super::scalars::{Errors, dns_label, ip_address, is_cidr, one_of, optional_one_of, port, same};

const ONLY_LOAD_BALANCER: &str = "may only be used when `type` is 'LoadBalancer'";

/// A Service.
pub(super) fn service(new: &Cursor<'_, '_>, old: Option<&Cursor<'_, '_>>, errors: &mut Errors) {
    let spec = new.field("spec");
    if let Some(old) = old {
        changed(&spec, &old.field("spec"), errors);
    }
    let kind = spec.field("type").text();
    let ips = spec.field("clusterIPs");
    let is_headless = ips.list().first().is_some_and(|ip| ip == "None");
    if spec.field("ports").is_empty() && !is_headless && kind != "ExternalName" {
        errors.push(spec.field("ports").required(""));
    }
    match kind {
        "LoadBalancer" | "NodePort" if is_headless => {
            errors.push(ips.index(0).invalid(format!("may not be set to 'None' for {kind} services")));
        }
        "ExternalName" => external_name(&spec, errors),
        _ => {}
    }
    ports(&spec.field("ports"), errors);
    meta::labels(&spec.field("selector"), errors);
    affinity(&spec, errors);
    errors.extend(cluster_ip_errors(new.value()));
    for ip in spec.field("externalIPs").items() {
        let before = errors.len();
        ip_address(&ip, errors);
        if errors.len() == before {
            endpoint_ip(&ip, errors);
        }
    }
    one_of(&spec.field("type"), &["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"], errors);
    port_numbers(&spec, errors);
    load_balancer(&spec, errors);
    traffic(&spec, errors);
}

fn external_name(spec: &Cursor<'_, '_>, errors: &mut Errors) {
    for name in ["clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
        if !spec.field(name).is_empty() {
            errors.push(spec.field(name).forbidden("may not be set for ExternalName services"));
        }
    }
    let name = spec.field("externalName");
    let text = name.text().strip_suffix('.').unwrap_or(name.text());
    if text.is_empty() {
        errors.push(name.required(""));
    } else {
        for sentence in names::dns_subdomain(text) {
            errors.push(name.invalid_as(text, sentence));
        }
    }
}

fn ports(ports: &Cursor<'_, '_>, errors: &mut Errors) {
    let needs_name = ports.list().len() > 1;
    let mut seen = BTreeSet::new();
    for it in ports.items() {
        let name = it.field("name");
        if !name.is_empty() {
            dns_label(&name, errors);
            if !seen.insert(name.text()) {
                errors.push(name.duplicate());
            }
        } else if needs_name {
            errors.push(name.required(""));
        }
        let number = it.field("port").number().unwrap_or(0);
        for sentence in names::port_number(number) {
            errors.push(it.field("port").invalid_as(number, sentence));
        }
        one_of(&it.field("protocol"), &["SCTP", "TCP", "UDP"], errors);
        port(&it.field("targetPort"), errors);
        let protocol = it.field("appProtocol");
        if protocol.is_set() {
            protocol.each_invalid(names::qualified_name(protocol.text()), errors);
        }
    }
}

fn affinity(spec: &Cursor<'_, '_>, errors: &mut Errors) {
    let (affinity, config) = (spec.field("sessionAffinity"), spec.field("sessionAffinityConfig"));
    one_of(&affinity, &["ClientIP", "None"], errors);
    if affinity.text() == "None" && config.is_set() {
        errors.push(config.forbidden("must not be set when session affinity is None"));
    }
    if affinity.text() == "ClientIP" {
        let client = config.field("clientIP");
        let seconds = client.field("timeoutSeconds");
        if !config.is_set() {
            errors.push(config.required("when session affinity type is ClientIP"));
        } else if !client.is_set() {
            errors.push(client.required("when session affinity type is ClientIP"));
        } else if seconds.number().is_none_or(|it| !(1..=86400).contains(&it)) {
            let shown = seconds.number().unwrap_or(0);
            errors.push(seconds.invalid_as(shown, "must be greater than 0 and less than 86400"));
        }
    }
}

/// What is wrong with the addresses and families of a Service; asked before they are given out, too.
pub(in crate::builtin) fn cluster_ip_errors(service: &Value) -> Vec<FieldError> {
    let root = Cursor::root(service);
    let spec = root.field("spec");
    let mut errors = Vec::new();
    if spec.field("type").text() == "ExternalName" {
        return errors;
    }
    let (ip, ips) = (spec.field("clusterIP"), spec.field("clusterIPs"));
    let first = ips.index(0);
    if ip.is_empty() {
        if !ips.is_empty() {
            errors.push(ips.invalid("must be empty when `clusterIP` is not specified"));
        }
    } else if ips.is_empty() {
        errors.push(ips.required(""));
    } else if first.text() != ip.text() {
        errors.push(ips.invalid("first value must match `clusterIP`"));
    }
    let families = spec.field("ipFamilies");
    let mut seen = BTreeSet::new();
    for family in families.items() {
        if !["IPv4", "IPv6"].contains(&family.text()) {
            errors.push(family.not_supported(&["IPv4", "IPv6"]));
        }
        if !seen.insert(family.text()) {
            errors.push(family.duplicate());
        }
    }
    let policy = spec.field("ipFamilyPolicy");
    optional_one_of(&policy, &["PreferDualStack", "RequireDualStack", "SingleStack"], &mut errors);
    let before = errors.len();
    for (index, it) in ips.items().enumerate() {
        if index == 0 && it.text() == "None" {
            if ips.list().len() > 1 {
                errors.push(ips.invalid("'None' must be the first and only value"));
            }
            continue;
        }
        ip_address(&it, &mut errors);
    }
    let has_wrong_ips = errors.len() > before;
    if ips.list().len() > 2 {
        errors.push(ips.invalid("may only hold up to 2 values"));
    }
    if has_wrong_ips {
        return errors;
    }
    let is_v6 = |text: &str| text.parse::<IpAddr>().is_ok_and(|it| it.is_ipv6());
    if let [one, two, ..] = ips.list()
        && is_v6(one.as_str().unwrap_or_default()) == is_v6(two.as_str().unwrap_or_default())
    {
        errors.push(ips.invalid("may specify no more than one IP for each IP family"));
    }
    for (index, (it, family)) in
        ips.items().zip(families.list()).enumerate().filter(|(_, (it, _))| it.text() != "None")
    {
        let wanted = family.as_str().unwrap_or_default();
        if (wanted == "IPv6") != is_v6(it.text()) && ["IPv4", "IPv6"].contains(&wanted) {
            errors.push(
                it.invalid(format!("expected an {wanted} value as indicated by `ipFamilies[{index}]`")),
            );
        }
    }
    errors
}

fn endpoint_ip(at: &Cursor<'_, '_>, errors: &mut Errors) {
    let Ok(ip) = at.text().parse::<IpAddr>() else { return };
    if ip.is_unspecified() {
        errors.push(at.invalid(format!("may not be unspecified ({})", at.text())));
    }
    if ip.is_loopback() {
        errors.push(at.invalid("may not be in the loopback range (127.0.0.0/8, ::1/128)"));
    }
    let is_link_local = match ip {
        IpAddr::V4(ip) => ip.is_link_local(),
        IpAddr::V6(ip) => ip.is_unicast_link_local(),
    };
    if is_link_local {
        errors.push(at.invalid("may not be in the link-local range (169.254.0.0/16, fe80::/10)"));
    }
}

fn port_numbers(spec: &Cursor<'_, '_>, errors: &mut Errors) {
    let ports = spec.field("ports");
    if spec.field("type").text() == "ClusterIP" {
        for port in ports.items().filter(|it| it.field("nodePort").number().unwrap_or(0) != 0) {
            errors.push(port.field("nodePort").forbidden("may not be used when `type` is 'ClusterIP'"));
        }
    }
    let mut seen = BTreeSet::new();
    for port in ports.items() {
        let node = port.field("nodePort");
        if let Some(number) = node.number().filter(|it| *it != 0)
            && !seen.insert((port.field("protocol").text(), number))
        {
            errors.push(node.duplicate());
        }
    }
    let mut seen = BTreeSet::new();
    for port in ports.items() {
        let (protocol, number) = (port.field("protocol").text(), port.field("port").number().unwrap_or(0));
        if !seen.insert((protocol, number)) {
            // The real server shows its own structure here.
            let shown = json!({"Name": "", "Protocol": protocol, "AppProtocol": null, "Port": number, "TargetPort": 0, "NodePort": 0});
            errors.push(FieldError::duplicate(port.path(), shown));
        }
    }
}

fn load_balancer(spec: &Cursor<'_, '_>, errors: &mut Errors) {
    let is_balancer = spec.field("type").text() == "LoadBalancer";
    let ranges = spec.field("loadBalancerSourceRanges");
    if !ranges.is_empty() {
        let at = spec.field_with("LoadBalancerSourceRanges", ranges.value());
        if !is_balancer {
            errors.push(at.forbidden(ONLY_LOAD_BALANCER));
        }
        for range in at.items() {
            let text = range.text().trim();
            if !is_cidr(text) {
                let detail = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";
                errors.push(range.invalid_as(text, detail));
            }
        }
    }
    let ports = spec.field("allocateLoadBalancerNodePorts");
    if ports.is_set() && !is_balancer {
        errors.push(ports.forbidden(ONLY_LOAD_BALANCER));
    }
    if is_balancer && !ports.is_set() {
        errors.push(FieldError::required("allocateLoadBalancerNodePorts", ""));
    }
    let class = spec.field("loadBalancerClass");
    if class.is_set() && is_balancer {
        class.each_invalid(names::qualified_name(class.text()), errors);
    } else if class.is_set() {
        errors.push(class.forbidden(ONLY_LOAD_BALANCER));
    }
}

fn traffic(spec: &Cursor<'_, '_>, errors: &mut Errors) {
    let kind = spec.field("type").text();
    let external = spec.field("externalTrafficPolicy");
    let is_open = matches!(kind, "NodePort" | "LoadBalancer")
        || (kind == "ClusterIP" && !spec.field("externalIPs").is_empty());
    if is_open {
        one_of(&external, &["Cluster", "Local"], errors);
    } else if !external.is_empty() {
        errors.push(external.invalid("may only be set for externally-accessible services"));
    }
    let health = spec.field("healthCheckNodePort");
    let number = health.number().unwrap_or(0);
    if kind == "LoadBalancer" && external.text() == "Local" {
        if number == 0 {
            errors.push(health.required(""));
        } else {
            health.each_invalid(names::port_number(number), errors);
        }
    } else if number != 0 {
        let detail = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'";
        errors.push(health.invalid(detail));
    }
    let internal = spec.field("internalTrafficPolicy");
    if !internal.is_set() && matches!(kind, "NodePort" | "LoadBalancer" | "ClusterIP") {
        errors.push(internal.required(""));
    }
    optional_one_of(&internal, &["Cluster", "Local"], errors);
    let near = ["PreferClose", "PreferSameZone", "PreferSameNode"];
    optional_one_of(&spec.field("trafficDistribution"), &near, errors);
}

/// Addresses and families of a Service stay.
fn changed(spec: &Cursor<'_, '_>, old: &Cursor<'_, '_>, errors: &mut Errors) {
    let is_headless =
        |spec: &Cursor<'_, '_>| spec.field("clusterIPs").list().first().is_some_and(|ip| ip == "None");
    let is_external = |spec: &Cursor<'_, '_>| spec.field("type").text() == "ExternalName";
    let (ips, before) = (spec.field("clusterIPs"), old.field("clusterIPs"));
    if !is_external(spec) && !is_external(old) {
        if !(is_headless(spec) && is_headless(old)) {
            if ips.is_empty() && !before.is_empty() {
                errors.push(ips.index(0).invalid_as(json!([]), "primary clusterIP can not be unset"));
            }
            for (index, (now, then)) in ips.list().iter().zip(before.list()).enumerate() {
                if now != then {
                    errors.push(ips.index(index).invalid_as(ips.value().clone(), "may not change once set"));
                }
            }
        }
        if !is_headless(spec) && !is_headless(old) {
            let (families, before) = (spec.field("ipFamilies"), old.field("ipFamilies"));
            for (now, then) in families.list().iter().zip(before.list()) {
                if now != then {
                    errors.push(
                        families.index(0).invalid_as(families.value().clone(), "may not change once set"),
                    );
                }
            }
        }
    }
    let (class, before) = (spec.field("loadBalancerClass"), old.field("loadBalancerClass"));
    let balances = |spec: &Cursor<'_, '_>| spec.field("type").text() == "LoadBalancer";
    if balances(spec) && balances(old) && !same(&class, &before) {
        errors.push(class.invalid_as(class.value().clone(), "may not change once set"));
    }
}
