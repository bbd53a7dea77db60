//! Layer 3, second part: the static pods of the control plane, and API servers behind the API server.

use lockstep_api::names::condition::{AVAILABLE, PROGRESSING};
use lockstep_api::object;

use super::super::concerns::Concerns;
use super::super::facts::{Facts, parse};
use super::super::operator::{Operator, tokens};
use super::super::phase::{BIU, IU, IUS};
use super::super::resource::{API_SERVICES, CLUSTER_OPERATORS, NAMESPACES};
use super::super::rule::{Confidence, Hit, Layer, Level, Rule};
use super::super::words::says;
use super::etcd::STATIC;
use super::{on_pod, with};
use crate::facts::{Condition, is_true, text};

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "K01",
        layer: Layer::ApiServer,
        title: "Static pod roll-out fails on a node",
        phases: BIU,
        level: Level::Error,
        confidence: Confidence::Sure,
        signals: "NodeInstaller_InstallerPodFailed, StaticPods_Error, or an installer Pod that failed or hangs for 2 minutes",
        why: "Each revision of the control plane goes to the masters one by one, and the roll-out stops at the first that fails.",
        remedy: "read the installer Pod's log, then look at its node",
        hides: &["K04"],
        check: installer_failed,
    },
    Rule {
        id: "K02",
        layer: Layer::ApiServer,
        title: "Installer Pod waits",
        phases: BIU,
        level: Level::Error,
        confidence: Confidence::Sure,
        signals: "InstallerPodContainerWaiting, InstallerPodPending or InstallerPodNetworking in an operator's reason",
        why: "The Pod that writes the static pod to a master cannot start there; the reason is the node's own.",
        remedy: "follow the reason: image, network or configuration of that node",
        hides: &["K01", "K04"],
        check: installer_waits,
    },
    Rule {
        id: "K03",
        layer: Layer::ApiServer,
        title: "Master node not ready",
        phases: IUS,
        level: Level::Error,
        confidence: Confidence::Sure,
        signals: "NodeController_MasterNodesReady in the reason of a static pod operator",
        why: "A static pod operator counts a master that is not ready as a lost replica.",
        remedy: "look at the node that the message names",
        hides: &["K01", "K04"],
        check: master_not_ready,
    },
    Rule {
        id: "K04",
        layer: Layer::ApiServer,
        title: "Revision stuck",
        phases: IU,
        level: Level::Warning,
        confidence: Confidence::Hint,
        signals: "`nodes are at revision` in an operator's progress, unchanged for 20 minutes",
        why: "A new revision takes a few minutes per master; this one takes longer.",
        remedy: "look at the installer Pods of the node with the older revision",
        hides: &[],
        check: revision_stuck,
    },
    Rule {
        id: "K05",
        layer: Layer::ApiServer,
        title: "Configuration that a revision needs is missing",
        phases: BIU,
        level: Level::Error,
        confidence: Confidence::Sure,
        signals: "`missing required resources` in InstallerController, or RevisionController is degraded",
        why: "A revision is a copy of named ConfigMaps and Secrets, and is not made until all are there.",
        remedy: "create the named object, for example a signer from the bootstrap manifests",
        hides: &["K01", "K04"],
        check: configuration_missing,
    },
    Rule {
        id: "K06",
        layer: Layer::ApiServer,
        title: "Aggregated API unavailable",
        phases: IUS,
        level: Level::Error,
        confidence: Confidence::Sure,
        signals: "an APIService with Available=False",
        why: "Discovery, deletion of namespaces and the lookup of kinds need every API that is registered.",
        remedy: "repair the Pods behind it; delete what a removed operator left",
        hides: &["W04"],
        check: api_service,
    },
];

/// Static pod operators with a bad condition that has one of these words.
fn complaining<'f, 'a>(
    facts: &'f Facts<'a>,
    words: &'f [&'f str],
) -> impl Iterator<Item = (&'f Operator<'a>, Condition<'a>)> {
    STATIC
        .iter()
        .filter_map(|name| facts.operators.get(name))
        .filter_map(|it| Some((it, it.complains(words)?)))
}

fn on_operator(name: &str, condition: &Condition<'_>) -> Hit {
    with(Hit::named(CLUSTER_OPERATORS, "", name), condition).concerning(Concerns::of_operator(name))
}

fn namespace_of(operator: &str) -> String {
    format!("openshift-{operator}")
}

/// The node that a message names: one of the cluster's own.
fn named_node<'a>(facts: &Facts<'a>, message: &str) -> &'a str {
    let words: Vec<&str> = message.split(|c: char| !(c.is_alphanumeric() || "-.".contains(c))).collect();
    let names = facts.nodes().iter().map(object::name);
    names.into_iter().find(|name| words.contains(name)).unwrap_or_default()
}

