//! What is known of the cluster, as far as it is exported.

use std::collections::BTreeMap;

use jiff::Timestamp;

use lockstep_api::names::object;
use lockstep_api::{ClusterOperator, ClusterVersion, Release};

/// What is exported about the cluster; the loops change it, and nothing of it is shown while another replica works.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Facts {
    /// The ClusterVersion.
    pub version: Version,
    /// All ClusterOperators.
    pub operators: Vec<ClusterOperator>,
    /// The release that this operator belongs to.
    pub current: Release,
    /// When that release was made.
    pub payload_created: Option<Timestamp>,
    /// How far the current pass has come.
    pub pass: Option<Pass>,
    /// Who installed the cluster; `None` while nobody could be asked.
    pub installer: Option<Installer>,
    /// When the update service last answered, or its configuration last changed.
    pub updates_retrieved: Option<Timestamp>,
    /// Whether the feature gate is on that publishes update risks.
    pub has_risks: bool,
}

/// What is known of the ClusterVersion.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Version {
    /// Nothing: this replica is not the one at work, or has only just begun.
    #[default]
    Unknown,
    /// That there is none.
    Missing,
    /// The object.
    Found(Box<ClusterVersion>),
}

/// How far a pass over the manifests has come.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pass {
    /// The version that is applied.
    pub version: String,
    /// How many manifests are applied.
    pub done: usize,
    /// How many there are.
    pub total: usize,
}

/// Who installed the cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Installer {
    pub(super) sort: &'static str,
    pub(super) version: String,
    pub(super) invoker: String,
}

/// Stands for an entry that a `ConfigMap` should have.
const MISSING: &str = "<missing>";
/// The sort of an installation that was not run by the installer itself.
const OTHER: &str = "other";

// === impl Version ===

impl Version {
    pub(super) fn found(&self) -> Option<&ClusterVersion> {
        match self {
            Self::Found(version) => Some(version),
            Self::Unknown | Self::Missing => None,
        }
    }
}

// === impl Installer ===

impl Installer {
    /// Reads it from the data of the two `ConfigMap`s that installers leave behind, `None` where there is none.
    ///
    /// *Order*: the one of the installer itself, then the one of those who only made manifests with it.
    pub fn of(
        install: Option<&BTreeMap<String, String>>,
        manifests: Option<&BTreeMap<String, String>>,
    ) -> Self {
        let (sort, data) = match (install, manifests) {
            (Some(data), _) => (object::INSTALL, data),
            (None, Some(data)) => (OTHER, data),
            (None, None) => return Self::default(),
        };
        let entry = |key: &str| data.get(key).map_or(MISSING, String::as_str).to_owned();
        Self { sort, version: entry("version"), invoker: entry("invoker") }
    }
}
