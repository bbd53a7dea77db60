//! The part of a diagnosis that concerns one operator or one object.

use super::finding::Diagnosis;

/// What somebody asks about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum About {
    /// An operator by name.
    Operator(String),
    /// An object; the kind in any case, singular or plural, the namespace empty for none.
    Object {
        /// The kind.
        kind: String,
        /// The namespace.
        namespace: String,
        /// The name.
        name: String,
    },
}

// === impl About ===

impl About {
    /// Reads what was typed: `dns` for an operator, `pod/openshift-dns/dns-1` or `node/worker-1` for an object.
    pub fn read(text: &str) -> Self {
        let parts: Vec<&str> = text.split('/').collect();
        let object = |kind: &str, namespace: &str, name: &str| Self::Object {
            kind: kind.to_owned(),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        };
        match parts.as_slice() {
            [kind, name] if is_kind(kind, "ClusterOperator") || *kind == "co" => {
                Self::Operator((*name).to_owned())
            }
            [kind, name] => object(kind, "", name),
            [kind, namespace, name] => object(kind, namespace, name),
            _ => Self::Operator(text.to_owned()),
        }
    }
}

/// The same diagnosis with only what concerns something; the order stays.
#[must_use]
pub fn about(mut diagnosis: Diagnosis, what: &About) -> Diagnosis {
    diagnosis.causes.retain(|finding| match what {
        About::Operator(name) => {
            let is_itself = finding.object.kind == "ClusterOperator" && finding.object.name == *name;
            finding.concerns.whole || is_itself || finding.concerns.operators.contains(name)
        }
        About::Object { kind, namespace, name } => {
            let is_it = |object: &lockstep_api::ResourceId| {
                is_kind(kind, &object.kind) && object.namespace == *namespace && object.name == *name
            };
            let named = std::iter::once(&finding.object).chain(&finding.others);
            let explained = finding.explains.iter().map(|it| &it.object);
            let lies_in = !namespace.is_empty() && finding.concerns.namespaces.contains(namespace);
            let is_node = is_kind(kind, "Node") && finding.concerns.nodes.contains(name);
            let is_namespace = is_kind(kind, "Namespace") && finding.concerns.namespaces.contains(name);
            finding.concerns.whole || named.chain(explained).any(is_it) || lies_in || is_node || is_namespace
        }
    });
    let keeps = |told: &str| match what {
        About::Operator(name) => told == format!("operator {name}"),
        About::Object { kind, name, .. } => is_kind(kind, "Node") && told == format!("node {name}"),
    };
    diagnosis.unhealthy.retain(|told| keeps(told));
    diagnosis.unexplained.retain(|it| matches!(what, About::Operator(name) if *name == it.operator));
    diagnosis
}

/// Whether a typed kind means this one: any case, singular or plural.
fn is_kind(typed: &str, kind: &str) -> bool {
    let (typed, kind) = (typed.to_ascii_lowercase(), kind.to_ascii_lowercase());
    typed == kind || typed.strip_suffix('s') == Some(&kind) || typed.strip_suffix("es") == Some(&kind)
}
