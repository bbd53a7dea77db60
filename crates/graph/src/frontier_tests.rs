//! Runs over graphs: the executor table of the specification, and properties over random graphs and orders.

use proptest::prelude::*;

use super::*;
use crate::graph::Node;
use crate::graph::tests::any_graph;
use crate::task::fixture::tasks;

/// A graph from node task lists and edges, in the words of the specification's table.
fn a_graph(nodes: &[&str], edges: &[(NodeId, NodeId)]) -> Graph {
    let names: Vec<&str> = nodes.iter().flat_map(|node| node.split_whitespace()).collect();
    let mut next = 0..;
    let mut graph = Graph { tasks: tasks(&names), nodes: Vec::new() };
    for node in nodes {
        let tasks = next.by_ref().take(node.split_whitespace().count()).collect();
        graph.nodes.push(Node { tasks, ..Node::default() });
    }
    for (from, to) in edges {
        graph.nodes[*from].after.push(*to);
        graph.nodes[*to].before.push(*from);
    }
    graph
}

/// Runs to the end with so many workers; tasks in `failing` fail. Gives what was done, in order, and the errors.
fn run(graph: &Graph, workers: usize, failing: &[&str]) -> (Vec<String>, Vec<String>) {
    let mut frontier = Frontier::new(graph);
    let (mut done, mut errors) = (Vec::new(), Vec::new());
    loop {
        let nodes: Vec<NodeId> = frontier.ready().take(workers).collect();
        if nodes.is_empty() {
            break;
        }
        let started: Vec<(NodeId, TaskId)> =
            nodes.iter().map(|node| (*node, frontier.start(*node).unwrap())).collect();
        for (node, task) in started {
            let file = graph.tasks[task].file.to_string();
            if failing.contains(&file.as_str()) {
                frontier.fail(node, format!("error - {file}")).unwrap();
                errors.push((node, format!("error - {file}")));
            } else {
                frontier.finish(node).unwrap();
                done.push(file);
            }
        }
    }
    errors.sort();
    (done, errors.into_iter().map(|(_, error)| error).collect())
}

fn sorted(mut list: Vec<String>) -> Vec<String> {
    list.sort();
    list
}

#[test]
fn tasks_of_a_node_run_in_order() {
    let graph = a_graph(&["b a"], &[]);
    assert_eq!(run(&graph, 1, &[]).0, ["b", "a"]);
}

#[test]
fn edges_are_the_only_order_between_nodes() {
    let graph = a_graph(&["c", "d e", "f", "a b", "g"], &[(3, 0), (3, 1), (3, 2), (2, 4)]);
    let (done, errors) = run(&graph, 2, &[]);
    let at = |task: &str| done.iter().position(|name| name == task).unwrap();
    assert_eq!((at("a"), at("b")), (0, 1));
    for (first, second) in [("b", "c"), ("b", "d"), ("b", "f"), ("d", "e"), ("f", "g")] {
        assert!(at(first) < at(second), "{first} before {second} in {done:?}");
    }
    assert!(errors.is_empty() && done.len() == 7);
}

#[test]
fn a_failure_blocks_what_comes_after_it_and_nothing_else() {
    let graph = a_graph(&["a b", "c", "d", "e"], &[(0, 1), (0, 2), (2, 3)]);
    let (done, errors) = run(&graph, 2, &["d"]);
    assert_eq!(
        (sorted(done), errors),
        (vec!["a".into(), "b".into(), "c".into()], vec!["error - d".to_owned()])
    );
    let graph = a_graph(
        &["a", "b", "c1", "c2", "d1", "d2", "d3", "f", "e"],
        &[(0, 1), (1, 2), (2, 3), (1, 4), (4, 5), (5, 6), (1, 7), (3, 8), (6, 8)],
    );
    let (done, errors) = run(&graph, 2, &["c1", "f"]);
    assert_eq!(sorted(done), ["a", "b", "d1", "d2", "d3"]);
    assert_eq!(errors, ["error - c1", "error - f"]);
}

