//! How long to wait before a request is tried again, how often, and who is told.

use std::hash::{BuildHasher as _, RandomState};
use std::time::Duration;

use jiff::Timestamp;

use crate::store::{OnRetry, StoreError};

/// How often a request is tried at a registry that has answered before.
pub(super) const MOST_TRIES: u32 = 10;
/// How often a request is tried at a registry that never answered: its name is probably wrong.
pub(super) const MOST_FIRST_TRIES: u32 = 4;
/// The first pause, in milliseconds; it doubles each time.
const FIRST_PAUSE: u64 = 100;
/// The longest pause of our own choice, in milliseconds.
const LONGEST_PAUSE: u64 = 10_000;
/// The longest pause that a registry is granted.
const LONGEST_GRANT: Duration = Duration::from_mins(2);

/// How long one request is tried: its tries and the pauses between them, not the time at the gate.
const USUAL_TOTAL: Duration = Duration::from_mins(3);
/// How many tries after the first are nobody's concern.
const QUIET: u32 = 2;

/// How much patience registries get, and who is told when they need it.
#[derive(Debug)]
pub(super) struct Patience {
    total: Duration,
    on_retry: Option<OnRetry>,
}

/// The tries of one request.
#[derive(Debug)]
pub(super) struct Tries<'a> {
    patience: &'a Patience,
    total: Duration,
    count: u32,
    spent: Duration,
}

// === impl Patience ===

impl Patience {
    pub(super) fn new(total: Duration, on_retry: Option<OnRetry>) -> Self {
        Self { total: if total.is_zero() { USUAL_TOTAL } else { total }, on_retry }
    }

    pub(super) fn tries(&self) -> Tries<'_> {
        Tries { patience: self, total: self.total, count: 0, spent: Duration::ZERO }
    }

    /// Tells of a try that comes after so many others.
    pub(super) fn tell(&self, tries: u32, error: &StoreError, pause: Duration) {
        if let Some(hook) = self.on_retry.as_ref().filter(|_| tries > QUIET) {
            let (next, seconds) = (tries + 1, pause.as_secs_f32());
            hook.tell(&format!("{error}; try {next} follows in {seconds:.1} s"));
        }
    }
}

// === impl Tries ===

impl Tries<'_> {
    /// With time for two tries that may take so long.
    pub(super) fn of(mut self, one: Duration) -> Self {
        self.total = self.total.max(one * 2);
        self
    }

    /// Waits before the next try, unless it was enough: says whether there is one.
    pub(super) async fn again(
        &mut self,
        error: &StoreError,
        asked: Option<Duration>,
        most: u32,
        took: Duration,
    ) -> bool {
        self.count += 1;
        let pause = pause(self.count, asked);
        self.spent += took + pause;
        if self.count >= most || self.spent > self.total {
            return false;
        }
        self.patience.tell(self.count, error, pause);
        tokio::time::sleep(pause).await;
        true
    }
}

/// The pause before the next try: doubled each time, and between half and all of that by chance, so that many clients do not
/// come back at the same moment; at least as long as the registry asked for, within reason.
pub(super) fn pause(tries: u32, asked: Option<Duration>) -> Duration {
    let most = (FIRST_PAUSE << tries.saturating_sub(1).min(20)).min(LONGEST_PAUSE);
    let chance = RandomState::new().hash_one(tries) % (most / 2 + 1);
    Duration::from_millis(most / 2 + chance).max(asked.unwrap_or_default().min(LONGEST_GRANT))
}

/// What `Retry-After` asks for: a number of seconds or a date.
pub(super) fn retry_after(value: &str, now: Timestamp) -> Option<Duration> {
    if let Ok(seconds) = value.trim().parse() {
        return Some(Duration::from_secs(seconds));
    }
    let date = jiff::fmt::rfc2822::parse(value).ok()?.timestamp();
    Some(Duration::try_from(date.duration_since(now)).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_a_bound_and_honour_the_registry_within_reason() {
        for (tries, low, high) in [(1, 50, 100), (2, 100, 200), (5, 800, 1600), (20, 5000, 10_000)] {
            let pause = pause(tries, None).as_millis();
            assert!((low..=high).contains(&pause), "{tries}: {pause}");
        }
        assert_eq!(pause(1, Some(Duration::from_secs(30))), Duration::from_secs(30));
        assert_eq!(pause(1, Some(Duration::from_hours(1))), LONGEST_GRANT);
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_is_tried_for_some_minutes_whatever_a_try_takes() {
        let error = StoreError::Network { what: "x".to_owned(), why: "y".to_owned() };
        let count = async |mut tries: Tries<'_>, asked: Option<u64>, took: u64| {
            let (asked, took) = (asked.map(Duration::from_secs), Duration::from_secs(took));
            let mut count = 1;
            while tries.again(&error, asked, MOST_TRIES, took).await {
                count += 1;
            }
            count
        };
        let usual = Patience::new(Duration::ZERO, None);
        assert_eq!(count(usual.tries(), None, 0).await, MOST_TRIES);
        assert_eq!(
            count(usual.tries(), None, 30).await,
            6,
            "five times 30 s and the pauses are three minutes"
        );
        assert_eq!(count(usual.tries(), Some(3600), 0).await, 2, "two minutes are granted once");
        assert_eq!(count(usual.tries().of(Duration::from_mins(5)), None, 300).await, 2);
        assert_eq!(count(Patience::new(Duration::from_mins(1), None).tries(), None, 30).await, 2);
    }

    #[test]
    fn retry_after_is_read_as_seconds_or_as_a_date() {
        let now: Timestamp = "2024-01-01T00:00:00Z".parse().unwrap();
        assert_eq!(retry_after("7", now), Some(Duration::from_secs(7)));
        assert_eq!(retry_after("Mon, 01 Jan 2024 00:01:00 GMT", now), Some(Duration::from_mins(1)));
        assert_eq!(retry_after("Sun, 31 Dec 2023 00:00:00 GMT", now), Some(Duration::ZERO));
        assert_eq!(retry_after("soon", now), None);
    }
}
