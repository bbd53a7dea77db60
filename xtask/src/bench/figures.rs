//! What a handful of numbers says.

use std::fmt;

use super::measure::median;

/// Whether a limit holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Holds,
    Broken,
    /// The numbers lie too far apart to say it.
    TooNoisy,
}

// === impl Verdict ===

impl Verdict {
    pub(super) fn of(holds: bool) -> Self {
        if holds { Self::Holds } else { Self::Broken }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Holds => "holds",
            Self::Broken => "DOES NOT HOLD",
            Self::TooNoisy => "NOT JUDGED: machine too noisy",
        })
    }
}

/// How far numbers lie apart: from the least to the most, as a part of their median.
pub(super) fn spread(numbers: &[f64]) -> f64 {
    let least = numbers.iter().copied().fold(f64::INFINITY, f64::min);
    let most = numbers.iter().copied().fold(0.0, f64::max);
    if numbers.is_empty() { 0.0 } else { (most - least) / median(numbers) }
}

/// The least number that so many in a hundred are not above; 0 without any.
pub(super) fn percentile(numbers: &[f64], percent: usize) -> f64 {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_percentile_is_one_of_the_numbers() {
        let numbers: Vec<f64> = (1..=200).rev().map(f64::from).collect();
        for (percent, expected) in [(1, 2.0), (50, 100.0), (99, 198.0), (100, 200.0)] {
            assert!((percentile(&numbers, percent) - expected).abs() < 1e-9, "{percent}");
        }
        assert!((percentile(&[7.0], 99) - 7.0).abs() < 1e-9);
        assert!(percentile(&[], 99).abs() < 1e-9);
    }

    #[test]
    fn the_spread_is_a_part_of_the_median() {
        assert!((spread(&[10.0, 12.0, 9.0]) - 0.3).abs() < 1e-9);
        assert!(spread(&[5.0]).abs() < 1e-9);
        assert!(spread(&[]).abs() < 1e-9);
    }
}
