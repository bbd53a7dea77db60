//! Releases that were fetched, by digest: a restart or a new plan needs no registry.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use lockstep_payload::{DiskFiles, Files, FilesError, Folder};
use lockstep_release::Hasher;

/// Where fetched releases are kept.
#[derive(Debug, Clone)]
pub(crate) struct Cache {
    folder: PathBuf,
    limit: u64,
}

/// Written last: what the files of a release add up to.
const SUM: &str = "sum";
const FOLDERS: [Folder; 2] = [Folder::Manifests, Folder::ReleaseManifests];

// === impl Cache ===

impl Cache {
    /// A folder, and how many bytes it may have.
    pub(crate) fn new(folder: impl Into<PathBuf>, limit: u64) -> Self {
        Self { folder: folder.into(), limit }
    }

    /// The files of a release, if they are there and are what was once fetched.
    pub(crate) fn find(&self, digest: &str) -> Option<DiskFiles> {
        let path = self.path(digest);
        let sum = fs::read_to_string(path.join(SUM)).ok()?;
        let files = DiskFiles::open(&path).ok()?;
        if sum_of(&files).ok()? != sum {
            tracing::warn!("the kept copy of {digest} is damaged and is fetched again");
            let _ = fs::remove_dir_all(&path);
            return None;
        }
        // The time of the sum is when the release was last of use.
        let _ = fs::File::open(path.join(SUM)).and_then(|file| file.set_modified(SystemTime::now()));
        Some(files)
    }

    /// Keeps the files of a release, and lets go of those that were of no use for the longest time.
    pub(crate) fn keep(&self, digest: &str, files: &dyn Files) -> io::Result<()> {
        let (path, unfinished) =
            (self.path(digest), self.folder.join(format!(".new-{}", std::process::id())));
        let _ = fs::remove_dir_all(&unfinished);
        for folder in FOLDERS {
            let place = unfinished.join(folder.as_str());
            fs::create_dir_all(&place)?;
            let names = files.list(folder).unwrap_or_default();
            for name in names {
                fs::write(place.join(&name), files.read(folder, &name).map_err(io::Error::other)?)?;
            }
        }
        fs::write(unfinished.join(SUM), sum_of(files).map_err(io::Error::other)?)?;
        let _ = fs::remove_dir_all(&path);
        fs::rename(&unfinished, &path)?;
        self.trim(&path)
    }

    /// Removes the oldest until the rest fits; never the newest.
    fn trim(&self, newest: &Path) -> io::Result<()> {
        let mut kept: Vec<(SystemTime, u64, PathBuf)> = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let path = entry?.path();
            let used = fs::metadata(path.join(SUM)).and_then(|sum| sum.modified());
            kept.push((used.unwrap_or(SystemTime::UNIX_EPOCH), size_of(&path)?, path));
        }
        kept.sort();
        let mut size: u64 = kept.iter().map(|(_, size, _)| size).sum();
        for (_, bytes, path) in kept {
            if size <= self.limit {
                break;
            }
            if path != newest {
                fs::remove_dir_all(&path)?;
                size -= bytes;
            }
        }
        Ok(())
    }

    fn path(&self, digest: &str) -> PathBuf {
        self.folder.join(digest.replace(':', "-"))
    }
}

/// A sum over names and contents of both folders.
fn sum_of(files: &dyn Files) -> Result<String, FilesError> {
    let mut sum = Hasher::default();
    for folder in FOLDERS {
        let mut names = files.list(folder).unwrap_or_default();
        names.sort();
        for name in names {
            let content = files.read(folder, &name)?;
            sum.update(format!("{}/{name} {}\n", folder.as_str(), content.len()).as_bytes());
            sum.update(&content);
        }
    }
    Ok(sum.finish().to_string())
}

fn size_of(path: &Path) -> io::Result<u64> {
    let metadata = fs::symlink_metadata(path)?;
    if !metadata.is_dir() {
        return Ok(metadata.len());
    }
    fs::read_dir(path)?.map(|entry| size_of(&entry?.path())).sum()
}

#[cfg(test)]
mod tests {
    use lockstep_payload::MemoryFiles;

    use super::*;

    fn release(size: usize) -> MemoryFiles {
        MemoryFiles::new("a release")
            .with(Folder::ReleaseManifests, "image-references", "{}")
            .with(Folder::ReleaseManifests, "release-metadata", "{}")
            .with(Folder::ReleaseManifests, "0000_10_a.yaml", vec![b'#'; size])
            .with(Folder::Manifests, "0000_00_own.yaml", "# own")
    }

    fn cache(limit: u64) -> (tempfile::TempDir, Cache) {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(folder.path(), limit);
        (folder, cache)
    }

    #[test]
    fn what_was_kept_is_found_with_every_file() {
        let (_folder, cache) = cache(1_000_000);
        assert!(cache.find("sha256:aa").is_none());
        cache.keep("sha256:aa", &release(10)).unwrap();
        let found = cache.find("sha256:aa").unwrap();
        assert_eq!(found.read(Folder::Manifests, "0000_00_own.yaml").unwrap(), b"# own");
        assert_eq!(sum_of(&found).unwrap(), sum_of(&release(10)).unwrap());
    }

    #[test]
    fn a_damaged_copy_is_not_given() {
        let (folder, cache) = cache(1_000_000);
        cache.keep("sha256:aa", &release(10)).unwrap();
        fs::write(folder.path().join("sha256-aa/release-manifests/0000_10_a.yaml"), "other").unwrap();
        assert!(cache.find("sha256:aa").is_none());
        assert!(!folder.path().join("sha256-aa").exists(), "it makes room");
    }

    #[test]
    fn one_that_was_not_written_to_its_end_is_not_given() {
        let (folder, cache) = cache(1_000_000);
        cache.keep("sha256:aa", &release(10)).unwrap();
        fs::remove_file(folder.path().join("sha256-aa").join(SUM)).unwrap();
        assert!(cache.find("sha256:aa").is_none());
    }

    #[test]
    fn the_one_that_was_of_no_use_for_longest_makes_room() {
        let (folder, cache) = cache(2_500);
        let age = |digest: &str, seconds| {
            let sum = fs::File::open(folder.path().join(digest).join(SUM)).unwrap();
            sum.set_modified(SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(seconds)).unwrap();
        };
        cache.keep("sha256:aa", &release(1_000)).unwrap();
        age("sha256-aa", 20);
        cache.keep("sha256:bb", &release(1_000)).unwrap();
        age("sha256-bb", 10);
        cache.keep("sha256:cc", &release(1_000)).unwrap();
        assert!(cache.find("sha256:bb").is_none());
        assert!(cache.find("sha256:aa").is_some() && cache.find("sha256:cc").is_some());
        cache.keep("sha256:dd", &release(10_000)).unwrap();
        assert!(cache.find("sha256:dd").is_some(), "the newest stays, whatever its size");
        assert!(cache.find("sha256:cc").is_none());
    }
}
