//! For which cluster manifests are taken out: told by an install-config, or by a cluster itself.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;

use lockstep_api::capability::BaselineSet;
use lockstep_api::names::{annotation, feature_set, group, kind, profile};
use lockstep_api::{ClusterVersion, Override};
use lockstep_payload::file_name::is_manifest;
use lockstep_payload::manifest::read_file;
use lockstep_payload::{
    Capabilities, CapabilityFilter, FeatureGates, Files, Folder, Manifest, Selection, yaml,
};

/// The value with which a FeatureGate manifest says that it is not for clusters but for whoever makes their first one.
const FOR_THE_INSTALLER: &str = "false-except-for-the-config-operator";
/// What the minor version behind 4.13 switches on by itself.
const IMPLIED_BEHIND_4_13: [&str; 4] = ["MachineAPI", "Build", "DeploymentConfig", "ImageRegistry"];

/// A cluster that is not there, or not asked any further.
#[derive(Debug, Clone, PartialEq)]
pub struct Inclusion {
    /// What it would get.
    pub selection: Selection,
    /// The platform it runs on, in lower case.
    pub platform: Option<String>,
    /// What could not be found out.
    pub warnings: Vec<String>,
}

// === impl Inclusion ===

impl Inclusion {
    /// Reads an install-config for a release of a major version.
    ///
    /// # Errors
    /// What cannot be understood, named by `file`.
    pub fn of_install_config(
        file: &str,
        bytes: &[u8],
        files: &dyn Files,
        major: u64,
    ) -> Result<Self, String> {
        let documents = yaml::documents(bytes).map_err(|error| format!("{file}: {error}"))?;
        let [document] = documents.as_slice() else {
            return Err(format!("{file}: wanted one document, found {}", documents.len()));
        };
        let config = &document.value;
        let version = config["apiVersion"].as_str().unwrap_or_default();
        if version != "v1" {
            return Err(format!("unrecognized {file} API version: {version:?} (expected \"v1\")"));
        }
        let platforms: Vec<&String> =
            config["platform"].as_object().into_iter().flat_map(|map| map.keys()).collect();
        let platform = match platforms.as_slice() {
            [] => None,
            [one] => Some(one.to_lowercase()),
            several => return Err(format!("{file}: wanted one platform, found {}", several.len())),
        };
        let set = config["featureSet"].as_str().unwrap_or_default();
        let profile = profile::SELF_MANAGED_HIGH_AVAILABILITY;
        let gates = gates_of_release(files, profile, feature_set::spelled_out(set), major);
        let mut warnings = Vec::new();
        if gates.is_none() {
            let set = feature_set::spelled_out(set);
            warnings.push(format!(
                "the release does not say which feature gates {set} enables; objects are not chosen by gates"
            ));
        }
        Ok(Self {
            selection: Selection {
                feature_set: Some(set.to_owned()),
                capabilities: capabilities(file, &config["capabilities"], gates.as_ref())?,
                feature_gates: gates,
                major_version: Some(major),
                profile: Some(profile.to_owned()),
                ..Selection::default()
            },
            platform,
            warnings,
        })
    }

    /// Reads what a cluster says about itself.
    ///
    /// # Errors
    /// When it does not say what is needed.
    pub fn of_cluster(
        version: &Value,
        gates: Option<&Value>,
        infrastructure: Option<&Value>,
        profile: &str,
    ) -> Result<Self, String> {
        let read: ClusterVersion = serde_json::from_value(version.clone())
            .map_err(|error| format!("ClusterVersion version cannot be read: {error}"))?;
        let desired = version["status"]["desired"]["version"].as_str().unwrap_or_default();
        let numbers: Option<(u64, u64)> = desired.split_once('.').and_then(|(major, rest)| {
            let minor = rest.split(['.', '-', '+']).next()?;
            Some((major.parse().ok()?, minor.parse().ok()?))
        });
        let Some((major, minor)) = numbers else {
            return Err(format!(
                "failed to parse major.minor version from ClusterVersion status.desired.version {desired:?}"
            ));
        };
        let platform = infrastructure.and_then(|found| found["status"]["platformStatus"]["type"].as_str());
        if infrastructure.is_some() && platform.is_none() {
            return Err("cluster infrastructure does not declare status.platformStatus".to_owned());
        }
        let overrides: Vec<Override> = read.spec.overrides;
        let selection = Selection {
            capabilities: capabilities_of_cluster(&version["status"]["capabilities"], (major, minor)),
            major_version: Some(major),
            profile: Some(profile.to_owned()),
            overrides,
            ..Selection::default()
        };
        Ok(Self {
            selection: FeatureGates::of_cluster(gates, desired).select(&selection),
            platform: platform.map(str::to_lowercase),
            warnings: Vec::new(),
        })
    }
}

