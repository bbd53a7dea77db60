//! Which objects of a release belong to a cluster: the inclusion filters, in the reference's order and words.

use std::collections::BTreeSet;
use std::fmt;

use lockstep_api::names::{annotation, feature_set, group, kind};
use lockstep_api::{Override, ResourceId, object};

use crate::manifest::Manifest;

/// The filters; each one that is `None` is switched off.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Selection {
    /// Leaves out what is annotated with this identifier.
    pub exclude: Option<String>,
    /// The cluster's feature set; the empty string is `Default`.
    pub feature_set: Option<String>,
    /// The enabled feature gates.
    pub feature_gates: Option<BTreeSet<String>>,
    /// Major version of the release.
    pub major_version: Option<u64>,
    /// The cluster profile.
    pub profile: Option<String>,
    /// Known and enabled capabilities.
    pub capabilities: Option<CapabilityFilter>,
    /// Objects that an administrator manages; only the first entry that names an object counts.
    pub overrides: Vec<Override>,
}

/// Which capabilities exist and which are on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CapabilityFilter {
    /// All capabilities that exist; `None` allows unknown ones, which then count as not enabled.
    pub known: Option<BTreeSet<String>>,
    /// Those that are on.
    pub enabled: BTreeSet<String>,
}

/// Why an object is not part of the cluster. The text is the reference's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Exclusion {
    /// No usable annotations.
    NoAnnotations,
    /// Excluded by the identifier.
    Identifier(String),
    /// Feature set and feature gates on one object.
    BothFeatureAnnotations,
    /// A feature set that does not exist.
    UnknownFeatureSet {
        /// The unknown element.
        element: String,
        /// The whole annotation.
        value: String,
    },
    /// Another feature set is wanted.
    FeatureSet {
        /// The cluster's.
        wanted: String,
        /// Those of the object, sorted.
        sets: String,
    },
    /// A feature gate is off that must be on.
    GateNotEnabled(String),
    /// A feature gate is on that must be off.
    GateEnabled(String),
    /// Something about the major version.
    MajorVersion(String),
    /// Not for this cluster profile.
    ProfileUnset(String),
    /// A profile annotation with another value than `true`.
    ProfileValue {
        /// The profile.
        profile: String,
        /// The value.
        value: String,
    },
    /// Capabilities that do not exist.
    UnknownCapabilities(Vec<String>),
    /// Capabilities that are off.
    DisabledCapabilities(Vec<String>),
    /// Left alone on an administrator's word.
    Overridden,
}

// === impl Selection ===

impl Selection {
    /// Decides about one manifest; the first filter that fails gives the reason.
    ///
    /// *Order*: annotations, identifier, both feature annotations, feature set, feature gates, major version, profile,
    /// capabilities, overrides.
    ///
    /// *Compatibility*: a ClusterOperator of the first generation has no annotations to be asked for; it is selected
    /// unless it is overridden.
    ///
    /// # Errors
    /// The reason why the manifest is not part of the cluster.
    pub fn check(&self, manifest: &Manifest) -> Result<(), Exclusion> {
        match object::annotations(&manifest.object) {
            None if manifest.is_first_generation() => {}
            None => return Err(Exclusion::NoAnnotations),
            Some(annotations) => {
                let annotation = |key: &str| annotations.get(key).copied();
                self.check_identifier(&annotation)?;
                self.check_feature_set(&annotation)?;
                self.check_feature_gates(&annotation)?;
                self.check_major_version(&annotation, &manifest.id)?;
                self.check_profile(&annotation)?;
                self.check_capabilities(&annotation)?;
            }
        }
        self.check_overrides(&manifest.id)
    }

    /// The filters that act when a release is loaded, which are those that the version hash depends on.
    #[must_use]
    pub fn at_load(&self) -> Self {
        Self { capabilities: None, overrides: Vec::new(), ..self.clone() }
    }

