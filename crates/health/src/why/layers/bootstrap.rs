//! Layer 2, first part: what runs on the bootstrap host.

use lockstep_api::names::condition::{FAILING, PROGRESSING};
use lockstep_api::names::{namespace, object as well_known, reason};
use lockstep_api::object;

use super::super::concerns::Concerns;
use super::super::facts::{Facts, Sick, parse, restarts, said, subject};
use super::super::phase::{B, BI};
use super::super::resource::{CLUSTER_VERSIONS, CONFIG_MAPS, FEATURE_GATES, NODES, PODS};
use super::super::rule::{Confidence, Hit, Layer, Level, Rule};
use super::super::services;
use super::super::words::{line_that_says, says};
use super::{on_pod, with};
use crate::facts::{list, text};

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "B01",
        layer: Layer::Bootstrap,
        title: "Release image not pulled",
        phases: B,
        level: Level::Critical,
        confidence: Confidence::Sure,
        signals: "records of release-image.service: never started, or not successful",
        why: "Everything on the bootstrap host comes out of the release image, so nothing else begins without it.",
        remedy: "pull it by hand on the host, then correct pull secret, mirror, proxy or trust bundle",
        hides: &["B02", "C05", "S03", "N01", "E03", "B18", "A02"],
        check: release_image,
    },
    Rule {
        id: "B02",
        layer: Layer::Bootstrap,
        title: "bootkube stage failed",
        phases: B,
        level: Level::Critical,
        confidence: Confidence::Sure,
        signals: "records of bootkube.service: the stage that failed last",
        why: "bootkube goes through its stages in order and repeats the one that fails, so the rest waits.",
        remedy: "read the journal of bootkube and the log of the stage's container; delete the stage's .done file to repeat it",
        hides: &["B18", "C05", "A02"],
        check: stage_failed,
    },
    Rule {
        id: "B03",
        layer: Layer::Bootstrap,
        title: "bootkube script cannot be executed",
        phases: B,
        level: Level::Error,
        confidence: Confidence::Likely,
        signals: "`Permission denied` or `203/EXEC` in the unit's record or journal",
        why: "The script has a label that systemd may not execute because it does not lie under /usr/local/bin.",
        remedy: "put it under /usr/local/bin and run restorecon",
        hides: &["B02", "B18", "A02"],
        check: not_executable,
    },
    Rule {
        id: "B04",
        layer: Layer::Bootstrap,
        title: "Pause image cannot be pulled",
        phases: B,
        level: Level::Error,
        confidence: Confidence::Likely,
        signals: "FailedCreatePodSandBox events or the log of crio that name a pause image",
        why: "Every pod begins with the pause image, and the runtime asks for its built-in default instead of the release's.",
        remedy: "a drop-in for CRI-O with pause_image from the release and pause_command = /usr/bin/pod",
        hides: &["T06", "I", "B02", "B18"],
        check: pause_image,
    },
    Rule {
        id: "B05",
        layer: Layer::Bootstrap,
        title: "Bootstrap kubelet registered as a node",
        phases: BI,
        level: Level::Error,
        confidence: Confidence::Sure,
        signals: "a Node with the bootstrap host's address, or called bootstrap",
        why: "Workloads would be placed on a host that is about to be thrown away.",
        remedy: "remove --kubeconfig and --bootstrap-kubeconfig from its kubelet and delete the Node",
        hides: &[],
        check: bootstrap_node,
    },
    Rule {
        id: "B06",
        layer: Layer::Bootstrap,
        title: "Cluster version operator runs from the wrong image",
        phases: B,
        level: Level::Critical,
        confidence: Confidence::Likely,
        signals: "its container ends with words about /release-manifests or image-references",
        why: "It must run from the release image, which has the manifests; the component's own image has none.",
        remedy: "use the release's pull spec both as image and in --release-image",
        hides: &["P01", "B17", "B02", "B18"],
        check: wrong_image,
    },
    Rule {
        id: "B07",
        layer: Layer::Bootstrap,
        title: "Cluster version operator started with wrong flags",
        phases: B,
        level: Level::Critical,
        confidence: Confidence::Sure,
        signals: "its log says which flag or variable is missing",
        why: "On the bootstrap host it has no serving certificate and must be told its image and node.",
        remedy: "set --listen=, --release-image and the variable NODE_NAME",
        hides: &["P01", "B17", "B02", "B18"],
        check: wrong_flags,
    },
    Rule {
        id: "B08",
        layer: Layer::Bootstrap,
        title: "FeatureGate missing or changed",
        phases: BI,
        level: Level::Error,
        confidence: Confidence::Sure,
        signals: "featuregates/cluster is absent while the operator restarts, or its log asks for a shutdown after a change",
        why: "The operator compares the feature set of its start with the live object and ends when they differ.",
        remedy: "create the FeatureGate definition and object, with a status for this version, before the operator starts",
        hides: &["P01", "B17", "B18"],
        check: feature_gate,
    },
    Rule {
        id: "B09",
        layer: Layer::Release,
        title: "Kinds of the release are not served",
        phases: BI,
        level: Level::Error,
        confidence: Confidence::Sure,
        signals: "ClusterVersion reason UpdatePayloadResourceTypeMissing, or `unable to get REST mapping` on the bootstrap host",
        why: "Objects are created before the definition of their kind.",
        remedy: "apply the definitions of the configuration API and of ClusterVersion and ClusterOperator first",
        hides: &["B18"],
        check: types_missing,
    },
];

