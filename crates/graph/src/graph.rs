//! The task graph: nodes of tasks that run one after the other, and edges between nodes.

use serde::Serialize;

use crate::order::Buckets;
use crate::task::{Role, Task, TaskId};

/// Which node of a graph: its place in the list of nodes, which is its identity and its priority.
pub type NodeId = usize;

/// Tasks and the order between them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Graph {
    /// All tasks in release order.
    pub tasks: Vec<Task>,
    /// All nodes.
    pub nodes: Vec<Node>,
}

/// Tasks that run one after the other, and who comes before and after them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Node {
    /// The tasks in order; a node without tasks only holds edges together.
    pub tasks: Vec<TaskId>,
    /// Nodes that must be done before this one starts.
    #[serde(rename = "in")]
    pub before: Vec<NodeId>,
    /// Nodes that wait for this one.
    #[serde(rename = "out")]
    pub after: Vec<NodeId>,
}

// === impl Graph ===

impl Graph {
    /// One node with all tasks in order.
    pub fn serial(tasks: Vec<Task>) -> Self {
        let all = (0..tasks.len()).collect::<Vec<_>>();
        let nodes = if all.is_empty() { Vec::new() } else { vec![Node { tasks: all, ..Node::default() }] };
        Self { tasks, nodes }
    }

    /// Makes every `batch/v1` Job a node of its own that all tasks before it lead to and all after it start from.
    pub fn split_on_jobs(&mut self) {
        let mut current = 0;
        while current < self.nodes.len() {
            self.split_node_on_first_job(current);
            current += 1;
        }
    }

    fn split_node_on_first_job(&mut self, current: NodeId) {
        let tasks = &self.nodes[current].tasks;
        let is_job = |task: &TaskId| self.tasks[*task].role == Role::Barrier;
        let Some(job) = tasks.iter().position(is_job).filter(|_| tasks.len() > 1) else { return };
        let mut before = std::mem::take(&mut self.nodes[current].tasks);
        let after = before.split_off(job + 1);
        self.nodes[current].tasks = before.split_off(job);
        if !before.is_empty() {
            let new = self.nodes.len();
            let inherited = std::mem::replace(&mut self.nodes[current].before, vec![new]);
            for node in &inherited {
                replace(&mut self.nodes[*node].after, current, new);
            }
            self.nodes.push(Node { tasks: before, before: inherited, after: vec![current] });
        }
        if !after.is_empty() {
            let new = self.nodes.len();
            let inherited = std::mem::replace(&mut self.nodes[current].after, vec![new]);
            for node in &inherited {
                replace(&mut self.nodes[*node].before, current, new);
            }
            self.nodes.push(Node { tasks: after, before: vec![current], after: inherited });
        }
    }

    /// Breaks every node into buckets: the nodes of a bucket run side by side, the buckets one after the other.
    ///
    /// Doing it again changes nothing.
    pub fn parallelize(&mut self, mut break_up: impl FnMut(&[Task], &[TaskId]) -> Buckets) {
        let mut current = 0;
        while current < self.nodes.len() {
            let buckets = break_up(&self.tasks, &self.nodes[current].tasks);
            let is_one_node = matches!(buckets.as_slice(), [only] if only.len() == 1);
            if !buckets.is_empty() && !is_one_node {
                self.replace_node(current, buckets);
            }
            current += 1;
        }
    }

    /// Puts buckets in the place of a node, which stays as an empty anchor before them.
    fn replace_node(&mut self, current: NodeId, buckets: Buckets) {
        self.nodes[current].tasks.clear();
        let dependents = std::mem::take(&mut self.nodes[current].after);
        let mut frontier = vec![current];
        for bucket in buckets.into_iter().filter(|bucket| !bucket.is_empty()) {
            // Many on both sides would need an edge for each pair; an empty node between them needs few.
            if frontier.len() > 1 && bucket.len() > 1 {
                frontier = self.add_nodes(vec![Vec::new()], &frontier);
            }
            frontier = self.add_nodes(bucket, &frontier);
        }
        if !dependents.is_empty() {
            let anchor = self.add_nodes(vec![Vec::new()], &frontier)[0];
            for node in &dependents {
                replace(&mut self.nodes[*node].before, current, anchor);
            }
            self.nodes[anchor].after = dependents;
        }
    }

    /// Adds nodes that come after all of `before`; gives their places.
    pub(crate) fn add_nodes(&mut self, lists: Vec<Vec<TaskId>>, before: &[NodeId]) -> Vec<NodeId> {
        let first = self.nodes.len();
        let added: Vec<NodeId> = (first..first + lists.len()).collect();
        for node in before {
            self.nodes[*node].after.extend(&added);
        }
        let nodes = lists.into_iter().map(|tasks| Node { tasks, before: before.to_vec(), after: Vec::new() });
        self.nodes.extend(nodes);
        added
    }
}

fn replace(nodes: &mut [NodeId], old: NodeId, new: NodeId) {
    for node in nodes.iter_mut().filter(|node| **node == old) {
        *node = new;
    }
}

#[cfg(test)]
#[path = "graph_tests.rs"]
pub(crate) mod tests;
