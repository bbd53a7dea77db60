//! How soon a replica that stands by takes over.

use std::error::Error;
use std::time::Duration;

use lockstep_operator::lease::Timing;
use lockstep_tests::operator::Replica;
use serde_json::{Value, json};

use crate::record::{Entry, now};
use crate::stage::{FIRST, LEASE_SECONDS, SECOND, Stage};

/// The Lease is renewed once a second; each round ends its holder at another moment between two renewals.
const PHASE: Duration = Duration::from_millis(230);
/// How long a replica may take to end.
const PATIENCE: Duration = Duration::from_secs(30);

/// How the holder of the Lease ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Farewell {
    /// Without a word.
    Kill,
    /// When it is asked to.
    Terminate,
}

// === impl Farewell ===

impl Farewell {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Kill => "kill",
            Self::Terminate => "terminate",
        }
    }
}

/// How long the Lease is good for where nobody says otherwise.
pub(crate) fn usual_seconds() -> u64 {
    Timing::REFERENCE.duration.as_secs()
}

/// Ends the holder, and sees who comes after it: when the Lease was taken, how long that was after it was over, and when the
/// last object was looked at. Gives the new holder.
pub(crate) async fn run(
    stage: &mut Stage<'_>,
    (mut holder, name): (Replica, &'static str),
    farewell: Farewell,
    round: u32,
) -> Result<(Value, (Replica, &'static str)), Box<dyn Error>> {
    let other = if name == FIRST { SECOND } else { FIRST };
    let mark = stage.mark()?;
    let standby = stage.launch(other);
    let is_lease_watch = |_: &Stage<'_>, entry: &Entry| entry.request.is_watch() && entry.is_of_lease();
    stage.until(other, mark, is_lease_watch).await?;
    tokio::time::sleep(PHASE * (round + 5)).await;

    let mark = stage.mark()?;
    let renewed =
        stage.since(0, name).filter(|entry| entry.is_hold()).map(|entry| entry.received).next_back();
    let end = now();
    match farewell {
        Farewell::Kill => holder.kill(),
        Farewell::Terminate => holder.terminate(),
    }
    let taken = stage.until(other, mark, |_, entry| entry.is_hold()).await?.answered;
    let settled = stage.settle(other, mark, |entry| !entry.is_of_lease()).await?.unwrap_or(taken);
    let code = match farewell {
        Farewell::Kill => None,
        Farewell::Terminate => Some(holder.exit(PATIENCE).await),
    };
    let renewed = renewed.ok_or("the holder never held the Lease")?;
    let applied: Vec<&Entry> = stage.since(mark, other).filter(|entry| stage.is_apply(entry)).collect();
    let result = json!({
        "seconds": taken.since(end), "beyond": taken.since(renewed) - f64::from(LEASE_SECONDS),
        "compared": settled.since(end), "code": code, "writes": applied.len(),
    });
    Ok((result, (standby, other)))
}
