//! The load: writers, watchers good and bad, kinds and namespaces that come and go, faults, nonsense, and a probe.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::io::AsyncBufReadExt as _;
use futures::{Stream, StreamExt as _};
use kube::Client;
use lockstep_lab::{Effect, Faults, Match, Rng, Rule, Span, Verb};
use lockstep_tests::clients::Call;
use lockstep_tests::hostile::{self, Hostile};
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::record::Record;

/// Clients that faults are for.
const CHURN: &str = "churn/1.0";
/// The namespaces of the writers.
const NAMESPACES: u64 = 8;
/// Names of objects of a kind in a namespace.
const NAMES: u64 = 25;
/// Watches that are read as fast as they can be.
const READERS: usize = 900;
/// Watches that are opened and not read for a while.
const SLEEPERS: usize = 50;
/// Watches that are dropped after a while.
const LEAVERS: usize = 50;
/// Each tenth watch goes over a socket.
const OVER_TLS: usize = 10;
/// How long an answer may take for a client that gives up then.
const PATIENCE: Duration = Duration::from_secs(30);

/// What all parts of the load share.
#[derive(Clone)]
pub(crate) struct Load {
    pub(crate) here: Client,
    pub(crate) over_tls: Client,
    pub(crate) faults: Faults,
    pub(crate) record: Arc<Record>,
}

type Lines = std::pin::Pin<Box<dyn Stream<Item = std::io::Result<String>> + Send>>;

