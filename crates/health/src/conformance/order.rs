//! In which order the manifests of an operator run, and what they name.

use std::collections::BTreeMap;

use lockstep_api::names::kind;
use lockstep_api::object;

use super::folder::Placed;
use super::{Check, Folder, Outcome, Rule};
use crate::facts::{list, text};

pub(super) const CHECKS: &[Check<Folder>] = &[
    Check {
        rule: Rule {
            id: "clusteroperator-after-deployment",
            says: "The ClusterOperator comes after everything that runs",
            remedy: "give the file of the ClusterOperator a name that sorts last",
        },
        judge: clusteroperator_after_deployment,
    },
    Check {
        rule: Rule {
            id: "namespace-first",
            says: "A Namespace comes before the objects in it",
            remedy: "give the file of the Namespace a name that sorts first",
        },
        judge: namespace_first,
    },
    Check {
        rule: Rule {
            id: "files-read",
            says: "Every file is one that is read",
            remedy: "name manifests .yaml, .yml or .json; keep other files out of the folder",
        },
        judge: files_read,
    },
    Check {
        rule: Rule {
            id: "related-objects-shipped",
            says: "The ClusterOperator names at least one namespace and one other object",
            remedy: "list the namespaces and the configuration of the operator in status.relatedObjects",
        },
        judge: related_objects_shipped,
    },
    Check {
        rule: Rule {
            id: "related-namespaces-shipped",
            says: "Every Namespace that is shipped is a related object",
            remedy: "list each Namespace in status.relatedObjects, or nobody gathers what happens in it",
        },
        judge: related_namespaces_shipped,
    },
];

fn clusteroperator_after_deployment(folder: &Folder) -> Outcome {
    let Some(last) = folder.workloads().last() else {
        return Outcome::not_applicable("nothing runs here; see deployment-shipped");
    };
    if folder.operators().next().is_none() {
        return Outcome::not_applicable("no ClusterOperator is here; see clusteroperator-shipped");
    }
    let early = folder.operators().filter(|operator| operator.place < last.place);
    Outcome::of(early.map(|operator| format!("{} comes before {}", operator.told(), last.told())).collect())
}

fn namespace_first(folder: &Folder) -> Outcome {
    let namespaces: BTreeMap<&str, Placed<'_>> =
        folder.of_kind(kind::NAMESPACE).map(|placed| (object::name(placed.object), placed)).collect();
    if namespaces.is_empty() {
        return Outcome::not_applicable("no Namespace is here; see namespace-shipped");
    }
    let early = folder.objects().filter_map(|placed| {
        let namespace = namespaces.get(object::namespace(placed.object))?;
        (placed.place < namespace.place)
            .then(|| format!("{} comes before {}", placed.told(), namespace.told()))
    });
    Outcome::of(early.collect())
}

fn files_read(folder: &Folder) -> Outcome {
    Outcome::of(folder.unread().iter().map(|name| format!("{name} is not read")).collect())
}

fn related_objects_shipped(folder: &Folder) -> Outcome {
    if folder.operators().next().is_none() {
        return Outcome::not_applicable("no ClusterOperator is here; see clusteroperator-shipped");
    }
    let wrong = folder.operators().filter_map(|placed| {
        let missing = super::related::missing(placed.object)?;
        Some(format!("{}: {missing}", placed.told()))
    });
    Outcome::of(wrong.collect())
}

fn related_namespaces_shipped(folder: &Folder) -> Outcome {
    let operators: Vec<Placed<'_>> = folder.operators().collect();
    let [operator] = operators.as_slice() else {
        return Outcome::not_applicable(format!(
            "{} ClusterOperators are here, so whose namespaces they are is open",
            operators.len()
        ));
    };
    let related = list(&operator.object["status"]["relatedObjects"]);
    let is_listed = |name: &str| {
        related.iter().any(|entry| text(&entry["resource"]) == "namespaces" && text(&entry["name"]) == name)
    };
    let strangers = folder.of_kind(kind::NAMESPACE).filter(|placed| !is_listed(object::name(placed.object)));
    Outcome::of(
        strangers.map(|placed| format!("{} is not among the related objects", placed.told())).collect(),
    )
}
