//! Flags that say which cluster a release is looked at for.

use std::collections::BTreeSet;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser};

use lockstep_api::capability::{BaselineSet, KNOWN};
use lockstep_api::names::{feature_set, profile};
use lockstep_payload::{Capabilities, LoadOptions, Release, Selection};

/// Which cluster.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Cluster")]
pub(crate) struct SelectionArgs {
    /// Cluster profile; without it that of `CLUSTER_PROFILE`, or self-managed-high-availability.
    #[arg(long)]
    profile: Option<String>,
    /// Feature set; empty means the default.
    #[arg(long, default_value = feature_set::DEFAULT, value_parser = PossibleValuesParser::new(feature_sets()))]
    feature_set: String,
    /// An enabled feature gate (repeatable).
    #[arg(long, value_name = "GATE")]
    feature_gate: Vec<String>,
    /// Baseline capability set; without it everything is enabled.
    #[arg(long, value_name = "SET", value_parser = PossibleValuesParser::new(BaselineSet::ALL.map(BaselineSet::as_str)))]
    capability_set: Option<String>,
    /// An additional enabled capability (repeatable).
    #[arg(long, value_parser = PossibleValuesParser::new(KNOWN))]
    capability: Vec<String>,
    /// A capability that is switched off after all (repeatable), as `lint --all-combinations` reports them.
    #[arg(long, value_name = "CAPABILITY", value_parser = PossibleValuesParser::new(KNOWN), hide_possible_values = true)]
    without_capability: Vec<String>,
    /// Leave out objects that are annotated with this exclude identifier.
    #[arg(long, value_name = "ID", default_value = "", hide_default_value = true)]
    exclude: String,
    /// Pull spec of the release image, for the operator's own manifests.
    #[arg(long, value_name = "PULLSPEC", default_value = "", hide_default_value = true)]
    release_image: String,
}

/// The known feature sets; a cluster spells the default one as the empty string.
fn feature_sets() -> impl Iterator<Item = PossibleValue> {
    feature_set::ALL.into_iter().map(|set| {
        let value = PossibleValue::new(set);
        if set == feature_set::DEFAULT { value.alias("") } else { value }
    })
}

// === impl SelectionArgs ===

impl SelectionArgs {
    /// The flag, else the variable that the reference reads, else the default; empty is as good as absent.
    fn profile(&self) -> String {
        let from_environment = || std::env::var(profile::VARIABLE).ok();
        let given = self.profile.clone().or_else(from_environment).filter(|profile| !profile.is_empty());
        given.unwrap_or_else(|| profile::SELF_MANAGED_HIGH_AVAILABILITY.to_owned())
    }

    /// The profile of the flag alone.
    pub(crate) fn given_profile(&self) -> Option<&str> {
        self.profile.as_deref().filter(|profile| !profile.is_empty())
    }

    /// Whether the pull spec of the release image was given.
    pub(crate) fn has_release_image(&self) -> bool {
        !self.release_image.is_empty()
    }

    /// The same, with another pull spec of the release image where none was given.
    pub(crate) fn or_release_image(&self, pull_spec: &str) -> Self {
        let release_image =
            if self.has_release_image() { self.release_image.clone() } else { pull_spec.to_owned() };
        Self { release_image, ..self.clone() }
    }

    /// What the templates of a release are rendered with.
    pub(crate) fn load_options(&self) -> LoadOptions {
        LoadOptions { release_image: self.release_image.clone(), profile: self.profile() }
    }

    /// The filters for a loaded release.
    pub(crate) fn selection(&self, release: &Release) -> Selection {
        self.selection_for(release.major_version())
    }

    /// The filters for a release of this major version.
    pub(crate) fn selection_for(&self, major_version: u64) -> Selection {
        let gates: BTreeSet<String> = self.feature_gate.iter().cloned().collect();
        let baseline = self.capability_set.as_deref().and_then(BaselineSet::parse);
        let additional = self.capability.iter().map(String::as_str);
        let mut capabilities = Capabilities::effective(baseline, additional, [], &gates);
        capabilities.enabled.retain(|name| !self.without_capability.contains(name));
        Selection {
            exclude: Some(self.exclude.clone()),
            feature_set: Some(self.feature_set.clone()),
            feature_gates: Some(gates),
            major_version: Some(major_version),
            profile: Some(self.profile()),
            capabilities: Some(capabilities.filter()),
            overrides: Vec::new(),
        }
    }

    /// The cluster in a few words, for people.
    pub(crate) fn summary(&self) -> String {
        let mut parts =
            vec![self.profile(), format!("feature set {}", feature_set::spelled_out(&self.feature_set))];
        if !self.feature_gate.is_empty() {
            parts.push(format!("gates {}", self.feature_gate.join(",")));
        }
        match (&self.capability_set, self.capability.is_empty()) {
            (None, _) => parts.push("all capabilities".to_owned()),
            (Some(set), true) => parts.push(format!("capabilities {set}")),
            (Some(set), false) => parts.push(format!("capabilities {set} + {}", self.capability.join(","))),
        }
        if !self.without_capability.is_empty() {
            parts.push(format!("without capability {}", self.without_capability.join(",")));
        }
        if !self.exclude.is_empty() {
            parts.push(format!("without {}", self.exclude));
        }
        parts.join(", ")
    }
}
