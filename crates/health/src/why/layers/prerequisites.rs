//! Layer 2, second part: objects that must be there before operators can work.

use lockstep_api::names::{namespace, object as well_known, profile};
use lockstep_api::object;
use serde_json::Value;

use super::super::Phase;
use super::super::concerns::Concerns;
use super::super::facts::{Facts, parse};
use super::super::phase::{B, BI, BIUS, I, IUS};
use super::super::resource::{
    CLUSTER_VERSIONS, CONFIG_MAPS, ETCDS, INFRASTRUCTURES, KUBE_API_SERVERS, LEASES, NAMESPACES, NETWORKS,
    OPERATOR_NETWORKS, PODS, SECRETS,
};
use super::super::rule::{Confidence, Hit, Layer, Level, Rule};
use super::super::words::{done_of_total, registry};
use super::images::{Class, failing_pulls};
use super::network::nodes_without_network;
use crate::facts::{Condition, is_true, list, text};

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "B10",
        layer: Layer::Release,
        title: "An update is asked for during the install",
        phases: I,
        level: Level::Error,
        confidence: Confidence::Sure,
        signals: "spec.desiredUpdate is set while the history has no completed entry",
        why: "At install the operator takes the version from its own image; a wish for another one cannot be met yet.",
        remedy: "remove spec.desiredUpdate",
        hides: &["V0"],
        check: update_during_install,
    },
    Rule {
        id: "B11",
        layer: Layer::Release,
        title: "Wrong or missing cluster profile",
        phases: BI,
        level: Level::Error,
        confidence: Confidence::Hint,
        signals: "CLUSTER_PROFILE of the operator is absent or unknown, and operators of the release are missing or few manifests count",
        why: "The profile selects the manifests; with an unknown one most of the release is left out.",
        remedy: "set CLUSTER_PROFILE=self-managed-high-availability",
        hides: &["O01"],
        check: wrong_profile,
    },
    Rule {
        id: "B12",
        layer: Layer::Bootstrap,
        title: "Infrastructure status incomplete",
        phases: BI,
        level: Level::Error,
        confidence: Confidence::Sure,
        signals: "infrastructures/cluster lacks topology, API address, platform or name in its status",
        why: "A status given in a manifest is dropped on create, and operators wait for the topology for ever.",
        remedy: "patch the status subresource",
        hides: &["E0", "K0", "T0", "O0", "B18", "B14", "N01"],
        check: incomplete_infrastructure,
    },
    Rule {
        id: "B13",
        layer: Layer::Bootstrap,
        title: "Configuration of the network operator is missing",
        phases: BI,
        level: Level::Error,
        confidence: Confidence::Sure,
        signals: "networks.operator.openshift.io/cluster is absent, or the operator network says NoOperatorConfig",
        why: "The network operator deploys nothing until its own configuration object exists.",
        remedy: "create it with the clusterNetwork, serviceNetwork and defaultNetwork of networks.config.openshift.io/cluster",
        hides: &["T0", "N02", "O0"],
        check: no_network_configuration,
    },
    Rule {
        id: "B14",
        layer: Layer::Bootstrap,
        title: "cluster-config-v1 is missing",
        phases: BI,
        level: Level::Error,
        confidence: Confidence::Sure,
        signals: "ConfigMap kube-system/cluster-config-v1 or its key install-config is absent",
        why: "The operators of network, etcd and machine configuration read the install configuration from it.",
        remedy: "create it from the install configuration, without the pull secret",
        hides: &["T0", "E0", "M0", "O0"],
        check: no_install_configuration,
    },
    Rule {
        id: "B15",
        layer: Layer::Bootstrap,
        title: "etcd-endpoints is missing",
        phases: B,
        level: Level::Error,
        confidence: Confidence::Sure,
        signals: "ConfigMap openshift-etcd/etcd-endpoints is absent, or lacks the bootstrap address while the bootstrap member is in use",
        why: "Without it the etcd operator dials the masters, where etcd does not run yet.",
        remedy: "create it with the bootstrap host's address in the annotation",
        hides: &["E0", "K0", "O0", "B02"],
        check: no_etcd_endpoints,
    },
    Rule {
        id: "B16",
        layer: Layer::Images,
        title: "Pull secret missing or unusable",
        phases: BIUS,
        level: Level::Error,
        confidence: Confidence::Sure,
        signals: "Secret openshift-config/pull-secret is absent, of another type, not readable, or has no entry for the registry of a platform image that is denied",
        why: "Nodes pull the platform's images with this secret alone.",
        remedy: "set its .dockerconfigjson anew",
        hides: &["I", "K01", "K02", "V02"],
        check: pull_secret,
    },
    Rule {
        id: "B17",
        layer: Layer::Release,
        title: "Cluster version operator does not run or does not lead",
        phases: IUS,
        level: Level::Critical,
        confidence: Confidence::Sure,
        signals: "its Lease is not renewed, it has no ready Pod, or the ClusterVersion's generation is not observed",
        why: "Nobody applies the release, so nothing of it gets on.",
        remedy: "look at its Pod; after the pivot delete a lease that the bootstrap host left",
        hides: &["V07", "V0"],
        check: not_leading,
    },
    Rule {
        id: "B18",
        layer: Layer::Bootstrap,
        title: "Bootstrap has not reported that it is done",
        phases: B,
        level: Level::Error,
        confidence: Confidence::Sure,
        signals: "two API servers run on the masters and the ConfigMap kube-system/bootstrap is still not there",
        why: "The progress service on the bootstrap host cannot write it, so the installer waits.",
        remedy: "read the journal of progress.service and of bootkube.service",
        hides: &[],
        check: no_bootstrap_map,
    },
];

