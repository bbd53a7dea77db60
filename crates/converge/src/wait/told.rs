//! What a wait tells while it goes on.

use std::time::Duration;

use serde::Serialize;

/// One thing worth telling.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", tag = "told")]
pub enum Told {
    /// A step begins.
    #[serde(rename_all = "camelCase")]
    Step {
        /// What is waited for.
        what: String,
        /// For how long at most.
        limit_seconds: u64,
    },
    /// What is missing now.
    State {
        /// As a sentence.
        what: String,
    },
    /// A step is done.
    Done {
        /// What was waited for.
        what: String,
        /// How long that took.
        seconds: u64,
    },
    /// Worth knowing besides.
    Note {
        /// As a sentence.
        what: String,
    },
}

/// Picks what is worth a line of a log: every change of step, what is missing when it is another one than before, but not
/// every second, and a sign of life when nothing changes.
#[derive(Debug)]
pub struct Pacer {
    pace: Duration,
    last: Option<(Duration, String)>,
    open: Option<String>,
}

/// The longest time without a line.
const SILENCE: Duration = Duration::from_mins(1);

// === impl Pacer ===

impl Pacer {
    /// With at least this long between two lines about what is missing.
    pub fn new(pace: Duration) -> Self {
        Self { pace, last: None, open: None }
    }

    /// The lines for something that was told at a moment.
    pub fn lines(&mut self, told: &Told, now: Duration) -> Vec<String> {
        match told {
            Told::Step { what, limit_seconds } => {
                self.last = Some((now, String::new()));
                self.open = None;
                vec![format!("waiting up to {} for {what}", span(*limit_seconds))]
            }
            Told::State { what } => {
                self.open = Some(what.clone());
                self.due(now).into_iter().collect()
            }
            Told::Done { what, seconds } => {
                self.open = None;
                vec![format!("{what}: done after {}", span(*seconds))]
            }
            Told::Note { what } => vec![format!("note: {what}")],
        }
    }

    /// The line that is due now, if one is.
    pub fn due(&mut self, now: Duration) -> Option<String> {
        let open = self.open.as_ref()?;
        let line = match &self.last {
            None => open.clone(),
            Some((at, told)) if told != open && (told.is_empty() || now.saturating_sub(*at) >= self.pace) => {
                open.clone()
            }
            Some((at, told)) if told == open && now.saturating_sub(*at) >= SILENCE => {
                format!("still: {open}")
            }
            Some(_) => return None,
        };
        self.last = Some((now, open.clone()));
        Some(line)
    }
}

/// A number of seconds as people write it: `45s`, `4m30s`, `1h5m`.
pub(crate) fn span(seconds: u64) -> String {
    match (seconds / 3600, seconds % 3600 / 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds}s"),
        (0, minutes, 0) => format!("{minutes}m"),
        (0, minutes, seconds) => format!("{minutes}m{seconds}s"),
        (hours, 0, _) => format!("{hours}h"),
        (hours, minutes, _) => format!("{hours}h{minutes}m"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_short() {
        let spans = [(0, "0s"), (45, "45s"), (270, "4m30s"), (300, "5m"), (3600, "1h"), (3900, "1h5m")];
        assert!(spans.iter().all(|(seconds, text)| span(*seconds) == *text));
    }

    #[test]
    fn a_log_gets_every_step_some_changes_and_a_sign_of_life() {
        let mut pacer = Pacer::new(Duration::from_secs(10));
        let at = Duration::from_secs;
        let state = |what: &str| Told::State { what: what.to_owned() };
        let step = Told::Step { what: "the API".to_owned(), limit_seconds: 1200 };
        assert_eq!(pacer.lines(&step, at(0)), ["waiting up to 20m for the API"]);
        assert_eq!(pacer.lines(&state("a"), at(0)), ["a"]);
        assert_eq!(pacer.lines(&state("b"), at(1)), Vec::<String>::new());
        assert_eq!(pacer.due(at(9)), None);
        assert_eq!(pacer.due(at(10)), Some("b".to_owned()));
        assert_eq!(pacer.due(at(69)), None);
        assert_eq!(pacer.due(at(70)), Some("still: b".to_owned()));
        let done = Told::Done { what: "the API".to_owned(), seconds: 75 };
        assert_eq!(pacer.lines(&done, at(75)), ["the API: done after 1m15s"]);
        assert_eq!(pacer.due(at(500)), None);
    }
}
