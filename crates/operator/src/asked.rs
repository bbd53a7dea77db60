//! What a cluster asks of its operator at a moment, read from what is known of it.

use std::collections::BTreeSet;

use lockstep_api::capability::BaselineSet;
use lockstep_api::names::{annotation, feature_gate, object};
use lockstep_api::validation::{FieldError, validate, without_invalid};
use lockstep_api::{ClusterVersion, Override, Release, UpdateHistory, UpdateState};
use lockstep_apply::modify::{ClusterFacts, ModifyError};
use lockstep_graph::report::Target;
use lockstep_payload::{Capabilities, FeatureGates, Selection};
use lockstep_release::store::ClusterAccess;
use lockstep_updates::request::{Wanted, resolve};
use serde_json::Value;

use crate::settings::Settings;
use crate::world::{Source, World};

/// What is asked.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    /// The ClusterVersion as it is.
    pub(crate) version: ClusterVersion,
    /// What of it cannot be used.
    pub(crate) invalid: Vec<FieldError>,
    /// The release to bring the cluster to.
    pub(crate) wanted: Wanted,
    /// Whether nothing new shall start.
    pub(crate) is_paused: bool,
}

/// How manifests of a release are chosen and completed; a difference is a reason to plan again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Choice {
    pub(crate) gates: FeatureGates,
    pub(crate) capabilities: Capabilities,
    pub(crate) overrides: Vec<Override>,
    pub(crate) facts: ClusterFacts,
}

// === impl Asked ===

impl Asked {
    /// Reads the ClusterVersion; `None` when there is none that can be read.
    pub(crate) fn read(world: &World, own: &Release) -> Option<Self> {
        let version = world.version()?;
        let gates = FeatureGates::of_cluster(world.one(Source::FeatureGates), &own.version);
        let invalid = validate(&version, gates.is_enabled(feature_gate::CLUSTER_UPDATE_ACCEPT_RISKS));
        let usable = without_invalid(version.clone(), &invalid);
        let stays = stays(&version.status.history, own);
        let wanted = resolve(&usable.spec, &usable.status, own, stays);
        let is_paused =
            version.metadata.annotations.get(annotation::PAUSED).is_some_and(|value| value == "true");
        Some(Self { version, invalid, wanted, is_paused })
    }

    /// The release to begin with: one that the cluster is at already, if this operator brought it there itself and
    /// does not come from it.
    ///
    /// A restart must not go back to the operator's own release only because a newer one was asked for meanwhile.
    pub(crate) fn first(&self, own: &Release) -> Wanted {
        let history = &self.version.status.history;
        let Some(newest) = history.first().filter(|newest| !newest.image.is_empty()) else {
            return of_own(own);
        };
        let was_left = history.iter().skip(1).any(|entry| entry.image == own.image);
        if self.wanted.is_own || newest.image == own.image || !was_left {
            return of_own(own);
        }
        let release =
            Release { version: newest.version.clone(), image: newest.image.clone(), ..Release::default() };
        Wanted { release, force: true, is_own: false, remark: None }
    }
}

fn of_own(own: &Release) -> Wanted {
    Wanted { release: own.clone(), force: false, is_own: true, remark: None }
}

/// Whether a cluster of which nothing is asked stays at the release that it is at, and does not go to the operator's own:
/// it was brought there completely, away from the own one, by an operator that is not replaced on the way.
fn stays(history: &[UpdateHistory], own: &Release) -> bool {
    let Some((newest, older)) = history.split_first() else { return false };
    newest.state == UpdateState::Completed
        && newest.image != own.image
        && older.iter().any(|entry| entry.image == own.image)
}

// === impl Choice ===

impl Choice {
    /// Reads how the manifests of a release of a version are chosen and completed.
    ///
    /// # Errors
    /// When an object of the cluster says something that cannot be used.
    pub(crate) fn read(
        world: &World,
        asked: &Asked,
        settings: &Settings,
        release_version: &str,
        had: &BTreeSet<String>,
    ) -> Result<Self, ModifyError> {
        let gates = FeatureGates::of_cluster(world.one(Source::FeatureGates), release_version);
        let spec = asked.version.spec.capabilities.clone().unwrap_or_default();
        let before = asked.version.status.capabilities.iter().flat_map(|status| &status.enabled_capabilities);
        let ensure = before.chain(had).chain(&settings.always_enable).map(String::as_str);
        let capabilities = Capabilities::effective(
            BaselineSet::parse(&spec.baseline_capability_set),
            spec.additional_enabled_capabilities.iter().map(String::as_str),
            ensure,
            &gates.enabled,
        );
        let facts = ClusterFacts::read(
            world.raw_version(),
            world.one(Source::Proxy),
            world.one(Source::Infrastructure),
            world.one(Source::ApiServer),
            object::VERSION,
        )?;
        Ok(Self { gates, capabilities, overrides: asked.version.spec.overrides.clone(), facts })
    }

    /// The filter for a release.
    pub(crate) fn selection(&self, settings: &Settings, major_version: u64) -> Selection {
        Selection {
            exclude: Some(settings.exclude.clone()),
            feature_set: Some(self.gates.feature_set.clone()),
            feature_gates: Some(self.gates.enabled.clone()),
            major_version: Some(major_version),
            profile: Some(settings.profile.clone()),
            capabilities: Some(self.capabilities.filter()),
            overrides: self.overrides.clone(),
        }
    }

    /// What a change of makes an update, as against a plan that is only made again.
    pub(crate) fn target(&self, image: &str, force: bool) -> Target {
        Target {
            image: image.to_owned(),
            force,
            overrides: self.overrides.clone(),
            capabilities: self.capabilities.enabled.clone(),
            feature_gates: self.gates.enabled.clone(),
        }
    }
}

/// What the cluster says about registries.
pub(crate) fn access(world: &World) -> ClusterAccess {
    let proxy = world.one(Source::Proxy).map(|proxy| &proxy["status"]);
    let setting = |key: &str| proxy?[key].as_str().filter(|text| !text.is_empty()).map(str::to_owned);
    let mut mirror_sets: Vec<Value> = world.all(Source::DigestMirrors).cloned().collect();
    mirror_sets.extend(world.all(Source::ContentSources).cloned());
    let certificates = world.entries(Source::TrustedCa).and_then(|mut data| data.remove("ca-bundle.crt"));
    ClusterAccess {
        pull_secret: pull_secret(world),
        certificates: certificates.filter(|text| !text.trim().is_empty()).map(String::into_bytes),
        mirror_sets,
        http_proxy: setting("httpProxy"),
        https_proxy: setting("httpsProxy"),
        no_proxy: setting("noProxy"),
    }
}

fn pull_secret(world: &World) -> Option<Vec<u8>> {
    use base64::Engine as _;
    let text = world.one(Source::PullSecret)?["data"][".dockerconfigjson"].as_str()?;
    let decoded = base64::engine::general_purpose::STANDARD.decode(text);
    decoded.inspect_err(|_| tracing::warn!("the pull secret of the cluster is no base64")).ok()
}

#[cfg(test)]
#[path = "asked_tests.rs"]
mod tests;
