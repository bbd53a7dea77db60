//! Layers: tars that lie on top of each other, read with care and written the same way each time.

pub mod read;
pub mod write;

pub use read::{Entry, EntryKind, Next, walk};
pub use write::{Layer, LayerWriter};