const EVERYTHING: fn() -> Concerns = Concerns::whole;

fn release_image(facts: &Facts<'_>) -> Vec<Hit> {
    if facts.snapshot.services.is_empty() {
        return Vec::new();
    }
    let records = facts.snapshot.services.get("release-image").map_or(&[][..], Vec::as_slice);
    let service = services::read(records);
    if service.is_successful {
        return Vec::new();
    }
    let hit = Hit::outside("Unit", "release-image.service").concerning(EVERYTHING()).since(parse(service.at));
    if !service.has_started {
        return vec![
            hit.line("the bootstrap machine did not execute the release-image.service systemd unit")
                .fix("ssh core@<bootstrap> systemctl status release-image.service"),
        ];
    }
    let error = service.last_error;
    let cause = if says(error, &["unauthorized", "authentication required", "denied"]) {
        "the pull secret has no valid entry for the registry"
    } else if says(error, &["x509"]) {
        "the trust bundle lacks the registry's authority"
    } else if says(error, &["no such host", "timeout", "timed out", "refused", "no route"]) {
        "the registry cannot be reached: DNS, proxy or mirror"
    } else if service.failing_stage == "image-metadata-arches-match" {
        "the release is for another architecture"
    } else {
        "pull it by hand to see more"
    };
    vec![
        hit.line(format!("stage {}: {error}", service.failing_stage))
            .line(cause)
            .fix("ssh core@<bootstrap> sudo podman pull --authfile <pull secret> <release image>")
            .fix("ssh core@<bootstrap> journalctl -b -u release-image.service"),
    ]
}

fn stage_failed(facts: &Facts<'_>) -> Vec<Hit> {
    let Some(records) = facts.snapshot.services.get("bootkube") else { return Vec::new() };
    let service = services::read(records);
    let stage = service.failing_stage;
    // A name that does not resolve, and a check of the API, have rules of their own, or are not fatal.
    let is_other =
        ["resolve-api-url", "resolve-api-int-url", "check-api-url", "check-api-int-url"].contains(&stage);
    if !service.has_started || service.is_successful || stage.is_empty() || is_other {
        return Vec::new();
    }
    let look = match stage {
        "wait-for-etcd" => "the bootstrap etcd does not become healthy: look at its log and its certificates",
        "cb-bootstrap" => {
            "the control plane did not appear on the masters, or a manifest could not be created"
        }
        "cvo-overrides" => "the API does not take the write: look at its health",
        "wait-for-ceo" => "the etcd operator has not moved etcd to the masters: all three must be ready",
        render if render.ends_with("-bootstrap") => "the component's render step refuses an input manifest",
        _ => "the journal says what the stage waited for",
    };
    vec![
        Hit::outside("Unit", "bootkube.service")
            .since(parse(service.at))
            .concerning(EVERYTHING())
            .line(format!("the bootkube service failed at stage {stage:?}: {look}"))
            .line(service.last_error)
            .fix("ssh core@<bootstrap> journalctl -b -u bootkube.service")
            .fix(format!("ssh core@<bootstrap> sudo rm /opt/openshift/{stage}.done   # only to repeat the stage after the cause is mended")),
    ]
}

