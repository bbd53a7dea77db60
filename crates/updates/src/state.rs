//! How a cluster and its updates are, in words: what `lockstep upgrade` prints.

use std::fmt::Write as _;

use lockstep_api::names::{annotation, condition};
use lockstep_api::{ClusterVersion, Condition};

use crate::ask::{entry_name, on_its_way};

/// How many entries of the history are told.
const HISTORY: usize = 5;

/// Whether the operator was told to start nothing new, and why; the reason may be empty.
pub fn pause(version: &ClusterVersion) -> Option<&str> {
    let annotations = &version.metadata.annotations;
    let is_paused = annotations.get(annotation::PAUSED).is_some_and(|value| value == "true");
    is_paused.then(|| annotations.get(annotation::PAUSE_REASON).map(String::as_str).unwrap_or_default())
}

/// Everything worth telling.
///
/// *Order*: where the cluster is or goes, what is wrong, pause, history, channel, updates.
pub fn text(version: &ClusterVersion) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = tell(version, &mut text);
    text
}

fn tell(version: &ClusterVersion, out: &mut String) -> std::fmt::Result {
    let status = &version.status;
    let find = |kind| status.conditions.find(kind);
    match (on_its_way(version), status.last_completed()) {
        (Some((from, to)), _) => writeln!(out, "An update is in progress: {from} -> {to}"),
        (None, Some(entry)) => writeln!(out, "Cluster version is {}", entry_name(entry)),
        (None, None) => {
            writeln!(out, "Nothing is known of the cluster's version: no operator has reported yet")
        }
    }?;
    if on_its_way(version).is_some() {
        line(out, "", find(condition::PROGRESSING))?;
    }
    for (kind, sentence, when) in [
        (condition::INVALID, "The ClusterVersion is invalid", true),
        (condition::FAILING, "The cluster is failing", true),
        (condition::RELEASE_ACCEPTED, "The release that is asked for is not accepted", false),
        (
            condition::UPGRADEABLE,
            "Only updates within the minor version are possible (Upgradeable=False)",
            false,
        ),
        (condition::RETRIEVED_UPDATES, "Updates could not be looked up", false),
    ] {
        let told = find(kind).filter(|it| if when { it.is_true() } else { it.is_false() });
        line(out, sentence, told)?;
    }
    match pause(version) {
        Some("") => writeln!(out, "Paused: nothing new starts until `lockstep upgrade resume`"),
        Some(reason) => {
            writeln!(out, "Paused ({reason}): nothing new starts until `lockstep upgrade resume`")
        }
        None => Ok(()),
    }?;
    if !status.history.is_empty() {
        writeln!(out, "\nHistory:")?;
        for entry in status.history.iter().take(HISTORY) {
            let verified = if entry.verified { "" } else { ", not verified" };
            writeln!(
                out,
                "  {:<10} {}  since {}{verified}",
                entry.state.to_string(),
                entry_name(entry),
                entry.started_time
            )?;
        }
    }
    updates(version, out)
}

fn updates(version: &ClusterVersion, out: &mut String) -> std::fmt::Result {
    let status = &version.status;
    let channel = if version.spec.channel.is_empty() {
        "none, so no updates are looked up"
    } else {
        &version.spec.channel
    };
    writeln!(out, "\nChannel: {channel}")?;
    let available: Vec<_> = status.available_updates.iter().flatten().collect();
    if available.is_empty() {
        writeln!(
            out,
            "No updates are known. A release can be asked for by its pull spec: lockstep upgrade to NAME@sha256:…"
        )?;
    } else {
        writeln!(out, "Updates:")?;
        for release in available {
            writeln!(out, "  {}  {}", release.version, release.image)?;
        }
    }
    for update in &status.conditional_updates {
        let recommended = update.conditions.find(condition::RECOMMENDED);
        if recommended.is_none_or(|it| !it.is_true()) {
            let why = recommended.map(|it| it.message.as_str()).unwrap_or_default();
            writeln!(out, "  {}  not recommended: {}", update.release.version, why.replace('\n', " "))?;
        }
    }
    Ok(())
}

/// A condition in one paragraph; nothing where there is none.
fn line(out: &mut String, sentence: &str, condition: Option<&Condition>) -> std::fmt::Result {
    let Some(Condition { reason, message, .. }) = condition else { return Ok(()) };
    let message = message.trim_end().replace('\n', "\n  ");
    match (sentence, reason.as_str()) {
        ("", _) => writeln!(out, "{message}"),
        (sentence, "") => writeln!(out, "{sentence}: {message}"),
        (sentence, reason) => writeln!(out, "{sentence}: {reason}: {message}"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_cluster_under_way_tells_what_it_does_and_what_is_wrong() {
        let condition = |kind: &str, status: &str, reason: &str, message: &str| json!({"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": "2026-01-01T00:00:00Z"});
        let version: ClusterVersion = serde_json::from_value(json!({
            "apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion",
            "metadata": {"name": "version", "annotations": {"lockstep.dev/paused": "true", "lockstep.dev/pause-reason": "the fair"}},
            "spec": {"clusterID": "", "channel": "stable-4.1"},
            "status": {
                "desired": {"version": "4.1.2", "image": "i2"},
                "history": [
                    {"state": "Partial", "startedTime": "2026-01-02T00:00:00Z", "version": "4.1.2", "image": "i2"},
                    {"state": "Completed", "startedTime": "2026-01-01T00:00:00Z", "version": "4.1.1", "image": "i1", "verified": true}],
                "conditions": [
                    condition("Progressing", "True", "", "Working towards 4.1.2: 3 of 9 done (33% complete)"),
                    condition("Failing", "True", "ClusterOperatorDegraded", "Cluster operator dns is degraded"),
                    condition("Upgradeable", "False", "AdminAckRequired", "acknowledge it")],
                "availableUpdates": [{"version": "4.1.3", "image": "i3"}],
                "conditionalUpdates": [{"release": {"version": "4.1.4", "image": "i4"}, "risks": [],
                    "conditions": [condition("Recommended", "False", "Slow", "it is\nslow")]}]}}))
        .unwrap();
        assert_eq!(
            text(&version),
            "An update is in progress: 4.1.1 -> 4.1.2\n\
             Working towards 4.1.2: 3 of 9 done (33% complete)\n\
             The cluster is failing: ClusterOperatorDegraded: Cluster operator dns is degraded\n\
             Only updates within the minor version are possible (Upgradeable=False): AdminAckRequired: acknowledge it\n\
             Paused (the fair): nothing new starts until `lockstep upgrade resume`\n\
             \nHistory:\n\
             \x20 Partial    4.1.2  since 2026-01-02T00:00:00Z, not verified\n\
             \x20 Completed  4.1.1  since 2026-01-01T00:00:00Z\n\
             \nChannel: stable-4.1\n\
             Updates:\n\
             \x20 4.1.3  i3\n\
             \x20 4.1.4  not recommended: it is slow\n"
        );
    }

    #[test]
    fn a_cluster_nobody_has_reported_of_is_told_so() {
        let text = text(&ClusterVersion::new("version"));
        assert!(text.starts_with("Nothing is known") && text.contains("Channel: none"), "{text}");
    }
}
