//! The engine at work on a release, and what it tells.

use std::collections::BTreeMap;

use futures::future::BoxFuture;
use lockstep_api::names::{annotation, group, kind, object};
use lockstep_api::{Override, Release, ResourceId};
use lockstep_apply::engine::{self, Ending, Options, Plan, PlanOptions};
use lockstep_apply::progress::{Event, Happening};
use lockstep_apply::refusal::Refusal;
use lockstep_apply::server::Server;
use lockstep_graph::{Mode, TaskId};
use lockstep_payload::{Manifest, Selection};
use tokio::sync::{mpsc, watch};
use tokio::time::{Duration, Instant};

use super::{Accepted, Core};
use crate::asked::Choice;
use crate::gates::GateTask;
use crate::metrics::Pass;
use crate::notice::Tone;
use crate::settings::OwnDeployment;
use crate::tracker::Tracker;

/// First and longest pause before work that came to nothing is begun again.
const PAUSE: (Duration, Duration) = (Duration::from_secs(15), Duration::from_mins(4));

/// An engine at work. Dropping it ends every request.
pub(super) struct Work {
    engine: BoxFuture<'static, Result<Ending, Refusal>>,
    events: mpsc::UnboundedReceiver<Event>,
    pub(super) pause: watch::Sender<bool>,
    pub(super) tracker: Tracker,
    /// The Deployment of this operator's successor.
    successor: Option<TaskId>,
    is_complete: bool,
    /// How it ended without success, once it has.
    pub(super) ended: Option<String>,
}

/// What an engine tells.
pub(super) enum Told {
    Event(Box<Event>),
    Ended(Result<Ending, Refusal>),
}

// === impl Work ===

impl Work {
    /// What the engine tells next: all that is there.
    pub(super) async fn next(&mut self) -> Vec<Told> {
        if self.ended.is_some() {
            return std::future::pending().await;
        }
        let (mut told, mut ended) = (Vec::new(), None);
        tokio::select! {
            biased;
            Some(event) = self.events.recv() => told.push(Told::Event(Box::new(event))),
            ending = &mut self.engine => ended = Some(Told::Ended(ending)),
        }
        while let Ok(event) = self.events.try_recv() {
            told.push(Told::Event(Box::new(event)));
        }
        told.extend(ended);
        told
    }
}

async fn drive(
    server: Server,
    plan: Plan,
    options: Options,
    events: mpsc::UnboundedSender<Event>,
) -> Result<Ending, Refusal> {
    // Who listens goes away only together with this.
    engine::run(&server, &plan, &options, |event| drop(events.send(event))).await
}

// === impl Core ===

impl Core {
    /// Begins to work on a release; what was under way for another one ends.
    pub(super) fn begin_work(
        &mut self,
        release: &lockstep_payload::Release,
        metadata: Release,
        choice: Choice,
    ) {
        let mut selection = choice.selection(&self.settings, release.major_version());
        let version_hash = release.version_hash(&selection);
        let own = self.own_deployment(release, &selection);
        let mut remarks = Vec::new();
        if let Some((_, false)) = own
            && self.settings.own_deployment == OwnDeployment::Auto
        {
            remarks.push(self.leave_alone(&mut selection));
        }
        let options = PlanOptions {
            install_order: self.settings.install_order,
            facts: choice.facts.clone(),
            namespace: None,
        };
        let plan = Plan::new(release, &selection, self.phase.mode, &options);
        let texts: Vec<String> = plan.texts().collect();
        let gates: BTreeMap<TaskId, GateTask> = plan
            .gates()
            .map(|(task, expected)| (task, GateTask::new(texts[task].clone(), expected)))
            .collect();
        let is_other = metadata.image != self.settings.release_image;
        let successor = match own {
            Some((id, true)) if is_other => plan.task_of(&id),
            _ => None,
        };
        let (pause, is_paused) = watch::channel(false);
        let options = Options {
            timeout: None,
            hold: None,
            unprovided_after: self.settings.unprovided_after,
            pause: Some(is_paused),
            seed: self.settings.seed,
            ..Options::default()
        };
        let (sender, events) = mpsc::unbounded_channel();
        self.tell_beginning(&metadata.version);
        self.work = Some(Work {
            engine: Box::pin(drive(self.server.clone(), plan, options, sender)),
            events,
            pause,
            tracker: Tracker::new(texts, gates),
            successor,
            is_complete: false,
            ended: None,
        });
        self.accepted = Some(Accepted { release: metadata, choice, version_hash, remarks });
    }

    fn tell_beginning(&self, version: &str) {
        let (reason, verb) = match self.phase.mode {
            Mode::Installing => ("InstallStarted", "Installing"),
            Mode::Updating => ("UpdateStarted", "Updating to"),
            // Nothing starts: the cluster is where it should be.
            Mode::Reconciling => return,
        };
        self.tell(Tone::Normal, reason, format!("{verb} {version}"));
    }

    /// The Deployment `cluster-version-operator` of a release, and whether it runs this operator.
    fn own_deployment(
        &self,
        release: &lockstep_payload::Release,
        selection: &Selection,
    ) -> Option<(ResourceId, bool)> {
        let id = self.deployment_id();
        let found = release.selected(selection).find(|manifest| manifest.id == id)?;
        let is_ours = |manifest: &Manifest| manifest.annotation(annotation::OPERATOR) == Some("true");
        Some((id, is_ours(found)))
    }

