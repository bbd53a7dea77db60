//! The test tables of Services.

use serde_json::{Value, json};

use super::check_spec;

#[test]
fn service_ports_are_matched_by_name() {
    let ports = |ports: Value| json!({"ports": ports});
    let (udp, named) = (
        json!([{"protocol": "UDP", "port": 8282}]),
        json!([{"name": "foo", "protocol": "UDP", "port": 8282}]),
    );
    check_spec(
        "v1",
        "Service",
        [
            (json!({}), json!({}), None),
            (json!({}), ports(udp.clone()), Some(ports(udp))),
            (ports(json!([])), ports(named.clone()), Some(ports(named))),
            (ports(json!([{"port": 8282}])), json!({}), Some(json!({}))),
            (ports(json!([{"name": "bar", "port": 8282}])), ports(json!([])), Some(ports(json!([])))),
            (
                ports(json!([{"name": "test", "protocol": "UDP", "port": 8080, "targetPort": 8080}])),
                ports(json!([{"name": "test", "protocol": "UDP", "port": 8282}])),
                Some(ports(json!([{"name": "test", "protocol": "UDP", "port": 8282, "targetPort": 8282}]))),
            ),
            (
                ports(json!([{"port": 8080, "protocol": "TCP", "targetPort": 8080}])),
                ports(json!([{"port": 8282, "protocol": "UDP"}])),
                Some(ports(json!([{"port": 8282, "protocol": "UDP", "targetPort": 8282}]))),
            ),
            (
                ports(
                    json!([{"name": "foo", "port": 8080, "targetPort": 1}, {"name": "bar", "port": 8081, "targetPort": 2}]),
                ),
                ports(
                    json!([{"name": "foo", "port": 8282, "protocol": "UDP"}, {"name": "bar", "port": 8283, "protocol": "UDP"}]),
                ),
                Some(ports(json!([{"name": "foo", "port": 8282, "protocol": "UDP", "targetPort": 8282},
                    {"name": "bar", "port": 8283, "protocol": "UDP", "targetPort": 8283}]))),
            ),
            (
                ports(json!([{"name": "foo", "port": 1}, {"name": "bar", "port": 2}])),
                ports(json!([{"name": "bar", "port": 2}, {"name": "foo", "port": 1}])),
                None,
            ),
            (ports(json!([{"port": 1, "protocol": "TCP"}])), ports(json!([{"port": 1}])), None),
            (ports(json!([{"port": 1, "targetPort": 1}])), ports(json!([{"port": 1}])), None),
            (
                ports(json!([{"port": 1, "targetPort": 1}])),
                ports(json!([{"port": 1, "targetPort": 0}])),
                None,
            ),
            (
                ports(json!([{"name": "foo", "port": 8080, "targetPort": 8081, "nodePort": 8081}])),
                ports(json!([{"name": "foo", "port": 8080}])),
                Some(ports(json!([{"name": "foo", "port": 8080, "targetPort": 8080}]))),
            ),
        ],
    );
}

#[test]
fn a_node_port_that_the_type_needs_stays_when_the_port_changes() {
    let spec = |port: u16| json!({"type": "NodePort", "ports": [{"name": "a", "port": port}]});
    let mut live = spec(1);
    live["ports"][0]["nodePort"] = json!(30000);
    let mut result = spec(2);
    result["ports"][0]["nodePort"] = json!(30000);
    check_spec("v1", "Service", [(live.clone(), spec(1), None), (live, spec(2), Some(result))]);
}

#[test]
fn service_types_and_selectors_are_exact_and_addresses_are_left() {
    let ty = |ty: &str| json!({"type": ty});
    check_spec(
        "v1",
        "Service",
        [
            (ty(""), json!({}), Some(ty("ClusterIP"))),
            (ty("ClusterIP"), json!({}), None),
            (ty("ClusterIP"), ty(""), None),
            (ty("NodePort"), json!({}), Some(ty("ClusterIP"))),
            (ty("ClusterIP"), ty("ClusterIP"), None),
            (ty("ClusterIP"), ty("NodePort"), Some(ty("NodePort"))),
            (
                json!({"clusterIP": "1.2.3.4", "sessionAffinity": "ClientIP", "externalIPs": ["1"]}),
                json!({}),
                None,
            ),
            (
                json!({"selector": {"a": "1", "b": "2"}}),
                json!({"selector": {"a": "1"}}),
                Some(json!({"selector": {"a": "1"}})),
            ),
            (json!({"selector": {"a": "1"}}), json!({}), Some(json!({}))),
        ],
    );
}
