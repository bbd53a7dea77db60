//! What other managers added to an object where the release alone decides, as removals.
//!
//! Server-side apply leaves what others own: it cannot remove a container that somebody added. Removed here is what the
//! reference removes and nothing else: items of the lists that it keeps exclusive, and for kinds that it treats as a
//! whole everything in their spec. Single fields of the other kinds are cleared by their own rules.
//!
//! *Compatibility*: labels, annotations, keys of config maps, finalizers, owner references, startup probes, pull secrets,
//! host aliases, pull policies, node selectors and tolerations of others stay, as in the reference.

use lockstep_api::names::{annotation, group, kind};
use lockstep_api::object;
use serde_json::{Map, Value};

use super::adopt::is_predecessor;
use super::fields::{self, Entry, Node, keys, members};
use super::patch::{PatchOperation, in_safe_order};
use super::path::{Path, Step, has_key};
use crate::{FIELD_MANAGER, merge};

/// Fields that a controller fills in once and the server then refuses to change.
const FILLED_IN: [(&str, &str); 3] =
    [("PersistentVolumeClaim", "volumeName"), ("PersistentVolume", "claimRef"), ("Pod", "nodeName")];

/// The operations that remove what others added; in a safe order, without a precondition.
pub fn foreign(manifest: &Value, live: &Value) -> Vec<PatchOperation> {
    let nothing = Node::new();
    let ours = fields::ours(live).unwrap_or(&nothing);
    let mut walk = Walk { manifest, live, exclusive: Exclusive::of(manifest, live), found: Vec::new() };
    for entry in Entry::all(live).filter(|entry| is_other(*entry)) {
        let Some(theirs) = entry.fields() else { continue };
        walk.fields(theirs, Some(ours), live, Some(manifest), &Path::ROOT);
    }
    in_safe_order(walk.found)
}

/// Whether an entry is of somebody else. What is written through a subresource (a scale by an autoscaler, a status) is
/// theirs by right.
fn is_other(entry: Entry<'_>) -> bool {
    entry.manager() != FIELD_MANAGER && !entry.has_subresource() && !is_predecessor(entry)
}

struct Walk<'a> {
    manifest: &'a Value,
    live: &'a Value,
    exclusive: Exclusive,
    found: Vec<PatchOperation>,
}

/// Where in an object of its kind nobody else may add anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Exclusive {
    kind: Kind,
    /// Somebody else writes the CA bundles.
    injected: bool,
    /// A controller writes the rules.
    aggregated: bool,
    /// The name of the field that a controller fills in, if the kind has one.
    filled_in: Option<&'static str>,
}

/// The sorts of kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Nothing is exclusive.
    Shared,
    /// Lists of a pod spec, below `spec.template`.
    Workload,
    /// Lists of a pod spec, below `spec.jobTemplate`.
    CronJob,
    /// The ports.
    Service,
    /// The webhooks.
    Webhooks,
    /// The whole spec.
    Definition,
    /// Rules, also how they are aggregated.
    Role,
    /// Subjects.
    Binding,
    /// Every field but one.
    Constraints,
    /// The spec but one field.
    OperatorGroup,
    /// The spec, webhooks, rules and subjects that the manifest has.
    Generic,
}

// === impl Walk ===

impl Walk<'_> {
    /// The fields of a map, or the items of a list, that are theirs and not ours.
    fn fields(
        &mut self,
        theirs: &Node,
        ours: Option<&Node>,
        live: &Value,
        wanted: Option<&Value>,
        path: &Path<'_>,
    ) {
        for (key, child) in theirs {
            let Some(name) = key.strip_prefix("f:") else { continue };
            let Some(value) = live.get(name) else { continue };
            let path = path.then(Step::Field(name));
            self.node(child, child_of(ours, key), value, wanted.and_then(|wanted| wanted.get(name)), &path);
        }
        let Some(items) = live.as_array() else { return };
        let wanted_items = wanted.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        for (key, child) in keys(theirs) {
            let Some(place) = items.iter().position(|item| has_key(item, &key)) else { continue };
            let path = path.then(Step::Key(&key, place));
            let ours = ours.and_then(|ours| ours_by_key(ours, &key));
            let wanted = wanted_items.iter().find(|item| could_be(item, &key));
            self.node(child, ours, &items[place], wanted, &path);
        }
        for (member, _) in members(theirs) {
            let is_ours = ours.is_some_and(|ours| members(ours).any(|(own, _)| own == member));
            if let Some(place) = items.iter().position(|item| *item == member)
                && !is_ours
            {
                self.found_one(None, &path.then(Step::Member(&member, place)));
            }
        }
    }

    fn node(
        &mut self,
        theirs: &Value,
        ours: Option<&Node>,
        live: &Value,
        wanted: Option<&Value>,
        path: &Path<'_>,
    ) {
        match (ours, theirs.as_object()) {
            (None, _) => self.found_one(wanted, path),
            (Some(ours), Some(theirs)) if !theirs.is_empty() => {
                self.fields(theirs, Some(ours), live, wanted, path);
            }
            _ => {}
        }
    }

    /// A value of others in which nothing is ours.
    fn found_one(&mut self, wanted: Option<&Value>, path: &Path<'_>) {
        if !self.exclusive.covers(&path.steps(), self.manifest) {
            return;
        }
        match wanted {
            None | Some(Value::Null) => {
                let pointer = path.pointer();
                // Who made the object is recorded for the defaults, too, and taking one away changes nothing.
                if !merge::is_filled_in(self.manifest, self.live, &pointer) {
                    self.found.push(PatchOperation::remove(pointer));
                }
            }
            // It must be empty, which nobody is recorded for.
            Some(wanted) if is_empty(wanted) => {
                self.found.push(PatchOperation::replace(path.pointer(), wanted.clone()));
            }
            // An apply brings our value back.
            Some(_) => {}
        }
    }
}

