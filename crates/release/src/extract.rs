//! Files and programs out of a release.
//!
//! [`manifests`] decides which manifests are wanted and keeps their bytes, [`inclusion`] says for which cluster,
//! [`folder`] writes them where nothing else can be harmed. [`tools`] knows which program is in which image,
//! [`patch`] tells a program which release it belongs to, [`archive`] packs it.

pub mod archive;
pub mod folder;
pub mod inclusion;
pub mod manifests;
pub mod patch;
pub mod tools;

pub use folder::{WriteError, write};
pub use inclusion::Inclusion;
pub use manifests::{Extracted, Filter, Provider, extract};
