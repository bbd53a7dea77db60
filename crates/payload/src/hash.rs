//! The version hash that a ClusterVersion publishes for the manifests it was given.

use std::io::{self, Write};

use base64::Engine as _;

/// 64-bit FNV-1 (multiply, then xor), fed as a writer.
///
/// *Compatibility*: informational only and not collision-resistant; it has to equal the reference's to be comparable.
#[derive(Debug, Clone)]
pub struct VersionHash(u64);

// === impl VersionHash ===

impl VersionHash {
    /// The hash of nothing.
    pub fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    /// The published form: eight big-endian bytes in URL-safe base64 with padding.
    pub fn finish(&self) -> String {
        base64::engine::general_purpose::URL_SAFE.encode(self.0.to_be_bytes())
    }
}

impl Default for VersionHash {
    fn default() -> Self {
        Self::new()
    }
}

impl Write for VersionHash {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = bytes
            .iter()
            .fold(self.0, |hash, byte| hash.wrapping_mul(0x0000_0100_0000_01b3) ^ u64::from(*byte));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
