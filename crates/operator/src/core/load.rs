//! Getting a release, and whether it is used.

use lockstep_api::names::reason;
use lockstep_graph::report::{Change, Failure, Loaded, Phase, initial_mode};
use lockstep_payload::retrieval::Desired;
use lockstep_release::platform::host_architecture;
use lockstep_updates::precondition::{Decision, check, decide};
use lockstep_updates::request::Wanted;
use tokio::time::{Duration, Instant};

use super::{Core, Got, LOADED, Loading, Purpose, Refused, about, of_metadata};
use crate::asked::{Asked, Choice, access};
use crate::notice::Tone;
use crate::retrieve::{LoadFailure, Retrieved};

/// First and longest pause before a release that could not be got is tried again.
const PAUSE: (Duration, Duration) = (Duration::from_secs(10), Duration::from_mins(5));

// === impl Core ===

impl Core {
    /// Begins to get a release.
    pub(super) fn begin_load(&mut self, purpose: Purpose) {
        let accepted = self.accepted.as_ref().map(|accepted| accepted.release.clone()).unwrap_or_default();
        let (desired, version) = match &purpose {
            Purpose::Target(wanted) => (of(wanted), wanted.release.version.clone()),
            // It was accepted before: nobody has to insist on it again.
            Purpose::Resume(wanted) => {
                (Desired { force: true, ..of(wanted) }, wanted.release.version.clone())
            }
            Purpose::Again => {
                (Desired { image: accepted.image.clone(), force: true }, accepted.version.clone())
            }
        };
        let about = about(&version, &desired.image);
        if matches!(purpose, Purpose::Target(_)) {
            let message = format!("Retrieving and verifying payload {about}");
            self.tell(Tone::Normal, reason::RETRIEVE_PAYLOAD, &message);
            self.loaded = Loaded {
                step: reason::RETRIEVE_PAYLOAD,
                message,
                failure: None,
                ..std::mem::take(&mut self.loaded)
            };
        }
        // What an update enables implicitly depends on what is left for it.
        let left =
            (matches!(purpose, Purpose::Target(_)) && !accepted.image.is_empty()).then_some(accepted.image);
        let (retriever, access) = (self.retriever.clone(), access(&self.world));
        let image = desired.image.clone();
        let future = Box::pin(async move {
            let next = retriever.retrieve(&desired, &version, access.clone()).await?;
            let current = match left {
                Some(image) => {
                    let left = Desired { image, force: true };
                    retriever.retrieve(&left, "", access).await.ok().map(|got| got.release)
                }
                None => None,
            };
            Ok(Got { next, current })
        });
        self.again_at = None;
        self.loading = Some(Loading { purpose, image, future });
    }

    /// A release was got, or not.
    pub(super) fn on_got(&mut self, (purpose, image, got): (Purpose, String, Result<Got, LoadFailure>)) {
        let Some(asked) = self.asked() else { return };
        let outcome = got.and_then(|got| self.take(&asked, &purpose, &image, got));
        match (outcome, purpose) {
            (Ok(()), _) => self.refused = None,
            (Err(failure), Purpose::Target(wanted) | Purpose::Resume(wanted)) => {
                self.refuse(&wanted, failure, None);
            }
            (Err(failure), Purpose::Again) => {
                tracing::error!(
                    "planning {image} anew: {}; the plan that is under way stays",
                    failure.message
                );
                self.again_at = Some(Instant::now() + PAUSE.0);
            }
        }
    }

    /// Uses a release, unless something speaks against it.
    fn take(&mut self, asked: &Asked, purpose: &Purpose, image: &str, got: Got) -> Result<(), LoadFailure> {
        let Got { mut next, current } = got;
        let found = next.release.metadata.version.to_string();
        if let Purpose::Target(wanted) = purpose {
            let about = about(&found, image);
            self.tell(Tone::Normal, reason::LOAD_PAYLOAD, format!("Loading payload {about}"));
            let expected = &wanted.release.version;
            if !expected.is_empty() && *expected != found {
                return Err(LoadFailure {
                    step: reason::VERIFY_PAYLOAD_VERSION,
                    reason: reason::UPDATE_PAYLOAD_INTEGRITY,
                    message: format!(
                        "release image version {found} does not match the expected upstream version {expected}"
                    ),
                });
            }
            if !next.is_local {
                match decide(&check(&asked.version, &found), wanted.force) {
                    Decision::Refused(why) => {
                        let failure = LoadFailure {
                            step: reason::PRECONDITION_CHECKS,
                            reason: reason::UPGRADE_PRECONDITION_CHECK_FAILED,
                            message: why,
                        };
                        self.refuse(wanted, failure, Some(found));
                        return Ok(());
                    }
                    Decision::Accepted { risks } => {
                        if !risks.is_empty() {
                            let text = format!("precondition warning for payload loaded {about}: {risks}");
                            self.tell(Tone::Warning, reason::PRECONDITION_WARN, text);
                            let parts = [std::mem::take(&mut next.risks), risks];
                            let parts = parts.into_iter().filter(|part| !part.is_empty());
                            next.risks = parts.collect::<Vec<_>>().join("\n");
                        }
                        let text = format!("preconditions passed for payload loaded {about}");
                        self.tell(Tone::Normal, reason::PRECONDITIONS_PASSED, text);
                    }
                }
            }
        }
        self.use_release(asked, purpose, image, next, current.as_ref())
    }

