//! Why a workload does not come up: what its Pods and the events about them show.

use std::cmp::Reverse;

use lockstep_api::names::{kind, reason};
use lockstep_api::object;
use serde_json::{Map, Value};

use crate::facts::{called, list, text};
use crate::pod::{self, Depth, Trouble};
use crate::{Why, of};

/// The deepest cause why a workload is not well, if its Pods or the events show one.
///
/// `owner` is a Deployment, `DaemonSet`, `StatefulSet` or Job; of `pods` and `events`, which may be those of the whole
/// namespace, only what belongs to it is looked at; like the
/// entries of a list they need not name their kind. `None` for a workload that is well, and when nothing is to be seen.
///
/// *Order*: the kind of trouble decides first, in the order of a list from "cannot be had" to "still starting"; among
/// Pods with the same, the newest, then the first by name. Only when no Pod has a trouble: why none could be created.
pub fn workload(owner: &Value, pods: &[Value], events: &[Value]) -> Option<Why> {
    if of(owner).is_good() {
        return None;
    }
    let mine = |pod: &&Value| belongs(owner, pod);
    pods.iter()
        .filter(mine)
        .filter(|pod| pod["metadata"]["deletionTimestamp"].is_null())
        .filter_map(|pod| Some((with_events(pod, pod::trouble(pod)?, events), pod)))
        .min_by_key(|(trouble, pod)| {
            let created = text(&pod["metadata"]["creationTimestamp"]);
            (trouble.depth, Reverse(created), object::name(pod))
        })
        .map(|(trouble, _)| trouble.why)
        .or_else(|| not_created(owner, events))
}

/// Whether a Pod is of a workload: owned by it, or chosen by its selector, since a Deployment owns through another.
fn belongs(owner: &Value, pod: &Value) -> bool {
    if object::namespace(owner) != object::namespace(pod) {
        return false;
    }
    let uid = text(&owner["metadata"]["uid"]);
    let is_owned = !uid.is_empty()
        && list(&pod["metadata"]["ownerReferences"]).iter().any(|owner| text(&owner["uid"]) == uid);
    is_owned || is_selected(&owner["spec"]["selector"], &pod["metadata"]["labels"])
}

/// Whether a selector chooses an object with these labels; an empty one chooses nothing, because no workload has one.
fn is_selected(selector: &Value, labels: &Value) -> bool {
    let none = Map::new();
    let wanted = selector["matchLabels"].as_object().unwrap_or(&none);
    let rules = list(&selector["matchExpressions"]);
    if wanted.is_empty() && rules.is_empty() {
        return false;
    }
    wanted.iter().all(|(key, value)| labels.get(key) == Some(value))
        && rules.iter().all(|rule| {
            let label = labels.get(text(&rule["key"]));
            let is_listed = label.is_some_and(|label| list(&rule["values"]).contains(label));
            match text(&rule["operator"]) {
                "In" => is_listed,
                "NotIn" => !is_listed,
                "Exists" => label.is_some(),
                "DoesNotExist" => label.is_none(),
                _ => false,
            }
        })
}

// === events ===

