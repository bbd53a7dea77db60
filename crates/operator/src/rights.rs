//! Which rights the operator needs for a release, compiled from the release itself.
//!
//! ```text
//! manifests ─ release ─┐
//!                      ├─▶ Grants ─ Rights ─▶ role objects (roles), words (words), YAML with comments (write)
//! own table ───── own ─┘
//! ```
//!
//! [`own`] is the one table of what the operator needs whatever it applies; `release` says what one manifest needs. Both name
//! the reason of every line, and whether it is used in every run or only when something is in the way.

pub mod own;
mod release;
mod roles;
mod words;
mod write;

use std::collections::{BTreeMap, BTreeSet};

use lockstep_payload::Manifest;
use serde::Serialize;

pub use release::Binding;
pub use roles::Generated;
pub use words::text;
pub use write::{json, yaml};

/// The name of the roles in the operator's own manifests, and where somebody gives it all rights from outside. Not the name
/// that the reference has for its binding: what a binding refers to cannot be changed.
pub const NAME: &str = "lockstep-operator";
/// The name of the roles that a release brings for itself, beside those of the operator's own manifests.
pub const RELEASE_NAME: &str = "lockstep-operator-release";

/// Where a right holds.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Scope {
    /// In the whole cluster.
    Cluster,
    /// In this namespace.
    Namespace(String),
}

/// When a right is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Occasion {
    /// In every run that brings a cluster to the release.
    Regular,
    /// Only when something is in the way: a refusal, an object that should not be there, a wait.
    Rare,
}

/// What may be done, apart from when and why.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Deed {
    /// Where.
    pub scope: Scope,
    /// The API group; empty for the core, and for addresses.
    pub group: String,
    /// The resource, such as `clusterversions/status`; an address when it begins with `/`.
    pub resource: String,
    /// The verb.
    pub verb: &'static str,
    /// Only the object with this name.
    pub name: Option<String>,
}

/// When and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Ground {
    /// When it is used.
    pub occasion: Occasion,
    /// Why it is needed.
    pub reasons: BTreeSet<&'static str>,
}

/// All rights that a release needs.
#[derive(Debug, Clone, Default)]
pub struct Rights {
    name: String,
    grants: BTreeMap<Deed, Ground>,
    /// What the release binds, and to whom.
    pub bindings: Vec<Binding>,
    /// Kinds that neither the release nor Kubernetes defines: how they are spelled in addresses is guessed.
    pub guessed: BTreeSet<String>,
}

// === impl Rights ===

