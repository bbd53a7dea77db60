//! Small releases and runs for the cases.

use std::collections::BTreeSet;

use lockstep_api::Time;
use lockstep_graph::{Frontier, Graph, NodeId, Task, TaskId};
use lockstep_payload::{Folder, LoadError, LoadOptions, Manifest, MemoryFiles, Release, Selection};
use serde_json::json;

pub(super) const HA: &str = "include.release.openshift.io/self-managed-high-availability";

/// A moment at which nothing special happens.
pub(super) fn a_time() -> Time {
    serde_json::from_value(json!("2026-01-01T12:00:00Z")).unwrap()
}

/// A release without manifests.
pub(super) fn a_release() -> MemoryFiles {
    let images =
        json!({"kind": "ImageStream", "apiVersion": "image.openshift.io/v1", "metadata": {"name": "1.0.0"}});
    let metadata = json!({"kind": "cincinnati-metadata-v0", "version": "1.0.0"});
    MemoryFiles::new("release").with(Folder::ReleaseManifests, "image-references", images.to_string()).with(
        Folder::ReleaseManifests,
        "release-metadata",
        metadata.to_string(),
    )
}

/// A config map, with further annotations as YAML lines.
pub(super) fn a_map(name: &str, annotations: &str) -> String {
    format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  namespace: default\n  name: {name}\n  annotations:\n    \
         {HA}: \"true\"\n{annotations}"
    )
}

pub(super) fn load(files: &MemoryFiles) -> Result<Release, LoadError> {
    let options = LoadOptions {
        release_image: "image:1".to_owned(),
        profile: "self-managed-high-availability".to_owned(),
    };
    Release::load(files, &options)
}

/// A release whose files each hold one config map of the file's name.
pub(super) fn with_maps(files: &[&str]) -> Release {
    let add = |release: MemoryFiles, file: &&str| {
        release.with(Folder::ReleaseManifests, format!("{file}.yaml"), a_map(&file.replace('_', "-"), ""))
    };
    load(&files.iter().fold(a_release(), add)).unwrap()
}

/// What a default cluster takes.
pub(super) fn a_selection() -> Selection {
    Selection {
        exclude: Some(String::new()),
        feature_set: Some(String::new()),
        feature_gates: Some(BTreeSet::new()),
        major_version: Some(1),
        profile: Some("self-managed-high-availability".to_owned()),
        ..Selection::default()
    }
}

/// The one manifest of a file.
pub(super) fn a_manifest(text: &str) -> Manifest {
    let files = a_release().with(Folder::ReleaseManifests, "0000_10_a_1.yaml", text);
    load(&files).unwrap().manifests.remove(0)
}

pub(super) fn tasks(files: &[&str]) -> Vec<Task> {
    Task::list(&with_maps(files).manifests)
}

/// What can start now, by file name, in order.
pub(super) fn ready(graph: &Graph, frontier: &Frontier) -> Vec<String> {
    frontier.ready().filter_map(|node| frontier.task(node)).map(|task| stem(graph, task)).collect()
}

/// The name of a task's file without its extension.
pub(super) fn stem(graph: &Graph, task: TaskId) -> String {
    graph.tasks[task].file.trim_end_matches(".yaml").to_owned()
}

pub(super) fn next(frontier: &Frontier) -> Option<NodeId> {
    frontier.ready().next()
}

/// The text of an error, or a remark that there was none.
pub(super) fn error_of<T, E: std::fmt::Display>(outcome: Result<T, E>) -> String {
    outcome.map_or_else(|error| error.to_string(), |_| "accepted".to_owned())
}
