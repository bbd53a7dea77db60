//! `lockstep why` and `lockstep gather`: the cause of what is wrong, now or from a folder.

use anyhow::{Context as _, anyhow};
use jiff::Timestamp;
use tokio::runtime::Runtime;

use lockstep_api::text::visible;
use lockstep_apply::server::Server;
use lockstep_converge::gather::{self, Camera};
use lockstep_health::why::{About, Diagnosis, Snapshot, about, diagnose, told};

use crate::args::{ClusterArgs, GatherArgs, KnownRelease, WhyArgs, WhyOutput};
use crate::exit::Outcome;
use crate::status::known_release;
use crate::{cluster, output};

pub(crate) fn why(args: &WhyArgs) -> anyhow::Result<Outcome> {
    let picture = match &args.from {
        Some(folder) => match gather::read(folder) {
            Ok(picture) => picture,
            Err(error) => {
                output::error(&anyhow!(error).context("reading what was gathered"));
                return Ok(Outcome::Unknown);
            }
        },
        None => look(&args.cluster, &args.release)?,
    };
    let mut diagnosis = diagnose(&picture);
    if let Some(what) = &args.about {
        diagnosis = about(diagnosis, &About::read(what));
    }
    match args.output {
        WhyOutput::Json => output::print(&format!("{}\n", serde_json::to_string_pretty(&diagnosis)?))?,
        WhyOutput::Text => output::print(&shown(&told(&diagnosis)))?,
    }
    Ok(if is_well(&diagnosis) { Outcome::Clean } else { Outcome::Findings })
}

pub(crate) fn gather(args: &GatherArgs) -> anyhow::Result<Outcome> {
    let picture = look(&args.cluster, &args.release)?;
    if !picture.api_error.is_empty() {
        return Err(anyhow!(
            "{}; nothing was written. `lockstep why` says what can be seen from here",
            picture.api_error
        ));
    }
    gather::write(&picture, &args.folder).context("writing what was gathered")?;
    let objects: usize = picture.objects.values().map(Vec::len).sum();
    output::print(&format!(
        "{objects} objects of {} kinds are in {}; `lockstep why --from {}` reads them\n",
        picture.objects.len(),
        args.folder.display(),
        args.folder.display()
    ))?;
    Ok(Outcome::Clean)
}

/// The causes of what is wrong in a cluster, for who has just found out that something is.
pub(crate) async fn causes(server: &Server, address: &str) -> Diagnosis {
    diagnose(&Camera { server, address, now: Timestamp::now() }.picture().await)
}

fn look(args: &ClusterArgs, known: &KnownRelease) -> anyhow::Result<Snapshot> {
    let runtime = Runtime::new().context("starting the threads of the client")?;
    let picture = runtime.block_on(async {
        let payload = known_release(known).await?.as_ref().map(gather::expected);
        let cluster = cluster::connect(args).await?;
        let server = Server::new(cluster.client).with_timeout(cluster.request_timeout);
        let camera = Camera { server: &server, address: &cluster.address, now: Timestamp::now() };
        anyhow::Ok(Snapshot { payload, ..camera.picture().await })
    });
    runtime.shutdown_background();
    picture
}

fn is_well(diagnosis: &Diagnosis) -> bool {
    diagnosis.causes.is_empty() && diagnosis.unhealthy.is_empty() && diagnosis.unexplained.is_empty()
}

/// Text of the cluster, line by line.
fn shown(text: &str) -> String {
    text.lines().map(|line| visible(line).into_owned() + "\n").collect()
}
