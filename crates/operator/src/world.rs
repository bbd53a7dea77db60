//! What the operator knows of its cluster: a few objects, each as it was last seen.
//!
//! Absence is a default: an object that is not there, a kind that is not served and one that we may not read all mean
//! that nobody said anything. Only the ClusterVersion is waited for.

mod watches;

use std::collections::{BTreeMap, BTreeSet};

use lockstep_api::names::{namespace, object};
use lockstep_api::{ClusterOperator, ClusterVersion};
use lockstep_apply::watch::Seen;
use serde_json::Value;

pub(crate) use watches::Watches;

/// Something that is watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Source {
    /// What is asked of us, and what we report.
    Version,
    /// What operators report.
    Operators,
    /// Feature set and gates.
    FeatureGates,
    /// The proxy to the outside.
    Proxy,
    /// The address of the API server.
    Infrastructure,
    /// TLS settings.
    ApiServer,
    /// What an administrator must acknowledge before a minor update.
    AdminGates,
    /// What an administrator has acknowledged.
    AdminAcks,
    /// Certificate authorities that the administrator added.
    TrustedCa,
    /// Credentials of registries.
    PullSecret,
    /// Where else images are.
    DigestMirrors,
    /// The same, in its older form.
    ContentSources,
    /// Who installed the cluster.
    Installer,
    /// The same, where it was no installer.
    InstallerManifests,
    /// Who may read metrics: the authorities for client certificates.
    ClientCa,
}

/// What is known.
#[derive(Debug, Default)]
pub(crate) struct World {
    objects: BTreeMap<Source, BTreeMap<String, Value>>,
    /// What was given since a watch began anew.
    fresh: BTreeMap<Source, BTreeSet<String>>,
    known: BTreeSet<Source>,
}

// === impl World ===

impl World {
    /// Takes in what a watch saw; whether anything is different now.
    pub(crate) fn on(&mut self, source: Source, seen: Seen) -> bool {
        match seen {
            Seen::Restarted => {
                self.fresh.insert(source, BTreeSet::new());
                false
            }
            Seen::Object(object) => self.put(source, object),
            Seen::Gone(gone) => {
                let name = lockstep_api::object::name(&gone);
                self.objects.get_mut(&source).is_some_and(|objects| objects.remove(name).is_some())
            }
            Seen::Synced { .. } => {
                let fresh = self.fresh.remove(&source);
                let is_first = self.known.insert(source);
                let Some((fresh, objects)) = fresh.zip(self.objects.get_mut(&source)) else {
                    return is_first;
                };
                let before = objects.len();
                objects.retain(|name, _| fresh.contains(name));
                is_first || objects.len() != before
            }
            Seen::Resumed | Seen::Trouble { .. } => false,
        }
    }

    /// An object as the server has it now, for example after we wrote it.
    pub(crate) fn put(&mut self, source: Source, mut object: Value) -> bool {
        let name = lockstep_api::object::name(&object).to_owned();
        if let Some(metadata) = object["metadata"].as_object_mut() {
            metadata.remove("managedFields");
        }
        if let Some(fresh) = self.fresh.get_mut(&source) {
            fresh.insert(name.clone());
        }
        let objects = self.objects.entry(source).or_default();
        if objects.get(&name).is_some_and(|known| is_newer(known, &object)) {
            return false;
        }
        let before = objects.insert(name.clone(), object);
        before.as_ref() != objects.get(&name)
    }

    /// Nothing is to be had of a source for now; whether anything is different.
    pub(crate) fn absent(&mut self, source: Source) -> bool {
        let had = self.objects.remove(&source).is_some_and(|objects| !objects.is_empty());
        self.fresh.remove(&source);
        self.known.insert(source) || had
    }

    /// Whether everything that decisions depend on has been looked at.
    pub(crate) fn is_known(&self) -> bool {
        Source::ALL.iter().all(|source| self.known.contains(source))
    }

    /// The ClusterVersion as text of the API, if it is there.
    pub(crate) fn raw_version(&self) -> Option<&Value> {
        self.one(Source::Version)
    }

    /// The ClusterVersion, if it is there and can be read.
    pub(crate) fn version(&self) -> Option<ClusterVersion> {
        let read = serde_json::from_value(self.raw_version()?.clone());
        read.inspect_err(|error| tracing::error!("ClusterVersion version cannot be read: {error}")).ok()
    }

    /// All ClusterOperators that can be read, by name.
    pub(crate) fn operators(&self) -> Vec<ClusterOperator> {
        let all = self.objects.get(&Source::Operators).into_iter().flat_map(BTreeMap::values);
        all.filter_map(|object| serde_json::from_value(object.clone()).ok()).collect()
    }

