//! Limits against hostile input; real releases stay far below all of them.

/// Largest manifest file that is read, in bytes (the largest of a real release is 1.4 MB).
pub const MAX_FILE_BYTES: u64 = 32 * 1024 * 1024;

/// Largest number of manifest files in one folder (real releases have about 800).
pub const MAX_FILES: usize = 20_000;

/// Deepest nesting of mappings and sequences in one document (real custom resource definitions reach about 60).
pub const MAX_DEPTH: usize = 128;

/// Most memory, in bytes, that the anchors and aliases of one file may cost.
pub const MAX_ALIAS_BYTES: usize = 16 * 1024 * 1024;

/// Most bytes that all manifest files of a release may have together (real releases have about 16 MB).
pub const MAX_RELEASE_BYTES: u64 = 512 * 1024 * 1024;

/// Longest number that is worth trying to read, in bytes; what is longer stays the text it is.
pub(crate) const MAX_NUMBER_BYTES: usize = 512;
