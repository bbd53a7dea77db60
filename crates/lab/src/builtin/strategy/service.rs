//! Services: cluster addresses and node ports.
//!
//! The network is 172.30.0.0/16, IPv4 only; node ports are 30000-32767. Addresses are given in order from the middle of
//! the network on: two runs give the same ones.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr};

use serde_json::{Value, json};

use crate::builtin::validate::service::cluster_ip_errors;
use crate::status::FieldError;

use super::paths::{at, copy, put, put_or_remove, remove};

/// The addresses and ports that Services have.
#[derive(Clone, Debug)]
pub(crate) struct ServiceNetwork {
    addresses: BTreeSet<u16>,
    ports: BTreeSet<u16>,
    next_address: u16,
    next_port: u16,
    taken: Vec<Item>,
    released: Vec<Item>,
    is_dry_run: bool,
}

/// What can be taken from the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Item {
    /// The last two bytes of an address.
    Address(u16),
    /// A node port.
    Port(u16),
}

const NETWORK: [u8; 2] = [172, 30];
const PORTS: std::ops::RangeInclusive<u16> = 30000..=32767;

// === impl ServiceNetwork ===

impl Default for ServiceNetwork {
    fn default() -> Self {
        Self::new()
    }
}

impl ServiceNetwork {
    /// A network from which nothing is taken.
    pub(crate) fn new() -> Self {
        Self {
            addresses: BTreeSet::new(),
            ports: BTreeSet::new(),
            next_address: 256,
            next_port: *PORTS.start(),
            taken: Vec::new(),
            released: Vec::new(),
            is_dry_run: false,
        }
    }

    /// Says whether the next write is only tried.
    pub(crate) fn begin(&mut self, is_dry_run: bool) {
        self.is_dry_run = is_dry_run;
    }

    /// The write went through: what was taken stays taken, what was given back is free.
    pub(crate) fn commit(&mut self) {
        self.taken.clear();
        for item in std::mem::take(&mut self.released) {
            self.free(item);
        }
    }

    /// The write was refused, or only tried: nothing happened.
    pub(crate) fn rollback(&mut self) {
        self.released.clear();
        for item in std::mem::take(&mut self.taken) {
            self.free(item);
        }
    }

    /// A stored Service is gone: what it had is free again.
    pub(crate) fn release(&mut self, service: &Value) {
        for item in items_of(service) {
            self.free(item);
        }
    }

    fn free(&mut self, item: Item) {
        match item {
            Item::Address(address) => self.addresses.remove(&address),
            Item::Port(port) => self.ports.remove(&port),
        };
    }

    fn take(&mut self, item: Item) -> bool {
        let is_new = match item {
            Item::Address(address) => self.addresses.insert(address),
            Item::Port(port) => self.ports.insert(port),
        };
        if is_new {
            self.taken.push(item);
        }
        is_new
    }

    /// Why an address of another network is refused; NB: a write that is only tried looks at one network alone.
    fn out_of_range(&self, address: &str) -> String {
        if self.is_dry_run {
            return format!(
                "the provided IP ({address}) is not in the valid range. The range of valid IPs is 172.30.0.0/16"
            );
        }
        "the provided network does not match the current range".to_owned()
    }

    fn take_address(&mut self, text: &str) -> Result<(), String> {
        let Ok(address) = text.parse::<IpAddr>() else { return Err("invalid address".into()) };
        let IpAddr::V4(address) = address else { return Err(self.out_of_range(text)) };
        let octets = address.octets();
        if octets[..2] != NETWORK {
            return Err(self.out_of_range(text));
        }
        if self.take(Item::Address(u16::from_be_bytes([octets[2], octets[3]]))) {
            Ok(())
        } else {
            Err("provided IP is already allocated".into())
        }
    }

    fn next_address(&mut self) -> Option<String> {
        for _ in 0..=u16::MAX {
            let address = self.next_address;
            // The first and the last address of the network name no host.
            self.next_address = if address == u16::MAX - 1 { 2 } else { address + 1 };
            if self.take(Item::Address(address)) {
                let [high, low] = address.to_be_bytes();
                return Some(Ipv4Addr::new(NETWORK[0], NETWORK[1], high, low).to_string());
            }
        }
        None
    }

