//! Layer 4, second part: nodes.

use lockstep_api::names::condition::READY;
use lockstep_api::names::object as well_known;
use lockstep_api::object;
use serde_json::Value;

use super::super::Phase;
use super::super::concerns::Concerns;
use super::super::facts::{Facts, parse};
use super::super::phase::{BI, BIUS, IUS, US};
use super::super::resource::{INFRASTRUCTURES, NODES};
use super::super::rule::{Confidence, Hit, Layer, Level, Rule};
use super::super::words::says;
use super::{on_pod, with};
use crate::facts::{Condition, list, text};

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "N01",
        layer: Layer::Nodes,
        title: "Control plane node missing",
        phases: BI,
        level: Level::Error,
        confidence: Confidence::Sure,
        signals: "fewer nodes with the master role than the topology needs",
        why: "Three masters carry the control plane; etcd and the API servers wait for all of them.",
        remedy: "look for its certificate request, else at the machine",
        hides: &["E03"],
        check: master_missing,
    },
    Rule {
        id: "N02",
        layer: Layer::Nodes,
        title: "Node not ready: network plugin",
        phases: BIUS,
        level: Level::Error,
        confidence: Confidence::Sure,
        signals: "Ready=False with `NetworkPluginNotReady` or `No CNI configuration file`",
        why: "The pod network is not deployed on that node yet, or its Pod fails there.",
        remedy: "look at the network Pods of that node",
        hides: &["K03", "K01", "N05", "T06", "P03"],
        check: no_network,
    },
    Rule {
        id: "N03",
        layer: Layer::Nodes,
        title: "Node stopped reporting",
        phases: IUS,
        level: Level::Error,
        confidence: Confidence::Sure,
        signals: "Ready=Unknown with reason NodeStatusUnknown",
        why: "The machine is down, its kubelet is dead, it cannot reach api-int, or its certificate has expired.",
        remedy: "look at the machine's console and its kubelet",
        hides: &["K03", "K01", "P03", "T06", "N05", "M05", "S04"],
        check: silent,
    },
    Rule {
        id: "N04",
        layer: Layer::Nodes,
        title: "Node under pressure",
        phases: IUS,
        level: Level::Warning,
        confidence: Confidence::Sure,
        signals: "DiskPressure, MemoryPressure or PIDPressure is True",
        why: "A node under pressure evicts Pods and takes no new ones.",
        remedy: "free space or give it a larger disk",
        hides: &["I01", "N05", "P03"],
        check: pressure,
    },
    Rule {
        id: "N05",
        layer: Layer::Scheduling,
        title: "Taints keep Pods away",
        phases: IUS,
        level: Level::Warning,
        confidence: Confidence::Sure,
        signals: "a Pod without a node whose scheduler names untolerated taints and nothing else",
        why: "Every node that would fit has a taint that the Pod does not tolerate.",
        remedy: "by taint: uninitialized waits for the cloud controller, not-ready for the node, others are yours",
        hides: &[],
        check: taints,
    },
    Rule {
        id: "N06",
        layer: Layer::Nodes,
        title: "Node cordoned",
        phases: US,
        level: Level::Warning,
        confidence: Confidence::Sure,
        signals: "spec.unschedulable without a drain by the machine config operator",
        why: "Somebody took the node out of use, and it takes no new Pods.",
        remedy: "uncordon it",
        hides: &["S02", "N05"],
        check: cordoned,
    },
];

const MASTER: &str = "node-role.kubernetes.io/master";
const CONTROL_PLANE: &str = "node-role.kubernetes.io/control-plane";

pub(super) fn is_master(node: &Value) -> bool {
    let labels = &node["metadata"]["labels"];
    [MASTER, CONTROL_PLANE].iter().any(|label| labels.get(label).is_some())
}

fn master_missing(facts: &Facts<'_>) -> Vec<Hit> {
    let Some(infrastructure) = facts.get(INFRASTRUCTURES, "", well_known::CLUSTER) else { return Vec::new() };
    let wanted = match text(&infrastructure["status"]["controlPlaneTopology"]) {
        "HighlyAvailable" | "HighlyAvailableArbiter" => 3,
        "DualReplica" => 2,
        "SingleReplica" => 1,
        _ => return Vec::new(),
    };
    let masters: Vec<&str> = facts.nodes().iter().filter(|node| is_master(node)).map(object::name).collect();
    if !facts.has(NODES) || masters.len() >= wanted {
        return Vec::new();
    }
    let operators = super::etcd::STATIC.into_iter().fold(Concerns::version(), Concerns::operator);
    let concerns = if facts.phase == Phase::Bootstrap { Concerns::whole() } else { operators };
    vec![
        Hit::named(NODES, "", "master")
            .concerning(concerns)
            .line(format!("{} of {wanted} masters are there: {}", masters.len(), masters.join(", ")))
            .fix("kubectl get csr")
            .fix("kubectl -n openshift-machine-api get machines -o wide"),
    ]
}

fn not_ready<'f, 'a>(facts: &'f Facts<'a>) -> impl Iterator<Item = (&'a Value, Condition<'a>)> + 'f {
    facts
        .nodes()
        .iter()
        .filter_map(|node| Some((node, Condition::find(node, READY).filter(|it| !it.is_true())?)))
}

