//! What is seen of a cluster while somebody waits: watches that never end, and what they have shown so far.

use std::collections::{BTreeMap, BTreeSet};

use futures::StreamExt as _;
use futures::stream::{BoxStream, SelectAll};
use lockstep_api::names::{group, kind, object};
use lockstep_api::object as of;
use lockstep_apply::kinds::Resource;
use lockstep_apply::refusal::Refusal;
use lockstep_apply::server::Server;
use lockstep_apply::watch::{Seen, Watched, watch};
use serde_json::Value;
use tokio::time::Instant;

/// What can be watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// The ClusterVersion `version`.
    Version,
    /// All ClusterOperators.
    Operators,
    /// The `ConfigMap` with which a bootstrap host says that it is done.
    Bootstrap,
    /// The configuration of the etcd operator.
    Etcd,
    /// What the cluster runs on.
    Infrastructure,
    /// All Pods.
    Pods,
}

/// Something is another than before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// This object.
    Object(Source, String),
    /// This object is gone.
    Gone(Source, String),
    /// Everything that exists has been seen, or a watch has trouble.
    Other,
}

/// Watches, and what they have shown.
pub struct Sight {
    streams: SelectAll<BoxStream<'static, (Source, Seen)>>,
    /// What is known now.
    pub cluster: Cluster,
}

/// What is known of a cluster.
#[derive(Debug, Clone, Default)]
pub struct Cluster {
    objects: BTreeMap<Source, BTreeMap<String, Value>>,
    /// Those that were given since the last time that everything was given anew.
    given: BTreeMap<Source, BTreeSet<String>>,
    synced: BTreeSet<Source>,
    troubles: BTreeMap<Source, Trouble>,
}

/// Why nothing is seen.
#[derive(Debug, Clone)]
pub struct Trouble {
    /// Since when.
    pub since: Instant,
    /// Why, as a sentence.
    pub sentence: String,
    /// Whether the server answers, and serves no such kind.
    pub is_absent: bool,
}

// === impl Sight ===

impl Sight {
    /// Opens watches.
    pub fn new(server: &Server, sources: &[Source], seed: u64) -> Self {
        let mut streams: SelectAll<BoxStream<'static, (Source, Seen)>> = SelectAll::new();
        for source in sources {
            let source = *source;
            let stream = watch(server.clone(), source.watched(), seed);
            streams.push(stream.map(move |seen| (source, seen)).boxed());
        }
        Self { streams, cluster: Cluster::default() }
    }

    /// Waits for what is another than before.
    pub async fn next(&mut self) -> Vec<Change> {
        loop {
            let Some((source, seen)) = self.streams.next().await else {
                return std::future::pending().await;
            };
            let changes = self.cluster.on(source, seen, Instant::now());
            if !changes.is_empty() {
                return changes;
            }
        }
    }
}

// === impl Cluster ===

impl Cluster {
    fn on(&mut self, source: Source, seen: Seen, now: Instant) -> Vec<Change> {
        let objects = self.objects.entry(source).or_default();
        match seen {
            Seen::Restarted => {
                self.given.insert(source, BTreeSet::new());
                Vec::new()
            }
            Seen::Object(object) => {
                let name = path(&object);
                if let Some(given) = self.given.get_mut(&source) {
                    given.insert(name.clone());
                }
                let object = source.trimmed(object);
                let is_over = self.troubles.remove(&source).is_some();
                let is_new = objects.get(&name) != Some(&object);
                objects.insert(name.clone(), object);
                if is_new || is_over { vec![Change::Object(source, name)] } else { Vec::new() }
            }
            Seen::Gone(object) => {
                let name = path(&object);
                objects.remove(&name);
                vec![Change::Gone(source, name)]
            }
            Seen::Resumed => {
                self.troubles.remove(&source);
                vec![Change::Other]
            }
            Seen::Synced { .. } => {
                self.troubles.remove(&source);
                self.synced.insert(source);
                let given = self.given.remove(&source).unwrap_or_default();
                let gone: Vec<String> =
                    objects.keys().filter(|name| !given.contains(*name)).cloned().collect();
                objects.retain(|name, _| given.contains(name));
                let gone = gone.into_iter().map(|name| Change::Gone(source, name));
                gone.chain([Change::Other]).collect()
            }
            Seen::Trouble { refusal, .. } => {
                let sentence = refusal.explain(source.words());
                let is_absent = matches!(refusal, Refusal::KindNotServed | Refusal::NotFound);
                let since = self.troubles.get(&source).map_or(now, |before| before.since);
                self.troubles.insert(source, Trouble { since, sentence, is_absent });
                vec![Change::Other]
            }
        }
    }

