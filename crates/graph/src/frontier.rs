//! The state of a run over a graph, as a pure value: what can start, what runs, what waits and why.
//!
//! Nobody is asked to poll: whoever runs a graph moves nodes from state to state as events arrive, and a node that
//! waits holds nothing. A run is never started over; a node that failed or waits can go on from the task it is at.

use std::collections::{BTreeSet, VecDeque};

use serde::Serialize;

use crate::graph::{Graph, NodeId};
use crate::task::TaskId;

/// The state of all nodes of a graph.
#[derive(Debug, Clone)]
pub struct Frontier {
    nodes: Vec<Progress>,
    before: Vec<Vec<NodeId>>,
    after: Vec<Vec<NodeId>>,
    tasks: Vec<Vec<TaskId>>,
    /// Tasks on the longest chain from a node to the end, its own included: long chains start first.
    chain: Vec<usize>,
    /// What the caller wants first, by task; the same for all unless it says otherwise.
    preference: Vec<u32>,
    ready: BTreeSet<(u32, std::cmp::Reverse<usize>, NodeId)>,
    done_tasks: usize,
}

/// Where one node is.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Progress {
    state: State,
    /// How many of its tasks are done; the next one is the task the node is at.
    done: usize,
    /// How many nodes before it are not done.
    missing: usize,
}

/// What a node is doing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", tag = "state", content = "reason")]
pub enum State {
    /// Nodes before it are not done.
    Blocked,
    /// Its next task can start at once.
    Ready,
    /// Somebody works on its task.
    Running,
    /// Its task waits for something outside, by an event; nobody works on it.
    Waiting(String),
    /// Its task failed; what comes after it stays blocked until it is tried again.
    Failed(String),
    /// All its tasks are done.
    Done,
}

/// One link of the answer to "why does this not start?".
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Link {
    /// The node.
    pub node: NodeId,
    /// The task it is at; `None` for a node that only holds edges together.
    pub task: Option<TaskId>,
    /// What it is doing.
    pub state: State,
}

/// A move that the state of a node does not allow; always a mistake of the caller.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("node {node} is {state:?} and cannot {action}")]
pub struct MoveError {
    /// The node.
    pub node: NodeId,
    /// What it is doing.
    pub state: State,
    /// What was asked of it.
    pub action: &'static str,
}

// === impl Frontier ===

impl Frontier {
    /// The start of a run: nothing is done, nodes without anything before them are ready.
    pub fn new(graph: &Graph) -> Self {
        let nodes = graph.nodes.iter().map(|node| Progress {
            state: State::Blocked,
            done: 0,
            missing: node.before.len(),
        });
        let mut frontier = Self {
            nodes: nodes.collect(),
            before: graph.nodes.iter().map(|node| node.before.clone()).collect(),
            after: graph.nodes.iter().map(|node| node.after.clone()).collect(),
            tasks: graph.nodes.iter().map(|node| node.tasks.clone()).collect(),
            chain: longest_chains(graph),
            preference: vec![0; graph.tasks.len()],
            ready: BTreeSet::new(),
            done_tasks: 0,
        };
        let roots: Vec<NodeId> =
            (0..graph.nodes.len()).filter(|node| frontier.nodes[*node].missing == 0).collect();
        frontier.open(roots);
        frontier
    }

    /// Says which tasks to start first, by task: 0 before 1 before 2.
    #[must_use]
    pub fn preferring(mut self, preference: Vec<u32>) -> Self {
        let ready: Vec<NodeId> = self.ready().collect();
        self.ready.clear();
        self.preference = preference;
        for node in ready {
            self.enter(node, State::Ready);
        }
        self
    }

    /// Nodes whose next task can start now: the preferred ones first, then those with the longest chain behind them.
    pub fn ready(&self) -> impl Iterator<Item = NodeId> {
        self.ready.iter().map(|(_, _, node)| *node)
    }

    /// Starts a ready node: gives the task to work on.
    ///
    /// # Errors
    /// When the node is not ready.
    pub fn start(&mut self, node: NodeId) -> Result<TaskId, MoveError> {
        let task = self.task(node);
        match (&self.nodes[node].state, task) {
            (State::Ready, Some(task)) => {
                self.enter(node, State::Running);
                Ok(task)
            }
            _ => Err(self.refuse(node, "start")),
        }
    }

    /// The task that a node works on has to wait for something outside.
    ///
    /// # Errors
    /// When nobody works on the node and it does not wait already.
    pub fn wait(&mut self, node: NodeId, reason: impl Into<String>) -> Result<(), MoveError> {
        self.leave_for(node, "wait", State::Waiting(reason.into()))
    }

    /// The task that a node works on failed.
    ///
    /// # Errors
    /// When nobody works on the node and it does not wait.
    pub fn fail(&mut self, node: NodeId, reason: impl Into<String>) -> Result<(), MoveError> {
        self.leave_for(node, "fail", State::Failed(reason.into()))
    }

    /// A node that waits or failed can go on, from the task it is at.
    ///
    /// # Errors
    /// When the node neither waits nor failed.
    pub fn wake(&mut self, node: NodeId) -> Result<(), MoveError> {
        match self.nodes[node].state {
            State::Waiting(_) | State::Failed(_) => {
                self.enter(node, State::Ready);
                Ok(())
            }
            _ => Err(self.refuse(node, "wake")),
        }
    }