    fn deployment_id(&self) -> ResourceId {
        let namespace = &self.settings.namespace;
        ResourceId::new(group::APPS, kind::DEPLOYMENT, namespace, object::CLUSTER_VERSION_OPERATOR)
    }

    /// The release brings another operator, which would take the cluster over: its Deployment is left out.
    fn leave_alone(&self, selection: &mut Selection) -> String {
        let ResourceId { group, kind, namespace, name } = self.deployment_id();
        let text = format!(
            "{kind} {namespace}/{name} of the release runs another operator and is left alone (`--own-deployment apply` \
             applies it)"
        );
        selection.overrides.push(Override {
            group,
            kind,
            namespace,
            name,
            unmanaged: true,
            ..Override::default()
        });
        self.tell(Tone::Warning, "OperatorDeploymentSkipped", &text);
        text
    }

    pub(super) fn on_told(&mut self, told: Vec<Told>) {
        for told in told {
            match told {
                Told::Event(event) => self.on_event(&event),
                Told::Ended(ending) => self.on_ended(ending),
            }
        }
        if let (Some(work), Some(accepted)) = (&self.work, &self.accepted) {
            let pass = Pass {
                version: accepted.release.version.clone(),
                done: work.tracker.done(),
                total: work.tracker.total(),
            };
            self.host.metrics.set(|facts| facts.pass = Some(pass));
        }
    }

    fn on_event(&mut self, event: &Event) {
        let Some(work) = &mut self.work else { return };
        work.tracker.on(event, Instant::now());
        self.host.measure(&work.tracker, event);
        let notice = match &event.what {
            Happening::Drifted { object, fields, managers } => {
                let what = if fields.is_empty() { "is gone".to_owned() } else { fields.join(", ") };
                let who =
                    if managers.is_empty() { String::new() } else { format!(" by {}", managers.join(", ")) };
                tracing::info!("{object}: changed{who}: {what}");
                None
            }
            Happening::Repaired { object, .. } => {
                let text = format!("{object} was changed by somebody and is restored");
                Some((Tone::Normal, "DriftRepaired", text))
            }
            Happening::Fighting { object, field, manager, rounds, .. } => Some((
                Tone::Warning,
                "Fighting",
                format!("{field} of {object} is changed by {manager} again and again ({rounds} times)"),
            )),
            Happening::Overridden { object, fields } => Some((
                Tone::Warning,
                "AdmissionOverrides",
                format!("admission of the cluster overrides the release in {object}: {}", fields.join(", ")),
            )),
            Happening::Failed { reason, sentence, .. } => {
                tracing::warn!(reason, "{sentence}");
                if let Some(accepted) = &self.accepted {
                    self.host.metrics.payload_error(&accepted.release.version);
                }
                None
            }
            Happening::Remark { sentence } => {
                tracing::info!("{sentence}");
                None
            }
            Happening::Waiting { wait, .. } => {
                tracing::debug!("{}", wait.sentence);
                None
            }
            _ => None,
        };
        let is_handed_over = matches!(event.what, Happening::Done { task } if work.successor == Some(task));
        let is_complete = !work.is_complete && work.tracker.is_complete();
        work.is_complete |= is_complete;
        if let Some((tone, reason, text)) = notice {
            self.tell(tone, reason, text);
        }
        if is_complete {
            self.complete();
        } else if is_handed_over {
            self.hand_over();
        }
    }

    /// Every task of the release is done.
    fn complete(&mut self) {
        let version =
            self.accepted.as_ref().map(|accepted| accepted.release.version.clone()).unwrap_or_default();
        let notice = match self.phase.mode {
            Mode::Installing => Some(("InstallCompleted", format!("{version} is installed"))),
            Mode::Updating => Some(("UpdateCompleted", format!("the cluster is at {version}"))),
            Mode::Reconciling => None,
        };
        self.phase = self.phase.after_success();
        if let Some((reason, message)) = notice {
            self.tell(Tone::Normal, reason, message);
        }
    }

    /// The Deployment of the successor is applied: it does the rest.
    fn hand_over(&mut self) {
        let version =
            self.accepted.as_ref().map(|accepted| accepted.release.version.clone()).unwrap_or_default();
        let text = format!("the operator of {version} is deployed and does the rest of the update");
        self.tell(Tone::Normal, "OperatorReplaced", text);
        self.is_leaving = true;
        if let Some(work) = &mut self.work {
            // No request goes out any more; what was done is still told.
            work.engine = Box::pin(std::future::pending());
        }
    }

    /// The engine gave up: it is begun again later, or when something changes.
    fn on_ended(&mut self, ending: Result<Ending, Refusal>) {
        let why = match ending {
            Ok(ending) => ending.missing.join("; "),
            Err(refusal) => refusal.explain("the cluster"),
        };
        tracing::warn!("the work on the release came to nothing: {why}");
        self.phase = self.phase.after_failure();
        let failures = u32::try_from(self.phase.attempt).unwrap_or(u32::MAX).min(8);
        self.again_at = Some(Instant::now() + PAUSE.0.saturating_mul(1 << (failures - 1)).min(PAUSE.1));
        if let Some(work) = &mut self.work {
            work.ended = Some(why);
        }
    }
}
