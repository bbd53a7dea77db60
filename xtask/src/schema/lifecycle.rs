//! Lifecycle marks in the Go sources: which API versions this Kubernetes no longer serves, and what replaces them.
//!
//! The sources keep the types of versions that are gone, each with the release that stopped serving it. Versions whose
//! types are gone too are in the hand-written `crates/schema/data/removed.json`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::Error;
use crate::error::io_error;
use crate::kube::module_sources;

/// The modules that define API groups.
const MODULES: [&str; 3] = ["k8s.io/api", "k8s.io/apiextensions-apiserver", "k8s.io/kube-aggregator"];
/// The generated file that carries the marks of one group version.
const MARKS: &str = "zz_generated.prerelease-lifecycle.go";

/// Messages and subresources that carry marks too; nobody writes a manifest of them.
const NO_MANIFEST: [&str; 6] =
    ["APIGroupDiscovery", "AdmissionReview", "ConversionReview", "DeploymentRollback", "Eviction", "Scale"];

/// All kinds that a release up to `version` (`v1.36.3`) stopped serving, in the order of group, version and kind.
///
/// `served` are the kinds of discovery; a replacement is always one of them.
pub(super) fn read(version: &str, served: &[Value]) -> Result<Vec<Value>, Error> {
    let current = minor(version).ok_or_else(|| Error::Data {
        from: "xtask/kube/go.mod".into(),
        what: format!("`{version}` is not a version of Kubernetes 1"),
    })?;
    let mut removed = BTreeMap::new();
    for module in MODULES {
        for folder in marked_folders(&module_sources(module)?)? {
            let text = |name: &str| {
                let file = folder.join(name);
                fs::read_to_string(&file).map_err(io_error(format!("reading `{}`", file.display())))
            };
            let register = text("register.go")?;
            let Some(group) = group_name(&register) else {
                return Err(Error::Data {
                    from: folder.join("register.go").display().to_string(),
                    what: "it has no `GroupName = \"…\"`".into(),
                });
            };
            let version = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
            for (kind, mark) in marks(&text(MARKS)?) {
                let Some(removed_in) = mark.removed_in else { continue };
                if removed_in <= current && !NO_MANIFEST.contains(&kind.as_str()) {
                    let entry = json!({
                        "apiVersion": format!("{group}/{version}"),
                        "kind": kind,
                        "in": format!("1.{removed_in}"),
                        "replacement": replacement(group, &kind, &mark, served),
                    });
                    removed.insert((group.to_owned(), version.clone(), kind), entry);
                }
            }
        }
    }
    Ok(removed.into_values().collect())
}

/// What the sources say about one kind.
#[derive(Debug, Default, PartialEq)]
struct Mark {
    /// The minor release of Kubernetes 1 that does not serve it any more.
    removed_in: Option<u32>,
    /// (group, version, kind) to use instead.
    replacement: Option<(String, String, String)>,
}

/// Reads the methods of the generated file; list types are left out, they go with their items.
fn marks(source: &str) -> BTreeMap<String, Mark> {
    let mut marks: BTreeMap<String, Mark> = BTreeMap::new();
    let mut lines = source.lines();
    while let Some(line) = lines.next() {
        let Some((kind, method)) = line.strip_prefix("func (in *").and_then(|rest| rest.split_once(") "))
        else {
            continue;
        };
        let body = lines.next().unwrap_or_default().trim();
        let mark = marks.entry(kind.to_owned()).or_default();
        if method.starts_with("APILifecycleRemoved(") {
            mark.removed_in = body.strip_prefix("return 1, ").and_then(|minor| minor.parse().ok());
        } else if method.starts_with("APILifecycleReplacement(") {
            let part = |name: &str| {
                let (_, rest) = body.split_once(&format!("{name}: \""))?;
                rest.split_once('"').map(|(value, _)| value.to_owned())
            };
            mark.replacement = part("Group")
                .zip(part("Version"))
                .zip(part("Kind"))
                .map(|((group, version), kind)| (group, version, kind));
        }
    }
    let lists: Vec<String> =
        marks.keys().filter_map(|kind| kind.strip_suffix("List")).map(|item| format!("{item}List")).collect();
    marks.retain(|kind, _| !lists.contains(kind));
    marks
}

