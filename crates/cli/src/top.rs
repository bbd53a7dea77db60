//! `lockstep top`: a cluster while it moves, on a full screen.

mod draw;
mod keys;
mod state;
mod terminal;
#[cfg(test)]
mod tests;
mod why;

use std::io::{self, IsTerminal as _};
use std::time::Duration;

use anyhow::Context as _;
use futures::StreamExt as _;
use futures::future::LocalBoxFuture;
use futures::stream::FuturesUnordered;
use jiff::Timestamp;
use serde_json::Value;
use tokio::runtime::Runtime;
use tokio::time::interval;

use lockstep_api::text::masked;
use lockstep_apply::server::Server;
use lockstep_apply::watch::Seen;
use lockstep_converge::gather::Camera;
use lockstep_converge::status::live::{Live, News, Source, streams};
use lockstep_converge::status::{picture, read};

use crate::args::TopArgs;
use crate::exit::{Outcome, UsageError};
use crate::stop::Stop;
use crate::{cluster, status};
use state::{Action, Entry, Sort, State};
use terminal::{Screen, events};

/// How often the screen is drawn though nothing happens: the times on it go on.
const TICK: Duration = Duration::from_secs(1);

pub(crate) fn run(args: &TopArgs) -> anyhow::Result<Outcome> {
    if !io::stdout().is_terminal() || !io::stdin().is_terminal() {
        let text =
            "top draws on a terminal, and this is none; `lockstep status -w` tells changes line by line";
        return Err(UsageError(text.to_owned()).into());
    }
    let runtime = Runtime::new().context("starting the threads of the client")?;
    let outcome = runtime.block_on(show(args));
    runtime.shutdown_background();
    outcome
}

async fn show(args: &TopArgs) -> anyhow::Result<Outcome> {
    // Whatever can go wrong with files and flags is told before the terminal is taken.
    let levels = status::known_levels(&args.release).await?;
    let cluster = cluster::connect(&args.cluster).await?;
    let server = Server::new(cluster.client).with_timeout(cluster.request_timeout);
    let input = read::read(&server, levels, Timestamp::now()).await;
    let input = input.with_context(|| format!("asking the cluster at {}", cluster.address))?;
    let mut live = Live::new(input);
    let mut stop = Stop::new().context("waiting for signals")?;
    let mut screen = Screen::take().context("taking over the terminal")?;
    let mut keys = events();
    let mut seen = streams(&server, live.has_pools(), true);
    let mut tick = interval(TICK);
    let mut causes: FuturesUnordered<LocalBoxFuture<'static, (String, String)>> = FuturesUnordered::new();
    let mut state = State::new(std::env::var_os("NO_COLOR").is_none());
    look(&live, &mut state);
    loop {
        screen.terminal.draw(|frame| draw::draw(frame, &state)).context("drawing")?;
        tokio::select! {
            biased;
            () = stop.wait() => return Ok(Outcome::Clean),
            event = keys.recv() => {
                let event = event.context("the terminal is gone")?.context("reading keys")?;
                let Some(key) = keys::key(&event) else { continue };
                fail_where_asked(args, key);
                match state.press(key) {
                    Action::None => {}
                    Action::Quit => return Ok(Outcome::Clean),
                    Action::Explain(name) => {
                        state.read(&title(&name), &told(&state, &name, None));
                        let (server, address) = (server.clone(), cluster.address.clone());
                        causes.push(Box::pin(async move {
                            let camera = Camera { server: &server, address: &address, now: Timestamp::now() };
                            let cause = why::cause(camera, &name).await;
                            (name, cause)
                        }));
                    }
                }
            }
            Some((name, cause)) = causes.next(), if !causes.is_empty() => {
                let text = told(&state, &name, Some(&cause));
                state.read_on(&title(&name), &text);
            }
            event = seen.next() => match event {
                Some((Source::Events, seen)) => {
                    if let Seen::Object(event) = seen
                        && let Some(entry) = entry(&event)
                    {
                        state.remember(entry);
                    }
                }
                Some((source, seen)) => match live.take(source, seen) {
                    News::Changed => look(&live, &mut state),
                    News::Trouble(why) => state.trouble = Some(why),
                    News::Nothing => {}
                },
                None => {}
            },
            _ = tick.tick() => {
                // Trouble that is over is told by the next picture that changes; the times go on meanwhile.
                let trouble = state.trouble.take();
                look(&live, &mut state);
                state.trouble = trouble.or(state.trouble.take());
            }
        }
    }
}

fn title(name: &str) -> String {
    format!("why {name}")
}

fn told(state: &State, name: &str, cause: Option<&str>) -> String {
    state.picture.as_ref().map(|picture| why::why(picture, name, cause)).unwrap_or_default()
}

fn look(live: &Live, state: &mut State) {
    match picture(&live.input(Timestamp::now())) {
        Ok(picture) => state.see(picture),
        Err(nothing) => state.trouble = Some(nothing.to_string()),
    }
}

/// An Event of the cluster's operator.
fn entry(event: &Value) -> Option<Entry> {
    let text = |key: &str| event[key].as_str().filter(|text| !text.is_empty());
    let at = text("lastTimestamp").or_else(|| text("eventTime")).or_else(|| text("firstTimestamp"))?;
    let reason = text("reason").unwrap_or_default();
    let what = match (reason, text("type")) {
        ("DriftRepaired", _) => Sort::Repair,
        (_, Some("Warning")) => Sort::Warning,
        _ => Sort::Event,
    };
    let message = masked(text("message").unwrap_or_default());
    Some(Entry { at: at.parse().ok()?, what, text: format!("{reason}: {message}") })
}

/// A test wants to see what a panic leaves behind.
#[cfg(debug_assertions)]
fn fail_where_asked(args: &TopArgs, key: keys::Key) {
    assert!(!(args.panic && key == keys::Key::Letter('!')), "asked to panic");
}

#[cfg(not(debug_assertions))]
fn fail_where_asked(_: &TopArgs, _: keys::Key) {}
