//! The `lockstep` command.

mod adopt;
mod apply;
mod args;
mod bundle;
mod cluster;
mod conformance;
mod diff;
mod display;
mod entry_point;
mod exit;
mod flow;
mod lab;
mod lab_operators;
mod logging;
mod meta;
mod operator;
mod output;
mod prune;
mod rehearse;
mod release;
mod replay;
mod report;
mod status;
mod stop;
mod target;
mod top;
mod upgrade;
mod wait_for;
mod why;

use std::process::ExitCode;

use clap::Parser as _;

use args::{Cli, Command, LabCommand, ReleaseCommand};

// Reading a release takes fifty megabytes for a moment, and whoever keeps a cluster at it runs for months. The system's
// allocator keeps what it once had, and so does mimalloc; this one gives it back within seconds.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    // One choice for everything that speaks TLS; it fails only where somebody chose before, and nobody does.
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let cli = Cli::parse();
    output::choose_color(cli.color);
    let outcome = match cli.command {
        Command::Release(args) => match args.command {
            ReleaseCommand::New(args) => release::new::run(&args),
            ReleaseCommand::Info(args) => release::info::run(&args),
            ReleaseCommand::Objects(args) => release::objects::run(&args),
            ReleaseCommand::Graph(args) => release::graph::run(&args),
            ReleaseCommand::Lint(args) => release::lint::run(&args),
            ReleaseCommand::Diff(args) => release::diff::run(&args),
            ReleaseCommand::Mirror(args) => release::mirror::run(&args),
            ReleaseCommand::Extract(args) => release::extract::run(&args),
            ReleaseCommand::Rbac(args) => release::rbac::run(&args),
            ReleaseCommand::BaseImage(args) => release::base_image::run(&args),
        },
        Command::Apply(args) => apply::run(&args),
        Command::Diff(args) => diff::run(&args),
        Command::Adopt(args) => adopt::run(&args),
        Command::Render(args) => entry_point::render(&args),
        Command::Image(args) => entry_point::image(&args),
        Command::Status(args) => status::run(&args),
        Command::Top(args) => top::run(&args),
        Command::Report(args) => report::run(&args),
        Command::Upgrade(args) => upgrade::run(&args),
        Command::Why(args) => why::why(&args),
        Command::Gather(args) => why::gather(&args),
        Command::WaitFor(args) => wait_for::run(&args),
        Command::Rehearse(args) => rehearse::run(&args),
        Command::Replay(args) => replay::run(&args),
        Command::Conformance(args) => conformance::run(&args),
        Command::Operator(args) => operator::run(&args),
        Command::Lab(args) => match args.command {
            LabCommand::Up(args) => lab::up(&args),
            LabCommand::Operators(args) => lab_operators::run(&args),
        },
        Command::Version(args) => meta::version(&args),
        Command::Completion(args) => meta::completion(&args),
        Command::Man(args) => meta::man(&args),
    };
    exit::code(outcome)
}
