//! How a serial list of tasks is broken up: by run level and component, flat, shuffled.

use crate::graph::Graph;
use crate::task::{Role, Task, TaskId, Treatment};

/// Buckets run one after the other; the nodes of a bucket side by side; the tasks of a node in order.
pub type Buckets = Vec<Vec<Vec<TaskId>>>;

/// How long a shuffled order lasts, in attempts, and into how many parts a round is shifted.
pub const STRIDE: usize = 8;

/// What a release is applied for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Mode {
    /// The first time.
    Installing,
    /// Over another release.
    Updating,
    /// Once more, to keep it.
    Reconciling,
}

/// In which order an installation runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub enum InstallOrder {
    /// All components side by side; the default, because a real platform waits for itself otherwise.
    #[default]
    Flat,
    /// Run level after run level, as an update.
    RunLevel,
}

/// Builds the graph of a mode.
///
/// `attempt` counts the reconciling runs since the last success; it changes only which node comes first.
pub fn build(tasks: Vec<Task>, mode: Mode, install_order: InstallOrder, attempt: usize) -> Graph {
    let mut graph = Graph::serial(tasks);
    graph.split_on_jobs();
    match (mode, install_order) {
        (Mode::Updating, _) | (Mode::Installing, InstallOrder::RunLevel) => {
            graph.parallelize(by_run_level_and_component);
        }
        (Mode::Installing, InstallOrder::Flat) => graph.parallelize(flatten),
        (Mode::Reconciling, _) => {
            let mut generator = Generator::new((attempt / STRIDE) as u64);
            graph.parallelize(|tasks, node| {
                let mut buckets = flatten(tasks, node);
                permute(&mut buckets, &mut generator);
                shift(&mut buckets, attempt % STRIDE, STRIDE);
                buckets
            });
        }
    }
    graph
}

/// Run levels one after the other, the components of a level side by side.
///
/// Neighbouring levels with one component each, and files without a run level, are glued into one serial node.
pub fn by_run_level_and_component(tasks: &[Task], node: &[TaskId]) -> Buckets {
    if node.len() <= 1 {
        return Vec::new();
    }
    let mut buckets: Buckets = Vec::new();
    let mut is_open = false;
    for level in node.chunk_by(|a, b| is_same(tasks[*a].level(), tasks[*b].level())) {
        let components = chunks_by_component(tasks, level);
        if components.len() > 1 {
            buckets.push(components);
            is_open = false;
        } else if let Some(serial) = buckets.last_mut().filter(|_| is_open) {
            serial[0].extend_from_slice(level);
        } else {
            buckets.push(vec![level.to_vec()]);
            is_open = true;
        }
    }
    buckets
}

/// Everything side by side but the files of one component.
pub fn flatten(tasks: &[Task], node: &[TaskId]) -> Buckets {
    if node.len() <= 1 {
        return Vec::new();
    }
    let same_level_and_component =
        |a: &TaskId, b: &TaskId| is_same(tasks[*a].run_level.as_ref(), tasks[*b].run_level.as_ref());
    vec![node.chunk_by(same_level_and_component).map(<[TaskId]>::to_vec).collect()]
}

/// The tasks of a component side by side, as far as nothing in it waits for something: what follows a gate or a removal
/// still comes after it.
///
/// For an installation: nothing is replaced there, so the order of files says only what is needed before what, and a
/// task whose kind or namespace is missing waits for exactly that.
pub fn loosen(tasks: &[Task], node: &[TaskId]) -> Buckets {
    if node.len() <= 1 {
        return Vec::new();
    }
    let holds =
        |task: &TaskId| tasks[*task].role != Role::Plain || tasks[*task].treatment == Treatment::Delete;
    node.chunk_by(|a, b| !holds(a) && !holds(b))
        .map(|chunk| chunk.iter().map(|task| vec![*task]).collect())
        .collect()
}

fn chunks_by_component(tasks: &[Task], level: &[TaskId]) -> Vec<Vec<TaskId>> {
    level
        .chunk_by(|a, b| is_same(tasks[*a].component(), tasks[*b].component()))
        .map(<[TaskId]>::to_vec)
        .collect()
}

/// Equal and present: two files without a run level have nothing in common.
fn is_same<T: PartialEq + Copy>(a: Option<T>, b: Option<T>) -> bool {
    a.is_some() && a == b
}

/// Shuffles the nodes inside each bucket.
pub fn permute(buckets: &mut Buckets, generator: &mut Generator) {
    for bucket in buckets {
        for last in (1..bucket.len()).rev() {
            bucket.swap(last, generator.below(last + 1));
        }
    }
}

/// Rotates each bucket so that within `stride` steps every part of it was near the front once.
pub fn shift(buckets: &mut Buckets, step: usize, stride: usize) {
    for bucket in buckets {
        let count = bucket.len();
        if count > 0 {
            let by = if count < stride { step } else { step * count / stride };
            bucket.rotate_left(by % count);
        }
    }
}

/// A small seeded generator (SplitMix64): the same attempt always gives the same order.
#[derive(Debug, Clone)]
pub struct Generator(u64);

// === impl Generator ===

impl Generator {
    /// Starts from a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        // The bias of a remainder does not matter for an order.
        usize::try_from(mixed % bound as u64).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::fixture::tasks;

