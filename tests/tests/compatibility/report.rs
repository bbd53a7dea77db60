//! What people are told about a run.

use std::time::Duration;

use lockstep_api::Conditions;
use lockstep_graph::Mode;
use lockstep_graph::report::{Change, Effect, Failure, Phase, Report, RunError, percent, shown, summary};
use lockstep_status::{Asked, Before, StartTimes, conditions};

use super::Difference;

pub(super) const DIFFERENCES: &[Difference] = &[
    Difference {
        id: "several-errors-name-the-first",
        title: "Several errors name the first cause",
        decision: "D13",
        case: "the summary of a run in which two tasks fail",
        reference: "an unknown error has occurred: MultipleErrors",
        ours: "Failed to reconcile 20-b-file resource (and 1 more)",
        why: "The text hides what is wrong. The list of all errors stays in the message of the failure, and the reason stays \
              MultipleErrors.",
        observe: || {
            let fails = |name: &str, effect| {
                let failure = Failure::new("Failed", format!("Failed to reconcile {name} resource"));
                RunError::Failed(failure.with_effect(effect))
            };
            summary(&shown([fails("10-a-file", Effect::None), fails("20-b-file", Effect::Fail)]).unwrap())
        },
    },
    Difference {
        id: "unknown-error-of-somebody",
        title: "A reason without a text of its own gives its message",
        decision: "D13",
        case: "the summary of an operator `dns` that is updating",
        reference: "dns has an unknown error: ClusterOperatorUpdating",
        ours: "Cluster operator dns is updating versions",
        why: "Nothing about it is unknown: the failure has a message, and that is told.",
        observe: || {
            let message = "Cluster operator dns is updating versions";
            summary(&Failure::new("ClusterOperatorUpdating", message).about("dns"))
        },
    },
    Difference {
        id: "plain-error",
        title: "An error without a reason is told",
        decision: "D13",
        case: "the summary of an error `disk is full` that has no reason",
        reference: "an error occurred",
        ours: "disk is full",
        why: "The text hides the cause, and the cause is at hand.",
        observe: || summary(&Failure::new("", "disk is full")),
    },
    Difference {
        id: "equal-errors-are-one",
        title: "Errors that say the same are one error",
        decision: "accident of the reference",
        case: "two tasks fail with the same reason and message",
        reference: "MultipleErrors: Multiple errors are preventing progress:\n* the server is down",
        ours: "UpdatePayloadClusterDown: the server is down",
        why: "The reference's own documentation promises it.",
        observe: || {
            let failure = || RunError::Failed(Failure::new("UpdatePayloadClusterDown", "the server is down"));
            let one = shown([failure(), failure()]).unwrap();
            format!("{}: {}", one.reason, one.message)
        },
    },
    Difference {
        id: "degraded-at-install",
        title: "An operator that is degraded does not take a completed installation back",
        decision: "D8",
        case: "everything of an installation is applied, and an operator is degraded",
        reference: "completed 0, initial true, reconciling false",
        ours: "completed 1, initial false, reconciling true; Cluster operator dns is degraded",
        why: "It is the documented contract. The reference publishes the completion, and then the remark with the flags of \
              the start.",
        observe: || {
            let mut start = Report::default();
            start.run.initial = true;
            let degraded = Failure::new("ClusterOperatorDegraded", "Cluster operator dns is degraded");
            let report = start.completed(vec![degraded.about("dns").with_effect(Effect::Report)]);
            let failure = report.run.failure.map(|failure| failure.message).unwrap_or_default();
            format!(
                "completed {}, initial {}, reconciling {}; {failure}",
                report.run.completed, report.run.initial, report.reconciling
            )
        },
    },
    Difference {
        id: "percent-is-exact",
        title: "Percent are computed exactly",
        decision: "D9",
        case: "53 of 100 tasks are done",
        reference: "52% complete",
        ours: "53% complete",
        why: "Both cut off and never round up. The reference divides with 32-bit numbers, which come out just below some whole \
              ones.",
        observe: || format!("{}% complete", percent(53, 100)),
    },
    Difference {
        id: "another-release-during-installation",
        title: "An installation never changes to another release",
        decision: "accident of the reference",
        case: "release and overrides change at the same moment during an installation",
        reference: "overrides followed, release followed",
        ours: "overrides followed, release ignored",
        why: "Both ignore a change of the release alone. The reference lets it slip through with another change, into a \
              cluster that is half installed.",
        observe: || {
            let change = Change { release: true, selection: true };
            let (_, followed) = Phase::new(Mode::Installing).after_change(change);
            let word = |is_followed| if is_followed { "followed" } else { "ignored" };
            format!("overrides {}, release {}", word(followed.selection), word(followed.release))
        },
    },
    Difference {
        id: "progressing-names-the-cause",
        title: "Progressing names the cause when several tasks fail",
        decision: "D13",
        case: "an operator is not available and another one is updating, on the way to 1.2.3",
        reference: "Failing=True ClusterOperatorNotAvailable: Cluster operator dns is not available\n\
                    Progressing=True MultipleErrors: Unable to apply 1.2.3: an unknown error has occurred: MultipleErrors",
        ours: "Failing=True ClusterOperatorNotAvailable: Cluster operator dns is not available\n\
               Progressing=True MultipleErrors: Unable to apply 1.2.3: Cluster operator dns is not available (and 1 more)",
        why: "The text hides what is wrong. Failing is the same, and so is the reason.",
        observe: || {
            on_the_way(
                [
                    operator("dns", "ClusterOperatorNotAvailable", "is not available", Effect::Fail),
                    operator("etcd", "ClusterOperatorUpdating", "is updating versions", Effect::None),
                ],
                &[],
            )
        },
    },
    Difference {
        id: "waits-are-progress",
        title: "Several waits are a wait",
        decision: "always say why",
        case: "one thing is updating and another one is rolling out, on the way to 1.2.3, and both are in time",
        reference: "Failing=False\n\
                    Progressing=True MultipleErrors: Unable to apply 1.2.3: an unknown error has occurred: MultipleErrors",
        ours: "Failing=False\nProgressing=True MultipleErrors: Working towards 1.2.3: waiting on dns, etcd",
        why: "Nothing fails, so the release can be applied. A slow operator among them makes Failing Unknown, as it does \
              alone.",
        observe: || {
            on_the_way(
                [
                    operator("dns", "ClusterOperatorUpdating", "is updating versions", Effect::None),
                    operator("etcd", "WorkloadNotAvailable", "is rolling out", Effect::None),
                ],
                &[("dns", 5), ("etcd", 5)],
            )
        },
    },
    Difference {
        id: "tolerance-beside-a-wait",
        title: "A degraded operator has its 40 minutes also while another one is updating",
        decision: "D4",
        case: "`dns` is degraded for 5 minutes and `etcd` is updating, on the way to 1.2.3",
        reference: "Failing=True ClusterOperatorDegraded: Cluster operator dns is degraded\n\
                    Progressing=True MultipleErrors: Unable to apply 1.2.3: an unknown error has occurred: MultipleErrors",
        ours: "Failing=False\n\
               Progressing=True MultipleErrors: Working towards 1.2.3: waiting on etcd, waiting up to 40 minutes on dns",
        why: "An operator that is on its way takes no time from another one. Beside a problem, both list the degraded one \
              with it.",
        observe: || {
            on_the_way(
                [
                    operator("dns", "ClusterOperatorDegraded", "is degraded", Effect::FailAfterInterval),
                    operator("etcd", "ClusterOperatorUpdating", "is updating versions", Effect::None),
                ],
                &[("dns", 5), ("etcd", 5)],
            )
        },
    },
    Difference {
        id: "degraded-since-nobody-knows",
        title: "An operator without a start time has not used up its 40 minutes",
        decision: "D4",
        case: "`dns` is degraded on the way to 1.2.3, and since when it is waited for is not recorded",
        reference: "Failing=True ClusterOperatorDegraded: Cluster operator dns is degraded\n\
                    Progressing=True ClusterOperatorDegraded: Unable to apply 1.2.3: wait has exceeded 40 minutes for these \
                    operators: dns",
        ours: "Failing=False\n\
               Progressing=True ClusterOperatorDegraded: Working towards 1.2.3: waiting up to 40 minutes on dns",
        why: "The sentence of the reference is not true. Its windows of 30 and 90 minutes do not count such an operator either.",
        observe: || {
            on_the_way(
                [operator("dns", "ClusterOperatorDegraded", "is degraded", Effect::FailAfterInterval)],
                &[],
            )
        },
    },
    Difference {
        id: "wait-without-a-name",
        title: "A wait for nobody in particular is told",
        decision: "D13",
        case: "a task without a name is still on its way to 1.2.3",
        reference: "Failing=False\nProgressing=True: Working towards 1.2.3: waiting on ",
        ours: "Failing=False\nProgressing=True: Working towards 1.2.3: Failed to reconcile 10-a-file resource",
        why: "The text hides the cause, and the cause is at hand.",
        observe: || {
            let failure = Failure::new("", "Failed to reconcile 10-a-file resource");
            on_the_way([failure.with_effect(Effect::None)], &[])
        },
    },
];

fn operator(name: &str, reason: &'static str, state: &str, effect: Effect) -> Failure {
    Failure::new(reason, format!("Cluster operator {name} {state}")).about(name).with_effect(effect)
}

/// Failing and Progressing on the way to 1.2.3; `waited` are operators and the minutes since they were first looked at.
fn on_the_way<const N: usize>(failures: [Failure; N], waited: &[(&str, u64)]) -> String {
    let now = "2026-01-01T12:00:00Z".parse().unwrap();
    let mut report = Report::default();
    report.actual.version = "1.2.3".to_owned();
    report.run.failure = shown(failures.map(RunError::Failed));
    let mut times = StartTimes::default();
    for (operator, minutes) in waited {
        times.look(*operator, now - Duration::from_secs(minutes * 60));
    }
    let before = Before { conditions: &Conditions::default(), has_history: true };
    let [_, failing, progressing] = conditions(&report, before, Asked::default(), &times, now);
    [failing, progressing]
        .map(|it| {
            let reason = if it.reason.is_empty() { String::new() } else { format!(" {}", it.reason) };
            let message = if it.message.is_empty() { String::new() } else { format!(": {}", it.message) };
            format!("{}={}{reason}{message}", it.kind, it.status)
        })
        .join("\n")
}