fn created(object: &Value) -> &str {
    text(&object["metadata"]["creationTimestamp"])
}

fn update_during_install(facts: &Facts<'_>) -> Vec<Hit> {
    let version = facts.version();
    let wish = &version["spec"]["desiredUpdate"];
    if !wish.is_object() {
        return Vec::new();
    }
    let asked =
        [text(&wish["version"]), text(&wish["image"])].into_iter().find(|it| !it.is_empty()).unwrap_or("-");
    vec![
        Hit::on(CLUSTER_VERSIONS, version)
            .since(parse(created(version)))
            .concerning(Concerns::version())
            .line(format!("spec.desiredUpdate asks for {asked} and no release was ever completed"))
            .fix(
                "kubectl patch clusterversion version --type=merge -p '{\"spec\":{\"desiredUpdate\":null}}'",
            ),
    ]
}

fn wrong_profile(facts: &Facts<'_>) -> Vec<Hit> {
    let Some(payload) = &facts.snapshot.payload else { return Vec::new() };
    let pods = facts.all(PODS).iter().filter(|pod| {
        object::namespace(pod) == namespace::CLUSTER_VERSION
            && object::name(pod).contains(well_known::CLUSTER_VERSION_OPERATOR)
    });
    let mut hits = Vec::new();
    for pod in pods {
        let containers = list(&pod["spec"]["containers"]);
        let variables = containers.iter().flat_map(|container| list(&container["env"]));
        let set =
            variables.clone().find(|it| text(&it["name"]) == profile::VARIABLE).map(|it| text(&it["value"]));
        // A gathered folder may have the name of a variable without its value.
        if set.is_some_and(|set| set.is_empty() || profile::ALL.contains(&set)) {
            continue;
        }
        let missing =
            payload.operators.iter().filter(|it| !facts.operators.contains_key(it.name.as_str())).count();
        let told = facts.of_version("Progressing").and_then(|it| done_of_total(it.message));
        let is_short = told.is_some_and(|(_, total)| total * 2 < payload.manifests);
        if missing == 0 && !is_short {
            continue;
        }
        let set = set.unwrap_or("not set");
        hits.push(
            Hit::on(PODS, pod)
                .concerning(Concerns::version())
                .line(format!("{} is {set}", profile::VARIABLE))
                .line(format!("{missing} of {} operators of the release are missing", payload.operators.len()))
                .fix("kubectl -n openshift-cluster-version set env deployment/cluster-version-operator CLUSTER_PROFILE=self-managed-high-availability"),
        );
    }
    hits
}

