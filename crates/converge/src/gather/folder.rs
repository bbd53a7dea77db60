//! A picture as a folder: one file per resource, so that people can read it and send a part of it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use lockstep_health::why::snapshot::{Record, Snapshot, VERSION};
use serde_json::Value;

/// Everything but the objects.
const HEAD: &str = "gather.json";
/// Where the objects are.
const OBJECTS: &str = "objects";
/// Where the records of a bootstrap host are, in our folders and in log bundles.
const SERVICES: &str = "bootstrap/services";

/// Why a folder could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// A file.
    #[error("{path}: {error}")]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// A file that is not what it should be.
    #[error("{path}: {why}")]
    Content {
        /// Which.
        path: PathBuf,
        /// Why, and what to do.
        why: String,
    },
}

/// Writes a picture; the folder must not have one yet.
pub fn write(picture: &Snapshot, folder: &Path) -> Result<(), FolderError> {
    let head = folder.join(HEAD);
    if head.exists() {
        let why = "there is a picture already; choose another folder or remove it".to_owned();
        return Err(FolderError::Content { path: head, why });
    }
    let objects = folder.join(OBJECTS);
    fs::create_dir_all(&objects).map_err(at(&objects))?;
    for (resource, list) in &picture.objects {
        let path = objects.join(format!("{resource}.json"));
        fs::write(&path, pretty(&path, list)?).map_err(at(&path))?;
    }
    let mut rest = picture.clone();
    rest.objects.clear();
    // Written last: a folder without it is not whole.
    fs::write(&head, pretty(&head, &rest)?).map_err(at(&head))
}

/// Reads a picture, or the log bundle of a bootstrap host.
pub fn read(folder: &Path) -> Result<Snapshot, FolderError> {
    let head = folder.join(HEAD);
    let mut picture: Snapshot = match fs::read(&head) {
        Ok(bytes) => parsed(&head, &bytes)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound && folder.join(SERVICES).is_dir() => {
            Snapshot { version: VERSION, ..Snapshot::default() }
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let why =
                "no such file: this is neither a folder of `lockstep gather` nor a log bundle".to_owned();
            return Err(FolderError::Content { path: head, why });
        }
        Err(error) => return Err(FolderError::File { path: head, error }),
    };
    if picture.version > VERSION {
        let why =
            format!("written by a newer lockstep (format {}, this one reads {VERSION})", picture.version);
        return Err(FolderError::Content { path: head, why });
    }
    for path in files(&folder.join(OBJECTS))? {
        let list: Vec<Value> = parsed(&path, &fs::read(&path).map_err(at(&path))?)?;
        picture.objects.insert(stem(&path), list);
    }
    for path in files(&folder.join(SERVICES))? {
        let records: Vec<Record> = parsed(&path, &fs::read(&path).map_err(at(&path))?)?;
        picture.services.insert(stem(&path), records);
    }
    Ok(picture)
}

/// The JSON files of a folder; none where there is no folder.
fn files(folder: &Path) -> Result<Vec<PathBuf>, FolderError> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(FolderError::File { path: folder.to_owned(), error }),
    };
    let paths: io::Result<Vec<PathBuf>> = entries.map(|entry| Ok(entry?.path())).collect();
    let mut paths = paths.map_err(at(folder))?;
    paths.retain(|path| path.extension().is_some_and(|it| it == "json"));
    paths.sort();
    Ok(paths)
}

fn stem(path: &Path) -> String {
    path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
}

fn parsed<T: serde::de::DeserializeOwned>(path: &Path, bytes: &[u8]) -> Result<T, FolderError> {
    serde_json::from_slice(bytes)
        .map_err(|error| FolderError::Content { path: path.to_owned(), why: error.to_string() })
}

fn pretty(path: &Path, value: &impl serde::Serialize) -> Result<Vec<u8>, FolderError> {
    serde_json::to_vec_pretty(value)
        .map_err(|error| FolderError::Content { path: path.to_owned(), why: error.to_string() })
}

fn at(path: &Path) -> impl Fn(io::Error) -> FolderError + use<> {
    let path = path.to_owned();
    move |error| FolderError::File { path: path.clone(), error }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let mut picture = Snapshot { version: VERSION, skew_seconds: 3, ..Snapshot::default() };
        picture.objects.insert("pods".to_owned(), vec![json!({"metadata": {"name": "a"}})]);
        write(&picture, folder.path()).unwrap();
        assert_eq!(read(folder.path()).unwrap(), picture);
        let again = write(&picture, folder.path()).unwrap_err().to_string();
        assert!(again.contains("already"), "{again}");
    }

    #[test]
    fn a_log_bundle_is_read_and_anything_else_refused_with_its_path() {
        let folder = tempfile::tempdir().unwrap();
        let services = folder.path().join(SERVICES);
        fs::create_dir_all(&services).unwrap();
        fs::write(services.join("bootkube.json"), r#"[{"phase": "service start", "timestamp": "t"}]"#)
            .unwrap();
        assert_eq!(read(folder.path()).unwrap().services["bootkube"][0].phase, "service start");
        fs::write(services.join("release-image.json"), "nonsense").unwrap();
        assert!(read(folder.path()).unwrap_err().to_string().contains("release-image.json"));
        let empty = tempfile::tempdir().unwrap();
        assert!(read(empty.path()).unwrap_err().to_string().contains("neither"));
        let newer = Snapshot { version: VERSION + 1, ..Snapshot::default() };
        write(&newer, empty.path()).unwrap();
        assert!(read(empty.path()).unwrap_err().to_string().contains("newer"));
    }
}