/// The profile that the Deployment of a cluster's operator names; without a name the operator takes the default one.
pub fn profile_of_operator(deployment: &Value) -> String {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let containers = list(&deployment["spec"]["template"]["spec"]["containers"]);
    let variables = containers.iter().flat_map(|container| list(&container["env"]));
    let named = variables.filter(|variable| variable["name"] == profile::VARIABLE);
    let named = named.filter_map(|variable| variable["value"].as_str().map(str::to_owned));
    let mut named = named.filter(|name| !name.is_empty());
    named.next().unwrap_or_else(|| profile::SELF_MANAGED_HIGH_AVAILABILITY.to_owned())
}

fn capabilities(
    file: &str,
    stanza: &Value,
    gates: Option<&BTreeSet<String>>,
) -> Result<Option<CapabilityFilter>, String> {
    if stanza.is_null() {
        return Ok(None);
    }
    let baseline = match stanza["baselineCapabilitySet"].as_str() {
        None => None,
        Some(name) => Some(
            BaselineSet::parse(name)
                .ok_or_else(|| format!("{file}: unrecognized baselineCapabilitySet {name:?}"))?,
        ),
    };
    let additional = stanza["additionalEnabledCapabilities"].as_array().into_iter().flatten();
    let additional: Vec<&str> = additional.filter_map(Value::as_str).collect();
    let none = BTreeSet::new();
    Ok(Some(Capabilities::effective(baseline, additional, [], gates.unwrap_or(&none)).filter()))
}

fn capabilities_of_cluster(status: &Value, version: (u64, u64)) -> Option<CapabilityFilter> {
    let names = |name: &str| {
        let all = status[name].as_array().into_iter().flatten();
        all.filter_map(|name| name.as_str().map(str::to_owned)).collect::<BTreeSet<_>>()
    };
    if !status.is_object() {
        return None;
    }
    let (mut known, mut enabled) = (names("knownCapabilities"), names("enabledCapabilities"));
    if version == (4, 13) {
        for set in [&mut known, &mut enabled] {
            set.extend(IMPLIED_BEHIND_4_13.map(str::to_owned));
        }
    }
    Some(CapabilityFilter { known: Some(known), enabled })
}

