//! `lockstep release extract`

use std::path::Path;

use anyhow::Context as _;

use lockstep_api::names::{group, kind, namespace, object};
use lockstep_apply::kinds::Resource;
use lockstep_apply::server::{Call, Server};
use lockstep_apply::survey;
use lockstep_payload::{Folder, Selection, metadata};
use lockstep_release::extract::folder::Writing;
use lockstep_release::extract::inclusion::profile_of_operator;
use lockstep_release::extract::{Extracted, Filter, Inclusion, Provider, extract, write};
use lockstep_release::{OpenRelease, Wanted};

use crate::args::ExtractArgs;
use crate::exit::{Outcome, UsageError};
use crate::{cluster, output};

/// Stands for standard output.
const STDOUT: &str = "-";

pub(crate) fn run(args: &ExtractArgs) -> anyhow::Result<Outcome> {
    super::block_on(extract_from(args))
}

async fn extract_from(args: &ExtractArgs) -> anyhow::Result<Outcome> {
    if args.cloud.is_some() && !args.credentials_requests && !args.included {
        return Err(UsageError(
            "--cloud is only supported with --credentials-requests or --included".to_owned(),
        )
        .into());
    }
    let source = &args.source;
    let opened = super::fetch(&source.release, &source.registry, Wanted::ReleaseManifests).await?;
    if let Some(name) = &args.file {
        return print_file(&opened, name);
    }
    if args.tools || args.command.is_some() {
        return super::tools::run(args, &opened).await;
    }
    if args.credentials_requests && !args.included {
        output::warn(
            "if you intend to pass CredentialsRequests to ccoctl, you should use --included to filter out requests that your cluster is not expected to need",
        );
    }
    let filter = filter(args, &opened).await?;
    let found = extract(opened.files.as_ref(), &filter)?;
    hand_out(args, &opened, &found)?;
    for problem in &found.problems {
        output::warn(problem);
    }
    Ok(if found.problems.is_empty() { Outcome::Clean } else { Outcome::Findings })
}

fn print_file(opened: &OpenRelease, name: &str) -> anyhow::Result<Outcome> {
    let is_there = opened.files.list(Folder::ReleaseManifests)?.iter().any(|found| found == name);
    if !is_there {
        anyhow::bail!("image did not contain {name}");
    }
    output::print_bytes(&opened.files.read(Folder::ReleaseManifests, name)?)?;
    Ok(Outcome::Clean)
}

fn hand_out(args: &ExtractArgs, opened: &OpenRelease, found: &Extracted) -> anyhow::Result<()> {
    if args.to == Path::new(STDOUT) {
        for (name, bytes) in
            found.files.iter().filter(|(name, _)| lockstep_payload::file_name::is_manifest(name))
        {
            output::print(&format!("---\n# {name}\n"))?;
            output::print_bytes(bytes)?;
            // Else the last line of the file would run into the next `---`.
            if !bytes.ends_with(b"\n") {
                output::print("\n")?;
            }
        }
        return Ok(());
    }
    let files: Vec<Writing<'_>> =
        found.files.iter().map(|(name, bytes)| Writing { name, executable: false, bytes }).collect();
    write(&args.to, &files, args.confirm)?;
    let from = opened.image.as_ref().map_or_else(
        || opened.name.clone(),
        |image| {
            let created = image.config.created.as_deref().unwrap_or("an unknown time");
            format!("digest {} created at {created}", image.digest())
        },
    );
    output::print(&format!("Extracted release payload from {from}: {} files\n", files.len()))
}

/// What is wanted, from the flags, an install-config or a cluster.
async fn filter(args: &ExtractArgs, opened: &OpenRelease) -> anyhow::Result<Filter> {
    let (selection, platform) = match inclusion(args, opened).await? {
        Some((selection, platform)) => (Some(selection), platform),
        None => (None, None),
    };
    let provider = match (&args.cloud, &platform) {
        (Some(cloud), Some(platform)) if cloud != platform => {
            let context = if args.from_cluster { "the cluster" } else { "the install-config" };
            return Err(UsageError(format!("--cloud {cloud:?} set, but {context} has {platform:?}")).into());
        }
        (Some(cloud), _) => Provider::of_cloud(cloud).unwrap_or_default(),
        // Without requests as the goal, what a cluster gets is what it gets, whatever its platform.
        (None, Some(platform)) if args.credentials_requests => Provider::of_platform(platform),
        (None, _) => Provider::Any,
    };
    Ok(Filter { selection, credentials_requests: args.credentials_requests, provider })
}

async fn inclusion(
    args: &ExtractArgs,
    opened: &OpenRelease,
) -> anyhow::Result<Option<(Selection, Option<String>)>> {
    if !args.included {
        return Ok(None);
    }
    let bytes = opened.files.read(Folder::ReleaseManifests, lockstep_api::names::file::RELEASE_METADATA)?;
    let major = metadata::read(&bytes)?.version.major;
    let selection = &args.source.selection;
    let found = if let Some(path) = &args.install_config {
        let name = path.display().to_string();
        let bytes = std::fs::read(path).with_context(|| name.clone())?;
        Inclusion::of_install_config(&name, &bytes, opened.files.as_ref(), major).map_err(UsageError)?
    } else if args.from_cluster {
        ask_cluster(args).await?
    } else {
        return Ok(Some((selection.selection_for(major), None)));
    };
    for warning in &found.warnings {
        output::warn(warning);
    }
    Ok(Some((found.selection, found.platform)))
}

async fn ask_cluster(args: &ExtractArgs) -> anyhow::Result<Inclusion> {
    let cluster = cluster::connect(&args.cluster).await?;
    let server = Server::new(cluster.client).with_timeout(cluster.request_timeout);
    let read = |kind, plural, name| survey::read(&server, kind, plural, name);
    let asking = || format!("asking the cluster at {}", cluster.address);
    let version =
        read(kind::CLUSTER_VERSION, "clusterversions", object::VERSION).await.with_context(asking)?;
    let version =
        version.with_context(|| format!("the cluster at {} has no ClusterVersion", cluster.address))?;
    let gates = read(kind::FEATURE_GATE, "featuregates", object::CLUSTER).await.with_context(asking)?;
    let infrastructure =
        read(kind::INFRASTRUCTURE, "infrastructures", object::CLUSTER).await.with_context(asking)?;
    let profile = match args.source.selection.given_profile() {
        Some(given) => given.to_owned(),
        None => profile_of_cluster(args, &server).await,
    };
    Inclusion::of_cluster(&version, gates.as_ref(), infrastructure.as_ref(), &profile)
        .map_err(anyhow::Error::msg)
}

/// The profile of the cluster's own operator; where that cannot be asked, that of the environment or the default one.
async fn profile_of_cluster(args: &ExtractArgs, server: &Server) -> String {
    let deployments = Resource::new(group::APPS, "v1", kind::DEPLOYMENT, "deployments", true);
    let (namespace, name) = (namespace::CLUSTER_VERSION, object::CLUSTER_VERSION_OPERATOR);
    match server.send(Call::get(&deployments, Some(namespace), name)).await {
        Ok(answer) => profile_of_operator(&answer.object),
        Err(refusal) => {
            let profile = args.source.selection.load_options().profile;
            let why = refusal.explain(&format!("Deployment {namespace}/{name}"));
            output::warn(&format!(
                "the profile of the cluster cannot be read, {profile} is taken; give --profile: {why}"
            ));
            profile
        }
    }
}
