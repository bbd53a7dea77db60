//! Nodes and pools: phases, assessments, estimates, order, and what is left out.

use super::*;

/// One worker of this configuration and state, with more annotations.
fn worker(current: &str, desired: &str, state: &str, more: &[(&str, &str)]) -> Node {
    in_pool(a_pool("worker", "new"), current, desired, state, more)
}

fn in_pool(pool: Value, current: &str, desired: &str, state: &str, more: &[(&str, &str)]) -> Node {
    let mut node = a_node("worker-a-1", "worker", current, desired, state);
    for (key, value) in more {
        node["metadata"]["annotations"][format!("machineconfiguration.openshift.io/{key}")] = json!(value);
    }
    one(pool, node)
}

fn one(pool: Value, node: Value) -> Node {
    let mut input = the_example();
    input.pools = vec![pool];
    input.configs = vec![a_config("new", "4.20.3"), a_config("old", "4.20.1")];
    input.nodes = vec![node];
    picture(&input).unwrap().pools[0].nodes[0].clone()
}

#[track_caller]
fn is(node: &Node, assessment: NodeAssessment, phase: Phase, estimate: &str) {
    assert_eq!((node.assessment, node.phase, node.estimate), (assessment, phase, estimate), "{node:?}");
}

#[test]
fn every_phase_has_its_assessment_and_estimate() {
    use NodeAssessment::{Completed, Excluded, Outdated, Progressing};
    is(&worker("old", "new", "Done", &[]), Progressing, Phase::Draining, "+10m");
    let draining = [("desiredDrain", "drain-new"), ("lastAppliedDrain", "uncordon-old")];
    is(&worker("old", "new", "Working", &draining), Progressing, Phase::Draining, "+10m");
    let drained = [("desiredDrain", "drain-new"), ("lastAppliedDrain", "drain-new")];
    is(&worker("old", "new", "Working", &drained), Progressing, Phase::Updating, "+5m");
    let uncordoning = [("desiredDrain", "uncordon-new"), ("lastAppliedDrain", "drain-new")];
    is(&worker("old", "new", "Working", &uncordoning), Progressing, Phase::Updating, "+5m");
    is(&worker("old", "new", "", &[("desiredDrain", "drain-new")]), Progressing, Phase::Updating, "+5m");
    is(&worker("old", "new", "Rebooting", &[]), Progressing, Phase::Rebooting, "+5m");
    is(&worker("new", "new", "Done", &[]), Completed, Phase::Updated, "-");
    is(&worker("old", "old", "Done", &[]), Outdated, Phase::Pending, "?");
    let mut paused = a_pool("worker", "new");
    paused["spec"]["paused"] = json!(true);
    is(&in_pool(paused, "old", "old", "Done", &[]), Excluded, Phase::Paused, "-");
}

#[test]
fn a_node_is_on_its_way_only_to_the_configuration_of_its_pool() {
    let elsewhere = in_pool(a_pool("worker", "another"), "old", "new", "Working", &[]);
    assert_eq!(elsewhere.phase, Phase::Pending);
    assert_eq!(worker("", "new", "Working", &[]).phase, Phase::Pending, "both must be known");
    assert_eq!(worker("old", "unknown", "Working", &[]).phase, Phase::Pending);
}

#[test]
fn what_keeps_a_node_from_work_is_told_in_words() {
    let mut node = a_node("worker-a-1", "worker", "old", "old", "Working");
    node["spec"]["unschedulable"] = json!(true);
    node["status"]["conditions"] = json!([
        condition("Ready", "Unknown", &ago(4, 59), "", "the kubelet is silent"),
        condition("DiskPressure", "True", &ago(0, 59), "", ""),
        condition("NetworkUnavailable", "True", &ago(0, 59), "", ""),
    ]);
    let young = one(a_pool("worker", "new"), node.clone());
    assert_eq!(young.assessment, NodeAssessment::Unavailable);
    assert_eq!(
        young.message,
        "Not ready | Disk pressure | Network unavailable | Node is marked unschedulable | Machine Config Daemon is \
             processing the node"
    );
    assert_eq!(young.trouble, None, "not for long enough");
    for (place, what, since) in [
        (0, "is not ready", ago(5, 0)),
        (1, "has disk pressure", ago(1, 0)),
        (2, "has unavailable network", ago(1, 0)),
    ] {
        let mut old = node.clone();
        old["status"]["conditions"][place]["lastTransitionTime"] = json!(since);
        assert_eq!(one(a_pool("worker", "new"), old).trouble.unwrap().what, what);
    }
    let annotations = &mut node["metadata"]["annotations"];
    annotations["machineconfiguration.openshift.io/desiredConfig"] = json!("new");
    assert_eq!(one(a_pool("worker", "new"), node).assessment, NodeAssessment::Progressing, "it is updated");
}

#[test]
fn a_degraded_node_tells_its_reason_without_its_own_long_name() {
    for state in ["Degraded", "Unreconcilable"] {
        let node = worker("old", "new", state, &[("reason", "failed to drain node worker-a-1 after 1 hour")]);
        assert_eq!(node.assessment, NodeAssessment::Degraded);
        assert_eq!(node.message, "failed to drain node <node> after 1 hour");
    }
    let mut short = a_node("w1", "worker", "old", "new", "Degraded");
    short["metadata"]["annotations"]["machineconfiguration.openshift.io/reason"] = json!("w1 is w1");
    assert_eq!(one(a_pool("worker", "new"), short).message, "w1 is w1");
}

