//! Following a request until it is decided.

use std::time::Duration;

use anyhow::Context as _;
use futures::StreamExt as _;
use tokio::time::{Instant, sleep_until};

use lockstep_api::names::object;
use lockstep_apply::server::Server;
use lockstep_apply::watch::{Seen, Watched, watch};
use lockstep_updates::follow::{Fate, Request};

use super::{one_line, print_lines, resource};
use crate::exit::Outcome;
use crate::output;
use crate::stop::Stop;

/// Tells what happens, a line for every change, until the request is decided, the time is over or somebody interrupts.
pub(super) async fn until_decided(
    server: &Server,
    request: &Request,
    limit: Option<Duration>,
) -> anyhow::Result<Outcome> {
    let mut stop = Stop::new().context("waiting for signals")?;
    let end = limit.map(|limit| Instant::now() + limit);
    let watched = Watched {
        resource: resource(),
        namespace: None,
        label_selector: None,
        field_selector: Some(format!("metadata.name={}", object::VERSION)),
        metadata_only: false,
    };
    let mut events = watch(server.clone(), watched, 0);
    let mut last = String::new();
    loop {
        let event = tokio::select! {
            biased;
            () = stop.wait() => {
                output::note("stopped waiting; the update goes on");
                return Ok(Outcome::Interrupted);
            }
            () = until(end) => {
                let open = if last.is_empty() { "nothing was heard of the cluster" } else { &last };
                output::warn(&format!("not there in time, the update goes on; last: {open}"));
                return Ok(Outcome::TimedOut);
            }
            event = events.next() => event,
        };
        let line = match event {
            Some(Seen::Object(object)) => {
                let version = serde_json::from_value(object).context("reading ClusterVersion version")?;
                match request.fate(&version) {
                    Fate::Open(happens) => happens,
                    Fate::Done(end) => {
                        print_lines(&end)?;
                        return Ok(Outcome::Clean);
                    }
                    Fate::Refused(why) => anyhow::bail!("the update is refused: {}", one_line(&why)),
                }
            }
            Some(Seen::Gone(_)) => anyhow::bail!("the ClusterVersion was deleted"),
            Some(Seen::Trouble { refusal, .. }) => refusal.explain("the cluster"),
            Some(Seen::Restarted | Seen::Resumed | Seen::Synced { .. }) | None => continue,
        };
        if line != last {
            print_lines(&line)?;
            last = line;
        }
    }
}

/// Sleeps until a moment, or for ever.
async fn until(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}
