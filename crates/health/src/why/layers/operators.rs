//! Layer 8, first part: what operators say about themselves.

use lockstep_api::names::condition::{AVAILABLE, DEGRADED, FAILING, PROGRESSING};
use lockstep_api::names::{object as well_known, reason};

use super::super::Phase;
use super::super::concerns::Concerns;
use super::super::facts::{Facts, parse};
use super::super::operator::{Operator, tokens};
use super::super::phase::{I, IS, IU, IUS, U};
use super::super::resource::{CLUSTER_OPERATORS, CLUSTER_VERSIONS, DEPLOYMENTS};
use super::super::rule::{Confidence, Hit, Layer, Level, Rule};
use super::super::snapshot::Transition;
use super::super::thing::LONG_PROGRESSING;
use super::with;
use crate::facts::{Condition, list, text};

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "O01",
        layer: Layer::Operators,
        title: "Operator never reported",
        phases: I,
        level: Level::Error,
        confidence: Confidence::Sure,
        signals: "an operator of the release without ClusterOperator, or without conditions, 10 minutes after the install began",
        why: "Its Deployment does not run, so nobody writes its conditions.",
        remedy: "look at the Deployment of the same component",
        hides: &[],
        check: never_reported,
    },
    Rule {
        id: "O02",
        layer: Layer::Operators,
        title: "Operator unavailable",
        phases: IUS,
        level: Level::Error,
        confidence: Confidence::Sure,
        signals: "Available is not True for 5 minutes",
        why: "What the operator runs does not work; nothing deeper was found.",
        remedy: "read its message, its Pods and its log",
        hides: &["O03", "O04"],
        check: unavailable,
    },
    Rule {
        id: "O03",
        layer: Layer::Operators,
        title: "Operator degraded",
        phases: IUS,
        level: Level::Warning,
        confidence: Confidence::Sure,
        signals: "Degraded is True",
        why: "The operator works and cannot reach the state that it wants; nothing deeper was found.",
        remedy: "read the parts of its reason and message",
        hides: &["O04"],
        check: degraded,
    },
    Rule {
        id: "O04",
        layer: Layer::Operators,
        title: "Operator stuck progressing",
        phases: IUS,
        level: Level::Warning,
        confidence: Confidence::Hint,
        signals: "Progressing is True for 20 minutes (30 while nodes join, 90 for machine-config)",
        why: "A roll-out takes longer than it usually does.",
        remedy: "look at the workload that the message names",
        hides: &[],
        check: progressing,
    },
    Rule {
        id: "O05",
        layer: Layer::Operators,
        title: "Operator flapping",
        phases: IS,
        level: Level::Warning,
        confidence: Confidence::Sure,
        signals: "three or more changes of one condition within 10 minutes, by observation",
        why: "It never has a quiet window, so no stability check can pass.",
        remedy: "find the part that comes and goes; often a node does",
        hides: &["O04"],
        check: flapping,
    },
    Rule {
        id: "O06",
        layer: Layer::Operators,
        title: "Operator has not reached the new version",
        phases: U,
        level: Level::Warning,
        confidence: Confidence::Sure,
        signals: "Available, not Degraded, and another version than the release's for 30 minutes (90 for machine-config)",
        why: "It is well and does not finish: usually old Pods remain in its namespaces.",
        remedy: "read its log, look for Pods with the previous image",
        hides: &["O04"],
        check: behind,
    },
    Rule {
        id: "O07",
        layer: Layer::Operators,
        title: "ClusterOperator of the release has no versions",
        phases: IU,
        level: Level::Error,
        confidence: Confidence::Sure,
        signals: "ClusterVersion reason ClusterOperatorNoVersions",
        why: "The manifest does not say which version to wait for: a mistake of the release.",
        remedy: "build the release again with status.versions in the manifest",
        hides: &["V07"],
        check: no_versions,
    },
    Rule {
        id: "O08",
        layer: Layer::Operators,
        title: "Operator lacks one of the three core conditions",
        phases: IUS,
        level: Level::Warning,
        confidence: Confidence::Sure,
        signals: "conditions without Available, Progressing or Degraded",
        why: "Every stability check treats a missing condition as unstable, for ever.",
        remedy: "its author must report all three: lockstep conformance",
        hides: &[],
        check: lacks_conditions,
    },
];

/// Operators without which nothing else works.
const VITAL: [&str; 4] = ["etcd", "kube-apiserver", "network", "dns"];

/// How long each operator may be at work, in seconds.
fn patience(facts: &Facts<'_>, name: &str) -> i64 {
    let is_joining =
        facts.phase == Phase::Install && facts.nodes().iter().any(|node| !super::requests::is_ready(node));
    match name {
        well_known::MACHINE_CONFIG => 90 * 60,
        _ if is_joining => 30 * 60,
        _ => LONG_PROGRESSING,
    }
}

