//! Flags of `lockstep lab`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::lab_operators::{OperatorsArgs, speed};

#[derive(Debug, Args)]
pub(crate) struct LabArgs {
    #[command(subcommand)]
    pub(crate) command: LabCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LabCommand {
    /// Start an embedded Kubernetes API server on this machine and keep it until Ctrl-C.
    #[command(after_help = "Examples:
  lockstep lab up
  lockstep lab up --listen 127.0.0.1:6443 --kubeconfig ./lab.kubeconfig
  lockstep lab up --scenario slow.yaml --speed 60 --seed 7

Anybody who has the kubeconfig may do everything: there are no permissions. Nothing is stored; what was in the lab is
gone when it ends.")]
    Up(UpArgs),
    /// Play the workloads and operators of a release against any API server that has none of its own.
    Operators(Box<OperatorsArgs>),
}

#[derive(Debug, Args)]
pub(crate) struct UpArgs {
    /// Where to listen; an address of this machine alone. Port 0 picks a free one.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:0", value_parser = address)]
    pub(crate) listen: SocketAddr,
    /// Where to write the kubeconfig; it is removed at the end.
    #[arg(long, value_name = "FILE", default_value = "lab.kubeconfig")]
    pub(crate) kubeconfig: PathBuf,
    /// What happens in the lab; without it everything turns healthy after a while.
    #[arg(long, value_name = "FILE")]
    pub(crate) scenario: Option<PathBuf>,
    /// Only the API server: no nodes, workloads stay as they are written, nothing happens by itself.
    #[arg(long, conflicts_with = "scenario")]
    pub(crate) bare: bool,
    /// How much faster than the clock on the wall time passes in the lab.
    #[arg(long, value_name = "N", default_value = "1", value_parser = speed)]
    pub(crate) speed: f64,
    /// The seed of everything random: names, uids, durations, chances; without it that of the scenario, or 0.
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
}

/// `127.0.0.1:6443`, `[::1]:6443`, `localhost:6443`.
fn address(text: &str) -> Result<SocketAddr, String> {
    let numeric = match text.strip_prefix("localhost:") {
        Some(port) => format!("127.0.0.1:{port}"),
        None => text.to_owned(),
    };
    let advice = "write an address and a port, such as 127.0.0.1:6443; port 0 picks a free one";
    numeric.parse().map_err(|_| advice.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_needs_a_port_and_may_be_localhost() {
        for (text, expected) in
            [("127.0.0.1:6443", "127.0.0.1:6443"), ("localhost:1", "127.0.0.1:1"), ("[::1]:0", "[::1]:0")]
        {
            assert_eq!(address(text), Ok(expected.parse().unwrap()), "{text}");
        }
        for text in ["", "6443", "127.0.0.1", "localhost", "example.com:1", "127.0.0.1:99999"] {
            assert!(address(text).unwrap_err().contains("127.0.0.1:6443"), "{text}");
        }
    }

    #[test]
    fn time_does_not_stand_still_or_go_back() {
        assert_eq!(speed("0.5"), Ok(0.5));
        for text in ["0", "-1", "NaN", "inf", "fast", "1e300"] {
            assert!(speed(text).is_err(), "{text}");
        }
    }
}