/// The gates that a release enables in a feature set, as its own FeatureGate manifests say.
fn gates_of_release(files: &dyn Files, profile: &str, set: &str, major: u64) -> Option<BTreeSet<String>> {
    let by_major = Selection { major_version: Some(major), ..Selection::default() };
    let is_meant = |manifest: &Manifest| {
        let include = format!("{}{profile}", annotation::INCLUDE_PREFIX);
        let of_set = manifest.annotation(annotation::FEATURE_SET).unwrap_or(feature_set::DEFAULT);
        manifest.id.group == group::CONFIG
            && manifest.id.kind == kind::FEATURE_GATE
            && manifest.annotation(&include) == Some(FOR_THE_INSTALLER)
            && of_set.split(',').any(|name| feature_set::spelled_out(name.trim()) == set)
            && by_major.check(manifest).is_ok()
    };
    for name in files.list(Folder::ReleaseManifests).ok()?.iter().filter(|name| is_manifest(name)) {
        let Ok(bytes) = files.read(Folder::ReleaseManifests, name) else { continue };
        let mentions =
            bytes.windows(kind::FEATURE_GATE.len()).any(|part| part == kind::FEATURE_GATE.as_bytes());
        if !mentions {
            continue;
        }
        let manifests =
            read_file(Folder::ReleaseManifests, &Arc::from(name.as_str()), &bytes).unwrap_or_default();
        if let Some(manifest) = manifests.iter().find(|manifest| is_meant(manifest)) {
            return FeatureGates::of_manifest(name, &manifest.object).ok().map(|found| found.enabled);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use lockstep_payload::MemoryFiles;
    use serde_json::json;

    use super::*;

    fn files() -> MemoryFiles {
        let gates = |set: &str, gate: &str| {
            json!({"apiVersion": "config.openshift.io/v1", "kind": "FeatureGate", "metadata": {"name": "cluster", "annotations": {
                "include.release.openshift.io/self-managed-high-availability": FOR_THE_INSTALLER,
                "release.openshift.io/feature-set": set}},
                "spec": {"featureSet": set}, "status": {"featureGates": [{"version": "", "enabled": [{"name": gate}]}]}})
            .to_string()
        };
        MemoryFiles::new("r")
            .with(Folder::ReleaseManifests, "featureGate-1.yaml", gates("Default", "A"))
            .with(Folder::ReleaseManifests, "featureGate-2.yaml", gates("TechPreviewNoUpgrade", "B"))
    }

    fn read(text: &str) -> Result<Inclusion, String> {
        Inclusion::of_install_config("install-config.yaml", text.as_bytes(), &files(), 4)
    }

    #[test]
    fn an_install_config_says_set_platform_and_capabilities() {
        let plain = read("apiVersion: v1\nplatform: {AWS: {}}\n").unwrap();
        assert_eq!(plain.platform.as_deref(), Some("aws"));
        assert_eq!(plain.selection.capabilities, None, "no stanza, no filter");
        assert_eq!(plain.selection.feature_gates, Some(BTreeSet::from(["A".to_owned()])));
        let tech = read("apiVersion: v1\nfeatureSet: TechPreviewNoUpgrade\ncapabilities: {baselineCapabilitySet: None, additionalEnabledCapabilities: [Console]}\n").unwrap();
        assert_eq!(tech.selection.feature_gates, Some(BTreeSet::from(["B".to_owned()])));
        assert_eq!(tech.selection.capabilities.unwrap().enabled, BTreeSet::from(["Console".to_owned()]));
        let dev = read("apiVersion: v1\nfeatureSet: DevPreviewNoUpgrade\n").unwrap();
        assert_eq!((dev.selection.feature_gates, dev.warnings.len()), (None, 1));
    }

    #[test]
    fn what_is_wrong_with_it_is_said() {
        for (text, expected) in [
            ("apiVersion: v2\n", "unrecognized install-config.yaml API version: \"v2\" (expected \"v1\")"),
            ("{}", "unrecognized install-config.yaml API version: \"\" (expected \"v1\")"),
            (
                "apiVersion: v1\ncapabilities: {baselineCapabilitySet: v9}\n",
                "install-config.yaml: unrecognized baselineCapabilitySet \"v9\"",
            ),
            (
                "apiVersion: v1\nplatform: {aws: {}, gcp: {}}\n",
                "install-config.yaml: wanted one platform, found 2",
            ),
        ] {
            assert_eq!(read(text).unwrap_err(), expected);
        }
    }

    #[test]
    fn the_operator_of_a_cluster_knows_its_profile() {
        let deployment = |environment: Value| json!({"spec": {"template": {"spec": {"containers": [{"name": "a"}, {"name": "b", "env": environment}]}}}});
        let of = |environment| profile_of_operator(&deployment(environment));
        assert_eq!(of(json!([{"name": "X", "value": "x"}, {"name": "CLUSTER_PROFILE", "value": "p"}])), "p");
        for none in [json!(null), json!([{"name": "CLUSTER_PROFILE", "value": ""}])] {
            assert_eq!(of(none), "self-managed-high-availability");
        }
    }

    #[test]
    fn a_cluster_says_it_itself() {
        let version = |text: &str| {
            json!({"apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion", "metadata": {"name": "version"},
                "spec": {"clusterID": "", "overrides": [{"group": "apps", "kind": "Deployment", "namespace": "n", "name": "x", "unmanaged": true}]},
                "status": {"desired": {"version": text}, "capabilities": {"knownCapabilities": ["Console"], "enabledCapabilities": []}}})
        };
        let gates = json!({"spec": {"featureSet": "TechPreviewNoUpgrade"}, "status": {"featureGates": [
            {"version": "4.13.1", "enabled": [{"name": "A"}]}, {"version": "4.12.0", "enabled": [{"name": "B"}]}]}});
        let infrastructure = json!({"status": {"platformStatus": {"type": "BareMetal"}}});
        let found =
            Inclusion::of_cluster(&version("4.13.1"), Some(&gates), Some(&infrastructure), "p").unwrap();
        assert_eq!(found.platform.as_deref(), Some("baremetal"));
        assert_eq!(found.selection.feature_gates, Some(BTreeSet::from(["A".to_owned()])));
        assert_eq!(found.selection.overrides.len(), 1);
        let capabilities = found.selection.capabilities.unwrap();
        assert!(capabilities.enabled.contains("Build") && !capabilities.enabled.contains("Console"));
        let later = Inclusion::of_cluster(&version("4.14.0"), None, None, "p").unwrap();
        assert!(later.selection.capabilities.unwrap().enabled.is_empty());
        let error = Inclusion::of_cluster(&version("nonsense"), None, None, "p").unwrap_err();
        assert!(error.starts_with(
            "failed to parse major.minor version from ClusterVersion status.desired.version \"nonsense\""
        ));
        let error = Inclusion::of_cluster(&version("4.14.0"), None, Some(&json!({})), "p").unwrap_err();
        assert!(error.contains("does not declare status.platformStatus"), "{error}");
    }
}