fn on(operator: &Operator<'_>, condition: &Condition<'_>) -> Hit {
    with(Hit::on(CLUSTER_OPERATORS, operator.object), condition)
        .concerning(Concerns::of_operator(operator.name))
        .fix(format!("lockstep why {}", operator.name))
        .fix(look(operator))
}

fn look(operator: &Operator<'_>) -> String {
    let own = operator
        .namespaces
        .iter()
        .find(|it| it.ends_with("-operator"))
        .or_else(|| operator.namespaces.first());
    match own {
        Some(namespace) => format!(
            "kubectl -n {namespace} get pods -o wide; kubectl -n {namespace} get events --field-selector type=Warning"
        ),
        None => format!("kubectl describe clusteroperator {}", operator.name),
    }
}

fn never_reported(facts: &Facts<'_>) -> Vec<Hit> {
    let Some(payload) = &facts.snapshot.payload else { return Vec::new() };
    let began = text(&facts.version()["metadata"]["creationTimestamp"]);
    if facts.version().is_null() || !facts.is_older(began, 600) {
        return Vec::new();
    }
    let enabled = list(&facts.version()["status"]["capabilities"]["enabledCapabilities"]);
    let is_wanted =
        |capability: &str| capability.is_empty() || enabled.iter().any(|it| text(it) == capability);
    let silent = payload.operators.iter().filter(|it| {
        let found = facts.operators.get(it.name.as_str());
        is_wanted(&it.capability) && found.is_none_or(Operator::is_silent)
    });
    silent
        .map(|it| {
            let exists = facts.operators.contains_key(it.name.as_str());
            let line = if exists {
                "its ClusterOperator has no conditions"
            } else {
                "its ClusterOperator does not exist"
            };
            let hit = Hit::named(CLUSTER_OPERATORS, "", &it.name).since(parse(began)).line(line);
            let hit = hit.concerning(Concerns::of_operator(&it.name));
            let own = payload.deployments.iter().find(|deployment| deployment.component == it.component);
            match own {
                Some(own) => {
                    let state = match facts.get(DEPLOYMENTS, &own.namespace, &own.name) {
                        None => "does not exist",
                        Some(found) if super::pods::is_available(found) => "is available",
                        Some(_) => "is not available",
                    };
                    hit.concerning(Concerns::default().namespace(&own.namespace))
                        .line(format!("Deployment {}/{} {state}", own.namespace, own.name))
                        .fix(format!(
                            "kubectl -n {} get deployment,pods; kubectl -n {} logs deployment/{}",
                            own.namespace, own.namespace, own.name
                        ))
                }
                None => hit.fix(format!("kubectl get deployments -A | grep {}", it.name)),
            }
        })
        .collect()
}

fn unavailable(facts: &Facts<'_>) -> Vec<Hit> {
    let found = facts
        .operators
        .values()
        .filter_map(|it| Some((it, it.condition(AVAILABLE).filter(|it| !it.is_true())?)));
    found
        .map(|(operator, condition)| {
            let age = facts.age(condition.since).unwrap_or(i64::MAX);
            let level = match age {
                1200.. if VITAL.contains(&operator.name) => Level::Critical,
                300.. => Level::Error,
                _ => Level::Warning,
            };
            on(operator, &condition).level(level)
        })
        .collect()
}

fn degraded(facts: &Facts<'_>) -> Vec<Hit> {
    let found = facts
        .operators
        .values()
        .filter_map(|it| Some((it, it.condition(DEGRADED).filter(Condition::is_true)?)));
    found
        .map(|(operator, condition)| {
            let level = if facts.is_older(condition.since, 40 * 60) { Level::Error } else { Level::Warning };
            let parts: Vec<&str> =
                tokens(condition.reason).filter(|it| !it.prefix.is_empty()).map(|it| it.prefix).collect();
            let parts = if parts.is_empty() {
                String::new()
            } else {
                format!("parts that complain: {}", parts.join(", "))
            };
            on(operator, &condition).level(level).line(parts)
        })
        .collect()
}

fn progressing(facts: &Facts<'_>) -> Vec<Hit> {
    let found = facts
        .operators
        .values()
        .filter_map(|it| Some((it, it.condition(PROGRESSING).filter(Condition::is_true)?)));
    found
        .filter(|(operator, condition)| facts.is_older(condition.since, patience(facts, operator.name)))
        .map(|(operator, condition)| on(operator, &condition))
        .collect()
}

/// Three changes of one condition within ten minutes, if an operator was seen to do that.
fn burst<'f>(facts: &'f Facts<'_>, name: &str, kind: &str) -> Option<[&'f Transition; 3]> {
    let own: Vec<_> = facts.snapshot.observed.get(name)?.iter().filter(|it| it.condition == kind).collect();
    let mut threes = own.windows(3).filter_map(|three| <[&Transition; 3]>::try_from(three).ok());
    threes.find(|[first, _, last]| last.at.duration_since(first.at).as_secs() <= 600)
}

