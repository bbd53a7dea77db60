//! `lockstep conformance`: does an operator keep to the protocol?

use std::path::Path;

use anyhow::Context as _;
use jiff::Timestamp;
use tokio::runtime::Runtime;

use lockstep_apply::server::Server;
use lockstep_converge::conformance::{read_folder, watch};
use lockstep_health::conformance::{Finding, manifests, output as form, running};

use crate::args::{ConformanceArgs, ConformanceOutput};
use crate::exit::{Outcome, UsageError};
use crate::stop::Stop;
use crate::{cluster, output};

/// One operator is watched: whose pauses are drawn does not matter.
const SEED: u64 = 1;

pub(crate) fn run(args: &ConformanceArgs) -> anyhow::Result<Outcome> {
    let (subject, findings) = match (&args.manifests, &args.name) {
        (Some(folder), _) => of_folder(folder)?,
        (None, Some(name)) => {
            let runtime = Runtime::new().context("starting the threads of the client")?;
            let found = runtime.block_on(of_operator(args, name));
            runtime.shutdown_background();
            match found? {
                Some(found) => found,
                None => return Ok(Outcome::Interrupted),
            }
        }
        (None, None) => {
            return Err(UsageError("name a ClusterOperator, or give --manifests DIR".into()).into());
        }
    };
    match args.output {
        ConformanceOutput::Text => output::print(&form::text(&subject, &findings))?,
        ConformanceOutput::Json => output::print_json(&form::json(&subject, &findings))?,
    }
    let is_broken = findings.iter().any(|finding| finding.outcome.is_fail());
    Ok(if is_broken { Outcome::Findings } else { Outcome::Clean })
}

fn of_folder(folder: &Path) -> anyhow::Result<(String, Vec<Finding>)> {
    // What cannot be read was not checked, which is not the same as bad.
    let read = read_folder(folder).map_err(|error| UsageError(format!("{:#}", anyhow::Error::new(error))))?;
    Ok((folder.display().to_string(), manifests(&read)))
}

async fn of_operator(args: &ConformanceArgs, name: &str) -> anyhow::Result<Option<(String, Vec<Finding>)>> {
    let mut stop = Stop::new().context("waiting for signals")?;
    let cluster = cluster::connect(&args.cluster).await?;
    let server = Server::new(cluster.client).with_timeout(cluster.request_timeout);
    output::note(&format!("watching clusteroperator/{name} of {} for {:?}", cluster.address, args.limit));
    let history = tokio::select! {
        biased;
        () = stop.wait() => return Ok(None),
        history = watch(&server, name, args.limit, SEED, Timestamp::now) => history,
    };
    let history = history.map_err(|error| UsageError(error.to_string()))?;
    Ok(Some((format!("clusteroperator/{name}"), running(&history))))
}
