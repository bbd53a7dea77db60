//! Layer 8, third part: machines and their configuration.

use lockstep_api::names::object as well_known;
use lockstep_api::object;
use serde_json::Value;

use super::super::concerns::Concerns;
use super::super::facts::{Facts, parse};
use super::super::phase::{BI, I, IUS, US};
use super::super::resource::{BUDGETS, HOSTS, MACHINE_SETS, MACHINES, NODES, PODS, POOLS};
use super::super::rule::{Confidence, Hit, Layer, Level, Rule};
use super::super::words::{between, says};
use super::with;
use crate::facts::{Condition, list, text};

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "M01",
        layer: Layer::Nodes,
        title: "Machines are not provisioned",
        phases: I,
        level: Level::Error,
        confidence: Confidence::Sure,
        signals: "a Machine in phase Failed, or Provisioning for 30 minutes (60 on bare metal); a BareMetalHost with an error",
        why: "The cloud or the management controller does not give the machine: quota, credentials, image or hardware.",
        remedy: "the message of the Machine says which",
        hides: &["N01", "G01", "S02", "S01", "G06"],
        check: not_provisioned,
    },
    Rule {
        id: "M02",
        layer: Layer::Operators,
        title: "Machine config pool degraded",
        phases: IUS,
        level: Level::Error,
        confidence: Confidence::Sure,
        signals: "a pool with Degraded, NodeDegraded or RenderDegraded, or operator machine-config says RequiredPoolsFailed or a failed step",
        why: "A node cannot get the configuration that its pool wants, and the pool stops there.",
        remedy: "read the node's annotation and the log of its machine-config-daemon",
        hides: &[],
        check: pool_degraded,
    },
    Rule {
        id: "M03",
        layer: Layer::Operators,
        title: "Rendered configuration not found",
        phases: BI,
        level: Level::Error,
        confidence: Confidence::Likely,
        signals: "a node's annotation says that its rendered configuration is not found",
        why: "The configuration rendered on the bootstrap host differs from the one rendered in the cluster.",
        remedy: "compare both; make the bootstrap inputs equal and install again, or set the node's annotations to the live one",
        hides: &["M02"],
        check: rendered_missing,
    },
    Rule {
        id: "M04",
        layer: Layer::Operators,
        title: "Files of a node were changed",
        phases: US,
        level: Level::Error,
        confidence: Confidence::Likely,
        signals: "a node's annotation says `unexpected on-disk state validating`",
        why: "The daemon refuses to go on from files that it did not write.",
        remedy: "restore the file, or let the daemon force its own",
        hides: &["M02"],
        check: drift,
    },
    Rule {
        id: "M05",
        layer: Layer::Operators,
        title: "Drain blocked",
        phases: US,
        level: Level::Error,
        confidence: Confidence::Sure,
        signals: "`failed to drain node` after an hour, or a drain of 15 minutes and a PodDisruptionBudget that allows nothing",
        why: "A disruption budget does not let the last Pod of a workload go, so the node cannot restart.",
        remedy: "give the workload another replica, or relax its budget",
        hides: &["M02", "O04"],
        check: drain,
    },
    Rule {
        id: "M06",
        layer: Layer::Operators,
        title: "Machine config pool paused",
        phases: US,
        level: Level::Warning,
        confidence: Confidence::Sure,
        signals: "spec.paused and nodes that are not updated",
        why: "Somebody stopped the pool; certificates of its nodes are not renewed either.",
        remedy: "unpause it",
        hides: &["V08"],
        check: paused,
    },
];

const STATE: &str = "machineconfiguration.openshift.io/state";
const REASON: &str = "machineconfiguration.openshift.io/reason";
const DESIRED_DRAIN: &str = "machineconfiguration.openshift.io/desiredDrain";
const LAST_DRAIN: &str = "machineconfiguration.openshift.io/lastAppliedDrain";

fn note<'a>(node: &'a Value, key: &str) -> &'a str {
    text(&node["metadata"]["annotations"][key])
}