fn child_of<'a>(node: Option<&'a Node>, key: &str) -> Option<&'a Node> {
    node?.get(key)?.as_object()
}

fn ours_by_key<'a>(ours: &'a Node, key: &Map<String, Value>) -> Option<&'a Node> {
    keys(ours).find(|(own, _)| own == key)?.1.as_object()
}

/// Whether an item of a manifest can be the one with this key: what it leaves out has a default.
fn could_be(item: &Value, key: &Map<String, Value>) -> bool {
    key.iter().all(|(name, value)| item.get(name).is_none_or(|own| own == value))
}

fn is_empty(value: &Value) -> bool {
    value.as_array().is_some_and(Vec::is_empty) || value.as_object().is_some_and(Map::is_empty)
}

// === impl Exclusive ===

impl Exclusive {
    fn of(manifest: &Value, live: &Value) -> Self {
        let injected =
            |object: &Value| object["metadata"]["annotations"][annotation::INJECT_CABUNDLE] == "true";
        let name = object::kind(manifest);
        let filled_in = FILLED_IN.iter().find(|(kind, _)| *kind == name).map(|(_, field)| *field);
        Self {
            kind: Kind::of(manifest),
            injected: injected(manifest) || injected(live),
            aggregated: manifest.get("aggregationRule").is_some(),
            filled_in,
        }
    }

    fn covers(&self, steps: &[Step<'_>], manifest: &Value) -> bool {
        use Step::Field;
        if self.injected && matches!(steps.last(), Some(Field("caBundle"))) {
            return false;
        }
        match (self.kind, steps) {
            (_, [] | [Field("apiVersion" | "kind" | "metadata" | "status"), ..]) | (Kind::Shared, _) => false,
            (Kind::Workload, [Field("spec"), Field("template"), Field("spec"), rest @ ..])
            | (
                Kind::CronJob,
                [
                    Field("spec"),
                    Field("jobTemplate"),
                    Field("spec"),
                    Field("template"),
                    Field("spec"),
                    rest @ ..,
                ],
            ) => is_exclusive_in_pods(rest),
            (Kind::Service, steps) => matches!(steps, [Field("spec"), Field("ports"), ..]),
            (Kind::Webhooks, steps) => matches!(steps, [Field("webhooks"), ..]),
            (Kind::Definition, steps) => matches!(steps, [Field("spec"), _, ..]),
            (Kind::Role, [Field("rules"), ..]) => !self.aggregated,
            (Kind::Role, steps) => matches!(steps, [Field("aggregationRule"), ..]),
            (Kind::Binding, steps) => matches!(steps, [Field("subjects"), ..]),
            (Kind::Constraints, steps) => !matches!(steps, [Field("userNamespaceLevel"), ..]),
            (Kind::OperatorGroup, steps) => {
                matches!(steps, [Field("spec"), Field(name), ..] if *name != "serviceAccountName")
            }
            (Kind::Generic, [Field("spec"), Field(name), ..]) if self.filled_in == Some(*name) => false,
            // A part that the manifest does not have at all stays: the reference copies only what it has.
            (Kind::Generic, [Field(root @ ("spec" | "webhooks" | "rules" | "subjects")), ..]) => {
                manifest.get(root).is_some()
            }
            (Kind::Workload | Kind::CronJob | Kind::Generic, _) => false,
        }
    }
}

fn is_exclusive_in_pods(steps: &[Step<'_>]) -> bool {
    use Step::Field;
    match steps {
        [Field("volumes"), ..] | [Field("containers" | "initContainers")] => true,
        [Field("containers" | "initContainers"), _, rest @ ..] => {
            matches!(rest, [] | [Field("env" | "envFrom" | "ports" | "volumeMounts"), ..])
        }
        _ => false,
    }
}

// === impl Kind ===

impl Kind {
    /// The sort of a kind; exactly these versions are treated field by field, as in the reference.
    fn of(manifest: &Value) -> Self {
        let (group, version, name) =
            (object::group(manifest), object::version(manifest), object::kind(manifest));
        if version != "v1" {
            return Self::Generic;
        }
        match (group, name) {
            ("", kind::CONFIG_MAP | kind::NAMESPACE | kind::SERVICE_ACCOUNT)
            | (group::IMAGE, kind::IMAGE_STREAM)
            | (group::CONFIG, kind::CLUSTER_OPERATOR) => Self::Shared,
            ("", kind::SERVICE) => Self::Service,
            (group::APPS, kind::DEPLOYMENT | kind::DAEMON_SET) | (group::BATCH, kind::JOB) => Self::Workload,
            (group::BATCH, kind::CRON_JOB) => Self::CronJob,
            (group::ADMISSION_REGISTRATION, kind::VALIDATING_WEBHOOK_CONFIGURATION) => Self::Webhooks,
            (group::API_EXTENSIONS, kind::CUSTOM_RESOURCE_DEFINITION) => Self::Definition,
            (group::RBAC, kind::ROLE | kind::CLUSTER_ROLE) => Self::Role,
            (group::RBAC, kind::ROLE_BINDING | kind::CLUSTER_ROLE_BINDING) => Self::Binding,
            (group::SECURITY, kind::SECURITY_CONTEXT_CONSTRAINTS) => Self::Constraints,
            ("operators.coreos.com", "OperatorGroup") => Self::OperatorGroup,
            _ => Self::Generic,
        }
    }
}

/// Whether the reference treats a kind as a whole, not field by field.
pub(crate) fn is_generic(manifest: &Value) -> bool {
    Kind::of(manifest) == Kind::Generic
}

#[cfg(test)]
#[path = "foreign_tests.rs"]
mod tests;