    /// Plans a release and begins with it.
    fn use_release(
        &mut self,
        asked: &Asked,
        purpose: &Purpose,
        image: &str,
        got: Retrieved,
        left: Option<&lockstep_payload::Release>,
    ) -> Result<(), LoadFailure> {
        let Retrieved { release, is_local, risks } = got;
        let found = release.metadata.version.to_string();
        let choice = Choice::read(&self.world, asked, &self.settings, &found, &self.had);
        let mut choice = choice.map_err(|error| LoadFailure {
            step: reason::LOAD_PAYLOAD,
            reason: reason::UPDATE_PAYLOAD_INTEGRITY,
            message: error.to_string(),
        })?;
        if let Some(left) = left {
            let selection = choice.selection(&self.settings, release.major_version());
            let implied =
                choice.capabilities.implied_by_update(&left.manifests, &release.manifests, &selection);
            choice.capabilities = choice.capabilities.with_implicit(implied);
        }
        self.had.extend(choice.capabilities.enabled.iter().cloned());
        self.phase = self.next_phase(asked, purpose, &choice, image);
        let metadata = of_metadata(&release.metadata, image);
        if *purpose != Purpose::Again {
            let architecture = architecture(&release);
            let about = about(&found, image);
            let message = format!("Payload loaded {about} architecture={architecture:?}");
            self.tell(Tone::Normal, LOADED, &message);
            self.loaded = Loaded {
                step: LOADED,
                message,
                failure: None,
                image: image.to_owned(),
                accepted_risks: risks,
                // What was accepted when the cluster was brought here stays accepted.
                is_local: is_local || matches!(purpose, Purpose::Resume(_)),
                ..Loaded::default()
            };
        }
        self.loaded.capabilities = choice.capabilities.clone();
        self.loaded.feature_gates.clone_from(&choice.gates.enabled);
        self.begin_work(&release, metadata, choice);
        Ok(())
    }

    fn next_phase(&self, asked: &Asked, purpose: &Purpose, choice: &Choice, image: &str) -> Phase {
        let Some(accepted) = &self.accepted else {
            return Phase::new(initial_mode(&asked.version.status.history, image));
        };
        let (before, after) = (accepted.choice.target(image, false), choice.target(image, false));
        let change = Change { release: *purpose != Purpose::Again, ..before.change_to(&after) };
        self.phase.after_change(change).0
    }

    /// Says why a release is not used. The one that is worked on goes on.
    fn refuse(&mut self, wanted: &Wanted, failure: LoadFailure, version: Option<String>) {
        let about = about(version.as_deref().unwrap_or(&wanted.release.version), &wanted.release.image);
        let LoadFailure { step, reason, message } = failure;
        let (event, text) = match step {
            reason::LOAD_PAYLOAD => {
                (reason::LOAD_PAYLOAD_FAILED, format!("Loading payload failed {about} failure={message}"))
            }
            reason::VERIFY_PAYLOAD_VERSION => (
                reason::VERIFY_PAYLOAD_VERSION_FAILED,
                format!("Verifying payload failed {about} failure={message}"),
            ),
            reason::PRECONDITION_CHECKS => (
                reason::PRECONDITION_BLOCK,
                format!("Preconditions failed for payload loaded {about}: {message}"),
            ),
            _ => (
                reason::RETRIEVE_PAYLOAD_FAILED,
                format!("Retrieving payload failed {about} failure={message}"),
            ),
        };
        self.tell(Tone::Warning, event, &text);
        self.host.metrics.load_failed(step);
        self.loaded = Loaded {
            step,
            failure: Some(Failure::new(reason, &text)),
            message: text,
            ..std::mem::take(&mut self.loaded)
        };
        let failures = match &self.refused {
            Some(before) if before.wanted == *wanted => before.failures + 1,
            _ => 0,
        };
        let pause = PAUSE.0.saturating_mul(1 << failures.min(8)).min(PAUSE.1);
        self.refused = Some(Refused {
            wanted: wanted.clone(),
            version,
            failures,
            retry_at: Instant::now() + pause,
            access: access(&self.world),
        });
    }
}

fn of(wanted: &Wanted) -> Desired {
    Desired { image: wanted.release.image.clone(), force: wanted.force }
}

/// The architecture of a release as its load is told.
fn architecture(release: &lockstep_payload::Release) -> String {
    if release.metadata.multi_architecture {
        return lockstep_api::ARCHITECTURE_MULTI.to_owned();
    }
    host_architecture().to_owned()
}
