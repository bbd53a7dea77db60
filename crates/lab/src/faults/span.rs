//! Durations as people write them: `90s`, `5m`, `1h30m`, `250ms`.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use jiff::SignedDuration;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A length of time, with millisecond precision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span(Duration);

/// A length of time forward, or back with a `-` in front.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offset {
    length: Span,
    is_back: bool,
}

/// A text that is no duration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpanError {
    /// It is not written as one.
    #[error(
        "{0:?} is no duration; write numbers with the units h, m, s and ms, such as `90s`, `1h30m` or `250ms`"
    )]
    Form(String),
    /// The clock cannot be set that far.
    #[error("{0:?} is more than a year; write at most 8784h")]
    TooFar(String),
}

/// How far a clock can be set: a leap year.
const FARTHEST: Duration = Duration::from_hours(366 * 24);

/// The units from large to small, in milliseconds.
const UNITS: [(&str, u64); 4] = [("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)];

// === impl Span ===

impl From<Span> for Duration {
    fn from(span: Span) -> Self {
        span.0
    }
}

impl From<Duration> for Span {
    /// NB: what is shorter than a millisecond is dropped.
    fn from(duration: Duration) -> Self {
        Self(Duration::from_millis(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)))
    }
}

impl FromStr for Span {
    type Err = SpanError;

    fn from_str(text: &str) -> Result<Self, SpanError> {
        let wrong = || SpanError::Form(text.to_owned());
        let mut rest = text;
        let mut units = UNITS.iter();
        let mut millis: u64 = 0;
        while !rest.is_empty() {
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            let letters = rest[digits..].bytes().take_while(u8::is_ascii_lowercase).count();
            let unit = &rest[digits..digits + letters];
            // Each unit once, large ones first: `1s1h` and `1m1m` are mistakes.
            let (_, size) = units.find(|(name, _)| *name == unit).ok_or_else(wrong)?;
            let number: u64 = rest[..digits].parse().map_err(|_| wrong())?;
            millis = number.checked_mul(*size).and_then(|it| millis.checked_add(it)).ok_or_else(wrong)?;
            rest = &rest[digits + letters..];
        }
        if text.is_empty() { Err(wrong()) } else { Ok(Self(Duration::from_millis(millis))) }
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = u64::try_from(self.0.as_millis()).unwrap_or(u64::MAX);
        if rest == 0 {
            return f.write_str("0s");
        }
        for (name, size) in UNITS {
            if rest >= size {
                write!(f, "{}{name}", rest / size)?;
                rest %= size;
            }
        }
        Ok(())
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

impl Serialize for Span {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

// === impl Offset ===

impl From<Offset> for SignedDuration {
    fn from(offset: Offset) -> Self {
        let length = Self::try_from(offset.length.0).unwrap_or(Self::MAX);
        if offset.is_back { -length } else { length }
    }
}

impl FromStr for Offset {
    type Err = SpanError;

    fn from_str(text: &str) -> Result<Self, SpanError> {
        let (is_back, length) = match text.strip_prefix('-') {
            Some(length) => (true, length),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let length: Span = length.parse().map_err(|_| SpanError::Form(text.to_owned()))?;
        if length.0 > FARTHEST {
            return Err(SpanError::TooFar(text.to_owned()));
        }
        Ok(Self { length, is_back })
    }
}

impl fmt::Display for Offset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", if self.is_back { "-" } else { "" }, self.length)
    }
}

impl<'de> Deserialize<'de> for Offset {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

impl Serialize for Offset {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_and_written_as_people_write_them() {
        for (text, millis) in [
            ("90s", 90_000),
            ("5m", 300_000),
            ("1h30m", 5_400_000),
            ("250ms", 250),
            ("1m5s20ms", 65_020),
            ("0s", 0),
        ] {
            let span: Span = text.parse().unwrap();
            assert_eq!(Duration::from(span), Duration::from_millis(millis), "{text}");
        }
        for (millis, text) in
            [(90_000, "1m30s"), (5_400_000, "1h30m"), (250, "250ms"), (0, "0s"), (3_600_001, "1h1ms")]
        {
            assert_eq!(Span::from(Duration::from_millis(millis)).to_string(), text);
        }
    }

    #[test]
    fn what_is_no_duration_is_refused_with_an_example() {
        for text in [
            "",
            "5",
            "s",
            "5 m",
            "1s1h",
            "1m1m",
            "-5m",
            "1.5s",
            "5d",
            "99999999999999999999s",
            "18446744073709551615h",
            "5M",
            "5µs",
        ] {
            let error = text.parse::<Span>().unwrap_err().to_string();
            assert!(error.contains("`1h30m`"), "{text}: {error}");
        }
    }

    #[test]
    fn an_offset_goes_both_ways() {
        for (text, seconds) in [("-5m", -300), ("+5m", 300), ("1h", 3600)] {
            let offset: Offset = text.parse().unwrap();
            assert_eq!(SignedDuration::from(offset), SignedDuration::from_secs(seconds), "{text}");
        }
        assert_eq!("-90s".parse::<Offset>().unwrap().to_string(), "-1m30s");
        assert!("--5m".parse::<Offset>().is_err());
        assert!("-9000h".parse::<Offset>().unwrap_err().to_string().contains("at most 8784h"));
    }
}
