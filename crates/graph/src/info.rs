//! A release on one page: version, counts, kinds, run levels, operators and images.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use lockstep_payload::{Release, Selection};

use crate::stage::assigned_to;

/// What `release info` says; the field names are a published format.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReleaseInfo {
    /// Format of this object.
    pub api_version: &'static str,
    /// Always `ReleaseInfo`.
    pub kind: &'static str,
    /// Version of the release.
    pub version: String,
    /// `Multi`, or the architecture given by the caller.
    pub architecture: String,
    /// Hash that a ClusterVersion publishes for this selection.
    pub version_hash: String,
    /// Where a person reads about the release.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Channels, sorted.
    pub channels: Vec<String>,
    /// Versions from which the release can be reached.
    pub previous: Vec<String>,
    /// When the images were put together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created: Option<String>,
    /// All objects of both folders.
    pub objects: usize,
    /// Objects that the selection lets pass.
    pub selected: usize,
    /// Objects that it does not, by the filter that stopped them.
    pub excluded: BTreeMap<&'static str, usize>,
    /// Selected objects by kind.
    pub kinds: BTreeMap<String, usize>,
    /// Run levels of the selected objects, in order.
    pub run_levels: Vec<LevelInfo>,
    /// Components of the selected objects, sorted.
    pub components: Vec<String>,
    /// Selected ClusterOperators, sorted.
    pub cluster_operators: Vec<String>,
    /// How many images the release lists.
    pub images: usize,
    /// What is wrong but does not keep the release from being used.
    pub warnings: Vec<String>,
}

/// One run level.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LevelInfo {
    /// The level as written; empty for files without one.
    pub level: String,
    /// Who it is assigned to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<&'static str>,
    /// Objects by component.
    pub components: BTreeMap<String, usize>,
}

// === impl ReleaseInfo ===

impl ReleaseInfo {
    /// Looks at a release through a selection; `architecture` is used for a release that does not name its own.
    pub fn of(release: &Release, selection: &Selection, architecture: &str) -> Self {
        let mut info = Self {
            api_version: "lockstep.dev/v1",
            kind: "ReleaseInfo",
            version: release.metadata.version.to_string(),
            architecture: if release.metadata.multi_architecture { "Multi" } else { architecture }.to_owned(),
            version_hash: release.version_hash(selection),
            url: release.metadata.url.clone(),
            channels: release.metadata.channels.clone(),
            previous: release.metadata.previous.clone(),
            created: release.images.creation_timestamp.clone(),
            objects: release.manifests.len(),
            selected: 0,
            excluded: BTreeMap::new(),
            kinds: BTreeMap::new(),
            run_levels: Vec::new(),
            components: Vec::new(),
            cluster_operators: Vec::new(),
            images: release.images.tags.len(),
            warnings: release.metadata.warnings.clone(),
        };
        for skipped in &release.skipped {
            info.warnings.push(format!("skipping manifest {}: {}", skipped.file, skipped.error));
        }
        let mut levels: BTreeMap<String, BTreeMap<String, usize>> = BTreeMap::new();
        let (mut components, mut operators) = (BTreeSet::new(), BTreeSet::new());
        for (manifest, decision) in release.decide(selection) {
            if let Err(exclusion) = decision {
                *info.excluded.entry(exclusion.filter()).or_default() += 1;
                continue;
            }
            info.selected += 1;
            *info.kinds.entry(manifest.id.kind.clone()).or_default() += 1;
            let run_level = manifest.run_level.clone();
            let (level, component) =
                run_level.map(|found| (found.level, found.component)).unwrap_or_default();
            *levels.entry(level).or_default().entry(component.clone()).or_default() += 1;
            if !component.is_empty() {
                components.insert(component);
            }
            if manifest.is_cluster_operator() && !manifest.is_delete() {
                operators.insert(manifest.id.name.clone());
            }
        }
        info.run_levels = levels
            .into_iter()
            .map(|(level, components)| LevelInfo { owner: assigned_to(&level), level, components })
            .collect();
        info.components = components.into_iter().collect();
        info.cluster_operators = operators.into_iter().collect();
        info
    }
}

#[cfg(test)]
mod tests {
    use lockstep_payload::{Folder, LoadOptions, MemoryFiles};

    use super::*;

    fn object(api_version: &str, kind: &str, name: &str) -> String {
        format!(
            "apiVersion: {api_version}\nkind: {kind}\nmetadata:\n  name: {name}\n  annotations:\n    include.release.openshift.io/p: \"true\"\n"
        )
    }

    #[test]
    fn everything_is_counted_once() {
        let files = MemoryFiles::new("r")
            .with(Folder::ReleaseManifests, "release-metadata", r#"{"kind":"cincinnati-metadata-v0","version":"1.2.3","metadata":{"url":7}}"#)
            .with(
                Folder::ReleaseManifests,
                "image-references",
                r#"{"kind":"ImageStream","apiVersion":"image.openshift.io/v1","metadata":{"name":"1.2.3"},"spec":{"tags":[{"name":"a"},{"name":"b"}]}}"#,
            )
            .with(Folder::Manifests, "0000_00_own_1.yaml", "a: '{{.Later}}'")
            .with(Folder::ReleaseManifests, "0000_07_net_1.yaml", object("v1", "Namespace", "net"))
            .with(Folder::ReleaseManifests, "0000_07_net_2.yaml", object("config.openshift.io/v1", "ClusterOperator", "network"))
            .with(Folder::ReleaseManifests, "plain.yaml", object("v1", "Namespace", "mon"))
            .with(Folder::ReleaseManifests, "0000_08_out_1.yaml", "kind: X\nmetadata: {name: x}\n");
        let release = Release::load(&files, &LoadOptions::default()).unwrap();
        let selection = Selection { profile: Some("p".to_owned()), ..Selection::default() };
        let info = ReleaseInfo::of(&release, &selection, "amd64");
        assert_eq!((info.objects, info.selected, info.images), (4, 3, 2));
        assert_eq!(info.excluded, BTreeMap::from([("no annotations", 1)]));
        assert_eq!(
            info.kinds,
            BTreeMap::from([("ClusterOperator".to_owned(), 1), ("Namespace".to_owned(), 2)])
        );
        assert_eq!(info.components, ["net"]);
        assert_eq!(info.cluster_operators, ["network"]);
        let levels: Vec<_> =
            info.run_levels.iter().map(|level| (level.level.as_str(), level.owner)).collect();
        assert_eq!(levels, [("", None), ("07", Some("network operator"))]);
        assert_eq!(info.warnings.len(), 2, "{:?}", info.warnings);
    }
}