    fn take_port(&mut self, port: i64) -> Result<(), String> {
        match u16::try_from(port).ok().filter(|port| PORTS.contains(port)) {
            None => {
                Err("provided port is not in the valid range. The range of valid ports is 30000-32767".into())
            }
            Some(port) if self.take(Item::Port(port)) => Ok(()),
            Some(_) => Err("provided port is already allocated".into()),
        }
    }

    fn next_port(&mut self) -> Option<i64> {
        for _ in PORTS {
            let port = self.next_port;
            self.next_port = if port == *PORTS.end() { *PORTS.start() } else { port + 1 };
            if self.take(Item::Port(port)) {
                return Some(port.into());
            }
        }
        None
    }
}

/// What a stored Service has of the network.
fn items_of(service: &Value) -> Vec<Item> {
    let addresses = texts(service, "clusterIPs").into_iter().filter_map(|text| {
        let octets = text.parse::<Ipv4Addr>().ok()?.octets();
        (octets[..2] == NETWORK).then(|| Item::Address(u16::from_be_bytes([octets[2], octets[3]])))
    });
    let ports = node_ports(service).into_iter().chain(number(service, "healthCheckNodePort"));
    let ports = ports.filter_map(|port| u16::try_from(port).ok()).map(Item::Port);
    addresses.chain(ports).collect()
}

// === a write ===

/// Gives a new Service its addresses and ports.
pub(super) fn begin_create(service: &mut Value, network: &mut ServiceNetwork) -> Result<(), Vec<FieldError>> {
    if !text(service, "clusterIP").is_empty() && texts(service, "clusterIPs").is_empty() {
        let ip = service["spec"]["clusterIP"].clone();
        put(service, &["spec", "clusterIPs"], json!([ip]));
    }
    if kind(service) == "ExternalName" {
        remove(service, &["spec", "internalTrafficPolicy"]);
        return Ok(());
    }
    init_families(service, None)?;
    allocate_address(service, network)?;
    allocate_ports(service, None, network)
}

/// Keeps what a Service has, and gives and takes what its new form needs.
pub(super) fn begin_update(
    new: &mut Value,
    old: &Value,
    network: &mut ServiceNetwork,
) -> Result<(), Vec<FieldError>> {
    let (was_internal, is_internal) = (kind(old) != "ExternalName", kind(new) != "ExternalName");
    if was_internal && is_internal {
        patch_addresses(new, old);
    }
    patch_ports(new, old);
    normalize_addresses(new, old);
    if is_internal {
        init_families(new, Some(old))?;
        if !was_internal || texts(old, "clusterIPs").is_empty() {
            allocate_address(new, network)?;
        }
    } else {
        remove(new, &["spec", "internalTrafficPolicy"]);
    }
    if needs_ports(new) {
        allocate_ports(new, Some(old), network)?;
    }
    // What the new form does not have any more is free after the write.
    let mut after = new.clone();
    drop_type_dependent(&mut after, old);
    let kept = items_of(&after);
    network.released.extend(items_of(old).into_iter().filter(|item| !kept.contains(item)));
    Ok(())
}

/// Fields that belong to the old type go with it, unless the update sets them to something new.
pub(super) fn drop_type_dependent(new: &mut Value, old: &Value) {
    let same = |new: &Value, name: &str| at(new, &["spec", name]) == at(old, &["spec", name]);
    if kind(old) != "ExternalName" && kind(new) == "ExternalName" {
        if same(new, "clusterIP") && same(new, "clusterIPs") {
            remove(new, &["spec", "clusterIP"]);
            remove(new, &["spec", "clusterIPs"]);
        }
        for name in ["ipFamilies", "ipFamilyPolicy"] {
            if same(new, name) {
                remove(new, &["spec", name]);
            }
        }
    }
    let external = |service: &Value| matches!(kind(service), "NodePort" | "LoadBalancer");
    if external(old) && !external(new) && node_ports(new).iter().all(|port| node_ports(old).contains(port)) {
        for port in ports_mut(new) {
            remove(port, &["nodePort"]);
        }
    }
    if needs_health_port(old) && !needs_health_port(new) && same(new, "healthCheckNodePort") {
        remove(new, &["spec", "healthCheckNodePort"]);
    }
    if kind(old) == "LoadBalancer" && kind(new) != "LoadBalancer" {
        for name in ["allocateLoadBalancerNodePorts", "loadBalancerClass"] {
            if same(new, name) {
                remove(new, &["spec", name]);
            }
        }
    }
    let accessible = |service: &Value| {
        external(service) || (kind(service) == "ClusterIP" && !texts(service, "externalIPs").is_empty())
    };
    if accessible(old) && !accessible(new) && same(new, "externalTrafficPolicy") {
        remove(new, &["spec", "externalTrafficPolicy"]);
    }
    if kind(new) != "LoadBalancer" && at(new, &["status"]).is_some() {
        put(new, &["status", "loadBalancer"], json!({}));
    }
}

