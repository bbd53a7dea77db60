//! Limits against hostile input; real releases stay far below all of them.

/// Largest manifest file that is read, in bytes (the largest of a real release is 1.4 MB).
pub const MAX_FILE_BYTES: u64 = 32 * 1024 * 1024;

/// Largest number of manifest files in one folder (real releases have about 800).
pub const MAX_FILES: usize = 20_000;

/// Deepest nesting of mappings and sequences in one document (real custom resource definitions reach about 60).
pub const MAX_DEPTH: usize = 128;

/// Most text, in bytes, that the aliases of one document may expand to.
pub const MAX_ALIAS_BYTES: usize = 64 * 1024 * 1024;

/// Longest base-60-free number that is worth trying to read, in bytes; anything longer is a string.
pub(crate) const MAX_NUMBER_BYTES: usize = 512;