fn installer_failed(facts: &Facts<'_>) -> Vec<Hit> {
    let words = ["NodeInstaller_InstallerPodFailed", "StaticPods_Error"];
    let mut hits: Vec<Hit> = complaining(facts, &words)
        .map(|(operator, condition)| {
            let namespace = namespace_of(operator.name);
            on_operator(operator.name, &condition)
                .concerning(Concerns::of_node(named_node(facts, condition.message)).namespace(&namespace))
                .fix(format!("kubectl -n {namespace} get pods -o wide"))
                .fix(format!("kubectl -n {namespace} logs -l app=installer --tail=50"))
        })
        .collect();
    let has_cause = !hits.is_empty();
    for operator in STATIC.iter().filter(|_| !has_cause) {
        let namespace = namespace_of(operator);
        for sick in facts.sick_in(&namespace).filter(|sick| sick.name.starts_with("installer-")) {
            let has_failed = text(&sick.pod["status"]["phase"]) == "Failed";
            let is_late =
                sick.is_pending() && facts.is_older(text(&sick.pod["metadata"]["creationTimestamp"]), 120);
            if has_failed || is_late {
                let words = facts.last_words(sick).into_iter().find_map(|log| log.lines().last());
                let hit =
                    on_pod(sick).concerning(Concerns::of_operator(operator)).line(words.unwrap_or_default());
                let hit =
                    hit.line(format!("Pod {} is {}", sick.called(), text(&sick.pod["status"]["phase"])));
                hits.push(hit.fix(format!("kubectl -n {namespace} logs {}", sick.name)));
            }
        }
    }
    hits
}

fn installer_waits(facts: &Facts<'_>) -> Vec<Hit> {
    let words = ["InstallerPodContainerWaiting_", "InstallerPodPending_", "InstallerPodNetworking_"];
    complaining(facts, &words)
        .map(|(operator, condition)| {
            let namespace = namespace_of(operator.name);
            let waits = tokens(condition.reason).find(|token| token.prefix.starts_with("InstallerPod"));
            on_operator(operator.name, &condition)
                .concerning(Concerns::of_node(named_node(facts, condition.message)).namespace(&namespace))
                .line(waits.map_or_else(String::new, |token| format!("the node says {}", token.reason)))
                .fix(format!("kubectl -n {namespace} describe pods -l app=installer"))
        })
        .collect()
}

fn master_not_ready(facts: &Facts<'_>) -> Vec<Hit> {
    complaining(facts, &["NodeController_MasterNodesReady"])
        .map(|(operator, condition)| {
            let node = named_node(facts, condition.message);
            let node_or = if node.is_empty() { "<node>" } else { node };
            on_operator(operator.name, &condition)
                .together()
                .concerning(Concerns::of_node(node))
                .fix(format!("kubectl describe node {node_or}"))
                .fix(format!("oc adm node-logs {node_or} -u kubelet --tail=50"))
        })
        .collect()
}

fn revision_stuck(facts: &Facts<'_>) -> Vec<Hit> {
    let progressing = STATIC.iter().filter_map(|name| {
        let condition = facts.operators.get(name)?.condition(PROGRESSING)?;
        let is_it = condition.is_true() && condition.message.contains("at revision");
        (is_it && facts.is_older(condition.since, 20 * 60)).then_some((name, condition))
    });
    progressing
        .map(|(name, condition)| {
            let namespace = namespace_of(name);
            on_operator(name, &condition)
                .fix(format!("kubectl -n {namespace} get pods -l app=installer -o wide"))
        })
        .collect()
}

fn configuration_missing(facts: &Facts<'_>) -> Vec<Hit> {
    let found = STATIC.iter().filter_map(|name| facts.operators.get(name)).filter_map(|operator| {
        let condition = operator.bad().find(|bad| {
            let has = |prefix: &str| tokens(bad.reason).any(|token| token.prefix == prefix);
            has("RevisionController")
                || has("InstallerController") && says(bad.message, &["missing required resources"])
        })?;
        Some((operator, condition))
    });
    found
        .map(|(operator, condition)| {
            let namespace = namespace_of(operator.name);
            on_operator(operator.name, &condition)
                .fix(format!("kubectl -n {namespace} get configmaps,secrets"))
                .fix(format!("create the object that the message names in {namespace}"))
        })
        .collect()
}

fn api_service(facts: &Facts<'_>) -> Vec<Hit> {
    let down = facts.all(API_SERVICES).iter().filter_map(|service| {
        let condition = Condition::find(service, AVAILABLE).filter(Condition::is_false)?;
        facts.is_older(condition.since, 30).then_some((service, condition))
    });
    // A namespace that cannot end because discovery fails waits for whichever API is down.
    let ending = facts.all(NAMESPACES).iter().filter(|it| is_true(it, "NamespaceDeletionDiscoveryFailure"));
    let ending = ending.fold(Concerns::default(), |all, it| all.namespace(object::name(it)));
    down.map(|(service, condition)| {
        let namespace = text(&service["spec"]["service"]["namespace"]);
        let name = object::name(service);
        with(Hit::on(API_SERVICES, service), &condition)
            .by(namespace)
            .concerning(Concerns::default().namespace(namespace).and(ending.clone()))
            .since(parse(condition.since))
            .fix(format!("kubectl -n {namespace} get pods,endpoints -o wide"))
            .fix(format!("kubectl delete apiservice {name}   # only when nothing serves it any more"))
    })
    .collect()
}
