//! Moments and durations of a run as people read them.

use std::time::Duration;

use super::{Eta, Seconds};

/// A duration: `0.4s`, `45s`, `2m10s`, `1h05m`.
pub fn span(seconds: Seconds) -> String {
    // Rounded first, or 9.96 would be shown as `10.0s`.
    if (seconds * 10.0).round() < 100.0 {
        return format!("{:.1}s", seconds.max(0.0));
    }
    let whole = whole(seconds);
    let (hours, minutes, rest) = (whole / 3600, whole / 60 % 60, whole % 60);
    match (hours, minutes) {
        (0, 0) => format!("{rest}s"),
        (0, _) => format!("{minutes}m{rest:02}s"),
        _ => format!("{hours}h{minutes:02}m"),
    }
}

/// A moment since the beginning: `00:07`, `12:31`, `1:02:03`.
pub fn clock(seconds: Seconds) -> String {
    let whole = whole(seconds);
    let (hours, minutes, rest) = (whole / 3600, whole / 60 % 60, whole % 60);
    if hours == 0 { format!("{minutes:02}:{rest:02}") } else { format!("{hours}:{minutes:02}:{rest:02}") }
}

/// How long it still takes, as an interval in a unit that fits: `20–45 s`, `4–7 min`, `1–2 h`.
pub fn left(eta: Eta, now: Seconds) -> String {
    let (from, to) = ((eta.from - now).max(0.0), (eta.to - now).max(0.0));
    let (unit, name) = match to {
        to if to < 150.0 => (1.0, "s"),
        to if to < 150.0 * 60.0 => (60.0, "min"),
        _ => (3600.0, "h"),
    };
    // Outwards, so that the shown interval holds the true one.
    let (from, to) = ((from / unit).floor(), (to / unit).ceil());
    if from < to { format!("{from:.0}–{to:.0} {name}") } else { format!("{to:.0} {name}") }
}

/// `1 retry`, `2 writes`.
pub(super) fn counted(n: usize, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

/// Whole seconds; what is negative or no number is 0.
fn whole(seconds: Seconds) -> u64 {
    Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or_default().as_secs()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_take_the_unit_that_fits() {
        let table = [
            (-1.0, "0.0s"),
            (0.04, "0.0s"),
            (0.42, "0.4s"),
            (9.94, "9.9s"),
            (9.96, "9s"),
            (45.9, "45s"),
            (60.0, "1m00s"),
            (130.0, "2m10s"),
            (3900.0, "1h05m"),
            (f64::NAN, "0s"),
        ];
        for (seconds, text) in table {
            assert_eq!(span(seconds), text, "{seconds}");
        }
    }

    #[test]
    fn moments_count_from_the_beginning() {
        assert_eq!([clock(7.9), clock(751.0), clock(3723.0)], ["00:07", "12:31", "1:02:03"]);
    }

    #[test]
    fn an_interval_is_rounded_outwards_in_one_unit() {
        let table = [
            (10.0, 30.5, 50.2, "20–41 s"),
            (0.0, 250.0, 410.0, "4–7 min"),
            (0.0, 4000.0, 10000.0, "1–3 h"),
            (100.0, 90.0, 95.0, "0 s"),
        ];
        for (now, from, to, text) in table {
            assert_eq!(left(Eta { from, to }, now), text);
        }
    }
}
