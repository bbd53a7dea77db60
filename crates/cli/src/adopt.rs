//! `lockstep adopt`: shows what would happen, asks, does it.

use std::io::{self, BufRead as _, IsTerminal as _};
use std::sync::Arc;

use anyhow::{Context as _, anyhow};
use tokio::runtime::Runtime;

use lockstep_api::names::{namespace, object};
use lockstep_api::text::visible;
use lockstep_apply::preview::{self, Preview};
use lockstep_apply::server::Server;
use lockstep_operator::adopt::{Adoption, Outlook, Progress, Summary};

use crate::args::{AdoptArgs, ApplyMode, DiffOutput, InstallOrderArg, PlanArgs, Source};
use crate::exit::{Outcome, UsageError};
use crate::stop::Stop;
use crate::target::{self, Target};
use crate::{cluster, diff, output};

/// How many objects are named before they are only counted.
const NAMED: usize = 20;

pub(crate) fn run(args: &AdoptArgs) -> anyhow::Result<Outcome> {
    if !args.yes && !args.dry_run && !io::stdin().is_terminal() {
        let message =
            "adopt stops an operator and asks before it does; without a terminal give --yes or --dry-run";
        return Err(UsageError(message.to_owned()).into());
    }
    let runtime = Runtime::new().context("starting the threads of the client")?;
    let outcome = runtime.block_on(async {
        let mut stop = Stop::new().context("waiting for signals")?;
        tokio::select! {
            biased;
            () = stop.wait() => {
                output::note("stopped; what was done stays, and the same command goes on from there");
                Ok(Outcome::Interrupted)
            }
            outcome = async { if args.revert { revert(args).await } else { adopt(args).await } } => outcome,
        }
    });
    runtime.shutdown_background();
    outcome
}

async fn adopt(args: &AdoptArgs) -> anyhow::Result<Outcome> {
    let target = target::prepare(&plan_args(args), &args.cluster).await?;
    let adoption = adoption(args, target.server.clone());
    differences(&target, "The cluster and the release differ in this; the next apply changes it:").await?;
    let outlook = adoption.look(&target.plan).await?;
    output::print(&text(&outlook))?;
    if outlook.moves.is_empty() && outlook.labels.is_empty() && !outlook.stops_operator {
        output::print("Nothing is left to adopt\n")?;
        return Ok(left(outlook.unknown.len()));
    }
    if args.dry_run {
        return Ok(Outcome::Clean);
    }
    if !is_wanted(args, "adopt the cluster? [y/N] ")? {
        return Ok(Outcome::Clean);
    }
    let summary = adoption.adopt(&target.plan, tell).await?;
    output::print(&format!(
        "Adopted: the owner entries of {} are ours, {} got our label\n",
        objects(summary.entries),
        objects(summary.labels)
    ))?;
    // Only now can the server tell what was there by the other operator's will alone.
    differences(&target, "The next apply of this release changes:").await?;
    if outlook.brings_reference {
        output::note(
            "the release brings the Deployment of the other operator: `lockstep operator` leaves it at 0, `lockstep apply` \
             would start it again",
        );
    }
    output::note("`lockstep adopt --revert` gives the cluster back");
    Ok(left(summary.refused + outlook.unknown.len()))
}

async fn revert(args: &AdoptArgs) -> anyhow::Result<Outcome> {
    let cluster = cluster::connect(&args.cluster).await?;
    let server = Server::new(cluster.client).with_timeout(cluster.request_timeout);
    if !is_wanted(args, "give the cluster back to the operator that had it? [y/N] ")? {
        return Ok(Outcome::Clean);
    }
    let Summary { entries, labels, refused } = adoption(args, server).revert(tell).await?;
    output::print(&format!(
        "Given back: the former owner entries of {} are restored, {} more lost our label\n",
        objects(entries),
        objects(labels)
    ))?;
    if refused > 0 {
        output::warn(
            "the other operator was not started, because something is left; correct it and run this again",
        );
    }
    Ok(left(refused))
}

