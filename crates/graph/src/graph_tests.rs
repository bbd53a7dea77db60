//! The graphs of the specification, node by node.

use proptest::prelude::*;

use super::*;
use crate::order::{InstallOrder, Mode, build, by_run_level_and_component, flatten, loosen};
use crate::task::fixture::tasks;

/// `index: tasks in[…] out[…]`, with files shortened as in the specification's tables.
fn shown(graph: &Graph) -> Vec<String> {
    let list = |name: &str, nodes: &[NodeId]| {
        let nodes: Vec<String> = nodes.iter().map(ToString::to_string).collect();
        if nodes.is_empty() { String::new() } else { format!(" {name}[{}]", nodes.join(",")) }
    };
    let line = |(index, node): (usize, &Node)| {
        let files: Vec<&str> = node.tasks.iter().map(|task| &*graph.tasks[*task].file).collect();
        let files = if files.is_empty() { "–".to_owned() } else { files.join(" ").replace("0000_", "") };
        format!("{index}: {files}{}{}", list("in", &node.before), list("out", &node.after))
    };
    graph.nodes.iter().enumerate().map(line).collect()
}

fn split(names: &[&str]) -> Vec<String> {
    let mut graph = Graph::serial(tasks(names));
    graph.split_on_jobs();
    shown(&graph)
}

fn update(names: &[&str]) -> Vec<String> {
    shown(&build(tasks(names), Mode::Updating, InstallOrder::Flat, 0))
}

#[test]
fn jobs_become_barriers() {
    let cases: [(&[&str], &[&str]); 7] = [
        (&[], &[]),
        (&["p"], &["0: p"]),
        (&["J J", "p"], &["0: J out[1]", "1: p in[0]"]),
        (&["p", "J J"], &["0: J in[1]", "1: p out[0]"]),
        (&["p1", "p2", "J J", "p3"], &["0: J in[1] out[2]", "1: p1 p2 out[0]", "2: p3 in[0]"]),
        (
            &["p1", "p2", "J J1", "p3", "J J2", "p4"],
            &[
                "0: J1 in[1] out[3]",
                "1: p1 p2 out[0]",
                "2: J2 in[3] out[4]",
                "3: p3 in[0] out[2]",
                "4: p4 in[2]",
            ],
        ),
        (&["J J1", "p1", "p2", "J J2"], &["0: J1 out[2]", "1: J2 in[2]", "2: p1 p2 in[0] out[1]"]),
    ];
    for (names, expected) in cases {
        assert_eq!(split(names), expected, "{names:?}");
    }
}

#[test]
fn update_graphs_of_the_specification() {
    let cases: [(&[&str], &[&str]); 7] = [
        (&["a", "J 0000_50_a_0"], &["0: 50_a_0 in[1]", "1: a out[0]"]),
        (
            &["a", "J 0000_50_a_0", "0000_50_a_1", "0000_50_a_2"],
            &["0: 50_a_0 in[1] out[2]", "1: a out[0]", "2: 50_a_1 50_a_2 in[0]"],
        ),
        (
            &["J a", "0000_50_a_0", "0000_50_b_0", "0000_50_b_1"],
            &["0: a out[1]", "1: – in[0] out[2,3]", "2: 50_a_0 in[1]", "3: 50_b_0 50_b_1 in[1]"],
        ),
        (
            &["J a", "0000_50_a_0", "0000_50_b_0", "0000_50_b_1", "0000_50_c_0", "J b"],
            &[
                "0: a out[2]",
                "1: b in[6]",
                "2: – in[0] out[3,4,5]",
                "3: 50_a_0 in[2] out[6]",
                "4: 50_b_0 50_b_1 in[2] out[6]",
                "5: 50_c_0 in[2] out[6]",
                "6: – in[3,4,5] out[1]",
            ],
        ),
        (
            &[
                "0000_07_a_0",
                "0000_08_a_0",
                "0000_09_a_0",
                "0000_09_a_1",
                "0000_09_b_0",
                "0000_09_b_1",
                "0000_10_a_0",
                "0000_10_a_1",
                "0000_11_a_0",
                "0000_11_a_1",
            ],
            &[
                "0: – out[1]",
                "1: 07_a_0 08_a_0 in[0] out[2,3]",
                "2: 09_a_0 09_a_1 in[1] out[4]",
                "3: 09_b_0 09_b_1 in[1] out[4]",
                "4: 10_a_0 10_a_1 11_a_0 11_a_1 in[2,3]",
            ],
        ),
        (
            &["0000_10_a_0", "0000_10_b_0", "0000_20_a_0", "0000_20_b_0"],
            &[
                "0: – out[1,2]",
                "1: 10_a_0 in[0] out[3]",
                "2: 10_b_0 in[0] out[3]",
                "3: – in[1,2] out[4,5]",
                "4: 20_a_0 in[3]",
                "5: 20_b_0 in[3]",
            ],
        ),
        (
            &["0000_10_a_0", "0000_10_b_0", "J 0000_20_j_0", "0000_30_a_0", "0000_30_b_0"],
            &[
                "0: 20_j_0 in[5] out[2]",
                "1: – out[3,4]",
                "2: – in[0] out[6,7]",
                "3: 10_a_0 in[1] out[5]",
                "4: 10_b_0 in[1] out[5]",
                "5: – in[3,4] out[0]",
                "6: 30_a_0 in[2]",
                "7: 30_b_0 in[2]",
            ],
        ),
    ];
    for (names, expected) in cases {
        assert_eq!(update(names), expected, "{names:?}");
    }
}

