//! Durations as people who know `oc adm upgrade status` read them.

use jiff::Timestamp;

/// Whole seconds; negative when something is overdue.
pub type Seconds = i64;

/// Seconds of a minute.
pub(crate) const MINUTE: Seconds = 60;

/// From one moment to another, cut to whole seconds.
pub fn between(from: Timestamp, until: Timestamp) -> Seconds {
    until.duration_since(from).as_secs()
}

/// A duration in as few parts as it needs: `1h59m`, `7m3s`, `59m`, and `now` for nothing.
pub fn short(seconds: Seconds) -> String {
    if seconds == 0 {
        return "now".to_owned();
    }
    let sign = if seconds < 0 { "-" } else { "" };
    let all = seconds.unsigned_abs();
    let (hours, minutes, rest) = (all / 3600, all / 60 % 60, all % 60);
    let text = match (hours, minutes, rest) {
        (0, 0, rest) => format!("{rest}s"),
        (0, minutes, 0) => format!("{minutes}m"),
        (0, minutes, rest) => format!("{minutes}m{rest}s"),
        (hours, 0, 0) => format!("{hours}h"),
        (hours, minutes, 0) => format!("{hours}h{minutes}m"),
        (hours, minutes, rest) => format!("{hours}h{minutes}m{rest}s"),
    };
    format!("{sign}{text}")
}

/// To whole minutes above ten of them, half away from zero; shorter ones stay as they are.
pub fn rounded(seconds: Seconds) -> Seconds {
    if seconds <= 10 * MINUTE { seconds } else { (seconds + MINUTE / 2) / MINUTE * MINUTE }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_that_are_nothing_are_left_out() {
        for (seconds, text) in [
            (0, "now"),
            (59, "59s"),
            (60, "1m"),
            (423, "7m3s"),
            (3540, "59m"),
            (3600, "1h"),
            (3605, "1h0m5s"),
            (7140, "1h59m"),
            (7145, "1h59m5s"),
            (-90, "-1m30s"),
        ] {
            assert_eq!(short(seconds), text);
        }
    }

    #[test]
    fn above_ten_minutes_whole_minutes_are_enough() {
        for (exact, round) in [(600, 600), (601, 600), (630, 660), (629, 600), (59, 59), (-2008, -2008)] {
            assert_eq!(rounded(exact), round, "{exact}");
        }
    }
}
