//! The metadata that every object has.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use crate::Time;

/// The metadata of an object; what is rarely looked at, like `managedFields`, is kept in `other`.
///
/// A field that is empty is the same as an absent one and is not written.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ObjectMeta {
    /// The name.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The namespace, empty for a cluster-scoped object.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// The labels.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// The annotations.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
    /// Counts changes of the spec.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generation: Option<i64>,
    /// The version of the stored object; opaque.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub resource_version: String,
    /// Tells this object from an earlier one of the same name.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub uid: String,
    /// When the object was created.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub creation_timestamp: Option<Time>,
    /// When the deletion was asked for; finalizers may still hold the object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deletion_timestamp: Option<Time>,
    /// The objects that this one belongs to.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub owner_references: Vec<OwnerReference>,
    /// Fields that this crate does not know.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// The object that another one belongs to; when the owner goes, so does the owned one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct OwnerReference {
    /// Group and version of the owner.
    pub api_version: String,
    /// Kind of the owner.
    pub kind: String,
    /// Name of the owner.
    pub name: String,
    /// The owner's UID.
    pub uid: String,
    /// Whether the owner is the one that controls this object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub controller: Option<bool>,
    /// Whether the owner waits for this object when deleted in the foreground.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block_owner_deletion: Option<bool>,
    /// Fields that this crate does not know.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

// === impl ObjectMeta ===

impl ObjectMeta {
    /// Metadata of a cluster-scoped object with nothing but a name.
    pub fn named(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }
}

/// Reads `null` like an absent field; manifests written by other tools contain it.
pub(crate) fn or_default<'de, T, D>(from: D) -> Result<T, D::Error>
where
    T: Default + Deserialize<'de>,
    D: Deserializer<'de>,
{
    Ok(Option::deserialize(from)?.unwrap_or_default())
}

/// Whether a flag has its default, which is not written.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature is given by serde")]
pub(crate) fn is_off(flag: &bool) -> bool {
    !flag
}
