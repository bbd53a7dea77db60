//! Points in time as the API writes them: RFC 3339, UTC, whole seconds.

use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// A point in time with the precision of the API, which is one second.
///
/// The fraction is cut off on the way in, not on the way out: otherwise a status computed now and the same status read
/// back would differ, and be written again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "Timestamp", into = "Timestamp")]
pub struct Time(Timestamp);

impl Time {
    /// The same point in time for arithmetic.
    pub fn timestamp(self) -> Timestamp {
        self.0
    }
}

impl From<Timestamp> for Time {
    fn from(exact: Timestamp) -> Self {
        Self(Timestamp::from_second(exact.as_second()).unwrap_or(exact))
    }
}

impl From<Time> for Timestamp {
    fn from(time: Time) -> Self {
        time.0
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(text: &str) -> serde_json::Result<Time> {
        serde_json::from_value(json!(text))
    }

    #[test]
    fn fraction_of_a_second_is_cut_off_not_rounded() {
        let time = Time::from("2026-07-01T10:20:30.999999Z".parse::<Timestamp>().unwrap());
        assert_eq!(serde_json::to_value(time).unwrap(), json!("2026-07-01T10:20:30Z"));
        assert_eq!(time, read("2026-07-01T10:20:30Z").unwrap());
    }

    #[test]
    fn other_offsets_are_read_and_written_as_utc() {
        assert_eq!(read("2026-07-01T12:20:30+02:00").unwrap().to_string(), "2026-07-01T10:20:30Z");
    }

    #[test]
    fn zero_time_of_other_writers_is_read() {
        assert_eq!(read("0001-01-01T00:00:00Z").unwrap().to_string(), "0001-01-01T00:00:00Z");
    }

    #[test]
    fn text_that_is_no_time_is_refused() {
        assert!(read("yesterday").is_err());
    }
}
