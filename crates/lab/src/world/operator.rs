//! Operators: up when their Deployment is, they make what they need and report over time.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use lockstep_api::names::condition::{AVAILABLE, DEGRADED, FAILING};
use lockstep_api::{Condition, ConditionStatus, Conditions};

use super::api::{Actor, Place, Resource, code};
use super::cache::{Key, Kind, text};
use super::deployment::is_rolled_out;
use super::facts::{Edition, OperatorId};
use super::people::resource_of;
use super::rules::{OperatorScript, draw};
use super::shared::{Shared, lock};
use super::span::Span;
use super::template::hash;
use super::timeline::{Change, Occasion, Timeline, Versions};
use super::workload::status_patch;

/// What the world remembers about an operator.
#[derive(Clone, Debug, Default)]
pub(crate) struct OperatorMemory {
    /// What its Deployments run; another text is another rollout.
    token: Option<String>,
    /// Lab time at which it is up.
    up: Duration,
    timeline: Timeline,
    related: Vec<Value>,
    made: BTreeSet<usize>,
}

/// The pause before something is tried again that waits for a kind or a namespace.
const PAUSE: Duration = Duration::from_secs(1);

impl Shared {
    /// Wakes all operators of the release.
    pub(crate) fn start_operators(&self) {
        for id in self.facts.operators.keys() {
            self.queue.add(id.key(), self.now());
        }
    }

    /// The operators that run in a Deployment.
    pub(crate) fn operators_of(&self, deployment: &Key) -> Vec<Key> {
        let runs_in =
            |namespace: &str, name: &str| namespace == deployment.namespace && name == deployment.name;
        let is_named = |operator: &str| {
            let script = self.scenario.operator(operator);
            script.deployment.is_some_and(|(namespace, name)| runs_in(&namespace, &name))
        };
        if self.facts.operators.is_empty() {
            let cache = lock(&self.cache);
            let live = [Kind::ClusterOperator, Kind::FirstGeneration]
                .into_iter()
                .flat_map(|kind| cache.of_kind(kind));
            return live.filter(|(key, _)| is_named(&key.name)).map(|(key, _)| key.clone()).collect();
        }
        let of_release = |editions: &[Edition]| {
            let all = editions.iter().flat_map(|edition| &edition.deployments);
            all.into_iter().any(|facts| runs_in(&facts.namespace, &facts.name))
        };
        let all = self.facts.operators.iter();
        all.filter(|(id, editions)| of_release(editions) || is_named(&id.name))
            .map(|(id, _)| id.key())
            .collect()
    }
}

impl OperatorId {
    fn key(&self) -> Key {
        let kind = if self.first_generation { Kind::FirstGeneration } else { Kind::ClusterOperator };
        Key::new(kind, &self.namespace, &self.name)
    }

    fn of(key: &Key) -> Self {
        Self {
            first_generation: key.kind == Kind::FirstGeneration,
            namespace: key.namespace.clone(),
            name: key.name.clone(),
        }
    }
}

/// Looks at an operator.
pub(crate) async fn look(world: &Shared, key: &Key) -> Result<Option<Duration>, kube::Error> {
    let editions = world.facts.operators.get(&OperatorId::of(key));
    if editions.is_none() && (!world.facts.operators.is_empty() || world.object(key).is_none()) {
        return Ok(None);
    }
    let editions = editions.map_or(&[][..], Vec::as_slice);
    let script = world.scenario.operator(&key.name);
    let live = world.object(key);
    let Some(running) = running(world, editions, &script, live.is_some()) else { return Ok(None) };
    let memory = remember(world, key, &script, &running, live.as_deref());
    let now = world.now();
    if now < memory.up {
        return Ok(Some(memory.up));
    }
    let since = now.saturating_sub(memory.up);
    let who = actor(key, &running);
    let made = make(world, key, &script, &who, since).await?;
    let (report, next) = memory.timeline.at(since);
    if !lock(&world.served).contains(&key.kind) {
        // Whoever lists the kind for the first time wakes it.
        return Ok(made);
    }
    if report != Change::default() && !tell(world, key, &who, &report, &memory.related).await? {
        return Ok(Some(now + PAUSE));
    }
    let next = next.map(|next| memory.up + next);
    Ok([next, made].into_iter().flatten().min())
}

