//! What the status of a ClusterVersion says.

use std::time::Duration;

use lockstep_api::{
    ClusterOperator, ClusterVersion, ClusterVersionStatus, Condition, ConditionStatus, Release, UpdateHistory,
};
use lockstep_graph::report::{Loaded, Report};
use lockstep_status::{Context, StartTimes, no_desired_image, status};

use super::Difference;
use super::fixture::a_time;

pub(super) const DIFFERENCES: &[Difference] = &[
    Difference {
        id: "percent-of-a-successor",
        title: "Percent do not fall when the operator is replaced",
        decision: "D16",
        case: "6 of 10 tasks are done on the way to 1.2.3, and a successor begins with none",
        reference: "True: Working towards 1.2.3",
        ours: "True: Working towards 1.2.3: 6 of 10 done (60% complete)",
        why: "What was applied is still there. The operator is replaced in every update, and people read a smaller number as \
              an update that went backwards.",
        observe: || {
            let mut version = ClusterVersion::new("version");
            let mut report = working();
            (report.run.done, report.run.total) = (6, 10);
            version.status = after(&version, &report, false);
            progressing(&after(&version, &working(), false))
        },
    },
    Difference {
        id: "windows-survive-a-restart",
        title: "The 30, 40 and 90 minutes survive a restart of the operator",
        decision: "D4",
        case: "`dns` has been rolling out since 50 minutes; the operator was restarted a minute ago: is it slow?",
        reference: "no, since 1 minute",
        ours: "yes, since 50 minutes",
        why: "The reference remembers the time itself, and is always replaced at the start of an update. The API tells when the \
              update began and since when the operator rolls out.",
        observe: || {
            let now = a_time().timestamp();
            let minutes_ago = |minutes: u64| now - Duration::from_secs(minutes * 60);
            let mut dns = ClusterOperator::new("dns");
            let rolls = Condition::new("Progressing", ConditionStatus::True);
            dns.status.conditions.set(rolls, minutes_ago(50));
            let history = [UpdateHistory::begun(&release(), minutes_ago(55).into())];
            let times = StartTimes::of_api(&history, &[dns], &["dns"]);
            let since = times.since("dns").map_or(0, |since| now.duration_since(since).as_mins());
            format!("{}, since {since} minutes", if times.is_slow("dns", now) { "yes" } else { "no" })
        },
    },
    Difference {
        id: "messages-name-the-version",
        title: "Messages name the version as soon as it is known",
        decision: "D13",
        case: "the operator works on its own image and has not read its release yet",
        reference: "True: Working towards image:1.2.3",
        ours: "True: Working towards 1.2.3",
        why: "`status.desired` has the version at that moment. The reference makes up its message before it looks there.",
        observe: || {
            let mut report = working();
            report.actual.version.clear();
            progressing(&after(&ClusterVersion::new("version"), &report, false))
        },
    },
    Difference {
        id: "no-desired-image",
        title: "An operator without a release says what it lacks",
        decision: "D13",
        case: "the operator was told no release image",
        reference: "True NoDesiredImage: Unable to apply <unknown>: an unknown error has occurred: NoDesiredImage",
        ours: "True NoDesiredImage: Unable to apply <unknown>: No configured operator version, unable to update cluster",
        why: "The text hides the cause; the message of Failing has it.",
        observe: || {
            let mut report = Report::default();
            report.run.failure = Some(no_desired_image());
            progressing(&after(&ClusterVersion::new("version"), &report, false))
        },
    },
    Difference {
        id: "release-that-was-not-verified",
        title: "A release that was accepted without a signature is said to be so",
        decision: "D17",
        case: "ReleaseAccepted of a release whose signature nobody has checked, with `desiredUpdate.force`",
        reference: "True PayloadLoaded: Payload loaded version=\"1.2.3\" image=\"example.com/release@sha256:d\"",
        ours: "True PayloadLoaded: Payload loaded version=\"1.2.3\" image=\"example.com/release@sha256:d\"\n\
               The release was not verified: no signature was checked; its contents match the digest of its image.",
        why: "The reference tells it in `acceptedRisks` only. Signatures are not checked yet, so nothing may look as if they \
              were.",
        observe: || {
            let image = "example.com/release@sha256:d".to_owned();
            let message = format!("Payload loaded version=\"1.2.3\" image={image:?}");
            let report = Report {
                loaded: Loaded { step: "PayloadLoaded", message, image, ..Loaded::default() },
                ..working()
            };
            told(&after(&ClusterVersion::new("version"), &report, false), "ReleaseAccepted")
        },
    },
    Difference {
        id: "paused",
        title: "An update can be paused",
        decision: "D17",
        case: "the annotation `lockstep.dev/paused: \"true\"` on the way to 1.2.3",
        reference: "True: Working towards 1.2.3",
        ours: "True: Working towards 1.2.3; paused: nothing new starts until the annotation lockstep.dev/paused is gone",
        why: "The reference knows no pause: whoever has to stop an update half-way can only ask for another release.",
        observe: || progressing(&after(&ClusterVersion::new("version"), &working(), true)),
    },
    Difference {
        id: "no-update-service",
        title: "No update service is asked yet",
        decision: "always say why",
        case: "RetrievedUpdates with the channel `stable-4.20` and no `upstream`",
        reference: "True",
        ours: "False NoUpstream: No update service is asked, so no updates are listed. Ask for a release by its image in \
               spec.desiredUpdate.image.",
        why: "The reference asks the service of its vendor. Here nobody is asked until that part is built.",
        observe: || {
            let mut version = ClusterVersion::new("version");
            version.spec.channel = "stable-4.20".to_owned();
            told(&after(&version, &working(), false), "RetrievedUpdates")
        },
    },
];

fn release() -> Release {
    Release { version: "1.2.3".to_owned(), image: "image:1.2.3".to_owned(), ..Release::default() }
}

fn working() -> Report {
    Report { actual: release(), ..Report::default() }
}

fn after(version: &ClusterVersion, report: &Report, is_paused: bool) -> ClusterVersionStatus {
    let (own, times) = (release(), StartTimes::default());
    let context = Context {
        own: &own,
        invalid: &[],
        upgradeable: None,
        is_paused,
        remarks: &[],
        times: &times,
        publish_architecture: false,
    };
    status(version, report, &context, a_time().timestamp())
}

fn told(status: &ClusterVersionStatus, kind: &str) -> String {
    let Some(Condition { status, reason, message, .. }) = status.conditions.find(kind) else {
        return "absent".to_owned();
    };
    let reason = if reason.is_empty() { String::new() } else { format!(" {reason}") };
    format!("{status}{reason}: {message}")
}

fn progressing(status: &ClusterVersionStatus) -> String {
    told(status, "Progressing")
}
