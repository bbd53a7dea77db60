//! Pauses that grow, with randomness from a seed.

use std::time::Duration;

/// The shortest pause.
const FIRST: Duration = Duration::from_millis(200);
/// The longest pause.
const LONGEST: Duration = Duration::from_secs(30);

/// How long to wait after each failure: twice as long every time, between the whole and the half of that.
#[derive(Debug, Clone)]
pub struct Backoff {
    failures: u32,
    /// The state of a small generator (`SplitMix64`).
    random: u64,
}

// === impl Backoff ===

impl Backoff {
    /// Pauses for one purpose: what others draw from the same seed does not change these.
    pub fn new(seed: u64, purpose: &str) -> Self {
        let mut hash = 0xcbf2_9ce4_8422_2325_u64 ^ seed;
        for byte in purpose.bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        let mut backoff = Self { failures: 0, random: hash };
        backoff.draw();
        backoff
    }

    /// The pause after one more failure.
    #[expect(clippy::should_implement_trait, reason = "it has no end, so it is no iterator")]
    pub fn next(&mut self) -> Duration {
        // 2^8 times the first is more than the longest.
        let whole = FIRST.saturating_mul(1 << self.failures.min(8)).min(LONGEST);
        self.failures = self.failures.saturating_add(1);
        let half = whole / 2;
        half + Duration::from_millis(self.below(u64::try_from(half.as_millis()).unwrap_or(u64::MAX) + 1))
    }

    /// It worked: the next pause is a short one again.
    pub fn reset(&mut self) {
        self.failures = 0;
    }

    /// Whether nothing has failed since it last worked.
    pub fn is_fresh(&self) -> bool {
        self.failures == 0
    }

    /// A number from one to another, both possible.
    pub fn between(&mut self, from: u64, to: u64) -> u64 {
        from + self.below(to.saturating_sub(from) + 1)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.draw() % bound.max(1)
    }

    fn draw(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_the_longest_and_start_again_after_success() {
        let mut backoff = Backoff::new(1, "a");
        let pauses: Vec<Duration> = (0..40).map(|_| backoff.next()).collect();
        for (failures, pause) in pauses.iter().enumerate() {
            let whole = FIRST.saturating_mul(1 << failures.min(20)).min(LONGEST);
            assert!(*pause >= whole / 2 && *pause <= whole, "{failures}: {pause:?}");
        }
        backoff.reset();
        assert!(backoff.is_fresh() && backoff.next() <= FIRST);
    }

    #[test]
    fn one_seed_gives_the_same_pauses_and_another_purpose_others() {
        let draw = |seed, purpose: &str| {
            let mut backoff = Backoff::new(seed, purpose);
            (0..5).map(|_| backoff.next()).collect::<Vec<_>>()
        };
        assert_eq!(draw(1, "a"), draw(1, "a"));
        assert_ne!(draw(1, "a"), draw(1, "b"));
        assert_ne!(draw(1, "a"), draw(2, "a"));
    }

    #[test]
    fn a_number_between_two_can_be_both() {
        let mut backoff = Backoff::new(3, "x");
        let drawn: std::collections::BTreeSet<u64> = (0..100).map(|_| backoff.between(4, 6)).collect();
        assert_eq!(drawn.into_iter().collect::<Vec<_>>(), [4, 5, 6]);
    }
}