/// What to use instead: what the mark says, when that is served; else the same kind in a served version of its group.
///
/// The mark alone does not do: it may name a version that is gone as well, and for a few kinds there is none.
fn replacement(group: &str, kind: &str, mark: &Mark, served: &[Value]) -> Value {
    let stated = mark.replacement.as_ref().and_then(|(group, version, kind)| {
        served.iter().find(|it| {
            it["group"] == group.as_str() && it["version"] == version.as_str() && it["kind"] == kind.as_str()
        })
    });
    let same = || served.iter().rev().find(|it| it["group"] == group && it["kind"] == kind);
    match stated.or_else(same) {
        None => Value::Null,
        Some(it) => {
            let (group, version) = (&it["group"], &it["version"]);
            let api_version =
                format!("{}/{}", group.as_str().unwrap_or_default(), version.as_str().unwrap_or_default());
            json!({"apiVersion": api_version.trim_start_matches('/'), "kind": it["kind"]})
        }
    }
}

fn group_name(register: &str) -> Option<&str> {
    let (_, rest) = register.split_once("GroupName = \"")?;
    rest.split_once('"').map(|(name, _)| name)
}

fn minor(version: &str) -> Option<u32> {
    version.strip_prefix("v1.")?.split('.').next()?.parse().ok()
}

/// All folders below `root` that hold marks.
fn marked_folders(root: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut found = Vec::new();
    let mut open = vec![root.to_owned()];
    while let Some(folder) = open.pop() {
        let doing = || format!("listing `{}`", folder.display());
        for entry in fs::read_dir(&folder).map_err(io_error(doing()))? {
            let entry = entry.map_err(io_error(doing()))?;
            if entry.file_type().map_err(io_error(doing()))?.is_dir() {
                open.push(entry.path());
            } else if entry.file_name() == MARKS {
                found.push(folder.clone());
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "
func (in *Ingress) APILifecycleDeprecated() (major, minor int) {
\treturn 1, 14
}
func (in *Ingress) APILifecycleReplacement() schema.GroupVersionKind {
\treturn schema.GroupVersionKind{Group: \"networking.k8s.io\", Version: \"v1\", Kind: \"Ingress\"}
}
func (in *Ingress) APILifecycleRemoved() (major, minor int) {
\treturn 1, 22
}
func (in *IngressList) APILifecycleRemoved() (major, minor int) {
\treturn 1, 22
}
";

    #[test]
    fn removal_and_replacement_are_read_and_the_list_type_is_left_out() {
        let marks = marks(SOURCE);
        let stated = ("networking.k8s.io".to_owned(), "v1".to_owned(), "Ingress".to_owned());
        assert_eq!(
            marks.into_iter().collect::<Vec<_>>(),
            [("Ingress".to_owned(), Mark { removed_in: Some(22), replacement: Some(stated) })]
        );
    }

    #[test]
    fn a_replacement_is_the_stated_kind_or_else_the_served_version_of_the_same_kind() {
        let served = [
            json!({"group": "networking.k8s.io", "version": "v1", "kind": "Ingress"}),
            json!({"group": "events.k8s.io", "version": "v1", "kind": "Event"}),
        ];
        let stated = |group: &str, version: &str, kind: &str| Mark {
            removed_in: Some(22),
            replacement: Some((group.into(), version.into(), kind.into())),
        };
        let ingress = json!({"apiVersion": "networking.k8s.io/v1", "kind": "Ingress"});
        let of_extensions = stated("networking.k8s.io", "v1", "Ingress");
        assert_eq!(replacement("extensions", "Ingress", &of_extensions, &served), ingress);
        let of_gone = stated("networking.k8s.io", "v1beta1", "Ingress");
        assert_eq!(replacement("networking.k8s.io", "Ingress", &of_gone, &served), ingress);
        assert_eq!(
            replacement("events.k8s.io", "Event", &Mark::default(), &served)["apiVersion"],
            "events.k8s.io/v1"
        );
        assert_eq!(replacement("policy", "PodSecurityPolicy", &Mark::default(), &served), Value::Null);
    }

    #[test]
    fn the_minor_release_and_the_group_are_found() {
        assert_eq!(minor("v1.36.3"), Some(36));
        assert_eq!(minor("v2.0.0"), None);
        assert_eq!(group_name("const GroupName = \"policy\"\n"), Some("policy"));
        assert_eq!(group_name("package v1"), None);
    }
}
