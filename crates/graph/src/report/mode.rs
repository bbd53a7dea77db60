//! For what a release is applied, and what changes that.

use std::collections::BTreeSet;

use serde::Serialize;

pub use lockstep_api::same_image;
use lockstep_api::{Override, UpdateHistory, UpdateState};

use crate::order::Mode;

/// Where the work on a release stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Phase {
    /// For what the release is applied.
    pub mode: Mode,
    /// Successful runs in a row.
    pub completed: usize,
    /// Failed runs since the last success or change.
    pub attempt: usize,
}

/// What the cluster is to be brought to; a difference in any part is a reason to run again.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Target {
    /// Pull spec of the release image, as written.
    pub image: String,
    /// Whether the administrator insists.
    pub force: bool,
    /// Objects that are left alone.
    pub overrides: Vec<Override>,
    /// The enabled capabilities.
    pub capabilities: BTreeSet<String>,
    /// The enabled feature gates.
    pub feature_gates: BTreeSet<String>,
}

/// What differs between two targets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Change {
    /// Another release, or the insistence on it.
    pub release: bool,
    /// Another choice of its manifests: overrides, capabilities or feature gates.
    pub selection: bool,
}

/// The mode of the first run, from the history of the cluster.
pub fn initial_mode(history: &[UpdateHistory], desired_image: &str) -> Mode {
    let is_completed = |entry: &UpdateHistory| entry.state == UpdateState::Completed;
    match history.first() {
        _ if !history.iter().any(is_completed) => Mode::Installing,
        Some(newest) if is_completed(newest) && newest.image == desired_image => Mode::Reconciling,
        _ => Mode::Updating,
    }
}

// === impl Phase ===

impl Phase {
    /// The start of the work in a mode.
    pub fn new(mode: Mode) -> Self {
        Self { mode, completed: 0, attempt: 0 }
    }

    /// After a run that applied everything.
    #[must_use]
    pub fn after_success(self) -> Self {
        Self { mode: Mode::Reconciling, completed: self.completed + 1, attempt: 0 }
    }

    /// After a run that did not.
    #[must_use]
    pub fn after_failure(self) -> Self {
        Self { completed: 0, attempt: self.attempt + 1, ..self }
    }

    /// After a change of the target, and what of the change is followed; no change leaves everything as it is.
    ///
    /// *Compatibility*: a cluster that is being installed does not change to another release. The reference lets one
    /// pass when something else changes at the same moment; here it is never followed.
    #[must_use]
    pub fn after_change(self, change: Change) -> (Self, Change) {
        if self.mode == Mode::Installing {
            return (self, Change { release: false, ..change });
        }
        if change == Change::default() {
            return (self, change);
        }
        (Self { mode: Mode::Updating, attempt: 0, ..self }, change)
    }
}

// === impl Target ===

impl Target {
    /// What differs from another target.
    ///
    /// *Compatibility*: images are compared as text; another registry with the same digest is a change.
    pub fn change_to(&self, other: &Self) -> Change {
        Change {
            release: (&self.image, self.force) != (&other.image, other.force),
            selection: self.overrides != other.overrides
                || self.capabilities != other.capabilities
                || self.feature_gates != other.feature_gates,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const NOTHING: Change = Change { release: false, selection: false };
    const RELEASE: Change = Change { release: true, selection: false };
    const SELECTION: Change = Change { release: false, selection: true };
    const BOTH: Change = Change { release: true, selection: true };

    fn history(entries: &[(&str, &str)]) -> Vec<UpdateHistory> {
        let entry = |(state, image): &(&str, &str)| {
            let entry = json!({"state": state, "image": image, "startedTime": "2026-01-01T00:00:00Z"});
            serde_json::from_value(entry).unwrap()
        };
        entries.iter().map(entry).collect()
    }

    fn a_target() -> Target {
        Target { image: "a.example.com/release@sha256:1".to_owned(), ..Target::default() }
    }

    #[test]
    fn initial_modes_of_the_specification() {
        let cases: [(&[(&str, &str)], Mode); 5] = [
            (&[], Mode::Installing),
            (&[("Partial", "image:1")], Mode::Installing),
            (&[("Partial", "image:1"), ("Completed", "image:0")], Mode::Updating),
            (&[("Completed", "image:1")], Mode::Reconciling),
            (&[("Completed", "image:0")], Mode::Updating),
        ];
        for (entries, expected) in cases {
            assert_eq!(initial_mode(&history(entries), "image:1"), expected, "{entries:?}");
        }
    }

    #[test]
    fn an_interrupted_return_to_the_completed_release_is_an_update() {
        let entries = history(&[("Partial", "image:0"), ("Completed", "image:1")]);
        assert_eq!(initial_mode(&entries, "image:1"), Mode::Updating);
    }

    #[test]
    fn success_and_failure_move_the_counters() {
        let start = Phase { mode: Mode::Updating, completed: 0, attempt: 3 };
        let done = start.after_success();
        assert_eq!(done, Phase { mode: Mode::Reconciling, completed: 1, attempt: 0 });
        assert_eq!(done.after_success().completed, 2);
        assert_eq!(
            done.after_success().after_failure(),
            Phase { mode: Mode::Reconciling, completed: 0, attempt: 1 }
        );
        assert_eq!(start.after_failure(), Phase { attempt: 4, ..start });
    }

    #[test]
    fn a_change_starts_an_update_unless_the_cluster_is_being_installed() {
        for mode in [Mode::Updating, Mode::Reconciling] {
            let phase = Phase { mode, completed: 2, attempt: 5 };
            for change in [RELEASE, SELECTION, BOTH] {
                let updating = Phase { mode: Mode::Updating, completed: 2, attempt: 0 };
                assert_eq!(phase.after_change(change), (updating, change));
            }
            assert_eq!(phase.after_change(NOTHING), (phase, NOTHING));
        }
        let installing = Phase { attempt: 1, ..Phase::new(Mode::Installing) };
        assert_eq!(installing.after_change(RELEASE), (installing, NOTHING), "a new release is ignored");
        assert_eq!(installing.after_change(SELECTION), (installing, SELECTION), "the rest is passed on");
        assert_eq!(installing.after_change(BOTH), (installing, SELECTION));
    }

    #[test]
    fn any_part_of_the_target_is_a_change_and_the_image_counts_as_text() {
        let set = |name: &str| BTreeSet::from([name.to_owned()]);
        let cases = [
            (a_target(), NOTHING),
            (Target { image: "b.example.com/release@sha256:1".to_owned(), ..a_target() }, RELEASE),
            (Target { force: true, ..a_target() }, RELEASE),
            (Target { overrides: vec![Override::default()], ..a_target() }, SELECTION),
            (Target { capabilities: set("Console"), ..a_target() }, SELECTION),
            (Target { feature_gates: set("Gate"), force: true, ..a_target() }, BOTH),
        ];
        for (other, expected) in cases {
            assert_eq!(a_target().change_to(&other), expected, "{other:?}");
        }
    }
}
