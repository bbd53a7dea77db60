//! Plays a story: the lab with its world, three replicas, people, and a look at what is there in the end.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use futures::future::join_all;
use http::Request;
use lockstep_apply::kinds::Resource;
use lockstep_apply::server::Server;
use lockstep_apply::watch::{Seen, Watched, watch as follow};
use lockstep_lab::{Clock, Lab, LabOptions, Rule, Scenario, World};
use lockstep_operator::clock;
use serde_json::Value;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use super::editions::Editions;
use super::observer::Observer;
use super::replica::Place;
use super::story::{Deed, Story};
use crate::operator::{DEPLOYMENT, Failures, Observer as Listener, VERSION, bring_version, condition};
use crate::simulation::Tally;
use crate::simulation::tally::name_of;

/// When everything must be as it was asked for.
const CONVERGED: Duration = Duration::from_mins(27);
/// When the story ends.
const END: Duration = Duration::from_mins(30);

/// Plays a story; gives what was reached or what broke, and what happened.
pub(crate) async fn play(
    seed: u64,
    story: &Story,
    editions: &Editions,
) -> (Result<Tally, Vec<String>>, Vec<String>) {
    let clock = Arc::new(Clock::simulated());
    let options =
        LabOptions { seed, clock: Arc::clone(&clock), window: story.window, ..LabOptions::default() };
    let lab = Arc::new(Lab::new(options));
    let observer = Observer::new(Arc::clone(&lab), &story.killing_writes);
    let outcome = stage(seed, story, editions, &lab, &observer).await;
    for report in lab.faults().list() {
        for _ in 0..report.hits.min(1) {
            observer.count(name_of(&report.rule.effect));
        }
    }
    let (lines, broken, tally) = observer.end();
    let broken = [broken, outcome.err().unwrap_or_default()].concat();
    let plain = |lines: Vec<String>| lines.iter().map(|line| editions.plain(line)).collect::<Vec<_>>();
    (if broken.is_empty() { Ok(tally) } else { Err(plain(broken)) }, plain(lines))
}

async fn stage(
    seed: u64,
    story: &Story,
    editions: &Editions,
    lab: &Arc<Lab>,
    observer: &Observer,
) -> Result<(), Vec<String>> {
    let begin = Instant::now();
    let world = lab.world_client();
    let scenario = Scenario::read("generated", story.scenario.to_string().as_bytes());
    let scenario = scenario.map_err(|error| vec![format!("the generated scenario: {error}")])?;
    let mut tasks = JoinSet::new();
    let clock = Arc::clone(lab.clock());
    let play = World::new(lab.world_client(), scenario, Some(editions.facts()), clock, seed);
    tasks.spawn(async move { format!("the scripted world ended: {}", play.run().await) });
    bring_version(&world).await;
    let listener = Listener::start(Server::new(lab.world_client()));
    for fault in &story.faults {
        let rule: Result<Rule, _> = serde_json::from_value(fault.clone());
        let rule = rule.map_err(|error| vec![format!("a generated fault: {error}")])?;
        lab.faults().add(rule).map_err(|error| vec![format!("a generated fault: {error}")])?;
    }
    let deployed = kubelet(Server::new(lab.world_client()), editions, &mut tasks);
    let now = clock::of_runtime(lab.clock().now());
    let replicas = story.fates.iter().enumerate().map(|(number, fates)| {
        let place = Place {
            number,
            seed,
            editions: &editions.all,
            observer: observer.clone(),
            clock: now.clone(),
            deployed: deployed.clone(),
        };
        place.live(fates)
    });
    let replicas = join_all(replicas);
    let script = async {
        for deed in &story.deeds {
            sleep_until(begin + deed.at).await;
            act(&world, observer, deed).await;
        }
        sleep_until(begin + CONVERGED).await;
        let broken = look(&world, story, editions, &listener, observer).await;
        observer.quiet();
        sleep_until(begin + END).await;
        broken
    };
    let mut broken = tokio::select! {
        biased;
        broken = script => broken,
        _ = replicas => vec!["the replicas ended".to_owned()],
        Some(ended) = tasks.join_next() => vec![ended.unwrap_or_else(|error| error.to_string())],
    };
    broken.extend(listener.broken_laws(Failures::Expected));
    if broken.is_empty() { Ok(()) } else { Err(broken) }
}

