//! ClusterVersion, ClusterOperator and every well-known name, without a client.
//!
//! This crate is data and pure functions: it knows no clock, no files and no network. What it reads it can write
//! back: a field that it does not know, at any level, is kept.

pub mod capability;
mod cluster_operator;
mod cluster_version;
mod condition;
pub mod crd;
#[cfg(test)]
mod fixture;
mod image;
pub mod names;
pub mod object;
mod object_meta;
pub mod text;
mod text_enum;
mod time;

pub use cluster_operator::{ClusterOperator, ClusterOperatorStatus, ObjectReference, OperandVersion};
pub use cluster_version::validation;
pub use cluster_version::{
    ARCHITECTURE_MULTI, AcceptedRisk, CapabilitiesSpec, CapabilitiesStatus, ClusterCondition, ClusterVersion,
    ClusterVersionSpec, ClusterVersionStatus, ConditionalUpdate, ConditionalUpdateRisk, ConfigMapName,
    Override, PromQl, Release, RuleType, SignatureStore, Update, UpdateHistory, UpdateState,
};
pub use condition::{Condition, ConditionStatus, Conditions};
pub use image::same_image;
pub use object::ResourceId;
pub use object_meta::{ObjectMeta, OwnerReference};
pub use time::Time;
