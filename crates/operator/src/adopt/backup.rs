//! What is kept to go back: `ConfigMap`s beside the operator, as many as it takes.
//!
//! One holds the Deployment of the operator as it was; each of the others the former owner entries of some objects, as one
//! JSON document. A `ConfigMap` holds at most a megabyte; 951 objects have several.

use bytes::Bytes;
use lockstep_api::names::{kind, label};
use lockstep_apply::kinds::Resource;
use lockstep_apply::refusal::Refusal;
use lockstep_apply::server::{Call, DryRun, ListPage, Removal};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeSet;

use super::predecessor::Predecessor;
use super::{AdoptError, Adoption, refused};

/// How the names of the `ConfigMap`s begin.
const PREFIX: &str = "lockstep-adoption";
/// The format of what is kept, for whoever reads it later.
const FORMAT: &str = "lockstep.dev/v1";
/// The key of the format.
const VERSION: &str = "format";
/// The key of the Deployment.
const DEPLOYMENT: &str = "deployment";
/// The key of former entries.
const ENTRIES: &str = "entries";
/// How many bytes of entries go into one `ConfigMap`: half of what it may hold.
pub(super) const CHUNK: usize = 512 * 1024;

/// The former owner entries of one object.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Former {
    /// Group and version.
    pub(super) api_version: String,
    pub(super) kind: String,
    /// The name in addresses.
    pub(super) plural: String,
    /// Empty for an object without one.
    pub(super) namespace: String,
    pub(super) name: String,
    /// Another object of the same name is not the one that was adopted.
    pub(super) uid: String,
    /// The entries.
    pub(super) entries: Vec<Value>,
}

/// What is kept.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Backup {
    /// The Deployment of the operator as it was; null when there was none.
    pub(super) deployment: Value,
    /// The objects.
    pub(super) objects: Vec<Former>,
    /// The names of the `ConfigMap`s with objects.
    parts: Vec<String>,
}

// === impl Former ===

impl Former {
    /// Where the object is.
    pub(super) fn resource(&self) -> Resource {
        let (group, version) = lockstep_api::object::split_api_version(&self.api_version);
        Resource::new(group, version, &self.kind, &self.plural, !self.namespace.is_empty())
    }
}

// === impl Backup ===

impl Backup {
    /// Keeps the Deployment, or reads what an earlier run kept: that one saw the cluster before anything was changed.
    pub(super) async fn begin(adoption: &Adoption, predecessor: &Predecessor) -> Result<Self, AdoptError> {
        let data = json!({VERSION: FORMAT, DEPLOYMENT: predecessor.live.to_string()});
        match create(adoption, &index(adoption), &data).await {
            Ok(()) => {
                Ok(Self { deployment: predecessor.live.clone(), objects: Vec::new(), parts: Vec::new() })
            }
            Err(Refusal::AlreadyExists) => Self::read(adoption).await,
            Err(refusal) => Err(refused(title(adoption, &index(adoption)))(refusal)),
        }
    }

    /// Reads what is kept.
    pub(super) async fn read(adoption: &Adoption) -> Result<Self, AdoptError> {
        let index = index(adoption);
        let call = Call::get(&resource(), Some(&adoption.namespace), &index);
        let first = match adoption.server.send(call).await {
            Ok(answer) => answer.object,
            Err(Refusal::NotFound | Refusal::NamespaceMissing { .. }) => {
                return Err(AdoptError::NotAdopted(title(adoption, &index)));
            }
            Err(refusal) => return Err(refused(title(adoption, &index))(refusal)),
        };
        let deployment = parse(adoption, &first, DEPLOYMENT)?;
        let mut backup = Self { deployment, objects: Vec::new(), parts: Vec::new() };
        let selector = format!("{}={}", label::ADOPTION, adoption.set);
        let page = ListPage { label_selector: Some(&selector), ..ListPage::default() };
        let list = adoption.server.send(Call::list(&resource(), Some(&adoption.namespace), &page)).await;
        let list = list.map_err(refused(format!("ConfigMaps in {}", adoption.namespace)))?;
        for part in list.object["items"].as_array().into_iter().flatten() {
            let name = lockstep_api::object::name(part);
            if name == index {
                continue;
            }
            backup.parts.push(name.to_owned());
            let objects: Vec<Former> = serde_json::from_value(parse(adoption, part, ENTRIES)?)
                .map_err(|source| AdoptError::Unreadable { name: title(adoption, name), source })?;
            backup.objects.extend(objects);
        }
        Ok(backup)
    }

    /// Keeps the entries of some objects; what is kept of an object already stays, because it is older.
    pub(super) async fn keep(&mut self, adoption: &Adoption, objects: Vec<Former>) -> Result<(), AdoptError> {
        let known: BTreeSet<&str> = self.objects.iter().map(|former| former.uid.as_str()).collect();
        let new: Vec<Former> =
            objects.into_iter().filter(|former| !known.contains(former.uid.as_str())).collect();
        if new.is_empty() {
            return Ok(());
        }
        let text = json!(new).to_string();
        // Parts are only ever thrown away together, so the next number is free.
        let name = format!("{}-{:03}", index(adoption), self.parts.len());
        let data = json!({VERSION: FORMAT, ENTRIES: text});
        create(adoption, &name, &data).await.map_err(refused(title(adoption, &name)))?;
        self.parts.push(name);
        self.objects.extend(new);
        Ok(())
    }

    /// Throws everything away; the Deployment last, so that a run that is killed here can be repeated.
    pub(super) async fn discard(&self, adoption: &Adoption) -> Result<(), AdoptError> {
        for name in self.parts.iter().chain([&index(adoption)]) {
            let call = Call::delete(&resource(), Some(&adoption.namespace), name, &Removal::default());
            match adoption.server.send(call).await {
                Ok(_) | Err(Refusal::NotFound) => {}
                Err(refusal) => return Err(refused(title(adoption, name))(refusal)),
            }
        }
        Ok(())
    }
}

fn index(adoption: &Adoption) -> String {
    format!("{PREFIX}-{}", adoption.set)
}

fn title(adoption: &Adoption, name: &str) -> String {
    format!("ConfigMap {}/{name}", adoption.namespace)
}

fn parse(adoption: &Adoption, map: &Value, key: &str) -> Result<Value, AdoptError> {
    let text = map["data"][key].as_str().unwrap_or_default();
    let name = lockstep_api::object::name(map);
    serde_json::from_str(text)
        .map_err(|source| AdoptError::Unreadable { name: title(adoption, name), source })
}

async fn create(adoption: &Adoption, name: &str, data: &Value) -> Result<(), Refusal> {
    let object = json!({"apiVersion": "v1", "kind": kind::CONFIG_MAP, "metadata": {"name": name,
        "namespace": adoption.namespace, "labels": {label::ADOPTION: adoption.set}}, "data": data});
    let body = Bytes::from(object.to_string());
    adoption
        .server
        .send(Call::create(&resource(), Some(&adoption.namespace), body, DryRun::No))
        .await
        .map(drop)
}

fn resource() -> Resource {
    Resource::new("", "v1", kind::CONFIG_MAP, "configmaps", true)
}