fn adoption(args: &AdoptArgs, server: Server) -> Adoption {
    let process = std::process::id();
    Adoption {
        server,
        namespace: namespace::CLUSTER_VERSION.to_owned(),
        lease: object::VERSION.to_owned(),
        set: args.set.clone(),
        // Never that of another process, also after this one was killed.
        identity: format!("lockstep-adopt-{process}-{}", jiff::Timestamp::now().as_millisecond()),
        clock: Arc::new(jiff::Timestamp::now),
        patience: args.timeout,
        seed: u64::from(process),
    }
}

fn plan_args(args: &AdoptArgs) -> PlanArgs {
    PlanArgs {
        source: Source {
            release: args.release.clone().unwrap_or_default(),
            selection: args.selection.clone(),
            registry: args.registry.clone(),
        },
        mode: ApplyMode::Updating,
        install_order: InstallOrderArg::Flat,
        set: args.set.clone(),
    }
}

/// Prints what an apply would change besides our label.
async fn differences(target: &Target, heading: &str) -> anyhow::Result<()> {
    let previews = preview::preview(&target.server, &target.plan).await;
    let cluster = format!("the cluster at {}", target.address);
    let previews = previews.map_err(|refusal| anyhow!(refusal.explain(&cluster)))?;
    let differences: Vec<Preview> = previews.into_iter().map(Preview::without_label).collect();
    output::print(&format!("{heading}\n"))?;
    diff::show(&target.plan, &differences, DiffOutput::Text)
}

/// What would happen, for people.
fn text(outlook: &Outlook) -> String {
    let Outlook { moves, labels, others, deployment, unknown, .. } = outlook;
    let mut lines = vec![deployment.clone()];
    for (names, what) in [
        (moves, "change their owner entry from cluster-version-operator to lockstep"),
        (labels, "are only created, never changed, and get the label lockstep.dev/payload"),
        (unknown, "cannot be looked at and stay as they are"),
    ] {
        if names.is_empty() {
            continue;
        }
        lines.push(format!("{} {what}:", objects(names.len())));
        lines.extend(names.iter().take(NAMED).map(|name| format!("  {name}")));
        if names.len() > NAMED {
            lines.push(format!("  and {} more", names.len() - NAMED));
        }
    }
    lines.push(format!("{} of the release stay as they are", objects(*others)));
    lines.iter().map(|line| visible(line).into_owned() + "\n").collect()
}

fn tell(progress: Progress) {
    match progress {
        Progress::Scaled { replicas } => {
            output::note(&format!("the Deployment of the other operator is scaled to {replicas}"));
        }
        Progress::Held { holder } => output::note(&format!("waiting: {holder} still holds the Lease")),
        Progress::Done { done, total } => output::note(&format!("{done} of {} done", objects(total))),
        Progress::Left(why) => output::warn(&why),
    }
}

fn is_wanted(args: &AdoptArgs, question: &str) -> anyhow::Result<bool> {
    if args.yes {
        return Ok(true);
    }
    output::tell(question);
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

fn objects(count: usize) -> String {
    if count == 1 { "1 object".to_owned() } else { format!("{count} objects") }
}

fn left(count: usize) -> Outcome {
    if count == 0 { Outcome::Clean } else { Outcome::Findings }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_objects_are_named_up_to_a_limit_and_then_counted() {
        let outlook = Outlook {
            moves: (0..25).map(|number| format!("ConfigMap a/{number}")).collect(),
            labels: vec!["ConfigMap a/once".to_owned()],
            others: 3,
            deployment: "Deployment a/b is scaled from 1 to 0".to_owned(),
            stops_operator: true,
            brings_reference: false,
            unknown: Vec::new(),
        };
        let text = text(&outlook);
        assert!(text.starts_with("Deployment a/b is scaled from 1 to 0\n25 objects change"), "{text}");
        assert!(text.contains("  ConfigMap a/19\n  and 5 more\n1 object"), "{text}");
        assert!(
            !text.contains("cannot be looked at")
                && text.ends_with("3 objects of the release stay as they are\n")
        );
    }
}