/// Follows the operator's Deployment: its release is what replicas run.
fn kubelet(server: Server, editions: &Editions, tasks: &mut JoinSet<String>) -> watch::Receiver<usize> {
    let images = [0, 1].map(|edition: usize| editions.all[edition].image());
    let (sender, deployed) = watch::channel(0);
    let watched = Watched {
        resource: Resource::new("apps", "v1", "Deployment", "deployments", true),
        namespace: Some("openshift-cluster-version".to_owned()),
        label_selector: None,
        field_selector: None,
        metadata_only: false,
    };
    let mut events = follow(server, watched, 11);
    tasks.spawn(async move {
        while let Some(seen) = events.next().await {
            let Seen::Object(live) = seen else { continue };
            let image = &live["spec"]["template"]["spec"]["containers"][0]["image"];
            let found = images.iter().position(|known| image == known);
            if let Some(found) = found {
                sender.send_if_modified(|before| std::mem::replace(before, found) != found);
            }
        }
        "the kubelet ended".to_owned()
    });
    deployed
}

/// Somebody does something.
async fn act(world: &kube::Client, observer: &Observer, deed: &Deed) {
    let (method, body) = match &deed.patch {
        Some(patch) => ("PATCH", patch.to_string()),
        None => ("DELETE", String::new()),
    };
    let path =
        if deed.patch.is_some() { format!("{}?fieldManager=alice", deed.path) } else { deed.path.clone() };
    let request =
        Request::builder().method(method).uri(path).header("content-type", "application/merge-patch+json");
    let Ok(request) = request.body(body.into_bytes()) else { return };
    let done = world.request::<Value>(request).await;
    observer.say(&format!(
        "people: {} {} {}",
        deed.name,
        deed.path,
        if done.is_ok() { "" } else { "(in vain)" }
    ));
    if done.is_ok() {
        let prefix = if deed.name.starts_with("ask") { "" } else { "deed " };
        observer.count(format!("{prefix}{}", deed.name));
    } else if deed.path == VERSION {
        observer.breaks(format!("{}: {done:?}", deed.name));
    }
}

async fn get(world: &kube::Client, path: &str) -> Value {
    let Ok(request) = Request::get(path).body(Vec::new()) else { return Value::Null };
    world.request(request).await.unwrap_or_default()
}

/// Whether the cluster is where it was asked to be, and says so.
async fn look(
    world: &kube::Client,
    story: &Story,
    editions: &Editions,
    listener: &Listener,
    observer: &Observer,
) -> Vec<String> {
    let mut broken = Vec::new();
    let version = get(world, VERSION).await;
    let deployment = get(world, DEPLOYMENT).await;
    let image = deployment["spec"]["template"]["spec"]["containers"][0]["image"].as_str().unwrap_or_default();
    // Of whom nothing is asked stays where the deployed operator comes from.
    let Some(edition) = story.asked.or_else(|| editions.find(image)) else {
        return vec![format!("nothing is deployed: {deployment}")];
    };
    let edition_name = ["end at the first release", "end at the next release"][edition];
    observer.count(edition_name);
    let edition = &editions.all[edition];
    let newest = &version["status"]["history"][0];
    if newest["version"] != edition.version || newest["state"] != "Completed" {
        broken.push(format!("not at {}: {:#}", edition.version, version["status"]));
    }
    for (kind, wanted) in
        [("Available", "True"), ("Failing", "False"), ("Progressing", "False"), ("ReleaseAccepted", "True")]
    {
        let (status, reason, message) = condition(&version, kind);
        if status != wanted {
            broken.push(format!("in the end {kind} is {status}: {reason}: {message}"));
        }
    }
    if version["status"]["observedGeneration"] != version["metadata"]["generation"] {
        broken.push("the last change of the ClusterVersion was not observed".to_owned());
    }
    for wanted in &edition.objects {
        let live = get(world, &wanted.path()).await;
        let mut wanted = wanted.clone();
        // Who owns it is known only here.
        if live["metadata"]["ownerReferences"][0]["uid"] == version["metadata"]["uid"] {
            wanted.object["metadata"]["ownerReferences"] = live["metadata"]["ownerReferences"].clone();
        }
        if !wanted.is_met_by(&live) {
            broken.push(format!("{} is not as the release says: {:?}", wanted.path(), wanted.next(&live)));
        }
    }
    let history = version["status"]["history"].as_array().map(Vec::as_slice).unwrap_or_default();
    if history.len() > story.asks + 1 {
        broken.push(format!("{} entries for {} requests: {history:#?}", history.len(), story.asks));
    }
    if history.windows(2).any(|pair| pair[0]["image"] == pair[1]["image"]) {
        broken.push(format!("one change has two entries: {history:#?}"));
    }
    for message in listener.messages("Progressing") {
        observer.say(&format!("Progressing was {message}"));
    }
    broken
}
