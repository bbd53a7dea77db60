//! How long to wait before a request is tried again.

use std::hash::{BuildHasher as _, RandomState};
use std::time::Duration;

use jiff::Timestamp;

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

    #[test]
    fn retry_after_is_read_as_seconds_or_as_a_date() {
        let now: Timestamp = "2024-01-01T00:00:00Z".parse().unwrap();
        assert_eq!(retry_after("7", now), Some(Duration::from_secs(7)));
        assert_eq!(retry_after("Mon, 01 Jan 2024 00:01:00 GMT", now), Some(Duration::from_mins(1)));
        assert_eq!(retry_after("Sun, 31 Dec 2023 00:00:00 GMT", now), Some(Duration::ZERO));
        assert_eq!(retry_after("soon", now), None);
    }
}