    fn check_identifier<'a>(&self, annotation: &impl Fn(&str) -> Option<&'a str>) -> Result<(), Exclusion> {
        match &self.exclude {
            Some(id) if annotation(&format!("{}{id}", annotation::EXCLUDE_PREFIX)) == Some("true") => {
                Err(Exclusion::Identifier(id.clone()))
            }
            _ => Ok(()),
        }
    }

    fn check_feature_set<'a>(&self, annotation: &impl Fn(&str) -> Option<&'a str>) -> Result<(), Exclusion> {
        let Some(set) = &self.feature_set else { return Ok(()) };
        let Some(value) = annotation(annotation::FEATURE_SET) else { return Ok(()) };
        if self.feature_gates.is_some() && annotation(annotation::FEATURE_GATE).is_some() {
            return Err(Exclusion::BothFeatureAnnotations);
        }
        // NB: elements are not trimmed here, unlike those of the two annotations below.
        let mut sets: Vec<&str> = value.split(',').collect();
        if let Some(element) = sets.iter().find(|element| !feature_set::ALL.contains(element)) {
            return Err(Exclusion::UnknownFeatureSet {
                element: (*element).to_owned(),
                value: value.to_owned(),
            });
        }
        let wanted = feature_set::spelled_out(set);
        if sets.contains(&wanted) {
            return Ok(());
        }
        sets.sort_unstable();
        sets.dedup();
        Err(Exclusion::FeatureSet { wanted: wanted.to_owned(), sets: sets.join(",") })
    }

    fn check_feature_gates<'a>(
        &self,
        annotation: &impl Fn(&str) -> Option<&'a str>,
    ) -> Result<(), Exclusion> {
        let Some(enabled) = &self.feature_gates else { return Ok(()) };
        let Some(value) = annotation(annotation::FEATURE_GATE) else { return Ok(()) };
        for element in elements(value) {
            match element.strip_prefix('-') {
                Some(gate) if enabled.contains(gate) => return Err(Exclusion::GateEnabled(gate.to_owned())),
                None if !enabled.contains(element) => {
                    return Err(Exclusion::GateNotEnabled(element.to_owned()));
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn check_major_version<'a>(
        &self,
        annotation: &impl Fn(&str) -> Option<&'a str>,
        id: &ResourceId,
    ) -> Result<(), Exclusion> {
        let Some(major) = self.major_version else { return Ok(()) };
        let Some(value) = annotation(annotation::MAJOR_VERSION) else { return Ok(()) };
        let is_crd = id.group == group::API_EXTENSIONS && id.kind == kind::CUSTOM_RESOURCE_DEFINITION;
        let is_gate = id.group == group::CONFIG && id.kind == kind::FEATURE_GATE;
        if !is_crd && !is_gate {
            let text = "major version filtering is only supported for feature gates and custom resources";
            return Err(Exclusion::MajorVersion(text.to_owned()));
        }
        major_version_problem(value, major).map_or(Ok(()), |problem| Err(Exclusion::MajorVersion(problem)))
    }

    fn check_profile<'a>(&self, annotation: &impl Fn(&str) -> Option<&'a str>) -> Result<(), Exclusion> {
        let Some(profile) = &self.profile else { return Ok(()) };
        match annotation(&format!("{}{profile}", annotation::INCLUDE_PREFIX)) {
            Some("true") => Ok(()),
            None => Err(Exclusion::ProfileUnset(profile.clone())),
            Some(value) => Err(Exclusion::ProfileValue { profile: profile.clone(), value: value.to_owned() }),
        }
    }

    fn check_capabilities<'a>(&self, annotation: &impl Fn(&str) -> Option<&'a str>) -> Result<(), Exclusion> {
        let Some(filter) = &self.capabilities else { return Ok(()) };
        let names = capability_names(annotation(annotation::CAPABILITY));
        let without = |set: &BTreeSet<String>| -> Vec<String> {
            names.iter().filter(|name| !set.contains(**name)).map(|name| (*name).to_owned()).collect()
        };
        let unknown = filter.known.as_ref().map(&without).unwrap_or_default();
        if !unknown.is_empty() {
            return Err(Exclusion::UnknownCapabilities(unknown));
        }
        let disabled = without(&filter.enabled);
        if disabled.is_empty() { Ok(()) } else { Err(Exclusion::DisabledCapabilities(disabled)) }
    }

    fn check_overrides(&self, id: &ResourceId) -> Result<(), Exclusion> {
        match self.overrides.iter().find(|entry| entry.names(id)) {
            Some(entry) if entry.unmanaged => Err(Exclusion::Overridden),
            _ => Ok(()),
        }
    }
}

