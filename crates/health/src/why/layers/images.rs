//! Layer 6: images that cannot be had.

use super::super::concerns::Concerns;
use super::super::facts::{Facts, Sick, said, statuses};
use super::super::phase::{BIUS, U};
use super::super::resource::PODS;
use super::super::rule::{Confidence, Hit, Layer, Level, Rule};
use super::super::words::{registry, says};
use super::on_pod;
use crate::facts::{list, text};
use lockstep_api::names::{namespace, reason};
use lockstep_api::object;
use serde_json::Value;

/// The rules of this layer differ in the class of the error alone.
macro_rules! pull_rule {
    ($id:literal, $title:literal, $class:ident, $confidence:ident, $signals:literal, $why:literal, $remedy:literal) => {
        Rule {
            id: $id,
            layer: Layer::Images,
            title: $title,
            phases: BIUS,
            level: Level::Error,
            confidence: Confidence::$confidence,
            signals: $signals,
            why: $why,
            remedy: $remedy,
            hides: &["K01", "K02", "K06", "B17", "P04"],
            check: |facts| hits(facts, Class::$class),
        }
    };
}

pub(super) const RULES: &[Rule] = &[
    pull_rule!(
        "I01",
        "Image cannot be pulled",
        Other,
        Sure,
        "a container waits with ErrImagePull or ImagePullBackOff and no other rule knows the text",
        "The node cannot get the image, so the container never starts.",
        "pull it by hand on the node to see the whole error"
    ),
    pull_rule!(
        "I02",
        "Registry denies the image",
        Denied,
        Sure,
        "`unauthorized`, `authentication required` or `denied` while pulling",
        "The credentials that the node has are not accepted for this image.",
        "correct the pull secret's entry for the registry"
    ),
    pull_rule!(
        "I03",
        "Image is not in the registry",
        Absent,
        Sure,
        "`manifest unknown` or `not found` while pulling",
        "The mirror is incomplete, or the digest was removed.",
        "mirror the release again"
    ),
    pull_rule!(
        "I04",
        "Registry unreachable",
        Unreachable,
        Sure,
        "`no such host`, `i/o timeout`, `connection refused` or `TLS handshake timeout` while pulling",
        "DNS, a firewall, a proxy or a mirror set that the nodes do not have yet is in the way.",
        "look the registry up and connect to it from the node"
    ),
    pull_rule!(
        "I05",
        "Registry not trusted",
        Untrusted,
        Sure,
        "`x509` while pulling",
        "The node does not know the authority that signed the registry's certificate.",
        "add it to the additional trust bundle"
    ),
    pull_rule!(
        "I06",
        "Registry limits the rate",
        Limited,
        Sure,
        "`toomanyrequests` while pulling",
        "The registry counts pulls per address and has had enough of them.",
        "use credentials or a mirror"
    ),
    pull_rule!(
        "I07",
        "Signature policy rejects the image",
        Unsigned,
        Sure,
        "`signature`, `policy` or SignatureValidationFailed while pulling",
        "A policy asks for a signature that the image, or its mirror, does not have.",
        "mirror the signatures too, or correct the ClusterImagePolicy"
    ),
    Rule {
        id: "I08",
        layer: Layer::Images,
        title: "Invalid image reference",
        phases: BIUS,
        level: Level::Error,
        confidence: Confidence::Sure,
        signals: "a container waits with InvalidImageName",
        why: "A placeholder was not replaced when the release was built.",
        remedy: "build the release again",
        hides: &["K01", "K02", "K06", "B17"],
        check: invalid_name,
    },
    Rule {
        id: "I09",
        layer: Layer::Images,
        title: "Pod that reads the next release cannot start",
        phases: U,
        level: Level::Error,
        confidence: Confidence::Sure,
        signals: "a Pod labelled k8s-app=retrieve-openshift-release waits for its image or has failed",
        why: "The operator reads the next release through this Pod, within two minutes.",
        remedy: "look at the image of the next release and at the node's disk; the operator tries again by itself",
        hides: &["I01", "I02", "I03", "I04", "I05", "I06", "I07", "V02", "P01"],
        check: payload_pod,
    },
];

/// Why an image cannot be had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    Denied,
    Absent,
    Unreachable,
    Untrusted,
    Limited,
    Unsigned,
    Other,
}

/// A container that waits for its image.
pub(super) struct Pull<'f, 'a> {
    pub(super) sick: &'f Sick<'a>,
    container: &'a str,
    pub(super) image: &'a str,
    pub(super) message: &'a str,
    pub(super) class: Class,
}

/// The meaning of an error.
///
/// *Order*: what a registry answers comes before how it was reached, because answers quote addresses.
fn class(message: &str) -> Class {
    let table: [(&[&str], Class); 6] = [
        (&["toomanyrequests", "rate limit"], Class::Limited),
        (&["signaturevalidationfailed", "signature", "rejected by policy"], Class::Unsigned),
        (&["x509"], Class::Untrusted),
        (&["unauthorized", "authentication required", "denied"], Class::Denied),
        (
            &[
                "no such host",
                "i/o timeout",
                "connection refused",
                "tls handshake timeout",
                "no route to host",
                "proxyconnect",
            ],
            Class::Unreachable,
        ),
        (&["manifest unknown", "not found"], Class::Absent),
    ];
    let special = ["no space left", "exec format error", "no image found in manifest list"];
    if says(message, &special) {
        return Class::Other;
    }
    table.iter().find(|(words, _)| says(message, words)).map_or(Class::Other, |(_, class)| *class)
}

