//! `lockstep release graph`

use serde_json::json;

use lockstep_graph::dot::dot;
use lockstep_graph::{Task, build, stages};
use lockstep_view::flow::{TextOptions, flow_html, flow_svg, flow_text};

use crate::args::{GraphArgs, GraphOutput};
use crate::exit::Outcome;
use crate::{flow, output};

pub(crate) fn run(args: &GraphArgs) -> anyhow::Result<Outcome> {
    let super::Loaded { release, selection, .. } = super::open(&args.source)?;
    super::tell_skipped(&release);
    let (mode, order) = (args.order.mode.into(), args.order.install_order.into());
    let graph = build(Task::list(release.selected(&selection)), mode, order, 0);
    let flow = || flow::of(&release, &graph, mode, order, &args.source.selection.summary());
    match args.output {
        GraphOutput::Text => output::print(&flow_text(&flow(), TextOptions { files: args.files }))?,
        GraphOutput::Svg => output::print(&flow_svg(&flow()))?,
        GraphOutput::Html => output::print(&flow_html(&flow()))?,
        GraphOutput::Dot => output::print(&dot(&graph))?,
        GraphOutput::Json => output::print_json(&json!({
            "apiVersion": "lockstep.dev/v1",
            "kind": "ReleaseGraph",
            "version": release.metadata.version,
            "mode": mode,
            "installOrder": order,
            "tasks": graph.tasks,
            "nodes": graph.nodes,
            "stages": stages(&graph),
        }))?,
    }
    Ok(Outcome::Clean)
}
