//! What happens in a simulation: the releases, the weather of the server, people, crashes. All of it from a seed.

use std::time::Duration;

use lockstep_api::names::{annotation, label};
use lockstep_api::object;
use lockstep_graph::{InstallOrder, Mode};
use serde_json::{Value, json};

use super::draw::Draw;
use super::place::Place;
use super::release::{Edition, first, next};

/// One simulation.
#[derive(Debug)]
pub(crate) struct Story {
    pub(crate) editions: Vec<Edition>,
    pub(crate) order: InstallOrder,
    pub(crate) chapters: Vec<Chapter>,
    /// The script of operators and workloads.
    pub(crate) scenario: Value,
    /// How many events of a kind the server remembers.
    pub(crate) window: usize,
}

/// One release is brought to the cluster.
#[derive(Debug)]
pub(crate) struct Chapter {
    pub(crate) edition: usize,
    pub(crate) mode: Mode,
    /// Rules of faults; their times count from the begin of the chapter.
    pub(crate) faults: Vec<Value>,
    /// Troubles that the lab does not have.
    pub(crate) troubles: Vec<Trouble>,
    pub(crate) deeds: Vec<Deed>,
    /// After how many accepted writes of a run the engine is killed, one per run.
    pub(crate) crashes: Vec<usize>,
}

/// Something behind the server that does not answer for a while.
#[derive(Debug, Clone)]
pub(crate) struct Trouble {
    pub(crate) sort: TroubleSort,
    /// Writes to this resource meet it.
    pub(crate) resource: &'static str,
    pub(crate) from: Duration,
    pub(crate) until: Duration,
}

/// What does not answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TroubleSort {
    Webhook,
    AggregatedApi,
}

/// Somebody does something to an object.
#[derive(Debug, Clone)]
pub(crate) struct Deed {
    pub(crate) at: Duration,
    pub(crate) path: String,
    /// A merge patch; nothing means that the object is deleted.
    pub(crate) patch: Option<Value>,
    pub(crate) name: &'static str,
}

/// All weather is over after so many seconds of a chapter.
const CALM_AFTER: u64 = 900;

// === impl Story ===

impl Story {
    /// The story of a seed.
    pub(crate) fn of(seed: u64) -> Self {
        let mut draw = Draw::new(seed, "release");
        let edition = first(&mut draw);
        // In turn, so that every way is gone equally often.
        let (order, is_update) = match seed % 4 {
            0 => (InstallOrder::Flat, false),
            1 => (InstallOrder::RunLevel, false),
            _ => (InstallOrder::Flat, true),
        };
        let mut editions = vec![edition];
        if is_update {
            editions.push(next(&mut draw, &editions[0]));
        }
        let mut draw = Draw::new(seed, "weather");
        let scenario = scenario(&mut draw, &editions[0], is_update);
        let mut chapters = Vec::new();
        for (index, edition) in editions.iter().enumerate() {
            let mode = if index == 0 { Mode::Installing } else { Mode::Updating };
            // The first release of an update is only the stage, most of the time.
            let is_calm = draw.percent(if is_update && index == 0 { 75 } else { 20 });
            chapters.push(chapter(&mut draw, index, edition, mode, is_calm));
        }
        let window = *draw.pick(&[1, 8, 4096]);
        Self { editions, order, chapters, scenario, window }
    }
}

fn chapter(draw: &mut Draw, edition: usize, release: &Edition, mode: Mode, is_calm: bool) -> Chapter {
    let mut chapter = Chapter {
        edition,
        mode,
        faults: Vec::new(),
        troubles: Vec::new(),
        deeds: finalizers(draw, release),
        crashes: Vec::new(),
    };
    if draw.percent(50) {
        chapter.crashes = (0..draw.size(1, 3)).map(|_| draw.size(1, release.files.len())).collect();
    }
    if is_calm {
        return chapter;
    }
    chapter.faults = (0..draw.size(1, 5)).map(|number| fault(draw, number)).collect();
    if draw.percent(25) {
        let sort = *draw.pick(&[TroubleSort::Webhook, TroubleSort::AggregatedApi]);
        let resource =
            draw.pick(&["configmaps", "deployments.apps", "clusterroles.rbac.authorization.k8s.io"]);
        let from = Duration::from_secs(draw.between(0, 20));
        let until = from + Duration::from_secs(draw.between(10, 600));
        chapter.troubles.push(Trouble { sort, resource, from, until });
    }
    people(draw, release, &mut chapter.deeds);
    chapter
}

