//! `lockstep rehearse`

use std::fs;
use std::path::Path;

use anyhow::Context as _;
use serde_json::json;

use lockstep_apply::progress::{Board, Event, Happening, Outcome as RunOutcome};
use lockstep_graph::{Mode, Task, build};
use lockstep_lab::Scenario;
use lockstep_payload::{Files, Release, Selection};
use lockstep_rehearsal::report::{About, report};
use lockstep_rehearsal::{Rehearsal, Target};
use lockstep_release::Wanted;
use lockstep_view::flow::flow_svg;
use lockstep_view::report::report_html;

use crate::args::{RehearseArgs, RehearseOutput};
use crate::display::{Display, Form, View};
use crate::exit::Outcome;
use crate::lab_operators::read_scenario;
use crate::replay::Pace;
use crate::{bundle, flow, output, release};

/// Stands for the release image where none is named.
const REHEARSED_IMAGE: &str = "registry.example.com/release:rehearsed";

pub(crate) fn run(args: &RehearseArgs) -> anyhow::Result<Outcome> {
    let scenario = match &args.scenario {
        Some(file) => read_scenario(file)?,
        None => Scenario::default(),
    };
    let seed = args.seed.or(scenario.seed).unwrap_or_default();
    let (target, selection) = load(args, args.release.as_deref())?;
    let from = args.from.as_deref().map(|release| load(args, Some(release))).transpose()?;
    let rehearsal = Rehearsal {
        target: Target { release: &target, selection: &selection },
        from: from.as_ref().map(|(release, selection)| Target { release, selection }),
        install_order: args.install_order.into(),
        scenario,
        seed,
        speed: None,
        timeout: args.timeout,
        hold: args.hold,
    };
    let boards = play(args, &rehearsal)?;
    let is_good =
        boards.last().and_then(Board::ended).is_some_and(|end| end.outcome == RunOutcome::Converged);
    match args.output {
        RehearseOutput::Text => output::print(&summaries(&boards, seed))?,
        RehearseOutput::Json => output::print_json(&json!({
            "apiVersion": "lockstep.dev/v1",
            "kind": "Rehearsal",
            "seed": seed,
            "converged": is_good,
            "acts": boards.iter().map(Board::summary).collect::<Vec<_>>(),
        }))?,
        RehearseOutput::Jsonl => {}
    }
    if let Some(file) = &args.report {
        write_report(args, file, &rehearsal, &boards)?;
    }
    Ok(if is_good { Outcome::Clean } else { Outcome::Findings })
}

fn load(args: &RehearseArgs, release: Option<&str>) -> anyhow::Result<(Release, Selection)> {
    let files: Box<dyn Files> = match release {
        Some(release) => {
            release::block_on(release::fetch(release, &args.registry, Wanted::Everything))?.files
        }
        None => Box::new(bundle::example()),
    };
    // Nobody pulls it in the lab, but the operator's own Deployment needs one.
    let selection = args.selection.or_release_image(REHEARSED_IMAGE);
    let (release, selection) = release::load(files.as_ref(), &selection)?;
    release::tell_skipped(&release);
    Ok((release, selection))
}

/// Runs all acts and shows them; gives the board of each.
///
/// NB: the run is always in virtual time and an event that is shown later holds it up, so that a speed changes nothing
/// of what happens.
fn play(args: &RehearseArgs, rehearsal: &Rehearsal<'_>) -> anyhow::Result<Vec<Board>> {
    let form = match args.output {
        RehearseOutput::Text => Some(Form::fitting(false, args.verbose)),
        RehearseOutput::Jsonl => Some(Form::JsonLines),
        RehearseOutput::Json => None,
    };
    // Between two events that are shown with pauses time goes by; otherwise it jumps.
    let display = form.map(|form| Display::new(form, args.speed.unwrap_or_default()));
    let mut view = View::new(display, args.record.as_deref(), None)?;
    let mut pace = args.speed.map(Pace::new);
    let mut boards: Vec<Board> = Vec::new();
    rehearsal.run(|event: &Event| {
        let is_beginning = matches!(event.what, Happening::Began { .. });
        if is_beginning {
            boards.push(Board::new());
        }
        if let Some(board) = boards.last_mut() {
            board.on(event);
        }
        if let Some(pace) = &mut pace {
            pace.wait(event.at, is_beginning, || view.tick());
        }
        view.take(event);
    })?;
    view.finish()?;
    Ok(boards)
}

fn summaries(boards: &[Board], seed: u64) -> String {
    let texts = boards.iter().map(|board| format!("\n{}", board.summary().text()));
    texts.collect::<String>() + &format!("\nrehearsed in virtual time with seed {seed}\n")
}

fn write_report(
    args: &RehearseArgs,
    file: &Path,
    rehearsal: &Rehearsal<'_>,
    boards: &[Board],
) -> anyhow::Result<()> {
    let Target { release, selection } = rehearsal.target;
    let mode = if rehearsal.from.is_some() { Mode::Updating } else { Mode::Installing };
    let order = rehearsal.install_order;
    let graph = build(Task::list(release.selected(selection)), mode, order, 0);
    let cluster = args.selection.summary();
    let about = About {
        cluster: cluster.clone(),
        seed: rehearsal.seed,
        scenario: args.scenario.as_ref().map(|file| file.display().to_string()),
        graph_svg: Some(flow_svg(&flow::of(release, &graph, mode, order, &cluster))),
    };
    fs::write(file, report_html(&report(&about, boards)))
        .with_context(|| format!("writing the report {}", file.display()))
}