/// What an operator runs.
struct Running<'a> {
    token: String,
    edition: Option<&'a Edition>,
    deployment: Option<String>,
}

/// What an operator runs now; nothing while its Deployments are not rolled out.
fn running<'a>(
    world: &Shared,
    editions: &'a [Edition],
    script: &OperatorScript,
    is_there: bool,
) -> Option<Running<'a>> {
    let named = match &script.deployment {
        Some(named) => vec![named.clone()],
        None => deployments(editions),
    };
    if named.is_empty() {
        // Nothing to wait for but the object itself.
        let edition = editions.first();
        return is_there.then(|| Running { token: String::new(), edition, deployment: None });
    }
    let key = |(namespace, name): &(String, String)| Key::new(Kind::Deployment, namespace, name);
    let live: Vec<Arc<Value>> = named.iter().filter_map(|named| world.object(&key(named))).collect();
    // In the middle of an update some Deployments are new and others old: the old edition holds until all are new.
    let newest = editions.iter().rev().find(|edition| edition.is_all_run_by(&live));
    let any = || editions.iter().find(|edition| live.iter().any(|live| edition.is_run_by(live)));
    let edition = newest.or_else(any).or(editions.first());
    let needed = match (&script.deployment, edition) {
        (None, Some(edition)) => edition.deployments.len(),
        _ => named.len(),
    };
    if live.len() < needed || !live.iter().all(|deployment| is_rolled_out(deployment)) {
        return None;
    }
    let token =
        live.iter().map(|deployment| hash(&deployment["spec"]["template"])).collect::<Vec<_>>().join(" ");
    let deployment = live.first().map(|deployment| text(&deployment["metadata"]["name"]).to_owned());
    Some(Running { token, edition, deployment })
}

/// The Deployments of all editions.
fn deployments(editions: &[Edition]) -> Vec<(String, String)> {
    let all = editions.iter().flat_map(|edition| &edition.deployments);
    let mut named: Vec<_> = all.map(|facts| (facts.namespace.clone(), facts.name.clone())).collect();
    named.sort();
    named.dedup();
    named
}

/// The memory of an operator; what it runs now starts a new timeline when it is new.
fn remember(
    world: &Shared,
    key: &Key,
    script: &OperatorScript,
    running: &Running<'_>,
    live: Option<&Value>,
) -> OperatorMemory {
    let mut operators = lock(&world.operators);
    let memory = operators.entry(key.clone()).or_default();
    if memory.token.as_ref() != Some(&running.token) {
        let draw =
            |purpose: &str, span: Span| draw(&world.rng, &format!("{purpose}/{key}/{}", running.token), span);
        let status = live.map_or(&Value::Null, |live| &live["status"]);
        let before = reported(status, key.kind);
        let versions = match (&script.versions, running.edition) {
            (Some(versions), _) => versions.clone().into_iter().collect(),
            (None, Some(edition)) => edition.versions.clone(),
            (None, None) => Vec::new(),
        };
        let is_update = is_true(status, AVAILABLE);
        let is_done =
            is_update && !versions.is_empty() && versions.iter().all(|version| before.contains(version));
        let occasion = Occasion { versions, before, is_update };
        let appears = draw("appears", script.appears_after);
        memory.up = world.now() + if is_done { Duration::ZERO } else { appears };
        memory.timeline = Timeline::compile(script, &occasion, &draw);
        memory.related = running.edition.map(|edition| edition.related.clone()).unwrap_or_default();
        memory.token = Some(running.token.clone());
    }
    memory.clone()
}

fn actor(key: &Key, running: &Running<'_>) -> Actor {
    match &running.deployment {
        Some(deployment) => Actor::named(deployment),
        None => Actor::named(&format!("{}-operator", key.name)),
    }
}

// === objects of its own ===

