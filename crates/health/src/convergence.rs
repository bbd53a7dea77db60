//! When a cluster has got where it shall be: each step that an installer waits for, and the whole checklist.
//!
//! Every function here says why not yet, naming the object; `Ok` is yes.

use lockstep_api::names::condition;
use lockstep_api::object;
use serde::Serialize;
use serde_json::Value;

use crate::facts::{Condition, list, one_line, text};
use crate::{Verdict, pod};

/// What keeps an operator from being well.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OperatorState {
    /// Its name.
    pub name: String,
    /// `unavailable`, `progressing`, `degraded`, `without Available` …; none for one that is well.
    pub words: Vec<String>,
    /// The oldest transition among what is wrong, as it is written.
    pub since: String,
    /// The conditions that are wrong, in words.
    pub conditions: Vec<String>,
}

/// One line of a checklist.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Check {
    /// What has to hold.
    pub title: &'static str,
    /// Whether it does.
    pub holds: bool,
    /// How much of it holds, or why it does not: a line for each object.
    pub lines: Vec<String>,
}

/// A cluster is initialised: the ClusterVersion is Available, does not fail and does not progress.
///
/// *Compatibility*: `Failing` has to be there and False; True is never the end of the wait, because operators that come up
/// in any order make it flicker.
pub fn initialized(version: Option<&Value>) -> Result<(), String> {
    let version = version.ok_or("there is no ClusterVersion version yet")?;
    let wanted =
        [(condition::AVAILABLE, "True"), (condition::FAILING, "False"), (condition::PROGRESSING, "False")];
    let mut open = Vec::new();
    for (kind, status) in wanted {
        match Condition::find(version, kind) {
            Some(found) if found.status == status => {}
            Some(found) => open.push((kind, found.told())),
            None => open.push((kind, format!("it reports no condition {kind}"))),
        }
    }
    // Who fails says more than who progresses, and both say more than that nothing was complete yet.
    let by_worth = [condition::FAILING, condition::PROGRESSING, condition::AVAILABLE];
    match by_worth.iter().find_map(|kind| open.iter().find(|(found, _)| found == kind)) {
        Some((_, told)) => Err(format!("ClusterVersion version: {told}")),
        None => Ok(()),
    }
}

/// The bootstrap host is done: `ConfigMap` `kube-system/bootstrap` says so.
pub fn bootstrapped(config_map: Option<&Value>) -> Result<(), String> {
    let found = config_map.ok_or("there is no ConfigMap kube-system/bootstrap yet: the bootstrap host writes it when the control plane runs on the masters")?;
    match text(&found["data"]["status"]) {
        "complete" => Ok(()),
        "" => Err("ConfigMap kube-system/bootstrap has no status yet".to_owned()),
        status => Err(format!("ConfigMap kube-system/bootstrap: status is {}", one_line(status))),
    }
}

/// The etcd member of the bootstrap host is gone, so that the host may go.
pub fn bootstrap_member_removed(etcd: Option<&Value>) -> Result<(), String> {
    const REMOVED: &str = "EtcdBootstrapMemberRemoved";
    let etcd = etcd.ok_or("there is no Etcd cluster yet")?;
    match Condition::find(etcd, REMOVED) {
        Some(found) if found.is_true() => Ok(()),
        Some(found) => Err(format!("Etcd cluster: {}", found.told())),
        None => Err(format!("Etcd cluster: no condition {REMOVED} yet")),
    }
}

/// What keeps an operator from being well: available, at rest, not degraded. What is missing counts as wrong.
pub fn operator_state(operator: &Value) -> OperatorState {
    let wanted = [
        (condition::AVAILABLE, "True", "unavailable"),
        (condition::PROGRESSING, "False", "progressing"),
        (condition::DEGRADED, "False", "degraded"),
    ];
    let mut state = OperatorState {
        name: object::name(operator).to_owned(),
        words: Vec::new(),
        since: String::new(),
        conditions: Vec::new(),
    };
    for (kind, status, word) in wanted {
        match Condition::find(operator, kind) {
            Some(found) if found.status == status => {}
            Some(found) => {
                state.words.push(word.to_owned());
                state.conditions.push(found.told());
                if !found.since.is_empty() && (state.since.is_empty() || found.since < state.since.as_str()) {
                    found.since.clone_into(&mut state.since);
                }
            }
            None => {
                state.words.push(format!("without {kind}"));
                state.conditions.push(format!("it reports no condition {kind}"));
            }
        }
    }
    state
}

/// One operator is well and, where a version is wanted, reports it.
pub fn operator_settled(name: &str, operator: Option<&Value>, version: Option<&str>) -> Result<(), String> {
    let operator = operator.ok_or_else(|| format!("there is no ClusterOperator {name} yet"))?;
    let state = operator_state(operator);
    if let Some(first) = state.conditions.first() {
        return Err(format!("ClusterOperator {name} is {}: {first}", state.words.join(" and ")));
    }
    match (version, reported(operator)) {
        (Some(wanted), Some(found)) if wanted != found => {
            Err(format!("ClusterOperator {name} reports version {}, not yet {wanted}", one_line(found)))
        }
        _ => Ok(()),
    }
}

