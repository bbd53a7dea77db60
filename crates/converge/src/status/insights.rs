//! What speaks against a good end: insights with a level, an impact and where to read more.

use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;

use lockstep_api::names::{condition, group, machine, object};
use lockstep_api::text::masked;
use lockstep_api::{ClusterOperator, ClusterVersion, Condition, ConditionStatus, UpdateState};

use super::Input;
use super::duration::{MINUTE, Seconds, between};
use super::nodes::Phase;
use super::operators::Operator;
use super::pools::Pool;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Severity {
    /// Good to know.
    Info,
    /// To be looked at.
    Warning,
    /// To be repaired.
    Error,
    /// To be repaired now.
    Critical,
}

/// What suffers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Impact {
    /// Nothing.
    None,
    /// Nobody can tell.
    Unknown,
    /// Whether the platform's APIs answer.
    #[serde(rename = "API Availability")]
    ApiAvailability,
    /// How fast the update is.
    #[serde(rename = "Update Speed")]
    UpdateSpeed,
    /// Whether the update goes on.
    #[serde(rename = "Update Stalled")]
    UpdateStalled,
}

/// One insight.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Insight {
    /// Since when it holds.
    pub since: Timestamp,
    /// How bad it is.
    pub level: Severity,
    /// What suffers.
    pub impact: Impact,
    /// A sentence.
    pub summary: String,
    /// More sentences, where there are any.
    pub description: String,
    /// Where to read more: an address, or a file of this project's documentation.
    pub reference: String,
    /// The objects that it is about.
    pub resources: Vec<Resources>,
}

/// Objects of one kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Resources {
    /// The kind, as addresses name it: `clusteroperators.config.openshift.io`.
    pub resource: String,
    /// Their names.
    pub names: Vec<String>,
}

/// An operator that is not well for as long is worth a word.
const UNWELL: Seconds = 5 * MINUTE;
/// One that is unavailable for as long is an error.
const UNAVAILABLE: Seconds = 20 * MINUTE;
/// One that is degraded for as long is an error.
const DEGRADED: Seconds = 40 * MINUTE;
/// Alerts that matter although they are older than the update: they hold up the draining of nodes.
const ALWAYS: [&str; 2] = ["PodDisruptionBudgetLimit", "PodDisruptionBudgetAtLimit"];

/// All insights, the worst first, the newest of each level first.
pub(super) fn look(
    input: &Input,
    version: &ClusterVersion,
    operators: &[Operator],
    pools: &[Pool],
    began: Timestamp,
) -> Vec<Insight> {
    let now = input.now;
    let mut insights = Vec::new();
    let is_platform = |object: &&ClusterOperator| {
        operators.iter().any(|it| it.is_platform && it.name == object.metadata.name)
    };
    for operator in input.operators.iter().filter(is_platform) {
        insights.extend(of_operator(operator, now));
    }
    insights.extend(of_version(version, now));
    insights.extend(of_history(version, began));
    for pool in pools {
        insights.extend(of_pool(pool, now));
    }
    insights.extend(input.alerts.iter().flatten().filter_map(|alert| of_alert(alert, began)));
    insights.retain(Insight::is_complete);
    insights.sort_by_key(|insight| std::cmp::Reverse(insight.since));
    insights.sort_by_key(|insight| std::cmp::Reverse(insight.level));
    insights
}

// === impl Insight ===

impl Insight {
    /// What is told when there is nothing else to tell.
    pub(super) fn all_is_well(began: Timestamp) -> Self {
        Self {
            since: began,
            level: Severity::Info,
            impact: Impact::None,
            summary: "Update is proceeding well".to_owned(),
            description: "Nothing speaks against a good end of the update.".to_owned(),
            reference: "docs/reference/status.md".to_owned(),
            resources: Vec::new(),
        }
    }

    fn is_complete(&self) -> bool {
        ![&self.summary, &self.description, &self.reference].iter().any(|text| text.is_empty())
    }
}

// === impl Severity ===

impl Severity {
    /// The word in the table.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Info => "Info",
            Self::Warning => "Warning",
            Self::Error => "Error",
            Self::Critical => "Critical",
        }
    }
}

// === impl Impact ===

impl Impact {
    /// The words in the table.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "None",
            Self::Unknown => "Unknown",
            Self::ApiAvailability => "API Availability",
            Self::UpdateSpeed => "Update Speed",
            Self::UpdateStalled => "Update Stalled",
        }
    }
}

fn of_operator(operator: &ClusterOperator, now: Timestamp) -> Vec<Insight> {
    let name = &operator.metadata.name;
    let find = |kind| operator.status.conditions.find(kind);
    let unavailable = find(condition::AVAILABLE).filter(|it| it.is_false());
    let degraded = find(condition::DEGRADED).filter(|it| it.is_true());
    let insight = |found: &Condition, word: &str, patience: Seconds, runbook: &str| {
        let since = found.last_transition_time.map_or(now, Timestamp::from);
        let lasts = between(since, now);
        (lasts > UNWELL).then(|| Insight {
            since,
            level: if lasts > patience { Severity::Error } else { Severity::Warning },
            impact: Impact::ApiAvailability,
            summary: with_reason(format!("Cluster Operator {name} is {word}"), &found.reason),
            description: described(&found.message),
            reference: format!("docs/runbooks/{runbook}.md"),
            resources: vec![resources("clusteroperators", group::CONFIG, name)],
        })
    };
    let unavailable =
        unavailable.and_then(|it| insight(it, "unavailable", UNAVAILABLE, "ClusterOperatorDown"));
    let degraded = degraded.and_then(|it| insight(it, "degraded", DEGRADED, "ClusterOperatorDegraded"));
    unavailable.into_iter().chain(degraded).collect()
}

