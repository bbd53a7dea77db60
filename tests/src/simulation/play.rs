//! Plays a story: the lab with its world, the engine, kills and new starts, and a look at what is there in the end.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures::future::{Either, select};
use http::Request;
use lockstep_api::names::{annotation, label};
use lockstep_api::object;
use lockstep_apply::engine::{self, Options, Plan, PlanOptions};
use lockstep_apply::modify::ClusterFacts;
use lockstep_apply::progress::Outcome;
use lockstep_apply::server::Server;
use lockstep_graph::{InstallOrder, Mode};
use lockstep_lab::{Clock, Lab, LabOptions, ReleaseFacts, Rule, Scenario, World};
use serde_json::Value;
use tokio::task::JoinSet;

use super::laws::Laws;
use super::observer::Observer;
use super::place::Place;
use super::release::Edition;
use super::story::{Chapter, Deed, Story, Trouble};
use super::tally::{Tally, name_of};

/// The longest time that a chapter may take, in virtual time.
const LONGEST: Duration = Duration::from_hours(4);
/// A watch that was stalled by the last fault is given up so long after it was opened, and not before.
const STALLED: Duration = Duration::from_mins(11);
/// How many runs a chapter may need.
const MOST_RUNS: usize = 80;
/// What every object of a release is labelled with.
const SET: &str = "version";

/// Takes lines about what happens.
pub(crate) type Trace<'a> = &'a dyn Fn(&str);

/// A story on stage.
struct Stage<'a> {
    seed: u64,
    story: &'a Story,
    lab: Arc<Lab>,
    world: kube::Client,
    observer: Observer,
    server: Server,
    tally: Tally,
    trace: Trace<'a>,
}

/// How a run of the engine ended.
enum End {
    /// It was killed after a write.
    Killed,
    /// By itself, with what is missing.
    Ended(Outcome, Vec<String>),
    /// It could not begin.
    Refused(String),
}

/// Plays a story; gives what was reached, or what broke.
pub(crate) async fn play(seed: u64, story: &Story, trace: Trace<'_>) -> Result<Tally, Vec<String>> {
    let clock = Arc::new(Clock::simulated());
    let options = LabOptions {
        seed,
        clock: Arc::clone(&clock),
        window: story.window,
        journal: true,
        ..LabOptions::default()
    };
    let lab = Arc::new(Lab::new(options));
    let scenario = Scenario::read("generated", story.scenario.to_string().as_bytes());
    let scenario = scenario.map_err(|error| vec![format!("the generated scenario: {error}")])?;
    let facts = story.editions.iter().map(|edition| {
        let (release, selection) = edition.load();
        ReleaseFacts::of(&release, &selection)
    });
    let facts = facts.reduce(ReleaseFacts::followed_by);
    let mut world_task = JoinSet::new();
    world_task.spawn(World::new(lab.world_client(), scenario, facts, clock, seed).run());
    let observer = Observer::new(Arc::clone(&lab));
    let server = Server::new(observer.client());
    let world = lab.world_client();
    let mut stage = Stage { seed, story, lab, world, observer, server, tally: Tally::default(), trace };
    for leftover in &story.editions[0].leftovers {
        stage.send("POST", &Place::of(leftover).collection, Some(leftover)).await;
    }
    for chapter in &story.chapters {
        stage.chapter(chapter).await?;
    }
    match world_task.try_join_next() {
        Some(_) => Err(vec!["the scripted world ended".to_owned()]),
        None => Ok(stage.tally),
    }
}

// === impl Stage ===

