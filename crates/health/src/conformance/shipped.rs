//! The seven things that an operator ships, and what must be in them.

use lockstep_api::names::{VERSION_PLACEHOLDER, annotation, group, kind, object as names};
use lockstep_api::object;
use serde_json::Value;

use super::folder::Placed;
use super::{Check, Folder, Outcome, Rule};
use crate::facts::{list, text};

pub(super) const CHECKS: &[Check<Folder>] = &[
    Check {
        rule: Rule {
            id: "namespace-shipped",
            says: "A Namespace is shipped for whatever runs",
            remedy: "add a manifest of the Namespace, sorted before everything in it",
        },
        judge: namespace_shipped,
    },
    Check {
        rule: Rule {
            id: "roles-shipped",
            says: "Every role that a binding names is shipped or is one of the cluster",
            remedy: "ship the Role or ClusterRole, or bind one that every cluster has",
        },
        judge: roles_shipped,
    },
    Check {
        rule: Rule {
            id: "service-account-bound",
            says: "The service account of whatever runs is shipped and bound to a role",
            remedy: "ship a ServiceAccount and a binding that names it, and set serviceAccountName",
        },
        judge: service_account_bound,
    },
    Check {
        rule: Rule {
            id: "deployment-shipped",
            says: "A Deployment, DaemonSet or StatefulSet runs the operator",
            remedy: "ship the Deployment of the operator",
        },
        judge: deployment_shipped,
    },
    Check {
        rule: Rule {
            id: "clusteroperator-shipped",
            says: "A ClusterOperator of the current API is shipped, or nobody waits for the operator",
            remedy: "ship a ClusterOperator of config.openshift.io/v1 with the versions to wait for",
        },
        judge: clusteroperator_shipped,
    },
    Check {
        rule: Rule {
            id: "config-shipped",
            says: "Every ConfigMap that the operator cannot start without is shipped",
            remedy: "ship the ConfigMap, or mark the reference optional",
        },
        judge: config_shipped,
    },
    Check {
        rule: Rule {
            id: "image-references-shipped",
            says: "A file image-references is shipped and names every image that runs",
            remedy: "list each image in image-references under the name that the release gives it",
        },
        judge: image_references_shipped,
    },
    Check {
        rule: Rule {
            id: "versions-listed",
            says: "The ClusterOperator lists the versions to wait for, and `operator` among them, each once",
            remedy: "list `operator` in status.versions, and every operand whose version is reported",
        },
        judge: versions_listed,
    },
    Check {
        rule: Rule {
            id: "version-follows-release",
            says: "The version to wait for is that of the release",
            remedy: "write the placeholder 0.0.1-snapshot; the release puts its version there",
        },
        judge: version_follows_release,
    },
    Check {
        rule: Rule {
            id: "conditions-left-out",
            says: "The ClusterOperator manifest says nothing about conditions, which only the operator knows",
            remedy: "remove status.conditions from the manifest",
        },
        judge: conditions_left_out,
    },
    Check {
        rule: Rule {
            id: "manifests-included",
            says: "Every manifest says in which clusters it belongs",
            remedy: "add the annotation include.release.openshift.io/PROFILE: \"true\"",
        },
        judge: manifests_included,
    },
];

/// Config maps that every namespace gets.
const GIVEN: [&str; 2] = ["kube-root-ca.crt", "openshift-service-ca.crt"];

fn none_runs() -> Outcome {
    Outcome::not_applicable("nothing runs here; see deployment-shipped")
}

