//! What became of a request: seen from outside, by what the ClusterVersion says.

use lockstep_api::names::condition;
use lockstep_api::{ClusterVersion, Condition, Release, Update};

use crate::ask::asks_for;

/// A request whose fate is followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// What was asked for.
    pub update: Update,
    /// The generation of the ClusterVersion that holds it.
    pub generation: i64,
    /// What `ReleaseAccepted` said before; it may be about something else.
    pub accepted_before: Option<Condition>,
}

/// How far a request came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fate {
    /// It is not decided; a line that tells what happens.
    Open(String),
    /// The cluster is completely at the release.
    Done(String),
    /// It will not come to that; why.
    Refused(String),
}

// === impl Request ===

impl Request {
    /// How far it came.
    ///
    /// *Order*: somebody asks for something else; not seen; invalid; there; refused; under way.
    pub fn fate(&self, version: &ClusterVersion) -> Fate {
        let status = &version.status;
        let wanted = Release {
            version: self.update.version.clone(),
            image: self.update.image.clone(),
            ..Release::default()
        };
        match &version.spec.desired_update {
            Some(now) if asks_for(now, &wanted) => {}
            Some(now) => {
                let other = if now.version.is_empty() { &now.image } else { &now.version };
                return Fate::Refused(format!("somebody asked for {other} instead"));
            }
            None => return Fate::Refused("somebody took the request back".to_owned()),
        }
        if status.observed_generation < self.generation {
            return Fate::Open("the operator has not seen the request yet; does it run?".to_owned());
        }
        let find = |kind| status.conditions.find(kind);
        if let Some(invalid) = find(condition::INVALID).filter(|it| it.is_true()) {
            return Fate::Refused(invalid.message.clone());
        }
        let entry = status.history.first().filter(|entry| {
            let entry =
                Update { version: entry.version.clone(), image: entry.image.clone(), ..Update::default() };
            asks_for(&entry, &wanted)
        });
        if entry.is_some_and(lockstep_api::UpdateHistory::is_completed) {
            return Fate::Done(format!("the cluster is at {}", self.name()));
        }
        if let Some(accepted) =
            find(condition::RELEASE_ACCEPTED).filter(|it| it.is_false() && !self.is_stale(it))
        {
            return Fate::Refused(format!("{}: {}", accepted.reason, accepted.message));
        }
        let progress = find(condition::PROGRESSING).map(|it| it.message.clone()).unwrap_or_default();
        Fate::Open(match (entry, find(condition::FAILING).filter(|it| it.is_true())) {
            (Some(_), Some(failing)) => format!("{progress} (failing: {})", failing.message),
            (Some(_), None) => progress,
            (None, _) => match find(condition::RELEASE_ACCEPTED) {
                Some(accepted) if !accepted.is_true() && !accepted.message.is_empty() => {
                    accepted.message.clone()
                }
                _ => format!("{} is being looked at", self.name()),
            },
        })
    }

    fn name(&self) -> &str {
        if self.update.version.is_empty() { &self.update.image } else { &self.update.version }
    }

    /// Whether a refusal is the one from before, about another release.
    fn is_stale(&self, accepted: &Condition) -> bool {
        let is_about_it = [&self.update.image, &self.update.version]
            .iter()
            .any(|name| !name.is_empty() && accepted.message.contains(name.as_str()));
        self.accepted_before.as_ref() == Some(accepted) && !is_about_it
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const IMAGE: &str = "registry.example.com/release@sha256:2";

    fn request() -> Request {
        let update = Update { version: "4.1.2".into(), image: IMAGE.into(), ..Update::default() };
        Request { update, generation: 3, accepted_before: None }
    }

    fn seen(observed: i64, asked: &Value, entry: &str, conditions: &[(&str, &str, &str)]) -> ClusterVersion {
        let conditions: Vec<Value> = conditions
            .iter()
            .map(|(kind, status, message)| {
                json!({"type": kind, "status": status, "reason": "R", "message": message,
                    "lastTransitionTime": "2026-01-01T00:00:00Z"})
            })
            .collect();
        let history = match entry {
            "" => json!([]),
            state => {
                json!([{"state": state, "startedTime": "2026-01-01T00:00:00Z", "version": "4.1.2", "image": IMAGE}])
            }
        };
        serde_json::from_value(json!({"apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion",
            "metadata": {"name": "version"}, "spec": {"clusterID": "", "desiredUpdate": asked},
            "status": {"observedGeneration": observed, "history": history, "conditions": conditions}}))
        .unwrap()
    }

    #[test]
    fn a_request_is_open_until_it_is_there_or_refused() {
        let asked = json!({"version": "4.1.2", "image": IMAGE});
        let working = ("Progressing", "True", "Working towards 4.1.2");
        for (version, expected) in [
            (
                seen(2, &asked, "Completed", &[]),
                Fate::Open("the operator has not seen the request yet; does it run?".into()),
            ),
            (seen(3, &asked, "", &[]), Fate::Open("4.1.2 is being looked at".into())),
            (
                seen(3, &asked, "", &[("ReleaseAccepted", "Unknown", "Retrieving")]),
                Fate::Open("Retrieving".into()),
            ),
            (seen(3, &asked, "Partial", &[working]), Fate::Open("Working towards 4.1.2".into())),
            (
                seen(3, &asked, "Partial", &[working, ("Failing", "True", "dns")]),
                Fate::Open("Working towards 4.1.2 (failing: dns)".into()),
            ),
            (seen(3, &asked, "Completed", &[]), Fate::Done("the cluster is at 4.1.2".into())),
            (seen(3, &asked, "", &[("ReleaseAccepted", "False", "no")]), Fate::Refused("R: no".into())),
            (seen(3, &asked, "", &[("Invalid", "True", "bad")]), Fate::Refused("bad".into())),
            (
                seen(3, &json!({"version": "5.0.0"}), "", &[]),
                Fate::Refused("somebody asked for 5.0.0 instead".into()),
            ),
            (seen(3, &json!(null), "", &[]), Fate::Refused("somebody took the request back".into())),
        ] {
            assert_eq!(request().fate(&version), expected, "{version:?}");
        }
    }

    #[test]
    fn a_refusal_from_before_is_not_ours_unless_it_names_the_release() {
        let asked = json!({"version": "4.1.2", "image": IMAGE});
        for (message, is_refused) in [("4.9.9 cannot be had", false), ("4.1.2 cannot be had", true)] {
            let version = seen(3, &asked, "", &[("ReleaseAccepted", "False", message)]);
            let accepted_before = version.status.conditions.find("ReleaseAccepted").cloned();
            let request = Request { accepted_before, ..request() };
            assert_eq!(matches!(request.fate(&version), Fate::Refused(_)), is_refused, "{message}");
        }
    }
}
