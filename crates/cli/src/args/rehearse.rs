//! Flags of `lockstep rehearse` and `lockstep replay`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::apply::EventOutput;
use super::cluster::duration;
use super::{InstallOrderArg, RegistryArgs, SelectionArgs};
use crate::lab_operators::speed;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  lockstep rehearse
  lockstep rehearse examples/releases/1.1.0 --from examples/releases/1.0.0
  lockstep rehearse --scenario examples/scenarios/slow-dns.yaml --report rehearsal.html
  lockstep rehearse --speed 60

It starts an embedded API server, plays the workloads and operators of the release, and brings the release to it with
the same engine as `lockstep apply`. Time is virtual: an hour takes a moment, and the same seed gives the same run.

Exit codes: 0 it converges, 1 it does not, with the cause, 2 wrong usage.")]
pub(crate) struct RehearseArgs {
    /// The release: a folder, `oci:DIR[:TAG]`, an archive or a pull spec; without it the bundled example release.
    #[arg(value_name = "RELEASE")]
    pub(crate) release: Option<String>,
    /// A release that is installed first; then the update to RELEASE is rehearsed.
    #[arg(long, value_name = "RELEASE")]
    pub(crate) from: Option<String>,
    /// Order of an installation: all components side by side, or run level after run level.
    #[arg(long, value_enum, default_value_t = InstallOrderArg::Flat, value_name = "ORDER")]
    pub(crate) install_order: InstallOrderArg,
    /// What operators, workloads and people do; without it everything turns healthy after believable durations.
    #[arg(long, value_name = "FILE")]
    pub(crate) scenario: Option<PathBuf>,
    /// Show it so many times as fast as it would be; without it there is no pause at all.
    #[arg(long, value_name = "N", value_parser = speed)]
    pub(crate) speed: Option<f64>,
    /// Seed of all random draws; without it that of the scenario, or 0.
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// When an act is given up, in the time of the rehearsal.
    #[arg(long, value_name = "TIME", default_value = "3h", value_parser = duration)]
    pub(crate) timeout: Duration,
    /// For how long the cluster is watched after it got there, in the time of the rehearsal.
    #[arg(long, value_name = "TIME", default_value = "0", value_parser = duration)]
    pub(crate) hold: Duration,
    /// Write a report with a Gantt chart and the graph: one self-contained HTML file.
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
    /// Write every event to this file, for `lockstep replay`.
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
    /// Form of the output: text is a display and a summary, json the summary alone, jsonl every event.
    #[arg(short, long, value_enum, default_value_t = RehearseOutput::Text)]
    pub(crate) output: RehearseOutput,
    /// A line for every step of every object instead of the live display.
    #[arg(short, long)]
    pub(crate) verbose: bool,
    #[command(flatten)]
    pub(crate) selection: SelectionArgs,
    #[command(flatten)]
    pub(crate) registry: RegistryArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RehearseOutput {
    Text,
    Json,
    Jsonl,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  lockstep replay update.jsonl
  lockstep replay update.jsonl --speed 60")]
pub(crate) struct ReplayArgs {
    /// What `--record` of `lockstep apply` or `lockstep rehearse` wrote.
    #[arg(value_name = "FILE")]
    pub(crate) recording: PathBuf,
    /// How many times as fast as it was.
    #[arg(long, value_name = "N", default_value = "1", value_parser = speed)]
    pub(crate) speed: f64,
    /// Form of the output: text is a live display on a terminal and lines elsewhere, jsonl is every event.
    #[arg(short, long, value_enum, default_value_t = EventOutput::Text)]
    pub(crate) output: EventOutput,
    /// A line for every step of every object instead of the live display.
    #[arg(short, long)]
    pub(crate) verbose: bool,
}
