//! Layer 4, first part: the certificates that nodes ask for.

use lockstep_api::names::namespace;
use lockstep_api::object;
use serde_json::Value;

use super::super::Phase;
use super::super::concerns::Concerns;
use super::super::facts::{Facts, parse};
use super::super::phase::{B, BIS, BIUS, IS};
use super::super::resource::{MACHINES, NAMESPACES, NODES, REQUESTS};
use super::super::rule::{Confidence, Hit, Layer, Level, Rule};
use super::super::snapshot::Probe;
use crate::facts::{Condition, is_true, list, text};

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "C01",
        layer: Layer::Nodes,
        title: "Client certificate of a node waits for approval",
        phases: BIUS,
        level: Level::Error,
        confidence: Confidence::Sure,
        signals: "a request of signer kubernetes.io/kube-apiserver-client-kubelet without conditions for 60 s",
        why: "A machine becomes a node only when somebody approves this request; the approver does so only for machines that it knows.",
        remedy: "check that the machine is yours, approve, and repeat: the request for the serving certificate follows",
        hides: &["N01", "I", "G01", "S02", "N05", "S03", "E03", "B18", "N03", "G06"],
        check: client_pending,
    },
    Rule {
        id: "C02",
        layer: Layer::Nodes,
        title: "Serving certificate of a node waits for approval",
        phases: BIUS,
        level: Level::Error,
        confidence: Confidence::Sure,
        signals: "a request of signer kubernetes.io/kubelet-serving without conditions for 60 s",
        why: "Without it logs, exec and metrics of that node fail with `tls: internal error`.",
        remedy: "check and approve",
        hides: &[],
        check: serving_pending,
    },
    Rule {
        id: "C03",
        layer: Layer::Nodes,
        title: "Request approved but no certificate issued",
        phases: BIS,
        level: Level::Error,
        confidence: Confidence::Sure,
        signals: "a request that is approved for 60 s without a certificate, or that failed",
        why: "The signer in kube-controller-manager does not run, does not lead, or has expired.",
        remedy: "look at kube-controller-manager and its signing certificate",
        hides: &["N01", "C01", "C02"],
        check: not_issued,
    },
    Rule {
        id: "C04",
        layer: Layer::Nodes,
        title: "Approver gave up because of too many requests",
        phases: IS,
        level: Level::Error,
        confidence: Confidence::Sure,
        signals: "more pending node requests of the last hour than machines or nodes plus 100, or the alert MachineApproverMaxPendingCSRsReached",
        why: "The approver stops when so many requests wait, in case somebody floods it.",
        remedy: "delete the old requests, approve the good ones",
        hides: &["C01", "C02", "N01"],
        check: too_many,
    },
    Rule {
        id: "C05",
        layer: Layer::Nodes,
        title: "No machine ever asked to become a node",
        phases: B,
        level: Level::Critical,
        confidence: Confidence::Hint,
        signals: "no Node and no request 10 minutes after the API came up; a probe of port 22623 tells more",
        why: "Masters fetch their configuration from api-int:22623 first and cannot.",
        remedy: "open 22623 at the load balancer; the master's console shows the failing GET",
        hides: &["N01", "S03", "B18", "E03", "B02"],
        check: nobody_asked,
    },
];

const CLIENT: &str = "kubernetes.io/kube-apiserver-client-kubelet";
const SERVING: &str = "kubernetes.io/kubelet-serving";
const BOOTSTRAPPER: &str = "system:serviceaccount:openshift-machine-config-operator:node-bootstrapper";
const APPROVE: &str = "kubectl get csr -o go-template='{{range .items}}{{if not .status}}{{.metadata.name}}{{\"\\n\"}}{{end}}{{end}}' | xargs --no-run-if-empty oc adm certificate approve";

fn created(request: &Value) -> &str {
    text(&request["metadata"]["creationTimestamp"])
}

fn pending<'f>(facts: &'f Facts<'_>, signer: &'f str) -> impl Iterator<Item = &'f Value> {
    facts.all(REQUESTS).iter().filter(move |it| {
        text(&it["spec"]["signerName"]) == signer
            && list(&it["status"]["conditions"]).is_empty()
            && facts.is_older(created(it), 60)
    })
}

/// The node that a request is about, when the requester says it.
fn node(request: &Value) -> &str {
    text(&request["spec"]["username"]).strip_prefix("system:node:").unwrap_or_default()
}

/// What waits for one more node: everything during bootstrap; at install also Pods without a node.
fn waiting_for_a_node(facts: &Facts<'_>) -> Concerns {
    match facts.phase {
        Phase::Bootstrap => Concerns::whole(),
        Phase::Install => {
            let pending = facts.sick.iter().filter(|sick| sick.unschedulable().is_some());
            pending.fold(Concerns::version(), |all, sick| all.namespace(sick.namespace))
        }
        Phase::Update | Phase::Steady => Concerns::default(),
    }
}

fn client_pending(facts: &Facts<'_>) -> Vec<Hit> {
    let machines = facts.all(MACHINES);
    let is_known = |node: &str| {
        machines.iter().any(|it| list(&it["status"]["addresses"]).iter().any(|a| text(&a["address"]) == node))
    };
    pending(facts, CLIENT)
        .map(|request| {
            let (user, node) = (text(&request["spec"]["username"]), node(request));
            let because = if node.is_empty() && user != BOOTSTRAPPER {
                "its requester is not the node-bootstrapper, so nobody approves it by itself".to_owned()
            } else if facts.get(NODES, "", node).is_some() {
                format!("Node {node} exists already, so the approver refuses")
            } else if machines.is_empty() {
                "there are no Machines that the approver could compare it with".to_owned()
            } else if !node.is_empty() && !is_known(node) {
                format!("no Machine has the address {node}")
            } else {
                "the approver has not decided; it accepts a request only within 2 hours of the Machine's creation".to_owned()
            };
            Hit::on(REQUESTS, request)
                .together()
                .since(parse(created(request)))
                .concerning(Concerns::default().down(node).and(waiting_for_a_node(facts)))
                .line(format!("{} by {user} has no condition", object::name(request)))
                .line(because)
                .fix("kubectl get csr --field-selector spec.signerName=kubernetes.io/kube-apiserver-client-kubelet")
                .fix(format!("{APPROVE}   # repeat: the serving certificate follows"))
        })
        .collect()
}

