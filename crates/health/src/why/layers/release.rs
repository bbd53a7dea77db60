//! Layer 9: the release and whoever applies it.

use lockstep_api::names::condition::{
    IMPLICITLY_ENABLED_CAPABILITIES, INVALID, PROGRESSING, RELEASE_ACCEPTED, RETRIEVED_UPDATES,
};
use lockstep_api::names::{object as well_known, reason};
use lockstep_api::object;
use serde_json::Value;

use super::super::concerns::Concerns;
use super::super::facts::{Facts, parse};
use super::super::phase::{IS, S, U, US};
use super::super::resource::{CLUSTER_OPERATORS, CLUSTER_VERSIONS, POOLS};
use super::super::rule::{Confidence, Hit, Layer, Level, Rule};
use super::super::words::says;
use super::with;
use crate::facts::{Condition, is_true, list, text};

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "V01",
        layer: Layer::Release,
        title: "Release not verified",
        phases: U,
        level: Level::Error,
        confidence: Confidence::Sure,
        signals: "ReleaseAccepted=False with RetrievePayload and `The update cannot be verified`",
        why: "No signature of a known key was found for the digest that is asked for.",
        remedy: "for a disconnected cluster apply the signature ConfigMaps; ask by digest; force only in tests",
        hides: &["V07", "V02"],
        check: not_verified,
    },
    Rule {
        id: "V02",
        layer: Layer::Release,
        title: "Release cannot be loaded",
        phases: U,
        level: Level::Error,
        confidence: Confidence::Sure,
        signals: "ReleaseAccepted=False with RetrievePayload and a download error, LoadPayload or VerifyPayloadVersion",
        why: "The release could not be fetched, has broken manifests, or is of another version than asked for.",
        remedy: "by reason: look at the image and its registry, lint the release, or correct spec.desiredUpdate",
        hides: &["V07"],
        check: not_loaded,
    },
    Rule {
        id: "V03",
        layer: Layer::Release,
        title: "Preconditions block the update",
        phases: U,
        level: Level::Error,
        confidence: Confidence::Sure,
        signals: "ReleaseAccepted=False with PreconditionChecks",
        why: "Something that must hold before an update does not hold.",
        remedy: "resolve the reason that the message names, or acknowledge it in the admin-acks ConfigMap",
        hides: &["V07"],
        check: preconditions,
    },
    Rule {
        id: "V04",
        layer: Layer::Release,
        title: "Overrides are set",
        phases: US,
        level: Level::Warning,
        confidence: Confidence::Sure,
        signals: "spec.overrides has entries with unmanaged: true",
        why: "What is overridden is left alone, and minor updates are blocked; installers forget them sometimes.",
        remedy: "remove the overrides",
        hides: &[],
        check: overrides,
    },
    Rule {
        id: "V05",
        layer: Layer::Release,
        title: "ClusterVersion invalid",
        phases: US,
        level: Level::Error,
        confidence: Confidence::Sure,
        signals: "Invalid=True",
        why: "The spec cannot be used, so the cluster stays at what it was.",
        remedy: "correct the field that the message names",
        hides: &["V07", "V06"],
        check: invalid,
    },
    Rule {
        id: "V06",
        layer: Layer::Release,
        title: "Updates not retrieved",
        phases: S,
        level: Level::Info,
        confidence: Confidence::Sure,
        signals: "RetrievedUpdates=False",
        why: "The update service was not asked or did not answer; nothing that runs depends on it.",
        remedy: "set the channel, the upstream or the proxy",
        hides: &[],
        check: no_updates,
    },
    Rule {
        id: "V07",
        layer: Layer::Release,
        title: "Update stalled",
        phases: U,
        level: Level::Error,
        confidence: Confidence::Hint,
        signals: "the ClusterVersion is progressing, its message has not changed for 30 minutes, and no other rule says why",
        why: "Nothing of the release was applied for half an hour.",
        remedy: "look at what it waits on, and at its log",
        hides: &[],
        check: stalled,
    },
    Rule {
        id: "V08",
        layer: Layer::Release,
        title: "Control plane done, nodes outdated",
        phases: U,
        level: Level::Info,
        confidence: Confidence::Sure,
        signals: "the release is completed and a machine config pool is not updated",
        why: "Nodes follow one by one after the release itself.",
        remedy: "wait, or look at the pool: degraded, paused or blocked",
        hides: &[],
        check: nodes_outdated,
    },
    Rule {
        id: "V09",
        layer: Layer::Release,
        title: "Previous update never completed",
        phases: U,
        level: Level::Warning,
        confidence: Confidence::Sure,
        signals: "the second entry of the history is Partial",
        why: "The cluster moved on before everything had the version before.",
        remedy: "finish one update before the next; versions may be further apart than supported",
        hides: &[],
        check: previous_partial,
    },
    Rule {
        id: "V10",
        layer: Layer::Release,
        title: "Capabilities are not what was expected",
        phases: IS,
        level: Level::Info,
        confidence: Confidence::Sure,
        signals: "an operator is absent whose capability is not enabled, or ImplicitlyEnabledCapabilities=True",
        why: "An operator of a disabled capability is rightly absent; a capability that is in use cannot be disabled.",
        remedy: "enable the capability, or expect its operator no longer",
        hides: &["O01"],
        check: capabilities,
    },
];

