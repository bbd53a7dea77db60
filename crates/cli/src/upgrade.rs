//! `lockstep upgrade`: what a person asks of the cluster's version.

use std::time::Duration;

use anyhow::{Context as _, anyhow};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use lockstep_api::ClusterVersion;
use lockstep_api::names::{annotation, condition, group, kind, object};
use lockstep_api::text::visible;
use lockstep_apply::compare::PatchOperation;
use lockstep_apply::compare::patch::unchanged_since;
use lockstep_apply::kinds::Resource;
use lockstep_apply::refusal::Refusal;
use lockstep_apply::server::{Call, DryRun, Server};
use lockstep_updates::ask::{self, Ask, Wish};
use lockstep_updates::follow::Request;
use lockstep_updates::state;

use crate::args::{ClusterArgs, UpgradeArgs, UpgradeCommand, UpgradePauseArgs, UpgradeToArgs, WaitArgs};
use crate::exit::Outcome;
use crate::{cluster, output, status};

mod follow;

pub(crate) fn run(args: &UpgradeArgs) -> anyhow::Result<Outcome> {
    if let Some(UpgradeCommand::Status(args)) = &args.command {
        return status::run(args);
    }
    let runtime = Runtime::new().context("starting the threads of the client")?;
    let outcome = runtime.block_on(async {
        match &args.command {
            None | Some(UpgradeCommand::Status(_)) => show(&args.cluster).await,
            Some(UpgradeCommand::To(args)) => to(args).await,
            Some(UpgradeCommand::Pause(args)) => pause(args).await,
            Some(UpgradeCommand::Resume(args)) => resume(&args.cluster).await,
            Some(UpgradeCommand::Abort(args)) => abort(&args.cluster, &args.wait).await,
        }
    });
    runtime.shutdown_background();
    outcome
}

/// The ClusterVersion as it was read, and the way to it.
struct Seen {
    server: Server,
    address: String,
    live: Value,
    version: ClusterVersion,
}

async fn show(cluster: &ClusterArgs) -> anyhow::Result<Outcome> {
    let seen = Seen::look(cluster).await?;
    print_lines(&state::text(&seen.version))?;
    Ok(Outcome::Clean)
}

async fn to(args: &UpgradeToArgs) -> anyhow::Result<Outcome> {
    let seen = Seen::look(&args.cluster).await?;
    let wish = Wish {
        target: args.target.clone(),
        force: args.force,
        with_warnings: args.allow_upgrade_with_warnings,
    };
    let ask = ask::choose(&seen.version, &wish).map_err(|denial| anyhow!(one_line(&denial.to_string())))?;
    seen.request(ask, &args.wait).await
}

async fn abort(cluster: &ClusterArgs, wait: &WaitArgs) -> anyhow::Result<Outcome> {
    let seen = Seen::look(cluster).await?;
    let ask = ask::abort(&seen.version).map_err(|denial| anyhow!(one_line(&denial.to_string())))?;
    if let Some(ask) = ask {
        return seen.request(ask, wait).await;
    }
    print_lines("No update is on its way: there is nothing to abort\n")?;
    Ok(Outcome::Clean)
}

async fn pause(args: &UpgradePauseArgs) -> anyhow::Result<Outcome> {
    let seen = Seen::look(&args.cluster).await?;
    let reason = args.reason.as_deref();
    let is_new = match (state::pause(&seen.version), reason) {
        (None, _) => true,
        (Some(before), Some(reason)) => before != reason,
        (Some(_), None) => false,
    };
    if is_new {
        let mut annotations = vec![(annotation::PAUSED, "true")];
        annotations.extend(reason.map(|reason| (annotation::PAUSE_REASON, reason)));
        seen.patch(annotate(&seen.live, &annotations)).await?;
    }
    let already = if is_new { "" } else { " already" };
    print_lines(&format!(
        "The cluster is{already} paused: nothing new starts until `lockstep upgrade resume`\n"
    ))?;
    if let Some((from, to)) = ask::on_its_way(&seen.version) {
        print_lines(&format!("The update from {from} to {to} stops where it is; drift is still repaired\n"))?;
    }
    Ok(Outcome::Clean)
}

async fn resume(cluster: &ClusterArgs) -> anyhow::Result<Outcome> {
    let seen = Seen::look(cluster).await?;
    let annotations = &seen.version.metadata.annotations;
    let present = [annotation::PAUSED, annotation::PAUSE_REASON];
    let operations: Vec<PatchOperation> = present
        .into_iter()
        .filter(|name| annotations.contains_key(*name))
        .map(|name| PatchOperation::remove(pointer(name)))
        .collect();
    let was_paused = state::pause(&seen.version).is_some();
    if !operations.is_empty() {
        seen.patch(operations).await?;
    }
    let text = match (was_paused, ask::on_its_way(&seen.version)) {
        (false, _) => "The cluster is not paused\n".to_owned(),
        (true, None) => "The cluster is no longer paused\n".to_owned(),
        (true, Some((from, to))) => {
            format!("The cluster is no longer paused; the update from {from} to {to} goes on\n")
        }
    };
    print_lines(&text)?;
    Ok(Outcome::Clean)
}

