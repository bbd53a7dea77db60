//! The top of the screen: where the cluster is, what happens now, how long it still takes, what is next.

use serde::Serialize;

use lockstep_api::names::condition;
use lockstep_api::text::masked;
use lockstep_api::{ClusterVersion, ConditionStatus};
use lockstep_updates::state;

use super::duration::{Seconds, between};
use super::operators::{self, Counts, Level, Operator, Step};
use super::{ControlPlane, Input, rest, sentence};

/// What fits on one screen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    /// The version that the cluster has or goes to.
    pub version: String,
    /// Where it comes from, while it is on its way.
    pub from: Option<String>,
    /// For how long it is at this version or on its way there.
    pub since: Option<Seconds>,
    /// What the operator of the cluster says.
    pub now: Now,
    /// Why it is paused; empty when nobody said.
    pub paused: Option<String>,
    /// Operators by what they say.
    pub counts: Counts,
    /// Operators that everything waits for.
    pub waits_at: Vec<String>,
    /// Their run level, where the release is known.
    pub at_level: Option<String>,
    /// How many operators they hold up.
    pub blocks: usize,
    /// Gates that are still to be passed.
    pub ahead: Vec<Ahead>,
    /// Why updates to the next minor version are not possible.
    pub not_upgradeable: Option<String>,
    /// What is said of stability.
    pub stability: Option<String>,
}

/// What the operator of the cluster says.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Now {
    /// The message of Progressing.
    pub message: String,
    /// Manifests that are done, where the message tells.
    pub done: Option<usize>,
    /// All manifests, where the message tells.
    pub total: Option<usize>,
    /// What is waited for, where the message tells.
    pub waiting_on: Vec<String>,
    /// What fails.
    pub failing: Option<String>,
}

/// The gates of one run level.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Ahead {
    /// The level; none where it is not known.
    pub level: Option<String>,
    /// Its operators that are not there yet.
    pub operators: Vec<String>,
}

pub(super) fn sum_up(
    input: &Input,
    version: &ClusterVersion,
    operators: &[Operator],
    levels: &[Level],
    control_plane: &ControlPlane,
    (is_updating, holds_levels): (bool, bool),
) -> Summary {
    let status = &version.status;
    let find = |kind| status.conditions.find(kind);
    let latest = status.history.first();
    let is_open = latest.is_some_and(|entry| !entry.is_completed());
    let since = latest.map(|entry| match entry.completion_time.filter(|_| !is_open) {
        Some(end) => between(end.timestamp(), input.now),
        None => between(entry.started_time.timestamp(), input.now),
    });
    let mut now = find(condition::PROGRESSING).map(|it| Now::of(sentence(it))).unwrap_or_default();
    let failing = find(condition::FAILING).filter(|it| it.status != ConditionStatus::False);
    now.failing = failing.map(|it| masked(sentence(it)).into_owned());
    let is_open_gate = |operator: &&Operator| operator.is_platform && operator.step != Step::Updated;
    let mut ahead: Vec<Ahead> = levels
        .iter()
        .map(|level| Ahead {
            level: level.name.clone(),
            operators: level.operators.iter().filter(is_open_gate).map(|it| it.name.clone()).collect(),
        })
        .filter(|ahead| is_updating && !ahead.operators.is_empty())
        .collect();
    // With levels known and held, those of the first open one are waited for now; otherwise the message tells.
    let holds = ahead.first().filter(|first| holds_levels && first.level.is_some());
    let first = holds.and_then(|first| first.operators.first()).cloned();
    let holds = operators.iter().find(|operator| Some(&operator.name) == first.as_ref());
    let (waits_at, at_level, blocks) = if let Some(operator) = holds {
        let first = ahead.remove(0);
        (first.operators, first.level, operator.blocks.len())
    } else {
        for level in &mut ahead {
            level.operators.retain(|name| !now.waiting_on.contains(name));
        }
        ahead.retain(|level| !level.operators.is_empty());
        (now.waiting_on.clone(), None, 0)
    };
    let not_upgradeable = find(condition::UPGRADEABLE).filter(|it| it.is_false());
    Summary {
        version: status.desired.name().to_owned(),
        from: status.history.get(1).filter(|_| is_open).map(|entry| entry.version.clone()),
        since,
        now,
        paused: state::pause(version).map(str::to_owned),
        counts: operators::count(operators),
        waits_at,
        at_level,
        blocks,
        ahead,
        not_upgradeable: not_upgradeable.map(|it| masked(sentence(it)).into_owned()),
        stability: input.stability.clone().or_else(|| rest::line(&input.operators, input.now)),
    }
    .completed(control_plane)
}