    fn files(buckets: &Buckets, tasks: &[Task]) -> Vec<Vec<String>> {
        let node = |node: &Vec<TaskId>| {
            node.iter().map(|task| tasks[*task].file.to_string()).collect::<Vec<_>>().join(" ")
        };
        buckets.iter().map(|bucket| bucket.iter().map(node).collect()).collect()
    }

    fn broken(break_up: fn(&[Task], &[TaskId]) -> Buckets, names: &[&str]) -> Vec<Vec<String>> {
        let tasks = tasks(names);
        let all: Vec<TaskId> = (0..tasks.len()).collect();
        files(&break_up(&tasks, &all), &tasks)
    }

    #[test]
    fn run_levels_of_the_specification() {
        let cases: [(&[&str], &[&[&str]]); 9] = [
            (&[], &[]),
            (&["a"], &[]),
            (&["0000_01_x-y-z_f1"], &[]),
            (&["a", "b", "c"], &[&["a b c"]]),
            (&["0000_01_x_f1", "0000_01_x_f2"], &[&["0000_01_x_f1 0000_01_x_f2"]]),
            (&["a", "0000_01_x-y-z_f1", "c"], &[&["a 0000_01_x-y-z_f1 c"]]),
            (&["0000_01_a-b-c_f1", "0000_01_x-y-z_f2"], &[&["0000_01_a-b-c_f1", "0000_01_x-y-z_f2"]]),
            (
                &[
                    "0000_01_a-b-c_f1",
                    "0000_01_x-y-z_f1",
                    "0000_01_x-y-z_f2",
                    "a",
                    "0000_01_x-y-z_f2",
                    "0000_01_x-y-z_f3",
                ],
                &[
                    &["0000_01_a-b-c_f1", "0000_01_x-y-z_f1 0000_01_x-y-z_f2"],
                    &["a 0000_01_x-y-z_f2 0000_01_x-y-z_f3"],
                ],
            ),
            (&["0000_9_a_f", "0000_09_b_f"], &[&["0000_9_a_f 0000_09_b_f"]]),
        ];
        for (names, expected) in cases {
            assert_eq!(broken(by_run_level_and_component, names), expected, "{names:?}");
        }
    }

    #[test]
    fn flat_order_of_the_specification() {
        let cases: [(&[&str], &[&str]); 6] = [
            (&["a", "b", "c"], &["a", "b", "c"]),
            (&["0000_01_x_f1", "0000_01_x_f2"], &["0000_01_x_f1 0000_01_x_f2"]),
            (&["a", "0000_01_x_f1", "c"], &["a", "0000_01_x_f1", "c"]),
            (&["0000_01_abc_f1", "0000_01_xyz_f2"], &["0000_01_abc_f1", "0000_01_xyz_f2"]),
            (
                &[
                    "0000_01_abc_f1",
                    "0000_01_xyz_f1",
                    "0000_01_xyz_f2",
                    "a",
                    "0000_01_xyz_f2",
                    "0000_01_xyz_f3",
                ],
                &["0000_01_abc_f1", "0000_01_xyz_f1 0000_01_xyz_f2", "a", "0000_01_xyz_f2 0000_01_xyz_f3"],
            ),
            (
                &["0000_01_abc_f1", "0000_01_xyz_f1", "0000_01_xyz_f2", "0000_02_xyz_f2", "0000_02_xyz_f3"],
                &["0000_01_abc_f1", "0000_01_xyz_f1 0000_01_xyz_f2", "0000_02_xyz_f2 0000_02_xyz_f3"],
            ),
        ];
        for (names, expected) in cases {
            assert_eq!(broken(flatten, names), vec![expected.to_vec()], "{names:?}");
        }
        assert!(broken(flatten, &[]).is_empty() && broken(flatten, &["a"]).is_empty());
    }

    #[test]
    fn shifts_of_the_specification() {
        let cases: [(&[usize], usize, usize, &[usize]); 7] = [
            (&[1, 2], 0, 8, &[1, 2]),
            (&[1, 2], 1, 8, &[2, 1]),
            (&[1, 2], 2, 8, &[1, 2]),
            (&[1, 2, 3], 1, 2, &[2, 3, 1]),
            (&[1, 2, 3], 2, 3, &[3, 1, 2]),
            (&[], 3, 8, &[]),
            (&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10], 1, 8, &[2, 3, 4, 5, 6, 7, 8, 9, 10, 1]),
        ];
        for (nodes, step, stride, expected) in cases {
            let mut buckets = vec![nodes.iter().map(|node| vec![*node]).collect::<Vec<_>>()];
            shift(&mut buckets, step, stride);
            assert_eq!(buckets[0], expected.iter().map(|node| vec![*node]).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_shuffle_depends_on_its_seed_only_and_loses_nothing() {
        let shuffled = |seed: u64| {
            let mut buckets = vec![(0..50).map(|node| vec![node]).collect::<Vec<_>>()];
            permute(&mut buckets, &mut Generator::new(seed));
            buckets[0].iter().map(|node| node[0]).collect::<Vec<_>>()
        };
        assert_eq!(shuffled(1), shuffled(1));
        assert_ne!(shuffled(1), shuffled(2));
        let mut sorted = shuffled(3);
        sorted.sort_unstable();
        assert_eq!(sorted, (0..50).collect::<Vec<_>>());
    }
}