impl Rights {
    /// Compiles the rights for running the operator and for applying these manifests.
    ///
    /// `name` is that of the roles; `parts` are names of compiled roles that are, or become, part of what is applied.
    pub fn compile<'a>(
        name: &str,
        manifests: impl IntoIterator<Item = &'a Manifest>,
        parts: &[&str],
    ) -> Self {
        let mut rights = Self { name: name.to_owned(), ..Self::default() };
        for need in own::NEEDS {
            rights.need(need);
        }
        release::add(&mut rights, manifests.into_iter());
        for part in parts {
            release::add_generated(&mut rights, part);
        }
        rights.simplify();
        rights
    }

    /// Every right with its ground, sorted.
    pub fn grants(&self) -> impl Iterator<Item = (&Deed, &Ground)> {
        self.grants.iter()
    }

    /// Whether a request is allowed: the way in which the server decides, without looking at a server.
    pub fn allows(&self, namespace: &str, group: &str, resource: &str, verb: &str, name: &str) -> bool {
        self.grants.keys().any(|deed| {
            let is_there = match &deed.scope {
                Scope::Cluster => true,
                Scope::Namespace(only) => only == namespace,
            };
            let is_named = deed.name.as_deref().is_none_or(|only| only == name);
            is_there && is_named && deed.group == group && deed.resource == resource && deed.verb == verb
        })
    }

    fn need(&mut self, need: &own::Need) {
        for (verbs, occasion) in [(need.verbs, Occasion::Regular), (need.rarely, Occasion::Rare)] {
            for verb in verbs {
                let deed = Deed {
                    scope: need.namespace.map_or(Scope::Cluster, |name| Scope::Namespace(name.to_owned())),
                    group: need.group.to_owned(),
                    resource: need.resource.to_owned(),
                    verb,
                    name: need.name.map(str::to_owned),
                };
                self.grant(deed, occasion, need.why);
            }
        }
    }

    fn grant(&mut self, deed: Deed, occasion: Occasion, why: &'static str) {
        let ground = self.grants.entry(deed).or_insert(Ground { occasion, reasons: BTreeSet::new() });
        ground.occasion = ground.occasion.min(occasion);
        ground.reasons.insert(why);
    }

    /// Takes out what a wider right says already; its reasons go to the wider one.
    fn simplify(&mut self) {
        let wider = |deed: &Deed| {
            let everywhere = Deed { scope: Scope::Cluster, ..deed.clone() };
            let nameless = Deed { name: None, ..deed.clone() };
            [Deed { name: None, ..everywhere.clone() }, everywhere, nameless]
        };
        let deeds: Vec<Deed> = self.grants.keys().cloned().collect();
        for deed in deeds {
            let found = wider(&deed).into_iter().find(|it| *it != deed && self.grants.contains_key(it));
            if let (Some(found), Some(ground)) =
                (found.as_ref(), found.as_ref().and_then(|_| self.grants.remove(&deed)))
                && let Some(into) = self.grants.get_mut(found)
            {
                into.occasion = into.occasion.min(ground.occasion);
                into.reasons.extend(ground.reasons);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use lockstep_payload::Folder;
    use lockstep_payload::manifest::read_file;

    use super::*;

    pub(super) fn manifests(text: &str) -> Vec<Manifest> {
        read_file(Folder::ReleaseManifests, &Arc::from("0000_10_a_x.yaml"), text.as_bytes()).unwrap()
    }

    fn rights(text: &str) -> Rights {
        Rights::compile(NAME, &manifests(text), &[])
    }

    #[test]
    fn what_is_applied_may_be_patched_created_and_watched_but_not_deleted() {
        let rights = rights("apiVersion: v1\nkind: Service\nmetadata: {name: a, namespace: b}\n");
        for verb in ["patch", "create", "watch", "list", "get"] {
            assert!(rights.allows("b", "", "services", verb, "a"), "{verb}");
        }
        for verb in ["delete", "update", "deletecollection"] {
            assert!(!rights.allows("b", "", "services", verb, "a"), "{verb}");
        }
        assert!(!rights.allows("b", "apps", "deployments", "patch", "a"));
    }

    #[test]
    fn what_is_deleted_may_be_deleted_by_its_name_only() {
        let rights = rights(
            "apiVersion: v1\nkind: Service\nmetadata:\n  name: a\n  namespace: b\n  annotations: {release.openshift.io/delete: \"true\"}\n",
        );
        assert!(rights.allows("b", "", "services", "delete", "a"));
        assert!(rights.allows("b", "", "services", "watch", "a"));
        assert!(!rights.allows("b", "", "services", "delete", "other"));
        assert!(!rights.allows("b", "", "services", "patch", "a"), "nothing of it is applied");
    }

    #[test]
    fn a_role_needs_escalate_on_itself_and_a_binding_needs_bind_on_what_it_refers_to() {
        let group = "rbac.authorization.k8s.io";
        let rights = rights(
            "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: strong}\nrules: []\n---\n\
             apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: who, namespace: b}\n\
             roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}\n\
             subjects: [{kind: ServiceAccount, name: s, namespace: t}]\n",
        );
        assert!(rights.allows("", group, "clusterroles", "escalate", "strong"));
        assert!(!rights.allows("", group, "clusterroles", "escalate", "view"));
        assert!(rights.allows("b", group, "clusterroles", "bind", "view"));
        assert!(!rights.allows("b", group, "clusterroles", "bind", "strong"));
        assert_eq!(
            rights.bindings[0].to_string(),
            "RoleBinding b/who gives ClusterRole view to ServiceAccount t/s"
        );
    }

    #[test]
    fn a_gate_that_names_related_objects_may_write_their_list_into_the_status() {
        let text = "apiVersion: config.openshift.io/v1\nkind: ClusterOperator\nmetadata: {name: dns}\nstatus: {relatedObjects: [{name: x}]}\n";
        let rights = rights(text);
        assert!(rights.allows("", "config.openshift.io", "clusteroperators/status", "patch", "dns"));
    }

    #[test]
    fn a_wider_right_swallows_a_narrower_one_with_its_reasons() {
        let config_maps = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: b}\n";
        let rights = rights(config_maps);
        let of_config_maps: Vec<_> = rights
            .grants()
            .filter(|(deed, _)| deed.resource == "configmaps" && deed.verb == "watch")
            .collect();
        assert_eq!(of_config_maps.len(), 1, "{of_config_maps:#?}");
        assert!(of_config_maps[0].1.reasons.len() > 1, "{of_config_maps:#?}");
    }

    #[test]
    fn the_operator_may_write_its_own_roles_only_when_they_are_part_of_the_release() {
        let group = "rbac.authorization.k8s.io";
        let none: [&Manifest; 0] = [];
        let outside = Rights::compile(NAME, none, &[]);
        assert!(!outside.allows("", group, "clusterroles", "patch", NAME));
        let inside = Rights::compile(NAME, none, &[NAME]);
        for verb in ["patch", "escalate", "bind"] {
            assert!(inside.allows("", group, "clusterroles", verb, NAME), "{verb}");
        }
        assert!(inside.powers()[0].meaning.contains("give itself everything"));
    }

    #[test]
    fn a_kind_that_nobody_defines_is_guessed_and_may_be_replaced() {
        let rights =
            rights("apiVersion: route.openshift.io/v1\nkind: Route\nmetadata: {name: a, namespace: b}\n");
        assert!(rights.allows("b", "route.openshift.io", "routes", "update", "a"));
        assert_eq!(rights.guessed.len(), 1);
    }
}
