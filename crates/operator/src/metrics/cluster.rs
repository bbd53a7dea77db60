//! The reference's metrics, computed from what is known of the cluster.

use std::collections::BTreeMap;

use lockstep_api::names::{condition, metric, object, reason};
use lockstep_api::{ClusterOperator, ClusterVersion, Condition, Conditions, Time, UpdateState};

use super::facts::{Facts, Version};
use super::gauge::Gauge;
use super::transitions::Transitions;

/// The name of the update service that nobody has chosen.
const DEFAULT_UPSTREAM: &str = "<default>";

/// Everything of the reference that can be computed; gauges without a row are not shown.
pub(super) fn gauges(facts: &Facts, transitions: &Transitions, errors: &BTreeMap<String, i64>) -> Vec<Gauge> {
    if facts.version == Version::Unknown {
        return Vec::new();
    }
    let mut gauges = vec![versions(facts), up(facts), conditions(facts), transitions.gauge()];
    gauges.extend([payload(facts), payload_errors(errors), installer(facts), retrieval(facts)]);
    if let Version::Found(version) = &facts.version {
        gauges.extend([available_updates(version), capabilities(version), conditional_updates(version)]);
        if facts.has_risks {
            gauges.push(risks(version));
        }
    }
    gauges
}

/// Points in time of the cluster's version.
fn versions(facts: &Facts) -> Gauge {
    let mut gauge = Gauge::new(
        metric::CLUSTER_VERSION,
        "Seconds since the epoch: when a release was created, asked for, begun, completed or failed, by type",
    );
    let current = (facts.current.version.as_str(), facts.current.image.as_str());
    let created = facts.payload_created.map_or(0, |created| seconds(created.into()));
    let mut row = |sort: &str, (version, image): (&str, &str), from: &str, value: i64| {
        let labels = [("type", sort), ("version", version), ("image", image), ("from_version", from)];
        gauge.set(labels, value);
    };
    let Some(version) = facts.version.found() else {
        row("current", current, "", created);
        return gauge;
    };
    let history = &version.status.history;
    let mut completed = history.iter().filter(|entry| entry.state == UpdateState::Completed);
    let (newest, older) = (completed.next(), completed.next());
    let from = newest.map_or("", |entry| &entry.version);
    row("current", current, from, created);

    let born = since(version.metadata.creation_timestamp);
    let initial = history.last().map_or(("", ""), |entry| (&entry.version, &entry.image));
    row("initial", initial, "", born);
    row("cluster", current, if newest.is_some() { initial.0 } else { "" }, born);
    if let Some(newest) = newest {
        let older = older.map_or("", |entry| &entry.version);
        row("completed", (&newest.version, &newest.image), older, since(newest.completion_time));
    }
    let desired = version.spec.desired_update.as_ref().filter(|update| update.image != facts.current.image);
    let desired = desired.map(|update| (update.version.as_str(), update.image.as_str()));
    if let Some(desired) = desired {
        row("desired", desired, from, newest_time(version));
    }
    if let Some(failing) = version.status.conditions.find(condition::FAILING).filter(|it| it.is_true()) {
        row("failure", desired.unwrap_or(current), from, since(failing.last_transition_time));
    }
    if let Some(first) = history.first().filter(|entry| entry.state == UpdateState::Partial) {
        row("updating", (&first.version, &first.image), from, seconds(first.started_time));
    }
    gauge
}

/// Seconds since the epoch; the zero time of other writers is 0.
fn seconds(time: Time) -> i64 {
    time.timestamp().as_second().max(0)
}

fn since(time: Option<Time>) -> i64 {
    time.map_or(0, seconds)
}

/// The newest point in time in the status.
fn newest_time(version: &ClusterVersion) -> i64 {
    let conditions = version.status.conditions.iter().filter_map(|condition| condition.last_transition_time);
    let history = version.status.history.iter();
    let history = history.flat_map(|entry| [Some(entry.started_time), entry.completion_time]).flatten();
    conditions.chain(history).map(seconds).max().unwrap_or(0)
}

fn up(facts: &Facts) -> Gauge {
    let mut gauge = Gauge::new(metric::OPERATOR_UP, "Whether a component is available");
    let mut row = |name: &str, version: &str, available: Option<&Condition>, otherwise: &str| {
        let reason = available.map_or(otherwise, |available| &available.reason);
        let value = available.is_some_and(Condition::is_true).into();
        gauge.set([("name", name), ("version", version), ("reason", reason)], value);
    };
    for operator in &facts.operators {
        let version = operator.status.version(object::OPERATOR_VERSION).unwrap_or_default();
        let available = operator.status.conditions.find(condition::AVAILABLE);
        row(&operator.metadata.name, version, available, reason::NO_AVAILABLE_CONDITION);
    }
    match facts.version.found() {
        None => row(object::VERSION, "", None, reason::CLUSTER_VERSION_NOT_FOUND),
        Some(version) => {
            let completed = version.status.last_completed().map_or("", |entry| &entry.version);
            let available = version.status.conditions.find(condition::AVAILABLE);
            row(object::VERSION, completed, available, reason::NO_AVAILABLE_CONDITION);
        }
    }
    gauge
}

