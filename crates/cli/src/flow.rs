//! A graph in the form that the renderers draw.

use lockstep_graph::{Graph, InstallOrder, Mode, Role, Stage, Task, Treatment, stages};
use lockstep_payload::Release;
use lockstep_view::flow;

use crate::args::{InstallOrderArg, ModeArg};

impl From<ModeArg> for Mode {
    fn from(mode: ModeArg) -> Self {
        match mode {
            ModeArg::Updating => Self::Updating,
            ModeArg::Installing => Self::Installing,
            ModeArg::Reconciling => Self::Reconciling,
        }
    }
}

impl From<InstallOrderArg> for InstallOrder {
    fn from(order: InstallOrderArg) -> Self {
        match order {
            InstallOrderArg::Flat => Self::Flat,
            InstallOrderArg::RunLevel => Self::RunLevel,
        }
    }
}

/// Fills the drawing of a graph.
pub(crate) fn of(
    release: &Release,
    graph: &Graph,
    mode: Mode,
    order: InstallOrder,
    cluster: &str,
) -> flow::Flow {
    flow::Flow {
        title: format!("Release {}", release.metadata.version),
        subtitle: subtitle(mode, order).to_owned(),
        facts: vec![("cluster".to_owned(), cluster.to_owned())],
        stages: stages(graph).iter().map(|stage| stage_of(graph, stage)).collect(),
        notes: notes(mode),
    }
}

fn subtitle(mode: Mode, order: InstallOrder) -> &'static str {
    match (mode, order) {
        (Mode::Updating, _) => {
            "Updating: run levels one after the other, components of a level side by side."
        }
        (Mode::Installing, InstallOrder::Flat) => {
            "Installing: all components side by side, the files of a component in order."
        }
        (Mode::Installing, InstallOrder::RunLevel) => {
            "Installing in run-level order: run levels one after the other, components of a level side by side."
        }
        (Mode::Reconciling, _) => {
            "Reconciling: no order between components; drift is repaired as it is seen."
        }
    }
}

fn notes(mode: Mode) -> Vec<String> {
    let mut notes = vec!["A gate holds only what comes after it; everything else goes on.".to_owned()];
    if mode == Mode::Updating {
        notes.push(
            "Levels with one component each, and files without a run level, run one after the other."
                .to_owned(),
        );
    }
    notes
}

fn stage_of(graph: &Graph, stage: &Stage) -> flow::Stage {
    let label = match stage.level_text() {
        None => "no run level".to_owned(),
        Some(levels) if stage.levels.len() == 1 => format!("run level {levels}"),
        Some(levels) => format!("run levels {levels}"),
    };
    let lanes = stage.lanes.iter().map(|lane| flow::Lane {
        component: lane.component.clone().unwrap_or_else(|| "(no component)".to_owned()),
        run_levels: lane.level.iter().cloned().collect(),
        tasks: lane.tasks.iter().map(|task| task_of(&graph.tasks[*task])).collect(),
    });
    flow::Stage {
        label,
        owner: stage.owner.map(str::to_owned),
        barrier: stage.barrier,
        lanes: lanes.collect(),
    }
}

fn task_of(task: &Task) -> flow::TaskBox {
    // A Job is shown as a barrier of its own; counting it as a gate too would count it twice.
    let gate = (task.role == Role::Gate).then(|| format!("waits for ClusterOperator {}", task.id.name));
    let tag = match task.treatment {
        Treatment::Managed => None,
        Treatment::CreateOnly => Some("create-only"),
        Treatment::Delete => Some("delete"),
    };
    flow::TaskBox {
        index: task.index,
        file: task.file.to_string(),
        kind: task.id.kind.clone(),
        name: task.id.name.clone(),
        namespace: Some(task.id.namespace.clone()).filter(|namespace| !namespace.is_empty()),
        gate,
        tags: tag.map(str::to_owned).into_iter().collect(),
    }
}