#[test]
fn a_run_that_is_left_alone_says_what_is_not_done() {
    // The reference's rows about cancelled contexts: here nobody calls `start` any more, and the rest stays as it is.
    let graph = a_graph(&["a1 a2 a3", "b"], &[]);
    let mut frontier = Frontier::new(&graph);
    frontier.start(0).unwrap();
    frontier.finish(0).unwrap();
    frontier.start(0).unwrap();
    frontier.finish(0).unwrap();
    assert_eq!(frontier.counts(), (2, 4));
    assert!(!frontier.is_done());
    assert_eq!(frontier.ready().collect::<Vec<_>>(), [0, 1]);
    let graph = a_graph(&["a", "b"], &[(0, 1)]);
    let mut frontier = Frontier::new(&graph);
    frontier.start(0).unwrap();
    frontier.finish(0).unwrap();
    let next = frontier.ready().next().and_then(|node| frontier.task(node)).unwrap();
    assert_eq!((frontier.counts(), graph.tasks[next].to_string()), ((1, 2), "pod \"b\" (0 of 0)".to_owned()));
}

#[test]
fn a_waiting_node_holds_nothing_and_goes_on_where_it_was() {
    let graph = a_graph(&["a b", "c", "d"], &[(0, 2)]);
    let mut frontier = Frontier::new(&graph);
    frontier.start(0).unwrap();
    frontier.finish(0).unwrap();
    frontier.start(0).unwrap();
    frontier.wait(0, "clusteroperator x is not available").unwrap();
    assert_eq!(frontier.ready().collect::<Vec<_>>(), [1], "another node goes on");
    frontier.wake(0).unwrap();
    assert_eq!(frontier.start(0), Ok(1), "the same task again");
    frontier.wait(0, "still").unwrap();
    frontier.finish(0).unwrap();
    assert_eq!(*frontier.state(2), State::Ready, "an event can finish a waiting task");
}

#[test]
fn the_chain_leads_from_a_blocked_node_to_the_cause() {
    let graph = a_graph(&["a", "b", "", "c", "d"], &[(0, 2), (1, 2), (2, 3), (3, 4)]);
    let mut frontier = Frontier::new(&graph);
    frontier.start(0).unwrap();
    frontier.start(1).unwrap();
    frontier.wait(1, "the namespace is not there").unwrap();
    let chain = frontier.blocked(4);
    let nodes: Vec<NodeId> = chain.iter().map(|link| link.node).collect();
    assert_eq!(nodes, [4, 3, 2, 1], "through the empty node to the one that waits, not to the one that runs");
    assert_eq!(chain.last().unwrap().state, State::Waiting("the namespace is not there".to_owned()));
    assert_eq!(chain[2].task, None);
    assert!(frontier.blocked(0).is_empty());
    frontier.fail(0, "refused").unwrap();
    assert_eq!(frontier.blocked(3).last().unwrap().state, State::Failed("refused".to_owned()));
    assert!(frontier.is_stuck());
    frontier.wake(0).unwrap();
    assert!(!frontier.is_stuck());
}

#[test]
fn long_chains_start_first() {
    let graph = a_graph(&["a", "b", "c d e"], &[(1, 2)]);
    assert_eq!(Frontier::new(&graph).ready().collect::<Vec<_>>(), [1, 0]);
}

#[test]
fn moves_that_make_no_sense_are_refused_and_change_nothing() {
    let graph = a_graph(&["a", "b"], &[(0, 1)]);
    let mut frontier = Frontier::new(&graph);
    assert_eq!(frontier.start(1).unwrap_err().to_string(), "node 1 is Blocked and cannot start");
    assert!(frontier.finish(0).is_err() && frontier.wait(0, "x").is_err() && frontier.wake(0).is_err());
    frontier.start(0).unwrap();
    assert!(frontier.start(0).is_err());
    frontier.finish(0).unwrap();
    assert!(frontier.finish(0).is_err());
    assert_eq!(frontier.counts(), (1, 2));
}

