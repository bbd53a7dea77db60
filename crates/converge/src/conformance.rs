//! What the rules of the protocol judge: an operator that is watched for a while, or a folder that is read.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use futures::StreamExt as _;
use futures::stream::{BoxStream, SelectAll};
use jiff::Timestamp;
use lockstep_api::names::{file, group, kind};
use lockstep_api::object;
use lockstep_apply::kinds::Resource;
use lockstep_apply::refusal::Refusal;
use lockstep_apply::server::{Call, ListPage, Server};
use lockstep_apply::watch::{Seen as Event, Watched, watch as follow};
use lockstep_health::conformance::{Folder, History, ManifestFile, RelatedObject, Seen};
use lockstep_payload::yaml::{self, YamlError};
use serde_json::Value;
use tokio::time::Instant;

/// Why a folder cannot be judged.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// It, or a file in it, cannot be read.
    #[error("reading `{0}`")]
    Read(PathBuf, #[source] io::Error),
    /// A file holds no objects.
    #[error("`{0}` holds no manifests: line {line}: {message}", line = .1.line, message = .1.message)]
    Yaml(PathBuf, YamlError),
    /// Nothing in it is a manifest.
    #[error(
        "`{0}` has no file that is read as a manifest; give the folder with the manifests of one operator"
    )]
    Empty(PathBuf),
}

/// Why an operator cannot be judged.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// There never was such a ClusterOperator.
    #[error("clusteroperator/{name} was not there within {limit:?}; {}", known(.others))]
    NotThere {
        /// The name.
        name: String,
        /// How long was looked for it.
        limit: Duration,
        /// Those that are.
        others: Vec<String>,
    },
    /// The server could not be asked.
    #[error("{0}")]
    Refused(String),
}

fn known(others: &[String]) -> String {
    match others {
        [] => "no ClusterOperator is; see `kubectl get crd clusteroperators.config.openshift.io`".to_owned(),
        others => format!("those that are: {}", others.join(", ")),
    }
}

/// Reads the manifests of an operator.
pub fn read_folder(folder: &Path) -> Result<Folder, FolderError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |error| FolderError::Read(path, error)
    };
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed(folder))? {
        let path = entry.map_err(failed(folder))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() || name.starts_with('.') {
            continue;
        }
        let mut objects = Vec::new();
        if Folder::is_read(&name) || name == file::IMAGE_REFERENCES {
            let bytes = fs::read(&path).map_err(failed(&path))?;
            let documents = yaml::documents(&bytes).map_err(|error| FolderError::Yaml(path, error))?;
            objects.extend(documents.into_iter().map(|document| document.value));
        }
        files.push(ManifestFile { name, objects });
    }
    if !files.iter().any(|file| Folder::is_read(&file.name)) {
        return Err(FolderError::Empty(folder.to_owned()));
    }
    Ok(Folder::new(files))
}

/// Watches a ClusterOperator and the workloads of its namespaces for a while.
///
/// `clock` tells the time; the same seed gives the same pauses between tries.
pub async fn watch(
    server: &Server,
    name: &str,
    limit: Duration,
    seed: u64,
    clock: impl Fn() -> Timestamp,
) -> Result<History, WatchError> {
    let end = Instant::now() + limit;
    let mut observer = Observer {
        server,
        seed,
        streams: SelectAll::new(),
        namespaces: BTreeSet::new(),
        history: History {
            name: name.to_owned(),
            reports: Vec::new(),
            workloads: Vec::new(),
            related: Vec::new(),
            begin: clock(),
            end: clock(),
        },
    };
    observer.follow(&operators(), None, Some(format!("metadata.name={name}")));
    let mut trouble = None;
    while let Ok(Some(event)) = tokio::time::timeout_at(end, observer.streams.next()).await {
        match event {
            Event::Object(object) => observer.note(&object, clock()),
            Event::Trouble { refusal, .. } => trouble = Some(refusal),
            _ => {}
        }
    }
    let mut history = observer.history;
    history.end = clock();
    if history.reports.is_empty() {
        return Err(not_there(server, name, limit, trouble).await);
    }
    history.related = related(server, history.reports.last().map_or(&Value::Null, |seen| &seen.object)).await;
    Ok(history)
}

/// What is seen, and where it comes from.
struct Observer<'a> {
    server: &'a Server,
    seed: u64,
    streams: SelectAll<BoxStream<'static, Event>>,
    /// Namespaces whose workloads are followed.
    namespaces: BTreeSet<String>,
    history: History,
}

fn operators() -> Resource {
    Resource::new(group::CONFIG, "v1", kind::CLUSTER_OPERATOR, "clusteroperators", false)
}

fn workloads() -> [Resource; 3] {
    let of = |kind, plural| Resource::new(group::APPS, "v1", kind, plural, true);
    [
        of(kind::DEPLOYMENT, "deployments"),
        of(kind::DAEMON_SET, "daemonsets"),
        of(kind::STATEFUL_SET, "statefulsets"),
    ]
}

