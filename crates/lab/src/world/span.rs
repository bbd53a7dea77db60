//! How long something takes: a fixed time, or a distribution from which a seed draws.

use std::time::Duration;

use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::Rng;

/// A duration of a scenario.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Span {
    /// Always the same.
    Fixed(Duration),
    /// Anything between the two, each as likely as the other.
    Between(Duration, Duration),
    /// Half of the draws are below the median, two thirds between `median / spread` and `median × spread`, few far out.
    Around {
        /// The middle.
        median: Duration,
        /// The factor, at least 1.
        spread: f64,
    },
}

/// The units of a duration, longest first, in milliseconds.
const UNITS: [(&str, u64); 4] = [("h", 3_600_000), ("ms", 1), ("m", 60_000), ("s", 1000)];

// === impl Span ===

impl Span {
    /// No time at all.
    pub(crate) const ZERO: Self = Self::Fixed(Duration::ZERO);

    /// A fixed number of seconds.
    pub(crate) const fn seconds(seconds: u64) -> Self {
        Self::Fixed(Duration::from_secs(seconds))
    }

    /// Between two numbers of seconds.
    pub(crate) const fn between(from: u64, to: u64) -> Self {
        Self::Between(Duration::from_secs(from), Duration::from_secs(to))
    }

    /// One draw, in whole milliseconds.
    pub(crate) fn draw(self, rng: &mut Rng) -> Duration {
        let drawn = match self {
            Self::Fixed(duration) => return duration,
            Self::Between(from, to) => from + to.saturating_sub(from).mul_f64(rng.fraction()),
            Self::Around { median, spread } => {
                // Twelve uniform draws are close enough to a bell, and need no function that differs by platform.
                let z = (0..12).map(|_| rng.fraction()).sum::<f64>() - 6.0;
                median.mul_f64(spread.powf(z.clamp(-3.0, 3.0)))
            }
        };
        Duration::from_millis(u64::try_from(drawn.as_millis()).unwrap_or(u64::MAX))
    }

    /// Reads the three forms of a duration.
    ///
    /// # Errors
    /// A sentence that says what is wrong and what is expected.
    pub(crate) fn read(value: &Value) -> Result<Self, String> {
        let map = match value {
            Value::String(text) => return parse(text).map(Self::Fixed),
            Value::Object(map) => map,
            other => return Err(format!("`{other}` is no duration; {EXPECTED}")),
        };
        let part = |key: &str| match map.get(key) {
            Some(Value::String(text)) => parse(text),
            Some(other) => Err(format!("`{key}: {other}` is no duration; {EXPECTED}")),
            None => Err(format!("`{key}` is missing; {EXPECTED}")),
        };
        let keys: Vec<&str> = map.keys().map(String::as_str).collect();
        match keys.as_slice() {
            ["from", "to"] => {
                let (from, to) = (part("from")?, part("to")?);
                if from > to {
                    return Err("`from` is longer than `to`; swap them".to_owned());
                }
                Ok(Self::Between(from, to))
            }
            ["median", "spread"] => match map["spread"].as_f64() {
                Some(spread) if (1.0..=100.0).contains(&spread) => {
                    Ok(Self::Around { median: part("median")?, spread })
                }
                _ => Err("`spread` is a factor from 1 to 100, such as 1.5".to_owned()),
            },
            _ => Err(format!("a distribution with the keys `{}` is not known; {EXPECTED}", keys.join(", "))),
        }
    }
}

const EXPECTED: &str =
    "write 90s, 5m, 1h30m or 250ms, or {from: 20s, to: 90s}, or {median: 40s, spread: 1.5}";

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Self::read(&Value::deserialize(from)?).map_err(serde::de::Error::custom)
    }
}

/// Reads `1h30m`, `90s`, `250ms`, `0s`.
fn parse(text: &str) -> Result<Duration, String> {
    let wrong = || format!("`{text}` is no duration; {EXPECTED}");
    let (mut rest, mut millis) = (text, 0_u64);
    if rest.is_empty() {
        return Err(wrong());
    }
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let number: u64 = rest[..digits].parse().map_err(|_| wrong())?;
        rest = &rest[digits..];
        let (unit, factor) = UNITS.iter().find(|(unit, _)| rest.starts_with(unit)).ok_or_else(wrong)?;
        rest = &rest[unit.len()..];
        millis = number.checked_mul(*factor).and_then(|part| millis.checked_add(part)).ok_or_else(wrong)?;
    }
    // A year is longer than any rehearsal; more would overflow timers.
    if millis > 366 * 24 * 3_600_000 { Err(wrong()) } else { Ok(Duration::from_millis(millis)) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fixed_durations_are_sums_of_numbers_with_units() {
        for (text, millis) in
            [("90s", 90_000), ("5m", 300_000), ("1h30m", 5_400_000), ("250ms", 250), ("0s", 0)]
        {
            assert_eq!(parse(text), Ok(Duration::from_millis(millis)), "{text}");
        }
        for text in ["", "5", "s", "1.5s", "5 m", "-1s", "1d", "99999999h"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_distribution_draws_inside_its_bounds_and_by_its_seed() {
        let uniform = Span::read(&json!({"from": "20s", "to": "90s"})).unwrap();
        let bell = Span::read(&json!({"median": "40s", "spread": 1.5})).unwrap();
        let draws = |span: Span, seed| {
            (0..200).map(|_| 0).scan(Rng::new(seed), move |rng, _| Some(span.draw(rng))).collect::<Vec<_>>()
        };
        assert!(draws(uniform, 1).iter().all(|drawn| (20..=90).contains(&drawn.as_secs())));
        let low = draws(bell, 1).iter().filter(|drawn| drawn.as_secs() < 40).count();
        assert!((60..140).contains(&low), "{low} of 200 below the median");
        assert_eq!(draws(bell, 1), draws(bell, 1));
        assert_ne!(draws(bell, 1), draws(bell, 2));
    }

    #[test]
    fn a_wrong_distribution_is_refused_with_what_to_write() {
        for (value, words) in [
            (json!({"from": "2s"}), "keys `from`"),
            (json!({"from": "2s", "to": "1s"}), "swap"),
            (json!({"median": "2s", "spread": 0.5}), "factor"),
            (json!(5), "write 90s"),
        ] {
            assert!(Span::read(&value).unwrap_err().contains(words), "{value}");
        }
    }
}
