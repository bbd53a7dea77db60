//! What speaks against leaving the minor version.

use std::collections::BTreeMap;

use lockstep_api::{ClusterOperator, ClusterVersion, Condition, ConditionStatus};
use lockstep_updates::upgradeable::{Facts, condition, risks};

use super::Difference;
use super::fixture::a_time;

pub(super) const DIFFERENCES: &[Difference] = &[
    Difference {
        id: "upgradeable-names-the-operator",
        title: "Upgradeable names the operator and its reason",
        decision: "D13",
        case: "the operator `dns` says Upgradeable=False, reason `OldConfig`, message `migrate first`",
        reference: "False RiskNameNotCompatibleWithReasonProperty: migrate first",
        ours: "False OldConfig: Cluster operator dns should not be upgraded between minor or major versions: migrate first",
        why: "The reason of the reference tells something about itself, and its message not whose it is. Ours are what its own \
              releases up to 4.21 say.",
        observe: || {
            let mut dns = ClusterOperator::new("dns");
            let no =
                Condition::new("Upgradeable", ConditionStatus::False).because("OldConfig", "migrate first");
            dns.status.conditions.set(no, a_time().timestamp());
            told(&Facts { operators: &[dns], ..nothing(&a_cluster()) })
        },
    },
    Difference {
        id: "gate-has-a-reason",
        title: "A gate that nobody has acknowledged has a reason of its own",
        decision: "D13",
        case: "at 4.20.0, the gate `ack-4.20-remove-api: Acknowledge that the API goes.`",
        reference: "False RiskNameNotCompatibleWithReasonProperty: Acknowledge that the API goes.",
        ours: "False AdminAckRequired: Acknowledge that the API goes.",
        why: "It is the reason of the reference's releases up to 4.21, and tools know it.",
        observe: || {
            let acks = BTreeMap::new();
            told(&Facts { gates: Some(&gates()), acks: Some(&acks), ..nothing(&a_cluster()) })
        },
    },
    Difference {
        id: "no-acknowledgements",
        title: "A missing list of acknowledgements is an empty one",
        decision: "D11",
        case: "at 4.20.0, the gate `ack-4.20-remove-api: Acknowledge that the API goes.`, and no ConfigMap `admin-acks`",
        reference: "Unknown EvaluationFailed",
        ours: "False AdminAckRequired: Acknowledge that the API goes.",
        why: "Who has acknowledged nothing must be told what there is to acknowledge.",
        observe: || told(&Facts { gates: Some(&gates()), ..nothing(&a_cluster()) }),
    },
    Difference {
        id: "no-gates",
        title: "A missing list of gates is an empty one",
        decision: "D11",
        case: "there is no ConfigMap `admin-gates`",
        reference: "Unknown EvaluationFailed",
        ours: "removed",
        why: "A release without gates needs no list of them.",
        observe: || told(&nothing(&a_cluster())),
    },
    Difference {
        id: "upgradeable-in-the-same-write",
        title: "Upgradeable and Progressing change together",
        decision: "D12",
        case: "an update ends: the ClusterVersion still says Progressing=True, and the status that is written now says False",
        reference: "False ClusterVersionUpdating: An update is already in progress and the details are in the Progressing \
                    condition.",
        ours: "removed",
        why: "The reference judges by the ClusterVersion as it was, so Upgradeable is one write late.",
        observe: || {
            let mut version = a_cluster();
            let progressing = Condition::new("Progressing", ConditionStatus::True);
            version.status.conditions.set(progressing, a_time().timestamp());
            told(&nothing(&version))
        },
    },
];

fn a_cluster() -> ClusterVersion {
    let mut version = ClusterVersion::new("version");
    version.status.desired.version = "4.20.0".to_owned();
    version
}

fn gates() -> BTreeMap<String, String> {
    BTreeMap::from([("ack-4.20-remove-api".to_owned(), "Acknowledge that the API goes.".to_owned())])
}

fn nothing(version: &ClusterVersion) -> Facts<'_> {
    Facts { version, is_updating: false, operators: &[], gates: None, acks: None, deletions: &[] }
}

/// The condition that the facts make.
fn told(facts: &Facts<'_>) -> String {
    condition(&risks(facts)).map_or("removed".to_owned(), |it| {
        let Condition { status, reason, message, .. } = it;
        format!("{status} {reason}: {message}")
    })
}
