//! A task: one manifest to apply, as the graph and people see it.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;

use lockstep_api::ResourceId;
use lockstep_api::names::{group, kind};
use lockstep_payload::{Folder, Manifest, RunLevel};

/// Which task of a graph: its place in the list of tasks, from 0.
pub type TaskId = usize;

/// One manifest to apply.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Task {
    /// Place in the release, from 1; 0 when it does not matter.
    pub index: usize,
    /// How many tasks there are.
    pub total: usize,
    /// Which folder of the release.
    pub folder: Folder,
    /// Base name of the file.
    pub file: Arc<str>,
    /// Run level and component by the file name.
    pub run_level: Option<RunLevel>,
    /// The object.
    pub id: ResourceId,
    /// What the task is to the order of others.
    pub role: Role,
    /// What is special about applying it.
    pub treatment: Treatment,
}

/// What a task is to the order of others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Role {
    /// Nothing waits for more than its being applied.
    Plain,
    /// A ClusterOperator: whatever comes after it waits until the operator is well at its version.
    Gate,
    /// A `batch/v1` Job: everything before it is done before it starts, everything after it waits for its end.
    Barrier,
}

/// How a task is applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Treatment {
    /// Made equal to the manifest, now and later.
    Managed,
    /// Created when missing, never changed.
    CreateOnly,
    /// Removed from the cluster.
    Delete,
}

// === impl Task ===

impl Task {
    /// The tasks of a list of manifests, numbered in its order.
    pub fn list<'a>(manifests: impl IntoIterator<Item = &'a Manifest>) -> Vec<Self> {
        let mut tasks: Vec<Self> = manifests.into_iter().map(Self::of).collect();
        let total = tasks.len();
        for (index, task) in (1..).zip(&mut tasks) {
            task.index = index;
            task.total = total;
        }
        tasks
    }

    fn of(manifest: &Manifest) -> Self {
        let is_job =
            manifest.id.group == group::BATCH && manifest.id.kind == kind::JOB && manifest.version() == "v1";
        // What is removed is never well: a gate on it would never open. A Job stays a barrier, whatever is done to it.
        let role = if manifest.is_cluster_operator() && !manifest.is_delete() {
            Role::Gate
        } else if is_job {
            Role::Barrier
        } else {
            Role::Plain
        };
        let treatment = if manifest.is_delete() {
            Treatment::Delete
        } else if manifest.is_create_only() {
            Treatment::CreateOnly
        } else {
            Treatment::Managed
        };
        Self {
            index: 0,
            total: 0,
            folder: manifest.folder,
            file: Arc::clone(&manifest.file),
            run_level: manifest.run_level.clone(),
            id: manifest.id.clone(),
            role,
            treatment,
        }
    }

    /// The component by the file name, or nothing.
    pub fn component(&self) -> Option<&str> {
        self.run_level.as_ref().map(|run_level| run_level.component.as_str())
    }

    /// The run level by the file name, or nothing.
    pub fn level(&self) -> Option<&str> {
        self.run_level.as_ref().map(|run_level| run_level.level.as_str())
    }
}

/// `kind "namespace/name" (index of total)`, the form of the reference's messages.
impl fmt::Display for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = if self.id.name.is_empty() { &self.file } else { self.id.name.as_str() };
        write!(f, "{} \"", self.id.kind.to_lowercase())?;
        if !self.id.namespace.is_empty() {
            write!(f, "{}/", self.id.namespace)?;
        }
        write!(f, "{name}\" ({} of {})", self.index, self.total)
    }
}

#[cfg(test)]
pub(crate) mod fixture {
    //! Tasks by file name, for tests of the graph.

    use super::*;

    /// A task of a file; a name that starts with `J ` makes it a Job.
    pub(crate) fn a_task(name: &str) -> Task {
        let (role, kind, file) = match name.strip_prefix("J ") {
            Some(file) => (Role::Barrier, "Job", file),
            None => (Role::Plain, "Pod", name),
        };
        Task {
            index: 0,
            total: 0,
            folder: Folder::ReleaseManifests,
            file: Arc::from(file),
            run_level: lockstep_payload::file_name::run_level(file),
            id: ResourceId::new("", kind, "", file),
            role,
            treatment: Treatment::Managed,
        }
    }

    pub(crate) fn tasks(names: &[&str]) -> Vec<Task> {
        names.iter().map(|name| a_task(name)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::fixture::a_task;
    use super::*;

    #[test]
    fn a_deleted_operator_is_no_gate_and_a_deleted_job_is_still_a_barrier() {
        let of = |api_version: &str, kind: &str, delete: &str| {
            let text = format!(
                "apiVersion: {api_version}\nkind: {kind}\nmetadata:\n  name: x\n  annotations:\n    release.openshift.io/delete: \"{delete}\"\n"
            );
            let file = Arc::from("0000_10_a_x.yaml");
            let manifests =
                lockstep_payload::manifest::read_file(Folder::ReleaseManifests, &file, text.as_bytes())
                    .unwrap();
            Task::list(&manifests)[0].role
        };
        assert_eq!(of("config.openshift.io/v1", "ClusterOperator", "false"), Role::Gate);
        assert_eq!(of("config.openshift.io/v1", "ClusterOperator", "true"), Role::Plain);
        assert_eq!(of("batch/v1", "Job", "true"), Role::Barrier);
        assert_eq!(of("batch/v2", "Job", "false"), Role::Plain, "only version 1");
    }

    #[test]
    fn texts_of_the_specification() {
        let text = |kind: &str, namespace: &str, name: &str, index: usize, total: usize| {
            let id = ResourceId::new("", kind, namespace, name);
            Task { index, total, id, ..a_task("list_manifest.yaml") }.to_string()
        };
        let cases = [
            (text("", "", "file-json", 0, 0), " \"file-json\" (0 of 0)"),
            (text("Ingress", "", "file-json", 0, 0), "ingress \"file-json\" (0 of 0)"),
            (text("", "foo", "file-json", 0, 0), " \"foo/file-json\" (0 of 0)"),
            (text("Ingress", "foo", "file-json", 5, 10), "ingress \"foo/file-json\" (5 of 10)"),
            (text("Ingress", "", "file-json", 3, 7), "ingress \"file-json\" (3 of 7)"),
            (text("List", "", "", 0, 0), "list \"list_manifest.yaml\" (0 of 0)"),
        ];
        for (found, expected) in cases {
            assert_eq!(found, expected);
        }
    }
}
