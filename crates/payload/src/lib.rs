//! Release bytes to manifests: YAML as Kubernetes reads it, identity, selection, release metadata, image references,
//! capabilities.
//!
//! [`Release::load`] reads everything that a release holds; a [`Selection`] then decides what of it belongs to a
//! cluster. Nothing here knows a cluster, a clock or a network; files come in through [`Files`].

pub mod capabilities;
pub mod changes;
pub mod feature_gates;
pub mod file_list;
pub mod file_name;
pub mod files;
pub mod gojson;
pub mod hash;
pub mod images;
pub mod limits;
pub mod listing;
pub mod manifest;
pub mod metadata;
pub mod path;
pub mod presence;
pub mod release;
pub mod render;
pub mod retrieval;
pub mod selection;
pub mod template;
pub mod yaml;

pub use capabilities::Capabilities;
pub use feature_gates::FeatureGates;
pub use file_list::load_list;
pub use file_name::RunLevel;
pub use files::{DiskFiles, Files, FilesError, MemoryFiles};
pub use manifest::{Folder, Manifest};
pub use presence::{Combination, Presence, Space};
pub use release::{LoadError, LoadOptions, Release};
pub use selection::{CapabilityFilter, Exclusion, Selection};
