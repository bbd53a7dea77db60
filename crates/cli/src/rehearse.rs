//! `lockstep rehearse`: until there is an embedded cluster, a dry walk over the graph.

use std::fmt::Write as _;

use anyhow::Context as _;
use serde_json::json;

use lockstep_graph::{Frontier, Graph, Role, Stage, Task, build, stages};
use lockstep_payload::{DiskFiles, Files};
use lockstep_view::table::Table;

use crate::args::{RehearseArgs, RehearseOutput};
use crate::exit::Outcome;
use crate::{bundle, output, release};

const LABEL: &str =
    "DRY WALK: no cluster is involved and nothing is applied; every task is assumed to succeed.";

pub(crate) fn run(args: &RehearseArgs) -> anyhow::Result<Outcome> {
    let files: Box<dyn Files> = match &args.release {
        Some(folder) => Box::new(DiskFiles::open(folder)?),
        None => Box::new(bundle::example()),
    };
    let (release, selection) = release::load(files.as_ref(), &args.selection)?;
    release::tell_skipped(&release);
    let (mode, order) = (args.order.mode.into(), args.order.install_order.into());
    let graph = build(Task::list(release.selected(&selection)), mode, order, 0);
    let walk = walk(&graph)?;
    let (version, source) = (&release.metadata.version, files.name());
    match args.output {
        RehearseOutput::Text => {
            let head =
                format!("{LABEL}\n\nRelease {version} from {source}\n{}\n\n", args.selection.summary());
            output::print(&(head + &text(&graph, &walk)))?;
        }
        RehearseOutput::Json => output::print_json(&json!({
            "apiVersion": "lockstep.dev/v1",
            "kind": "Rehearsal",
            "dryWalk": true,
            "version": version,
            "source": source,
            "mode": mode,
            "installOrder": order,
            "tasks": graph.tasks.len(),
            "done": walk.done,
            "gates": walk.gates,
            "widest": walk.widest,
            "stages": stages(&graph),
        }))?,
    }
    Ok(Outcome::Clean)
}

/// What a walk went through.
struct Walk {
    done: usize,
    gates: usize,
    /// Most tasks that could run at the same time.
    widest: usize,
}

/// Walks the graph in rounds: in each, everything that is ready starts and succeeds.
fn walk(graph: &Graph) -> anyhow::Result<Walk> {
    let mut frontier = Frontier::new(graph);
    let mut walk = Walk { done: 0, gates: 0, widest: 0 };
    while !frontier.is_done() {
        let ready: Vec<usize> = frontier.ready().collect();
        anyhow::ensure!(
            !ready.is_empty(),
            "the graph of this release cannot be walked to its end; this is a bug"
        );
        walk.widest = walk.widest.max(ready.len());
        for node in ready {
            let task = frontier.start(node).context("starting a ready node")?;
            frontier.finish(node).context("finishing a started node")?;
            walk.done += 1;
            walk.gates += usize::from(graph.tasks[task].role == Role::Gate);
        }
    }
    Ok(walk)
}

fn text(graph: &Graph, walk: &Walk) -> String {
    let mut table = Table::new(["stage", "level", "tasks", "side by side", "gates"]);
    for (number, stage) in (1..).zip(stages(graph)) {
        let tasks: usize = stage.lanes.iter().map(|lane| lane.tasks.len()).sum();
        let level = stage.level_text().unwrap_or_else(|| "(none)".to_owned());
        let gates = gates(graph, &stage);
        table.row([number.to_string(), level, tasks.to_string(), components(&stage), gates]);
    }
    let mut out = format!("{table}\n");
    // Writing to a string cannot fail.
    let _ = writeln!(
        out,
        "walked {} of {} tasks through {} gates; at most {} could run at the same time",
        walk.done,
        graph.tasks.len(),
        walk.gates,
        walk.widest
    );
    out
}

fn components(stage: &Stage) -> String {
    let names: Vec<&str> =
        stage.lanes.iter().map(|lane| lane.component.as_deref().unwrap_or("(none)")).collect();
    match names.as_slice() {
        names if names.len() > 4 => format!("{} components", names.len()),
        names => names.join(", "),
    }
}

fn gates(graph: &Graph, stage: &Stage) -> String {
    let tasks = stage.lanes.iter().flat_map(|lane| &lane.tasks).map(|task| &graph.tasks[*task]);
    let names: Vec<String> = tasks
        .filter_map(|task| match task.role {
            Role::Gate => Some(task.id.name.clone()),
            Role::Barrier => Some(format!("job {}", task.id.name)),
            Role::Plain => None,
        })
        .collect();
    if names.is_empty() { "–".to_owned() } else { names.join(", ") }
}