fn of_version(version: &ClusterVersion, now: Timestamp) -> Option<Insight> {
    let insight = |since: Timestamp, summary: String, description: String| Insight {
        since,
        level: Severity::Warning,
        impact: Impact::UpdateStalled,
        summary,
        description,
        reference: "docs/runbooks/LockstepStuck.md".to_owned(),
        resources: vec![resources("clusterversions", group::CONFIG, &version.metadata.name)],
    };
    let who = format!("Cluster Version {}", version.metadata.name);
    let Some(failing) = version.status.conditions.find(condition::FAILING) else {
        let description =
            "Nobody can tell whether the update gets on: the operator does not report it.".to_owned();
        return Some(insight(now, format!("{who} has no Failing condition"), description));
    };
    let word = match failing.status {
        ConditionStatus::False => return None,
        ConditionStatus::True => "is",
        _ => "may be",
    };
    let since = failing.last_transition_time.map_or(now, Timestamp::from);
    let summary = with_reason(format!("{who} {word} failing to proceed with the update"), &failing.reason);
    Some(insight(since, summary, described(&failing.message)))
}

fn of_history(version: &ClusterVersion, began: Timestamp) -> Option<Insight> {
    let history = &version.status.history;
    let [current, previous, ..] = &history[..] else { return None };
    if previous.state != UpdateState::Partial || current.is_completed() {
        return None;
    }
    let complete = history.iter().find(|entry| entry.is_completed());
    let complete = complete.map_or("unknown", |entry| entry.version.as_str());
    Some(Insight {
        since: began,
        level: Severity::Warning,
        impact: Impact::None,
        summary: format!(
            "Previous update to {} never completed, last complete update was {complete}",
            previous.version
        ),
        description: format!(
            "Components may still be at {complete} or at {}: rules about the distance of versions count from the oldest.",
            previous.version
        ),
        reference: "docs/reference/upgrade.md".to_owned(),
        resources: vec![resources("clusterversions", group::CONFIG, object::VERSION)],
    })
}

fn of_pool(pool: &Pool, now: Timestamp) -> Vec<Insight> {
    let mut insights = Vec::new();
    for node in &pool.nodes {
        let Some(trouble) = &node.trouble else { continue };
        let (level, impact) = if trouble.is_degraded {
            (Severity::Error, Impact::UpdateStalled)
        } else {
            (Severity::Warning, Impact::UpdateSpeed)
        };
        insights.push(Insight {
            since: trouble.since.unwrap_or(now),
            level,
            impact,
            summary: format!("Node {} {}", node.name, trouble.what),
            description: described(&trouble.message),
            reference: "docs/reference/status.md".to_owned(),
            resources: vec![resources("nodes", "", &node.name)],
        });
    }
    let outdated = pool.nodes.iter().any(|node| node.phase != Phase::Updated);
    if pool.is_paused && outdated {
        insights.push(Insight {
            since: now,
            level: Severity::Warning,
            impact: Impact::UpdateStalled,
            summary: format!("Outdated nodes in a paused pool '{}' will not be updated", pool.name),
            description:
                "Somebody paused the pool. Resume it to let its nodes be updated; while it is paused, \
                          certificates on its nodes are not renewed either."
                    .to_owned(),
            reference: "docs/reference/status.md".to_owned(),
            resources: vec![resources("machineconfigpools", machine::GROUP, &pool.name)],
        });
    }
    insights
}

fn of_alert(alert: &Value, began: Timestamp) -> Option<Insight> {
    let label = |key: &str| alert["labels"][key].as_str().unwrap_or_default();
    let annotation = |key: &str| alert["annotations"][key].as_str().unwrap_or_default();
    let level = match label("severity") {
        "warning" => Severity::Warning,
        "critical" => Severity::Critical,
        _ => return None,
    };
    let since: Timestamp = alert["activeAt"].as_str()?.parse().ok()?;
    let name = label("alertname");
    if alert["state"] != "firing" || since < began && !ALWAYS.contains(&name) {
        return None;
    }
    let summary = if annotation("summary").is_empty() { name } else { annotation("summary") };
    let description =
        [annotation("description"), annotation("message")].into_iter().find(|it| !it.is_empty());
    let namespace = label("namespace");
    let named = if namespace.is_empty() { name.to_owned() } else { format!("{namespace}/{name}") };
    Some(Insight {
        since,
        level,
        impact: Impact::Unknown,
        summary: format!("Alert is firing: {}", masked(summary)),
        description: description.map(|it| masked(it).into_owned()).unwrap_or_default(),
        reference: annotation("runbook_url").to_owned(),
        resources: vec![Resources { resource: "alerts".to_owned(), names: vec![named] }],
    })
}

fn with_reason(sentence: String, reason: &str) -> String {
    if reason.is_empty() { sentence } else { format!("{sentence} ({reason})") }
}

fn described(message: &str) -> String {
    if message.is_empty() { "<no message>".to_owned() } else { masked(message).into_owned() }
}

fn resources(plural: &str, group: &str, name: &str) -> Resources {
    let resource = if group.is_empty() { plural.to_owned() } else { format!("{plural}.{group}") };
    Resources { resource, names: vec![name.to_owned()] }
}