/// What holds a leftover back lets go of it after a while.
fn finalizers(draw: &mut Draw, release: &Edition) -> Vec<Deed> {
    let held = release.leftovers.iter().filter(|object| object["metadata"].get("finalizers").is_some());
    held.map(|object| Deed {
        at: Duration::from_secs(draw.between(1, 600)),
        path: Place::of(object).path,
        patch: Some(json!({"metadata": {"finalizers": null}})),
        name: "finalizer ends",
    })
    .collect()
}

/// One rule for the faults of the lab.
pub(crate) fn fault(draw: &mut Draw, number: usize) -> Value {
    let span = |seconds: u64| format!("{seconds}s");
    let hang = draw.percent(30);
    let after = span(draw.between(0, 20));
    let watch_after = span(draw.between(0, 120));
    let writes = json!({"verbs": ["create", "patch", "delete"]});
    let watches = json!({"verbs": ["list", "watch"]});
    let all = json!({});
    let (effect, matching) = match draw.between(0, 16) {
        0 => (json!({"latency": {"from": "5ms", "to": "8s"}}), all),
        1 => (json!({"refuse": {"code": 401}}), all),
        2 => (json!({"refuse": {"code": 403}}), writes),
        3 => (json!({"refuse": {"code": 403}}), watches),
        // Not for reads of one object and deletes: there a false 404 cannot be told from a true one.
        4 => (json!({"refuse": {"code": 404}}), json!({"verbs": ["create", "patch", "list", "watch"]})),
        5 => (json!({"refuse": {"code": 409}}), writes),
        6 => (json!({"refuse": {"code": 429, "retryAfter": span(draw.between(1, 30))}}), all),
        7 => (json!({"refuse": {"code": 500}}), all),
        8 => (json!({"refuse": {"code": 503}}), all),
        9 => (json!({"timeoutBeforeCommit": {"after": after, "hang": hang}}), writes),
        10 | 11 => (json!({"timeoutAfterCommit": {"after": after, "hang": hang}}), writes),
        12 => (json!({"dropWatch": {"after": watch_after}}), all),
        13 => (json!({"stallWatch": {"after": watch_after}}), all),
        14 => (json!({"expireWatch": {}}), all),
        15 => (json!({"outage": {}}), all),
        _ => {
            let by = *draw.pick(&["-1h", "-5s", "30s", "2h"]);
            let from = draw.between(0, 300);
            return json!({"name": format!("f{number}"), "effect": {"clockJump": {"by": by}}, "from": span(from)});
        }
    };
    let from = draw.between(0, 1) * draw.between(0, 300);
    let mut rule = json!({"name": format!("f{number}"), "effect": effect, "from": span(from), "match": matching,
        "for": span(draw.between(1, CALM_AFTER - from - 60).min(draw.between(5, 840)))});
    if draw.percent(60) {
        rule["probability"] = json!([0.05, 0.2, 0.5, 0.9][draw.size(0, 3)]);
    }
    if draw.percent(20) {
        rule["times"] = json!(draw.between(1, 5));
    }
    rule
}

/// People change and delete what is managed; each field of an object at most once, or it would be a fight.
fn people(draw: &mut Draw, release: &Edition, deeds: &mut Vec<Deed>) {
    let objects: Vec<&Value> = release.files.iter().map(|file| &file.object).collect();
    for _ in 0..draw.size(0, 6) {
        let object = *draw.pick(&objects);
        let place = Place::of(object);
        let is_removal = object::annotation(object, annotation::DELETE).is_some();
        if is_removal || deeds.iter().any(|deed| deed.path == place.path) {
            continue;
        }
        let Some((name, patch)) = deed(draw, object) else { continue };
        let at = Duration::from_secs(draw.between(1, 700));
        deeds.push(Deed { at, path: place.path, patch, name });
    }
}