/// An update that leaves the addresses out keeps them.
fn patch_addresses(new: &mut Value, old: &Value) {
    if text(new, "clusterIP").is_empty() {
        copy(new, old, &["spec", "clusterIP"]);
    }
    if texts(new, "clusterIPs").is_empty() {
        copy(new, old, &["spec", "clusterIPs"]);
    }
}

/// An update that leaves node ports out keeps them by the name of the port.
fn patch_ports(new: &mut Value, old: &Value) {
    if needs_ports(old) && needs_ports(new) {
        let (before, now) = (node_ports(old), node_ports(new));
        let used: Vec<i64> = before.iter().copied().filter(|port| now.contains(port)).collect();
        let old_ports = old["spec"]["ports"].as_array().cloned().unwrap_or_default();
        for port in ports_mut(new) {
            if port["nodePort"].as_i64().unwrap_or(0) != 0 {
                continue;
            }
            let same = old_ports
                .iter()
                .rfind(|it| it["name"].as_str().unwrap_or("") == port["name"].as_str().unwrap_or(""));
            let found = same.and_then(|it| it["nodePort"].as_i64()).filter(|it| !used.contains(it));
            put_or_remove(port, &["nodePort"], found.map(Value::from));
        }
    }
    if needs_health_port(old) && needs_health_port(new) && number(new, "healthCheckNodePort").is_none() {
        copy(new, old, &["spec", "healthCheckNodePort"]);
    }
}

/// `clusterIP` and `clusterIPs[0]` say the same; who changes one of them changes both.
fn normalize_addresses(new: &mut Value, old: &Value) {
    let same_all = |new: &Value| texts(new, "clusterIPs") == texts(old, "clusterIPs");
    if text(new, "clusterIP") == text(old, "clusterIP") {
        return;
    }
    if !text(old, "clusterIP").is_empty() && text(new, "clusterIP").is_empty() {
        if same_all(new) {
            remove(new, &["spec", "clusterIPs"]);
        }
    } else if same_all(new) {
        let ip = new["spec"]["clusterIP"].clone();
        put(new, &["spec", "clusterIPs"], json!([ip]));
    }
}