/// A line of a unit's record or journal that says one of these.
fn unit_says<'a>(facts: &'a Facts<'_>, units: &[&str], words: &[&str]) -> Option<(&'a str, &'a str)> {
    let records = facts.snapshot.services.iter().flat_map(|(unit, records)| {
        records.iter().map(move |record| (unit.as_str(), record.error_message.as_str()))
    });
    let logs = facts.snapshot.logs.iter().map(|(unit, log)| (unit.as_str(), log.as_str()));
    records
        .chain(logs)
        .filter(|(unit, _)| units.iter().any(|wanted| unit.contains(wanted)))
        .find_map(|(unit, log)| Some((unit, line_that_says(log, words)?)))
}

fn not_executable(facts: &Facts<'_>) -> Vec<Hit> {
    let Some((unit, line)) = unit_says(facts, &["bootkube"], &["203/EXEC", "bootkube.sh: Permission denied"])
    else {
        return Vec::new();
    };
    vec![
        Hit::outside("Unit", unit)
            .line(line)
            .concerning(EVERYTHING())
            .fix("ssh core@<bootstrap> 'sudo cp bootkube.sh /usr/local/bin/ && sudo restorecon -v /usr/local/bin/bootkube.sh'")
            .fix("ssh core@<bootstrap> sudo systemctl restart bootkube.service"),
    ]
}

fn pause_image(facts: &Facts<'_>) -> Vec<Hit> {
    let is_pause =
        |text: &str| says(text, &["/pause:", "pause image", "/pause@"]) && says(text, &["pull", "image"]);
    let event = facts
        .all_warnings()
        .find(|event| text(&event["reason"]) == "FailedCreatePodSandBox" && is_pause(said(event)));
    let hit = if let Some(event) = event {
        let about = subject(event);
        Hit::named(PODS, text(&about["namespace"]), text(&about["name"])).line(said(event))
    } else {
        let log = unit_says(facts, &["crio", "kubelet"], &["/pause:"]).filter(|(_, line)| is_pause(line));
        let Some((unit, line)) = log else { return Vec::new() };
        Hit::outside("Unit", unit).line(line)
    };
    vec![
        hit.concerning(EVERYTHING())
            .fix("write /etc/crio/crio.conf.d/00-pause.conf: [crio.image] pause_image = \"<image `pod` of the release>\", pause_command = \"/usr/bin/pod\"")
            .fix("sudo systemctl restart crio kubelet"),
    ]
}

/// The annotation in which the installer says where the bootstrap etcd is.
const BOOTSTRAP_ADDRESS: &str = "alpha.installer.openshift.io/etcd-bootstrap";

fn bootstrap_node(facts: &Facts<'_>) -> Vec<Hit> {
    let endpoints = facts.get(CONFIG_MAPS, "openshift-etcd", "etcd-endpoints");
    let address = endpoints.map_or("", |map| text(&map["metadata"]["annotations"][BOOTSTRAP_ADDRESS]));
    let mut hits = Vec::new();
    for node in facts.nodes() {
        let name = object::name(node);
        let has_address = !address.is_empty()
            && list(&node["status"]["addresses"]).iter().any(|it| text(&it["address"]) == address);
        let is_called_so =
            name == "bootstrap" || name.starts_with("bootstrap.") || name.starts_with("bootstrap-");
        if has_address || is_called_so {
            let hit = Hit::on(NODES, node)
                .since(parse(text(&node["metadata"]["creationTimestamp"])))
                .concerning(Concerns::of_node(name).and(Concerns::version()))
                .confidence(if has_address { Confidence::Sure } else { Confidence::Likely })
                .line(if has_address {
                    format!("Node {name} has {address}, the address of the bootstrap host")
                } else {
                    format!("Node {name} is called like a bootstrap host")
                })
                .fix("ssh core@<bootstrap> systemctl cat kubelet.service   # neither --kubeconfig nor --bootstrap-kubeconfig")
                .fix(format!("kubectl delete node {name}"));
            hits.push(hit);
        }
    }
    hits
}

/// Pods of the cluster version operator that are not well.
pub(super) fn sick_operators<'f, 'a>(facts: &'f Facts<'a>) -> impl Iterator<Item = &'f Sick<'a>> {
    let is_it = |sick: &&Sick<'_>| sick.name.contains(well_known::CLUSTER_VERSION_OPERATOR);
    facts.sick_in(namespace::CLUSTER_VERSION).filter(is_it)
}

