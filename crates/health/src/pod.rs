//! Pods: the place where causes show.

use std::fmt::Write as _;

use lockstep_api::names::{condition, kind, reason};
use lockstep_api::text::visible;
use serde_json::Value;

use crate::facts::{Condition, cause, count, is_true, list, one_line, path, text};
use crate::{Verdict, Why, deletion};

/// What is wrong with one Pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Trouble {
    pub(crate) depth: Depth,
    pub(crate) why: Why,
    /// Whether the node has given up, so that waiting does not help.
    is_final: bool,
    /// The container and its image, when the image is the trouble and the node does not say what the matter is.
    pub(crate) silent_pull: Option<(String, String)>,
}

/// How much a trouble explains; of several the first in this order is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Depth {
    /// An image cannot be had.
    Image,
    /// A container cannot be made: a `ConfigMap` or Secret is missing, the command does not exist.
    Config,
    /// A container ends again and again.
    Crash,
    /// No node fits.
    Scheduling,
    /// The Pod has a node and cannot start there; only events tell it.
    Start,
    /// The Pod ended without success.
    Failed,
    /// It runs, but its readiness probe says no.
    Readiness,
    /// Nothing is wrong so far.
    Starting,
}

/// A Pod is well when it is ready or has succeeded, and bad when it failed.
///
/// What the node tries again and again (pulling, crashing, a missing `ConfigMap`) is *not yet*: it ends when somebody
/// mends the cause, and an event tells it.
pub(crate) fn of(pod: &Value) -> Verdict {
    let trouble = trouble(pod);
    match (deletion::verdict(pod), trouble) {
        (_, Some(Trouble { why, is_final: true, .. })) => Verdict::Bad(why),
        (Some(deleted), _) if text(&pod["status"]["phase"]) != "Succeeded" => deleted,
        (_, Some(Trouble { why, .. })) => Verdict::NotYet(why),
        (_, None) => Verdict::Good,
    }
}

/// `Pod ns/name`; without asking for the kind, which entries of a list do not have.
pub(crate) fn called(pod: &Value) -> String {
    format!("{} {}", kind::POD, path(pod))
}

/// What is wrong with a Pod; `None` when it is ready or has succeeded.
///
/// *Order*: as a Pod lives. It ends, or gets a node, its images, its containers, its readiness.
pub(crate) fn trouble(pod: &Value) -> Option<Trouble> {
    match text(&pod["status"]["phase"]) {
        "Succeeded" => return None,
        "Failed" => return Some(failed(pod)),
        _ if is_true(pod, condition::READY) => return None,
        _ => {}
    }
    unschedulable(pod).or_else(|| of_containers(pod)).or_else(|| Some(not_ready(pod)))
}

/// The sentence for an image that cannot be had.
pub(crate) fn cannot_pull(pod: &Value, container: &str, image: &str, message: &str) -> String {
    let mut sentence =
        format!("{} cannot pull image {} for container {}", called(pod), visible(image), visible(container));
    if !message.trim().is_empty() {
        let _ = write!(sentence, ": {}", steady(message));
    }
    sentence + "; check the image name and the pull secret"
}

/// A text of a node, without what differs at every try: long identifiers of containers and sandboxes.
///
/// Digests of images stay, they are the point.
pub(crate) fn steady(text: &str) -> String {
    let is_hex = |character: char| character.is_ascii_hexdigit();
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(is_hex) {
        let length = rest[start..].find(|character| !is_hex(character)).unwrap_or(rest.len() - start);
        let (before, run) = (&rest[..start], &rest[start..start + length]);
        kept.push_str(before);
        kept.push_str(if length >= 32 && !kept.ends_with("sha256:") { "…" } else { run });
        rest = &rest[start + length..];
    }
    kept.push_str(rest);
    one_line(&kept)
}

impl Trouble {
    pub(crate) fn new(depth: Depth, reason: &str, sentence: String) -> Self {
        let why = Why { reason: one_line(reason), sentence };
        Self { depth, why, is_final: false, silent_pull: None }
    }
}

