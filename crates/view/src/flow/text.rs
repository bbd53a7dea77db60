//! A flow for a terminal: one block per stage, one row per component.

use super::{Flow, Lane, Stage, TaskBox};
use crate::escape::plain;
use crate::table::{Table, cut, width};

/// The width that lines keep to unless a name alone is longer.
const COLUMNS: usize = 100;
/// The widest column of component names; a longer name pushes its own row only.
const COMPONENT_COLUMNS: usize = 44;

/// What [`flow_text`] shows beyond stages, components and gates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TextOptions {
    /// List every manifest with its file instead of the first and last file of a component.
    pub files: bool,
}

/// The flow as plain text without colour, for a terminal and for comparison.
pub fn flow_text(flow: &Flow, options: TextOptions) -> String {
    let mut lines = vec![plain(&flow.title)];
    if !flow.subtitle.is_empty() {
        lines.push(plain(&flow.subtitle));
    }
    lines.push(flow.size());
    if !flow.facts.is_empty() {
        let mut facts = Table::without_header();
        flow.facts.iter().for_each(|(name, value)| facts.row([name, value]));
        lines.push(String::new());
        lines.extend(facts.to_string().lines().map(str::to_owned));
    }
    let columns = flow.lanes().map(|lane| width(&lane.component)).max().unwrap_or(0).min(COMPONENT_COLUMNS);
    for stage in &flow.stages {
        lines.push(String::new());
        stage_lines(stage, columns, options, &mut lines);
    }
    if !flow.notes.is_empty() {
        lines.push(String::new());
        lines.extend(flow.notes.iter().map(|note| format!("note: {}", plain(note))));
    }
    lines.push(String::new());
    lines.iter().map(|line| line.trim_end()).collect::<Vec<_>>().join("\n")
}

fn stage_lines(stage: &Stage, columns: usize, options: TextOptions, lines: &mut Vec<String>) {
    let owner = stage.owner.as_deref().map(|owner| format!("  {owner}")).unwrap_or_default();
    let heading = plain(&format!("{}{owner}", stage.label));
    let manner = if stage.barrier {
        "barrier: a Job, runs alone and must complete".to_owned()
    } else {
        stage.manner()
    };
    lines.push(format!("{heading:<c$}  ({manner})", c = columns + 2));
    for lane in &stage.lanes {
        lane_lines(lane, stage.mixes_run_levels(), columns, options, lines);
    }
}

fn lane_lines(lane: &Lane, say_levels: bool, columns: usize, options: TextOptions, lines: &mut Vec<String>) {
    let count = super::counted(lane.tasks.len(), "manifest");
    let mut row = format!("  {:<columns$}  {count:<13}", plain(&lane.component));
    if say_levels && let Some(levels) = lane.levels() {
        row = format!("{row}  {}", plain(&levels));
    }
    if !options.files {
        let room = COLUMNS.saturating_sub(width(&row) + 2);
        row = format!("{row}  {}", file_range(&lane.tasks, room));
    }
    lines.push(row);
    if options.files {
        task_lines(&lane.tasks, lines);
    } else {
        let gates = lane.tasks.iter().filter_map(|task| task.gate.as_deref());
        lines.extend(gates.map(|gate| format!("  {:columns$}  gate: {}", "", plain(gate))));
    }
}

fn task_lines(tasks: &[TaskBox], lines: &mut Vec<String>) {
    for task in tasks {
        let mut line = format!("    {:>4}  {} {}", task.index, task.kind, task.full_name());
        for tag in &task.tags {
            line = format!("{line}  [{tag}]");
        }
        lines.push(plain(&line));
        lines.push(plain(&format!("          {}", task.file)));
        if let Some(gate) = &task.gate {
            lines.push(plain(&format!("          gate: {gate}")));
        }
    }
}

/// `first … last` of the file names in the given room, without the beginning that all of them share
/// (run level and component, which the row shows already).
fn file_range(tasks: &[TaskBox], room: usize) -> String {
    let (Some(first), Some(last)) = (tasks.first(), tasks.last()) else { return String::new() };
    let shared = shared_beginning(tasks);
    let rest = |task: &TaskBox| plain(task.file.get(shared..).unwrap_or(&task.file));
    let (first, last) = (rest(first), rest(last));
    if first == last {
        return cut(&first, room);
    }
    let both = format!("{first} … {last}");
    if width(&both) <= room { both } else { cut(&format!("{first} …"), room) }
}