/// Whether an operator was seen to change to and fro.
pub(in crate::why) fn flaps(facts: &Facts<'_>, name: &str) -> bool {
    CORE.iter().any(|kind| burst(facts, name, kind).is_some())
}

const CORE: [&str; 3] = [PROGRESSING, AVAILABLE, DEGRADED];

fn flapping(facts: &Facts<'_>) -> Vec<Hit> {
    let mut hits = Vec::new();
    for name in facts.snapshot.observed.keys() {
        for kind in CORE {
            let Some(burst) = burst(facts, name, kind) else { continue };
            let reasons: Vec<&str> =
                burst.iter().map(|it| it.reason.as_str()).filter(|it| !it.is_empty()).collect();
            let hit = Hit::named(CLUSTER_OPERATORS, "", name)
                .since(Some(burst[0].at))
                .concerning(Concerns::of_operator(name))
                .line(format!("{kind} changed three times within 10 minutes while it was watched"))
                .line(reasons.join(", "));
            hits.push(hit.fix(format!("kubectl get clusteroperator {name} -w")).fix("kubectl get nodes -w"));
        }
    }
    hits
}

/// The version that the cluster moves to.
fn target<'a>(facts: &Facts<'a>) -> &'a str {
    text(&facts.version()["status"]["desired"]["version"])
}

/// Whether an operator is well and has had more than enough time for the new version.
pub(in crate::why) fn is_behind(facts: &Facts<'_>, operator: &Operator<'_>) -> bool {
    let (target, version) = (target(facts), operator.version());
    let is_well = !operator.is_unavailable() && !operator.is_degraded() && !operator.is_silent();
    let limit = if operator.name == well_known::MACHINE_CONFIG { 90 * 60 } else { 30 * 60 };
    let slow = facts.of_version(FAILING).filter(|it| it.reason == reason::SLOW_CLUSTER_OPERATOR);
    let is_named = slow.is_some_and(|it| it.message.contains(operator.name));
    let is_due = || waits_on(facts, operator.name) && is_update_older(facts, limit);
    is_well && !version.is_empty() && !target.is_empty() && version != target && (is_named || is_due())
}

/// Whether the ClusterVersion says that it waits for an operator.
fn waits_on(facts: &Facts<'_>, name: &str) -> bool {
    let told = facts.of_version(PROGRESSING).map_or("", |it| it.message);
    let list = told.split_once("waiting ").map_or("", |(_, rest)| rest);
    list.split(|c: char| !(c.is_alphanumeric() || c == '-')).any(|word| word == name)
}

fn is_update_older(facts: &Facts<'_>, seconds: i64) -> bool {
    let newest = list(&facts.version()["status"]["history"]).first();
    newest.is_some_and(|it| facts.is_older(text(&it["startedTime"]), seconds))
}

fn behind(facts: &Facts<'_>) -> Vec<Hit> {
    let found = facts.operators.values().filter(|it| is_behind(facts, it));
    found
        .map(|operator| {
            let started = list(&facts.version()["status"]["history"])
                .first()
                .and_then(|it| parse(text(&it["startedTime"])));
            Hit::on(CLUSTER_OPERATORS, operator.object)
                .since(started)
                .concerning(Concerns::of_operator(operator.name))
                .line(format!("it reports {} and the release is {}", operator.version(), target(facts)))
                .line(
                    facts
                        .of_version(FAILING)
                        .filter(|it| !it.is_false())
                        .map_or_else(String::new, |it| it.told()),
                )
                .fix(look(operator))
                .fix("look for Pods with the previous image in its namespaces")
        })
        .collect()
}

fn no_versions(facts: &Facts<'_>) -> Vec<Hit> {
    let reasons = [reason::CLUSTER_OPERATOR_NO_VERSIONS, reason::CLUSTER_OPERATORS_NO_VERSIONS];
    let found = facts.of_version(FAILING).filter(|it| reasons.contains(&it.reason));
    found
        .map(|it| {
            with(Hit::named(CLUSTER_VERSIONS, "", well_known::VERSION), &it)
                .concerning(Concerns::version())
                .confidence(Confidence::Sure)
                .fix("lockstep lint <release>   # names the manifest")
        })
        .into_iter()
        .collect()
}

fn lacks_conditions(facts: &Facts<'_>) -> Vec<Hit> {
    let mut hits = Vec::new();
    for operator in facts.operators.values().filter(|it| !it.is_silent()) {
        let lacks: Vec<&str> = operator.lacks().collect();
        if !lacks.is_empty() {
            let hit =
                Hit::on(CLUSTER_OPERATORS, operator.object).concerning(Concerns::of_operator(operator.name));
            let hit = hit.line(format!("it does not report {}", lacks.join(", ")));
            hits.push(hit.fix(format!("lockstep conformance {}", operator.name)));
        }
    }
    hits
}