// === impl Seen ===

impl Seen {
    async fn look(args: &ClusterArgs) -> anyhow::Result<Self> {
        let cluster = cluster::connect(args).await?;
        let server = Server::new(cluster.client).with_timeout(cluster.request_timeout);
        let address = cluster.address;
        let live = match server.send(Call::get(&resource(), None, object::VERSION)).await {
            Ok(answer) => answer.object,
            Err(Refusal::NotFound | Refusal::KindNotServed) => {
                return Err(anyhow!(
                    "the cluster at {address} has no ClusterVersion {}: no operator of releases runs there, so there is \
                     nobody to ask; `lockstep apply RELEASE` brings a cluster to a release from here",
                    object::VERSION
                ));
            }
            Err(refusal) => return Err(anyhow!(refusal.explain(&format!("the cluster at {address}")))),
        };
        let version = serde_json::from_value(live.clone()).context("reading ClusterVersion version")?;
        Ok(Self { server, address, live, version })
    }

    /// Tells what will happen, asks for it, and follows it where that is wanted.
    async fn request(self, ask: Ask, wait: &WaitArgs) -> anyhow::Result<Outcome> {
        for warning in &ask.warnings {
            output::warn(&one_line(warning));
        }
        if state::pause(&self.version).is_some() {
            output::warn("the cluster is paused: nothing starts until `lockstep upgrade resume`");
        }
        let mut generation = self.version.metadata.generation.unwrap_or_default();
        if ask.is_asked_already {
            print_lines(&format!("{} is asked for already\n", ask.to))?;
        } else {
            let text = if ask.from == ask.to {
                format!("Taking the request back: the cluster stays at {}\n", ask.to)
            } else {
                format!("Updating the cluster: {} -> {} ({})\n", ask.from, ask.to, ask.update.image)
            };
            print_lines(&text)?;
            let operation = PatchOperation::add("/spec/desiredUpdate", json!(ask.update));
            let live = self.patch(vec![operation]).await?;
            generation = live["metadata"]["generation"].as_i64().unwrap_or(generation);
        }
        if !wait.wait {
            return Ok(Outcome::Clean);
        }
        let is_there = ask.is_asked_already && self.version.spec.desired_update.is_none();
        if is_there {
            return Ok(Outcome::Clean);
        }
        let accepted_before = self.version.status.conditions.find(condition::RELEASE_ACCEPTED).cloned();
        let request = Request { update: ask.update, generation, accepted_before };
        let limit = Some(wait.timeout).filter(|timeout| *timeout > Duration::ZERO);
        follow::until_decided(&self.server, &request, limit).await
    }

    /// Changes the object that was read, and no other.
    async fn patch(&self, mut operations: Vec<PatchOperation>) -> anyhow::Result<Value> {
        operations.extend(unchanged_since(&self.live));
        let body = json!(operations).to_string().into();
        let call = Call::json_patch(&resource(), None, object::VERSION, body, DryRun::No);
        match self.server.send(call).await {
            Ok(answer) => Ok(answer.object),
            Err(Refusal::Stale) => Err(anyhow!(
                "somebody changed the ClusterVersion while this command looked at it; nothing was written. Run it again: it \
                 looks anew"
            )),
            Err(refusal) => Err(anyhow!(refusal.explain(&format!(
                "ClusterVersion {} at {}",
                object::VERSION,
                self.address
            )))),
        }
    }
}

/// Adds annotations to an object that may have none.
fn annotate(live: &Value, annotations: &[(&str, &str)]) -> Vec<PatchOperation> {
    let map = "/metadata/annotations";
    let mut operations = Vec::new();
    if !live["metadata"]["annotations"].is_object() {
        operations.push(PatchOperation::add(map, json!({})));
    }
    operations
        .extend(annotations.iter().map(|(name, value)| PatchOperation::add(pointer(name), json!(value))));
    operations
}

/// Where an annotation is, as a JSON pointer.
fn pointer(annotation: &str) -> String {
    format!("/metadata/annotations/{}", annotation.replace('~', "~0").replace('/', "~1"))
}

fn resource() -> Resource {
    Resource::new(group::CONFIG, "v1", kind::CLUSTER_VERSION, "clusterversions", false)
}

/// A text of the cluster where only a line is shown.
fn one_line(text: &str) -> String {
    text.split('\n').map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Prints lines, whatever the cluster put into them.
fn print_lines(text: &str) -> anyhow::Result<()> {
    let lines: String = text.lines().map(|line| visible(line).into_owned() + "\n").collect();
    output::print(&lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn annotations_are_added_to_an_object_that_has_none() {
        let names = |live: &Value| {
            let operations = annotate(live, &[("lockstep.dev/paused", "true")]);
            operations.into_iter().map(|operation| operation.path).collect::<Vec<_>>()
        };
        let place = "/metadata/annotations/lockstep.dev~1paused";
        assert_eq!(names(&json!({"metadata": {}})), ["/metadata/annotations", place]);
        assert_eq!(names(&json!({"metadata": {"annotations": {"a": "b"}}})), [place]);
    }
}