fn incomplete_infrastructure(facts: &Facts<'_>) -> Vec<Hit> {
    let Some(found) = facts.get(INFRASTRUCTURES, "", well_known::CLUSTER) else { return Vec::new() };
    let status = &found["status"];
    let missing: Vec<&str> = [
        ("controlPlaneTopology", &status["controlPlaneTopology"]),
        ("infrastructureTopology", &status["infrastructureTopology"]),
        ("apiServerInternalURI", &status["apiServerInternalURI"]),
        ("platformStatus.type", &status["platformStatus"]["type"]),
        ("infrastructureName", &status["infrastructureName"]),
    ]
    .into_iter()
    .filter(|(_, value)| text(value).is_empty())
    .map(|(name, _)| name)
    .collect();
    if missing.is_empty() {
        return Vec::new();
    }
    let concerns = Concerns::version().operator("config-operator").operator("etcd").operator("network");
    vec![
        Hit::on(INFRASTRUCTURES, found)
            .since(parse(created(found)))
            .concerning(concerns)
            .concerning(if facts.phase == Phase::Bootstrap { Concerns::whole() } else { Concerns::default() })
            .line(format!("status lacks {}", missing.join(", ")))
            .fix("kubectl patch infrastructure cluster --subresource=status --type=merge -p '{\"status\":{\"controlPlaneTopology\":\"HighlyAvailable\",\"infrastructureTopology\":\"HighlyAvailable\"}}'"),
    ]
}

fn no_network_configuration(facts: &Facts<'_>) -> Vec<Hit> {
    let Some(source) = facts.get(NETWORKS, "", well_known::CLUSTER) else { return Vec::new() };
    let is_absent =
        facts.has(OPERATOR_NETWORKS) && facts.get(OPERATOR_NETWORKS, "", well_known::CLUSTER).is_none();
    let operator = facts.operators.get("network");
    let words = ["NoOperatorConfig", "No networks.operator.openshift.io cluster found"];
    let complaint = operator.and_then(|it| it.complains(&words));
    if !is_absent && complaint.is_none() {
        return Vec::new();
    }
    let hit = Hit::named(OPERATOR_NETWORKS, "", well_known::CLUSTER)
        .since(complaint.map_or_else(|| parse(created(source)), |it| parse(it.since)))
        .concerning(
            Concerns::of_operator("network").and(Concerns::version()).and(nodes_without_network(facts)),
        )
        .line(complaint.map_or_else(String::new, |it| it.told()));
    let hit = if is_absent { hit.line("networks.operator.openshift.io/cluster does not exist") } else { hit };
    vec![
        hit.fix("kubectl get networks.config.openshift.io cluster -o yaml")
            .fix("kubectl create -f - with kind Network of operator.openshift.io/v1, name cluster, and the same clusterNetwork, serviceNetwork and defaultNetwork.type"),
    ]
}

fn no_install_configuration(facts: &Facts<'_>) -> Vec<Hit> {
    if !facts.has(CONFIG_MAPS) {
        return Vec::new();
    }
    let found = facts.get(CONFIG_MAPS, namespace::KUBE_SYSTEM, "cluster-config-v1");
    let line = match found {
        None => "it does not exist",
        Some(map) if map["data"].get("install-config").is_none() => "it has no key install-config",
        Some(_) => return Vec::new(),
    };
    let concerns = Concerns::version().operator("network").operator("etcd").operator("machine-config");
    vec![
        Hit::named(CONFIG_MAPS, namespace::KUBE_SYSTEM, "cluster-config-v1")
            .concerning(concerns)
            .line(format!("ConfigMap kube-system/cluster-config-v1: {line}"))
            .fix("kubectl -n kube-system create configmap cluster-config-v1 --from-file=install-config=install-config.yaml   # without pullSecret"),
    ]
}

/// The annotation in which the installer says where the bootstrap etcd is.
const BOOTSTRAP_ADDRESS: &str = "alpha.installer.openshift.io/etcd-bootstrap";

