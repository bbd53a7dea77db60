//! The time of the lab: as it is, faster, or virtual.

use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

/// The moment at which every virtual clock starts: 2026-01-01T00:00:00Z.
const VIRTUAL_EPOCH: Timestamp = Timestamp::constant(1_767_225_600, 0);

/// How fast a clock may be: outside of this, durations overflow or nothing ever happens.
const SPEEDS: RangeInclusive<f64> = 0.001..=1_000_000.0;
/// The longest wait on tokio's clock; nobody waits for its end.
const LONGEST: Duration = Duration::from_hours(24 * 365 * 30);

/// Where the lab takes its time from.
///
/// It stands on tokio's clock alone: on a runtime whose time is paused a virtual clock moves only when nothing else
/// can run, and hours pass in milliseconds.
#[derive(Debug)]
pub struct Clock {
    epoch: Timestamp,
    start: Instant,
    speed: f64,
    /// By how many milliseconds the clock was set forward or back since.
    jump: AtomicI64,
}

// === impl Clock ===

impl Clock {
    /// A clock that shows this time now and runs `speed` times as fast as tokio's.
    ///
    /// A speed outside of 0.001 to 1,000,000 becomes the nearest of these.
    pub fn starting_at(now: Timestamp, speed: f64) -> Self {
        let speed = if speed.is_nan() { 1.0 } else { speed.clamp(*SPEEDS.start(), *SPEEDS.end()) };
        Self { epoch: now, start: Instant::now(), speed, jump: AtomicI64::new(0) }
    }

    /// The time of the machine, `speed` times as fast from now on.
    pub fn real(speed: f64) -> Self {
        #[allow(clippy::disallowed_methods, reason = "this is where the time of the machine comes in")]
        Self::starting_at(Timestamp::now(), speed)
    }

    /// A clock that starts at the same moment in every process; for a runtime with paused time.
    pub fn simulated() -> Self {
        Self::starting_at(VIRTUAL_EPOCH, 1.0)
    }

    /// The time in the lab.
    pub fn now(&self) -> Timestamp {
        let jump = SignedDuration::from_millis(self.jump.load(Ordering::Relaxed));
        let now = self.epoch.checked_add(self.elapsed()).unwrap_or(Timestamp::MAX);
        let beyond = if jump.is_negative() { Timestamp::UNIX_EPOCH } else { Timestamp::MAX };
        // Objects cannot carry years before 0, and nothing in a cluster is older than this.
        now.checked_add(jump).unwrap_or(beyond).max(Timestamp::UNIX_EPOCH)
    }

    /// How much time has passed in the lab since the clock was made; jumps do not count.
    pub fn elapsed(&self) -> Duration {
        self.start.elapsed().mul_f64(self.speed)
    }

    /// The time in the lab as objects carry it: RFC 3339, whole seconds.
    pub fn stamp(&self) -> String {
        self.now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
    }

    /// The time in the lab with microseconds, as Leases and Events carry it.
    pub fn micro_stamp(&self) -> String {
        self.now().strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
    }

    /// How long a time of the lab takes on tokio's clock.
    pub fn scaled(&self, duration: Duration) -> Duration {
        let seconds = duration.as_secs_f64() / self.speed;
        Duration::try_from_secs_f64(seconds).unwrap_or(LONGEST).min(LONGEST)
    }

    /// Waits until this much time has passed in the lab; a jump of the clock does not shorten it.
    pub async fn sleep(&self, duration: Duration) {
        tokio::time::sleep(self.scaled(duration)).await;
    }

    /// Sets the clock forward, or back.
    pub fn jump(&self, by: SignedDuration) {
        let beyond = if by.is_negative() { i64::MIN } else { i64::MAX };
        let millis = i64::try_from(by.as_millis()).unwrap_or(beyond);
        let add = |jump: i64| Some(jump.saturating_add(millis));
        // It always stores: the closure never refuses.
        let _ = self.jump.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn virtual_time_passes_without_waiting() {
        let clock = Clock::simulated();
        assert_eq!(clock.stamp(), "2026-01-01T00:00:00Z");
        clock.sleep(Duration::from_mins(40)).await;
        assert_eq!(clock.stamp(), "2026-01-01T00:40:00Z");
        assert_eq!(clock.micro_stamp(), "2026-01-01T00:40:00.000000Z");
    }

    #[tokio::test(start_paused = true)]
    async fn an_accelerated_clock_counts_more_seconds_than_it_waits() {
        let clock = Clock::starting_at(VIRTUAL_EPOCH, 60.0);
        let start = Instant::now();
        clock.sleep(Duration::from_mins(2)).await;
        assert_eq!(clock.stamp(), "2026-01-01T00:02:00Z");
        assert_eq!(start.elapsed(), Duration::from_secs(2));
    }

    #[tokio::test(start_paused = true)]
    async fn a_jump_moves_what_the_clock_shows() {
        let clock = Clock::simulated();
        clock.jump(SignedDuration::from_mins(-5));
        assert_eq!(clock.stamp(), "2025-12-31T23:55:00Z");
        assert_eq!(clock.elapsed(), Duration::ZERO);
        clock.jump(SignedDuration::MIN);
        assert_eq!(clock.stamp(), "1970-01-01T00:00:00Z");
        clock.jump(SignedDuration::MIN);
        assert_eq!(clock.stamp(), "1970-01-01T00:00:00Z", "it does not turn over");
    }

    #[tokio::test(start_paused = true)]
    async fn no_speed_breaks_the_clock() {
        for speed in [f64::NAN, f64::INFINITY, -1.0, 0.0, 1e300, 1e-300] {
            let clock = Clock::starting_at(VIRTUAL_EPOCH, speed);
            tokio::time::advance(Duration::from_hours(24 * 365)).await;
            assert!(clock.elapsed() > Duration::ZERO, "{speed}");
            assert!(clock.now() > VIRTUAL_EPOCH, "{speed}");
            assert!(clock.scaled(Duration::MAX) > Duration::ZERO, "{speed}");
        }
    }
}
