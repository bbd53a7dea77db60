//! Who writes the same field again and again, and how rarely we answer.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

/// How long we wait before we write a field again that somebody changes back, by how often they did.
///
/// The first two are free: an administrator who undoes something twice is no fight. A controller that flips a field
/// every second costs five writes in the first ten minutes.
const DELAYS: [Duration; 6] = [
    Duration::ZERO,
    Duration::ZERO,
    Duration::from_secs(10),
    Duration::from_mins(1),
    Duration::from_mins(5),
    Duration::from_mins(20),
];
/// From how many rounds on it is called a fight.
const FIGHT: usize = 3;
/// After how long without a change a field is forgotten, beside the last delay.
const PEACE: Duration = Duration::from_mins(10);

/// What was seen of one field of one object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fight {
    /// How often somebody changed it after we wrote it.
    pub(crate) rounds: usize,
    /// When that was last.
    pub(crate) last: Instant,
    /// Who did it.
    pub(crate) manager: String,
}

/// All fields that somebody changed, by object and path.
#[derive(Debug, Default)]
pub(crate) struct Fights {
    fields: BTreeMap<(usize, String), Fight>,
}

// === impl Fights ===

impl Fights {
    /// Somebody changed fields of an object: when to write them again, and the field that decides it if it is a fight.
    pub(crate) fn changed(
        &mut self,
        object: usize,
        fields: &[String],
        manager: &str,
        now: Instant,
    ) -> (Instant, Option<(String, Fight)>) {
        let mut worst: Option<(String, Fight)> = None;
        for field in fields {
            let fight = self
                .fields
                .entry((object, field.clone()))
                .and_modify(|fight| {
                    if now.duration_since(fight.last) > delay(fight.rounds) + PEACE {
                        fight.rounds = 0;
                    }
                })
                .or_insert_with(|| Fight { rounds: 0, last: now, manager: String::new() });
            fight.rounds += 1;
            fight.last = now;
            manager.clone_into(&mut fight.manager);
            if worst.as_ref().is_none_or(|(_, other)| other.rounds < fight.rounds) {
                worst = Some((field.clone(), fight.clone()));
            }
        }
        let rounds = worst.as_ref().map_or(1, |(_, fight)| fight.rounds);
        (now + delay(rounds - 1), worst.filter(|(_, fight)| fight.rounds >= FIGHT))
    }

    /// The fights that are not over: object, path and what was seen.
    pub(crate) fn open(&self, now: Instant) -> impl Iterator<Item = (usize, &str, &Fight)> {
        self.fields
            .iter()
            .filter(move |(_, fight)| {
                fight.rounds >= FIGHT && now.duration_since(fight.last) <= delay(fight.rounds - 1) + PEACE
            })
            .map(|((object, field), fight)| (*object, field.as_str(), fight))
    }
}

fn delay(round: usize) -> Duration {
    DELAYS[round.min(DELAYS.len() - 1)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_field_that_flips_every_second_is_written_at_most_six_times_in_ten_minutes() {
        let (mut fights, begin) = (Fights::default(), Instant::now());
        let (mut writes, mut write_at, mut is_ours) = (0, None, true);
        for second in 0..600 {
            let now = begin + Duration::from_secs(second);
            if write_at.is_some_and(|at| at <= now) {
                (writes, write_at, is_ours) = (writes + 1, None, true);
            }
            if is_ours {
                is_ours = false;
                let (at, _) = fights.changed(0, &["spec.replicas".to_owned()], "flipper", now);
                write_at = Some(at);
            }
        }
        assert!(writes <= 5, "{writes}");
        let open: Vec<_> = fights.open(begin + Duration::from_mins(10)).collect();
        assert_eq!((open.len(), open[0].1, open[0].2.manager.as_str()), (1, "spec.replicas", "flipper"));
    }

    #[tokio::test]
    async fn two_edits_in_a_row_are_repaired_at_once_and_are_no_fight() {
        let (mut fights, now) = (Fights::default(), Instant::now());
        for _ in 0..2 {
            assert_eq!(fights.changed(0, &["data.a".to_owned()], "person", now), (now, None));
        }
        assert_eq!(fights.open(now).count(), 0);
    }

    #[tokio::test]
    async fn other_fields_of_the_same_object_are_other_stories() {
        let (mut fights, now) = (Fights::default(), Instant::now());
        for _ in 0..5 {
            fights.changed(0, &["a".to_owned()], "x", now);
        }
        assert_eq!(fights.changed(0, &["b".to_owned()], "x", now), (now, None));
        assert_eq!(fights.changed(1, &["a".to_owned()], "x", now), (now, None));
    }

    #[tokio::test]
    async fn a_fight_that_rested_long_enough_is_forgotten() {
        let (mut fights, now) = (Fights::default(), Instant::now());
        for _ in 0..3 {
            fights.changed(0, &["a".to_owned()], "x", now);
        }
        let later = now + delay(3) + PEACE + Duration::from_secs(1);
        assert_eq!(fights.changed(0, &["a".to_owned()], "x", later), (later, None));
    }
}
