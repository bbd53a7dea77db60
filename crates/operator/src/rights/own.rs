//! What the operator needs whatever it applies: the one table of it.
//!
//! A change of a loop that asks the server for something new changes this table; a suite runs the operator with nothing but
//! the compiled rights and compares them with what the server saw.

use lockstep_api::names::{group, namespace, object};

/// One line of the table.
#[derive(Debug, Clone, Copy)]
pub struct Need {
    /// In which namespace; `None` for the whole cluster.
    pub namespace: Option<&'static str>,
    /// The API group.
    pub group: &'static str,
    /// The resource, or an address that begins with `/`.
    pub resource: &'static str,
    /// Only this object.
    pub name: Option<&'static str>,
    /// Verbs of every run.
    pub verbs: &'static [&'static str],
    /// Verbs that are needed when something is in the way.
    pub rarely: &'static [&'static str],
    /// Why.
    pub why: &'static str,
}

const WATCHED: &[&str] = &["watch"];
/// A watch begins with everything that exists, as one stream; a server that cannot do that is asked for a list.
const AFTER_ALL: &[&str] = &["list"];
const BOTH: &[&str] = &["list", "watch"];
const NEVER: &[&str] = &[];

/// Everything.
pub const NEEDS: &[Need] = &[
    // What is wanted, and what is reported.
    Need {
        rarely: &["get", "list"],
        ..one("clusterversions", object::VERSION, "the ClusterVersion says what is wanted")
    },
    Need {
        verbs: &["update"],
        rarely: NEVER,
        ..one("clusterversions/status", object::VERSION, "the state is reported in the ClusterVersion")
    },
    all("clusteroperators", "operators report there how they are"),
    // What the cluster says about itself.
    one("featuregates", object::CLUSTER, "feature gates decide what belongs to the release"),
    one("infrastructures", object::CLUSTER, "the topology and the address of the API server"),
    one("proxies", object::CLUSTER, "the proxy is written into workloads and used for registries"),
    one("apiservers", object::CLUSTER, "the TLS profile is written into workloads and used for metrics"),
    all("imagedigestmirrorsets", "mirrors that hold the release image"),
    Need {
        group: group::OPERATOR,
        ..all("imagecontentsourcepolicies", "mirrors that hold the release image")
    },
    map(namespace::CONFIG, object::ADMIN_ACKS, "what an administrator acknowledged"),
    map(namespace::CONFIG_MANAGED, object::ADMIN_GATES, "what must be acknowledged before a minor update"),
    map(namespace::CONFIG_MANAGED, object::TRUSTED_CA_BUNDLE, "certificate authorities of registries"),
    map(namespace::CONFIG, object::INSTALL, "a metric says who installed the cluster"),
    map(namespace::CONFIG, object::INSTALL_MANIFESTS, "a metric says who installed the cluster"),
    map(namespace::KUBE_SYSTEM, object::API_SERVER_AUTHENTICATION, "who reads metrics shows a certificate"),
    Need {
        resource: "secrets",
        ..map(namespace::CONFIG, object::PULL_SECRET, "the credentials with which release images are pulled")
    },
    Need {
        group: group::API_EXTENSIONS,
        ..all("customresourcedefinitions", "which of these kinds are there; metadata only")
    },
    // What others in the cluster may bring while a manifest waits for it.
    Need {
        group: group::API_REGISTRATION,
        verbs: NEVER,
        rarely: BOTH,
        ..all("apiservices", "a kind that a manifest waits for may appear")
    },
    Need {
        group: "",
        verbs: NEVER,
        rarely: BOTH,
        ..all("namespaces", "a namespace that a manifest waits for may appear")
    },
    // Why a workload does not start.
    Need { group: "", verbs: NEVER, ..all("pods", "why a workload does not start") },
    Need { group: "", verbs: NEVER, ..all("events", "why a workload does not start") },
    // One replica at work.
    Need {
        group: "",
        verbs: NEVER,
        rarely: &["create"],
        ..all("namespaces", "on a new cluster even the namespace of the Lease is missing")
    },
    Need { name: None, verbs: &["create"], rarely: NEVER, ..LEASE },
    Need { verbs: &["update", "watch"], rarely: &["get", "list"], ..LEASE },
    Need {
        resource: "events",
        name: None,
        verbs: &["create"],
        rarely: &["patch"],
        ..map(namespace::CLUSTER_VERSION, "", "what happened is told as events")
    },
    // Who may read metrics.
    Need {
        group: group::AUTHENTICATION,
        verbs: NEVER,
        rarely: &["create"],
        ..all("tokenreviews", "who reads metrics shows a token")
    },
    // What the server serves.
    Need { verbs: &["get"], rarely: NEVER, ..address("/api") },
    Need { verbs: &["get"], rarely: NEVER, ..address("/apis") },
    Need { verbs: NEVER, rarely: &["get"], ..address("/api/*") },
    Need { verbs: NEVER, rarely: &["get"], ..address("/apis/*") },
];

const LEASE: Need = Need {
    group: group::COORDINATION,
    resource: "leases",
    ..map(namespace::CLUSTER_VERSION, object::VERSION, "one replica at work")
};

/// All objects of a kind of the configuration group are watched.
const fn all(resource: &'static str, why: &'static str) -> Need {
    Need {
        namespace: None,
        group: group::CONFIG,
        resource,
        name: None,
        verbs: WATCHED,
        rarely: AFTER_ALL,
        why,
    }
}

/// One object of a kind of the configuration group is watched.
const fn one(resource: &'static str, name: &'static str, why: &'static str) -> Need {
    Need { name: Some(name), ..all(resource, why) }
}

/// One `ConfigMap` is watched.
const fn map(namespace: &'static str, name: &'static str, why: &'static str) -> Need {
    Need { namespace: Some(namespace), group: "", ..one("configmaps", name, why) }
}

const fn address(resource: &'static str) -> Need {
    Need { group: "", ..all(resource, "which kinds the server serves") }
}

#[cfg(test)]
mod tests {
    use lockstep_payload::Manifest;

    use super::super::{NAME, Rights};
    use crate::world::Source;

    #[test]
    fn whatever_the_operator_watches_is_in_the_table() {
        let nothing: [&Manifest; 0] = [];
        let rights = Rights::compile(NAME, nothing, &[]);
        for source in Source::ALL {
            let place = source.place();
            let (namespace, name) = (place.namespace.unwrap_or_default(), place.name.unwrap_or_default());
            for verb in ["watch", "list"] {
                assert!(rights.allows(namespace, place.group, place.plural, verb, name), "{verb} {source:?}");
            }
        }
    }
}