/// The families of a Service; only IPv4 is there, but a headless Service without a selector may have both.
fn init_families(service: &mut Value, old: Option<&Value>) -> Result<(), Vec<FieldError>> {
    let is_headless = text(service, "clusterIP") == "None";
    let selects =
        at(service, &["spec", "selector"]).and_then(Value::as_object).is_some_and(|map| !map.is_empty());
    if text(service, "ipFamilyPolicy").is_empty() {
        let before = old.map(|old| text(old, "ipFamilyPolicy").to_owned()).filter(|it| !it.is_empty());
        let new = if is_headless && !selects { "RequireDualStack" } else { "SingleStack" };
        put(service, &["spec", "ipFamilyPolicy"], before.unwrap_or_else(|| new.into()).into());
    }
    let errors = cluster_ip_errors(service);
    if !errors.is_empty() {
        return Err(errors);
    }
    let policy = text(service, "ipFamilyPolicy").to_owned();
    let mut families: Vec<String> = texts(service, "ipFamilies").into_iter().map(str::to_owned).collect();
    if is_headless && !selects {
        if families.is_empty() {
            families.push("IPv4".into());
        }
        if families.len() < 2 && policy != "SingleStack" {
            families.push(if families[0] == "IPv4" { "IPv6" } else { "IPv4" }.into());
        }
        put(service, &["spec", "ipFamilies"], json!(families));
        return Ok(());
    }
    let mut errors = Vec::new();
    if policy == "RequireDualStack" {
        let detail = "this cluster is not configured for dual-stack services";
        errors.push(FieldError::invalid("spec.ipFamilyPolicy", policy, detail));
    }
    for (index, family) in families.iter().enumerate().filter(|(_, family)| *family != "IPv4") {
        let field = format!("spec.ipFamilies[{index}]");
        errors.push(FieldError::invalid(field, family.as_str(), "not configured on this cluster"));
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    if families.is_empty() {
        put(service, &["spec", "ipFamilies"], json!(["IPv4"]));
    }
    Ok(())
}

fn allocate_address(service: &mut Value, network: &mut ServiceNetwork) -> Result<(), Vec<FieldError>> {
    let wished = texts(service, "clusterIPs").first().copied().unwrap_or_default().to_owned();
    if wished == "None" {
        return Ok(());
    }
    let refused = |service: &Value, detail: String| {
        let all = at(service, &["spec", "clusterIPs"]).cloned().unwrap_or_else(|| json!([]));
        vec![FieldError::invalid("spec.clusterIPs", all, detail)]
    };
    if wished.is_empty() {
        let Some(address) = network.next_address() else {
            return Err(refused(service, "failed to allocate IP: range is full".into()));
        };
        put(service, &["spec", "clusterIPs"], json!([address]));
        put(service, &["spec", "clusterIP"], address.into());
        return Ok(());
    }
    network
        .take_address(&wished)
        .map_err(|why| refused(service, format!("failed to allocate IP {wished}: {why}")))
}

/// Node ports for the ports that have none; the same number of two protocols shares one.
fn allocate_ports(
    service: &mut Value,
    old: Option<&Value>,
    network: &mut ServiceNetwork,
) -> Result<(), Vec<FieldError>> {
    let had: Vec<i64> = old.map(node_ports).unwrap_or_default();
    let gives_ports = kind(service) != "LoadBalancer"
        || service["spec"]["allocateLoadBalancerNodePorts"].as_bool() != Some(false);
    if matches!(kind(service), "NodePort" | "LoadBalancer") {
        let mut given: Vec<(Value, i64)> = Vec::new();
        for (index, port) in ports_mut(service).iter_mut().enumerate() {
            let wished = port["nodePort"].as_i64().unwrap_or(0);
            let earlier = given.iter().find(|(number, _)| *number == port["port"]).map(|(_, node)| *node);
            if wished == 0 {
                if !gives_ports {
                    continue;
                }
                let Some(node) = earlier.or_else(|| network.next_port()) else {
                    return Err(vec![FieldError::invalid(
                        format!("spec.ports[{index}].nodePort"),
                        0,
                        "range is full",
                    )]);
                };
                port["nodePort"] = node.into();
                given.push((port["port"].clone(), node));
            } else if earlier != Some(wished) {
                if !had.contains(&wished) {
                    network.take_port(wished).map_err(|why| {
                        vec![FieldError::invalid(format!("spec.ports[{index}].nodePort"), wished, why)]
                    })?;
                }
                given.push((port["port"].clone(), wished));
            }
        }
    }
    if needs_health_port(service) {
        match number(service, "healthCheckNodePort") {
            None => {
                if let Some(port) = network.next_port() {
                    put(service, &["spec", "healthCheckNodePort"], port.into());
                }
            }
            Some(port) if old.and_then(|old| number(old, "healthCheckNodePort")) != Some(port) => {
                network
                    .take_port(port)
                    .map_err(|why| vec![FieldError::invalid("spec.healthCheckNodePort", port, why)])?;
            }
            Some(_) => {}
        }
    }
    Ok(())
}

// === reading ===

fn kind(service: &Value) -> &str {
    text(service, "type")
}

fn text<'v>(service: &'v Value, name: &str) -> &'v str {
    at(service, &["spec", name]).and_then(Value::as_str).unwrap_or_default()
}

fn texts<'v>(service: &'v Value, name: &str) -> Vec<&'v str> {
    at(service, &["spec", name])
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect()
}

fn number(service: &Value, name: &str) -> Option<i64> {
    at(service, &["spec", name]).and_then(Value::as_i64).filter(|number| *number != 0)
}

fn node_ports(service: &Value) -> Vec<i64> {
    let ports = at(service, &["spec", "ports"]).and_then(Value::as_array).into_iter().flatten();
    ports.filter_map(|port| port["nodePort"].as_i64()).filter(|port| *port != 0).collect()
}

fn ports_mut(service: &mut Value) -> &mut [Value] {
    let ports = service.get_mut("spec").and_then(|spec| spec.get_mut("ports"));
    ports.and_then(Value::as_array_mut).map_or(&mut [], Vec::as_mut_slice)
}