impl Stage<'_> {
    async fn chapter(&mut self, chapter: &Chapter) -> Result<(), Vec<String>> {
        let begin = self.lab.clock().elapsed();
        let edition = &self.story.editions[chapter.edition];
        self.say(|| format!("chapter: {:?} {}", chapter.mode, edition.version));
        self.tally.count(match (chapter.mode, self.story.order) {
            (Mode::Updating, _) => "mode updating",
            (_, InstallOrder::Flat) => "mode installing, flat",
            (_, InstallOrder::RunLevel) => "mode installing, by run level",
        });
        let mut people = self.set_the_weather(chapter, begin)?;
        let (release, selection) = edition.load();
        let facts = ClusterFacts { set: SET.to_owned(), ..ClusterFacts::default() };
        let plan_options = PlanOptions { install_order: self.story.order, facts, namespace: None };
        let plan = Plan::new(&release, &selection, chapter.mode, &plan_options);
        let mut crashes = chapter.crashes.iter().copied();
        for attempt in 1.. {
            let since = self.lab.clock().elapsed().saturating_sub(begin);
            let is_calm = since >= chapter.calm_after();
            let has_faults = !is_calm && (!chapter.faults.is_empty() || !chapter.troubles.is_empty());
            let hold = chapter.calm_after().saturating_sub(since) + STALLED;
            match self.run(chapter, &plan, crashes.next(), has_faults, hold).await? {
                End::Killed => continue,
                End::Ended(Outcome::Converged, _) => break,
                End::Ended(outcome, missing) if !has_faults => {
                    let sentence = format!("the run ended {outcome:?} although nothing hindered it");
                    return Err([vec![sentence], missing].concat());
                }
                End::Refused(sentence) if !has_faults => return Err(vec![sentence]),
                End::Ended(outcome, missing) => self.say(|| format!("ended {outcome:?}: {missing:#?}")),
                End::Refused(sentence) => self.say(|| sentence),
            }
            self.tally.count("run after a failed one");
            if attempt > MOST_RUNS || self.lab.clock().elapsed().saturating_sub(begin) > LONGEST {
                return Err(vec!["not at the release after all that time".to_owned()]);
            }
            tokio::time::sleep(Duration::from_secs(20)).await;
        }
        for report in self.lab.faults().list() {
            self.tally.add(name_of(&report.rule.effect), report.hits);
        }
        self.lab.faults().clear();
        self.observer.set_troubles(Vec::new());
        while let Some(done) = people.join_next().await {
            done.unwrap_or_default().into_iter().for_each(|name| self.tally.count(format!("deed {name}")));
        }
        self.look_at_everything(chapter, edition).await?;
        self.second_run(chapter, &plan).await
    }

    /// Faults, troubles and people of a chapter.
    fn set_the_weather(
        &self,
        chapter: &Chapter,
        begin: Duration,
    ) -> Result<JoinSet<Option<&'static str>>, Vec<String>> {
        for fault in &chapter.faults {
            let mut fault = fault.clone();
            let from = fault["from"].as_str().and_then(|text| text.trim_end_matches('s').parse::<u64>().ok());
            let from = begin + Duration::from_secs(from.unwrap_or_default());
            fault["from"] = format!("{}ms", from.as_millis()).into();
            let rule: Result<Rule, _> = serde_json::from_value(fault);
            let rule = rule.map_err(|error| vec![format!("a generated fault: {error}")])?;
            self.lab.faults().add(rule).map_err(|error| vec![format!("a generated fault: {error}")])?;
        }
        let later = |trouble: &Trouble| Trouble {
            from: trouble.from + begin,
            until: trouble.until + begin,
            ..trouble.clone()
        };
        self.observer.set_troubles(chapter.troubles.iter().map(later).collect());
        let mut people = JoinSet::new();
        for deed in chapter.deeds.clone() {
            let client = self.world.clone();
            people.spawn(async move { act(client, deed).await });
        }
        Ok(people)
    }

    /// One run of the engine.
    async fn run(
        &mut self,
        chapter: &Chapter,
        plan: &Plan,
        crash_after: Option<usize>,
        has_faults: bool,
        hold: Duration,
    ) -> Result<End, Vec<String>> {
        let laws = self.laws(chapter, has_faults).await;
        self.observer.begin(laws, crash_after);
        let begin = self.lab.clock().elapsed();
        let end = self.engine(plan, hold).await;
        let mut laws = self.observer.end();
        laws.ended(self.lab.clock().elapsed().saturating_sub(begin));
        self.take(laws)?;
        Ok(end)
    }

    async fn engine(&self, plan: &Plan, hold: Duration) -> End {
        let options =
            Options { timeout: Some(LONGEST), hold: Some(hold), seed: self.seed, ..Options::default() };
        let tell = |event| {
            self.say(|| serde_json::to_string(&event).unwrap_or_default());
            self.observer.on_event(&event);
        };
        let engine = engine::run(&self.server, plan, &options, tell);
        match select(pin!(self.observer.stopped()), pin!(engine)).await {
            Either::Left(_) => {
                self.say(|| "killed".to_owned());
                End::Killed
            }
            Either::Right((Ok(ending), _)) => End::Ended(ending.outcome, ending.missing),
            Either::Right((Err(refusal), _)) => End::Refused(refusal.explain("the server")),
        }
    }

    /// A run over a cluster that is at the release: it must not change anything.
    async fn second_run(&mut self, chapter: &Chapter, plan: &Plan) -> Result<(), Vec<String>> {
        self.tally.count("mode second run");
        let laws = self.laws(chapter, false).await;
        self.observer.begin(laws, None);
        let begin = self.lab.clock().elapsed();
        let end = self.engine(plan, Duration::ZERO).await;
        let mut laws = self.observer.end();
        laws.changed_nothing(self.lab.clock().elapsed().saturating_sub(begin));
        self.take(laws)?;
        match end {
            End::Ended(Outcome::Converged, _) => Ok(()),
            End::Ended(outcome, missing) => {
                Err([vec![format!("the second run ended {outcome:?}")], missing].concat())
            }
            End::Killed | End::Refused(_) => Err(vec!["the second run did not end".to_owned()]),
        }
    }

    async fn laws(&self, chapter: &Chapter, has_faults: bool) -> Laws {
        let is_update = chapter.mode == Mode::Updating;
        let is_by_level = is_update || self.story.order == InstallOrder::RunLevel;
        let list = self.send("GET", "/api/v1/namespaces", None).await.unwrap_or_default();
        let version = list["metadata"]["resourceVersion"].as_str().and_then(|text| text.parse().ok());
        let edition = &self.story.editions[chapter.edition];
        Laws::new(edition, is_by_level, is_update, version.filter(|_| !has_faults))
    }

    fn take(&mut self, laws: Laws) -> Result<(), Vec<String>> {
        self.tally.merge(&laws.tally);
        if laws.broken.is_empty() { Ok(()) } else { Err(laws.broken) }
    }

    /// Whether everything is in the cluster as the release says.
    async fn look_at_everything(&self, chapter: &Chapter, edition: &Edition) -> Result<(), Vec<String>> {
        let mut wrong = Vec::new();
        for object in edition.managed() {
            let place = Place::of(object);
            let live = self.send("GET", &place.path, None).await;
            let is_removal = object::annotation(object, annotation::DELETE).is_some();
            let is_created_once = object::annotation(object, annotation::CREATE_ONLY).is_some();
            let was_touched = chapter.deeds.iter().any(|deed| deed.path == place.path);
            let was_there =
                self.story.editions[0].leftovers.iter().any(|other| Place::of(other).path == place.path);
            let problem = match live {
                None if is_removal => None,
                Some(_) if is_removal => Some("should be gone".to_owned()),
                None => Some("is not there".to_owned()),
                Some(live)
                    if object::labels(&live).and_then(|labels| labels.get(label::PAYLOAD).copied())
                        != Some(SET) =>
                {
                    Some("has lost the label".to_owned())
                }
                Some(live)
                    if is_created_once && (was_touched || was_there || chapter.mode == Mode::Updating) =>
                {
                    live.get("data").is_none().then(|| "has no data".to_owned())
                }
                Some(live) => difference(object, &live, ""),
            };
            wrong.extend(problem.map(|problem| format!("converged, but {} {problem}", place.key)));
        }
        if wrong.is_empty() { Ok(()) } else { Err(wrong) }
    }

    /// A request of the world, without faults.
    async fn send(&self, method: &str, path: &str, body: Option<&Value>) -> Option<Value> {
        send(&self.world, method, path, body).await
    }

    fn say(&self, line: impl FnOnce() -> String) {
        let at = self.lab.clock().elapsed().as_secs_f64();
        (self.trace)(&format!("{at:>9.3} {}", line()));
    }
}

