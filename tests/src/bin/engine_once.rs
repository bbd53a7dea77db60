//! One run of the engine against the server of a kubeconfig, to be killed by a suite: KUBECONFIG RELEASE MODE ORDER.
#![expect(clippy::print_stderr, reason = "a program for a suite")]

use std::path::Path;
use std::process::ExitCode;

use lockstep_apply::engine;
use lockstep_apply::progress::Outcome;
use lockstep_apply::server::Server;
use lockstep_graph::{InstallOrder, Mode};
use lockstep_tests::real::{once, plan};
use lockstep_tests::{clients, releases};

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [kubeconfig, release, mode, order] = arguments.as_slice() else {
        eprintln!("usage: engine_once KUBECONFIG RELEASE installing|updating flat|run-level");
        return ExitCode::from(2);
    };
    let mode = if mode == "updating" { Mode::Updating } else { Mode::Installing };
    let order = if order == "flat" { InstallOrder::Flat } else { InstallOrder::RunLevel };
    let plan = plan(&releases::load(Path::new(release)), mode, order);
    let server = Server::new(clients::of_file(Path::new(kubeconfig)).await);
    match engine::run(&server, &plan, &once(), |_| {}).await {
        Ok(ending) if ending.outcome == Outcome::Converged => ExitCode::SUCCESS,
        Ok(ending) => {
            eprintln!("{}", ending.missing.join("\n"));
            ExitCode::FAILURE
        }
        Err(refusal) => {
            eprintln!("{}", refusal.explain("the server"));
            ExitCode::FAILURE
        }
    }
}