// === one container ===

/// A container's status, with what its spec says.
struct Container<'a> {
    status: &'a Value,
    spec: &'a Value,
    is_init: bool,
}

/// All containers, in the order in which they start.
fn containers(pod: &Value) -> impl Iterator<Item = Container<'_>> {
    [("initContainerStatuses", "initContainers", true), ("containerStatuses", "containers", false)]
        .into_iter()
        .flat_map(move |(statuses, specs, is_init)| {
            list(&pod["status"][statuses]).iter().map(move |status| {
                let name = text(&status["name"]);
                let spec = list(&pod["spec"][specs]).iter().find(|spec| text(&spec["name"]) == name);
                Container { status, spec: spec.unwrap_or(&Value::Null), is_init }
            })
        })
}

/// The deepest trouble of all containers; the first one of those that are equal.
fn of_containers(pod: &Value) -> Option<Trouble> {
    containers(pod)
        .filter_map(|container| container.trouble(pod))
        .min_by_key(|trouble| (trouble.depth, trouble.silent_pull.is_some()))
}

impl Container<'_> {
    fn name(&self) -> &str {
        text(&self.status["name"])
    }

    /// As the spec writes it; a status may have a resolved or empty one.
    fn image(&self) -> &str {
        match text(&self.spec["image"]) {
            "" => text(&self.status["image"]),
            image => image,
        }
    }

    fn called(&self) -> String {
        let kind = if self.is_init { "init container" } else { "container" };
        format!("{kind} {}", visible(self.name()))
    }

    fn trouble(&self, pod: &Value) -> Option<Trouble> {
        let waiting = &self.status["state"]["waiting"];
        let (why, message) = (text(&waiting["reason"]), text(&waiting["message"]));
        match why {
            // NB: a node goes back and forth between the two; one reason and one text for both, or every try is news.
            "ErrImagePull" | "ImagePullBackOff" => Some(self.pull(pod, message)),
            "InvalidImageName" | "ErrImageNeverPull" => {
                let sentence = cannot_pull(pod, self.name(), self.image(), &cause(why, message));
                Some(Trouble { is_final: true, ..Trouble::new(Depth::Image, why, sentence) })
            }
            "ImageInspectError" | "RegistryUnavailable" | reason::SIGNATURE_VALIDATION_FAILED => {
                let sentence = cannot_pull(pod, self.name(), self.image(), &cause(why, message));
                Some(Trouble::new(Depth::Image, why, sentence))
            }
            "CrashLoopBackOff" => Some(self.crash(pod)),
            "" | "ContainerCreating" | "PodInitializing" => self.ended_before(pod),
            // CreateContainerConfigError, CreateContainerError, RunContainerError and whatever a node calls it.
            _ => {
                let sentence = format!(
                    "{} cannot create {}: {}",
                    called(pod),
                    self.called(),
                    cause(why, &steady(message))
                );
                Some(Trouble::new(Depth::Config, why, sentence))
            }
        }
    }

    fn pull(&self, pod: &Value, message: &str) -> Trouble {
        let told = match message.strip_prefix("Back-off pulling image") {
            None => message,
            Some(rest) => rest.split_once("ErrImagePull: ").map_or("", |(_, cause)| cause),
        };
        let sentence = cannot_pull(pod, self.name(), self.image(), told);
        let silent = told.trim().is_empty().then(|| (self.name().to_owned(), self.image().to_owned()));
        Trouble { silent_pull: silent, ..Trouble::new(Depth::Image, reason::IMAGE_PULL_BACK_OFF, sentence) }
    }

    /// A container that is not ready and has ended badly before; between two crashes it runs for a moment.
    fn ended_before(&self, pod: &Value) -> Option<Trouble> {
        let ended_badly = |state: &str| count(&self.status[state]["terminated"]["exitCode"]) != 0;
        let crashed = ended_badly("state")
            || ended_badly("lastState")
                && self.status["ready"] != true
                && !self.status["state"]["terminated"].is_object();
        crashed.then(|| self.crash(pod))
    }

    fn crash(&self, pod: &Value) -> Trouble {
        let sentence = format!("{}: {} does not stay up{}", called(pod), self.called(), self.ending(": it"));
        Trouble::new(Depth::Crash, reason::CRASH_LOOP_BACK_OFF, sentence)
    }

    /// How the container ended, and where to look.
    ///
    /// NB: neither the count of restarts nor the length of the back-off is told: they differ at every try.
    fn ending(&self, subject: &str) -> String {
        let terminated = |state: &str| &self.status[state]["terminated"];
        let ended =
            if terminated("state").is_object() { terminated("state") } else { terminated("lastState") };
        let mut told = String::new();
        let why = text(&ended["reason"]);
        if ended.is_object() {
            let _ = write!(told, "{subject} ended with exit code {}", count(&ended["exitCode"]));
            if !why.is_empty() {
                let _ = write!(told, " ({})", visible(why));
            }
            // A message is often the end of the log; its last line is the one that counts.
            if let Some(last) = text(&ended["message"]).lines().rfind(|line| !line.trim().is_empty()) {
                let _ = write!(told, ": {}", steady(last));
            }
        }
        told += match why {
            "OOMKilled" => "; it needs more memory than its limit",
            _ => "; its log says why",
        };
        told
    }
}

