//! What has to begin, or to end, because of what is known now.

use lockstep_api::Release;
use lockstep_graph::Mode;
use lockstep_graph::report::Loaded;
use lockstep_updates::precondition::{Decision, check, decide};
use lockstep_updates::request::Wanted;
use tokio::time::Instant;

use super::{Core, LOADED, Loading, Purpose, Refused, about};
use crate::asked::{Asked, Choice, access};

// === impl Core ===

impl Core {
    /// Looks at what is asked, and begins what is missing for it.
    pub(super) fn decide(&mut self) {
        let Some(asked) = self.asked() else {
            self.tell_missing();
            return;
        };
        self.is_missing_told = false;
        self.pause(asked.is_paused);
        if self.is_leaving {
            return;
        }
        let Some(accepted) = &self.accepted else {
            self.begin_first(&asked);
            return;
        };
        let is_there = accepted.release.image == asked.wanted.release.image;
        if !is_there {
            self.consider(&asked);
            return;
        }
        // What was asked for in between is no longer.
        self.refused = None;
        if self.loading.as_ref().is_some_and(|loading| loading.purpose != Purpose::Again) {
            self.loading = None;
        }
        self.forget_other_load();
        self.plan_again_if_needed(&asked);
    }

    /// Nothing is worked on yet: a cluster that was brought to a release goes on with that one.
    fn begin_first(&mut self, asked: &Asked) {
        let first = asked.first(&self.own);
        if self.loading.is_some() || self.is_too_early(&first) {
            return;
        }
        let is_at_it =
            asked.version.status.history.first().is_some_and(|newest| newest.image == first.release.image);
        let purpose = if is_at_it || first.is_own { Purpose::Resume(first) } else { Purpose::Target(first) };
        self.begin_load(purpose);
    }

    /// Another release is asked for.
    fn consider(&mut self, asked: &Asked) {
        let wanted = &asked.wanted;
        let is_for_it = |loading: &Loading| loading.purpose == Purpose::Target(wanted.clone());
        if self.loading.as_ref().is_some_and(is_for_it) {
            return;
        }
        if self.phase.mode == Mode::Installing || asked.is_paused {
            // It is taken up when the installation is complete, or when the pause is over.
            self.plan_again_if_needed(asked);
            return;
        }
        if let Some(refused) = self.refused.as_ref().filter(|refused| refused.wanted == *wanted) {
            let is_allowed_now = refused.version.as_ref().is_some_and(|version| {
                matches!(decide(&check(&asked.version, version), wanted.force), Decision::Accepted { .. })
            });
            let is_due = match refused.version {
                // Time does not change preconditions: what they look at does.
                Some(_) => is_allowed_now,
                None => Instant::now() >= refused.retry_at || refused.access != access(&self.world),
            };
            if !is_due {
                self.plan_again_if_needed(asked);
                return;
            }
        }
        self.begin_load(Purpose::Target(wanted.clone()));
    }

    fn is_too_early(&self, wanted: &Wanted) -> bool {
        let is_early = |refused: &Refused| Instant::now() < refused.retry_at && refused.wanted == *wanted;
        self.refused
            .as_ref()
            .is_some_and(|refused| is_early(refused) && refused.access == access(&self.world))
    }

    /// The release stays, and how its manifests are chosen or completed may have changed.
    fn plan_again_if_needed(&mut self, asked: &Asked) {
        if self.loading.as_ref().is_some_and(|loading| loading.purpose == Purpose::Again) {
            return;
        }
        let Some(accepted) = &self.accepted else { return };
        let is_due = self.again_at.is_some_and(|at| Instant::now() >= at);
        let choice = Choice::read(&self.world, asked, &self.settings, &accepted.release.version, &self.had);
        match choice {
            Ok(choice) if choice == accepted.choice && !is_due => {}
            Ok(_) => self.begin_load(Purpose::Again),
            Err(error) => tracing::error!("{error}; what the cluster said before stays in use"),
        }
    }

    /// The last load was for a release that is no longer asked for.
    fn forget_other_load(&mut self) {
        if self.loaded.step == LOADED {
            return;
        }
        if let Some(accepted) = &self.accepted {
            let Release { version, image, .. } = &accepted.release;
            let message = format!("Payload loaded {}", about(version, image));
            self.loaded = Loaded { step: LOADED, message, failure: None, ..std::mem::take(&mut self.loaded) };
        }
    }

    /// A release that is only kept has nothing new to start: all of that is repair.
    fn pause(&self, is_paused: bool) {
        let is_paused = is_paused && self.phase.mode != Mode::Reconciling;
        if let Some(work) = &self.work {
            work.pause.send_if_modified(|before| std::mem::replace(before, is_paused) != is_paused);
        }
    }

    fn tell_missing(&mut self) {
        if self.world.is_known() && !self.is_missing_told {
            self.is_missing_told = true;
            tracing::warn!("there is no ClusterVersion version (or it cannot be read); waiting for it");
        }
    }
}