const PLATFORM: [&str; 17] = [
    "0000_00_cluster-version-operator_1",
    "0000_00_cluster-version-operator_2",
    "0000_90_cluster-version-operator_1",
    "0000_03_authorization-openshift_1",
    "0000_03_quota-openshift_1",
    "0000_03_security-openshift_1",
    "0000_05_config-operator_1",
    "0000_10-helm-chart-repository.crd.yaml",
    "0000_10_consoleclidownload.crd.yaml",
    "0000_20_kube-apiserver-operator_1",
    "0000_20_kube-apiserver-operator_2",
    "0000_50_a_1",
    "0000_50_a_2",
    "0000_50_b_1",
    "0000_70_dns_1",
    "0000_70_net_1",
    "0000_99_x_00",
];

#[test]
fn a_larger_update_of_the_specification() {
    let graph = build(tasks(&PLATFORM), Mode::Updating, InstallOrder::Flat, 0);
    let shape: Vec<(usize, Vec<NodeId>)> =
        graph.nodes.iter().map(|node| (node.tasks.len(), node.after.clone())).collect();
    let expected = vec![
        (0, vec![1]),
        (3, vec![2, 3, 4]),
        (1, vec![5]),
        (1, vec![5]),
        (1, vec![5]),
        (5, vec![6, 7]),
        (2, vec![8]),
        (1, vec![8]),
        (0, vec![9, 10]),
        (1, vec![11]),
        (1, vec![11]),
        (1, vec![]),
    ];
    assert_eq!(shape, expected);
    let flat = build(tasks(&PLATFORM), Mode::Installing, InstallOrder::Flat, 0);
    assert_eq!(flat.nodes.len(), 15, "an anchor and 14 nodes");
    assert_eq!(flat.nodes[0].after, (1..15).collect::<Vec<_>>());
    let in_order = build(tasks(&PLATFORM), Mode::Installing, InstallOrder::RunLevel, 0);
    assert_eq!(shown(&in_order), shown(&graph), "an installation in run-level order is the update's graph");
}

#[test]
fn nodes_added_in_bulk_keep_the_edges_that_were_there() {
    let mut graph = Graph::serial(tasks(&["a", "b", "c", "d"]));
    graph.nodes[0].tasks.truncate(2);
    assert_eq!(graph.add_nodes(vec![vec![2], vec![3]], &[0]), [1, 2]);
    assert_eq!(shown(&graph), ["0: a b out[1,2]", "1: c in[0]", "2: d in[0]"]);
    let mut graph = Graph::serial(tasks(&["a", "b", "c", "d", "e"]));
    graph.nodes[0].tasks.truncate(2);
    graph.add_nodes(vec![vec![4]], &[0]);
    assert_eq!(graph.add_nodes(vec![vec![2], vec![3]], &[0]), [2, 3]);
    assert_eq!(graph.nodes[0].after, [1, 2, 3]);
}

#[test]
fn breaking_up_twice_changes_nothing() {
    let mut graph = build(tasks(&PLATFORM), Mode::Updating, InstallOrder::Flat, 0);
    let before = graph.clone();
    graph.parallelize(by_run_level_and_component);
    assert_eq!(graph, before);
    let mut flat = build(tasks(&PLATFORM), Mode::Installing, InstallOrder::Flat, 0);
    let before = flat.clone();
    flat.parallelize(flatten);
    assert_eq!(flat, before);
}

/// Random file names: levels, components, Jobs and names without a run level.
pub(crate) fn any_names() -> impl Strategy<Value = Vec<String>> {
    let name = prop_oneof![
        8 => (0..4_u8, 0..4_u8).prop_map(|(level, component)| format!("0000_{level}0_{}_f", char::from(b'a' + component))),
        1 => (0..4_u8, 0..4_u8).prop_map(|(level, component)| format!("J 0000_{level}0_{}_j", char::from(b'a' + component))),
        1 => Just("0000_plain.yaml".to_owned()),
    ];
    proptest::collection::vec(name, 0..40).prop_map(|mut names| {
        names.sort_by_key(|name| name.trim_start_matches("J ").to_owned());
        names
    })
}

