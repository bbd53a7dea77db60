//! What one manifest of a release needs.

use std::fmt;

use lockstep_api::names::{group, kind};
use lockstep_api::object;
use lockstep_apply::normalise::Rules;
use lockstep_payload::Manifest;
use serde::Serialize;
use serde_json::Value;

use super::{Deed, Occasion, Rights, Scope};

const APPLIED: &str =
    "objects of the release are applied; an apply of a missing object counts as creating it";
const MADE_ONCE: &str = "objects of the release that are created once and then left alone";
const SEEN: &str = "every change of an object of the release is watched";
const READ: &str = "read when the server refuses an apply, and by the clock while something waits for it";
const REPLACED: &str = "replaced where the server knows no server-side apply of the kind";
const DOOMED: &str = "the release removes these objects";
const RELATED: &str = "a new ClusterOperator gets the list of its related objects";
const ESCALATED: &str = "the release has roles with rights that the operator does not have itself";
const BOUND: &str = "the release binds these roles";

/// A binding of the release.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Binding {
    /// The binding: kind, and namespace and name.
    pub binding: String,
    /// What is bound: kind and name.
    pub role: String,
    /// To whom.
    pub subjects: Vec<String>,
}

/// Adds what the manifests of a release need.
pub(super) fn add<'a>(rights: &mut Rights, manifests: impl Iterator<Item = &'a Manifest>) {
    let manifests: Vec<&Manifest> = manifests.collect();
    let rules = Rules::of_release(manifests.iter().map(|manifest| &manifest.object));
    for manifest in manifests {
        let plural = rules.plural(&manifest.api_version, &manifest.id.kind);
        let resource = plural.map_or_else(|| guess(&manifest.id.kind), str::to_owned);
        if plural.is_none() {
            rights.guessed.insert(format!("{} {}", manifest.api_version, manifest.id.kind));
        }
        let one = One { rights, group: &manifest.id.group, resource, name: &manifest.id.name };
        one.add(manifest, plural.is_some());
    }
}

/// Adds what the generated roles need when they are part of the release themselves.
pub(super) fn add_generated(rights: &mut Rights, name: &str) {
    for resource in ["roles", "clusterroles", "rolebindings", "clusterrolebindings"] {
        let mut one = One { rights, group: group::RBAC, resource: resource.to_owned(), name };
        one.apply();
        if matches!(resource, "roles" | "clusterroles") {
            one.escalate();
            one.bind(resource, name);
        }
    }
}

/// One object.
struct One<'a> {
    rights: &'a mut Rights,
    group: &'a str,
    resource: String,
    name: &'a str,
}

// === impl One ===

impl One<'_> {
    fn add(mut self, manifest: &Manifest, is_defined: bool) {
        if manifest.is_delete() {
            self.named(&["watch"], Occasion::Regular, DOOMED);
            self.named(&["list", "delete"], Occasion::Rare, DOOMED);
            return;
        }
        if manifest.is_create_only() {
            self.every(&["create"], Occasion::Regular, MADE_ONCE);
            self.every(&["get", "patch"], Occasion::Rare, MADE_ONCE);
            self.watch();
        } else {
            self.apply();
        }
        if !is_defined {
            self.every(&["update"], Occasion::Rare, REPLACED);
        }
        if manifest.is_cluster_operator() && has_related_objects(&manifest.object) {
            self.resource.push_str("/status");
            self.every(&["patch"], Occasion::Regular, RELATED);
        } else if self.group == group::RBAC {
            match manifest.id.kind.as_str() {
                kind::ROLE | kind::CLUSTER_ROLE => self.escalate(),
                kind::ROLE_BINDING | kind::CLUSTER_ROLE_BINDING => self.bind_as(&manifest.object),
                _ => {}
            }
        }
    }

    fn apply(&mut self) {
        self.every(&["patch", "create"], Occasion::Regular, APPLIED);
        self.watch();
        self.every(&["get"], Occasion::Rare, READ);
    }

    fn watch(&mut self) {
        self.every(&["watch"], Occasion::Regular, SEEN);
        self.every(&["list"], Occasion::Rare, SEEN);
    }

    fn escalate(&mut self) {
        self.named(&["escalate"], Occasion::Regular, ESCALATED);
    }

    fn bind(&mut self, resource: &str, role: &str) {
        let deed = Deed { resource: resource.to_owned(), name: Some(role.to_owned()), ..self.deed("bind") };
        self.rights.grant(deed, Occasion::Regular, BOUND);
    }

    fn bind_as(&mut self, binding: &Value) {
        let reference = &binding["roleRef"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (role_kind, role) = (text(&reference["kind"]), text(&reference["name"]));
        self.bind(if role_kind == kind::ROLE { "roles" } else { "clusterroles" }, &role);
        let subject = |subject: &Value| {
            let namespace = subject["namespace"].as_str().map(|it| format!("{it}/")).unwrap_or_default();
            format!("{} {namespace}{}", text(&subject["kind"]), text(&subject["name"]))
        };
        let namespace = Some(object::namespace(binding)).filter(|it| !it.is_empty());
        let namespace = namespace.map(|it| format!("{it}/")).unwrap_or_default();
        self.rights.bindings.push(Binding {
            binding: format!("{} {namespace}{}", object::kind(binding), object::name(binding)),
            role: format!("{role_kind} {role}"),
            subjects: binding["subjects"].as_array().into_iter().flatten().map(subject).collect(),
        });
    }

    fn every(&mut self, verbs: &[&'static str], occasion: Occasion, why: &'static str) {
        for verb in verbs {
            self.rights.grant(self.deed(verb), occasion, why);
        }
    }

    fn named(&mut self, verbs: &[&'static str], occasion: Occasion, why: &'static str) {
        for verb in verbs {
            let deed = Deed { name: Some(self.name.to_owned()), ..self.deed(verb) };
            self.rights.grant(deed, occasion, why);
        }
    }

    fn deed(&self, verb: &'static str) -> Deed {
        let (group, resource) = (self.group.to_owned(), self.resource.clone());
        Deed { scope: Scope::Cluster, group, resource, verb, name: None }
    }
}

// === impl Binding ===

impl fmt::Display for Binding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let subjects = if self.subjects.is_empty() { "nobody".to_owned() } else { self.subjects.join(", ") };
        write!(formatter, "{} gives {} to {subjects}", self.binding, self.role)
    }
}

fn has_related_objects(object: &Value) -> bool {
    object["status"]["relatedObjects"].as_array().is_some_and(|list| !list.is_empty())
}

/// How a kind is most likely spelled in addresses.
fn guess(kind: &str) -> String {
    let kind = kind.to_lowercase();
    match kind.strip_suffix('y') {
        Some(stem) if !stem.ends_with(['a', 'e', 'o', 'u']) => format!("{stem}ies"),
        _ if kind.ends_with(['s', 'x']) || kind.ends_with("ch") => format!("{kind}es"),
        _ => format!("{kind}s"),
    }
}
