//! The journal: one line per write, to compare two runs byte for byte.

use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::clock::Clock;
use crate::store::Key;

/// All writes of a lab as text.
///
/// It grows with every write; who asks for one reads it, as a suite or a rehearsal does.
#[derive(Debug)]
pub(crate) struct Journal {
    clock: Arc<Clock>,
    text: String,
}

// === impl Journal ===

impl Journal {
    /// An empty journal with the times of a clock.
    pub(crate) fn new(clock: Arc<Clock>) -> Self {
        Self { clock, text: String::new() }
    }

    /// Notes a write: time, what happened, where, the version, and a digest of the whole object.
    pub(crate) fn note(&mut self, change: &str, key: &Key, object: &Value) {
        let digest = Sha256::digest(object.to_string());
        let digest: String = digest.iter().take(8).fold(String::new(), |mut text, byte| {
            // Writing to a string cannot fail.
            let _ = write!(text, "{byte:02x}");
            text
        });
        let resource = if key.table.group.is_empty() {
            key.table.plural.to_string()
        } else {
            format!("{}.{}", key.table.plural, key.table.group)
        };
        let version = object["metadata"]["resourceVersion"].as_str().unwrap_or_default();
        let time = self.clock.micro_stamp();
        let _ = writeln!(self.text, "{time} {change} {resource} {} {version} {digest}", key.path);
    }

    /// The lines so far.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }
}
