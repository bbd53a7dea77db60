//! The diagnosis over made snapshots.