fn not_provisioned(facts: &Facts<'_>) -> Vec<Hit> {
    let mut hits = Vec::new();
    let limit = if facts.all(HOSTS).is_empty() { 30 * 60 } else { 60 * 60 };
    let waiting = facts.sick.iter().filter(|sick| sick.unschedulable().is_some());
    let waiting = waiting.fold(Concerns::version(), |all, sick| all.namespace(sick.namespace));
    let logs = "kubectl -n openshift-machine-api logs deployment/machine-api-controllers -c machine-controller --tail=50";
    for machine in facts.all(MACHINES) {
        let (status, created) = (&machine["status"], text(&machine["metadata"]["creationTimestamp"]));
        let phase = text(&status["phase"]);
        let is_late = ["Provisioning", "Provisioned"].contains(&phase) && facts.is_older(created, limit);
        if phase != "Failed" && !is_late {
            continue;
        }
        let told = format!("{} {}", text(&status["errorReason"]), text(&status["errorMessage"]));
        let (space, name) = (object::namespace(machine), object::name(machine));
        let hit = Hit::on(MACHINES, machine).since(parse(created)).concerning(waiting.clone());
        let hit = hit.line(format!("Machine {name} is {phase}: {told}"));
        hits.push(hit.fix(format!("kubectl -n {space} describe machine {name}")).fix(logs));
    }
    for host in facts.all(HOSTS).iter().filter(|it| text(&it["status"]["operationalStatus"]) == "error") {
        let (space, name) = (object::namespace(host), object::name(host));
        let hit =
            Hit::on(HOSTS, host).concerning(waiting.clone()).line(text(&host["status"]["errorMessage"]));
        hits.push(
            hit.line(format!("BareMetalHost {name} has an error"))
                .fix(format!("kubectl -n {space} describe baremetalhost {name}")),
        );
    }
    let has_cause = !hits.is_empty();
    for set in facts.all(MACHINE_SETS).iter().filter(|_| !has_cause) {
        let (wanted, ready) = (
            set["spec"]["replicas"].as_i64().unwrap_or(0),
            set["status"]["readyReplicas"].as_i64().unwrap_or(0),
        );
        let created = text(&set["metadata"]["creationTimestamp"]);
        if ready < wanted && facts.is_older(created, limit) && facts.all(MACHINES).is_empty() {
            let (space, name) = (object::namespace(set), object::name(set));
            let hit = Hit::on(MACHINE_SETS, set)
                .since(parse(created))
                .concerning(waiting.clone())
                .confidence(Confidence::Likely);
            hits.push(
                hit.line(format!("{ready} of {wanted} machines are ready"))
                    .fix(format!("kubectl -n {space} describe machineset {name}"))
                    .fix(logs),
            );
        }
    }
    hits
}

fn of_pool(pool: &str) -> Concerns {
    Concerns::of_operator(well_known::MACHINE_CONFIG).pool(pool)
}

/// The pool that a node belongs to, by its role.
fn pool_of(node: &Value) -> &'static str {
    if super::nodes::is_master(node) { "master" } else { "worker" }
}

fn pool_degraded(facts: &Facts<'_>) -> Vec<Hit> {
    let mut hits = Vec::new();
    for pool in facts.all(POOLS) {
        let name = object::name(pool);
        let bad = ["NodeDegraded", "RenderDegraded", "Degraded"];
        let Some(bad) = bad.iter().find_map(|kind| Condition::find(pool, kind).filter(Condition::is_true))
        else {
            continue;
        };
        let nodes =
            facts.nodes().iter().filter(|node| pool_of(node) == name && !note(node, REASON).is_empty());
        let hit = with(Hit::on(POOLS, pool), &bad).concerning(of_pool(name));
        let hit = nodes
            .take(2)
            .fold(hit, |hit, node| hit.line(format!("node {}: {}", object::name(node), note(node, REASON))));
        hits.push(hit.fix(format!("kubectl describe mcp {name}")).fix("kubectl -n openshift-machine-config-operator logs -l k8s-app=machine-config-daemon -c machine-config-daemon --tail=30"));
    }
    let words = [
        "RequiredPoolsFailed",
        "RenderConfigFailed",
        "MachineConfigPoolsFailed",
        "MachineConfigDaemonFailed",
        "MachineConfigControllerFailed",
        "MachineConfigServerFailed",
    ];
    let complaint = facts.operators.get(well_known::MACHINE_CONFIG).and_then(|it| it.complains(&words));
    if let Some(complaint) = complaint.filter(|_| hits.is_empty()) {
        let pool = between(complaint.message, "MachineConfigPool ", " ").unwrap_or("master");
        let hit = with(Hit::named(POOLS, "", pool), &complaint).concerning(of_pool(pool));
        hits.push(hit.fix("kubectl get mcp").fix(format!("kubectl describe mcp {pool}")));
    }
    hits
}

/// Hits on nodes whose annotation says one of these.
fn noted(facts: &Facts<'_>, fits: impl Fn(&str) -> bool, fix: impl Fn(&str) -> Vec<String>) -> Vec<Hit> {
    let found = facts.nodes().iter().filter(|node| fits(note(node, REASON)));
    found
        .map(|node| {
            let name = object::name(node);
            let hit = Hit::on(NODES, node).concerning(Concerns::of_node(name).and(of_pool(pool_of(node))));
            fix(name).into_iter().fold(hit.line(format!("node {name}: {}", note(node, REASON))), Hit::fix)
        })
        .collect()
}