/// Comma-separated elements, trimmed, empty ones left out.
pub(crate) fn elements(value: &str) -> impl Iterator<Item = &str> {
    value.split(',').map(str::trim).filter(|element| !element.is_empty())
}

/// The capabilities that an annotation value names; none for an absent or empty one.
pub fn capability_names(value: Option<&str>) -> Vec<&str> {
    value.filter(|value| !value.is_empty()).map(|value| value.split('+').collect()).unwrap_or_default()
}

fn major_version_problem(value: &str, major: u64) -> Option<String> {
    let (mut included, mut excluded) = (BTreeSet::new(), BTreeSet::new());
    for element in elements(value) {
        let (set, what, digits) = match element.strip_prefix('-') {
            Some(digits) => (&mut excluded, "excluded", digits),
            None => (&mut included, "included", element),
        };
        let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
        match digits.parse::<u64>() {
            Ok(number) if plain => set.insert(number),
            _ => return Some(format!("invalid {what} major version {digits:?} in annotation: not a number")),
        };
    }
    let overlap: Vec<String> = included.intersection(&excluded).map(ToString::to_string).collect();
    if !overlap.is_empty() {
        Some(format!("inclusion and exclusion requirements overlap: [{}]", overlap.join(" ")))
    } else if included.contains(&major) {
        None
    } else if excluded.contains(&major) {
        Some(format!("major version {major} matches excluded version {major}"))
    } else if included.is_empty() {
        None
    } else {
        Some(format!("major version {major} does not match any required versions"))
    }
}

// === impl Exclusion ===

impl Exclusion {
    /// Which filter it was, in one word or two, for counting.
    pub fn filter(&self) -> &'static str {
        match self {
            Self::NoAnnotations => "no annotations",
            Self::Identifier(_) => "identifier",
            Self::BothFeatureAnnotations | Self::UnknownFeatureSet { .. } | Self::FeatureSet { .. } => {
                "feature set"
            }
            Self::GateNotEnabled(_) | Self::GateEnabled(_) => "feature gate",
            Self::MajorVersion(_) => "major version",
            Self::ProfileUnset(_) | Self::ProfileValue { .. } => "profile",
            Self::UnknownCapabilities(_) | Self::DisabledCapabilities(_) => "capability",
            Self::Overridden => "override",
        }
    }
}

impl fmt::Display for Exclusion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoAnnotations => f.write_str("no annotations"),
            Self::Identifier(id) => write!(f, "{}{id}=true", annotation::EXCLUDE_PREFIX),
            Self::BothFeatureAnnotations => f.write_str(
                "both feature set and feature gate annotations are present: manifests may specify either a feature \
                 set or a feature gate, but not both",
            ),
            Self::UnknownFeatureSet { element, value } => write!(
                f,
                "unrecognized value {element:?} in {}={value}; known values are: {}",
                annotation::FEATURE_SET,
                feature_set::ALL.join(",")
            ),
            Self::FeatureSet { wanted, sets } => {
                write!(f, "{wanted:?} is required, and {}={sets}", annotation::FEATURE_SET)
            }
            Self::GateNotEnabled(gate) => write!(f, "feature gate {gate} is required but not enabled"),
            Self::GateEnabled(gate) => {
                write!(f, "feature gate {gate} is enabled but manifest requires it to be disabled")
            }
            Self::MajorVersion(text) => f.write_str(text),
            Self::ProfileUnset(profile) => write!(f, "{}{profile} unset", annotation::INCLUDE_PREFIX),
            Self::ProfileValue { profile, value } => {
                write!(f, "unrecognized value {}{profile}={value}", annotation::INCLUDE_PREFIX)
            }
            Self::UnknownCapabilities(names) => write!(f, "unrecognized capability names: {}", names.join(", ")),
            Self::DisabledCapabilities(names) => write!(f, "disabled capabilities: {}", names.join(", ")),
            Self::Overridden => f.write_str("overridden"),
        }
    }
}

#[cfg(test)]
#[path = "selection_tests.rs"]
mod tests;
