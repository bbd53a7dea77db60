//! `lockstep report`: a page about an installation or update.

use std::fs::{self, File};
use std::io::BufReader;
use std::path::Path;

use anyhow::Context as _;
use jiff::Timestamp;
use serde_json::Value;
use tokio::runtime::Runtime;

use lockstep_apply::progress::{Board, Happening, Recording};
use lockstep_apply::server::{Call, ListPage, Server};
use lockstep_converge::report;
use lockstep_converge::status::read;
use lockstep_rehearsal::recorded::recorded;
use lockstep_view::report::{Report, report_html};

use crate::args::ReportArgs;
use crate::exit::Outcome;
use crate::{cluster, output, status};

pub(crate) fn run(args: &ReportArgs) -> anyhow::Result<Outcome> {
    let report = if let Some(recording) = &args.recording {
        of_recording(recording)?
    } else {
        let runtime = Runtime::new().context("starting the threads of the client")?;
        let report = runtime.block_on(of_cluster(args));
        runtime.shutdown_background();
        report?
    };
    fs::write(&args.file, report_html(&report))
        .with_context(|| format!("writing the report {}", args.file.display()))?;
    output::print(&format!("{}\n", report.verdict))?;
    Ok(Outcome::Clean)
}

async fn of_cluster(args: &ReportArgs) -> anyhow::Result<Report> {
    let levels = status::known_levels(&args.release).await?;
    let cluster = cluster::connect(&args.cluster).await?;
    let server = Server::new(cluster.client).with_timeout(cluster.request_timeout);
    let asking = || format!("asking the cluster at {}", cluster.address);
    let mut input = read::read(&server, levels, Timestamp::now()).await.with_context(asking)?;
    let page = ListPage { resource_version: Some("0"), ..ListPage::default() };
    let call = Call::list(&read::events(), Some(read::EVENTS_NAMESPACE), &page);
    let events = match server.send(call).await {
        Ok(mut answer) => match answer.object["items"].take() {
            Value::Array(events) => events,
            _ => Vec::new(),
        },
        Err(refusal) => {
            input.remarks.push(format!("Events are left out: {}", refusal.explain("Events")));
            Vec::new()
        }
    };
    Ok(report::report(&input, &events)?)
}

fn of_recording(path: &Path) -> anyhow::Result<Report> {
    let name = path.display();
    let file = File::open(path).with_context(|| format!("reading the recording {name}"))?;
    let mut recording = Recording::open(BufReader::new(file)).with_context(|| name.to_string())?;
    let mut boards: Vec<Board> = Vec::new();
    for event in recording.by_ref() {
        let event = event.with_context(|| name.to_string())?;
        if matches!(event.what, Happening::Began { .. }) || boards.is_empty() {
            boards.push(Board::new());
        }
        if let Some(board) = boards.last_mut() {
            board.on(&event);
        }
    }
    Ok(recorded(recording.header(), &boards, recording.is_cut_off()))
}
