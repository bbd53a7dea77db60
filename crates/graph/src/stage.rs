//! A graph as people read it: stages one after the other, each with components side by side.

use serde::Serialize;

use crate::graph::{Graph, NodeId};
use crate::task::{Role, TaskId};

/// What runs at the same time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Stage {
    /// The run levels of its tasks, in order; empty for files without one.
    pub levels: Vec<String>,
    /// Who the levels are assigned to, by the documented table.
    pub owner: Option<&'static str>,
    /// Whether this is a Job that everything before leads to and everything after waits for.
    pub barrier: bool,
    /// Components that run side by side.
    pub lanes: Vec<Lane>,
}

/// The tasks of one component in a stage, in order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Lane {
    /// The component; `None` for files that do not name one.
    pub component: Option<String>,
    /// Its run level.
    pub level: Option<String>,
    /// Its tasks.
    pub tasks: Vec<TaskId>,
}

// === impl Stage ===

impl Stage {
    /// The run levels in words: none, one, or from the first to the last.
    pub fn level_text(&self) -> Option<String> {
        match (self.levels.iter().min(), self.levels.iter().max()) {
            (Some(first), Some(last)) if first == last => Some(first.clone()),
            (Some(first), Some(last)) => Some(format!("{first} to {last}")),
            _ => None,
        }
    }
}

/// Run levels as they are assigned: first and last level, and to whom.
const ASSIGNED: [(u32, u32, &str); 9] = [
    (0, 4, "cluster version operator"),
    (5, 5, "cluster config operator"),
    (7, 7, "network operator"),
    (8, 8, "DNS operator"),
    (9, 9, "service CA and machine approver"),
    (10, 29, "Kubernetes operators"),
    (30, 39, "machine API"),
    (50, 59, "operator lifecycle manager"),
    (60, 69, "OpenShift core operators"),
];

/// Who a run level is assigned to, if to anybody.
pub fn assigned_to(level: &str) -> Option<&'static str> {
    let number: u32 = level.parse().ok()?;
    ASSIGNED.iter().find(|(first, last, _)| (*first..=*last).contains(&number)).map(|(_, _, owner)| *owner)
}

/// The stages of a graph, in the order in which they can start.
///
/// A node that glues several run levels together becomes one stage per level: its tasks run one after the other, and
/// that is what the stages say.
pub fn stages(graph: &Graph) -> Vec<Stage> {
    let mut stages = Vec::new();
    for nodes in ranks(graph) {
        let with_tasks: Vec<&[TaskId]> = nodes
            .iter()
            .map(|node| graph.nodes[*node].tasks.as_slice())
            .filter(|tasks| !tasks.is_empty())
            .collect();
        match with_tasks.as_slice() {
            [] => {}
            [only] => {
                let same = |a: &TaskId, b: &TaskId| graph.tasks[*a].run_level == graph.tasks[*b].run_level;
                stages.extend(only.chunk_by(same).map(|tasks| stage(graph, &[tasks])));
            }
            several => stages.push(stage(graph, several)),
        }
    }
    stages
}

fn stage(graph: &Graph, lanes: &[&[TaskId]]) -> Stage {
    let lanes: Vec<Lane> = lanes
        .iter()
        .map(|tasks| {
            let first = &graph.tasks[tasks[0]];
            Lane {
                component: first.component().map(str::to_owned),
                level: first.level().map(str::to_owned),
                tasks: tasks.to_vec(),
            }
        })
        .collect();
    let mut levels: Vec<String> = Vec::new();
    for level in lanes.iter().filter_map(|lane| lane.level.clone()) {
        if !levels.contains(&level) {
            levels.push(level);
        }
    }
    let owner = match levels.as_slice() {
        [level] => assigned_to(level),
        _ => None,
    };
    let is_barrier = |lane: &Lane| lane.tasks.iter().any(|task| graph.tasks[*task].role == Role::Barrier);
    Stage { barrier: lanes.iter().any(is_barrier), levels, owner, lanes }
}

/// Nodes by the length of the longest way that leads to them; nodes of one rank have no order between them.
fn ranks(graph: &Graph) -> Vec<Vec<NodeId>> {
    let mut rank = vec![0; graph.nodes.len()];
    let mut missing: Vec<usize> = graph.nodes.iter().map(|node| node.before.len()).collect();
    let mut open: Vec<NodeId> = (0..graph.nodes.len()).filter(|node| missing[*node] == 0).collect();
    let mut ranks: Vec<Vec<NodeId>> = Vec::new();
    while let Some(node) = open.pop() {
        if ranks.len() <= rank[node] {
            ranks.resize(rank[node] + 1, Vec::new());
        }
        ranks[rank[node]].push(node);
        for after in &graph.nodes[node].after {
            rank[*after] = rank[*after].max(rank[node] + 1);
            missing[*after] -= 1;
            if missing[*after] == 0 {
                open.push(*after);
            }
        }
    }
    for nodes in &mut ranks {
        nodes.sort_unstable();
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::order::{InstallOrder, Mode, build};
    use crate::task::fixture::tasks;

    fn shown(names: &[&str], mode: Mode) -> Vec<String> {
        let graph = build(tasks(names), mode, InstallOrder::Flat, 0);
        let lane = |lane: &Lane| format!("{}×{}", lane.component.as_deref().unwrap_or("?"), lane.tasks.len());
        let stage = |stage: &Stage| {
            let lanes: Vec<String> = stage.lanes.iter().map(lane).collect();
            format!(
                "{}{} {}",
                stage.levels.join(","),
                if stage.barrier { "!" } else { "" },
                lanes.join(" ‖ ")
            )
        };
        stages(&graph).iter().map(stage).collect()
    }

    #[test]
    fn glued_levels_are_shown_one_by_one() {
        let names = [
            "0000_07_n_1",
            "0000_08_d_1",
            "0000_08_d_2",
            "0000_09_a_1",
            "0000_09_b_1",
            "x.yaml",
            "J 0000_20_j_1",
            "0000_30_m_1",
        ];
        assert_eq!(
            shown(&names, Mode::Updating),
            ["07 n×1", "08 d×2", "09 a×1 ‖ b×1", " ?×1", "20! j×1", "30 m×1"]
        );
    }

    #[test]
    fn a_flat_graph_is_one_stage() {
        let names = ["0000_07_n_1", "0000_08_d_1", "0000_09_a_1"];
        assert_eq!(shown(&names, Mode::Installing), ["07,08,09 n×1 ‖ d×1 ‖ a×1"]);
        let shuffled = stages(&build(tasks(&names), Mode::Reconciling, InstallOrder::Flat, 9));
        assert_eq!(shuffled[0].level_text().as_deref(), Some("07 to 09"), "whatever the order");
    }

    #[test]
    fn levels_have_their_documented_owners() {
        for (level, owner) in [
            ("00", "cluster version operator"),
            ("04", "cluster version operator"),
            ("07", "network operator"),
            ("9", "service CA and machine approver"),
            ("29", "Kubernetes operators"),
            ("69", "OpenShift core operators"),
        ] {
            assert_eq!(assigned_to(level), Some(owner), "{level}");
        }
        for level in ["06", "40", "70", "99", "", "x"] {
            assert_eq!(assigned_to(level), None, "{level}");
        }
    }
}
