//! How long an update still takes, judged by how many operators have moved.
//!
//! The base is the reference's: a curve says which share of the time has passed when a share of the operators is
//! updated (most of them are quick, the last one restarts machines). It gives one number, which jumps. We tell an
//! interval beside it:
//!
//! - *earliest*: the curve as if one operator more were updated already, without a margin;
//! - *latest*: the curve as if the last one were not, with the margin that the reference gives.
//!
//! What is known of the progress is known to within one operator; the interval says what that means in time.

use serde::Serialize;

use super::duration::{MINUTE, Seconds, rounded, short};

/// How long an update took before, where the history does not tell.
pub const USUAL: Seconds = 60 * MINUTE;
/// Before this the pace says nothing.
const TOO_EARLY: Seconds = 5 * MINUTE;
/// An update that is later than this stands still.
const STALLED: Seconds = -10 * MINUTE;
/// What is added to what is left, because nobody is angry about an update that is done too early.
const MARGIN: f64 = 1.2;

/// What an estimate is made of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pace {
    /// Operators that are updated.
    pub updated: usize,
    /// All of them.
    pub total: usize,
    /// From the beginning to the last sign of progress.
    pub to_last: Seconds,
    /// From the beginning to now.
    pub so_far: Seconds,
    /// How long such an update usually takes.
    pub usual: Seconds,
}

/// What is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Estimate {
    /// The reference's number: negative when the update should be over.
    pub remaining: Seconds,
    /// The earliest end from now, when all goes well.
    pub earliest: Seconds,
    /// The latest, as far as one can tell.
    pub latest: Seconds,
    /// How long all of it takes, as it seems, in whole minutes.
    pub whole: Seconds,
}

/// How an update goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Assessment {
    /// As it should.
    Progressing,
    /// Later than expected.
    #[serde(rename = "Progressing - Slow")]
    Slow,
    /// Much later than expected.
    Stalled,
    /// It is over.
    Completed,
}

// === impl Pace ===

impl Pace {
    /// What is left at this pace.
    pub fn estimate(&self) -> Estimate {
        let remaining = self.remaining(share(self.updated, self.total));
        let whole = (self.so_far + remaining) / MINUTE * MINUTE;
        if self.updated >= self.total {
            return Estimate { remaining: 0, earliest: 0, latest: 0, whole };
        }
        // Nothing is over before its last operator is: `updated + 1` never counts as all.
        let further = share(self.updated + 1, self.total).min(share(self.total * 2 - 1, self.total * 2));
        let back = share(self.updated.saturating_sub(1), self.total);
        let early = self.whole_at(further) - as_float(self.so_far);
        let ends = [remaining, self.remaining(further), self.remaining(back)];
        let latest = ends.into_iter().max().unwrap_or(remaining).max(0);
        let earliest = as_seconds(early).clamp(0, remaining.max(0));
        Estimate {
            remaining: rounded(remaining),
            earliest: rounded(earliest),
            latest: rounded(latest),
            whole,
        }
    }

    /// How long all of it takes when this share of the operators is updated.
    fn whole_at(&self, completion: f64) -> f64 {
        let passed = passed(completion);
        if completion > 0.0 && passed > 0.0 && self.to_last > TOO_EARLY {
            as_float(self.to_last) / passed
        } else {
            as_float(self.usual)
        }
    }

    fn remaining(&self, completion: f64) -> Seconds {
        if completion >= 1.0 {
            return 0;
        }
        let left = self.whole_at(completion) - as_float(self.so_far);
        as_seconds(if left >= 0.0 { left * MARGIN } else { left / MARGIN })
    }
}

// === impl Estimate ===

impl Estimate {
    /// How the update goes while it is not over.
    pub fn assessment(&self) -> Assessment {
        match self.remaining {
            late if late < STALLED => Assessment::Stalled,
            late if late < 0 => Assessment::Slow,
            _ => Assessment::Progressing,
        }
    }

    /// The reference's words for what is left; none when that is nothing.
    pub fn words(&self) -> Option<String> {
        match self.remaining {
            0 => None,
            late if late < STALLED => Some(format!("N/A; estimate duration was {}", short(self.whole))),
            soon if soon < 10 * MINUTE => Some("<10m".to_owned()),
            left => Some(short(left)),
        }
    }

    /// The interval in words; none when there is nothing to expect any more.
    pub fn interval(&self) -> Option<String> {
        // Nobody believes in the seconds of such a number.
        let minutes = |seconds: Seconds| (seconds + MINUTE / 2) / MINUTE * MINUTE;
        match (self.remaining, minutes(self.earliest), minutes(self.latest).max(MINUTE)) {
            (0, ..) => None,
            (late, ..) if late < 0 => {
                Some(format!("unknown: overdue by {}", short(rounded(late.saturating_neg()))))
            }
            (_, earliest, latest) if earliest == latest => Some(short(latest)),
            (_, 0, latest) => Some(format!("up to {}", short(latest))),
            (_, earliest, latest) => Some(format!("{} to {}", short(earliest), short(latest))),
        }
    }
}