fn conditions(facts: &Facts) -> Gauge {
    let mut gauge = Gauge::new(metric::OPERATOR_CONDITIONS, "Conditions of components: 1 True, 0 False");
    let mut rows = |name: &str, conditions: &Conditions| {
        for condition in conditions.iter().filter(|it| it.is_true() || it.is_false()) {
            let labels = [("name", name), ("condition", &condition.kind), ("reason", &condition.reason)];
            gauge.set(labels, condition.is_true().into());
        }
    };
    for ClusterOperator { metadata, status, .. } in &facts.operators {
        rows(&metadata.name, &status.conditions);
    }
    if let Some(version) = facts.version.found() {
        rows(object::VERSION, &version.status.conditions);
    } else {
        let why = reason::CLUSTER_VERSION_NOT_FOUND;
        gauge.set([("name", object::VERSION), ("condition", condition::AVAILABLE), ("reason", why)], 0);
    }
    gauge
}

fn payload(facts: &Facts) -> Gauge {
    let mut gauge = Gauge::new(metric::PAYLOAD, "How many manifests of the current pass are in which state");
    if let Some(pass) = &facts.pass {
        let pending = pass.total.saturating_sub(pass.done);
        for (sort, count) in [("pending", pending), ("applied", pass.done)] {
            let count = i64::try_from(count).unwrap_or(i64::MAX);
            gauge.set([("version", &pass.version), ("type", sort)], count);
        }
    }
    gauge
}

fn payload_errors(errors: &BTreeMap<String, i64>) -> Gauge {
    let mut gauge = Gauge::new(metric::PAYLOAD_ERRORS, "How often a manifest of a version was not applied");
    for (version, count) in errors {
        gauge.set([("version", version)], *count);
    }
    gauge
}

fn installer(facts: &Facts) -> Gauge {
    let mut gauge = Gauge::new(metric::INSTALLER, "Who installed the cluster");
    if let Some(found) = &facts.installer {
        gauge.set([("type", found.sort), ("version", &found.version), ("invoker", &found.invoker)], 1);
    }
    gauge
}

fn retrieval(facts: &Facts) -> Gauge {
    let mut gauge = Gauge::new(metric::UPDATE_RETRIEVAL, "When the update service last answered");
    if let Some(time) = facts.updates_retrieved {
        // NB: the label is always empty in the reference, and telemetry expects it there.
        gauge.set([("name", "")], seconds(time.into()));
    }
    gauge
}

fn available_updates(version: &ClusterVersion) -> Gauge {
    let mut gauge = Gauge::new(metric::AVAILABLE_UPDATES, "How many updates are recommended");
    let upstream = version.spec.upstream.as_str();
    let count = version.status.available_updates.as_ref().map_or(0, Vec::len);
    let is_retrieved = version.status.conditions.is_true(condition::RETRIEVED_UPDATES);
    if !upstream.is_empty() || count > 0 || is_retrieved {
        let upstream = if upstream.is_empty() { DEFAULT_UPSTREAM } else { upstream };
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        gauge.set([("upstream", upstream), ("channel", &version.spec.channel)], count);
    }
    gauge
}

fn capabilities(version: &ClusterVersion) -> Gauge {
    let mut gauge = Gauge::new(metric::CAPABILITY, "Which capabilities are enabled (1) or only known (0)");
    if let Some(capabilities) = &version.status.capabilities {
        for name in &capabilities.known_capabilities {
            gauge.set([("name", name)], 0);
        }
        for name in &capabilities.enabled_capabilities {
            gauge.set([("name", name)], 1);
        }
    }
    gauge
}

fn conditional_updates(version: &ClusterVersion) -> Gauge {
    let mut gauge =
        Gauge::new(metric::CONDITIONAL_UPDATE, "Since when a conditional update is recommended or not");
    for update in &version.status.conditional_updates {
        for it in update.conditions.iter().filter(|it| it.kind == condition::RECOMMENDED) {
            let status = it.status.to_string();
            let labels = [
                ("version", update.release.version.as_str()),
                ("condition", &it.kind),
                ("status", &status),
                ("reason", &it.reason),
            ];
            gauge.set(labels, since(it.last_transition_time));
        }
    }
    gauge
}

fn risks(version: &ClusterVersion) -> Gauge {
    let mut gauge =
        Gauge::new(metric::RISK_CONDITIONS, "Whether an update risk applies: 1 yes, 0 no, -1 unknown");
    for risk in &version.status.conditional_update_risks {
        for it in risk.conditions.iter().filter(|it| it.kind == condition::APPLIES) {
            let value = if it.is_true() { 1 } else { -i64::from(!it.is_false()) };
            gauge.set([("condition", &it.kind), ("risk", &risk.name), ("reason", &it.reason)], value);
        }
    }
    gauge
}