#[test]
fn a_node_belongs_to_the_control_plane_then_to_its_own_pool_then_to_the_workers() {
    let mut input = the_example();
    input.pools = vec![a_pool("worker", "new"), a_pool("infra", "new"), a_pool("master", "new")];
    input.pools[1]["spec"]["nodeSelector"] =
        json!({"matchExpressions": [{"key": "node-role.kubernetes.io/infra", "operator": "Exists"}]});
    let node = |name: &str, roles: &[&str]| {
        let mut node = a_node(name, roles[0], "old", "old", "Done");
        for role in roles {
            node["metadata"]["labels"][format!("node-role.kubernetes.io/{role}")] = json!("");
        }
        node
    };
    input.nodes = vec![
        node("a", &["worker", "master", "infra"]),
        node("b", &["worker", "infra"]),
        node("c", &["worker"]),
        node("d", &["other"]),
    ];
    let pools = picture(&input).unwrap().pools;
    let found: Vec<(&str, Vec<&str>)> = pools
        .iter()
        .map(|pool| (pool.name.as_str(), pool.nodes.iter().map(|node| node.name.as_str()).collect()))
        .collect();
    assert_eq!(found, [("master", vec!["a"]), ("infra", vec!["b"]), ("worker", vec!["c"])]);
}

/// 59 workers as in the specification's example: 22 updated, 5 at work, 12 draining, 7 of the others degraded.
fn a_large_pool() -> Input {
    let mut input = the_example();
    input.pools = vec![a_pool("worker", "new"), a_pool("zoo", "new")];
    input.configs = vec![a_config("new", "4.20.3"), a_config("old", "4.20.1")];
    input.nodes = (0..59)
        .map(|number| {
            let (current, desired, state) = match number {
                0..22 => ("new", "new", "Done"),
                22..27 => ("old", "new", "Working"),
                27..39 => ("old", "new", "Done"),
                39..46 => ("old", "old", "Degraded"),
                _ => ("old", "old", "Done"),
            };
            let mut node = a_node(&format!("node-{number:02}"), "worker", current, desired, state);
            // Those that are emptied, and three more, take no Pods.
            if (27..39).contains(&number) || number >= 56 {
                node["spec"]["unschedulable"] = json!(true);
            }
            node
        })
        .collect();
    input
}

#[test]
fn a_large_pool_is_shortened_but_nobody_in_trouble_is_left_out() {
    let input = a_large_pool();
    let text = shown(&input);
    has(&text, "WORKER POOL   ASSESSMENT   COMPLETION    STATUS\n");
    has(
        &text,
        "worker        Degraded     37% (22/59)   44 Available, 5 Progressing, 12 Draining, 7 Degraded\n",
    );
    has(&text, "zoo           Empty                      0 Total\n");
    let rows = |text: &str| text.lines().filter(|line| line.starts_with("node-")).count();
    assert_eq!(rows(&text), 10);
    has(
            &text,
            "...
Omitted additional 49 Total, 22 Completed, 37 Available, 5 Progressing, 10 Outdated, 12 Draining, 0 Excluded, and 0 Degraded nodes.
Pass along --details=nodes to see all information.
",
        );
    let all = super::text(&picture(&input).unwrap(), Details { nodes: true, ..Details::default() });
    assert_eq!(rows(&all), 59);
    lacks(&all, "Omitted");
    insta::assert_snapshot!("large_pool", text);
}

#[test]
fn more_than_ten_in_trouble_are_all_shown() {
    let mut input = a_large_pool();
    for node in &mut input.nodes[..22] {
        node["status"]["conditions"][0] = condition("Ready", "False", &ago(9, 0), "", "gone");
    }
    let text = shown(&input);
    assert_eq!(text.lines().filter(|line| line.starts_with("node-")).count(), 29);
}

#[test]
fn nodes_are_sorted_by_what_needs_eyes_first() {
    use NodeAssessment::{Completed, Degraded, Outdated, Progressing, Unavailable};
    let pools = picture(&a_large_pool()).unwrap().pools;
    let mut order: Vec<NodeAssessment> = pools[0].nodes.iter().map(|node| node.assessment).collect();
    assert!(order.is_sorted());
    order.dedup();
    assert_eq!(order, [Degraded, Unavailable, Progressing, Outdated, Completed]);
    let draining = pools[0].nodes.iter().position(|node| node.phase == Phase::Draining);
    assert!(draining < pools[0].nodes.iter().position(|node| node.phase == Phase::Updating));
}

#[test]
fn a_pool_is_what_its_nodes_are() {
    let of = |nodes: &[(&str, &str, &str)], paused: bool| {
        let mut input = a_large_pool();
        input.pools[0]["spec"]["paused"] = json!(paused);
        let node = |(number, (current, desired, state)): (usize, &(&str, &str, &str))| {
            a_node(&format!("n{number}"), "worker", current, desired, state)
        };
        input.nodes = nodes.iter().enumerate().map(node).collect();
        picture(&input).unwrap().pools[0].assessment
    };
    let (updated, pending, moving) =
        (("new", "new", "Done"), ("old", "old", "Done"), ("old", "new", "Working"));
    assert_eq!(of(&[], false), PoolAssessment::Empty);
    assert_eq!(of(&[updated, updated], true), PoolAssessment::Completed);
    assert_eq!(of(&[pending, pending], false), PoolAssessment::Pending);
    assert_eq!(of(&[updated, pending], false), PoolAssessment::Progressing);
    assert_eq!(of(&[updated, moving], false), PoolAssessment::Progressing);
    assert_eq!(of(&[updated, pending], true), PoolAssessment::Excluded);
    assert_eq!(of(&[pending, ("old", "new", "Degraded")], true), PoolAssessment::Degraded);
}