fn each_workload(folder: &Folder, judge: impl Fn(Placed<'_>) -> Vec<String>) -> Outcome {
    if folder.workloads().next().is_none() {
        return none_runs();
    }
    Outcome::of(folder.workloads().flat_map(judge).collect())
}

fn each_operator(folder: &Folder, judge: impl Fn(Placed<'_>) -> Vec<String>) -> Outcome {
    if folder.operators().next().is_none() {
        return Outcome::not_applicable("no ClusterOperator is here; see clusteroperator-shipped");
    }
    Outcome::of(folder.operators().flat_map(judge).collect())
}

fn namespace_shipped(folder: &Folder) -> Outcome {
    each_workload(folder, |placed| match object::namespace(placed.object) {
        "" => vec![format!("{} names no namespace", placed.told())],
        namespace if folder.has(kind::NAMESPACE, "", namespace) => Vec::new(),
        namespace => vec![format!("{}: Namespace {namespace} is not among the manifests", placed.told())],
    })
}

fn bindings(folder: &Folder) -> impl Iterator<Item = Placed<'_>> {
    let kinds = [kind::ROLE_BINDING, kind::CLUSTER_ROLE_BINDING];
    folder.objects().filter(move |placed| kinds.contains(&object::kind(placed.object)))
}

fn roles_shipped(folder: &Folder) -> Outcome {
    if bindings(folder).next().is_none() {
        return Outcome::Fail(vec![
            "no RoleBinding and no ClusterRoleBinding is among the manifests".to_owned(),
        ]);
    }
    let missing = bindings(folder).filter_map(|placed| {
        let role = &placed.object["roleRef"];
        let (wanted, name) = (text(&role["kind"]), text(&role["name"]));
        // A ClusterRole may be one of the cluster, such as cluster-admin or view.
        let is_there = match wanted {
            kind::ROLE => folder.has(kind::ROLE, object::namespace(placed.object), name),
            kind::CLUSTER_ROLE => folder.has(kind::CLUSTER_ROLE, "", name) || is_of_the_cluster(name),
            _ => false,
        };
        (!is_there).then(|| format!("{}: {wanted} {name} is not among the manifests", placed.told()))
    });
    Outcome::of(missing.collect())
}

fn is_of_the_cluster(role: &str) -> bool {
    ["cluster-admin", "admin", "edit", "view", "cluster-reader"].contains(&role)
        || role.starts_with("system:")
}

fn service_account_bound(folder: &Folder) -> Outcome {
    each_workload(folder, |placed| {
        let (namespace, name) = (object::namespace(placed.object), placed.service_account());
        let is_subject = |subject: &Value| {
            text(&subject["kind"]) == kind::SERVICE_ACCOUNT
                && text(&subject["name"]) == name
                && [namespace, ""].contains(&text(&subject["namespace"]))
        };
        let mut wrong = Vec::new();
        if !folder.has(kind::SERVICE_ACCOUNT, namespace, name) {
            wrong.push(format!(
                "{}: ServiceAccount {namespace}/{name} is not among the manifests",
                placed.told()
            ));
        }
        if !bindings(folder).any(|binding| list(&binding.object["subjects"]).iter().any(is_subject)) {
            wrong.push(format!("{}: no binding names ServiceAccount {namespace}/{name}", placed.told()));
        }
        wrong
    })
}

fn deployment_shipped(folder: &Folder) -> Outcome {
    match folder.workloads().next() {
        Some(_) => Outcome::Pass,
        None => {
            Outcome::Fail(vec!["no Deployment, DaemonSet or StatefulSet is among the manifests".to_owned()])
        }
    }
}

fn clusteroperator_shipped(folder: &Folder) -> Outcome {
    if folder.operators().next().is_none() {
        return Outcome::Fail(vec!["no ClusterOperator is among the manifests".to_owned()]);
    }
    each_operator(folder, |placed| match object::group(placed.object) {
        group::CONFIG => Vec::new(),
        _ => vec![format!(
            "{} is of {}, the first generation of the API",
            placed.told(),
            object::api_version(placed.object)
        )],
    })
}

fn config_shipped(folder: &Folder) -> Outcome {
    if folder.workloads().next().is_none() {
        return none_runs();
    }
    let needed: Vec<(Placed<'_>, &str)> =
        folder.workloads().flat_map(|placed| config_maps(placed).map(move |name| (placed, name))).collect();
    if needed.is_empty() {
        return Outcome::not_applicable("whatever runs needs no ConfigMap to start");
    }
    let missing = needed.into_iter().filter_map(|(placed, name)| {
        let namespace = object::namespace(placed.object);
        let is_there = folder.has(kind::CONFIG_MAP, namespace, name) || GIVEN.contains(&name);
        (!is_there)
            .then(|| format!("{}: ConfigMap {namespace}/{name} is not among the manifests", placed.told()))
    });
    Outcome::of(missing.collect())
}

/// The config maps without which no Pod of a workload starts.
fn config_maps(placed: Placed<'_>) -> impl Iterator<Item = &str> {
    let volumes = list(&placed.pod()["volumes"]).iter().map(|volume| &volume["configMap"]);
    let from = placed
        .containers()
        .flat_map(|container| list(&container["envFrom"]))
        .map(|from| &from["configMapRef"]);
    let variables = placed.containers().flat_map(|container| list(&container["env"]));
    let variables = variables.map(|variable| &variable["valueFrom"]["configMapKeyRef"]);
    let needed = volumes.chain(from).chain(variables).filter(|reference| reference["optional"] != true);
    needed.map(|reference| text(&reference["name"])).filter(|name| !name.is_empty())
}

fn image_references_shipped(folder: &Folder) -> Outcome {
    let Some(images) = folder.images() else {
        return Outcome::Fail(vec!["there is no file image-references".to_owned()]);
    };
    // Keys are read whatever their case, as the release tools do.
    let names: Vec<&str> = list(&images["spec"]["tags"])
        .iter()
        .map(|tag| {
            if tag["from"]["name"].is_null() {
                text(&tag["from"]["Name"])
            } else {
                text(&tag["from"]["name"])
            }
        })
        .collect();
    let is_listed = |image: &str| names.iter().any(|name| repository(image) == repository(name));
    each_workload(folder, |placed| {
        let images = placed.containers().map(|container| text(&container["image"]));
        let strangers = images.filter(|image| !is_listed(image));
        strangers
            .map(|image| format!("{}: image {image} is not in image-references", placed.told()))
            .collect()
    })
}

/// A pull spec without tag and digest.
fn repository(image: &str) -> &str {
    let image = image.split('@').next().unwrap_or_default();
    match image.rsplit_once(':') {
        Some((before, tag)) if !tag.contains('/') => before,
        _ => image,
    }
}

fn versions_listed(folder: &Folder) -> Outcome {
    each_operator(folder, |placed| super::conditions::wrong_versions(placed.object, &placed.told()))
}

fn version_follows_release(folder: &Folder) -> Outcome {
    if !folder.objects().any(|placed| placed.object.to_string().contains(VERSION_PLACEHOLDER)) {
        return Outcome::not_applicable(
            "no manifest has the placeholder 0.0.1-snapshot: this is a built release",
        );
    }
    each_operator(folder, |placed| {
        let versions = list(&placed.object["status"]["versions"]).iter();
        let own = versions.filter(|entry| text(&entry["name"]) == names::OPERATOR_VERSION);
        own.filter(|entry| text(&entry["version"]) != VERSION_PLACEHOLDER)
            .map(|entry| {
                format!("{}: the version `operator` is always {}", placed.told(), text(&entry["version"]))
            })
            .collect()
    })
}

fn conditions_left_out(folder: &Folder) -> Outcome {
    each_operator(folder, |placed| match list(&placed.object["status"]["conditions"]) {
        [] => Vec::new(),
        conditions => {
            vec![format!("{} has {} conditions, which nobody reads", placed.told(), conditions.len())]
        }
    })
}

fn manifests_included(folder: &Folder) -> Outcome {
    let is_included = |placed: &Placed<'_>| {
        object::annotations(placed.object).is_some_and(|all| {
            all.iter().any(|(key, value)| key.starts_with(annotation::INCLUDE_PREFIX) && *value == "true")
        })
    };
    // The first generation has no annotations and is taken without.
    let strangers = folder
        .objects()
        .filter(|placed| !is_included(placed) && object::group(placed.object) != group::OPERATOR_STATUS);
    Outcome::of(
        strangers
            .map(|placed| format!("{} is in no profile, so no cluster gets it", placed.told()))
            .collect(),
    )
}