/// The same trouble, with what only events tell.
fn with_events(pod: &Value, trouble: Trouble, events: &[Value]) -> Trouble {
    let latest = |reasons: &[&str], start: &str| {
        latest(events, |event| {
            is_about(event, kind::POD, pod)
                && reasons.contains(&text(&event["reason"]))
                && message(event).starts_with(start)
        })
    };
    match (trouble.depth, &trouble.silent_pull) {
        (Depth::Image, Some((container, image))) => {
            // NB: a Pod may pull several images; the text quotes the one that it is about.
            match latest(&["Failed"], &format!("Failed to pull image \"{image}\"")) {
                Some(event) => {
                    let told = message(event);
                    let told = told.split_once("\": ").map_or(told, |(_, cause)| cause);
                    let sentence = pod::cannot_pull(pod, container, image, told);
                    Trouble::new(Depth::Image, reason::IMAGE_PULL_BACK_OFF, sentence)
                }
                None => trouble,
            }
        }
        (Depth::Starting, _) => {
            let start = ["FailedMount", "FailedAttachVolume", "FailedCreatePodSandBox", "FailedMapVolume"];
            match latest(&start, "") {
                Some(event) => {
                    let why = text(&event["reason"]);
                    let sentence =
                        format!("{} cannot start: {why}: {}", pod::called(pod), pod::steady(message(event)));
                    Trouble::new(Depth::Start, why, sentence)
                }
                None => trouble,
            }
        }
        (Depth::Readiness, _) => match latest(&["Unhealthy"], "") {
            Some(event) => {
                let sentence =
                    format!("{} runs but is not ready: {}", pod::called(pod), pod::steady(message(event)));
                Trouble::new(Depth::Readiness, reason::NOT_READY, sentence)
            }
            None => trouble,
        },
        _ => trouble,
    }
}

/// Why no Pod could be created, by an event about the workload or about a `ReplicaSet` of its name.
fn not_created(owner: &Value, events: &[Value]) -> Option<Why> {
    let event = latest(events, |event| {
        text(&event["reason"]) == reason::FAILED_CREATE
            && (is_about(event, object::kind(owner), owner) || is_about_set_of(event, owner))
    })?;
    let sentence = format!("{} cannot create its Pods: {}", called(owner), pod::steady(message(event)));
    Some(Why { reason: reason::FAILED_CREATE.to_owned(), sentence })
}

/// The newest event that fits; the first by name of several.
fn latest(events: &[Value], fits: impl Fn(&Value) -> bool) -> Option<&Value> {
    events
        .iter()
        .filter(|event| fits(event))
        .min_by_key(|event| (Reverse(time(event)), object::name(event), message(event)))
}

/// The object that an event is about, in the old and the new form of events.
fn subject(event: &Value) -> &Value {
    if event["involvedObject"].is_object() { &event["involvedObject"] } else { &event["regarding"] }
}

fn message(event: &Value) -> &str {
    match text(&event["message"]) {
        "" => text(&event["note"]),
        message => message,
    }
}

/// When an event was last seen, from whichever field has it; to the second, which every form of it has.
fn time(event: &Value) -> &str {
    let times = [
        &event["series"]["lastObservedTime"],
        &event["lastTimestamp"],
        &event["deprecatedLastTimestamp"],
        &event["eventTime"],
        &event["metadata"]["creationTimestamp"],
    ];
    let time = times.into_iter().map(text).find(|time| !time.is_empty()).unwrap_or_default();
    time.get(..19).unwrap_or(time)
}

/// Whether an event is about an object; by its UID where both have one, so that a namesake's events do not count.
fn is_about(event: &Value, kind: &str, object: &Value) -> bool {
    let subject = subject(event);
    let (theirs, ours) = (text(&subject["uid"]), text(&object["metadata"]["uid"]));
    text(&subject["kind"]) == kind
        && text(&subject["name"]) == object::name(object)
        && text(&subject["namespace"]) == object::namespace(object)
        && (theirs.is_empty() || ours.is_empty() || theirs == ours)
}

/// Whether an event is about a `ReplicaSet` of a Deployment: they are called as it is, with one more part.
fn is_about_set_of(event: &Value, owner: &Value) -> bool {
    let subject = subject(event);
    let hash =
        text(&subject["name"]).strip_prefix(object::name(owner)).and_then(|rest| rest.strip_prefix('-'));
    object::kind(owner) == kind::DEPLOYMENT
        && text(&subject["kind"]) == "ReplicaSet"
        && text(&subject["namespace"]) == object::namespace(owner)
        && hash.is_some_and(|hash| !hash.is_empty() && !hash.contains('-'))
}

#[cfg(test)]
#[path = "diagnosis_tests.rs"]
mod tests;
