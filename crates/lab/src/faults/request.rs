//! A request as rules look at it: verb, resource, namespace, name.

use http::{Method, Request, header};
use serde::{Deserialize, Serialize};

/// What a request wants to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verb {
    /// Read one object.
    Get,
    /// Read many objects.
    List,
    /// Be told about changes.
    Watch,
    /// Make an object.
    Create,
    /// Replace an object.
    Update,
    /// Change parts of an object, server-side apply included.
    Patch,
    /// Delete one object.
    Delete,
    /// Delete many objects.
    DeleteCollection,
}

/// What is asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Asked {
    /// What it wants to do; always there when the address is one of objects.
    pub(super) verb: Option<Verb>,
    /// The method in lower case, the verb of addresses that are not of objects.
    pub(super) method: String,
    /// The path of the address.
    pub(super) path: String,
    /// The group; empty for the core.
    pub(super) group: String,
    /// The plural name; empty when the address is not one of objects.
    pub(super) resource: String,
    /// The part of the object, such as `status`.
    pub(super) subresource: String,
    /// The namespace.
    pub(super) namespace: String,
    /// The name of the object.
    pub(super) name: String,
    /// The program that asks.
    pub(super) user_agent: String,
    /// The version from which on a watch wants events, or that a list wants.
    pub(super) version: String,
    /// Whether the answer could be that this is too old: a watch from, or a list at, a version; the next page of a list.
    pub(super) has_version: bool,
}

// === impl Verb ===

impl Verb {
    /// The word that rules and messages use.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::List => "list",
            Self::Watch => "watch",
            Self::Create => "create",
            Self::Update => "update",
            Self::Patch => "patch",
            Self::Delete => "delete",
            Self::DeleteCollection => "deletecollection",
        }
    }
}

// === impl Asked ===

impl Asked {
    pub(super) fn of<B>(request: &Request<B>) -> Self {
        let agent = request.headers().get(header::USER_AGENT).and_then(|value| value.to_str().ok());
        let uri = request.uri();
        let mut asked = Self {
            method: request.method().as_str().to_ascii_lowercase(),
            path: uri.path().to_owned(),
            user_agent: agent.unwrap_or_default().to_owned(),
            ..Self::default()
        };
        asked.read_path(uri.path());
        if !asked.resource.is_empty() {
            asked.read_query(request.method(), uri.query().unwrap_or_default());
        }
        asked
    }

    fn read_path(&mut self, path: &str) {
        // The old address of a watch is that of a list with one word more.
        let path = path.replacen("/watch/", "/", usize::from(is_old_watch(path)));
        let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        let (group, rest) = match parts.as_slice() {
            ["api", _, rest @ ..] => ("", rest),
            ["apis", group, _, rest @ ..] => (*group, rest),
            _ => return,
        };
        group.clone_into(&mut self.group);
        let rest = match rest {
            // A namespace itself, or a part of it.
            ["namespaces", namespace] | ["namespaces", namespace, "status" | "finalize"] => {
                (*namespace).clone_into(&mut self.namespace);
                rest
            }
            ["namespaces", namespace, inner @ ..] => {
                (*namespace).clone_into(&mut self.namespace);
                inner
            }
            rest => rest,
        };
        let part = |at: usize| rest.get(at).copied().unwrap_or_default().to_owned();
        (self.resource, self.name, self.subresource) = (part(0), part(1), part(2));
    }

