//! Whether there is room on the disk, before anything is fetched.

use std::path::{Path, PathBuf};

use super::progress::amount;
use crate::location::Location;

/// The disk is too small.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{place}: {} are needed and {} are free; make room, or use --skip-space-check to try it all the same",
    amount(*.needed),
    amount(*.free)
)]
pub struct SpaceError {
    /// The folder that was looked at.
    pub place: String,
    /// Bytes that are needed.
    pub needed: u64,
    /// Bytes that are free.
    pub free: u64,
}

/// What is needed of a disk.
///
/// An archive takes a blob in when it is whole, so those on their way are there twice.
pub fn needed(location: &Location, missing: u64, largest: u64, parallel: usize) -> u64 {
    match location {
        Location::Archive { .. } => missing.saturating_add(largest.saturating_mul(parallel as u64)),
        Location::Folder(_) | Location::Layout { .. } => missing,
        Location::Registry(_) => 0,
    }
}

/// Compares what is needed with what is free at a location; a registry is not asked.
///
/// # Errors
/// When it is not enough. A file system that does not tell is believed to have room.
pub fn check(location: &Location, needed: u64) -> Result<(), SpaceError> {
    let path = match location {
        Location::Folder(path) | Location::Layout { path, .. } | Location::Archive { path, .. } => path,
        Location::Registry(_) => return Ok(()),
    };
    let Some((place, free)) = free(path) else { return Ok(()) };
    if needed <= free {
        return Ok(());
    }
    Err(SpaceError { place: place.display().to_string(), needed, free })
}

/// The nearest folder that is there, and what is free for us in its file system.
fn free(path: &Path) -> Option<(PathBuf, u64)> {
    let path = std::path::absolute(path).ok()?;
    let place = path.ancestors().find(|place| place.is_dir())?;
    let found = rustix::fs::statvfs(place).ok()?;
    Some((place.to_owned(), found.f_bavail.saturating_mul(found.f_frsize)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_without_room_is_named_with_both_numbers() {
        let folder = tempfile::tempdir().unwrap();
        let to = Location::Layout { path: folder.path().join("not/yet"), tag: None };
        assert_eq!(check(&to, 1), Ok(()));
        let error = check(&to, u64::MAX).unwrap_err();
        assert_eq!(error.place, folder.path().display().to_string());
        assert!(error.to_string().contains("are needed and") && error.free > 0, "{error}");
    }

    #[test]
    fn an_archive_needs_room_for_what_is_on_its_way() {
        let archive = Location::Archive { path: "x.tar".into(), tag: None };
        let layout = Location::Layout { path: "x".into(), tag: None };
        let registry = Location::parse("host.example.com/a").unwrap();
        let of = |location| needed(location, 100, 30, 2);
        assert_eq!((of(&archive), of(&layout), of(&registry)), (160, 100, 0));
        assert_eq!(check(&registry, u64::MAX), Ok(()));
    }
}
