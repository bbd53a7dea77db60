//! Randomness with a seed: the same seed gives the same names, uids and durations in every process.

/// A small generator (`SplitMix64`); for scripts and names, never for secrets.
#[derive(Clone, Debug)]
pub struct Rng(u64);

/// The letters of generated names: no vowels, so that no words appear.
const NAME_LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";

// === impl Rng ===

impl Rng {
    /// A generator for this seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A generator of its own for one purpose: what others draw does not change what this one gives.
    #[must_use]
    pub fn fork(&self, purpose: &str) -> Self {
        let mut hash = 0xcbf2_9ce4_8422_2325_u64 ^ self.0;
        for byte in purpose.bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        let mut fork = Self(hash);
        fork.next_u64();
        fork
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`; 0 when the bound is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        if bound == 0 { 0 } else { self.next_u64() % bound }
    }

    /// A number from 0 up to, but not including, 1.
    pub fn fraction(&mut self) -> f64 {
        #[allow(clippy::cast_precision_loss, reason = "53 bits fit")]
        let bits = (self.next_u64() >> 11) as f64;
        bits / 9_007_199_254_740_992.0
    }

    /// A uid in the form of a random UUID.
    pub fn uid(&mut self) -> String {
        let (a, b) = (self.next_u64(), self.next_u64());
        format!(
            "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
            a >> 32,
            (a >> 16) & 0xffff,
            a & 0x0fff,
            0x8000 | (b >> 48) & 0x3fff,
            b & 0xffff_ffff_ffff
        )
    }

    /// The five letters after a `generateName`.
    pub fn name_suffix(&mut self) -> String {
        (0..5)
            .map(|_| {
                let index = usize::try_from(self.below(NAME_LETTERS.len() as u64)).unwrap_or_default();
                char::from(NAME_LETTERS[index])
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_seed_gives_one_sequence_and_another_seed_another() {
        let draw = |seed| (0..4).map(|_| Rng::new(seed).next_u64()).collect::<Vec<_>>();
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
    }

    #[test]
    fn a_fork_depends_on_its_purpose_and_not_on_what_others_drew() {
        let root = Rng::new(1);
        let noisy = root.clone();
        noisy.fork("x").next_u64();
        assert_eq!(root.fork("a").uid(), noisy.fork("a").uid());
        assert_ne!(root.fork("a").uid(), root.fork("b").uid());
    }

    #[test]
    fn a_uid_has_the_form_of_a_random_uuid() {
        let uid = Rng::new(3).uid();
        let lengths: Vec<usize> = uid.split('-').map(str::len).collect();
        assert_eq!(lengths, [8, 4, 4, 4, 12]);
        assert_eq!(uid.as_bytes()[14], b'4');
    }

    #[test]
    fn fractions_stay_below_one() {
        let mut rng = Rng::new(5);
        assert!((0..1000).map(|_| rng.fraction()).all(|x| (0.0..1.0).contains(&x)));
    }
}