fn on_version(condition: &Condition<'_>) -> Hit {
    with(Hit::named(CLUSTER_VERSIONS, "", well_known::VERSION), condition)
}

/// The refusal of a release, for one reason.
fn refusal<'a>(facts: &Facts<'a>, reasons: &[&str]) -> Option<Condition<'a>> {
    facts.of_version(RELEASE_ACCEPTED).filter(|it| it.is_false() && reasons.contains(&it.reason))
}

fn is_unverified(condition: &Condition<'_>) -> bool {
    says(condition.message, &["cannot be verified"])
}

fn not_verified(facts: &Facts<'_>) -> Vec<Hit> {
    let found = refusal(facts, &[reason::RETRIEVE_PAYLOAD]).filter(is_unverified);
    let hit = |it: Condition<'_>| {
        on_version(&it)
            .concerning(Concerns::version())
            .fix("kubectl -n openshift-config-managed get configmaps -l release.openshift.io/verification-signatures")
            .fix("oc adm upgrade --to-image <release>@sha256:<digest>   # by digest; --force only in tests")
    };
    found.map(hit).into_iter().collect()
}

fn not_loaded(facts: &Facts<'_>) -> Vec<Hit> {
    let reasons = [reason::RETRIEVE_PAYLOAD, reason::LOAD_PAYLOAD, reason::VERIFY_PAYLOAD_VERSION];
    let Some(found) = refusal(facts, &reasons).filter(|it| !is_unverified(it)) else { return Vec::new() };
    let hit = on_version(&found).concerning(Concerns::version());
    vec![match found.reason {
        reason::LOAD_PAYLOAD => hit.fix("lockstep lint <release>"),
        reason::VERIFY_PAYLOAD_VERSION => hit.fix("kubectl get clusterversion version -o jsonpath='{.spec.desiredUpdate}'   # version and image must belong together"),
        _ => hit.fix("lockstep release info <release>").fix("kubectl -n openshift-cluster-version get pods"),
    }]
}

fn preconditions(facts: &Facts<'_>) -> Vec<Hit> {
    let found = refusal(facts, &[reason::PRECONDITION_CHECKS]);
    let hit = |it: Condition<'_>| {
        on_version(&it)
            .concerning(Concerns::version())
            .fix("kubectl get clusterversion version -o jsonpath='{.status.conditions[?(@.type==\"Upgradeable\")].message}'")
            .fix("kubectl -n openshift-config patch configmap admin-acks --type=merge -p '{\"data\":{\"<gate>\":\"true\"}}'   # when it asks for an acknowledgement")
    };
    found.map(hit).into_iter().collect()
}

fn overrides(facts: &Facts<'_>) -> Vec<Hit> {
    let entries = list(&facts.version()["spec"]["overrides"]);
    let unmanaged: Vec<String> = entries
        .iter()
        .filter(|it| it["unmanaged"] == true)
        .map(|it| format!("{} {}/{}", text(&it["kind"]), text(&it["namespace"]), text(&it["name"])))
        .collect();
    if unmanaged.is_empty() {
        return Vec::new();
    }
    vec![
        Hit::named(CLUSTER_VERSIONS, "", well_known::VERSION)
            .line(format!("{} objects are not managed: {}", unmanaged.len(), unmanaged.join(", ")))
            .fix("kubectl patch clusterversion version --type=merge -p '{\"spec\":{\"overrides\":null}}'"),
    ]
}

fn invalid(facts: &Facts<'_>) -> Vec<Hit> {
    let found = facts.of_version(INVALID).filter(Condition::is_true);
    let hit = |it: Condition<'_>| {
        on_version(&it)
            .concerning(Concerns::version())
            .fix("kubectl edit clusterversion version   # the field that the message names")
    };
    found.map(hit).into_iter().collect()
}

