//! A rule of the catalogue, and what it says when it fires.

use jiff::Timestamp;
use lockstep_api::ResourceId;
use lockstep_api::object;
use serde::Serialize;
use serde_json::Value;

use super::Phase;
use super::concerns::Concerns;
use super::facts::Facts;
use super::resource::Resource;

/// One entry of the catalogue.
#[derive(Debug)]
pub struct Rule {
    /// Never changes: a letter and two digits.
    pub id: &'static str,
    /// How deep the cause sits.
    pub layer: Layer,
    /// What is the matter, in a few words.
    pub title: &'static str,
    /// When in the life of a cluster it applies.
    pub phases: &'static [Phase],
    /// How bad it is, unless the hit says otherwise.
    pub level: Level,
    /// How much the signal proves, unless the hit says otherwise.
    pub confidence: Confidence,
    /// What is looked at, for the reference page.
    pub signals: &'static str,
    /// One sentence that explains it.
    pub why: &'static str,
    /// What helps, for the reference page; the commands with names filled in are in the hit.
    pub remedy: &'static str,
    /// Findings that this one explains where both concern the same thing: ids, or their beginnings.
    pub hides: &'static [&'static str],
    pub(super) check: fn(&Facts<'_>) -> Vec<Hit>,
}

/// How deep a cause sits: a trouble of an earlier layer brings those of later ones about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Layer {
    /// Names, load balancers and ports on the way to the API.
    Client,
    /// Certificates, credentials and clocks.
    Pki,
    /// The bootstrap host and what it must have created.
    Bootstrap,
    /// etcd.
    Etcd,
    /// The API server and the static pods of the control plane.
    ApiServer,
    /// Nodes, machines and their certificates.
    Nodes,
    /// Pod network and service network.
    Network,
    /// Names inside of the cluster.
    Dns,
    /// Images and registries.
    Images,
    /// Finding a node.
    Scheduling,
    /// Pods, workloads and admission.
    Pods,
    /// Operators of the platform.
    Operators,
    /// The release and whoever applies it.
    Release,
}

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Good to know.
    Info,
    /// It slows something down, or will hurt later.
    Warning,
    /// Something does not work.
    Error,
    /// Nothing goes on until it is mended.
    Critical,
}

/// How much a finding is to be believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Confidence {
    /// A guess by times or counts.
    Hint,
    /// A text that usually means it.
    Likely,
    /// A field that says it.
    Sure,
}

/// A rule that fired on one object.
#[derive(Debug, Clone)]
pub(super) struct Hit {
    pub(super) object: ResourceId,
    pub(super) since: Option<Timestamp>,
    pub(super) evidence: Vec<String>,
    pub(super) fix: Vec<String>,
    pub(super) concerns: Concerns,
    pub(super) level: Option<Level>,
    pub(super) confidence: Option<Confidence>,
    /// Hits of one rule with the same word are one finding.
    pub(super) group: String,
}

// === impl Level and Confidence ===

impl Level {
    /// The word for people.
    pub fn word(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
            Self::Critical => "critical",
        }
    }
}

impl Confidence {
    /// The word for people.
    pub fn word(self) -> &'static str {
        match self {
            Self::Hint => "hint",
            Self::Likely => "likely",
            Self::Sure => "sure",
        }
    }
}

// === impl Hit ===

impl Hit {
    /// A hit on an object that was listed; it concerns the namespace that the object is in.
    pub(super) fn on(resource: Resource, object: &Value) -> Self {
        Self::named(resource, object::namespace(object), object::name(object))
    }

    /// A hit on an object by its name, which need not exist.
    pub(super) fn named(resource: Resource, namespace: &str, name: &str) -> Self {
        Self {
            object: ResourceId::new(resource.group(), resource.kind, namespace, name),
            since: None,
            evidence: Vec::new(),
            fix: Vec::new(),
            concerns: Concerns::default().namespace(namespace),
            level: None,
            confidence: None,
            group: if namespace.is_empty() { name } else { namespace }.to_owned(),
        }
    }

    /// A hit on something outside of the API: a host, a port, a unit.
    pub(super) fn outside(kind: &str, name: &str) -> Self {
        let object = ResourceId::new("", kind, "", name);
        Self { object, group: name.to_owned(), ..Self::named(super::resource::NODES, "", name) }
    }

    pub(super) fn since(mut self, since: Option<Timestamp>) -> Self {
        self.since = since;
        self
    }

    /// One more line of evidence; empty ones are left out.
    pub(super) fn line(mut self, line: impl Into<String>) -> Self {
        let line = line.into();
        if !line.trim().is_empty() {
            self.evidence.push(line);
        }
        self
    }

    /// One more command.
    pub(super) fn fix(mut self, command: impl Into<String>) -> Self {
        self.fix.push(command.into());
        self
    }

    pub(super) fn concerning(mut self, concerns: Concerns) -> Self {
        self.concerns = self.concerns.and(concerns);
        self
    }

    pub(super) fn level(mut self, level: Level) -> Self {
        self.level = Some(level);
        self
    }

    pub(super) fn confidence(mut self, confidence: Confidence) -> Self {
        self.confidence = Some(confidence);
        self
    }

    /// Makes one finding of all hits of the rule.
    pub(super) fn together(mut self) -> Self {
        self.group = String::new();
        self
    }

    /// Makes one finding of all hits of the rule with this word.
    pub(super) fn by(mut self, group: &str) -> Self {
        group.clone_into(&mut self.group);
        self
    }
}