/// The length of the longest common beginning of the file names that ends in `_`.
fn shared_beginning(tasks: &[TaskBox]) -> usize {
    let Some(first) = tasks.first() else { return 0 };
    let ends = first.file.match_indices('_').map(|(at, _)| at + 1);
    let by_all = |&end: &usize| {
        tasks.iter().all(|task| task.file.as_bytes().starts_with(&first.file.as_bytes()[..end]))
    };
    // Three separators are run level and component; more would hide parts of the author's own names.
    ends.take(3).take_while(by_all).last().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::super::examples::{a_small_flow, a_task};
    use super::*;

    #[test]
    fn stages_components_and_gates_are_shown_in_order() {
        insta::assert_snapshot!(flow_text(&a_small_flow(), TextOptions::default()), @r"
        Release 1.0.0
        Updating: run levels one after the other.
        3 stages · 4 component chunks · 7 manifests · 2 gates · 1 barrier

        Version   1.0.0
        Profile   self-managed

        run level 07  network operator  (runs alone)
          network  3 manifests    00_namespace.yaml … 02_clusteroperator.yaml
                   gate: waits for ClusterOperator network

        run level 20  (barrier: a Job, runs alone and must complete)
          migrate  1 manifest     00_job.yaml

        run level 70  (2 components side by side)
          dns      2 manifests    00_namespace.yaml … 01_clusteroperator.yaml
                   gate: waits for ClusterOperator dns
          samples  1 manifest     00_crd.yaml

        note: Two files are left out by their capability.
        ");
    }

    #[test]
    fn asking_for_files_lists_every_manifest() {
        insta::assert_snapshot!(flow_text(&a_small_flow(), TextOptions { files: true }), @r"
        Release 1.0.0
        Updating: run levels one after the other.
        3 stages · 4 component chunks · 7 manifests · 2 gates · 1 barrier

        Version   1.0.0
        Profile   self-managed

        run level 07  network operator  (runs alone)
          network  3 manifests
               1  Namespace openshift-network
                  0000_07_network_00_namespace.yaml
               2  ConfigMap openshift-network/network-config  [create-only]
                  0000_07_network_01_config.yaml
               3  ClusterOperator network
                  0000_07_network_02_clusteroperator.yaml
                  gate: waits for ClusterOperator network

        run level 20  (barrier: a Job, runs alone and must complete)
          migrate  1 manifest
               4  Job migrate
                  0000_20_migrate_00_job.yaml

        run level 70  (2 components side by side)
          dns      2 manifests
               5  Namespace openshift-dns
                  0000_70_dns_00_namespace.yaml
               6  ClusterOperator dns
                  0000_70_dns_01_clusteroperator.yaml
                  gate: waits for ClusterOperator dns
          samples  1 manifest
               7  CustomResourceDefinition s
                  0000_70_samples_00_crd.yaml

        note: Two files are left out by their capability.
        ");
    }

    #[test]
    fn long_file_names_are_cut_before_column_100() {
        let long = format!("0000_50_{}_00_{}.yaml", "c".repeat(44), "n".repeat(90));
        let other = format!("0000_50_{}_01_{}.yaml", "c".repeat(44), "n".repeat(90));
        let lane = Lane {
            component: "c".repeat(44),
            run_levels: vec!["50".into()],
            tasks: vec![a_task(1, &long, "Role", "a"), a_task(2, &other, "Role", "b")],
        };
        let stage = Stage { label: "run level 50".into(), lanes: vec![lane], ..Stage::default() };
        let text = flow_text(&Flow { stages: vec![stage], ..Flow::default() }, TextOptions::default());
        assert_eq!(text.lines().map(width).max(), Some(COLUMNS), "{text}");
        assert!(text.contains("00_nnn"), "{text}");
    }

    #[test]
    fn terminal_escapes_in_names_are_not_sent() {
        let mut flow = a_small_flow();
        flow.stages[0].lanes[0].component = "a\u{1b}]0;x\u{7}".into();
        flow.stages[0].lanes[0].tasks[0].name = "\u{1b}[2J".into();
        for files in [false, true] {
            assert!(!flow_text(&flow, TextOptions { files }).contains(['\u{1b}', '\u{7}']));
        }
    }

    #[test]
    fn file_names_that_share_bytes_but_no_separator_are_kept_whole() {
        let tasks = [a_task(1, "änderung.yaml", "Role", "a"), a_task(2, "ärger.yaml", "Role", "b")];
        assert_eq!(file_range(&tasks, 80), "änderung.yaml … ärger.yaml");
    }
}