    /// The task that a node works on or waits with is done; its next task, or the nodes after it, become ready.
    ///
    /// # Errors
    /// When nobody works on the node and it does not wait.
    pub fn finish(&mut self, node: NodeId) -> Result<(), MoveError> {
        if !matches!(self.nodes[node].state, State::Running | State::Waiting(_)) {
            return Err(self.refuse(node, "finish"));
        }
        self.nodes[node].done += 1;
        self.done_tasks += 1;
        if self.task(node).is_some() {
            self.enter(node, State::Ready);
        } else {
            self.open(vec![node]);
        }
        Ok(())
    }

    /// What a node is doing.
    pub fn state(&self, node: NodeId) -> &State {
        &self.nodes[node].state
    }

    /// The task that a node is at, if it has one left.
    pub fn task(&self, node: NodeId) -> Option<TaskId> {
        self.tasks[node].get(self.nodes[node].done).copied()
    }

    /// Whether every task is done.
    pub fn is_done(&self) -> bool {
        self.nodes.iter().all(|node| node.state == State::Done)
    }

    /// Whether nothing can happen any more without help from outside.
    pub fn is_stuck(&self) -> bool {
        !self.is_done() && !self.nodes.iter().any(|node| matches!(node.state, State::Ready | State::Running))
    }

    /// Tasks done, and all tasks.
    pub fn counts(&self) -> (usize, usize) {
        (self.done_tasks, self.tasks.iter().map(Vec::len).sum())
    }

    /// Why a blocked node does not start: the chain of unfinished nodes from it to one that is not blocked itself.
    ///
    /// Of several reasons the one that needs help comes first: failed, then waiting, then running, then ready. The
    /// chain starts with the node itself and is empty when the node is not blocked.
    pub fn blocked(&self, node: NodeId) -> Vec<Link> {
        if self.nodes[node].state != State::Blocked {
            return Vec::new();
        }
        // Breadth first, so that the chain to a root is a shortest one.
        let mut came_from: Vec<Option<NodeId>> = vec![None; self.nodes.len()];
        let mut seen = BTreeSet::from([node]);
        let mut queue = VecDeque::from([node]);
        let mut roots = Vec::new();
        while let Some(current) = queue.pop_front() {
            if self.nodes[current].state != State::Blocked {
                roots.push(current);
                continue;
            }
            for before in self.before[current].iter().copied() {
                if self.nodes[before].state != State::Done && seen.insert(before) {
                    came_from[before] = Some(current);
                    queue.push_back(before);
                }
            }
        }
        let Some(root) = roots.into_iter().min_by_key(|root| (urgency(&self.nodes[*root].state), *root))
        else {
            return Vec::new();
        };
        let mut chain: Vec<Link> =
            std::iter::successors(Some(root), |node| came_from[*node]).map(|node| self.link(node)).collect();
        chain.reverse();
        chain
    }

    fn link(&self, node: NodeId) -> Link {
        Link { node, task: self.task(node), state: self.nodes[node].state.clone() }
    }

    /// Opens nodes that nothing is missing for: those with tasks become ready, those without are done at once.
    fn open(&mut self, mut nodes: Vec<NodeId>) {
        while let Some(node) = nodes.pop() {
            if self.task(node).is_some() {
                self.enter(node, State::Ready);
                continue;
            }
            self.enter(node, State::Done);
            for after in self.after[node].clone() {
                self.nodes[after].missing -= 1;
                if self.nodes[after].missing == 0 {
                    nodes.push(after);
                }
            }
        }
    }

    fn leave_for(&mut self, node: NodeId, action: &'static str, state: State) -> Result<(), MoveError> {
        if !matches!(self.nodes[node].state, State::Running | State::Waiting(_)) {
            return Err(self.refuse(node, action));
        }
        self.enter(node, state);
        Ok(())
    }

    fn enter(&mut self, node: NodeId, state: State) {
        let preference = self.task(node).and_then(|task| self.preference.get(task)).copied();
        let entry = (preference.unwrap_or_default(), std::cmp::Reverse(self.chain[node]), node);
        if state == State::Ready {
            self.ready.insert(entry);
        } else {
            self.ready.remove(&entry);
        }
        self.nodes[node].state = state;
    }

    fn refuse(&self, node: NodeId, action: &'static str) -> MoveError {
        MoveError { node, state: self.nodes[node].state.clone(), action }
    }
}

fn urgency(state: &State) -> u8 {
    match state {
        State::Failed(_) => 0,
        State::Waiting(_) => 1,
        State::Running => 2,
        State::Ready => 3,
        State::Blocked | State::Done => 4,
    }
}

/// Walks the graph from its ends to its starts.
fn longest_chains(graph: &Graph) -> Vec<usize> {
    let mut chain = vec![0; graph.nodes.len()];
    let mut open: Vec<usize> = graph.nodes.iter().map(|node| node.after.len()).collect();
    let mut ends: Vec<NodeId> = (0..graph.nodes.len()).filter(|node| open[*node] == 0).collect();
    while let Some(node) = ends.pop() {
        let behind = graph.nodes[node].after.iter().map(|after| chain[*after]).max().unwrap_or_default();
        chain[node] = graph.nodes[node].tasks.len() + behind;
        for before in &graph.nodes[node].before {
            open[*before] -= 1;
            if open[*before] == 0 {
                ends.push(*before);
            }
        }
    }
    chain
}

#[cfg(test)]
#[path = "frontier_tests.rs"]
mod tests;