// === impl Assessment ===

impl Assessment {
    /// The word in the screen.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Progressing => "Progressing",
            Self::Slow => "Progressing - Slow",
            Self::Stalled => "Stalled",
            Self::Completed => "Completed",
        }
    }
}

/// Which share of the time has passed when this share of the operators is updated; below zero at the very beginning.
pub fn passed(completion: f64) -> f64 {
    let polynomial =
        |factors: &[f64]| factors.iter().rev().fold(0.0, |sum, factor| sum * completion + factor);
    if completion < 0.25 {
        polynomial(&[-0.030_787_88, 2.628_86, -3.823_954])
    } else if completion < 0.9 {
        polynomial(&[0.185_121_5, 1.649_94, -4.676_898, 5.451_824, -2.125_286])
    } else {
        polynomial(&[25_053.32, -107_394.3, 172_527.2, -123_107.0, 32_921.81])
    }
}

#[expect(clippy::cast_precision_loss, reason = "there are fewer operators than a float can count")]
fn share(part: usize, whole: usize) -> f64 {
    part as f64 / whole.max(1) as f64
}

#[expect(clippy::cast_precision_loss, reason = "no update takes 2^52 seconds")]
fn as_float(seconds: Seconds) -> f64 {
    seconds as f64
}

#[expect(clippy::cast_possible_truncation, reason = "cutting to whole seconds is what is wanted")]
fn as_seconds(seconds: f64) -> Seconds {
    seconds as Seconds
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pace(to_last: Seconds, so_far: Seconds, updated: usize, total: usize, usual: Seconds) -> Pace {
        Pace { updated, total, to_last, so_far, usual }
    }

    #[test]
    fn the_curve_has_the_values_of_the_specification() {
        for (updated, expected) in [
            (1, 0.0454),
            (4, 0.2317),
            (8, 0.3818),
            (9, 0.3861),
            (16, 0.3896),
            (24, 0.4139),
            (29, 0.4557),
            (30, 0.5290),
            (32, 0.6976),
        ] {
            let found = passed(share(updated, 33));
            assert!((found - expected).abs() < 0.000_1, "{updated} of 33: {found}");
        }
        assert!(passed(0.0) < 0.0);
    }

    #[test]
    fn estimates_are_those_of_the_specification() {
        let early = pace(6, 6, 4, 33, USUAL).estimate();
        assert_eq!(early.words().unwrap(), "1h12m");
        assert_eq!(early.assessment(), Assessment::Progressing);

        let late = pace(25 * MINUTE, 28 * MINUTE, 30, 33, USUAL).estimate();
        assert_eq!(late.words().unwrap(), "23m");

        let stalled = pace(55 * MINUTE, 119 * MINUTE, 32, 33, USUAL).estimate();
        assert_eq!((stalled.remaining, stalled.assessment()), (-2008, Assessment::Stalled));
        assert_eq!(stalled.words().unwrap(), "N/A; estimate duration was 1h25m");

        let before = pace(100, 120 * MINUTE, 1, 2, 90 * MINUTE).estimate();
        assert_eq!((before.remaining, before.assessment()), (-25 * MINUTE, Assessment::Stalled));
    }

    #[test]
    fn less_than_ten_minutes_is_told_as_such_and_nothing_left_is_not_told() {
        let soon = pace(55 * MINUTE, 72 * MINUTE, 32, 33, USUAL).estimate();
        assert_eq!(soon.words().unwrap(), "<10m");
        let slow = pace(55 * MINUTE, 80 * MINUTE, 32, 33, USUAL).estimate();
        assert_eq!((slow.words().unwrap().as_str(), slow.assessment()), ("<10m", Assessment::Slow));
        assert_eq!(pace(55 * MINUTE, 80 * MINUTE, 33, 33, USUAL).estimate().words(), None);
    }

    #[test]
    fn the_interval_holds_the_reference_s_number() {
        for updated in 0..33 {
            for so_far in [1, 400, 3000, 5000] {
                let estimate = pace(so_far, so_far, updated, 33, USUAL).estimate();
                let Estimate { remaining, earliest, latest, .. } = estimate;
                assert!(earliest <= latest, "{estimate:?}");
                if remaining >= 0 {
                    assert!(earliest <= remaining && remaining <= latest, "{updated} {so_far} {estimate:?}");
                }
            }
        }
    }

    #[test]
    fn the_interval_in_words() {
        let interval =
            |to_last, so_far, updated| pace(to_last, so_far, updated, 33, USUAL).estimate().interval();
        assert_eq!(interval(25 * MINUTE, 28 * MINUTE, 30).unwrap(), "9m to 32m");
        assert_eq!(interval(6, 6, 4).unwrap(), "1h to 1h12m");
        assert_eq!(interval(55 * MINUTE, 119 * MINUTE, 32).unwrap(), "unknown: overdue by 33m");
        assert_eq!(interval(55 * MINUTE, 119 * MINUTE, 33), None);
    }
}
