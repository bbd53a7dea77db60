//! Which release is asked for, and what speaks against it.

use lockstep_api::{ClusterVersion, Release, Update, UpdateHistory};
use lockstep_updates::precondition::check;
use lockstep_updates::request::{Wanted, resolve};

use super::Difference;
use super::fixture::a_time;

pub(super) const DIFFERENCES: &[Difference] = &[
    Difference {
        id: "version-of-the-history",
        title: "A version that only the history knows is found there",
        decision: "always say why",
        case: "`desiredUpdate: {version: 4.0.0}`, the release before, which is not among the available updates",
        reference: "4.0.1 (image:4.0.1)",
        ours: "4.0.0 (image:4.0.0)",
        why: "Validation accepts the request in both. The reference then searches the available updates only, finds nothing \
              and stays where it is without a word.",
        observe: || followed(&Update { version: "4.0.0".to_owned(), ..Update::default() }, false),
    },
    Difference {
        id: "request-that-is-not-followed",
        title: "A request that is not followed is told",
        decision: "always say why",
        case: "`desiredUpdate: {version: 4.0.1, architecture: Multi}`, and no such release is available",
        reference: "4.0.1 (image:4.0.1)",
        ours: "4.0.1 (image:4.0.1): the release 4.0.1 for several architectures is not among the available updates: give its \
               image in spec.desiredUpdate.image",
        why: "Both stay where they are; whoever asked should learn why.",
        observe: || {
            let multi =
                Update { version: "4.0.1".to_owned(), architecture: "Multi".to_owned(), ..Update::default() };
            followed(&multi, false)
        },
    },
    Difference {
        id: "preflight-is-no-update",
        title: "A preflight does not start an update",
        decision: "compatible outside, better inside",
        case: "`desiredUpdate: {version: 4.0.2, image: \"image:4.0.2\", mode: Preflight}`",
        reference: "4.0.2 (image:4.0.2)",
        ours: "4.0.1 (image:4.0.1): spec.desiredUpdate.mode asks for a preflight, which is not supported: nothing is started",
        why: "The field says that nothing shall be changed. The reference does not read it and starts the update.",
        observe: || {
            let preflight = Update {
                version: "4.0.2".to_owned(),
                image: "image:4.0.2".to_owned(),
                mode: "Preflight".to_owned(),
                ..Update::default()
            };
            followed(&preflight, false)
        },
    },
    Difference {
        id: "release-that-is-not-the-operators-own",
        title: "A release that does not bring this operator is kept",
        decision: "D16",
        case: "no `desiredUpdate`; the cluster is at 4.20.0, whose operator is another one, and ours belongs to 4.0.1",
        reference: "4.0.1 (image:4.0.1)",
        ours: "4.20.0 (image:4.20.0)",
        why: "The reference is always part of the release that it applies, so to stay is to stay at its own. A release of \
              OpenShift does not bring this operator: going to its own release would undo the update.",
        observe: || followed(&Update::default(), true),
    },
    Difference {
        id: "version-that-is-none",
        title: "A version that cannot be compared is named",
        decision: "D13",
        case: "the cluster is at `4.0.1`, and the release says that it is `4.1`",
        reference: "InvalidDesiredVersion: No Major.Minor.Patch elements found",
        ours: "InvalidDesiredVersion: The version \"4.1\" of the release is not a semantic version (1.2.3[-...])",
        why: "The text of the reference is that of its parser and does not say whose version it is.",
        observe: || {
            let finding = check(&a_cluster(), "4.1").remove(0);
            format!("{}: {}", finding.reason, finding.message)
        },
    },
];

fn release(version: &str) -> Release {
    Release { version: version.to_owned(), image: format!("image:{version}"), ..Release::default() }
}

/// A cluster at 4.0.1 that was at 4.0.0 before.
fn a_cluster() -> ClusterVersion {
    let mut version = ClusterVersion::new("version");
    version.status.desired = release("4.0.1");
    version.status.history =
        ["4.0.1", "4.0.0"].map(|it| UpdateHistory::begun(&release(it), a_time())).to_vec();
    version
}

/// The release that a request leads to, and what is said about it.
fn followed(update: &Update, stays: bool) -> String {
    let mut version = a_cluster();
    if stays {
        version.status.desired = release("4.20.0");
    } else {
        version.spec.desired_update = Some(update.clone());
    }
    let Wanted { release, remark, .. } = resolve(&version.spec, &version.status, &release("4.0.1"), stays);
    let remark = remark.map(|remark| format!(": {remark}")).unwrap_or_default();
    format!("{} ({}){remark}", release.version, release.image)
}
