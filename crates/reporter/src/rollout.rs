//! Has an operand moved? The answer decides which version may be reported.

use serde_json::Value;

/// How far an operand is on its way to a version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rollout {
    /// Nothing runs, or will ever again run, the version before.
    Done,
    /// It is on its way; the text says how far, in a few words.
    Underway(String),
    /// Nothing old is left, but not all of it is available; the text says how much is.
    ///
    /// Before the version was reported this is the rest of the way. Afterwards it is no rollout: a machine may be
    /// restarting.
    Unready(String),
}

// === impl Rollout ===

impl Rollout {
    /// Whether it is done.
    pub fn is_done(&self) -> bool {
        *self == Self::Done
    }

    /// Done when every one is; otherwise what the first one says that is not.
    pub fn of_all(rollouts: impl IntoIterator<Item = Self>) -> Self {
        rollouts.into_iter().find(|rollout| !rollout.is_done()).unwrap_or(Self::Done)
    }

    /// Reads a Deployment. `image` is the one that its first container shall run.
    ///
    /// *Order*: the spec asks for the image; the controller has seen the spec; every replica is new; none is old; every one
    /// is available. A Deployment scaled to zero is done once nothing of the old one is left.
    pub fn of_deployment(live: &Value, image: &str) -> Self {
        let asked = &live["spec"]["template"]["spec"]["containers"][0]["image"];
        if asked.as_str() != Some(image) {
            return Self::Underway("the new image is not asked for yet".to_owned());
        }
        let number = |field: &Value, default: i64| field.as_i64().unwrap_or(default);
        let status = &live["status"];
        let generation = number(&live["metadata"]["generation"], 0);
        if number(&status["observedGeneration"], -1) < generation {
            return Self::Underway("its change has not been seen yet".to_owned());
        }
        let wanted = number(&live["spec"]["replicas"], 1);
        let count = |name: &str| number(&status[name], 0);
        let (new, all, available) = (count("updatedReplicas"), count("replicas"), count("availableReplicas"));
        if new < wanted {
            return Self::Underway(format!("{new} of {wanted} replicas are new"));
        }
        if all > new {
            return Self::Underway(format!("{} old replicas are left", all - new));
        }
        if available < wanted {
            return Self::Unready(format!("{available} of {wanted} replicas are available"));
        }
        Self::Done
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn deployment(observed: i64, updated: i64, replicas: i64, available: i64) -> Value {
        json!({"metadata": {"generation": 3},
            "spec": {"replicas": 2, "template": {"spec": {"containers": [{"image": "new"}]}}},
            "status": {"observedGeneration": observed, "updatedReplicas": updated, "replicas": replicas,
                "availableReplicas": available}})
    }

    fn text(live: &Value) -> String {
        match Rollout::of_deployment(live, "new") {
            Rollout::Done => "done".to_owned(),
            Rollout::Underway(text) => text,
            Rollout::Unready(text) => format!("new, but {text}"),
        }
    }

    #[test]
    fn a_deployment_is_done_only_when_nothing_old_is_left_and_all_is_available() {
        assert_eq!(text(&json!({})), "the new image is not asked for yet");
        assert_eq!(text(&deployment(2, 2, 2, 2)), "its change has not been seen yet");
        assert_eq!(text(&deployment(3, 1, 2, 2)), "1 of 2 replicas are new");
        assert_eq!(text(&deployment(3, 2, 3, 3)), "1 old replicas are left");
        assert_eq!(text(&deployment(3, 2, 2, 1)), "new, but 1 of 2 replicas are available");
        assert_eq!(text(&deployment(3, 2, 2, 2)), "done");
    }

    #[test]
    fn a_deployment_without_replicas_is_done_once_the_old_ones_are_gone() {
        let mut live = deployment(3, 0, 1, 0);
        live["spec"]["replicas"] = json!(0);
        assert_eq!(text(&live), "1 old replicas are left");
        live["status"] = json!({"observedGeneration": 3});
        assert_eq!(text(&live), "done");
    }

    #[test]
    fn all_are_done_when_each_is_and_the_first_that_is_not_speaks() {
        let underway = |text: &str| Rollout::Underway(text.to_owned());
        assert_eq!(Rollout::of_all([Rollout::Done, underway("a"), underway("b")]), underway("a"));
        assert_eq!(Rollout::of_all([]), Rollout::Done);
    }
}
