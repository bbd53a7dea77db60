//! A release with several times the objects, for measurements of what grows with them.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use lockstep_api::names::{kind, object};
use lockstep_api::object as read;
use serde_json::Value;

use crate::releases::load;

/// The folders of a release.
const FOLDERS: [&str; 2] = ["manifests", "release-manifests"];

/// Writes a release folder that has each object `times` times, the copies under other names and in files of their own.
///
/// Objects that a cluster has once stay single. Gives how many copies there are.
///
/// # Panics
/// When the release cannot be read.
pub fn multiply(folder: &Path, times: usize, into: &Path) -> io::Result<usize> {
    for name in FOLDERS {
        fs::create_dir_all(into.join(name))?;
        for entry in fs::read_dir(folder.join(name))? {
            let entry = entry?;
            // Bytes, not files: the permissions of a read-only corpus must not come along.
            fs::write(into.join(name).join(entry.file_name()), fs::read(entry.path())?)?;
        }
    }
    let (release, selection) = load(folder);
    let mut files: BTreeMap<String, String> = BTreeMap::new();
    let mut count = 0;
    for manifest in release.selected(&selection).filter(|it| !it.is_delete() && can_be_copied(&it.object)) {
        let stem = manifest.file.rsplit_once('.').map_or(&*manifest.file, |(stem, _)| stem);
        let text = files.entry(format!("{stem}-copies.yaml")).or_default();
        for number in 2..=times {
            text.extend(["---\n", &copy(&manifest.object, number).to_string(), "\n"]);
            count += 1;
        }
    }
    for (name, text) in files {
        fs::write(into.join(FOLDERS[1]).join(name), text)?;
    }
    Ok(count)
}

/// Whether a cluster can have several of an object.
fn can_be_copied(object: &Value) -> bool {
    match read::kind(object) {
        // CRDs and APIServices have the names of their kinds, and each ClusterOperator would want an operator.
        kind::NAMESPACE | kind::CUSTOM_RESOURCE_DEFINITION | kind::CLUSTER_OPERATOR | kind::API_SERVICE => {
            false
        }
        // The configuration of a component: its CRD allows this one name.
        _ => !(read::namespace(object).is_empty() && read::name(object) == object::CLUSTER),
    }
}

/// The same object under another name.
fn copy(object: &Value, number: usize) -> Value {
    let mut copy = object.clone();
    copy["metadata"]["name"] = format!("{}-{number}", read::name(object)).into();
    copy
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::cli::root;
    use crate::objects;

    use super::*;

    #[test]
    fn three_times_the_objects_are_under_three_names() {
        let from = root().join("examples/releases/1.1.0");
        let folder = tempfile::tempdir().unwrap();
        let into = folder.path().join("1.1.0");
        let copies = multiply(&from, 3, &into).unwrap();
        let (before, after) = (objects::of_release(&from), objects::of_release(&into));
        assert!(copies > 10);
        assert_eq!(after.len(), before.len() + copies);
        let names =
            |kind: &str| after.iter().filter(|it| it.kind == kind).map(|it| it.name.as_str()).collect();
        let operators: Vec<&str> = names("ClusterOperator");
        assert!(operators.iter().all(|name| !name.ends_with("-2")), "{operators:?}");
        let workloads: Vec<&str> = names("Deployment");
        for name in workloads.iter().filter(|name| name.ends_with("-3")) {
            let second = name.replace("-3", "-2");
            assert!(
                workloads.contains(&second.as_str()) && workloads.contains(&&name[..name.len() - 2]),
                "{name}"
            );
        }
        assert_eq!(workloads.len() % 3, 0);
    }

    #[test]
    fn what_a_cluster_has_once_stays_single() {
        let of = |kind: &str, name: &str| json!({"kind": kind, "metadata": {"name": name}});
        assert!(!can_be_copied(&of("Namespace", "a")) && !can_be_copied(&of("Network", "cluster")));
        assert!(can_be_copied(&of("ClusterRole", "a")));
        let inside = json!({"kind": "ConfigMap", "metadata": {"name": "cluster", "namespace": "a"}});
        assert!(can_be_copied(&inside));
    }
}