fn no_updates(facts: &Facts<'_>) -> Vec<Hit> {
    let found = facts.of_version(RETRIEVED_UPDATES).filter(Condition::is_false);
    let hit = |it: Condition<'_>| {
        on_version(&it)
            .fix("oc adm upgrade channel <channel>")
            .fix("kubectl get clusterversion version -o jsonpath='{.spec.upstream}'")
    };
    found.map(hit).into_iter().collect()
}

fn stalled(facts: &Facts<'_>) -> Vec<Hit> {
    let Some(progressing) = facts.of_version(PROGRESSING).filter(Condition::is_true) else {
        return Vec::new();
    };
    let newest = list(&facts.version()["status"]["history"]).first();
    let began = newest.map_or("", |it| text(&it["startedTime"]));
    // The count of done manifests has no time of its own; whoever watches tells when it last moved.
    let moves = facts
        .snapshot
        .observed
        .get(well_known::VERSION)
        .and_then(|seen| seen.last())
        .map(|it| it.at.to_string());
    let since = moves.as_deref().unwrap_or(began);
    if began.is_empty() || !facts.is_older(since, 30 * 60) {
        return Vec::new();
    }
    vec![
        on_version(&progressing)
            .since(parse(since))
            .concerning(Concerns::version())
            .fix("lockstep status")
            .fix("kubectl -n openshift-cluster-version logs deployment/cluster-version-operator --tail=50"),
    ]
}

fn nodes_outdated(facts: &Facts<'_>) -> Vec<Hit> {
    let newest = list(&facts.version()["status"]["history"]).first();
    let is_done = newest.is_some_and(|it| text(&it["state"]) == "Completed")
        && facts.of_version(PROGRESSING).is_some_and(|it| it.is_false());
    let outdated = facts.all(POOLS).iter().filter(|pool| is_done && !is_true(pool, "Updated"));
    outdated
        .map(|pool| {
            let (name, status) = (object::name(pool), &pool["status"]);
            let degraded = facts.nodes().iter().filter(|node| super::machines::is_degraded(node)).count();
            Hit::on(POOLS, pool)
                .concerning(Concerns::default().pool(name))
                .line(format!(
                    "{} of {} nodes are updated, {degraded} degraded",
                    status["updatedMachineCount"], status["machineCount"]
                ))
                .fix(format!("kubectl get mcp {name}; kubectl get nodes -w"))
        })
        .collect()
}

fn previous_partial(facts: &Facts<'_>) -> Vec<Hit> {
    let history = list(&facts.version()["status"]["history"]);
    let Some(previous) = history.get(1).filter(|it| text(&it["state"]) == "Partial") else {
        return Vec::new();
    };
    let last =
        history.iter().find(|it| text(&it["state"]) == "Completed").map_or("none", |it| text(&it["version"]));
    vec![
        Hit::named(CLUSTER_VERSIONS, "", well_known::VERSION)
            .since(parse(text(&previous["startedTime"])))
            .line(format!(
                "the update to {} never completed; the last complete one was {last}",
                text(&previous["version"])
            ))
            .fix("lockstep status   # let this update finish before the next one"),
    ]
}

fn capabilities(facts: &Facts<'_>) -> Vec<Hit> {
    let version = facts.version();
    let enabled = list(&version["status"]["capabilities"]["enabledCapabilities"]);
    let is_enabled = |capability: &str| enabled.iter().any(|it: &Value| text(it) == capability);
    let mut hits = Vec::new();
    for expected in facts.snapshot.payload.iter().flat_map(|payload| &payload.operators) {
        let is_absent = !facts.operators.contains_key(expected.name.as_str());
        if is_absent && !expected.capability.is_empty() && !is_enabled(&expected.capability) {
            let hit = Hit::named(CLUSTER_OPERATORS, "", &expected.name)
                .concerning(Concerns::of_operator(&expected.name));
            let hit = hit.line(format!(
                "operator {} belongs to capability {}, which is not enabled",
                expected.name, expected.capability
            ));
            hits.push(hit.fix(format!("kubectl patch clusterversion version --type=merge -p '{{\"spec\":{{\"capabilities\":{{\"additionalEnabledCapabilities\":[\"{}\"]}}}}}}'   # only when you want it", expected.capability)));
        }
    }
    if let Some(implied) = facts.of_version(IMPLICITLY_ENABLED_CAPABILITIES).filter(Condition::is_true) {
        hits.push(
            on_version(&implied)
                .confidence(Confidence::Sure)
                .fix("kubectl get clusterversion version -o jsonpath='{.status.capabilities}'"),
        );
    }
    hits
}