    /// One ClusterOperator.
    pub(crate) fn operator(&self, name: &str) -> Option<&Value> {
        self.objects.get(&Source::Operators)?.get(name)
    }

    /// The only object of a source.
    pub(crate) fn one(&self, source: Source) -> Option<&Value> {
        self.objects.get(&source)?.get(source.place().name?)
    }

    /// All objects of a source.
    pub(crate) fn all(&self, source: Source) -> impl Iterator<Item = &Value> {
        self.objects.get(&source).into_iter().flat_map(BTreeMap::values)
    }

    /// The entries of a `ConfigMap`.
    pub(crate) fn entries(&self, source: Source) -> Option<BTreeMap<String, String>> {
        let data = self.one(source)?["data"].as_object();
        let text = |(key, value): (&String, &Value)| Some((key.clone(), value.as_str()?.to_owned()));
        Some(data.into_iter().flatten().filter_map(text).collect())
    }
}

/// Whether the version of an object that is known is later than that of another one. Versions are numbers, although
/// nobody promises that; where they are not, the later event is the later state.
fn is_newer(known: &Value, other: &Value) -> bool {
    let number = |object: &Value| object["metadata"]["resourceVersion"].as_str()?.parse::<u64>().ok();
    // A deleted object that came back begins with a later version, so a lower one is always an older one.
    matches!((number(known), number(other)), (Some(known), Some(other)) if known > other)
}

/// Where a source is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    pub(crate) group: &'static str,
    pub(crate) version: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) plural: &'static str,
    pub(crate) namespace: Option<&'static str>,
    pub(crate) name: Option<&'static str>,
}

// === impl Source ===

impl Source {
    pub(crate) const ALL: [Self; 15] = [
        Self::Version,
        Self::Operators,
        Self::FeatureGates,
        Self::Proxy,
        Self::Infrastructure,
        Self::ApiServer,
        Self::AdminGates,
        Self::AdminAcks,
        Self::TrustedCa,
        Self::PullSecret,
        Self::DigestMirrors,
        Self::ContentSources,
        Self::Installer,
        Self::InstallerManifests,
        Self::ClientCa,
    ];

    /// Where it is.
    pub(crate) fn place(self) -> Place {
        use lockstep_api::names::{group, kind};
        let config = |kind, plural, name| Place {
            group: group::CONFIG,
            version: "v1",
            kind,
            plural,
            namespace: None,
            name,
        };
        let core = |kind, plural, namespace, name| Place {
            group: "",
            version: "v1",
            kind,
            plural,
            namespace: Some(namespace),
            name: Some(name),
        };
        let map = |namespace, name| core(kind::CONFIG_MAP, "configmaps", namespace, name);
        match self {
            Self::Version => config(kind::CLUSTER_VERSION, "clusterversions", Some(object::VERSION)),
            Self::Operators => config(kind::CLUSTER_OPERATOR, "clusteroperators", None),
            Self::FeatureGates => config(kind::FEATURE_GATE, "featuregates", Some(object::CLUSTER)),
            Self::Proxy => config(kind::PROXY, "proxies", Some(object::CLUSTER)),
            Self::Infrastructure => config(kind::INFRASTRUCTURE, "infrastructures", Some(object::CLUSTER)),
            Self::ApiServer => config(kind::API_SERVER, "apiservers", Some(object::CLUSTER)),
            Self::DigestMirrors => config("ImageDigestMirrorSet", "imagedigestmirrorsets", None),
            Self::ContentSources => Place {
                group: group::OPERATOR,
                version: "v1alpha1",
                kind: "ImageContentSourcePolicy",
                plural: "imagecontentsourcepolicies",
                namespace: None,
                name: None,
            },
            Self::AdminGates => map(namespace::CONFIG_MANAGED, object::ADMIN_GATES),
            Self::AdminAcks => map(namespace::CONFIG, object::ADMIN_ACKS),
            Self::TrustedCa => map(namespace::CONFIG_MANAGED, object::TRUSTED_CA_BUNDLE),
            Self::Installer => map(namespace::CONFIG, object::INSTALL),
            Self::InstallerManifests => map(namespace::CONFIG, object::INSTALL_MANIFESTS),
            Self::ClientCa => map(namespace::KUBE_SYSTEM, object::API_SERVER_AUTHENTICATION),
            Self::PullSecret => core(kind::SECRET, "secrets", namespace::CONFIG, object::PULL_SECRET),
        }
    }

    /// The name of the definition without which its kind is not served; `None` for a kind of Kubernetes itself.
    pub(crate) fn definition(self) -> Option<String> {
        let Place { group, plural, .. } = self.place();
        (!group.is_empty()).then(|| format!("{plural}.{group}"))
    }
}

#[cfg(test)]
#[path = "world_tests.rs"]
mod tests;
