//! What happens in half an hour: the fates of replicas, the weather of the server, and what people do. All from a seed.

use std::time::Duration;

use lockstep_api::names::annotation;
use lockstep_api::object;
use serde_json::{Value, json};

use super::editions::Editions;
use crate::operator::VERSION;
use crate::simulation::draw::Draw;
use crate::simulation::story::{deed, fault};

/// One simulation.
#[derive(Debug)]
pub(crate) struct Story {
    /// What becomes of each replica.
    pub(crate) fates: [Vec<Fate>; REPLICAS],
    /// After so many writes of all replicas the one that sent the last is killed before it hears the answer.
    pub(crate) killing_writes: Vec<u64>,
    /// Rules of faults.
    pub(crate) faults: Vec<Value>,
    pub(crate) deeds: Vec<Deed>,
    /// The script of operators and workloads.
    pub(crate) scenario: Value,
    /// How many events of a kind the server remembers.
    pub(crate) window: usize,
    /// The last thing that is asked: an edition, or nothing.
    pub(crate) asked: Option<usize>,
    /// How often another release was asked for.
    pub(crate) asks: usize,
}

/// The end of a replica, and its next begin.
#[derive(Debug, Clone)]
pub(crate) struct Fate {
    pub(crate) at: Duration,
    /// `kill -9`, or a polite request.
    pub(crate) is_kill: bool,
    /// When the next one starts in its place.
    pub(crate) back_after: Duration,
}

/// Somebody does something.
#[derive(Debug, Clone)]
pub(crate) struct Deed {
    pub(crate) at: Duration,
    pub(crate) path: String,
    /// A merge patch; nothing means that the object is deleted.
    pub(crate) patch: Option<Value>,
    pub(crate) name: &'static str,
}

/// How many replicas there are.
pub(crate) const REPLICAS: usize = 3;
/// After so many seconds nothing bad happens any more.
const CALM_AFTER: u64 = 1200;
/// No fault lasts longer than this, in seconds.
const LONGEST_FAULT: u64 = 180;
/// The object that is sometimes left to its people.
const OVERRIDDEN: (&str, &str) = ("openshift-service-ca-operator", "service-ca-operator-config");
/// Kinds that people touch.
const TOUCHED: [&str; 7] = [
    "ConfigMap",
    "Deployment",
    "ClusterRole",
    "Service",
    "ServiceAccount",
    "Namespace",
    "CustomResourceDefinition",
];
/// What nobody touches: without them there is no ClusterVersion, or no Lease.
const UNTOUCHED: [&str; 3] = ["clusterversions.", "clusteroperators.", "openshift-cluster-version"];

// === impl Story ===