// === the whole Pod ===

fn failed(pod: &Value) -> Trouble {
    let status = &pod["status"];
    let mut sentence = format!("{} failed", called(pod));
    if !text(&status["reason"]).is_empty() || !text(&status["message"]).is_empty() {
        let _ = write!(sentence, ": {}", cause(text(&status["reason"]), text(&status["message"])));
    }
    let ended =
        containers(pod).find(|container| count(&container.status["state"]["terminated"]["exitCode"]) != 0);
    if let Some(container) = ended {
        let _ = write!(sentence, ": {}{}", container.called(), container.ending(""));
    }
    let why = match text(&status["reason"]) {
        "" => reason::POD_FAILED,
        why => why,
    };
    Trouble { is_final: true, ..Trouble::new(Depth::Failed, why, sentence) }
}

fn unschedulable(pod: &Value) -> Option<Trouble> {
    let scheduled = Condition::find(pod, condition::POD_SCHEDULED).filter(Condition::is_false)?;
    let why = if scheduled.reason.is_empty() { reason::UNSCHEDULABLE } else { scheduled.reason };
    let sentence = format!("{} finds no node: {}", called(pod), scheduled.cause());
    Some(Trouble::new(Depth::Scheduling, why, sentence))
}

fn not_ready(pod: &Value) -> Trouble {
    let runs = |container: &Container<'_>| container.status["state"]["running"].is_object();
    // A sidecar is an init container that is meant to go on running.
    let initialising = containers(pod).find(|container| {
        container.is_init && runs(container) && text(&container.spec["restartPolicy"]) != "Always"
    });
    let (mut all, mut running) = (0, 0);
    for container in containers(pod).filter(|container| !container.is_init) {
        all += 1;
        running += usize::from(runs(&container));
    }
    if let Some(container) = initialising {
        let sentence = format!("{} is starting: its {} is still running", called(pod), container.called());
        return Trouble::new(Depth::Starting, reason::POD_STARTING, sentence);
    }
    if running < all || all == 0 {
        let sentence = format!("{} is starting: {running} of {all} containers are running", called(pod));
        return Trouble::new(Depth::Starting, reason::POD_STARTING, sentence);
    }
    let told = Condition::find(pod, condition::READY)
        .map_or_else(|| "it does not report the condition Ready".to_owned(), |ready| ready.cause());
    let sentence = format!("{} runs but is not ready: {told}", called(pod));
    Trouble::new(Depth::Readiness, reason::NOT_READY, sentence)
}

#[cfg(test)]
#[path = "pod_tests.rs"]
mod tests;