    fn read_query(&mut self, method: &Method, query: &str) {
        let value = |key: &str| {
            let mut pairs = query.split('&').map(|pair| pair.split_once('=').unwrap_or((pair, "")));
            pairs.find(|(name, _)| *name == key).map(|(_, value)| value)
        };
        let is_watch =
            is_old_watch(&self.path) || value("watch").is_some_and(|value| !matches!(value, "0" | "false"));
        self.verb = Some(match *method {
            Method::POST => Verb::Create,
            Method::PUT => Verb::Update,
            Method::PATCH => Verb::Patch,
            Method::DELETE if self.name.is_empty() => Verb::DeleteCollection,
            Method::DELETE => Verb::Delete,
            _ if is_watch => Verb::Watch,
            _ if self.name.is_empty() => Verb::List,
            _ => Verb::Get,
        });
        if !matches!(self.verb, Some(Verb::List | Verb::Watch)) {
            return;
        }
        // A list or watch of one object by its name is about that object.
        let selector = value("fieldSelector").unwrap_or_default();
        let by_name = selector.strip_prefix("metadata.name%3D").or(selector.strip_prefix("metadata.name="));
        if let (true, Some(name)) = (self.name.is_empty(), by_name)
            && !name.contains(['%', ',', '='])
        {
            name.clone_into(&mut self.name);
        }
        value("resourceVersion").unwrap_or_default().clone_into(&mut self.version);
        let is_next_page = value("continue").is_some_and(|value| !value.is_empty());
        self.has_version = is_next_page || !matches!(self.version.as_str(), "" | "0");
    }
}

/// Whether an address means a watch without saying so in the query: `/api/v1/watch/pods`.
fn is_old_watch(path: &str) -> bool {
    let mut parts = path.split('/').filter(|part| !part.is_empty());
    let versions = match parts.next() {
        Some("api") => 1,
        Some("apis") => 2,
        _ => return false,
    };
    parts.nth(versions) == Some("watch") && parts.next().is_some()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// What `METHOD address` asks.
    pub(in crate::faults) fn asked(line: &str) -> Asked {
        let (method, address) = line.split_once(' ').unwrap();
        Asked::of(&Request::builder().method(method).uri(address).body(()).unwrap())
    }

    #[test]
    fn addresses_and_methods_become_verbs_and_names() {
        for (line, expected) in [
            ("GET /api/v1/pods", "list pods.  "),
            ("GET /api/v1/pods?watch=true", "watch pods.  "),
            ("GET /api/v1/pods?watch=0", "list pods.  "),
            ("GET /api/v1/namespaces/x/pods/y", "get pods. x y"),
            ("GET /api/v1/namespaces", "list namespaces.  "),
            ("GET /api/v1/namespaces/x", "get namespaces. x x"),
            ("PUT /api/v1/namespaces/x/finalize", "update namespaces. x x"),
            ("POST /apis/apps/v1/namespaces/x/deployments", "create deployments.apps x "),
            ("PATCH /apis/apps/v1/namespaces/x/deployments/y/scale", "patch deployments.apps x y"),
            ("DELETE /api/v1/nodes/n", "delete nodes.  n"),
            ("DELETE /api/v1/nodes", "deletecollection nodes.  "),
            ("GET /api/v1/pods?fieldSelector=metadata.name%3Dy", "list pods.  y"),
            ("GET /api/v1/pods?fieldSelector=spec.nodeName%3Dy", "list pods.  "),
            ("GET /api/v1/watch/pods", "watch pods.  "),
            ("GET /apis/apps/v1/watch/namespaces/x/deployments/y", "watch deployments.apps x y"),
            ("GET /api/v1/namespaces/watch/pods", "list pods. watch "),
        ] {
            let it = asked(line);
            let told = format!(
                "{} {}.{} {} {}",
                it.verb.unwrap().word(),
                it.resource,
                it.group,
                it.namespace,
                it.name
            );
            assert_eq!(told, expected, "{line}");
        }
        assert_eq!(asked("PATCH /apis/apps/v1/namespaces/x/deployments/y/scale").subresource, "scale");
    }

    #[test]
    fn addresses_without_objects_have_no_verb() {
        for line in ["GET /version", "GET /apis/apps/v1", "GET /api", "GET /openapi/v3/apis/apps/v1", "GET /"]
        {
            let it = asked(line);
            assert_eq!((it.verb, it.resource.as_str()), (None, ""), "{line}");
        }
    }

    #[test]
    fn only_a_real_version_can_be_too_old() {
        for (query, expected) in [
            ("watch=1&resourceVersion=7", true),
            ("watch=1&resourceVersion=0", false),
            ("watch=1", false),
            ("resourceVersion=7", true),
            ("continue=abc", true),
            ("limit=5", false),
        ] {
            assert_eq!(asked(&format!("GET /api/v1/pods?{query}")).has_version, expected, "{query}");
        }
    }
}
