//! Machines: Node objects that become Ready, and their Leases.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::api::{CONTROLLERS, KUBELET, Patch, Place, Resource, code};
use super::cache::{Key, Kind};
use super::rules::draw;
use super::scenario::{Base, NodeGroup};
use super::shared::Shared;
use super::span::Span;

/// How often a Lease is renewed.
const HEARTBEAT: Duration = Duration::from_secs(10);
/// The pause after a failed request.
const PAUSE: Duration = Duration::from_secs(1);

/// How many machines a group may have.
const MOST: usize = 1000;

/// One machine.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Machine {
    name: String,
    roles: Vec<String>,
    ready_after: Span,
    leases: bool,
    /// The group that it comes from.
    group: usize,
    /// Its number among all, for its address.
    number: usize,
}

/// Starts a task per machine.
pub(crate) fn start(world: &Arc<Shared>, tasks: &mut JoinSet<()>) {
    for machine in machines(world) {
        tasks.spawn(run(Arc::clone(world), machine));
    }
}

/// The machines of the scenario: by default three that are control plane and worker at once, none when all is instant.
fn machines(world: &Shared) -> Vec<Machine> {
    let scenario = &world.scenario;
    let groups = match (&scenario.nodes, scenario.base) {
        (Some(groups), _) => groups.clone(),
        (None, Base::Instant) => Vec::new(),
        (None, Base::Default) => vec![NodeGroup {
            count: Some(3),
            roles: ["control-plane", "master", "worker"].map(str::to_owned).to_vec(),
            ..NodeGroup::default()
        }],
    };
    expand(&groups)
}

/// What groups of machines get wrong together; whoever reads a scenario refuses it.
pub(crate) fn contradictions(groups: &[NodeGroup]) -> Vec<String> {
    let too_many = |(index, group): (usize, &NodeGroup)| {
        let count = group.count.filter(|count| *count > MOST)?;
        Some(format!("nodes[{index}].count: {count} machines are too many; write at most {MOST}"))
    };
    let mut problems: Vec<String> = groups.iter().enumerate().filter_map(too_many).collect();
    if !problems.is_empty() {
        return problems;
    }
    let mut names = BTreeSet::new();
    for machine in expand(groups) {
        if !names.insert(machine.name.clone()) {
            let (group, name) = (machine.group, machine.name);
            problems.push(format!("nodes[{group}]: there is a machine `{name}` already; use other names"));
        }
    }
    problems
}

/// The machines of all groups. Those without a name are numbered by their first role, over all groups.
fn expand(groups: &[NodeGroup]) -> Vec<Machine> {
    let mut machines = Vec::new();
    let mut numbers: BTreeMap<String, usize> = BTreeMap::new();
    for (group_index, group) in groups.iter().enumerate() {
        let roles = if group.roles.is_empty() { vec!["worker".to_owned()] } else { group.roles.clone() };
        for index in 0..group.count.unwrap_or(group.names.len().max(1)) {
            let number = numbers.entry(roles[0].clone()).or_default();
            let name = group.names.get(index).cloned().unwrap_or_else(|| format!("{}-{number}", roles[0]));
            *number += 1;
            machines.push(Machine {
                name,
                group: group_index,
                roles: roles.clone(),
                ready_after: group.ready_after.unwrap_or(Span::between(10, 40)),
                leases: group.leases,
                number: machines.len(),
            });
        }
    }
    machines
}

/// Plays a machine: registers, becomes Ready, and renews its Lease.
async fn run(world: Arc<Shared>, machine: Machine) {
    let key = Key::new(Kind::Node, "", &machine.name);
    let ready_after = draw(&world.rng, &format!("ready/{key}"), machine.ready_after);
    loop {
        match world.create(&KUBELET, Kind::Node, &node(&machine)).await {
            Err(error) if code(&error) != 409 => world.clock.sleep(PAUSE).await,
            _ => break,
        }
    }
    for (pause, is_ready) in [(Duration::ZERO, false), (ready_after, true)] {
        world.clock.sleep(pause).await;
        loop {
            let status = json!({"status": status(&machine, is_ready, &world.clock.stamp())});
            if world.patch(&KUBELET, &key, "status", &status).await.is_ok() {
                break;
            }
            world.clock.sleep(PAUSE).await;
        }
        if is_ready {
            // As the controller for machines does it.
            let taints = json!({"spec": {"taints": taints(&machine.roles)}});
            drop(world.patch(&CONTROLLERS, &key, "", &taints).await);
            world.say(|| format!("{key} is ready"));
        }
    }
    if machine.leases {
        renew(&world, &machine.name).await;
    }
    // The machine stays; its task has nothing more to do.
    std::future::pending::<()>().await;
}