pub(crate) fn any_graph() -> impl Strategy<Value = Graph> {
    let mode = prop_oneof![Just(Mode::Installing), Just(Mode::Updating), Just(Mode::Reconciling)];
    let order = prop_oneof![Just(InstallOrder::Flat), Just(InstallOrder::RunLevel)];
    (any_names(), mode, order, 0..20_usize).prop_map(|(names, mode, order, attempt)| {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        build(tasks(&names), mode, order, attempt)
    })
}

/// The graph in a library's form, as an oracle.
fn oracle(graph: &Graph) -> petgraph::graph::DiGraph<(), ()> {
    let edges =
        graph.nodes.iter().enumerate().flat_map(|(from, node)| node.after.iter().map(move |to| (from, *to)));
    let edges = edges.map(|(from, to)| (u32::try_from(from).unwrap(), u32::try_from(to).unwrap()));
    let mut oracle = petgraph::graph::DiGraph::from_edges(edges);
    while oracle.node_count() < graph.nodes.len() {
        oracle.add_node(());
    }
    oracle
}

proptest! {
    #[test]
    fn every_task_stands_in_exactly_one_node_and_edges_agree(graph in any_graph()) {
        let mut placed: Vec<TaskId> = graph.nodes.iter().flat_map(|node| node.tasks.clone()).collect();
        placed.sort_unstable();
        prop_assert_eq!(placed, (0..graph.tasks.len()).collect::<Vec<_>>());
        for (id, node) in graph.nodes.iter().enumerate() {
            for before in &node.before {
                prop_assert!(graph.nodes[*before].after.contains(&id));
            }
            for after in &node.after {
                prop_assert!(graph.nodes[*after].before.contains(&id));
            }
        }
        prop_assert!(!petgraph::algo::is_cyclic_directed(&oracle(&graph)));
    }

    #[test]
    fn jobs_are_barriers_in_every_mode(graph in any_graph()) {
        let oracle = oracle(&graph);
        let node_of = |task: TaskId| graph.nodes.iter().position(|node| node.tasks.contains(&task)).unwrap();
        let leads = |from: TaskId, to: TaskId| {
            let index = |task| petgraph::graph::NodeIndex::new(node_of(task));
            petgraph::algo::has_path_connecting(&oracle, index(from), index(to), None)
        };
        let jobs: Vec<TaskId> = (0..graph.tasks.len()).filter(|task| graph.tasks[*task].role == Role::Barrier).collect();
        for job in jobs {
            prop_assert_eq!(graph.nodes[node_of(job)].tasks.len(), 1);
            prop_assert!((0..job).all(|task| leads(task, job)));
            prop_assert!((job + 1..graph.tasks.len()).all(|task| leads(job, task)));
        }
    }

    #[test]
    fn an_update_never_runs_a_level_before_an_earlier_one(names in any_names()) {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let graph = build(tasks(&names), Mode::Updating, InstallOrder::Flat, 0);
        let oracle = oracle(&graph);
        let node_of = |task: TaskId| graph.nodes.iter().position(|node| node.tasks.contains(&task)).unwrap();
        for (first, a) in graph.tasks.iter().enumerate() {
            for (second, b) in graph.tasks.iter().enumerate().skip(first + 1) {
                if a.level() != b.level() && a.level().is_some() && b.level().is_some() {
                    let (from, to) = (node_of(first), node_of(second));
                    let connected = petgraph::algo::has_path_connecting(
                        &oracle, petgraph::graph::NodeIndex::new(from), petgraph::graph::NodeIndex::new(to), None,
                    );
                    prop_assert!(connected, "{} before {}", a.file, b.file);
                }
            }
        }
    }
}

#[test]
fn an_installation_applies_a_component_side_by_side_up_to_its_gate() {
    let mut tasks = tasks(&["0000_10_a_1", "0000_10_a_2", "0000_10_a_3", "0000_10_a_4", "0000_10_a_5"]);
    tasks[2].role = Role::Gate;
    let mut graph = Graph::serial(tasks);
    graph.parallelize(loosen);
    let of = |task: TaskId| graph.nodes.iter().position(|node| node.tasks == [task]).unwrap();
    assert!(graph.nodes[of(0)].before == graph.nodes[of(1)].before, "side by side");
    assert_eq!(graph.nodes[of(2)].before, [of(0), of(1)], "the gate after both");
    assert_eq!(graph.nodes[of(3)].before, [of(2)]);
    assert_eq!(graph.nodes[of(4)].before, [of(2)]);
}