fn no_etcd_endpoints(facts: &Facts<'_>) -> Vec<Hit> {
    if !facts.has(CONFIG_MAPS) || facts.get(NAMESPACES, "", "openshift-etcd").is_none() {
        return Vec::new();
    }
    let removed =
        facts.get(ETCDS, "", well_known::CLUSTER).is_some_and(|it| is_true(it, "EtcdBootstrapMemberRemoved"));
    let found = facts.get(CONFIG_MAPS, "openshift-etcd", "etcd-endpoints");
    let line = match found {
        None => "ConfigMap openshift-etcd/etcd-endpoints does not exist",
        Some(map) if !removed && text(&map["metadata"]["annotations"][BOOTSTRAP_ADDRESS]).is_empty() => {
            "ConfigMap openshift-etcd/etcd-endpoints lacks the address of the bootstrap host"
        }
        Some(_) => return Vec::new(),
    };
    vec![
        Hit::named(CONFIG_MAPS, "openshift-etcd", "etcd-endpoints")
            .concerning(Concerns::of_operator("etcd").and(Concerns::version()))
            .line(line)
            .fix(format!("kubectl -n openshift-etcd create configmap etcd-endpoints && kubectl -n openshift-etcd annotate configmap etcd-endpoints {BOOTSTRAP_ADDRESS}=<bootstrap address>")),
    ]
}

/// The type of a Secret that nodes can pull with.
const DOCKER_CONFIG: &str = "kubernetes.io/dockerconfigjson";

fn pull_secret(facts: &Facts<'_>) -> Vec<Hit> {
    let denied = || {
        failing_pulls(facts).filter(|pull| {
            let is_platform = pull.sick.namespace.starts_with("openshift-")
                || !facts.owners(pull.sick.namespace).is_empty();
            is_platform && pull.class == Class::Denied
        })
    };
    let mut concerns = Concerns::default();
    for pull in failing_pulls(facts).filter(|pull| pull.sick.namespace.starts_with("openshift-")) {
        concerns = concerns.namespace(pull.sick.namespace).node(pull.sick.node);
    }
    let hit = Hit::named(SECRETS, namespace::CONFIG, well_known::PULL_SECRET)
        .concerning(concerns)
        .fix("kubectl -n openshift-config get secret pull-secret -o jsonpath='{.type}'")
        .fix("oc set data secret/pull-secret -n openshift-config --from-file=.dockerconfigjson=<file>");
    let secret = facts.get(SECRETS, namespace::CONFIG, well_known::PULL_SECRET);
    let known = facts.snapshot.pull_secret.as_ref();
    let line = match secret {
        None if facts.has(SECRETS) => "Secret openshift-config/pull-secret does not exist".to_owned(),
        // Whoever lists the metadata alone does not see the type.
        Some(secret) if !["", DOCKER_CONFIG].contains(&text(&secret["type"])) => {
            format!("its type is {:?} and must be kubernetes.io/dockerconfigjson", text(&secret["type"]))
        }
        _ => match known {
            Some(known) if !known.error.is_empty() => format!("it cannot be used: {}", known.error),
            Some(known) if known.registries.is_empty() => "it has no entry in auths".to_owned(),
            Some(known) => {
                let lacks = |image: &str| {
                    !known.registries.iter().any(|it| it.split('/').next() == Some(registry(image)))
                };
                match denied().find(|pull| lacks(pull.image)) {
                    Some(pull) => {
                        format!("it has no entry for {}, which denies {}", registry(pull.image), pull.image)
                    }
                    None => return Vec::new(),
                }
            }
            None => return Vec::new(),
        },
    };
    vec![hit.line(line)]
}