impl Story {
    /// The story of a seed.
    pub(crate) fn of(seed: u64, editions: &Editions) -> Self {
        let mut draw = Draw::new(seed, "replicas");
        let fates = [(); REPLICAS].map(|()| fates(&mut draw));
        let mut killing_writes: Vec<u64> = (0..draw.size(0, 6)).map(|_| draw.between(1, 400)).collect();
        killing_writes.sort_unstable();
        let mut draw = Draw::new(seed, "weather");
        let faults = faults(&mut draw);
        let scenario = scenario(&mut draw);
        let window = *draw.pick(&[8, 4096]);
        let mut draw = Draw::new(seed, "people");
        let mut deeds = Vec::new();
        let (asked, asks) = updates(&mut draw, editions, &mut deeds);
        settings(&mut draw, &mut deeds);
        meddling(&mut draw, editions, &mut deeds);
        deeds.sort_by_key(|deed| deed.at);
        Self { fates, killing_writes, faults, deeds, scenario, window, asked, asks }
    }
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn fates(draw: &mut Draw) -> Vec<Fate> {
    let mut fates: Vec<Fate> = (0..draw.size(1, 7))
        .map(|_| Fate {
            at: Duration::from_millis(draw.between(0, CALM_AFTER * 1000)),
            is_kill: draw.percent(70),
            back_after: Duration::from_millis(draw.between(0, 40_000)),
        })
        .collect();
    fates.sort_by_key(|fate| fate.at);
    fates
}

fn faults(draw: &mut Draw) -> Vec<Value> {
    let mut faults = Vec::new();
    if draw.percent(60) {
        // Time passes between a request and its answer, so that a kill meets requests on their way.
        faults.push(json!({"name": "way", "effect": {"latency": {"from": "0ms", "to": "40ms"}}}));
    }
    for number in 0..draw.size(0, 7) {
        let mut rule = match draw.between(0, 9) {
            // etcd stands still: every request hangs, and then goes on.
            0 | 1 => {
                json!({"name": format!("f{number}"), "effect": {"latency": {"from": "2s", "to": "12s"}}})
            }
            2 | 3 => json!({"name": format!("f{number}"), "effect": {"outage": {}}}),
            _ => fault(draw, number),
        };
        let is_jump = rule["effect"].get("clockJump").is_some();
        let is_stall = rule["effect"].get("stallWatch").is_some();
        // A stalled watch is given up after ten minutes and not before.
        let latest = if is_stall { 300 } else { CALM_AFTER - LONGEST_FAULT };
        rule["from"] = format!("{}s", draw.between(0, latest)).into();
        if !is_jump {
            rule["for"] = format!("{}s", draw.between(2, LONGEST_FAULT)).into();
        }
        faults.push(rule);
    }
    faults
}

/// The script of operators; everything is healthy in the end.
fn scenario(draw: &mut Draw) -> Value {
    let operators: Vec<Value> = ["config-operator", "dns", "machine-approver", "service-ca"]
        .map(|name| {
            let after = format!("{}s", draw.between(1, 60));
            let long = format!("{}s", draw.between(5, 120));
            let trouble = json!({"after": after, "for": long});
            let mut change = trouble.clone();
            change["period"] = format!("{}s", draw.between(3, 30)).into();
            let mut rule = match draw.between(0, 7) {
                0..=2 => json!({"availableAfter": "1s", "progressingFor": "2s", "appearsAfter": "1s"}),
                3 => json!({"availableAfter": after, "progressingFor": long}),
                4 => json!({"behaviour": {"degraded": trouble}}),
                5 => json!({"behaviour": {"unavailable": trouble}}),
                6 => json!({"behaviour": {"flap": change}}),
                _ => json!({"behaviour": {"oscillate": change}}),
            };
            rule["name"] = name.into();
            rule
        })
        .to_vec();
    let workloads = json!([{"pods": false, "readyAfter": {"from": "1s", "to": "30s"}}]);
    json!({"apiVersion": "lab.lockstep.dev/v1", "kind": "Scenario", "operators": operators, "workloads": workloads})
}

/// Updates, and changes of mind; what is asked last, and how often something else was asked.
fn updates(draw: &mut Draw, editions: &Editions, deeds: &mut Vec<Deed>) -> (Option<usize>, usize) {
    let (mut at, mut asked, mut asks) = (draw.between(0, 420), None, 0);
    for round in 0..4 {
        let next = match (round, draw.between(0, 3)) {
            (0, 1..) | (_, 2 | 3) => Some(1),
            (_, 1) => Some(0),
            _ => None,
        };
        if next != asked {
            asks += 1;
            asked = next;
            let update = next.map_or(
                Value::Null,
                |edition| json!({"image": editions.all[edition].image(), "force": true}),
            );
            let name = match next {
                None => "ask for nothing",
                Some(0) => "ask for the first release",
                Some(_) => "ask for the next release",
            };
            deeds.push(version_deed(at, name, json!({"spec": {"desiredUpdate": update}})));
        }
        at += draw.between(2, 400);
        if at > CALM_AFTER - 60 || draw.percent(30) {
            break;
        }
    }
    (asked, asks)
}

/// Pauses and overrides, each of which ends.
fn settings(draw: &mut Draw, deeds: &mut Vec<Deed>) {
    let mut spell = |draw: &mut Draw, names: [&'static str; 2], values: [Value; 2]| {
        let from = draw.between(10, CALM_AFTER - 300);
        let until = from + draw.between(5, 280);
        for ((name, value), at) in names.into_iter().zip(values).zip([from, until]) {
            deeds.push(version_deed(at, name, value));
        }
    };
    if draw.percent(40) {
        let annotate = |value: Value| json!({"metadata": {"annotations": {annotation::PAUSED: value}}});
        spell(draw, ["paused", "resumed"], [annotate("true".into()), annotate(Value::Null)]);
    }
    if draw.percent(40) {
        let entry = json!({"group": "", "kind": "ConfigMap", "namespace": OVERRIDDEN.0, "name": OVERRIDDEN.1,
            "unmanaged": true});
        let overrides = |all: Value| json!({"spec": {"overrides": all}});
        spell(draw, ["override", "override removed"], [overrides(json!([entry])), overrides(json!([]))]);
    }
}

fn version_deed(at: u64, name: &'static str, patch: Value) -> Deed {
    Deed { at: seconds(at), path: VERSION.to_owned(), patch: Some(patch), name }
}

/// People change and delete what is managed; each object at most once, or it would be a fight.
fn meddling(draw: &mut Draw, editions: &Editions, deeds: &mut Vec<Deed>) {
    let is_touched = |object: &Value| {
        let name = object::name(object);
        TOUCHED.contains(&object::kind(object)) && !UNTOUCHED.iter().any(|start| name.starts_with(start))
    };
    let objects: Vec<_> = editions.all[0].objects.iter().filter(|it| is_touched(&it.object)).collect();
    for _ in 0..draw.size(0, 10) {
        let wanted = *draw.pick(&objects);
        let path = wanted.path();
        if deeds.iter().any(|deed| deed.path == path) {
            continue;
        }
        let Some((name, change)) = deed(draw, &wanted.object) else { continue };
        deeds.push(Deed { at: seconds(draw.between(20, CALM_AFTER)), path, patch: change, name });
    }
}
