//! What was seen, and whether it is well.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lockstep_tests::panics;

/// An answer or an event for the probe may take this long. A reader that others wait for would hold them up for as long
/// as it does not read, which is for ever; a busy machine takes a second or two.
const LONGEST_DELAY: Duration = Duration::from_secs(15);
/// How much the memory of the second half may be above that of the first: what the allocator keeps in pieces, and the
/// luck of which large objects are remembered. A leak of one byte per event would already be more in ten minutes.
const GROWTH: f64 = 1.2;
/// The same as an amount, for a small process.
const GROWTH_BYTES: f64 = 32e6;

/// Everything that the parts of the load report.
#[derive(Default)]
pub(crate) struct Record {
    requests: AtomicU64,
    events: AtomicU64,
    watches: AtomicU64,
    gone: AtomicU64,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    /// Refusals by code, and other ends.
    refusals: BTreeMap<String, u64>,
    /// Answers that no API server gives, and other reasons to fail.
    objections: Vec<String>,
    /// Delays of the probe since the last line.
    delays: Vec<Duration>,
    longest: Duration,
    /// Memory in bytes, one look after the other.
    memory: Vec<u64>,
    told_requests: u64,
    told_at: Duration,
}

impl Record {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A request was answered with this code; 0 means not at all.
    pub(crate) fn answered(&self, code: u16) {
        self.requests.fetch_add(1, Ordering::Relaxed);
        if code == 0 || code >= 400 {
            let kind = if code == 0 { "none".to_owned() } else { code.to_string() };
            *self.inner().refusals.entry(kind).or_default() += 1;
        }
    }

    /// Events came in.
    pub(crate) fn received(&self, events: u64) {
        self.events.fetch_add(events, Ordering::Relaxed);
    }

    /// A watch was opened.
    pub(crate) fn opened(&self) {
        self.watches.fetch_add(1, Ordering::Relaxed);
    }

    /// A watch ended because it was too slow.
    pub(crate) fn expired(&self) {
        self.gone.fetch_add(1, Ordering::Relaxed);
    }

    /// Something that must not be.
    pub(crate) fn object(&self, what: String) {
        let mut inner = self.inner();
        // The first ones say enough.
        if inner.objections.len() < 20 {
            inner.objections.push(what);
        }
    }

    /// The probe waited this long.
    pub(crate) fn waited(&self, delay: Duration) {
        let mut inner = self.inner();
        inner.delays.push(delay);
        inner.longest = inner.longest.max(delay);
    }

    /// Looks at the memory.
    pub(crate) fn look(&self) {
        let memory = resident();
        self.inner().memory.push(memory);
    }

    /// One line about now.
    pub(crate) fn line(&self, at: Duration, (objects, remembered): (usize, usize)) -> String {
        let mut inner = self.inner();
        let requests = self.requests.load(Ordering::Relaxed);
        #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
        let rate = (requests - inner.told_requests) as f64 / at.saturating_sub(inner.told_at).as_secs_f64();
        (inner.told_requests, inner.told_at) = (requests, at);
        let mut delays = std::mem::take(&mut inner.delays);
        delays.sort_unstable();
        let at_share = |share: usize| delays.get(delays.len() * share / 100).copied().unwrap_or_default();
        format!(
            "{:5} s  memory {:4} MB, {objects} objects, {remembered} events remembered, {rate:.0} requests/s, \
             probe median {:.0?}, 99 % {:.0?}",
            at.as_secs(),
            inner.memory.last().copied().unwrap_or_default() / 1_000_000,
            at_share(50),
            at_share(99),
        )
    }

    /// The summary, and whether everything is well.
    pub(crate) fn verdict(&self, duration: Duration) -> (String, bool) {
        let inner = self.inner();
        let (first, second) = inner.memory.split_at(inner.memory.len() / 2);
        let (first, second) = (megabytes(first), megabytes(second));
        let growth_limit = (first * GROWTH).max(first + GROWTH_BYTES / 1e6);
        let requests = self.requests.load(Ordering::Relaxed);
        let mut text = String::new();
        let mut failures = Vec::new();
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "requests     {requests} ({} per second), {} watches opened, {} events read, {} too slow (410)",
            requests / duration.as_secs().max(1),
            self.watches.load(Ordering::Relaxed),
            self.events.load(Ordering::Relaxed),
            self.gone.load(Ordering::Relaxed),
        );
        let refusals: Vec<String> =
            inner.refusals.iter().map(|(kind, count)| format!("{kind}: {count}")).collect();
        let _ = writeln!(text, "refusals     {}", refusals.join(", "));
        let _ = writeln!(
            text,
            "memory       at most {first:.0} MB in the first half, {second:.0} MB in the second (limit {growth_limit:.0} MB)"
        );
        let _ = writeln!(text, "probe        longest wait {:.0?} (limit {LONGEST_DELAY:?})", inner.longest);
        if second > growth_limit {
            failures.push("memory grows".to_owned());
        }
        if inner.longest > LONGEST_DELAY {
            failures.push("somebody held up others".to_owned());
        }
        if panics::count() > 0 {
            failures.push(format!("{} panics", panics::count()));
        }
        failures.extend(inner.objections.iter().cloned());
        let verdict =
            if failures.is_empty() { "well".to_owned() } else { format!("FAILED: {}", failures.join("; ")) };
        let _ = write!(text, "verdict      {verdict}");
        (text, failures.is_empty())
    }
}

#[expect(clippy::cast_precision_loss, reason = "memory is far below 2^52 bytes")]
fn megabytes(samples: &[u64]) -> f64 {
    samples.iter().max().copied().unwrap_or_default() as f64 / 1e6
}

/// The memory of this process that is in use, in bytes; 0 where nobody says.
fn resident() -> u64 {
    let text = fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: u64 = text.split(' ').nth(1).and_then(|pages| pages.parse().ok()).unwrap_or_default();
    // Pages of 4 KiB, as on every machine that this is measured on.
    pages * 4096
}