fn serving_pending(facts: &Facts<'_>) -> Vec<Hit> {
    pending(facts, SERVING)
        .map(|request| {
            let node = node(request);
            Hit::on(REQUESTS, request)
                .together()
                .since(parse(created(request)))
                .concerning(Concerns::of_node(node).operator("monitoring"))
                .line(format!("{} of node {node} has no condition", object::name(request)))
                .fix("kubectl get csr --field-selector spec.signerName=kubernetes.io/kubelet-serving")
                .fix(APPROVE)
        })
        .collect()
}

fn not_issued(facts: &Facts<'_>) -> Vec<Hit> {
    let ours =
        facts.all(REQUESTS).iter().filter(|it| [CLIENT, SERVING].contains(&text(&it["spec"]["signerName"])));
    let stuck = ours.filter_map(|it| {
        let failed = Condition::find(it, "Failed");
        let approved =
            Condition::find(it, "Approved").filter(|_| text(&it["status"]["certificate"]).is_empty());
        let time = |condition: &Condition<'_>| match condition.since {
            "" => created(it).to_owned(),
            since => since.to_owned(),
        };
        let found = failed.or_else(|| approved.filter(|approved| facts.is_older(&time(approved), 60)))?;
        Some((it, found, time(&found)))
    });
    stuck
        .map(|(request, condition, since)| {
            Hit::on(REQUESTS, request)
                .together()
                .since(parse(&since))
                .concerning(Concerns::of_node(node(request)).operator("kube-controller-manager"))
                .concerning(waiting_for_a_node(facts))
                .line(format!("{}: {}, and no certificate", object::name(request), condition.told()))
                .fix("kubectl -n openshift-kube-controller-manager get pods -l app=kube-controller-manager -o wide")
                .fix("kubectl -n openshift-kube-controller-manager-operator get secret csr-signer -o jsonpath='{.metadata.annotations}'")
        })
        .collect()
}

fn too_many(facts: &Facts<'_>) -> Vec<Hit> {
    let is_young = |it: &&Value| facts.age(created(it)).is_some_and(|age| age <= 3600);
    let waiting = pending(facts, CLIENT).chain(pending(facts, SERVING));
    let count = waiting.filter(is_young).count();
    let limit = facts.all(MACHINES).len().max(facts.nodes().len()) + 100;
    let alert = facts.alert(&["MachineApproverMaxPendingCSRsReached"]);
    if count <= limit && alert.is_none() {
        return Vec::new();
    }
    let first = pending(facts, CLIENT).chain(pending(facts, SERVING)).min_by_key(|it| created(it));
    let nodes = pending(facts, SERVING).chain(pending(facts, CLIENT)).map(node);
    let name = first.map_or("all", object::name);
    let hit = Hit::named(REQUESTS, "", name).since(first.and_then(|it| parse(created(it))));
    vec![
        nodes
            .fold(hit, |hit, node| hit.concerning(Concerns::of_node(node)))
            .concerning(Concerns::of_operator("machine-approver"))
            .concerning(if facts.phase == Phase::Install {
                waiting_for_a_node(facts)
            } else {
                Concerns::default()
            })
            .line(format!("{count} node requests of the last hour wait; the approver stops above {limit}"))
            .line(alert.map_or_else(String::new, |it| format!("alert {}", it.name)))
            .fix("kubectl get csr --sort-by=.metadata.creationTimestamp")
            .fix("kubectl delete csr <those that nobody needs>, then approve the rest"),
    ]
}

fn nobody_asked(facts: &Facts<'_>) -> Vec<Hit> {
    let is_listed = facts.has(NODES) && facts.has(REQUESTS);
    let born = facts.get(NAMESPACES, "", namespace::KUBE_SYSTEM).map(created);
    let is_old = born.is_some_and(|time| facts.age(time).is_some_and(|age| age >= 600));
    let has_asked =
        facts.all(REQUESTS).iter().any(|it| [CLIENT, SERVING].contains(&text(&it["spec"]["signerName"])));
    if !is_listed || !is_old || !facts.nodes().is_empty() || has_asked {
        return Vec::new();
    }
    let closed = facts.snapshot.probes.iter().find_map(|probe| match probe {
        Probe::Tcp { address, outcome, .. } if address.ends_with(":22623") => {
            Some((address, outcome.error()?))
        }
        Probe::Http { url, outcome, .. } if url.contains(":22623") => Some((url, outcome.error()?)),
        _ => None,
    });
    let hit = Hit::named(NODES, "", "none")
        .since(born.and_then(parse))
        .concerning(Concerns::whole())
        .line("there is no Node and no certificate request")
        .fix("curl -k -o /dev/null -w '%{http_code}\\n' https://api-int.<domain>:22623/config/master")
        .fix("open 22623 at the load balancer and look at the console of a master");
    vec![match closed {
        Some((address, error)) => hit.line(format!("{address}: {error}")).confidence(Confidence::Likely),
        None => hit,
    }]
}

/// Whether a node is ready.
pub(super) fn is_ready(node: &Value) -> bool {
    is_true(node, "Ready")
}