fn rendered_missing(facts: &Facts<'_>) -> Vec<Hit> {
    noted(
        facts,
        |reason| reason.contains("rendered-") && reason.contains("not found"),
        |name| {
            vec![
                "kubectl get machineconfig | grep rendered-".to_owned(),
                format!(
                    "kubectl get node {name} -o jsonpath='{{.metadata.annotations}}'   # compare its desiredConfig with the list"
                ),
            ]
        },
    )
}

fn drift(facts: &Facts<'_>) -> Vec<Hit> {
    noted(
        facts,
        |reason| reason.contains("unexpected on-disk state validating"),
        |name| {
            vec![
                format!(
                    "kubectl get node {name} -o jsonpath='{{.metadata.annotations.machineconfiguration\\.openshift\\.io/reason}}'   # names the file"
                ),
                format!(
                    "oc debug node/{name} -- chroot /host touch /run/machine-config-daemon-force   # writes the files again and restarts"
                ),
            ]
        },
    )
}

fn drain(facts: &Facts<'_>) -> Vec<Hit> {
    let mut hits = Vec::new();
    for node in facts.nodes() {
        let name = object::name(node);
        let reason = note(node, REASON);
        let gave_up = says(reason, &["failed to drain node"]);
        let desired = note(node, DESIRED_DRAIN);
        let is_draining = desired.starts_with("drain-") && desired != note(node, LAST_DRAIN);
        if !gave_up && !is_draining {
            continue;
        }
        let taint = list(&node["spec"]["taints"])
            .iter()
            .find(|it| text(&it["key"]) == "node.kubernetes.io/unschedulable");
        let since = taint.map_or("", |it| text(&it["timeAdded"]));
        let budget = blocking(facts, name);
        if !gave_up && (budget.is_none() || !facts.is_older(since, 900)) {
            continue;
        }
        let hit = Hit::on(NODES, node)
            .since(parse(since))
            .concerning(Concerns::of_node(name).and(of_pool(pool_of(node))))
            .line(reason)
            .fix("kubectl get pdb -A -o wide | awk '$5 == 0'");
        hits.push(match budget {
            Some((space, name)) => {
                hit.line(format!(
                    "PodDisruptionBudget {space}/{name} allows no disruption and has a Pod on the node"
                ))
                .fix(format!("kubectl -n {space} describe pdb {name}   # give its workload one more replica"))
            }
            None => hit.fix(format!("kubectl get pods -A -o wide --field-selector spec.nodeName={name}")),
        });
    }
    hits
}

/// The first budget that allows nothing and selects a Pod on a node.
fn blocking<'a>(facts: &Facts<'a>, node: &str) -> Option<(&'a str, &'a str)> {
    let strict: Vec<&Value> =
        facts.all(BUDGETS).iter().filter(|it| it["status"]["disruptionsAllowed"] == 0).collect();
    if strict.is_empty() {
        return None;
    }
    let pods = facts.all(PODS).iter().filter(|pod| text(&pod["spec"]["nodeName"]) == node);
    pods.into_iter().find_map(|pod| {
        let budget = strict.iter().find(|it| {
            let wanted = it["spec"]["selector"]["matchLabels"].as_object();
            object::namespace(it) == object::namespace(pod)
                && wanted.is_some_and(|labels| {
                    labels.iter().all(|(key, value)| pod["metadata"]["labels"].get(key) == Some(value))
                })
        })?;
        Some((object::namespace(budget), object::name(budget)))
    })
}

fn paused(facts: &Facts<'_>) -> Vec<Hit> {
    let is_outdated = |pool: &Value| {
        let count = |key: &str| pool["status"][key].as_i64().unwrap_or(0);
        count("updatedMachineCount") < count("machineCount")
    };
    let found = facts.all(POOLS).iter().filter(|pool| pool["spec"]["paused"] == true && is_outdated(pool));
    found
        .map(|pool| {
            let name = object::name(pool);
            let status = &pool["status"];
            Hit::on(POOLS, pool)
                .concerning(Concerns::default().pool(name))
                .line(format!(
                    "paused, and {} of {} nodes are updated",
                    status["updatedMachineCount"], status["machineCount"]
                ))
                .fix(format!("kubectl patch mcp {name} --type=merge -p '{{\"spec\":{{\"paused\":false}}}}'"))
        })
        .collect()
}

/// Whether a node's daemon says that it cannot go on.
pub(super) fn is_degraded(node: &Value) -> bool {
    ["Degraded", "Unreconcilable"].contains(&note(node, STATE))
}