impl Load {
    /// Starts everything; none of the tasks ends by itself.
    pub(crate) async fn start(&self, seed: &Rng, tasks: &mut JoinSet<()>) {
        for number in 0..NAMESPACES {
            self.send(&namespace(number)).await;
        }
        let probe = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "probe"}});
        self.send(&Call::post("/api/v1/namespaces", &probe)).await;
        for number in 0..6 {
            let client = self.client(number * OVER_TLS / 3);
            tasks.spawn(self.clone().write(client, seed.fork(&format!("writer {number}"))));
        }
        for number in 0..READERS {
            tasks.spawn(self.clone().read(self.client(number), number));
        }
        for number in 0..SLEEPERS {
            tasks.spawn(self.clone().sleep(self.client(number * 5), seed.fork(&format!("sleeper {number}"))));
        }
        for number in 0..LEAVERS {
            tasks.spawn(self.clone().leave(self.client(number), seed.fork(&format!("leaver {number}"))));
        }
        tasks.spawn(self.clone().define(seed.fork("kinds")));
        tasks.spawn(self.clone().empty(seed.fork("namespaces")));
        tasks.spawn(self.clone().break_things(seed.fork("faults")));
        for number in 0..2 {
            tasks.spawn(self.clone().talk_nonsense(
                self.client(number * OVER_TLS + number),
                seed.clone().next_u64() + number as u64,
            ));
        }
        tasks.spawn(self.clone().probe());
    }

    /// Every tenth client is one over a socket.
    fn client(&self, number: usize) -> Client {
        if number.is_multiple_of(OVER_TLS) { self.over_tls.clone() } else { self.here.clone() }
    }

    async fn send(&self, call: &Call) -> u16 {
        self.send_by(&self.here, call).await
    }

    async fn send_by(&self, client: &Client, call: &Call) -> u16 {
        let answer = timeout(PATIENCE, call.send(client)).await.ok().flatten();
        let code = answer.map_or(0, |answer| answer.code);
        self.record.answered(code);
        code
    }

    /// Creates, changes and deletes objects of many kinds.
    async fn write(self, client: Client, mut rng: Rng) {
        let objects = hostile::objects();
        loop {
            let index = usize::try_from(rng.below(objects.len() as u64)).unwrap_or_default();
            let (collection, object) = &objects[index];
            if object["kind"] == "CustomResourceDefinition" || object["kind"] == "Namespace" {
                continue;
            }
            let (name, home) = (format!("n{}", rng.below(NAMES)), format!("churn-{}", rng.below(NAMESPACES)));
            let collection = collection.replace("/namespaces/default/", &format!("/namespaces/{home}/"));
            let path = format!("{collection}/{name}");
            let mut object = object.clone();
            object["metadata"]["name"] = name.into();
            object["metadata"]["labels"]["round"] = rng.below(1000).to_string().into();
            object["metadata"]["annotations"]["text"] =
                "x".repeat(usize::try_from(rng.below(2000)).unwrap_or_default()).into();
            if object["kind"] == "Event" {
                object["involvedObject"]["namespace"] = home.into();
            }
            let merge = json!({"metadata": {"annotations": {"at": rng.below(1000).to_string()}}});
            let call = match rng.below(8) {
                0 | 1 => Call::post(collection, &object),
                2 | 3 => Call::apply(&path, "soak", &object),
                4 => Call::new("PATCH", path).body("application/merge-patch+json", merge.to_string()),
                5 => Call::new("PUT", path).body("application/json", object.to_string()),
                6 => Call::new("DELETE", path),
                _ => Call::new("GET", format!("{collection}?limit=20&labelSelector=app%3Da")),
            };
            self.send_by(&client, &call.by(CHURN)).await;
        }
    }

    /// Opens a watch of one kind everywhere.
    async fn open(&self, client: &Client, number: usize) -> Option<Lines> {
        let objects = hostile::objects();
        let (collection, _) = &objects[number % objects.len()];
        let everywhere = collection.replace("/namespaces/default/", "/");
        let path =
            format!("{everywhere}?watch=true&allowWatchBookmarks=true&timeoutSeconds={}", 30 + number % 300);
        let request = Call::new("GET", path).by(CHURN).request()?;
        let opened = timeout(PATIENCE, client.request_stream(request)).await.ok()?.ok()?;
        self.record.opened();
        Some(Box::pin(opened.lines()))
    }

    /// Reads a watch to its end; the places of those that are too slow are forgotten.
    async fn drain(&self, lines: &mut Lines) {
        while let Some(Ok(line)) = lines.next().await {
            self.record.received(1);
            if line.starts_with("{\"type\":\"ERROR\"") && line.contains("\"code\":410") {
                self.record.expired();
            }
        }
    }

    async fn read(self, client: Client, number: usize) {
        loop {
            match self.open(&client, number).await {
                // A watch that a fault made silent is given up.
                Some(mut lines) => drop(timeout(Duration::from_secs(400), self.drain(&mut lines)).await),
                None => sleep(Duration::from_millis(500)).await,
            }
        }
    }

    async fn sleep(self, client: Client, mut rng: Rng) {
        loop {
            let number = usize::try_from(rng.below(1000)).unwrap_or_default();
            let Some(mut lines) = self.open(&client, number).await else {
                sleep(Duration::from_millis(500)).await;
                continue;
            };
            sleep(Duration::from_secs(5 + rng.below(40))).await;
            drop(timeout(Duration::from_mins(1), self.drain(&mut lines)).await);
        }
    }

    async fn leave(self, client: Client, mut rng: Rng) {
        loop {
            let number = usize::try_from(rng.below(1000)).unwrap_or_default();
            let lines = self.open(&client, number).await;
            sleep(Duration::from_millis(100 + rng.below(5000))).await;
            drop(lines);
        }
    }

    /// Kinds come, get objects, and go.
    async fn define(self, mut rng: Rng) {
        loop {
            let plural = format!("things{}", rng.below(10));
            let mut definition = hostile::definition();
            let group = "soak.example.com";
            definition["metadata"]["name"] = format!("{plural}.{group}").into();
            definition["spec"]["group"] = group.into();
            definition["spec"]["names"] = json!({"kind": format!("T{plural}"), "plural": plural,
                "listKind": format!("T{plural}List"), "singular": format!("t{plural}")});
            let collection = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
            self.send(&Call::post(collection, &definition)).await;
            sleep(Duration::from_millis(30)).await;
            let things = format!("/apis/{group}/v1/namespaces/default/{plural}");
            for number in 0..20 {
                let object = json!({"apiVersion": format!("{group}/v1"), "kind": format!("T{plural}"),
                    "metadata": {"name": format!("t{number}")}, "spec": {"map": {"one": number}}});
                self.send(&Call::post(&things, &object)).await;
            }
            self.send(&Call::new("DELETE", format!("{collection}/{plural}.{group}"))).await;
            sleep(Duration::from_millis(100)).await;
        }
    }

    /// Namespaces go with everything in them, and come again.
    async fn empty(self, mut rng: Rng) {
        loop {
            sleep(Duration::from_secs(2)).await;
            let number = rng.below(NAMESPACES);
            self.send(&Call::new("DELETE", format!("/api/v1/namespaces/churn-{number}"))).await;
            let start = Instant::now();
            while self.send(&namespace(number)).await != 201 {
                if start.elapsed() > PATIENCE {
                    self.record.object(format!("the namespace churn-{number} does not end"));
                    break;
                }
                sleep(Duration::from_millis(20)).await;
            }
        }
    }

    /// Faults for the writers and watchers, one after the other.
    async fn break_things(self, mut rng: Rng) {
        let span = |milliseconds| Span::from(Duration::from_millis(milliseconds));
        loop {
            sleep(Duration::from_secs(3)).await;
            let (verbs, effect) = match rng.below(8) {
                0 => (vec![], Effect::Latency { from: span(1), to: Some(span(50)) }),
                1 => (vec![Verb::Create], Effect::Refuse { code: 429, retry_after: None }),
                2 => (vec![Verb::Patch], Effect::Refuse { code: 500, retry_after: None }),
                3 => (vec![], Effect::TimeoutAfterCommit { after: span(100), hang: false }),
                4 => (vec![Verb::Watch], Effect::DropWatch { after: span(10) }),
                5 => (vec![Verb::Watch], Effect::StallWatch { after: span(10) }),
                6 => (vec![], Effect::ExpireWatch {}),
                _ => (vec![], Effect::Outage {}),
            };
            let matching = Match { verbs, user_agent: Some(CHURN.into()), ..Match::default() };
            let rule = Rule {
                name: "soak".into(),
                matching,
                effect,
                from: None,
                duration: None,
                times: None,
                probability: Some(0.3),
            };
            if let Err(error) = self.faults.add(rule) {
                self.record.object(format!("a rule is refused: {error}"));
            }
            sleep(Duration::from_secs(2)).await;
            self.faults.remove("soak");
        }
    }

    /// Requests that no client means.
    async fn talk_nonsense(self, client: Client, seed: u64) {
        let mut source = Hostile::new(seed);
        loop {
            let call = source.call();
            // A watch, by its parameter or by its old address, is left after a moment.
            let moment = if call.path.contains("watch") { Duration::from_millis(20) } else { PATIENCE };
            let answer = match timeout(moment, call.send(&client)).await {
                Ok(Some(answer)) => answer,
                Err(_) if moment == PATIENCE => {
                    self.record.object(format!("no answer to {call:?}"));
                    continue;
                }
                _ => continue,
            };
            self.record.answered(answer.code);
            if let Some(objection) = hostile::objection(&answer) {
                self.record.object(format!("{objection}, to {} {}", call.method, call.path));
            }
        }
    }

    /// A small, quiet client: how long do its answers and its events take?
    async fn probe(self) {
        let collection = "/api/v1/namespaces/probe/configmaps";
        let object = |round: u64| {
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "probe"},
                "data": {"round": round.to_string()}})
        };
        for client in [&self.here, &self.over_tls].into_iter().cycle() {
            let request = Call::new("GET", format!("{collection}?watch=true")).request();
            let Some(request) = request else { return };
            let Ok(stream) = client.request_stream(request).await else {
                self.record.object("the probe gets no watch".into());
                sleep(Duration::from_secs(1)).await;
                continue;
            };
            let mut lines = stream.lines();
            for round in 0..50 {
                sleep(Duration::from_millis(50)).await;
                let start = Instant::now();
                self.send_by(client, &Call::apply(&format!("{collection}/probe"), "probe", &object(round)))
                    .await;
                let wanted = round.to_string();
                let seen = timeout(PATIENCE, async {
                    while let Some(Ok(line)) = lines.next().await {
                        let event: Value = serde_json::from_str(&line).unwrap_or_default();
                        if event["object"]["data"]["round"] == wanted.as_str() {
                            return true;
                        }
                    }
                    false
                });
                if seen.await != Ok(true) {
                    self.record.object(format!("the probe misses its event after {:?}", start.elapsed()));
                    break;
                }
                self.record.waited(start.elapsed());
            }
        }
    }
}

fn namespace(number: u64) -> Call {
    let name = format!("churn-{number}");
    let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    Call::post("/api/v1/namespaces", &object)
}
