//! Random choices from a seed.

use lockstep_lab::Rng;

/// Draws for one purpose; the same seed and purpose give the same ones.
pub(crate) struct Draw(Rng);

// === impl Draw ===

impl Draw {
    pub(crate) fn new(seed: u64, purpose: &str) -> Self {
        Self(Rng::new(seed).fork(purpose))
    }

    /// Whether something happens that happens in so many of 100 cases.
    pub(crate) fn percent(&mut self, chance: u64) -> bool {
        self.0.below(100) < chance
    }

    /// A number from a range, both ends included.
    pub(crate) fn between(&mut self, from: u64, to: u64) -> u64 {
        from + self.0.below(to.saturating_sub(from) + 1)
    }

    /// The same as a size.
    pub(crate) fn size(&mut self, from: usize, to: usize) -> usize {
        usize::try_from(self.between(from as u64, to as u64)).unwrap_or(to)
    }

    /// One of several.
    pub(crate) fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        let last = from.len().saturating_sub(1);
        &from[self.size(0, last)]
    }
}