fn no_network(facts: &Facts<'_>) -> Vec<Hit> {
    let found = not_ready(facts).filter(|(_, ready)| {
        ready.is_false() && says(ready.message, &["NetworkPluginNotReady", "No CNI configuration file"])
    });
    found
        .map(|(node, ready)| {
            let name = object::name(node);
            with(Hit::on(NODES, node), &ready)
                .together()
                .concerning(Concerns::default().down(name))
                .fix(format!("kubectl -n openshift-ovn-kubernetes get pods -o wide --field-selector spec.nodeName={name}"))
                .fix(format!("oc adm node-logs {name} -u kubelet --tail=50"))
        })
        .collect()
}

fn silent(facts: &Facts<'_>) -> Vec<Hit> {
    let found = not_ready(facts).filter(|(_, ready)| ready.status == "Unknown");
    found
        .map(|(node, ready)| {
            let name = object::name(node);
            let confidence =
                if ready.reason == "NodeStatusUnknown" { Confidence::Sure } else { Confidence::Likely };
            with(Hit::on(NODES, node), &ready)
                .together()
                .confidence(confidence)
                .concerning(Concerns::default().down(name))
                .fix(format!("ping {name}; ssh core@{name} systemctl status kubelet"))
                .fix(format!("ssh core@{name} journalctl -u kubelet --since -30min"))
                .fix("kubectl get csr   # its client certificate may have expired")
        })
        .collect()
}

fn pressure(facts: &Facts<'_>) -> Vec<Hit> {
    let mut hits = Vec::new();
    for node in facts.nodes() {
        let name = object::name(node);
        let conditions = list(&node["status"]["conditions"]).iter().map(Condition::read);
        for bad in conditions.filter(|it| it.kind.ends_with("Pressure") && it.is_true()) {
            let ill = facts.sick_on(name).filter(|sick| {
                text(&sick.pod["status"]["reason"]) == "Evicted"
                    || sick.waiting().any(|it| it.message.contains("no space left"))
            });
            let concerns = ill.fold(Concerns::of_node(name), |all, sick| all.namespace(sick.namespace));
            let hit = with(Hit::on(NODES, node), &bad).concerning(concerns);
            let hit = hit.fix(format!("kubectl describe node {name}"));
            hits.push(
                hit.fix(format!("oc debug node/{name} -- chroot /host sh -c 'df -h; crictl rmi --prune'")),
            );
        }
    }
    hits
}

fn taints(facts: &Facts<'_>) -> Vec<Hit> {
    let mut hits = Vec::new();
    for sick in &facts.sick {
        let Some(message) = sick.unschedulable() else { continue };
        if !message.contains("untolerated taint") || super::scheduling::has_other_cause(message) {
            continue;
        }
        let told = |node: &Value| {
            let taints = list(&node["spec"]["taints"]).iter().map(|taint| text(&taint["key"]));
            let taints: Vec<&str> = taints.collect();
            (!taints.is_empty()).then(|| format!("{}: {}", object::name(node), taints.join(", ")))
        };
        let tainted: Vec<String> = facts.nodes().iter().filter_map(told).take(6).collect();
        let away = facts.nodes().iter().filter(|node| !super::requests::is_ready(node)).map(object::name);
        let concerns = away.fold(Concerns::default(), Concerns::node);
        let hit = on_pod(sick).concerning(concerns).line(message).line(tainted.join("; "));
        hits.push(
            hit.fix("kubectl get nodes -o custom-columns=NAME:.metadata.name,TAINTS:.spec.taints[*].key"),
        );
    }
    hits
}

/// Annotations of the machine config operator: what it drains, and what it has drained.
const DESIRED_DRAIN: &str = "machineconfiguration.openshift.io/desiredDrain";
const LAST_DRAIN: &str = "machineconfiguration.openshift.io/lastAppliedDrain";
const STATE: &str = "machineconfiguration.openshift.io/state";

fn cordoned(facts: &Facts<'_>) -> Vec<Hit> {
    let waiting = facts
        .sick
        .iter()
        .filter(|sick| sick.unschedulable().is_some_and(|it| it.contains("were unschedulable")));
    let waiting = waiting.fold(Concerns::default(), |all, sick| all.namespace(sick.namespace));
    let is_draining = |node: &Value| {
        let notes = &node["metadata"]["annotations"];
        let (desired, last) = (text(&notes[DESIRED_DRAIN]), text(&notes[LAST_DRAIN]));
        desired.starts_with("drain-") || desired != last || text(&notes[STATE]) == "Working"
    };
    let found =
        facts.nodes().iter().filter(|node| node["spec"]["unschedulable"] == true && !is_draining(node));
    found
        .map(|node| {
            let name = object::name(node);
            let added = list(&node["spec"]["taints"])
                .iter()
                .find(|taint| text(&taint["key"]) == "node.kubernetes.io/unschedulable");
            Hit::on(NODES, node)
                .together()
                .since(added.and_then(|taint| parse(text(&taint["timeAdded"]))))
                .concerning(Concerns::of_node(name).and(waiting.clone()))
                .line(format!("spec.unschedulable is true on {name} and no drain is going on"))
                .fix(format!("kubectl uncordon {name}"))
        })
        .collect()
}
