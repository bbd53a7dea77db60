//! A release and the cluster that it is brought to.

use anyhow::Context as _;

use lockstep_apply::engine::{Plan, PlanOptions};
use lockstep_apply::record::Record;
use lockstep_apply::server::Server;
use lockstep_apply::survey::survey;
use lockstep_graph::Mode;
use lockstep_payload::Manifest;

use crate::args::{ApplyMode, ClusterArgs, PlanArgs};
use crate::exit::UsageError;
use crate::{cluster, release};

/// A server and what is to be done there.
pub(crate) struct Target {
    pub(crate) server: Server,
    pub(crate) plan: Plan,
    /// What the cluster remembers of earlier runs, where we may know.
    pub(crate) record: Option<Record>,
    /// The address of the server, for messages.
    pub(crate) address: String,
}

/// Loads the release, asks the cluster about itself, and makes the plan. Nothing is written.
pub(crate) async fn prepare(args: &PlanArgs, cluster: &ClusterArgs) -> anyhow::Result<Target> {
    let loaded = release::open_async(&args.source).await?;
    release::tell_skipped(&loaded.release);
    refuse_without_image(&loaded)?;
    let release::Loaded { release, mut selection, .. } = loaded;
    let cluster = cluster::connect(cluster).await?;
    let server = Server::new(cluster.client).with_timeout(cluster.request_timeout);
    let address = cluster.address;
    let survey = survey(&server, &args.set).await;
    let survey = survey.with_context(|| format!("asking the cluster at {address}"))?;
    let mode = match args.mode {
        ApplyMode::Auto => survey.mode().ok_or_else(|| {
            UsageError(format!(
                "whether the release is to be installed or updated is in ConfigMaps of kube-system, which the cluster at \
                 {address} does not let you read; give --mode installing or --mode updating"
            ))
        })?,
        ApplyMode::Installing => Mode::Installing,
        ApplyMode::Updating => Mode::Updating,
    };
    selection.overrides = survey.overrides;
    let options = PlanOptions {
        install_order: args.install_order.into(),
        facts: survey.facts,
        namespace: Some(cluster.namespace),
    };
    let plan = Plan::new(&release, &selection, mode, &options);
    Ok(Target { server, plan, record: survey.record, address })
}

/// The manifests of the operator itself name the release image, which only the caller knows.
fn refuse_without_image(loaded: &release::Loaded) -> anyhow::Result<()> {
    if loaded.cluster.has_release_image() {
        return Ok(());
    }
    let lacks_image = |manifest: &&Manifest| {
        let containers = manifest.object["spec"]["template"]["spec"]["containers"].as_array();
        containers.into_iter().flatten().any(|container| container["image"] == "")
    };
    match loaded.release.selected(&loaded.selection).find(lacks_image) {
        Some(manifest) => Err(UsageError(format!(
            "{}: {} {} runs from the release image; say which one it is with --release-image PULLSPEC",
            manifest.file, manifest.id.kind, manifest.id.name
        ))
        .into()),
        None => Ok(()),
    }
}
