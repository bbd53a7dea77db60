//! Everything that a diagnosis may read, as data that can be written to a folder and read again.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The version of the format; a folder with a higher one is refused.
pub const VERSION: u32 = 1;

/// What was seen of a cluster at one moment.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Snapshot {
    /// The version of the format.
    pub version: u32,
    /// When it was taken, by the clock of whoever took it; ages are counted from here.
    pub now: Timestamp,
    /// By how many seconds that clock is ahead of the cluster's.
    pub skew_seconds: i64,
    /// What the API said when it could not be read; empty when it answered.
    pub api_error: String,
    /// Objects by resource: `pods`, `clusteroperators.config.openshift.io`. A kind that is not served has no entry.
    pub objects: BTreeMap<String, Vec<Value>>,
    /// What was tried from outside.
    pub probes: Vec<Probe>,
    /// Records of the bootstrap host's services, by service: `bootkube`, `release-image`.
    pub services: BTreeMap<String, Vec<Record>>,
    /// The last lines of a few logs: `namespace/pod/container`, or the name of a unit such as `bootkube.service`.
    pub logs: BTreeMap<String, String>,
    /// Alerts that fire, where somebody asked for them.
    pub alerts: Vec<Alert>,
    /// What the cluster's pull secret has, without the credentials.
    pub pull_secret: Option<PullSecret>,
    /// What the release that the cluster moves to brings, where it is known.
    pub payload: Option<Expected>,
    /// Transitions of operators that were seen while watching, by operator, oldest first.
    pub observed: BTreeMap<String, Vec<Transition>>,
}

/// Something that was tried from outside of the API.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "probe", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Probe {
    /// A name was looked up.
    Dns {
        /// The name: `api.cluster.example.com`.
        name: String,
        /// Who asked: empty for the client, else the name of a node.
        #[serde(default)]
        from: String,
        /// What came of it.
        outcome: Outcome,
    },
    /// A connection was made.
    Tcp {
        /// Host and port.
        address: String,
        /// What stands at that address.
        #[serde(default)]
        through: Through,
        /// What came of it.
        outcome: Outcome,
    },
    /// A TLS handshake was made.
    Tls {
        /// Host and port.
        address: String,
        /// The name that was asked for; empty for an address.
        #[serde(default)]
        name: String,
        /// What came of it.
        outcome: Outcome,
        /// The certificates that were shown, the server's own first.
        #[serde(default)]
        chain: Vec<Certificate>,
    },
    /// A page was asked for.
    Http {
        /// The address.
        url: String,
        /// What stands at that address.
        #[serde(default)]
        through: Through,
        /// What came of it.
        outcome: Outcome,
        /// The status of the answer, if there was one.
        #[serde(default)]
        status: Option<u16>,
        /// The beginning of the answer.
        #[serde(default)]
        body: String,
    },
}

/// What came of a probe.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Outcome {
    /// It worked.
    #[default]
    Good,
    /// It did not, with the error's text.
    Failed(String),
}

/// What a probe went through.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Through {
    /// The address that clients use.
    #[default]
    LoadBalancer,
    /// One server behind it.
    Backend,
}

/// The facts of a certificate, without the key.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Certificate {
    /// Whose it is.
    pub subject: String,
    /// Who signed it.
    pub issuer: String,
    /// The names and addresses that it is valid for.
    pub names: Vec<String>,
    /// What it may be used for: `serverAuth`, `clientAuth`.
    pub usages: Vec<String>,
    /// From when on it is valid.
    pub not_before: Option<Timestamp>,
    /// Until when it is valid.
    pub not_after: Option<Timestamp>,
}

/// One entry of a bootstrap service's record.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Record {
    /// When, as written.
    pub timestamp: String,
    /// `service start`, `stage end` and so on.
    pub phase: String,
    /// `success` or `failure`, at the end of something.
    pub result: String,
    /// The stage of the service.
    pub stage: String,
    /// The command before the service, if it is about one.
    pub pre_command: String,
    /// The command after the service, if it is about one.
    pub post_command: String,
    /// Where the script failed.
    pub error_line: String,
    /// The last lines of the journal.
    pub error_message: String,
}

/// An alert that fires.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Alert {
    /// Its name.
    pub name: String,
    /// Since when it fires.
    pub since: Option<Timestamp>,
    /// What it says.
    pub summary: String,
}

/// A pull secret without its credentials.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PullSecret {
    /// Why it could not be read; empty when it could.
    pub error: String,
    /// The registries that it has an entry for.
    pub registries: Vec<String>,
}

/// What a release brings, as far as a diagnosis asks for it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Expected {
    /// The version of the release.
    pub version: String,
    /// How many manifests the cluster's selection has.
    pub manifests: u64,
    /// ClusterOperators that are expected to report.
    pub operators: Vec<Workload>,
    /// Deployments.
    pub deployments: Vec<Workload>,
    /// Jobs.
    pub jobs: Vec<Workload>,
}

/// A manifest of a release.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Workload {
    /// The namespace, if it has one.
    pub namespace: String,
    /// The name.
    pub name: String,
    /// The component of its file.
    pub component: String,
    /// The run level of its file.
    pub run_level: u32,
    /// The capability that it belongs to, if any.
    pub capability: String,
}

/// A condition that was seen to change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Transition {
    /// When it was seen, by the clock of whoever watched.
    pub at: Timestamp,
    /// The condition's type.
    pub condition: String,
    /// What it turned into.
    pub status: String,
    /// The reason given.
    #[serde(default)]
    pub reason: String,
}

// === impl Outcome ===

impl Outcome {
    /// The text of the error, if it failed.
    pub fn error(&self) -> Option<&str> {
        match self {
            Self::Good => None,
            Self::Failed(error) => Some(error),
        }
    }
}