/// A hit where a log of the cluster version operator says one of these.
fn operator_says(facts: &Facts<'_>, words: &[&str], also: &[&str], fix: &[&str]) -> Vec<Hit> {
    let of_pods = sick_operators(facts).filter_map(|sick| {
        let line = facts.last_words(sick).into_iter().find_map(|log| line_that_says(log, words))?;
        Some((on_pod(sick), line))
    });
    let of_units = || unit_says(facts, &["cluster-version-operator"], words);
    let found = of_pods.chain(of_units().map(|(unit, line)| (Hit::outside("Container", unit), line)));
    let fits = |line: &str| also.is_empty() || says(line, also);
    found
        .filter(|(_, line)| fits(line))
        .map(|(hit, line)| {
            let hit = hit.line(line).concerning(Concerns::version()).together();
            let hit = if facts.phase == super::super::Phase::Bootstrap {
                hit.concerning(EVERYTHING())
            } else {
                hit
            };
            fix.iter().fold(hit, |hit, fix| hit.fix(*fix))
        })
        .collect()
}

fn wrong_image(facts: &Facts<'_>) -> Vec<Hit> {
    let fix = [
        "kubectl -n openshift-cluster-version get pods -o jsonpath='{.items[*].spec.containers[*].image}'",
        "set the release's pull spec as image and in --release-image of the static pod",
    ];
    let missing = ["no such file", "not found", "does not exist", "missing"];
    operator_says(facts, &["/release-manifests", "image-references"], &missing, &fix)
}

fn wrong_flags(facts: &Facts<'_>) -> Vec<Hit> {
    let words = [
        "--listen was not set empty, so --serving-cert-file must be set",
        "missing --release-image flag",
        "node-name is required",
    ];
    let fix = [
        "add --listen= and --release-image=<release> to the arguments, and NODE_NAME to the environment of the static pod",
    ];
    operator_says(facts, &words, &[], &fix)
}

fn feature_gate(facts: &Facts<'_>) -> Vec<Hit> {
    let fix = [
        "kubectl get featuregate cluster -o yaml",
        "create the FeatureGate definition and the object `cluster`, with a status for this version, then start the operator again",
    ];
    let words = ["FeatureSet was \"", "CVO feature flags were", "informer cache"];
    let mut hits = operator_says(
        facts,
        &words,
        &["requesting shutdown", "FeatureSet was", "feature flags were", "failed to sync"],
        &fix,
    );
    let is_absent = facts.has(FEATURE_GATES) && facts.get(FEATURE_GATES, "", well_known::CLUSTER).is_none();
    if hits.is_empty()
        && is_absent
        && let Some(sick) = sick_operators(facts).find(|sick| restarts(sick.pod) > 0)
    {
        let hit = Hit::named(FEATURE_GATES, "", well_known::CLUSTER)
            .concerning(Concerns::version().namespace(namespace::CLUSTER_VERSION));
        let hit = hit.since(parse(sick.since())).line("featuregates/cluster does not exist");
        let hit = hit.line(format!("Pod {} restarted {} times", sick.called(), restarts(sick.pod)));
        hits.push(fix.iter().fold(hit, |hit, fix| hit.fix(*fix)));
    }
    hits
}

fn types_missing(facts: &Facts<'_>) -> Vec<Hit> {
    let mut conditions = [FAILING, PROGRESSING].into_iter().filter_map(|kind| facts.of_version(kind));
    let missing = conditions.rfind(|it| it.reason == reason::UPDATE_PAYLOAD_RESOURCE_TYPE_MISSING);
    let hit = Hit::named(CLUSTER_VERSIONS, "", well_known::VERSION).concerning(Concerns::version());
    let hit = match missing {
        Some(condition) => with(hit, &condition),
        None => match unit_says(facts, &["bootkube", "cluster-bootstrap"], &["unable to get REST mapping"]) {
            Some((_, line)) => hit.line(line).concerning(EVERYTHING()),
            None => return Vec::new(),
        },
    };
    vec![
        hit.fix("kubectl get crd | grep -c config.openshift.io")
            .fix("lockstep lint <release>   # names the manifest that brings each kind"),
    ]
}