/// All containers that wait for an image.
pub(super) fn failing_pulls<'f, 'a>(facts: &'f Facts<'a>) -> impl Iterator<Item = Pull<'f, 'a>> {
    let pulling = [reason::ERR_IMAGE_PULL, reason::IMAGE_PULL_BACK_OFF, reason::SIGNATURE_VALIDATION_FAILED];
    facts.sick.iter().flat_map(move |sick| {
        let waiting = sick.waiting().filter(move |it| pulling.contains(&it.reason));
        waiting.map(move |waiting| {
            let image = image_of(sick.pod, waiting.container);
            let is_silent = waiting.message.starts_with("Back-off pulling image")
                && !waiting.message.contains("ErrImagePull: ");
            let told = || {
                facts
                    .pod_events(sick, &["Failed"])
                    .map(said)
                    .find(|it| it.starts_with("Failed to pull image"))
            };
            let message = if is_silent { told().unwrap_or(waiting.message) } else { waiting.message };
            let class = match waiting.reason {
                reason::SIGNATURE_VALIDATION_FAILED => Class::Unsigned,
                _ => class(message),
            };
            Pull { sick, container: waiting.container, image, message, class }
        })
    })
}

/// The image of a container, as the spec writes it.
fn image_of<'a>(pod: &'a Value, container: &str) -> &'a str {
    let specs = ["initContainers", "containers"].into_iter().flat_map(|key| list(&pod["spec"][key]));
    let spec = specs
        .into_iter()
        .find(|spec| text(&spec["name"]) == container)
        .map_or("", |spec| text(&spec["image"]));
    let status = || statuses(pod).find(|status| text(&status["name"]) == container);
    if spec.is_empty() { status().map_or("", |status| text(&status["image"])) } else { spec }
}

fn hits(facts: &Facts<'_>, class: Class) -> Vec<Hit> {
    failing_pulls(facts)
        .filter(|pull| pull.class == class)
        .map(|pull| {
            let Pull { sick, container, image, message, .. } = pull;
            let host = registry(image);
            let node = if sick.node.is_empty() { "<node>" } else { sick.node };
            let hit = on_pod(sick).line(format!("Pod {}, container {container}, {image}: {message}", sick.called()));
            let hit = if facts.is_older(sick.since(), 60) { hit } else { hit.level(Level::Warning) };
            let by_hand = format!("oc debug node/{node} -- chroot /host crictl pull {image}");
            match class {
                Class::Denied => hit
                    .fix("kubectl -n openshift-config get secret pull-secret -o jsonpath='{.data.\\.dockerconfigjson}' | base64 -d | jq '.auths | keys'")
                    .fix(format!("set the entry for {host}: oc set data secret/pull-secret -n openshift-config --from-file=.dockerconfigjson=<file>")),
                Class::Absent => hit
                    .fix(format!("skopeo inspect --raw docker://{image}"))
                    .fix("lockstep release mirror <release> <registry>   # only what is missing is copied"),
                Class::Unreachable => hit
                    .fix(format!("oc debug node/{node} -- chroot /host curl -sS -o /dev/null -w '%{{http_code}}\\n' https://{host}/v2/"))
                    .fix("kubectl get imagedigestmirrorset,imagecontentsourcepolicy"),
                Class::Untrusted => hit
                    .fix(format!("openssl s_client -connect {host}:443 </dev/null | openssl x509 -noout -issuer"))
                    .fix("kubectl get image.config.openshift.io cluster -o jsonpath='{.spec.additionalTrustedCA}'"),
                Class::Limited => hit.fix(by_hand).fix(format!("add credentials for {host} to the pull secret, or mirror the image")),
                Class::Unsigned => hit.fix("kubectl get clusterimagepolicy,imagepolicy -A").fix("mirror the signatures next to the images"),
                Class::Other => hit.fix(by_hand).fix(format!("kubectl -n {} describe pod {}", sick.namespace, sick.name)),
            }
        })
        .collect()
}

fn invalid_name(facts: &Facts<'_>) -> Vec<Hit> {
    let found = facts.sick.iter().flat_map(|sick| sick.waiting().map(move |waiting| (sick, waiting)));
    found
        .filter(|(_, waiting)| waiting.reason == "InvalidImageName")
        .map(|(sick, waiting)| {
            let image = image_of(sick.pod, waiting.container);
            on_pod(sick)
                .line(format!("container {} wants {image:?}: {}", waiting.container, waiting.message))
                .fix("lockstep lint <release>   # finds images that were not replaced")
                .fix(format!(
                    "kubectl -n {} get pod {} -o jsonpath='{{.spec.containers[*].image}}'",
                    sick.namespace, sick.name
                ))
        })
        .collect()
}

fn payload_pod(facts: &Facts<'_>) -> Vec<Hit> {
    let ours = facts.sick_in(namespace::CLUSTER_VERSION);
    let ours =
        ours.filter(|sick| text(&sick.pod["metadata"]["labels"]["k8s-app"]) == "retrieve-openshift-release");
    ours.filter_map(|sick| {
        let waiting = sick.waiting().find(|it| it.reason.contains("Image"));
        let has_failed = text(&sick.pod["status"]["phase"]) == "Failed";
        let line = match waiting {
            Some(it) => format!("container {}: {}: {}", it.container, it.reason, it.message),
            None if has_failed => {
                let status = &sick.pod["status"];
                format!(
                    "Pod {} failed: {} {}",
                    object::name(sick.pod),
                    text(&status["reason"]),
                    text(&status["message"])
                )
            }
            None => return None,
        };
        let hit = Hit::on(PODS, sick.pod).together().since(super::parse(sick.since())).line(line);
        let hit = hit.concerning(Concerns::version());
        Some(
            hit.fix(format!("kubectl -n openshift-cluster-version describe pod {}", sick.name))
                .fix("kubectl get clusterversion version -o jsonpath='{.spec.desiredUpdate}'"),
        )
    })
    .collect()
}