/// Makes what is due; says when to look again.
async fn make(
    world: &Shared,
    key: &Key,
    script: &OperatorScript,
    who: &Actor,
    since: Duration,
) -> Result<Option<Duration>, kube::Error> {
    let made = lock(&world.operators).get(key).map(|memory| memory.made.clone()).unwrap_or_default();
    let mut next = None;
    for (index, create) in script.creates.iter().enumerate().filter(|(index, _)| !made.contains(index)) {
        let after = create
            .after
            .map_or(Duration::ZERO, |span| draw(&world.rng, &format!("create {index}/{key}"), span));
        if after > since {
            let at = world.now() + after.saturating_sub(since);
            next = Some(next.map_or(at, |next: Duration| next.min(at)));
            continue;
        }
        let namespace = create.namespace.as_ref();
        let namespace = namespace
            .map(|name| json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}));
        let mut all = true;
        for object in namespace.iter().chain(&create.object) {
            all &= make_one(world, key, who, object).await?;
        }
        if all {
            lock(&world.operators).entry(key.clone()).or_default().made.insert(index);
        } else {
            next = Some(world.now() + PAUSE);
        }
    }
    Ok(next)
}

/// Makes one object; `false` when its kind or namespace is not there yet.
async fn make_one(world: &Shared, key: &Key, who: &Actor, object: &Value) -> Result<bool, kube::Error> {
    let resource: Resource = match resource_of(
        world,
        who,
        lockstep_api::object::api_version(object),
        lockstep_api::object::kind(object),
    )
    .await
    {
        Ok(Some(resource)) => resource,
        Ok(None) => return Ok(false),
        Err(error) => return Err(error),
    };
    let place = Place::collection(&resource, lockstep_api::object::namespace(object));
    match world.api.create(who, place, object).await {
        Ok(_) => {
            world.say(|| format!("{key} makes {} {}", resource.kind, lockstep_api::object::name(object)));
            Ok(true)
        }
        Err(error) if code(&error) == 409 => Ok(true),
        Err(error) if code(&error) == 404 => Ok(false),
        Err(error) => Err(error),
    }
}

// === the report ===

/// Writes the report; `false` when the kind is not served yet.
async fn tell(
    world: &Shared,
    key: &Key,
    who: &Actor,
    report: &Change,
    related: &[Value],
) -> Result<bool, kube::Error> {
    if world.object(key).is_none() {
        let mut object = json!({
            "apiVersion": key.kind.resource().api_version(),
            "kind": key.kind.resource().kind,
            "metadata": {"name": key.name},
            "spec": {},
        });
        if !key.namespace.is_empty() {
            object["metadata"]["namespace"] = key.namespace.as_str().into();
        }
        match world.create(who, key.kind, &object).await {
            Err(error) if code(&error) == 404 => return Ok(false),
            Err(error) => return Err(error),
            Ok(()) => world.say(|| format!("{key} was missing; its operator makes it")),
        }
    }
    let Some(live) = world.object(key) else { return Ok(false) };
    let status = status(&live["status"], key.kind, report, related, world);
    let Some(patch) = status_patch(&live["status"], &status) else { return Ok(true) };
    let place = Place::object(key.kind.resource(), &key.namespace, &key.name).sub("status");
    match world.api.patch(who, place, super::api::Patch::Merge, &patch).await {
        Ok(patched) => world.learn(key.kind, patched),
        Err(error) if code(&error) == 404 => return Ok(false),
        Err(error) => return Err(error),
    }
    world.say(|| format!("{key} reports {}", summary(&status, key.kind)));
    Ok(true)
}

/// The new status from the old one and the report; whatever else stands in it stays.
fn status(old: &Value, kind: Kind, report: &Change, related: &[Value], world: &Shared) -> Value {
    merge(old, kind, report, related, world.clock.now())
}

fn merge(old: &Value, kind: Kind, report: &Change, related: &[Value], now: jiff::Timestamp) -> Value {
    let mut status = if old.is_object() { old.clone() } else { json!({}) };
    let is_first = kind == Kind::FirstGeneration;
    let mut conditions: Conditions = serde_json::from_value(old["conditions"].clone()).unwrap_or_default();
    for saying in &report.sayings {
        // The first generation said Failing where the second says Degraded.
        let kind = if is_first && saying.kind == DEGRADED { FAILING } else { &saying.kind };
        let holds = match saying.status.as_str() {
            "True" => ConditionStatus::True,
            "False" => ConditionStatus::False,
            _ => ConditionStatus::Unknown,
        };
        conditions.set(Condition::new(kind, holds).because(&*saying.reason, &*saying.message), now);
    }
    status["conditions"] = serde_json::to_value(&conditions).unwrap_or_default();
    if let Some(versions) = &report.versions {
        if is_first {
            if let Some((_, version)) = versions.first() {
                status["version"] = version.as_str().into();
            }
        } else {
            status["versions"] = merge_versions(&old["versions"], versions);
        }
    }
    if !is_first && !related.is_empty() && old["relatedObjects"].as_array().is_none_or(Vec::is_empty) {
        status["relatedObjects"] = related.iter().map(named).collect();
    }
    status
}