/// Somebody does something; the name of the deed if it worked.
async fn act(client: kube::Client, deed: Deed) -> Option<&'static str> {
    tokio::time::sleep(deed.at).await;
    let done = match &deed.patch {
        Some(patch) => {
            send(&client, "PATCH", &format!("{}?fieldManager=alice", deed.path), Some(patch)).await
        }
        None => send(&client, "DELETE", &deed.path, None).await,
    };
    done.map(|_| deed.name)
}

async fn send(client: &kube::Client, method: &str, path: &str, body: Option<&Value>) -> Option<Value> {
    let content = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
    let request = Request::builder().method(method).uri(path).header("content-type", content);
    let body = body.map(|body| body.to_string().into_bytes()).unwrap_or_default();
    client.request(request.body(body).ok()?).await.ok()
}

/// The first place where an object is not what its manifest says; what the manifest leaves out may be anything, except
/// in the data of a `ConfigMap`.
fn difference(manifest: &Value, live: &Value, path: &str) -> Option<String> {
    match (manifest, live) {
        (Value::Object(wanted), Value::Object(found)) => {
            if path == ".data" && wanted.len() != found.len() {
                return Some(format!("{path} has other keys: {live}"));
            }
            let is_ours = |key: &&String| !(path.is_empty() && *key == "status");
            wanted.keys().filter(is_ours).find_map(|key| {
                let path = format!("{path}.{key}");
                match found.get(key) {
                    Some(found) => difference(&wanted[key], found, &path),
                    None if wanted[key].as_object().is_some_and(serde_json::Map::is_empty) => None,
                    None => Some(format!("{path} is missing")),
                }
            })
        }
        (Value::Array(wanted), Value::Array(found)) if wanted.len() == found.len() => {
            let pairs = wanted.iter().zip(found).enumerate();
            pairs
                .into_iter()
                .find_map(|(index, (wanted, found))| difference(wanted, found, &format!("{path}[{index}]")))
        }
        _ => (manifest != live).then(|| format!("{path} is {live} and not {manifest}")),
    }
}
