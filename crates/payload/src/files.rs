//! Where the files of a release come from: a folder on disk, or memory.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use lockstep_api::names::file;

use crate::limits::{MAX_FILE_BYTES, MAX_FILES};
use crate::manifest::Folder;

/// Access to the files of a release. `Sync`, because files are read and parsed side by side.
pub trait Files: Sync {
    /// What to call this source in messages.
    fn name(&self) -> String;

    /// Names of the regular files of a folder, in any order; sub-folders are left out.
    ///
    /// # Errors
    /// When the folder is not there or cannot be listed.
    fn list(&self, folder: Folder) -> Result<Vec<String>, FilesError>;

    /// Content of one file of a folder.
    ///
    /// # Errors
    /// When the file cannot be read or is larger than is sensible.
    fn read(&self, folder: Folder, name: &str) -> Result<Vec<u8>, FilesError>;
}

/// Why a file or folder could not be read.
#[derive(Debug, thiserror::Error)]
pub enum FilesError {
    /// The folder cannot be a release.
    #[error("{name} is not a release folder: {missing} is missing{hint}")]
    NotARelease {
        /// The folder.
        name: String,
        /// The first thing that is not there.
        missing: String,
        /// What the reader may have meant.
        hint: String,
    },
    /// A file or folder that cannot be read.
    #[error("{path}: {cause}")]
    Io {
        /// Which.
        path: String,
        /// Why.
        cause: io::Error,
    },
    /// A file that is too large to be a manifest.
    #[error("{path}: {bytes} bytes, more than the {MAX_FILE_BYTES} that a manifest may have")]
    TooLarge {
        /// Which.
        path: String,
        /// Its size.
        bytes: u64,
    },
    /// A folder with too many files.
    #[error("{path}: more than {MAX_FILES} files")]
    TooMany {
        /// Which.
        path: String,
    },
}

/// The four things that make a folder a release, in the order in which they are asked for.
const REQUIRED: [(Folder, Option<&str>); 4] = [
    (Folder::Manifests, None),
    (Folder::ReleaseManifests, None),
    (Folder::ReleaseManifests, Some(file::RELEASE_METADATA)),
    (Folder::ReleaseManifests, Some(file::IMAGE_REFERENCES)),
];

/// A release folder on disk.
#[derive(Debug, Clone)]
pub struct DiskFiles {
    root: PathBuf,
}

/// A release in memory: folder and file name to content.
#[derive(Debug, Clone, Default)]
pub struct MemoryFiles {
    name: String,
    files: BTreeMap<(Folder, String), Vec<u8>>,
}

// === impl DiskFiles ===

impl DiskFiles {
    /// Opens a folder and checks that it is a release.
    ///
    /// # Errors
    /// Says which of the four things that a release must have is missing.
    pub fn open(root: &Path) -> Result<Self, FilesError> {
        for (folder, name) in REQUIRED {
            let relative = name
                .map_or_else(|| PathBuf::from(folder.as_str()), |name| Path::new(folder.as_str()).join(name));
            match fs::metadata(root.join(&relative)) {
                Ok(_) => {}
                Err(error)
                    if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
                {
                    return Err(FilesError::NotARelease {
                        name: root.display().to_string(),
                        missing: relative.display().to_string(),
                        hint: hint(root),
                    });
                }
                Err(cause) => {
                    return Err(FilesError::Io { path: root.join(&relative).display().to_string(), cause });
                }
            }
        }
        Ok(Self { root: root.to_owned() })
    }

    fn path(&self, folder: Folder) -> PathBuf {
        self.root.join(folder.as_str())
    }
}

impl Files for DiskFiles {
    fn name(&self) -> String {
        self.root.display().to_string()
    }

    fn list(&self, folder: Folder) -> Result<Vec<String>, FilesError> {
        let path = self.path(folder);
        let failed = |cause| FilesError::Io { path: path.display().to_string(), cause };
        let mut names = Vec::new();
        for entry in fs::read_dir(&path).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            if entry.file_type().map_err(failed)?.is_dir() {
                continue;
            }
            if names.len() == MAX_FILES {
                return Err(FilesError::TooMany { path: path.display().to_string() });
            }
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
        Ok(names)
    }

    fn read(&self, folder: Folder, name: &str) -> Result<Vec<u8>, FilesError> {
        use io::Read as _;
        let path = self.path(folder).join(name);
        let failed = |cause| FilesError::Io { path: path.display().to_string(), cause };
        // A pipe would block, even the opening of one, and a device would never end.
        let metadata = fs::metadata(&path).map_err(failed)?;
        if !metadata.is_file() {
            return Err(failed(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file")));
        }
        let file = fs::File::open(&path).map_err(failed)?;
        let too_large = |bytes| FilesError::TooLarge { path: path.display().to_string(), bytes };
        if metadata.len() > MAX_FILE_BYTES {
            return Err(too_large(metadata.len()));
        }
        let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or_default());
        // NB: the size is what the file claims; it is read with a limit all the same.
        file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(failed)?;
        if bytes.len() as u64 > MAX_FILE_BYTES {
            return Err(too_large(bytes.len() as u64));
        }
        Ok(bytes)
    }
}

/// A guess at what the reader meant by a folder that is not a release.
fn hint(root: &Path) -> String {
    if !root.exists() {
        return " (there is no such folder)".to_owned();
    }
    if !root.is_dir() {
        return " (this is a file, not a folder)".to_owned();
    }
    if root.join("release-metadata").exists() {
        return format!(" (did you mean its parent, {}?)", root.join("..").display());
    }
    let child = fs::read_dir(root).ok().and_then(|entries| {
        entries
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| path.join("release-manifests").is_dir())
            .min()
    });
    child.map_or_else(String::new, |path| format!(" (did you mean {}?)", path.display()))
}

// === impl MemoryFiles ===

impl MemoryFiles {
    /// A release in memory, called `name` in messages.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), files: BTreeMap::new() }
    }

    /// Adds a file.
    #[must_use]
    pub fn with(mut self, folder: Folder, name: impl Into<String>, content: impl Into<Vec<u8>>) -> Self {
        self.files.insert((folder, name.into()), content.into());
        self
    }
}

impl Files for MemoryFiles {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn list(&self, folder: Folder) -> Result<Vec<String>, FilesError> {
        Ok(self
            .files
            .keys()
            .filter(|(in_folder, _)| *in_folder == folder)
            .map(|(_, name)| name.clone())
            .collect())
    }

    fn read(&self, folder: Folder, name: &str) -> Result<Vec<u8>, FilesError> {
        self.files.get(&(folder, name.to_owned())).cloned().ok_or_else(|| FilesError::NotARelease {
            name: self.name.clone(),
            missing: format!("{}/{name}", folder.as_str()),
            hint: String::new(),
        })
    }
}
