//! Writes a layer; the same entries give the same bytes.

use std::io::{self, Write};

use bytes::Bytes;
use flate2::{Compression, GzBuilder, write::GzEncoder};

use crate::digest::{Digest, Hasher};

/// A layer that is being written: tar, compressed with gzip, without anything of this machine or this moment in it.
pub struct LayerWriter {
    tar: tar::Builder<Hashed>,
}

/// A finished layer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layer {
    /// The compressed bytes.
    pub bytes: Bytes,
    /// Their digest.
    pub digest: Digest,
    /// Digest of the uncompressed bytes.
    pub diff_id: Digest,
}

/// Hashes what goes into the compression.
struct Hashed {
    hasher: Hasher,
    out: GzEncoder<Vec<u8>>,
}

// === impl Hashed ===

impl Write for Hashed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.hasher.update(bytes);
        self.out.write_all(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

// === impl LayerWriter ===

impl Default for LayerWriter {
    fn default() -> Self {
        Self::new()
    }
}

impl LayerWriter {
    /// An empty layer.
    pub fn new() -> Self {
        let out = GzBuilder::new().mtime(0).write(Vec::new(), Compression::default());
        Self { tar: tar::Builder::new(Hashed { hasher: Hasher::default(), out }) }
    }

    /// Adds a folder.
    pub fn directory(&mut self, path: &str, mode: u32, modified: u64) {
        self.append(tar::EntryType::Directory, path, mode, modified, &[]);
    }

    /// Adds a file.
    pub fn file(&mut self, path: &str, mode: u32, modified: u64, bytes: &[u8]) {
        self.append(tar::EntryType::Regular, path, mode, modified, bytes);
    }

    /// Adds a symbolic link.
    pub fn link(&mut self, path: &str, target: &str, modified: u64) {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(tar::EntryType::Symlink);
        header.set_mode(0o777);
        header.set_mtime(modified);
        header.set_uid(0);
        header.set_gid(0);
        header.set_size(0);
        // As below.
        let _ = self.tar.append_link(&mut header, path, target);
    }

    fn append(&mut self, kind: tar::EntryType, path: &str, mode: u32, modified: u64, bytes: &[u8]) {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(kind);
        header.set_mode(mode);
        header.set_mtime(modified);
        header.set_uid(0);
        header.set_gid(0);
        header.set_size(bytes.len() as u64);
        // Memory does not fail; a path that no tar can hold is caught where names are made.
        let _ = self.tar.append_data(&mut header, path, bytes);
    }

    /// Ends the layer.
    pub fn finish(mut self) -> Layer {
        let _ = self.tar.finish();
        let (hasher, bytes) = match self.tar.into_inner() {
            Ok(Hashed { hasher, out }) => (hasher, out.finish().unwrap_or_default()),
            Err(_) => (Hasher::default(), Vec::new()),
        };
        Layer { digest: Digest::of(&bytes), diff_id: hasher.finish(), bytes: bytes.into() }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    fn a_layer() -> Layer {
        let mut layer = LayerWriter::new();
        layer.directory("release-manifests", 0o777, 1);
        layer.file(&format!("release-manifests/{}.yaml", "long-name".repeat(20)), 0o444, 2, b"a: 1\n");
        layer.finish()
    }

    #[test]
    fn the_same_entries_give_the_same_bytes_and_the_digests_are_theirs() {
        let layer = a_layer();
        assert_eq!(layer, a_layer());
        assert_eq!(layer.digest, Digest::of(&layer.bytes));
        let mut plain = Vec::new();
        flate2::read::GzDecoder::new(&layer.bytes[..]).read_to_end(&mut plain).unwrap();
        assert_eq!(layer.diff_id, Digest::of(&plain));
        let mut tar = tar::Archive::new(&plain[..]);
        let entries: Vec<_> = tar
            .entries()
            .unwrap()
            .map(|entry| {
                let entry = entry.unwrap();
                let path = entry.path().unwrap().to_string_lossy().into_owned();
                (path.len(), entry.header().mode().unwrap(), entry.header().uid().unwrap())
            })
            .collect();
        assert_eq!(entries, [(17, 0o777, 0), (203, 0o444, 0)]);
    }
}