/// Known names keep their place and get the new version, new ones come after them, others stay.
fn merge_versions(old: &Value, new: &Versions) -> Value {
    let mut list = old.as_array().cloned().unwrap_or_default();
    for (name, version) in new {
        match list.iter_mut().find(|entry| entry["name"] == name.as_str()) {
            Some(entry) => entry["version"] = version.as_str().into(),
            None => list.push(json!({"name": name, "version": version})),
        }
    }
    list.into()
}

/// A related object as the API wants it: with a name, even an empty one.
fn named(related: &Value) -> Value {
    let mut related = related.clone();
    if related["name"].is_null() {
        related["name"] = "".into();
    }
    related
}

fn reported(status: &Value, kind: Kind) -> Versions {
    if kind == Kind::FirstGeneration {
        return status["version"]
            .as_str()
            .map(|version| ("operator".to_owned(), version.to_owned()))
            .into_iter()
            .collect();
    }
    let list = status["versions"].as_array().into_iter().flatten();
    list.map(|entry| (text(&entry["name"]).to_owned(), text(&entry["version"]).to_owned())).collect()
}

fn is_true(status: &Value, kind: &str) -> bool {
    let conditions = status["conditions"].as_array();
    conditions
        .into_iter()
        .flatten()
        .any(|condition| condition["type"] == kind && condition["status"] == "True")
}

fn summary(status: &Value, kind: Kind) -> String {
    let conditions = status["conditions"].as_array().into_iter().flatten();
    let mut parts: Vec<String> = conditions
        .map(|condition| format!("{}={}", text(&condition["type"]), text(&condition["status"])))
        .collect();
    parts.extend(reported(status, kind).into_iter().map(|(name, version)| format!("{name} {version}")));
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::super::timeline::Saying;
    use super::*;

    fn report(degraded: &str) -> Change {
        let saying = |kind: &str, status: &str| Saying {
            kind: kind.into(),
            status: status.into(),
            reason: "R".into(),
            message: "m".into(),
        };
        Change {
            sayings: vec![saying("Available", "True"), saying("Degraded", degraded)],
            versions: Some(vec![("operator".into(), "2".into()), ("operand".into(), "3".into())]),
        }
    }

    fn at(second: i64) -> jiff::Timestamp {
        jiff::Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn a_report_keeps_times_places_and_foreign_fields() {
        let related = [json!({"group": "", "resource": "nodes"})];
        let old = json!({"versions": [{"name": "x", "version": "1"}, {"name": "operator", "version": "1"}], "extension": {"a": 1}});
        let first = merge(&old, Kind::ClusterOperator, &report("False"), &related, at(0));
        assert_eq!(
            first["versions"],
            json!([{"name": "x", "version": "1"}, {"name": "operator", "version": "2"}, {"name": "operand", "version": "3"}])
        );
        assert_eq!(first["relatedObjects"], json!([{"group": "", "resource": "nodes", "name": ""}]));
        assert_eq!(first["extension"], json!({"a": 1}));
        let second = merge(&first, Kind::ClusterOperator, &report("True"), &[json!({"x": 1})], at(9));
        assert_eq!(second["conditions"][0]["lastTransitionTime"], "1970-01-01T00:00:00Z");
        assert_eq!(second["conditions"][1]["lastTransitionTime"], "1970-01-01T00:00:09Z");
        assert_eq!(second["relatedObjects"], first["relatedObjects"], "those that are there stay");
    }

    #[test]
    fn the_first_generation_has_one_version_and_says_failing() {
        let status = merge(&Value::Null, Kind::FirstGeneration, &report("False"), &[], at(0));
        assert_eq!(status["version"], "2");
        assert_eq!(status.get("versions"), None);
        assert_eq!(status["conditions"][1]["type"], "Failing");
        assert_eq!(summary(&status, Kind::FirstGeneration), "Available=True, Failing=False, operator 2");
    }
}