fn needs_ports(service: &Value) -> bool {
    kind(service) == "NodePort"
        || (kind(service) == "LoadBalancer"
            && service["spec"]["allocateLoadBalancerNodePorts"].as_bool() != Some(false))
}

fn needs_health_port(service: &Value) -> bool {
    kind(service) == "LoadBalancer" && text(service, "externalTrafficPolicy") == "Local"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(network: &mut ServiceNetwork, spec: &Value) -> Value {
        let mut service = json!({"metadata": {"name": "x"}, "spec": spec});
        begin_create(&mut service, network).unwrap();
        network.commit();
        service
    }

    fn updated(network: &mut ServiceNetwork, old: &Value, spec: &Value) -> Value {
        let mut service = json!({"metadata": {"name": "x"}, "spec": spec});
        begin_update(&mut service, old, network).unwrap();
        drop_type_dependent(&mut service, old);
        network.commit();
        service
    }

    #[test]
    fn addresses_are_given_once_and_taken_back() {
        let mut network = ServiceNetwork::new();
        let one = made(&mut network, &json!({"type": "ClusterIP"}));
        assert_eq!(one["spec"]["clusterIPs"], json!(["172.30.1.0"]));
        assert_eq!(one["spec"]["ipFamilies"], json!(["IPv4"]));
        let mut same = json!({"spec": {"type": "ClusterIP", "clusterIP": "172.30.1.0"}});
        let errors = begin_create(&mut same, &mut network).unwrap_err();
        assert!(
            errors[0].detail.ends_with("failed to allocate IP 172.30.1.0: provided IP is already allocated")
        );
        network.rollback();
        network.release(&one);
        assert!(begin_create(&mut same, &mut network).is_ok());
    }

    #[test]
    fn a_headless_service_without_selector_has_both_families() {
        let mut network = ServiceNetwork::new();
        let headless = made(&mut network, &json!({"type": "ClusterIP", "clusterIP": "None"}));
        assert_eq!(headless["spec"]["ipFamilyPolicy"], "RequireDualStack");
        assert_eq!(headless["spec"]["ipFamilies"], json!(["IPv4", "IPv6"]));
        let selecting =
            made(&mut network, &json!({"type": "ClusterIP", "clusterIP": "None", "selector": {"a": "b"}}));
        assert_eq!(selecting["spec"]["ipFamilies"], json!(["IPv4"]));
    }

    #[test]
    fn an_address_outside_the_network_is_refused() {
        let mut service = json!({"spec": {"type": "ClusterIP", "clusterIP": "10.0.0.1"}});
        let errors = begin_create(&mut service, &mut ServiceNetwork::new()).unwrap_err();
        assert_eq!(
            errors[0].to_string(),
            "spec.clusterIPs: Invalid value: [\"10.0.0.1\"]: failed to allocate IP 10.0.0.1: the provided network does not match \
             the current range"
        );
    }

    #[test]
    fn an_update_keeps_address_and_node_ports_and_a_change_of_type_drops_the_ports() {
        let mut network = ServiceNetwork::new();
        let ports = json!([{"name": "a", "port": 80}, {"name": "b", "port": 81}]);
        let old = made(&mut network, &json!({"type": "NodePort", "ports": ports}));
        let node = old["spec"]["ports"][1]["nodePort"].clone();
        assert_eq!(node, 30001);
        let new =
            updated(&mut network, &old, &json!({"type": "NodePort", "ports": [{"name": "b", "port": 81}]}));
        assert_eq!(new["spec"]["ports"][0]["nodePort"], node);
        assert_eq!(new["spec"]["clusterIP"], old["spec"]["clusterIP"]);
        assert!(!network.ports.contains(&30000), "the port that is not used any more is free");
        let mut spec = new["spec"].clone();
        spec["type"] = "ClusterIP".into();
        let plain = updated(&mut network, &new, &spec);
        assert_eq!(plain["spec"]["ports"], json!([{"name": "b", "port": 81}]));
        assert!(network.ports.is_empty());
    }

    #[test]
    fn an_external_name_gives_its_address_back() {
        let mut network = ServiceNetwork::new();
        let old = made(&mut network, &json!({"type": "ClusterIP"}));
        let mut spec = old["spec"].clone();
        spec["type"] = "ExternalName".into();
        let new = updated(&mut network, &old, &spec);
        assert_eq!(new["spec"], json!({"type": "ExternalName"}));
        assert!(network.addresses.is_empty());
    }
}