/// The whole checklist of a converged cluster.
pub fn checklist<'a>(
    version: Option<&Value>,
    operators: &[&'a Value],
    pods: impl Iterator<Item = &'a Value>,
) -> Vec<Check> {
    let count = operators.len();
    let bad = |kind: &'static str, wanted: &'static str| {
        let told = operators.iter().filter_map(move |operator| match Condition::find(operator, kind) {
            Some(found) if found.status == wanted => None,
            Some(found) => Some(format!("ClusterOperator {}: {}", object::name(operator), found.told())),
            None => Some(format!("ClusterOperator {} reports no condition {kind}", object::name(operator))),
        });
        told.collect::<Vec<String>>()
    };
    let none = || {
        vec![
            "there is no ClusterOperator: either no operator has started or the kind is not served"
                .to_owned(),
        ]
    };
    let unavailable = if count == 0 { none() } else { bad(condition::AVAILABLE, "True") };
    let degraded = if count == 0 { none() } else { bad(condition::DEGRADED, "False") };
    let (mut unwell, mut total) = (Vec::new(), 0);
    for live in pods {
        total += 1;
        if let Verdict::NotYet(why) | Verdict::Bad(why) = pod::of(live) {
            unwell.push(why.sentence);
        }
    }
    vec![
        Check::new("all operators are Available", unavailable, format!("{count} of {count}")),
        Check::new("no operator is Degraded", degraded, format!("0 of {count}")),
        available(version),
        at_desired(version),
        Check::new("all Pods run or are complete", unwell, format!("{total} of {total}")),
    ]
}

fn available(version: Option<&Value>) -> Check {
    const TITLE: &str = "ClusterVersion is Available";
    match version.map(|version| Condition::find(version, condition::AVAILABLE)) {
        Some(Some(found)) if found.is_true() => Check::new(TITLE, Vec::new(), one_line(found.message)),
        Some(Some(found)) => {
            Check::new(TITLE, vec![format!("ClusterVersion version: {}", found.told())], String::new())
        }
        Some(None) => Check::new(
            TITLE,
            vec!["ClusterVersion version reports no condition Available".to_owned()],
            String::new(),
        ),
        None => Check::new(TITLE, vec!["there is no ClusterVersion version".to_owned()], String::new()),
    }
}

fn at_desired(version: Option<&Value>) -> Check {
    const TITLE: &str = "ClusterVersion is at the desired version";
    let Some(version) = version else {
        return Check::new(TITLE, vec!["there is no ClusterVersion version".to_owned()], String::new());
    };
    let desired = text(&version["status"]["desired"]["version"]);
    let newest = list(&version["status"]["history"]).first();
    let (state, reached) = newest.map_or(("", ""), |it| (text(&it["state"]), text(&it["version"])));
    if !desired.is_empty() && state == "Completed" && reached == desired {
        return Check::new(TITLE, Vec::new(), desired.to_owned());
    }
    let mut why = match state {
        "" => "ClusterVersion version: nothing was begun yet".to_owned(),
        state => format!(
            "ClusterVersion version: {} is {state}, {} is desired",
            one_line(reached),
            one_line(desired)
        ),
    };
    if let Some(found) = Condition::find(version, condition::PROGRESSING) {
        why.push_str("; ");
        why.push_str(&found.told());
    }
    Check::new(TITLE, vec![why], String::new())
}

/// The version of the operator itself that an operator reports.
fn reported(operator: &Value) -> Option<&str> {
    let versions = list(&operator["status"]["versions"]);
    versions.iter().find(|it| it["name"] == "operator").map(|it| text(&it["version"]))
}

// === impl OperatorState ===

impl OperatorState {
    /// Whether nothing is wrong.
    pub fn is_well(&self) -> bool {
        self.words.is_empty()
    }
}

// === impl Check ===

impl Check {
    fn new(title: &'static str, open: Vec<String>, how_much: String) -> Self {
        let holds = open.is_empty();
        Self { title, holds, lines: if holds { vec![how_much] } else { open } }
    }

    /// The line with its mark, and what is open below it.
    pub fn told(&self, most: usize) -> String {
        let mark = if self.holds { "✓" } else { "✗" };
        let lines: Vec<&str> =
            self.lines.iter().map(String::as_str).filter(|line| !line.is_empty()).collect();
        match (self.holds, lines.as_slice()) {
            (true, [how_much]) => format!("{mark} {} ({how_much})\n", self.title),
            (true, _) => format!("{mark} {}\n", self.title),
            (false, lines) => {
                let mut told = format!("{mark} {}\n", self.title);
                let shown = lines.iter().take(most).map(|line| format!("    {line}\n"));
                told.extend(shown);
                if lines.len() > most {
                    told.extend([format!("    and {} more\n", lines.len() - most)]);
                }
                told
            }
        }
    }
}

#[cfg(test)]
#[path = "convergence_tests.rs"]
mod tests;
