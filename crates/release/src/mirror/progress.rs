//! How far a mirror is: counts, bytes, speed and the time that is left, as one line.

use std::collections::VecDeque;
use std::time::Duration;

/// How long back the speed is measured.
const WINDOW: Duration = Duration::from_secs(15);

/// What is being done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Manifests are read, and the destination is asked what it has.
    Reading,
    /// Content is moved.
    Copying,
    /// The destination is asked for everything once more.
    Verifying,
}

/// A mirror at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Snapshot {
    /// What is being done.
    pub phase: Phase,
    /// Images that are done.
    pub images_done: usize,
    /// All images.
    pub images: usize,
    /// Bytes that are done.
    pub bytes_done: u64,
    /// Bytes that had to be done when the phase began.
    pub bytes: u64,
}

/// Measures the speed of the last seconds.
#[derive(Debug, Clone, Default)]
pub struct Pace {
    phase: Option<Phase>,
    samples: VecDeque<(Duration, u64)>,
}

/// A number of bytes as people say it: 812 B, 3.4 MB, 12.1 GB.
pub fn amount(bytes: u64) -> String {
    let (unit, name) = unit(bytes);
    if unit == 1 { format!("{bytes} B") } else { format!("{} {name}", tenths(bytes, unit)) }
}

/// `3.4 of 12.1 GB`.
fn amount_of(done: u64, all: u64) -> String {
    let (unit, name) = unit(all);
    if unit == 1 {
        return format!("{done} of {all} B");
    }
    format!("{} of {} {name}", tenths(done, unit), tenths(all, unit))
}

fn unit(bytes: u64) -> (u64, &'static str) {
    let units = [(1_000_000_000_000, "TB"), (1_000_000_000, "GB"), (1_000_000, "MB"), (1000, "kB")];
    units.into_iter().find(|(unit, _)| bytes >= *unit).unwrap_or((1, "B"))
}

fn tenths(bytes: u64, unit: u64) -> String {
    let tenths = bytes / (unit / 10);
    format!("{}.{}", tenths / 10, tenths % 10)
}

/// A time that is left, as roughly as it is known.
fn rough(left: Duration) -> String {
    match left.as_secs() {
        0..=9 => "a few seconds left".to_owned(),
        seconds @ 10..=90 => format!("about {} s left", seconds.div_ceil(10) * 10),
        seconds @ 91..=5400 => format!("about {} min left", seconds.div_ceil(60)),
        seconds => format!("about {} h {} min left", seconds / 3600, seconds % 3600 / 60),
    }
}

// === impl Snapshot ===

impl Snapshot {
    /// The line for people: `mirror: 12/190 images  3.4 of 12.1 GB  41 MB/s  about 3 min left`.
    pub fn line(&self, pace: &Pace) -> String {
        let Self { phase, images_done, images, bytes_done, bytes } = self;
        let count = format!("{images_done}/{images} images");
        let mut parts = match phase {
            Phase::Reading => return format!("mirror: reading manifests, {count}"),
            Phase::Copying => vec![format!("mirror: {count}"), amount_of(*bytes_done, *bytes)],
            Phase::Verifying if *bytes == 0 => return format!("mirror: verifying, {count}"),
            Phase::Verifying => {
                vec![format!("mirror: verifying, {count}"), amount_of(*bytes_done, *bytes)]
            }
        };
        if let Some(speed) = pace.per_second().filter(|speed| *speed > 0) {
            parts.push(format!("{}/s", amount(speed)));
            let left = bytes.saturating_sub(*bytes_done) / speed;
            if bytes_done < bytes {
                parts.push(rough(Duration::from_secs(left)));
            }
        }
        parts.join("  ")
    }
}

// === impl Pace ===

impl Pace {
    /// Takes a moment in.
    pub fn take(&mut self, elapsed: Duration, snapshot: &Snapshot) {
        if self.phase != Some(snapshot.phase) {
            self.phase = Some(snapshot.phase);
            self.samples.clear();
        }
        self.samples.push_back((elapsed, snapshot.bytes_done));
        while self.samples.len() > 2 && self.samples.front().is_some_and(|(at, _)| *at + WINDOW < elapsed) {
            self.samples.pop_front();
        }
    }

    /// Bytes per second lately; nothing when less than a second is known.
    pub fn per_second(&self) -> Option<u64> {
        let ((from, before), (to, after)) = (self.samples.front()?, self.samples.back()?);
        let milliseconds =
            u64::try_from(to.saturating_sub(*from).as_millis()).ok().filter(|it| *it >= 1000)?;
        Some(after.saturating_sub(*before).saturating_mul(1000) / milliseconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn copying(images_done: usize, bytes_done: u64) -> Snapshot {
        Snapshot { phase: Phase::Copying, images_done, images: 190, bytes_done, bytes: 12_100_000_000 }
    }

    #[test]
    fn one_line_says_it_all() {
        let mut pace = Pace::default();
        pace.take(Duration::ZERO, &copying(0, 0));
        assert_eq!(copying(0, 0).line(&pace), "mirror: 0/190 images  0.0 of 12.1 GB");
        let now = copying(12, 3_400_000_000);
        pace.take(Duration::from_secs(80), &now);
        assert_eq!(now.line(&pace), "mirror: 12/190 images  3.4 of 12.1 GB  42.5 MB/s  about 4 min left");
        let end = copying(190, 12_100_000_000);
        pace.take(Duration::from_secs(81), &end);
        assert!(end.line(&pace).ends_with(" GB/s") || end.line(&pace).ends_with(" MB/s"), "no time is left");
        let reading = Snapshot { phase: Phase::Reading, ..copying(3, 0) };
        assert_eq!(reading.line(&pace), "mirror: reading manifests, 3/190 images");
    }

    #[test]
    fn the_speed_is_that_of_the_last_seconds_and_of_this_phase() {
        let mut pace = Pace::default();
        for second in 0..=60 {
            let bytes = if second <= 30 { second * 1000 } else { 30_000 };
            pace.take(Duration::from_secs(second), &copying(0, bytes));
        }
        assert_eq!(pace.per_second(), Some(0), "it stands still");
        pace.take(Duration::from_secs(61), &Snapshot { phase: Phase::Verifying, ..copying(0, 9) });
        assert_eq!(pace.per_second(), None);
    }

    #[test]
    fn amounts_and_times_are_round() {
        assert_eq!([0, 812, 3400, 3_456_789].map(amount), ["0 B", "812 B", "3.4 kB", "3.4 MB"]);
        let texts = [3, 11, 91, 3600, 9000].map(|seconds| rough(Duration::from_secs(seconds)));
        assert_eq!(
            texts,
            [
                "a few seconds left",
                "about 20 s left",
                "about 2 min left",
                "about 60 min left",
                "about 2 h 30 min left"
            ]
        );
    }
}