// === impl Observer ===

impl Observer<'_> {
    fn follow(&mut self, resource: &Resource, namespace: Option<String>, field_selector: Option<String>) {
        let (api_version, kind) = (resource.api_version(), resource.kind.clone());
        let what = Watched {
            resource: resource.clone(),
            namespace,
            label_selector: None,
            field_selector,
            metadata_only: false,
        };
        let named = follow(self.server.clone(), what, self.seed).map(move |event| match event {
            // Entries of lists do not say what they are.
            Event::Object(mut object) => {
                object["apiVersion"] = api_version.clone().into();
                object["kind"] = kind.clone().into();
                Event::Object(object)
            }
            event => event,
        });
        self.streams.push(named.boxed());
    }

    fn note(&mut self, object: &Value, at: Timestamp) {
        let is_report = object::kind(object) == kind::CLUSTER_OPERATOR;
        let list = if is_report { &mut self.history.reports } else { &mut self.history.workloads };
        let is_same = |seen: &&Seen| {
            object::name(&seen.object) == object::name(object)
                && object::namespace(&seen.object) == object::namespace(object)
                && object::kind(&seen.object) == object::kind(object)
        };
        // A watch that begins anew gives again what is known.
        let is_known = list.iter().rev().find(is_same).is_some_and(|last| {
            last.object["metadata"]["resourceVersion"] == object["metadata"]["resourceVersion"]
        });
        if is_known {
            return;
        }
        list.push(Seen { at, object: object.clone() });
        if is_report {
            for namespace in namespaces(object) {
                if self.namespaces.insert(namespace.clone()) {
                    for resource in workloads() {
                        self.follow(&resource, Some(namespace.clone()), None);
                    }
                }
            }
        }
    }
}

fn entries(report: &Value) -> impl Iterator<Item = &Value> {
    report["status"]["relatedObjects"].as_array().into_iter().flatten()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// The namespaces that a report names as such.
fn namespaces(report: &Value) -> Vec<String> {
    let named = entries(report).filter(|entry| text(&entry["resource"]) == "namespaces");
    named.map(|entry| text(&entry["name"]).to_owned()).filter(|name| !name.is_empty()).collect()
}

/// Looks for each object that a report names.
async fn related(server: &Server, report: &Value) -> Vec<RelatedObject> {
    let mut found = Vec::new();
    for entry in entries(report) {
        let [group, resource, namespace, name] =
            ["group", "resource", "namespace", "name"].map(|field| text(&entry[field]));
        let resource_name =
            if group.is_empty() { resource.to_owned() } else { format!("{resource}.{group}") };
        let called = match (namespace, name) {
            ("", "") => resource_name,
            ("", name) => format!("{resource_name} {name}"),
            (namespace, "") => format!("{resource_name} in {namespace}"),
            (namespace, name) => format!("{resource_name} {namespace}/{name}"),
        };
        let exists = exists(server, group, resource, namespace, name).await;
        found.push(RelatedObject { called, exists });
    }
    found
}

/// Whether an object is there; of a whole resource, whether it is served.
async fn exists(server: &Server, group: &str, resource: &str, namespace: &str, name: &str) -> Option<bool> {
    let version = match group {
        "" => "v1".to_owned(),
        group => match server.send(Call::raw(&format!("/apis/{group}"))).await {
            Ok(answer) => text(&answer.object["preferredVersion"]["version"]).to_owned(),
            Err(refusal) => return is_absent(&refusal).then_some(false),
        },
    };
    let place = Resource::new(group, &version, "", resource, !namespace.is_empty());
    let namespace = Some(namespace).filter(|namespace| !namespace.is_empty());
    let call = match name {
        "" => Call::list(&place, namespace, &ListPage { limit: Some(1), ..ListPage::default() }),
        name => Call::get(&place, namespace, name),
    };
    match server.send(call.metadata_only()).await {
        Ok(_) => Some(true),
        Err(refusal) => is_absent(&refusal).then_some(false),
    }
}

fn is_absent(refusal: &Refusal) -> bool {
    matches!(refusal, Refusal::NotFound | Refusal::KindNotServed | Refusal::NamespaceMissing { .. })
}

/// Why nothing was seen.
async fn not_there(server: &Server, name: &str, limit: Duration, trouble: Option<Refusal>) -> WatchError {
    match server.send(Call::list(&operators(), None, &ListPage::default())).await {
        Ok(answer) => {
            let items = answer.object["items"].as_array().into_iter().flatten();
            let others = items.map(|item| object::name(item).to_owned()).collect();
            WatchError::NotThere { name: name.to_owned(), limit, others }
        }
        Err(refusal) => {
            let refusal = trouble.unwrap_or(refusal);
            WatchError::Refused(refusal.explain(&format!("clusteroperator/{name}")))
        }
    }
}
