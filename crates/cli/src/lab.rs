//! `lockstep lab`: an embedded cluster for people.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context as _;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

use lockstep_lab::{
    Clock, KubeconfigError, Lab, LabOptions, LogLine, Login, RuleError, Scenario, ServeError, ServeOptions,
    Serving, World, serve,
};
use lockstep_schema::Schema;

use crate::args::UpArgs;
use crate::exit::{Outcome, UsageError};
use crate::lab_operators::read_scenario;
use crate::output;
use crate::stop::Stop;

/// `lockstep lab up`
pub(crate) fn up(args: &UpArgs) -> anyhow::Result<Outcome> {
    let runtime = Runtime::new().context("starting the threads of the lab")?;
    runtime.block_on(serve_until_stopped(args))
}

async fn serve_until_stopped(args: &UpArgs) -> anyhow::Result<Outcome> {
    // Before anything is announced: whoever reads the announcement may stop us at once.
    let mut stop = Stop::new().context("waiting for signals")?;
    let scenario = match &args.scenario {
        Some(file) => read_scenario(file)?,
        None => Scenario::default(),
    };
    let seed = args.seed.or(scenario.seed).unwrap_or_default();
    let clock = Arc::new(Clock::real(args.speed));
    let lab = Lab::new(LabOptions { seed, clock: Arc::clone(&clock), ..LabOptions::default() });
    add_faults(&lab, &scenario)?;
    let serving = serve(lab.router(), ServeOptions::new(args.listen)).await.map_err(usage_of_serve)?;
    let mut tasks = JoinSet::new();
    if args.bare {
        tasks.spawn(std::future::pending());
    } else {
        let world = World::new(lab.world_client(), scenario, None, clock, seed).with_log(problems());
        tasks.spawn(world.run());
    }
    let announcement = announcement(args, seed, &serving)?;
    let replaced = serving.write_kubeconfig(&args.kubeconfig, Login::Token).map_err(usage_of_kubeconfig)?;
    if let Some(url) = replaced {
        let file = args.kubeconfig.display();
        output::note(&format!("`{file}` was that of a lab at {url}, and is replaced"));
    }
    if let Err(error) = output::print(&announcement) {
        serving.remove_kubeconfig(&args.kubeconfig)?;
        return Err(error);
    }

    let ended = tokio::select! {
        biased;
        () = stop.wait() => None,
        ended = tasks.join_next() => ended,
    };
    let removed = serving.remove_kubeconfig(&args.kubeconfig);
    let end = async {
        serving.shutdown().await;
        drop(tasks);
    };
    // Whoever is in a hurry asks twice.
    tokio::select! {
        biased;
        () = end => {}
        () = stop.wait() => {}
    }
    removed?;
    match ended {
        None => Ok(Outcome::Clean),
        Some(Ok(error)) => Err(anyhow::Error::new(error).context("the scripted world of the lab ended")),
        Some(Err(error)) => Err(anyhow::Error::new(error).context("the scripted world of the lab ended")),
    }
}

/// Tells the problems of the world, each once: what fails is tried again every second.
fn problems() -> impl Fn(LogLine) + Send + Sync + 'static {
    let told = Mutex::new(BTreeSet::new());
    move |line| {
        let mut told = told.lock().unwrap_or_else(PoisonError::into_inner);
        if line.is_problem && told.len() < MOST_PROBLEMS && told.insert(line.text.clone()) {
            output::warn(&line.to_string());
        }
    }
}

/// How many problems of the world are told; who has seen these knows that something is wrong.
const MOST_PROBLEMS: usize = 1000;

/// Adds the faults of a scenario; what is wrong with them is wrong usage.
fn add_faults(lab: &Lab, scenario: &Scenario) -> anyhow::Result<()> {
    for (index, rule) in scenario.faults.iter().enumerate() {
        let wrong = |error: RuleError| UsageError(format!("the scenario: faults[{index}]: {error}"));
        lab.faults().add(rule.clone()).map_err(wrong)?;
    }
    Ok(())
}

/// How to use the lab that is up.
fn announcement(args: &UpArgs, seed: u64, serving: &Serving) -> anyhow::Result<String> {
    let file = std::path::absolute(&args.kubeconfig).context("finding the folder of the kubeconfig")?;
    let pace = match args.speed {
        1.0 => String::new(),
        factor => format!(", {factor} times as fast as the clock on the wall"),
    };
    Ok(format!(
        "The lab is up at {}: Kubernetes {}, seed {}{pace}.

  export KUBECONFIG={}
  kubectl get namespaces

Ctrl-C ends it and removes the kubeconfig.
",
        serving.url(),
        Schema::builtin().kubernetes,
        seed,
        quoted(&file),
    ))
}

/// A path as a shell takes it.
fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let is_plain = |letter: char| letter.is_alphanumeric() || "/._-+:@".contains(letter);
    if text.chars().all(is_plain) { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

fn usage_of_serve(error: ServeError) -> anyhow::Error {
    match error {
        error @ ServeError::NotLoopback(_) => UsageError(format!("--listen: {error}")).into(),
        error => error.into(),
    }
}

fn usage_of_kubeconfig(error: KubeconfigError) -> anyhow::Error {
    match error {
        error @ KubeconfigError::Foreign(_) => UsageError(error.to_string()).into(),
        error => error.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_with_spaces_survives_the_shell() {
        assert_eq!(quoted(Path::new("/a/b-c.kubeconfig")), "/a/b-c.kubeconfig");
        assert_eq!(quoted(Path::new("/a b/it's")), r"'/a b/it'\''s'");
    }
}
