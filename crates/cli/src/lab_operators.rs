//! `lockstep lab operators`: the scripted workloads and operators of a release, against any API server.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use clap::Args;
use kube::Config;
use kube::config::{KubeConfigOptions, Kubeconfig};

use lockstep_lab::{Clock, ReleaseFacts, Scenario, World};

use crate::args::Source;
use crate::exit::{Outcome, UsageError};
use crate::release::Loaded;
use crate::{output, release};

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  lockstep lab operators ./4.20.0 --kubeconfig ./kubeconfig
  lockstep lab operators examples/releases/1.0.0 --scenario examples/scenarios/slow-dns.yaml --speed 60

It plays the controllers of workloads and the operators of the release until Ctrl-C. Use it only with an API server
that has no controller manager and no operators of its own: two of them fight.")]
pub(crate) struct OperatorsArgs {
    /// The kubeconfig of the API server; without it that of `KUBECONFIG`. There is no other default: it writes a lot.
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// The scenario; without it everything is healthy at once and there are no Pods.
    #[arg(long, value_name = "FILE")]
    scenario: Option<PathBuf>,
    /// Seed of all random draws; without it that of the scenario, or 0.
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// How many times faster than real durations pass.
    #[arg(long, value_name = "N", default_value_t = 1.0, value_parser = speed)]
    speed: f64,
    /// The release that is expected next (repeatable): its operators report its versions once their Deployments run it.
    #[arg(long, value_name = "RELEASE")]
    then: Vec<String>,
    /// Do not tell what happens.
    #[arg(short, long)]
    quiet: bool,
    #[command(flatten)]
    source: Source,
}

/// A factor by which time runs faster; beyond these bounds durations make no sense.
pub(crate) fn speed(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(speed) if (0.01..=100_000.0).contains(&speed) => Ok(speed),
        _ => Err("write a number from 0.01 to 100000, such as 60 for a minute per second".into()),
    }
}

pub(crate) fn run(args: &OperatorsArgs) -> anyhow::Result<Outcome> {
    let scenario = match &args.scenario {
        Some(file) => read_scenario(file)?,
        None => Scenario::instant(),
    };
    if !scenario.faults.is_empty() {
        output::warn("the faults of the scenario are left out: only the embedded API server obeys them");
    }
    let facts = facts(args)?;
    let kubeconfig = kubeconfig(args.kubeconfig.as_deref())?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(play(args, kubeconfig, scenario, facts))
}

/// Reads a scenario file; what is wrong with it is wrong usage.
pub(crate) fn read_scenario(file: &Path) -> anyhow::Result<Scenario> {
    let bytes = fs::read(file).with_context(|| format!("reading scenario {}", file.display()))?;
    Scenario::read(&file.display().to_string(), &bytes).map_err(|error| UsageError(error.to_string()).into())
}

fn facts(args: &OperatorsArgs) -> anyhow::Result<ReleaseFacts> {
    let Loaded { release: first, selection, .. } = release::open(&args.source)?;
    release::tell_skipped(&first);
    let mut facts = ReleaseFacts::of(&first, &selection);
    for then in &args.then {
        let source = Source {
            release: then.clone(),
            selection: args.source.selection.clone(),
            registry: args.source.registry.clone(),
        };
        let Loaded { release: next, selection, .. } = release::open(&source)?;
        facts = facts.followed_by(ReleaseFacts::of(&next, &selection));
    }
    Ok(facts)
}

async fn play(
    args: &OperatorsArgs,
    kubeconfig: Kubeconfig,
    scenario: Scenario,
    facts: ReleaseFacts,
) -> anyhow::Result<Outcome> {
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    let client = lockstep_apply::server::connect(config)?;
    let version = client.apiserver_version().await.context("asking the API server for its version")?;
    let seed = args.seed.or(scenario.seed).unwrap_or_default();
    output::note(&format!(
        "playing {} operators against Kubernetes {}, seed {seed}; end with Ctrl-C",
        facts.count(),
        version.git_version
    ));
    let clock = Arc::new(Clock::real(args.speed));
    let mut world = World::new(client, scenario, Some(facts), clock, seed);
    if !args.quiet {
        world = world.with_log(|line| drop(output::print(&format!("{line}\n"))));
    }
    tokio::select! {
        error = world.run() => Err(error.into()),
        _ = tokio::signal::ctrl_c() => Ok(Outcome::Clean),
    }
}

/// The kubeconfig that was named. That of every day is no default: what is played there would break a cluster in use.
fn kubeconfig(named: Option<&Path>) -> anyhow::Result<Kubeconfig> {
    match named {
        Some(file) => {
            Kubeconfig::read_from(file).with_context(|| format!("reading kubeconfig {}", file.display()))
        }
        None => {
            Kubeconfig::from_env().context("reading the kubeconfig that KUBECONFIG names")?.ok_or_else(|| {
                UsageError("no API server is named; give --kubeconfig FILE, or set KUBECONFIG".into()).into()
            })
        }
    }
}
