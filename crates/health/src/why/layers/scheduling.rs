//! Layer 7, first part: finding a node and a volume.

use lockstep_api::object;

use super::super::concerns::Concerns;
use super::super::facts::{Facts, event_time, parse, said};
use super::super::phase::{B, IUS};
use super::super::resource::{CLAIMS, NODES, PODS, STORAGE_CLASSES};
use super::super::rule::{Confidence, Hit, Layer, Level, Rule};
use super::super::words::says;
use super::on_pod;
use crate::facts::{list, text};

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "S01",
        layer: Layer::Scheduling,
        title: "No node has enough resources",
        phases: IUS,
        level: Level::Error,
        confidence: Confidence::Sure,
        signals: "`Insufficient cpu`, memory, pods or ephemeral-storage in a Pod's PodScheduled condition",
        why: "The Pod asks for more than any node has left.",
        remedy: "more or larger nodes, or fewer other Pods",
        hides: &["K06", "B17"],
        check: insufficient,
    },
    Rule {
        id: "S02",
        layer: Layer::Scheduling,
        title: "No node matches the Pod",
        phases: IUS,
        level: Level::Error,
        confidence: Confidence::Sure,
        signals: "`didn't match Pod's node affinity/selector`, anti-affinity or topology spread in a Pod's PodScheduled condition",
        why: "The Pod wants nodes of a kind that the cluster does not have, or one node for each replica.",
        remedy: "add workers, or let masters run workloads",
        hides: &["K06", "B17"],
        check: no_match,
    },
    Rule {
        id: "S03",
        layer: Layer::Scheduling,
        title: "No node registered at all",
        phases: B,
        level: Level::Error,
        confidence: Confidence::Sure,
        signals: "Pods wait and there is no Node",
        why: "Only static pods run without nodes; the cluster version operator itself must be one.",
        remedy: "approve the masters' certificate requests",
        hides: &[],
        check: no_nodes,
    },
    Rule {
        id: "S04",
        layer: Layer::Scheduling,
        title: "Volume not attached or mounted",
        phases: IUS,
        level: Level::Error,
        confidence: Confidence::Sure,
        signals: "FailedMount or FailedAttachVolume for a Pod that waits for 3 minutes, or a claim that stays Pending",
        why: "A container starts only when all its volumes are there: a missing ConfigMap, Secret or storage holds it.",
        remedy: "create what the event names; serving certificates come from the service CA operator",
        hides: &["P03", "K06", "B17"],
        check: volumes,
    },
];

/// Whether a scheduler's message names something besides taints.
pub(super) fn has_other_cause(message: &str) -> bool {
    message.contains("Insufficient")
        || is_mismatch(message)
        || message.contains("volume")
        || message.contains("were unschedulable")
}

fn is_mismatch(message: &str) -> bool {
    let words = [
        "didn't match Pod's node affinity/selector",
        "didn't match pod anti-affinity rules",
        "didn't match pod affinity rules",
        "didn't match pod topology spread constraints",
        "didn't satisfy existing pods anti-affinity rules",
    ];
    says(message, &words)
}

fn insufficient(facts: &Facts<'_>) -> Vec<Hit> {
    let found = facts.sick.iter().filter_map(|sick| Some((sick, sick.unschedulable()?)));
    found
        .filter(|(_, message)| message.contains("Insufficient "))
        .map(|(sick, message)| {
            on_pod(sick)
                .line(format!("Pod {}: {message}", sick.called()))
                .fix("kubectl describe nodes | grep -A8 'Allocated resources'")
                .fix("kubectl -n openshift-machine-api get machinesets   # then: kubectl scale machineset <name> --replicas=<more>")
        })
        .collect()
}