/// What somebody does to an object: its name, and a merge patch or nothing for a deletion.
pub(crate) fn deed(draw: &mut Draw, object: &Value) -> Option<(&'static str, Option<Value>)> {
    let unlabel = json!({"metadata": {"labels": {label::PAYLOAD: null}}});
    let change = match object::kind(object) {
        "ConfigMap" => {
            // A key that the release does not have would be nobody's business.
            let key =
                object["data"].as_object().and_then(|data| data.keys().next().cloned()).unwrap_or_default();
            json!({"data": {key: "edited"}})
        }
        "Secret" => json!({"data": {"key": "ZWRpdGVk"}}),
        "Deployment" => json!({"spec": {"replicas": 3}}),
        "ClusterRole" => json!({"rules": []}),
        "Service" => json!({"spec": {"selector": {"app": "edited"}}}),
        "ServiceAccount" => unlabel.clone(),
        // Everything in it goes with it: rarely.
        "Namespace" if draw.percent(85) => return None,
        "CustomResourceDefinition" if draw.percent(60) => return None,
        "Namespace" => return Some(("namespace deleted", None)),
        "CustomResourceDefinition" if object::name(object).starts_with("clusteroperators") => return None,
        "CustomResourceDefinition" => return Some(("definition deleted", None)),
        "Job" | "ClusterOperator" => return None,
        _ => json!({"spec": {"text": "edited"}}),
    };
    Some(match draw.between(0, 2) {
        0 => ("object deleted", None),
        1 => ("field changed", Some(change)),
        _ => ("label removed", Some(unlabel)),
    })
}

/// The script of operators and workloads; everything is healthy in the end.
fn scenario(draw: &mut Draw, release: &Edition, is_update: bool) -> Value {
    let operators: Vec<Value> = release
        .operators
        .iter()
        .map(|(name, runtime)| {
            let mut rule = operator(draw, &release.version, is_update);
            rule["name"] = name.as_str().into();
            rule["runtimeNamespaces"] = false.into();
            if let Some(runtime) = runtime {
                let after = format!("{}s", draw.between(0, 90));
                rule["creates"] = json!([{"namespace": runtime, "after": after}]);
            }
            rule
        })
        .collect();
    let has_pods = draw.percent(15);
    let workloads = json!([
        {"kind": "Job", "pods": has_pods, "readyAfter": {"from": "1s", "to": "4m"}},
        {"pods": has_pods, "readyAfter": {"from": "1s", "to": "3m"}},
    ]);
    json!({"apiVersion": "lab.lockstep.dev/v1", "kind": "Scenario", "operators": operators, "workloads": workloads})
}

fn operator(draw: &mut Draw, version: &str, is_update: bool) -> Value {
    let after = format!("{}s", draw.between(0, 120));
    let long = format!("{}s", draw.between(20, 600));
    let trouble = json!({"after": after, "for": long, "period": format!("{}s", draw.between(3, 60))});
    match draw.between(0, 9) {
        0..=2 => json!({"availableAfter": "1s", "progressingFor": "2s", "appearsAfter": "1s"}),
        3 => json!({"availableAfter": after, "progressingFor": long}),
        4 => json!({"behaviour": {"degraded": {"after": "1s", "for": long}}}),
        5 => json!({"behaviour": {"unavailable": {"after": "1s", "for": long}}}),
        6 => json!({"behaviour": {"flap": trouble}}),
        7 => json!({"behaviour": {"oscillate": trouble}}),
        8 if !is_update => {
            let well = json!([{"type": "Available", "status": "True"}, {"type": "Progressing", "status": "False"},
                {"type": "Degraded", "status": "False"}]);
            json!({"steps": [
                {"after": "1s", "conditions": well, "versions": {"operator": "0.9.0"}},
                {"after": long, "versions": {"operator": version}},
            ]})
        }
        _ => json!({}),
    }
}

// === impl Chapter ===

impl Chapter {
    /// After how long nothing bad happens any more.
    pub(crate) fn calm_after(&self) -> Duration {
        let has_weather = !self.faults.is_empty() || !self.troubles.is_empty() || !self.deeds.is_empty();
        if has_weather { Duration::from_secs(CALM_AFTER) } else { Duration::ZERO }
    }
}