// === impl Summary ===

impl Summary {
    /// Nothing is waited for in a control plane that is complete, whatever an old message says.
    fn completed(mut self, control_plane: &ControlPlane) -> Self {
        if control_plane.completed.is_some() {
            self.waits_at.clear();
            self.ahead.clear();
        }
        self
    }
}

// === impl Now ===

impl Now {
    /// Reads what the messages of Progressing tell: `… 300 of 960 done (31% complete), waiting on dns, network`.
    fn of(message: &str) -> Self {
        let message = masked(message).into_owned();
        let counts = message.split_once(" done (").and_then(|(before, _)| {
            let (rest, total) = before.rsplit_once(" of ")?;
            let done = rest.rsplit(' ').next()?;
            Some((done.parse().ok()?, total.parse().ok()?))
        });
        Self {
            done: counts.map(|(done, _)| done),
            total: counts.map(|(_, total)| total),
            waiting_on: waiting_on(&message),
            failing: None,
            message,
        }
    }

    /// Percent of the manifests that are done.
    pub fn percent(&self) -> Option<usize> {
        let (done, total) = (self.done?, self.total?);
        Some(done * 100 / total.max(1))
    }
}

/// The operators that a message waits for: `waiting on a, b`, `waiting up to 40 minutes on c`, `waiting on d over 30
/// minutes and e over 90 minutes which is longer than expected`.
fn waiting_on(message: &str) -> Vec<String> {
    let lists = message.split("waiting ").skip(1);
    let lists = lists
        .filter_map(|rest| rest.strip_prefix("on ").or_else(|| Some(rest.split_once(" minutes on ")?.1)));
    let names = lists.flat_map(|list| list.split(", ").flat_map(|part| part.split(" and ")));
    let name = |part: &str| {
        let (name, rest) = part.split_once(' ').unwrap_or((part, ""));
        let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
        (is_name && (rest.is_empty() || rest.starts_with("over "))).then(|| name.to_owned())
    };
    let mut found = Vec::new();
    for name in names.filter_map(name) {
        if !found.contains(&name) {
            found.push(name);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_of_progressing_is_read() {
        let now = Now::of("Working towards 4.20.3: 300 of 960 done (31% complete), waiting on dns, network");
        assert_eq!((now.done, now.total, now.percent()), (Some(300), Some(960), Some(31)));
        assert_eq!(now.waiting_on, ["dns", "network"]);
        let now = Now::of("Working towards 4.20.3: waiting up to 40 minutes on etcd");
        assert_eq!((now.done, now.waiting_on), (None, vec!["etcd".to_owned()]));
        let now =
            Now::of("waiting on dns, network, waiting up to 40 minutes on etcd, and the weather is bad");
        assert_eq!(now.waiting_on, ["dns", "network", "etcd"]);
        let slow =
            "waiting on dns over 30 minutes and machine-config over 90 minutes which is longer than expected";
        assert_eq!(Now::of(slow).waiting_on, ["dns", "machine-config"]);
        assert_eq!(Now::of("Cluster version is 4.20.3").percent(), None);
        let now = Now::of("Unable to apply 4.20.3: 3 of x done (");
        assert_eq!(now.total, None);
    }
}