#[test]
fn an_empty_graph_is_done() {
    let frontier = Frontier::new(&a_graph(&[], &[]));
    assert!(frontier.is_done() && !frontier.is_stuck());
    assert_eq!(frontier.counts(), (0, 0));
    assert!(Frontier::new(&a_graph(&["", ""], &[(0, 1)])).is_done(), "empty nodes need nobody");
}

proptest! {
    /// Whatever the order of completions, with waits in between: every task once, never before what it depends on.
    #[test]
    fn any_completion_order_runs_every_task_once_behind_its_barriers(
        graph in any_graph(),
        choices in proptest::collection::vec((any::<u16>(), 0..4_u8), 0..400),
    ) {
        let mut frontier = Frontier::new(&graph);
        let mut choices = choices.into_iter().chain(std::iter::repeat((0, 0)));
        let mut running: Vec<NodeId> = Vec::new();
        let mut waiting: Vec<NodeId> = Vec::new();
        let mut done: Vec<TaskId> = Vec::new();
        while !frontier.is_done() {
            prop_assert!(!frontier.is_stuck() || !waiting.is_empty());
            let (pick, action) = choices.next().unwrap();
            let pick = usize::from(pick);
            let ready: Vec<NodeId> = frontier.ready().collect();
            if action == 0 && !ready.is_empty() || running.is_empty() && waiting.is_empty() {
                let node = ready[pick % ready.len()];
                let task = frontier.start(node).unwrap();
                prop_assert!(!done.contains(&task));
                for before in &graph.nodes[node].before {
                    prop_assert_eq!(frontier.state(*before), &State::Done);
                }
                running.push(node);
            } else if action == 1 && !running.is_empty() {
                let node = running.swap_remove(pick % running.len());
                frontier.wait(node, "an event").unwrap();
                waiting.push(node);
            } else if action == 2 && !waiting.is_empty() {
                let node = waiting.swap_remove(pick % waiting.len());
                frontier.wake(node).unwrap();
            } else {
                let list = if running.is_empty() { &mut waiting } else { &mut running };
                if list.is_empty() { continue; }
                let place = pick % list.len();
                let node = list.swap_remove(place);
                done.push(frontier.task(node).unwrap());
                frontier.finish(node).unwrap();
            }
            for node in 0..graph.nodes.len() {
                let chain = frontier.blocked(node);
                if *frontier.state(node) == State::Blocked {
                    prop_assert_eq!(chain[0].node, node);
                    prop_assert_ne!(&chain.last().unwrap().state, &State::Blocked);
                }
            }
        }
        prop_assert_eq!(done.len(), graph.tasks.len());
        done.sort_unstable();
        done.dedup();
        prop_assert_eq!(done.len(), graph.tasks.len());
    }

    /// The set of tasks that can be done does not depend on the order of the nodes of a bucket.
    #[test]
    fn shuffled_graphs_block_the_same_tasks(names in crate::graph::tests::any_names(), fails in 0..40_usize) {
        use crate::order::{InstallOrder, Mode, build};
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let outcome = |attempt: usize| {
            let mut graph = build(tasks(&names), Mode::Reconciling, InstallOrder::Flat, attempt);
            for (index, task) in graph.tasks.iter_mut().enumerate() {
                task.file = std::sync::Arc::from(format!("{index}"));
            }
            sorted(run(&graph, 3, &[&fails.to_string()]).0)
        };
        prop_assert_eq!(outcome(0), outcome(8));
        prop_assert_eq!(outcome(0), outcome(13));
    }
}

#[test]
fn a_preferred_task_starts_before_one_with_a_longer_chain() {
    let graph = a_graph(&["a b c", "d", "e"], &[]);
    let frontier = Frontier::new(&graph);
    assert_eq!(frontier.ready().collect::<Vec<_>>(), [0, 1, 2], "the longest chain first");
    let frontier = frontier.preferring(vec![1, 0, 0, 2, 0]);
    assert_eq!(frontier.ready().collect::<Vec<_>>(), [2, 0, 1]);
}
