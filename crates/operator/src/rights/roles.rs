//! Rights as role objects: a `ClusterRole`, a Role where a namespace suffices, and their bindings.

use std::collections::{BTreeMap, BTreeSet};

use lockstep_api::names::{annotation, group, kind, namespace, object, profile};
use lockstep_api::object::join_api_version;
use serde_json::{Value, json};

use super::{Occasion, Rights, Scope};

/// One rule of a role, with the words about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// The API group.
    pub group: String,
    /// Resources, or addresses.
    pub resources: BTreeSet<String>,
    /// Verbs.
    pub verbs: BTreeSet<&'static str>,
    /// Only these objects; empty for all.
    pub names: BTreeSet<String>,
    /// Why it is needed.
    pub reasons: BTreeSet<&'static str>,
    /// Verbs that are only used when something is in the way.
    pub rare: BTreeSet<&'static str>,
}

/// A role with its binding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Generated {
    /// The name of the role and of its binding.
    pub name: String,
    /// Where it holds.
    pub scope: Scope,
    /// Its rules.
    pub rules: Vec<Rule>,
}

// === impl Rights ===

impl Rights {
    /// The roles, that of the whole cluster first.
    pub fn roles(&self) -> Vec<Generated> {
        let mut by_scope: BTreeMap<&Scope, BTreeMap<_, Rule>> = BTreeMap::new();
        for (deed, ground) in self.grants() {
            let rules = by_scope.entry(&deed.scope).or_default();
            // Rights on all objects of a resource are one rule; those on single objects one for each verb.
            let key = (&deed.group, &deed.resource, deed.name.as_ref().map(|_| deed.verb));
            let rule = rules.entry(key).or_insert_with(|| Rule {
                group: deed.group.clone(),
                resources: BTreeSet::from([deed.resource.clone()]),
                verbs: BTreeSet::new(),
                names: BTreeSet::new(),
                reasons: BTreeSet::new(),
                rare: BTreeSet::new(),
            });
            rule.verbs.insert(deed.verb);
            rule.names.extend(deed.name.clone());
            rule.reasons.extend(&ground.reasons);
            if ground.occasion == Occasion::Rare {
                rule.rare.insert(deed.verb);
            }
        }
        let generate = |(scope, rules): (&Scope, BTreeMap<_, Rule>)| Generated {
            name: self.name.clone(),
            scope: scope.clone(),
            rules: rules.into_values().fold(Vec::new(), join),
        };
        by_scope.into_iter().map(generate).collect()
    }
}

/// Puts a rule to those before it: one that differs in its resources or in its verbs alone becomes part of another.
fn join(mut rules: Vec<Rule>, rule: Rule) -> Vec<Rule> {
    let is_like = |other: &&mut Rule| {
        let is_same = other.group == rule.group && other.names == rule.names && other.reasons == rule.reasons;
        let is_one_resource = other.resources == rule.resources && !rule.names.is_empty();
        is_same
            && (is_one_resource
                || (other.verbs == rule.verbs && other.rare == rule.rare && rule.names.is_empty()))
    };
    match rules.iter_mut().find(is_like) {
        Some(other) => {
            other.resources.extend(rule.resources);
            other.verbs.extend(rule.verbs);
            other.rare.extend(rule.rare);
        }
        None => rules.push(rule),
    }
    rules
}

// === impl Rule ===

impl Rule {
    /// Whether it is about addresses and not about objects.
    pub fn is_about_addresses(&self) -> bool {
        self.resources.iter().any(|resource| resource.starts_with('/'))
    }

    /// The rule as the API has it.
    pub fn object(&self) -> Value {
        if self.is_about_addresses() {
            return json!({"nonResourceURLs": self.resources, "verbs": self.verbs});
        }
        let mut rule = json!({"apiGroups": [self.group], "resources": self.resources, "verbs": self.verbs});
        if !self.names.is_empty() {
            rule["resourceNames"] = json!(self.names);
        }
        rule
    }
}

// === impl Generated ===

impl Generated {
    /// Kind of the role.
    pub fn role_kind(&self) -> &'static str {
        match self.scope {
            Scope::Cluster => kind::CLUSTER_ROLE,
            Scope::Namespace(_) => kind::ROLE,
        }
    }

    /// The role without its rules.
    pub fn head(&self) -> Value {
        json!({
            "apiVersion": join_api_version(group::RBAC, "v1"),
            "kind": self.role_kind(),
            "metadata": self.metadata(),
        })
    }

    /// The role.
    pub fn role(&self) -> Value {
        let mut role = self.head();
        role["rules"] = self.rules.iter().map(Rule::object).collect();
        role
    }

    /// The binding that gives the role to the operator.
    pub fn binding(&self) -> Value {
        let binding_kind = match self.scope {
            Scope::Cluster => kind::CLUSTER_ROLE_BINDING,
            Scope::Namespace(_) => kind::ROLE_BINDING,
        };
        json!({
            "apiVersion": join_api_version(group::RBAC, "v1"),
            "kind": binding_kind,
            "metadata": self.metadata(),
            "roleRef": {"apiGroup": group::RBAC, "kind": self.role_kind(), "name": self.name},
            "subjects": [{
                "kind": kind::SERVICE_ACCOUNT,
                "name": object::CLUSTER_VERSION_OPERATOR,
                "namespace": namespace::CLUSTER_VERSION,
            }],
        })
    }

    fn metadata(&self) -> Value {
        let included = |profile: &str| format!("{}{profile}", annotation::INCLUDE_PREFIX);
        let mut metadata = json!({
            "name": self.name,
            "annotations": {
                included(profile::SELF_MANAGED_HIGH_AVAILABILITY): "true",
                included(profile::SINGLE_NODE_DEVELOPER): "true",
            },
        });
        if let Scope::Namespace(namespace) = &self.scope {
            metadata["namespace"] = namespace.as_str().into();
        }
        metadata
    }
}
