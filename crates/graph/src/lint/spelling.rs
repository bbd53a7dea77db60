//! Words that were meant to be other words.

use lockstep_api::names::profile;

/// The known word that a word is a misspelling of; nothing for a known word and for one that is far from all.
pub(super) fn meant<'k>(word: &str, known: &[&'k str]) -> Option<&'k str> {
    if known.contains(&word) {
        return None;
    }
    let (distance, best) = known.iter().map(|one| (distance(word, one), *one)).min()?;
    // A quarter of a short word is already another word.
    let allowed = (best.chars().count() / 4).min(2);
    (distance <= allowed || best.eq_ignore_ascii_case(word)).then_some(best)
}

/// The cluster profile that a word is a misspelling of.
pub(super) fn meant_profile(word: &str) -> Option<&'static str> {
    meant(word, &profile::ALL)
}

/// How many letters must be put in, left out, replaced or swapped with their neighbour.
fn distance(one: &str, other: &str) -> usize {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    let mut rows: Vec<Vec<usize>> = vec![(0..=other.len()).collect()];
    for i in 1..=one.len() {
        let mut row = vec![i];
        for j in 1..=other.len() {
            let replaced = rows[i - 1][j - 1] + usize::from(one[i - 1] != other[j - 1]);
            let mut best = replaced.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && one[i - 1] == other[j - 2] && one[i - 2] == other[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[one.len()][other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_hand_is_recognised() {
        let ha = Some("self-managed-high-availability");
        for word in [
            "self-managed-high-availabilty",
            "self-manged-high-availability",
            "self-managed-high-avialability",
            "Self-Managed-High-Availability",
            "selfmanaged-highavailability",
        ] {
            assert_eq!(meant_profile(word), ha, "{word}");
        }
        assert_eq!(meant_profile("hypershfit"), Some("hypershift"));
    }

    #[test]
    fn a_known_word_and_another_word_are_no_slips() {
        for word in ["hypershift", "edge", "", "self-managed", "hyper-shifted"] {
            assert_eq!(meant_profile(word), None, "{word}");
        }
        assert_eq!(meant("OKE", &["OKD"]), None);
        assert_eq!(meant("okd", &["OKD"]), Some("OKD"));
    }
}
