//! Which rule holds for an object, and the durations drawn for it.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::Rng;

use super::scenario::{
    Base, Create, OperatorBehaviour, OperatorRule, Scenario, Step, Upgradeable, WorkloadBehaviour,
    WorkloadRule,
};
use super::span::Span;

/// What holds for one workload.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct WorkloadScript {
    pub(crate) behaviour: WorkloadBehaviour,
    pub(crate) ready_after: Span,
    pub(crate) recovers_after: Option<Span>,
    pub(crate) pods: bool,
    /// Whether nothing takes any time: statuses go from nothing to good in one write.
    pub(crate) instant: bool,
}

/// What holds for one operator; durations are not drawn yet.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct OperatorScript {
    pub(crate) deployment: Option<(String, String)>,
    pub(crate) appears_after: Span,
    pub(crate) available_after: Span,
    pub(crate) progressing_for: Span,
    pub(crate) versions: Option<BTreeMap<String, String>>,
    pub(crate) behaviour: OperatorBehaviour,
    pub(crate) upgradeable: Option<Upgradeable>,
    pub(crate) steps: Vec<Step>,
    pub(crate) creates: Vec<Create>,
}

/// Namespaces that real operators make at run time and no manifest of a release brings.
const RUNTIME_NAMESPACES: &[(&str, &[&str])] = &[
    ("authentication", &["openshift-authentication", "openshift-oauth-apiserver"]),
    ("kube-apiserver", &["openshift-kube-apiserver"]),
    ("kube-controller-manager", &["openshift-kube-controller-manager"]),
    ("kube-scheduler", &["openshift-kube-scheduler"]),
    ("openshift-apiserver", &["openshift", "openshift-apiserver"]),
    ("openshift-controller-manager", &["openshift-controller-manager", "openshift-route-controller-manager"]),
    ("service-ca", &["openshift-service-ca"]),
];

// === matching ===

impl Scenario {
    /// What holds for a workload.
    pub(crate) fn workload(&self, kind: &str, namespace: &str, name: &str) -> WorkloadScript {
        let instant = self.base == Base::Instant;
        let none = WorkloadRule::default();
        let rule = self.workloads.iter().find(|rule| {
            matches(rule.kind.as_deref(), kind)
                && matches(rule.namespace.as_deref(), namespace)
                && matches(rule.name.as_deref(), name)
        });
        let rule = rule.unwrap_or(&none);
        let ready_after = match (self.base, kind) {
            (Base::Instant, _) => Span::ZERO,
            (Base::Default, "Job") => Span::between(20, 90),
            (Base::Default, _) => Span::between(5, 40),
        };
        let behaviour = rule.behaviour.clone().unwrap_or(WorkloadBehaviour::Ready);
        WorkloadScript {
            instant: instant && rule.ready_after.is_none() && behaviour == WorkloadBehaviour::Ready,
            behaviour,
            ready_after: rule.ready_after.unwrap_or(ready_after),
            recovers_after: rule.recovers_after,
            pods: rule.pods.unwrap_or(!instant),
        }
    }

    /// What holds for an operator.
    pub(crate) fn operator(&self, name: &str) -> OperatorScript {
        let none = OperatorRule::default();
        let rule = self.operators.iter().find(|rule| matches(rule.name.as_deref(), name)).unwrap_or(&none);
        let [appears, available, progressing] = match self.base {
            Base::Instant => [Span::ZERO; 3],
            Base::Default => [Span::between(1, 5), Span::between(10, 60), Span::between(20, 120)],
        };
        let mut creates = rule.creates.clone();
        if rule.runtime_namespaces.unwrap_or(true) {
            let made = RUNTIME_NAMESPACES.iter().find(|(operator, _)| *operator == name);
            let namespaces = made.into_iter().flat_map(|(_, namespaces)| *namespaces);
            creates.extend(
                namespaces.map(|name| Create { namespace: Some((*name).to_owned()), ..Create::default() }),
            );
        }
        let split = |text: &String| {
            let (namespace, name) = text.split_once('/').unwrap_or(("default", text));
            (namespace.to_owned(), name.to_owned())
        };
        OperatorScript {
            deployment: rule.deployment.as_ref().map(split),
            appears_after: rule.appears_after.unwrap_or(appears),
            available_after: rule.available_after.unwrap_or(available),
            progressing_for: rule.progressing_for.unwrap_or(progressing),
            versions: rule.versions.clone(),
            behaviour: rule.behaviour.clone().unwrap_or(OperatorBehaviour::Healthy),
            upgradeable: rule.upgradeable.clone(),
            steps: rule.steps.clone(),
            creates,
        }
    }

    /// Whether any workload gets Pods, so that somebody has to watch `ReplicaSets`.
    pub(crate) fn has_pods(&self) -> bool {
        self.base == Base::Default || self.workloads.iter().any(|rule| rule.pods == Some(true))
    }
}

/// Whether a name fits a pattern in which `*` stands for any letters; no pattern fits all.
fn matches(pattern: Option<&str>, name: &str) -> bool {
    let Some(pattern) = pattern else { return true };
    let Some((head, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut left) = name.strip_prefix(head) else { return false };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let tail = parts.pop().unwrap_or_default();
    for part in parts {
        match left.find(part) {
            Some(at) => left = &left[at + part.len()..],
            None => return false,
        }
    }
    left.ends_with(tail)
}

/// Draws a duration for one purpose; what else happens does not change it.
pub(crate) fn draw(rng: &Rng, purpose: &str, span: Span) -> Duration {
    span.draw(&mut rng.fork(purpose))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_letters() {
        for (pattern, name, fits) in [
            ("dns", "dns", true),
            ("dns", "dns-operator", false),
            ("dns*", "dns-operator", true),
            ("*-operator", "dns-operator", true),
            ("*-operator", "dns-operator-x", false),
            ("open*-api*er", "openshift-apiserver", true),
            ("a*a", "a", false),
            ("*", "", true),
        ] {
            assert_eq!(matches(Some(pattern), name), fits, "{pattern} {name}");
        }
    }

    #[test]
    fn the_first_matching_rule_wins_and_the_base_fills_its_gaps() {
        let text = b"apiVersion: lab.lockstep.dev/v1\nkind: Scenario\nworkloads:\n- {name: 'a*', behaviour: pending}\n- {name: ab, readyAfter: 1s}\n";
        let scenario = Scenario::read("x", text).unwrap();
        let script = scenario.workload("Deployment", "ns", "ab");
        assert_eq!(script.behaviour, WorkloadBehaviour::Pending { message: None });
        assert_eq!(script.ready_after, Span::between(5, 40));
        assert!(
            scenario.workload("Deployment", "ns", "b").pods
                && !Scenario::instant().workload("Pod", "", "b").pods
        );
    }

    #[test]
    fn operators_make_the_namespaces_of_their_real_counterparts() {
        let names = |operator: &str| {
            let creates = Scenario::instant().operator(operator).creates;
            creates.into_iter().filter_map(|create| create.namespace).collect::<Vec<_>>()
        };
        assert_eq!(names("openshift-apiserver"), ["openshift", "openshift-apiserver"]);
        assert_eq!(names("dns"), Vec::<String>::new());
        let all: usize = RUNTIME_NAMESPACES.iter().map(|(_, names)| names.len()).sum();
        assert_eq!(all, 10);
    }
}
