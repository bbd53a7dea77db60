//! `lockstep status`: the cluster on one screen, once or as long as somebody looks.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal as _};
use std::time::Duration;

use anyhow::Context as _;
use futures::StreamExt as _;
use jiff::Timestamp;
use tokio::runtime::Runtime;
use tokio::time::{Instant, interval, sleep_until};

use lockstep_api::text::visible;
use lockstep_apply::server::Server;
use lockstep_converge::status::changes::changes;
use lockstep_converge::status::live::{Live, News, streams};
use lockstep_converge::status::read::{self, levels};
use lockstep_converge::status::text::{Details, text};
use lockstep_converge::status::{Picture, picture};
use lockstep_payload::{LoadOptions, Release};
use lockstep_release::Wanted;

use crate::args::{DetailsArg, KnownRelease, StatusArgs, StatusOutput};
use crate::display::{self, FRAME, Frames};
use crate::exit::Outcome;
use crate::stop::Stop;
use crate::{cluster, output, release};

/// Several events that belong together are shown together.
const GATHER: Duration = FRAME;
/// How often a screen is drawn though nothing happens: the times on it go on.
const TICK: Duration = Duration::from_secs(1);

pub(crate) fn run(args: &StatusArgs) -> anyhow::Result<Outcome> {
    let runtime = Runtime::new().context("starting the threads of the client")?;
    let outcome = runtime.block_on(show(args));
    runtime.shutdown_background();
    outcome
}

async fn show(args: &StatusArgs) -> anyhow::Result<Outcome> {
    let levels = known_levels(&args.release).await?;
    let cluster = cluster::connect(&args.cluster).await?;
    let server = Server::new(cluster.client).with_timeout(cluster.request_timeout);
    let input = read::read(&server, levels, Timestamp::now())
        .await
        .with_context(|| format!("asking the cluster at {}", cluster.address))?;
    if args.watch {
        return follow(args, &server, Live::new(input)).await;
    }
    print(args, &picture(&input)?)?;
    Ok(Outcome::Clean)
}

/// The run levels of the release's operators; none when no release is named.
pub(crate) async fn known_levels(known: &KnownRelease) -> anyhow::Result<BTreeMap<String, String>> {
    Ok(known_release(known).await?.map(|release| levels(&release.manifests)).unwrap_or_default())
}

/// The release that is named, if one is.
pub(crate) async fn known_release(known: &KnownRelease) -> anyhow::Result<Option<Release>> {
    let Some(location) = &known.location else { return Ok(None) };
    let opened = release::fetch(location, &known.registry, Wanted::Everything).await?;
    Ok(Some(Release::load(opened.files.as_ref(), &LoadOptions::default())?))
}

fn print(args: &StatusArgs, picture: &Picture) -> anyhow::Result<()> {
    match args.output {
        StatusOutput::Text | StatusOutput::Wide => output::print(&text(picture, details(args))),
        StatusOutput::Json => output::print_json(picture),
        StatusOutput::Yaml => output::print_yaml(picture),
    }
}

fn details(args: &StatusArgs) -> Details {
    let is = |details: DetailsArg| args.details == details || args.details == DetailsArg::All;
    Details {
        nodes: is(DetailsArg::Nodes),
        health: is(DetailsArg::Health),
        operators: is(DetailsArg::Operators),
        wide: args.output == StatusOutput::Wide,
    }
}

// === going on ===

/// How changes are told.
enum Telling {
    Screen(Frames),
    Lines,
    JsonLines,
    Documents,
}

async fn follow(args: &StatusArgs, server: &Server, mut live: Live) -> anyhow::Result<Outcome> {
    let mut stop = Stop::new().context("waiting for signals")?;
    let mut telling = match args.output {
        StatusOutput::Json => Telling::JsonLines,
        StatusOutput::Yaml => Telling::Documents,
        StatusOutput::Text | StatusOutput::Wide if is_screen() => Telling::Screen(Frames::default()),
        StatusOutput::Text | StatusOutput::Wide => Telling::Lines,
    };
    let mut events = streams(server, live.has_pools(), false);
    let mut tick = interval(TICK);
    let mut last: Option<Picture> = None;
    let mut trouble = String::new();
    let mut due: Option<Instant> = Some(Instant::now());
    loop {
        tokio::select! {
            biased;
            () = stop.wait() => return Ok(Outcome::Interrupted),
            () = until(due) => {
                due = None;
                tell(args, &mut telling, &live, &mut last)?;
            }
            event = events.next() => match event.map(|(source, seen)| live.take(source, seen)) {
                Some(News::Changed) => {
                    trouble.clear();
                    due = due.or_else(|| Some(Instant::now() + GATHER));
                }
                Some(News::Trouble(why)) if why != trouble => {
                    output::warn(&why);
                    trouble = why;
                }
                Some(News::Trouble(_) | News::Nothing) | None => {}
            },
            _ = tick.tick(), if matches!(telling, Telling::Screen(_)) => due = due.or_else(|| Some(Instant::now())),
        }
    }
}

fn tell(
    args: &StatusArgs,
    telling: &mut Telling,
    live: &Live,
    last: &mut Option<Picture>,
) -> anyhow::Result<()> {
    let picture = match picture(&live.input(Timestamp::now())) {
        Ok(picture) => picture,
        Err(nothing) => {
            output::warn(&nothing.to_string());
            return Ok(());
        }
    };
    match telling {
        Telling::Screen(frames) => {
            let (width, height) = display::size();
            let lines = fitting(&text(&picture, details(args)), width, height.saturating_sub(1));
            display::print(&frames.next(&lines))?;
        }
        Telling::Lines => match last {
            None => output::print(&text(&picture, details(args)))?,
            Some(last) => {
                let time = lockstep_api::Time::from(picture.at);
                let lines = changes(last, &picture).into_iter().map(|line| format!("{time} {line}\n"));
                output::print(&lines.collect::<String>())?;
            }
        },
        Telling::JsonLines => output::print(&format!("{}\n", serde_json::to_string(&picture)?))?,
        Telling::Documents => {
            output::print("---\n")?;
            output::print_yaml(&picture)?;
        }
    }
    *last = Some(picture);
    Ok(())
}

/// The lines that fit a terminal; the last one says when there are more.
fn fitting(text: &str, width: usize, height: usize) -> Vec<String> {
    let cut = |line: &str| {
        let line = visible(line);
        if line.chars().count() <= width {
            return line.into_owned();
        }
        line.chars().take(width.saturating_sub(1)).chain(['…']).collect()
    };
    let all: Vec<String> = text.lines().map(cut).collect();
    if all.len() <= height {
        return all;
    }
    let more = format!("… {} more lines; `lockstep top` has room for all", all.len() + 1 - height);
    all.into_iter().take(height.saturating_sub(1)).chain([cut(&more)]).collect()
}

fn is_screen() -> bool {
    let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    io::stdout().is_terminal() && !is_dumb
}

/// Sleeps until a moment, or for ever.
async fn until(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_screen_is_cut_to_the_terminal_and_says_so() {
        assert_eq!(fitting("abc\nd\n", 3, 2), ["abc", "d"]);
        assert_eq!(fitting("abcd\n", 3, 2), ["ab…"]);
        assert_eq!(fitting("a\nb\nc\n", 80, 2), ["a", "… 2 more lines; `lockstep top` has room for all"]);
    }
}