fn not_leading(facts: &Facts<'_>) -> Vec<Hit> {
    let concerns = Concerns::version().namespace(namespace::CLUSTER_VERSION);
    let fix = "kubectl -n openshift-cluster-version get pods,lease -o wide";
    let mut hits = Vec::new();
    let mut is_led = false;
    if let Some(lease) = facts.get(LEASES, namespace::CLUSTER_VERSION, well_known::VERSION) {
        let renewed = text(&lease["spec"]["renewTime"]);
        let limit = lease["spec"]["leaseDurationSeconds"].as_i64().unwrap_or(0) + 60;
        is_led = facts.age(renewed).is_some_and(|age| age <= limit);
        if facts.age(renewed).is_some_and(|age| age > limit) {
            let holder = text(&lease["spec"]["holderIdentity"]);
            let hit = Hit::on(LEASES, lease).since(parse(renewed)).concerning(concerns.clone());
            let hit = hit.line(format!("held by {holder} and not renewed since {renewed}")).fix(fix);
            hits.push(hit.fix(
                "kubectl -n openshift-cluster-version delete lease version   # only when its holder is gone",
            ));
        }
    }
    let is_own = |pod: &&Value| {
        object::namespace(pod) == namespace::CLUSTER_VERSION
            && text(&pod["metadata"]["labels"]["k8s-app"]) == well_known::CLUSTER_VERSION_OPERATOR
    };
    let mut own = facts.all(PODS).iter().filter(is_own).peekable();
    // Whoever renews the lease runs, wherever that is.
    if facts.has(PODS) && !facts.version().is_null() && !is_led {
        let is_empty = own.peek().is_none();
        let mut sick = own.filter(|pod| !is_true(pod, "Ready")).peekable();
        let line = if is_empty { "it has no Pod" } else { "none of its Pods is ready" };
        let all_sick =
            sick.peek().is_some() && !facts.all(PODS).iter().filter(is_own).any(|pod| is_true(pod, "Ready"));
        if is_empty || all_sick {
            let hit = Hit::named(
                super::super::resource::DEPLOYMENTS,
                namespace::CLUSTER_VERSION,
                well_known::CLUSTER_VERSION_OPERATOR,
            );
            let since =
                sick.peek().and_then(|pod| Condition::find(pod, "Ready")).and_then(|it| parse(it.since));
            let hit = hit.since(since).concerning(concerns.clone()).line(line).fix(fix);
            hits.push(
                hit.fix("kubectl -n openshift-cluster-version logs deployment/cluster-version-operator"),
            );
        }
    }
    let version = facts.version();
    let (wanted, seen) = (&version["metadata"]["generation"], &version["status"]["observedGeneration"]);
    let written = list(&version["metadata"]["managedFields"]).iter().map(|it| text(&it["time"])).max();
    let is_behind = seen.as_i64().is_some_and(|seen| seen < wanted.as_i64().unwrap_or(0));
    if hits.is_empty() && is_behind && written.is_some_and(|time| facts.is_older(time, 300)) {
        let hit =
            Hit::on(CLUSTER_VERSIONS, version).concerning(concerns).confidence(Confidence::Likely).fix(fix);
        hits.push(
            hit.line(format!("generation {wanted} of the ClusterVersion is not observed, only {seen}")),
        );
    }
    hits.into_iter().map(Hit::together).collect()
}

fn no_bootstrap_map(facts: &Facts<'_>) -> Vec<Hit> {
    let Some(server) = facts.get(KUBE_API_SERVERS, "", well_known::CLUSTER) else { return Vec::new() };
    let is_up = |status: &&Value| status["currentRevision"].as_i64().unwrap_or(0) > 0;
    let up = list(&server["status"]["nodeStatuses"]).iter().filter(is_up).count();
    let infrastructure = facts.get(INFRASTRUCTURES, "", well_known::CLUSTER);
    let is_single =
        infrastructure.is_some_and(|it| text(&it["status"]["controlPlaneTopology"]) == "SingleReplica");
    let wanted = if is_single { 1 } else { 2 };
    let is_old = facts.is_older(created(server), 300);
    let exists = facts.get(CONFIG_MAPS, namespace::KUBE_SYSTEM, "bootstrap").is_some();
    if up < wanted || exists || !facts.has(CONFIG_MAPS) || !is_old {
        return Vec::new();
    }
    vec![
        Hit::named(CONFIG_MAPS, namespace::KUBE_SYSTEM, "bootstrap")
            .concerning(Concerns::whole())
            .line(format!(
                "{up} API servers run on masters and ConfigMap kube-system/bootstrap does not exist"
            ))
            .fix("ssh core@<bootstrap> journalctl -b -u progress.service -u bootkube.service"),
    ]
}
