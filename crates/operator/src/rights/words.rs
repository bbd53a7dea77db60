//! What rights mean, in words: some of them are worth more than they look.

use std::fmt::Write as _;

use lockstep_api::names::group;

use super::roles::Rule;
use super::{Generated, Rights, Scope};

/// A right that is worth more than it looks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Power {
    /// The right.
    pub right: String,
    /// What whoever has it can do.
    pub meaning: String,
}

/// The rights as a page for people.
pub fn text(title: &str, rights: &Rights) -> String {
    let mut out = format!("Rights of the operator for {title}\n\n");
    for power in rights.powers() {
        let _ = writeln!(out, "! {}\n  {}", power.right, power.meaning);
    }
    if !rights.bindings.is_empty() {
        let _ = writeln!(out, "\nThe release binds:");
        for binding in &rights.bindings {
            let _ = writeln!(out, "  {binding}");
        }
    }
    if !rights.guessed.is_empty() {
        let _ = writeln!(
            out,
            "\nNeither the release nor Kubernetes defines these kinds; their names in addresses are guessed:"
        );
        for guessed in &rights.guessed {
            let _ = writeln!(out, "  {guessed}");
        }
    }
    for role in rights.roles() {
        let _ = writeln!(out, "\n{}", place(&role));
        for rule in &role.rules {
            let _ = writeln!(out, "  {}", line(rule));
            for reason in why(rule) {
                let _ = writeln!(out, "      {reason}");
            }
        }
    }
    out
}

/// The reasons of a rule, and which verbs are for rare occasions.
pub(super) fn why(rule: &Rule) -> Vec<String> {
    let mut words: Vec<String> = rule.reasons.iter().map(|&reason| reason.to_owned()).collect();
    if !rule.rare.is_empty() {
        let verbs = rule.rare.iter().copied().collect::<Vec<_>>().join(", ");
        words.push(format!("only when something is in the way: {verbs}"));
    }
    words
}

fn place(role: &Generated) -> String {
    match &role.scope {
        Scope::Cluster => "In the whole cluster".to_owned(),
        Scope::Namespace(namespace) => format!("In namespace {namespace}"),
    }
}

fn line(rule: &Rule) -> String {
    let list = |items: &mut dyn Iterator<Item = &str>| items.collect::<Vec<_>>().join(", ");
    let full = |resource: &String| match rule.group.as_str() {
        "" => resource.clone(),
        group => format!("{resource}.{group}"),
    };
    let resources: Vec<String> = rule.resources.iter().map(full).collect();
    let mut line = format!("{}: {}", list(&mut rule.verbs.iter().copied()), resources.join(", "));
    if !rule.names.is_empty() {
        let _ = write!(line, " named {}", list(&mut rule.names.iter().map(String::as_str)));
    }
    line
}

// === impl Rights ===

impl Rights {
    /// The rights that are worth more than they look, the strongest first.
    pub fn powers(&self) -> Vec<Power> {
        let names = |resource: &str, verb: &str| -> Vec<&str> {
            self.grants()
                .filter(|(deed, _)| {
                    deed.group == group::RBAC && deed.resource == resource && deed.verb == verb
                })
                .filter_map(|(deed, _)| deed.name.as_deref())
                .collect()
        };
        let has = |group: &str, resource: &str, verb: &str| {
            self.grants().any(|(deed, _)| {
                deed.scope == Scope::Cluster
                    && deed.name.is_none()
                    && (deed.group.as_str(), deed.resource.as_str(), deed.verb) == (group, resource, verb)
            })
        };
        let mut powers = Vec::new();
        let mut say = |right: String, meaning: &str| {
            powers.push(Power { right, meaning: meaning.to_owned() });
        };
        for resource in ["clusterroles", "roles"] {
            let escalated = names(resource, "escalate");
            if !escalated.is_empty() {
                let right = format!("escalate on {} {resource}", escalated.len());
                let meaning = if escalated.contains(&self.name.as_str()) {
                    "It may write any right into these roles, also ones it does not have. Its own role is among them: whoever \
                     acts as the operator can give itself everything. The names only keep others from being changed by mistake."
                } else {
                    "It may write any right into these roles, also ones it does not have. Whoever acts as the operator, and as \
                     somebody that such a role is bound to, has everything."
                };
                say(right, meaning);
            }
            let bound = names(resource, "bind");
            if !bound.is_empty() {
                let right = format!("bind of {} {resource}: {}", bound.len(), bound.join(", "));
                let meaning = if resource == "clusterroles" && bound.contains(&CLUSTER_ADMIN) {
                    "It may give these roles to anybody, itself included. cluster-admin is among them: that is everything."
                } else {
                    "It may give these roles to anybody, itself included, also where it does not have their rights."
                };
                say(right, meaning);
            }
        }
        if has("", "secrets", "watch") {
            say(
                "watch of secrets".to_owned(),
                "It reads every Secret of the cluster: the release has Secrets, and changes of them are watched.",
            );
        }
        let workloads = [
            ("apps", "deployments"),
            ("apps", "daemonsets"),
            ("apps", "statefulsets"),
            ("batch", "jobs"),
            ("batch", "cronjobs"),
            ("", "pods"),
        ];
        if workloads.iter().any(|(group, resource)| has(group, resource, "create")) {
            say(
                "create of workloads".to_owned(),
                "It may run any image in any namespace as any service account there, and so do what that account may do.",
            );
        }
        let hooks = ["validatingwebhookconfigurations", "mutatingwebhookconfigurations"];
        if hooks.iter().any(|resource| has(group::ADMISSION_REGISTRATION, resource, "patch")) {
            say(
                "patch of webhooks".to_owned(),
                "It may put itself between the server and every write of everybody.",
            );
        }
        if has(group::API_REGISTRATION, "apiservices", "patch") {
            say(
                "patch of apiservices".to_owned(),
                "It may answer for the server in whole API groups, and sees the credentials of who asks.",
            );
        }
        powers
    }
}

/// The role that may do everything.
const CLUSTER_ADMIN: &str = "cluster-admin";
