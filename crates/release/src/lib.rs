//! Releases where they live: in registries, OCI layouts, archives and folders.
//!
//! ```text
//! reference ─ location ─ store (layout, archive, registry) ─ layer ─┬─ open     a release as files, from anywhere
//!                                                                   ├─ build    manifests and images → a release image
//!                                                                   ├─ inspect  what is in it, what it weighs
//!                                                                   ├─ compare  what differs between two
//!                                                                   ├─ extract  files and programs out of it
//!                                                                   └─ mirror   all of it to another place
//! ```
//!
//! A manifest is kept as the bytes that were received, so a digest never changes on the way; every byte that is read from a
//! store is counted and hashed before anybody believes it.

pub mod build;
pub mod compare;
pub mod digest;
pub mod extract;
pub mod image;
pub mod inspect;
pub mod layer;
pub mod location;
pub mod mirror;
pub mod open;
pub mod platform;
pub mod reference;
pub mod store;

pub use digest::{Digest, Hasher};
pub use image::{Descriptor, RawManifest};
pub use location::Location;
pub use open::{Image, Layers, OpenRelease, ReadError, Wanted};
pub use platform::{Platform, PlatformFilter};
pub use reference::PullSpec;
pub use store::{Access, BlobSource, Store, StoreError, Which};