fn no_match(facts: &Facts<'_>) -> Vec<Hit> {
    let found = facts.sick.iter().filter_map(|sick| Some((sick, sick.unschedulable()?)));
    found
        .filter(|(_, message)| !message.contains("Insufficient ") && is_mismatch(message))
        .map(|(sick, message)| {
            on_pod(sick)
                .line(format!("Pod {}: {message}", sick.called()))
                .fix(format!("kubectl -n {} get pod {} -o jsonpath='{{.spec.nodeSelector}} {{.spec.affinity}}'", sick.namespace, sick.name))
                .fix("kubectl patch schedulers.config.openshift.io cluster --type=merge -p '{\"spec\":{\"mastersSchedulable\":true}}'   # when there are no workers")
        })
        .collect()
}

fn no_nodes(facts: &Facts<'_>) -> Vec<Hit> {
    let pending: Vec<_> =
        facts.sick.iter().filter(|sick| sick.is_pending() && sick.node.is_empty()).collect();
    if !facts.has(NODES) || !facts.nodes().is_empty() || pending.is_empty() {
        return Vec::new();
    }
    let since = pending.iter().filter_map(|sick| parse(sick.since())).min();
    vec![
        Hit::named(NODES, "", "none")
            .since(since)
            .concerning(Concerns::whole())
            .line(format!("{} Pods wait and there is no Node", pending.len()))
            .fix("kubectl get csr")
            .fix("ssh core@<master> journalctl -b -u kubelet --no-pager | tail"),
    ]
}

const MOUNTING: [&str; 3] = ["FailedMount", "FailedAttachVolume", "FailedMapVolume"];

fn volumes(facts: &Facts<'_>) -> Vec<Hit> {
    let mut hits = Vec::new();
    for sick in facts.sick.iter().filter(|sick| sick.is_pending() && !sick.node.is_empty()) {
        if !facts.is_older(sick.since(), 180) {
            continue;
        }
        if let Some(event) = facts.pod_events(sick, &MOUNTING).max_by_key(|event| event_time(event)) {
            let line = format!("Pod {}: {}: {}", sick.called(), text(&event["reason"]), said(event));
            let hit = on_pod(sick)
                .line(line)
                .fix(format!("kubectl -n {} describe pod {}", sick.namespace, sick.name));
            hits.push(hit.fix(format!("kubectl -n {} get configmaps,secrets,pvc", sick.namespace)));
        }
    }
    for claim in facts.all(CLAIMS).iter().filter(|claim| text(&claim["status"]["phase"]) == "Pending") {
        let (namespace, name) = (object::namespace(claim), object::name(claim));
        let created = text(&claim["metadata"]["creationTimestamp"]);
        // A claim that waits for its first Pod waits rightly.
        let events = facts.events("PersistentVolumeClaim", namespace, name);
        let is_patient = events.iter().any(|event| text(&event["reason"]) == "WaitForFirstConsumer");
        if is_patient || !facts.is_older(created, 180) {
            continue;
        }
        let told = events
            .iter()
            .filter(|event| text(&event["type"]) != "Normal")
            .map(|event| said(event))
            .next_back();
        let has_default = facts.all(STORAGE_CLASSES).iter().any(|class| {
            text(&class["metadata"]["annotations"]["storageclass.kubernetes.io/is-default-class"]) == "true"
        });
        let wants_default = claim["spec"].get("storageClassName").is_none();
        let because = if wants_default && facts.has(STORAGE_CLASSES) && !has_default {
            "there is no default StorageClass"
        } else {
            ""
        };
        let users = facts.sick_in(namespace).filter(|sick| {
            list(&sick.pod["spec"]["volumes"])
                .iter()
                .any(|it| text(&it["persistentVolumeClaim"]["claimName"]) == name)
        });
        let hit = users.fold(Hit::on(CLAIMS, claim), |hit, sick| {
            hit.line(format!("{} {} waits for it", PODS.kind, sick.called()))
        });
        hits.push(
            hit.since(parse(created))
                .line(format!("claim {namespace}/{name} is Pending"))
                .line(because)
                .line(told.unwrap_or_default())
                .fix(format!("kubectl -n {namespace} describe pvc {name}"))
                .fix("kubectl get storageclass"),
        );
    }
    hits
}
