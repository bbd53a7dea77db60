//! The releases that a cluster was brought to.

use lockstep_api::{ClusterVersion, Release, UpdateHistory, UpdateState};
use lockstep_status::generic_failure;
use lockstep_status::history::{Entry, merge, prune};

use super::Difference;
use super::fixture::a_time;

pub(super) const DIFFERENCES: &[Difference] = &[
    Difference {
        id: "history-is-cut-at-once",
        title: "A history that is too long is cut at once",
        decision: "accident of the reference",
        case: "a history of 25 entries of which 10 may stay: what is left after one write",
        reference: "24 entries",
        ours: "10 entries",
        why: "The reference removes one entry per write and protects the oldest one only when exactly one is too many.",
        observe: || {
            let mut long = history(&["C4.1.0"; 25]);
            prune(&mut long, 10);
            format!("{} entries", long.len())
        },
    },
    Difference {
        id: "minor-versions-have-a-major",
        title: "4.1 and 5.1 are two minor versions",
        decision: "accident of the reference",
        case: "a history of eleven completed releases of which ten may stay, from 5.2 over 5.1.1, 5.1.0, 4.1.1 and 4.1.0 to 4.0: \
               which goes",
        reference: "4.1.1",
        ours: "4.0.1",
        why: "The first and the last release of each minor version tell most. To the reference, 4.1.1 stands in the middle of \
              one minor version 1.",
        observe: || {
            let entries = [
                "C5.2.4", "C5.2.3", "C5.2.2", "C5.2.1", "C5.2.0", "C5.1.1", "C5.1.0", "C4.1.1", "C4.1.0",
                "C4.0.1", "C4.0.0",
            ];
            let mut kept = history(&entries);
            prune(&mut kept, 10);
            let is_gone = |version: &&str| !kept.iter().any(|it| it.version == *version);
            entries.iter().map(|entry| &entry[1..]).filter(is_gone).collect::<Vec<_>>().join(" ")
        },
    },
    Difference {
        id: "equal-entries",
        title: "Two equal entries end nobody",
        decision: "accident of the reference",
        case: "a history that begins with the same release twice, and the release is completed",
        reference: "the operator ends with an error, at log level 2 and above",
        ours: "C4.0.1 P4.0.1",
        why: "It is somebody's edit or an earlier mistake, and no reason to stop working.",
        observe: || {
            let mut twice = history(&["P4.0.1", "P4.0.1"]);
            let done = Entry { is_complete: true, ..Entry::default() };
            merge(&mut twice, &release("4.0.1"), done, a_time());
            told(&twice)
        },
    },
    Difference {
        id: "accepted-risks-stay",
        title: "What was accepted with a release stays in its entry",
        decision: "always say why",
        case: "a release was forced, and the same release is accepted again without a risk: its `acceptedRisks`",
        reference: "acceptedRisks: \"\"",
        ours: "acceptedRisks: \"Forced through blocking failures\"",
        why: "The entry tells how the cluster came to its release, and that was by force.",
        observe: || {
            let mut entries = history(&["P4.0.1"]);
            for accepted_risks in ["Forced through blocking failures", ""] {
                let entry = Entry { accepted_risks, ..Entry::default() };
                merge(&mut entries, &release("4.0.1"), entry, a_time());
            }
            format!("acceptedRisks: {:?}", entries[0].accepted_risks)
        },
    },
    Difference {
        id: "failure-of-the-operator-is-no-release",
        title: "An operator that cannot work writes no other release",
        decision: "D16",
        case: "on the way from 4.0.1 to 4.0.2, the operator of 4.0.1 gives up to write its status: the history",
        reference: "P4.0.1 P4.0.2 C4.0.1",
        ours: "P4.0.2 C4.0.1",
        why: "Nobody has gone back to 4.0.1. The reference writes the release of its own image.",
        observe: || {
            let mut version = ClusterVersion::new("version");
            version.status.desired = release("4.0.2");
            version.status.history = history(&["P4.0.2", "C4.0.1"]);
            told(&generic_failure(&version, &release("4.0.1"), "bad", a_time().timestamp()).history)
        },
    },
];

fn release(version: &str) -> Release {
    Release { version: version.to_owned(), image: format!("image:{version}"), ..Release::default() }
}

/// `C` or `P` and a version of each, newest first.
fn history(entries: &[&str]) -> Vec<UpdateHistory> {
    let entry = |text: &&str| {
        let (state, version) = text.split_at(1);
        let mut entry = UpdateHistory::begun(&release(version), a_time());
        if state == "C" {
            entry.state = UpdateState::Completed;
        }
        entry
    };
    entries.iter().map(entry).collect()
}

fn told(history: &[UpdateHistory]) -> String {
    let one = |it: &UpdateHistory| format!("{}{}", &it.state.as_str()[..1], it.version);
    history.iter().map(one).collect::<Vec<_>>().join(" ")
}
