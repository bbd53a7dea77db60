//! What people are told about a run.

use lockstep_graph::Mode;
use lockstep_graph::report::{Change, Effect, Failure, Phase, Report, RunError, percent, shown, summary};

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
];