async fn renew(world: &Shared, name: &str) {
    const NAMESPACE: &str = "kube-node-lease";
    let leases = Resource::known("coordination.k8s.io", "leases", "Lease");
    loop {
        let spec = json!({"holderIdentity": name, "leaseDurationSeconds": 40, "renewTime": world.clock.micro_stamp()});
        let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {"name": name, "namespace": NAMESPACE}, "spec": spec});
        let place = Place::object(&leases, NAMESPACE, name);
        if let Err(error) = world.api.patch(&KUBELET, place, Patch::Merge, &json!({"spec": spec})).await
            && code(&error) == 404
        {
            drop(world.api.create(&KUBELET, Place::collection(&leases, NAMESPACE), &lease).await);
        }
        world.clock.sleep(HEARTBEAT).await;
    }
}

// === objects ===

fn node(machine: &Machine) -> Value {
    let mut labels = json!({
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/os": "linux",
        "kubernetes.io/hostname": machine.name,
        "beta.kubernetes.io/arch": "amd64",
        "beta.kubernetes.io/os": "linux",
    });
    for role in &machine.roles {
        labels[format!("node-role.kubernetes.io/{role}")] = "".into();
    }
    // The real server adds the first one by itself.
    let mut all = vec![json!({"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"})];
    all.extend(taints(&machine.roles));
    let spec = json!({"providerID": format!("lab:///{}", machine.name), "taints": all});
    json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": machine.name, "labels": labels}, "spec": spec})
}

/// The taints of a ready machine: a control plane that is no worker takes only what tolerates that.
fn taints(roles: &[String]) -> Vec<Value> {
    let has = |role: &str| roles.iter().any(|known| known == role);
    let role = ["control-plane", "master"].into_iter().find(|role| has(role) && !has("worker"));
    let taint = |role| json!({"key": format!("node-role.kubernetes.io/{role}"), "effect": "NoSchedule"});
    role.map(taint).into_iter().collect()
}

fn status(machine: &Machine, is_ready: bool, stamp: &str) -> Value {
    let condition = |kind: &str, status: &str, reason: &str, message: &str| {
        json!({"type": kind, "status": status, "reason": reason, "message": message,
            "lastHeartbeatTime": stamp, "lastTransitionTime": stamp})
    };
    let ready = if is_ready {
        condition("Ready", "True", "KubeletReady", "kubelet is posting ready status")
    } else {
        let text = "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:Network plugin returns error: no CNI configuration file in /etc/kubernetes/cni/net.d/. Has your network provider started?";
        condition("Ready", "False", "KubeletNotReady", text)
    };
    let size = json!({"cpu": "8", "memory": "32Gi", "ephemeral-storage": "120Gi", "pods": "250"});
    json!({
        "addresses": [
            {"type": "InternalIP", "address": format!("10.0.{}.{}", machine.number / 200, 10 + machine.number % 200)},
            {"type": "Hostname", "address": machine.name},
        ],
        "capacity": size,
        "allocatable": size,
        "conditions": [
            condition("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
            condition("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
            condition("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
            ready,
        ],
        "nodeInfo": {
            "architecture": "amd64",
            "bootID": "00000000-0000-4000-8000-000000000000",
            "containerRuntimeVersion": "cri-o://1.36.0",
            "kernelVersion": "6.12.0",
            "kubeProxyVersion": "",
            "kubeletVersion": "v1.36.3",
            "machineID": machine.name,
            "operatingSystem": "linux",
            "osImage": "Lockstep lab",
            "systemUUID": machine.name,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_from_the_list_then_from_role_and_number() {
        let group = NodeGroup { count: Some(2), names: vec!["a".into()], ..NodeGroup::default() };
        let names: Vec<String> = expand(&[group]).into_iter().map(|machine| machine.name).collect();
        assert_eq!(names, ["a", "worker-1"]);
    }

    #[test]
    fn groups_of_one_role_share_its_numbers() {
        let group = |count| NodeGroup { count: Some(count), ..NodeGroup::default() };
        let names: Vec<String> =
            expand(&[group(2), group(1)]).into_iter().map(|machine| machine.name).collect();
        assert_eq!(names, ["worker-0", "worker-1", "worker-2"]);
    }

    #[test]
    fn only_a_control_plane_that_is_no_worker_is_tainted() {
        let of = |roles: &[&str]| taints(&roles.iter().map(|&role| role.to_owned()).collect::<Vec<_>>());
        assert_eq!(of(&["control-plane"])[0]["key"], "node-role.kubernetes.io/control-plane");
        assert_eq!(of(&["control-plane", "worker"]), Vec::<Value>::new());
    }
}
