//! The report of a run as the conditions Available, Failing and Progressing.

use jiff::Timestamp;
use lockstep_api::names::{annotation, condition, reason};
use lockstep_api::{Condition, ConditionStatus, Conditions};
use lockstep_graph::report::{Failure, Report, Run, percent, summary};

use crate::judgement::{Judgement, judge};
use crate::start_times::StartTimes;

/// What the ClusterVersion said before.
#[derive(Debug, Clone, Copy)]
pub struct Before<'a> {
    /// Its conditions.
    pub conditions: &'a Conditions,
    /// Whether its history has an entry.
    pub has_history: bool,
}

/// What the ClusterVersion asks for, as far as it is told with the progress.
#[derive(Debug, Clone, Copy, Default)]
pub struct Asked {
    /// Whether a part of the spec cannot be used.
    pub is_invalid: bool,
    /// Whether nothing new may start.
    pub is_paused: bool,
}

/// The conditions Available, Failing and Progressing, in this order, for [`Conditions::merge`].
///
/// A failure is given time only while a run makes its way to a release that the history knows. When the release is only
/// kept, or nothing has been recorded yet, each one is a problem at once.
pub fn conditions(
    report: &Report,
    before: Before<'_>,
    asked: Asked,
    times: &StartTimes,
    now: Timestamp,
) -> [Condition; 3] {
    let judgement = report.run.failure.as_ref().map(|failure| {
        if report.reconciling || !before.has_history {
            Judgement::Failing { problem: failure.clone(), text: summary(failure) }
        } else {
            judge(failure, times, now)
        }
    });
    [
        available(report, before.conditions),
        failing(judgement.as_ref()),
        progressing(report, asked, judgement.as_ref()),
    ]
}

/// Whether some release is there: from the first completed run on, also while the next one is on its way.
fn available(report: &Report, before: &Conditions) -> Condition {
    if is_complete(report) {
        let message = format!("Done applying {}", report.actual.name());
        return Condition::new(condition::AVAILABLE, ConditionStatus::True).because("", message);
    }
    let absent = || Condition::new(condition::AVAILABLE, ConditionStatus::False);
    before.find(condition::AVAILABLE).cloned().unwrap_or_else(absent)
}

/// Whether everything of the release that is worked on was applied.
///
/// NB: runs that were completed are counted on when the target changes, so the count alone may be about another release.
pub(crate) fn is_complete(report: &Report) -> bool {
    report.reconciling && report.run.completed > 0
}

/// Whether there is a problem.
fn failing(judgement: Option<&Judgement>) -> Condition {
    let status = |status| Condition::new(condition::FAILING, status);
    match judgement {
        None | Some(Judgement::Waiting { .. }) => status(ConditionStatus::False),
        Some(Judgement::Slow { text }) => {
            status(ConditionStatus::Unknown).because(reason::SLOW_CLUSTER_OPERATOR, text)
        }
        Some(Judgement::Failing { problem, .. }) => {
            status(ConditionStatus::True).because(problem.reason, &problem.message)
        }
    }
}

/// Whether a release is on its way, how far, and what keeps it.
///
/// *Compatibility*: the reason is that of the whole failure, also where Failing leaves out what only needs time.
fn progressing(report: &Report, asked: Asked, judgement: Option<&Judgement>) -> Condition {
    let version = report.actual.name();
    let is_stopped_by_spec = asked.is_invalid && !matches!(judgement, Some(Judgement::Failing { .. }));
    let mut message = match (judgement, report.reconciling) {
        (Some(Judgement::Failing { text, .. }), true) => format!("Error while reconciling {version}: {text}"),
        (Some(Judgement::Failing { text, .. }), false) => format!("Unable to apply {version}: {text}"),
        (_, true) if asked.is_invalid => format!("Stopped at {version}: the cluster version is invalid"),
        (_, false) if asked.is_invalid => format!("Reconciling {version}: the cluster version is invalid"),
        (_, true) => format!("Cluster version is {version}"),
        (Some(Judgement::Waiting { text } | Judgement::Slow { text }), false) => {
            working_towards(version, &report.run, Some(text))
        }
        (None, false) => working_towards(version, &report.run, None),
    };
    if asked.is_paused {
        let sentence =
            format!("; paused: nothing new starts until the annotation {} is gone", annotation::PAUSED);
        message.push_str(&sentence);
    }
    let of_failure = report.run.failure.as_ref().map_or("", |failure: &Failure| failure.reason);
    let reason = if is_stopped_by_spec { reason::INVALID_CLUSTER_VERSION } else { of_failure };
    let status = ConditionStatus::of(!report.reconciling);
    Condition::new(condition::PROGRESSING, status).because(reason, message)
}

fn working_towards(version: &str, run: &Run, wait: Option<&str>) -> String {
    let Run { done, total, .. } = *run;
    let progress = (done > 0 && total > 0)
        .then(|| format!("{done} of {total} done ({}% complete)", percent(done, total)));
    let parts: Vec<&str> = progress.as_deref().into_iter().chain(wait).collect();
    if parts.is_empty() {
        format!("Working towards {version}")
    } else {
        format!("Working towards {version}: {}", parts.join(", "))
    }
}

#[cfg(test)]
#[path = "conditions_tests.rs"]
mod tests;
