//! What is believed about how long steps take.
//!
//! The family is Weibull's: one number for the size (`scale`), one for the shape, closed forms for everything, and
//! both nearly even and far-reaching durations are in it. What is not known of the two is kept as a grid of
//! candidates, each with its weight after all that was seen.

use super::Seconds;

/// Before anything is seen: the shape. 1 would mean that an old step is as far from its end as a new one; operators
/// have a piece of work to do, so that they rather end about some age.
const SHAPE: f64 = 3.6;
/// How sure the expectation is: standard deviations of the logarithms of scale and shape, and their weight. Mostly
/// it is about right; where it is wrong, it is far off, and what is seen must win soon.
const SURE: Spread = Spread { scale: 0.2, shape: 0.1, weight: 0.95 };
const UNSURE: Spread = Spread { scale: 0.9, shape: 0.4, weight: 0.05 };
/// The grid: from the prior's middle this many steps to both sides, and how wide a step is in the logarithm.
const SCALE_STEPS: i32 = 45;
const SCALE_STEP: f64 = 0.06;
const SHAPE_STEPS: i32 = 12;
const SHAPE_STEP: f64 = 0.1;
/// The shortest duration that is reckoned with; a logarithm of 0 does not exist.
const SHORTEST: Seconds = 0.01;

/// How far off an expectation may be.
struct Spread {
    scale: f64,
    shape: f64,
    weight: f64,
}

/// A way in which durations may fall.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Durations {
    scale: Seconds,
    shape: f64,
}

/// Candidates with their weights; the weights sum to 1.
#[derive(Debug, Clone)]
pub(super) struct Belief {
    candidates: Vec<(Durations, f64)>,
}

/// Random numbers from a seed: the same forecast in every process.
#[derive(Debug, Clone)]
pub(super) struct Chance(u64);

// === impl Belief ===

impl Belief {
    /// What is believed after some steps took so long and others are open for so long, where a step was expected to
    /// take about `expected`.
    pub(super) fn learn(expected: Seconds, seen: &[Seconds], open: &[Seconds]) -> Self {
        let n = f64::from(u32::try_from(seen.len()).unwrap_or(u32::MAX));
        let sum_of_logs: f64 = seen.iter().map(|t| t.max(SHORTEST).ln()).sum();
        let mut candidates = Vec::new();
        for i in -SHAPE_STEPS..=SHAPE_STEPS {
            let log_shape = f64::from(i) * SHAPE_STEP;
            let shape = SHAPE * log_shape.exp();
            // One sum of powers per shape; dividing it by the scale gives the rest.
            let powers: f64 = seen.iter().chain(open).map(|t| (t.max(SHORTEST) / expected).powf(shape)).sum();
            for j in -SCALE_STEPS..=SCALE_STEPS {
                let log_scale = f64::from(j) * SCALE_STEP;
                let prior = SURE.density(log_scale, log_shape) + UNSURE.density(log_scale, log_shape);
                let logs = sum_of_logs - n * (expected.ln() + log_scale);
                let likelihood = n * (shape.ln() - expected.ln() - log_scale) + (shape - 1.0) * logs
                    - powers * (-shape * log_scale).exp();
                let scale = expected * log_scale.exp();
                candidates.push((Durations { scale, shape }, prior.ln() + likelihood));
            }
        }
        let best = candidates.iter().map(|(_, weight)| *weight).fold(f64::NEG_INFINITY, f64::max);
        for (_, weight) in &mut candidates {
            *weight = (*weight - best).exp();
        }
        let sum: f64 = candidates.iter().map(|(_, weight)| weight).sum();
        for (_, weight) in &mut candidates {
            *weight /= sum;
        }
        Self { candidates }
    }

    /// So many candidates, each as often as its weight says.
    pub(super) fn spread(&self, n: usize) -> impl Iterator<Item = Durations> {
        let step = 1.0 / f64::from(u32::try_from(n).unwrap_or(u32::MAX));
        let mut place = 0;
        let mut reached = self.candidates.first().map_or(1.0, |(_, weight)| *weight);
        (0..n).scan(step / 2.0, move |at, _| {
            while reached < *at && place + 1 < self.candidates.len() {
                place += 1;
                reached += self.candidates[place].1;
            }
            *at += step;
            Some(self.candidates[place].0)
        })
    }
}

// === impl Spread ===

impl Spread {
    /// The bell curve, up to a constant that is the same for all.
    fn density(&self, log_scale: f64, log_shape: f64) -> f64 {
        let square = (log_scale / self.scale).powi(2) + (log_shape / self.shape).powi(2);
        self.weight * (-0.5 * square).exp() / (self.scale * self.shape)
    }
}

// === impl Durations ===

impl Durations {
    /// How long a step takes.
    pub(super) fn draw(self, chance: &mut Chance) -> Seconds {
        self.rest(0.0, chance)
    }

    /// How much longer a step takes that is open for so long.
    pub(super) fn rest(self, age: Seconds, chance: &mut Chance) -> Seconds {
        // The hazard so far plus one that is drawn, turned back into an age.
        let hazard = (age / self.scale).powf(self.shape) - (1.0 - chance.fraction()).ln();
        (self.scale * hazard.powf(1.0 / self.shape) - age).max(0.0)
    }
}

// === impl Chance ===

impl Chance {
    /// A generator for this seed (`SplitMix64`).
    pub(super) fn new(seed: usize) -> Self {
        Self(u64::try_from(seed).unwrap_or_default())
    }

    /// A number from 0 up to, but not including, 1.
    pub(super) fn fraction(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        // The upper 32 bits are plenty for durations, and they fit without rounding.
        let upper = u32::try_from((z ^ (z >> 31)) >> 32).unwrap_or_default();
        f64::from(upper) / 4_294_967_296.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean(belief: &Belief) -> Seconds {
        let mut chance = Chance::new(1);
        belief.spread(4000).map(|durations| durations.draw(&mut chance)).sum::<f64>() / 4000.0
    }

    #[test]
    fn what_is_seen_moves_the_belief_away_from_the_prior() {
        let before = mean(&Belief::learn(115.0, &[], &[]));
        assert!((70.0..180.0).contains(&before), "{before}");
        let after = mean(&Belief::learn(115.0, &[9.0, 11.0, 10.0, 8.0, 12.0, 10.0, 10.0, 9.0], &[]));
        assert!((8.0..14.0).contains(&after), "{after}");
    }

    #[test]
    fn steps_that_are_still_open_make_the_belief_longer() {
        let seen = [40.0, 50.0, 60.0];
        let without = mean(&Belief::learn(115.0, &seen, &[]));
        let with = mean(&Belief::learn(115.0, &seen, &[100.0, 100.0, 100.0]));
        assert!(with > without + 20.0, "{with} {without}");
    }

    #[test]
    fn an_old_step_has_less_time_to_go_than_a_new_one_takes() {
        let durations = Durations { scale: 100.0, shape: 3.0 };
        let mut chance = Chance::new(2);
        let mut mean = |age: f64| (0..2000).map(|_| durations.rest(age, &mut chance)).sum::<f64>() / 2000.0;
        let (new, old) = (mean(0.0), mean(100.0));
        assert!(old > 1.0 && old < new / 2.0, "{old} {new}");
    }
}