    /// The ClusterVersion.
    pub fn version(&self) -> Option<&Value> {
        self.object(Source::Version, object::VERSION)
    }

    /// The ClusterOperators by name.
    pub fn operators(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.all(Source::Operators)
    }

    /// All objects of a source: name, with the namespace where there is one, and object.
    pub fn all(&self, source: Source) -> impl Iterator<Item = (&str, &Value)> {
        self.objects.get(&source).into_iter().flatten().map(|(name, object)| (name.as_str(), object))
    }

    /// One object.
    pub fn object(&self, source: Source, name: &str) -> Option<&Value> {
        self.objects.get(&source)?.get(name)
    }

    /// Whether everything of a source has been seen, or the server has no such kind.
    pub fn is_known(&self, source: Source) -> bool {
        self.synced.contains(&source) || self.is_absent(source)
    }

    /// Whether the server answers and has no such kind.
    pub fn is_absent(&self, source: Source) -> bool {
        self.troubles.get(&source).is_some_and(|trouble| trouble.is_absent)
    }

    /// Why nothing is seen of a source now.
    pub fn trouble(&self, source: Source) -> Option<&Trouble> {
        self.troubles.get(&source)
    }
}

// === impl Source ===

impl Source {
    fn resource(self) -> Resource {
        match self {
            Self::Version => {
                Resource::new(group::CONFIG, "v1", kind::CLUSTER_VERSION, "clusterversions", false)
            }
            Self::Operators => {
                Resource::new(group::CONFIG, "v1", kind::CLUSTER_OPERATOR, "clusteroperators", false)
            }
            Self::Bootstrap => Resource::new("", "v1", kind::CONFIG_MAP, "configmaps", true),
            Self::Etcd => Resource::new("operator.openshift.io", "v1", "Etcd", "etcds", false),
            Self::Infrastructure => {
                Resource::new(group::CONFIG, "v1", kind::INFRASTRUCTURE, "infrastructures", false)
            }
            Self::Pods => Resource::new("", "v1", kind::POD, "pods", true),
        }
    }

    /// The one object that is watched, where it is not all of them.
    fn name(self) -> Option<&'static str> {
        match self {
            Self::Version => Some(object::VERSION),
            Self::Bootstrap => Some("bootstrap"),
            Self::Etcd | Self::Infrastructure => Some("cluster"),
            Self::Operators | Self::Pods => None,
        }
    }

    /// What is watched, in words.
    fn words(self) -> &'static str {
        match self {
            Self::Version => "ClusterVersion version",
            Self::Operators => "ClusterOperators",
            Self::Bootstrap => "ConfigMap kube-system/bootstrap",
            Self::Etcd => "Etcd cluster",
            Self::Infrastructure => "Infrastructure cluster",
            Self::Pods => "Pods",
        }
    }

    fn watched(self) -> Watched {
        let (resource, name) = (self.resource(), self.name());
        Watched {
            resource,
            namespace: (self == Self::Bootstrap).then(|| "kube-system".to_owned()),
            label_selector: None,
            field_selector: name.map(|name| format!("metadata.name={name}")),
            metadata_only: false,
        }
    }

    /// An object without what nobody here looks at: thousands of Pods are kept.
    fn trimmed(self, mut object: Value) -> Value {
        if self == Self::Pods
            && let Some(metadata) = object["metadata"].as_object_mut()
        {
            metadata.remove("managedFields");
        }
        object
    }
}

/// The name, with the namespace where there is one.
fn path(object: &Value) -> String {
    match of::namespace(object) {
        "" => of::name(object).to_owned(),
        namespace => format!("{namespace}/{}", of::name(object)),
    }
}
