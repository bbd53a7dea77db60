//! Writes files into a folder, and nowhere else.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// Why files could not be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// There is something already.
    #[error("directory {0} must be empty, pass --confirm to overwrite contents of directory")]
    NotEmpty(String),
    /// A name that could lead elsewhere.
    #[error("the file name {0:?} is refused: it could lead out of the folder")]
    Name(String),
    /// A file or folder.
    #[error("{path}: {cause}")]
    Io {
        /// Which.
        path: String,
        /// Why.
        cause: io::Error,
    },
}

/// A file to write: name, permissions, content.
#[derive(Debug, Clone, Copy)]
pub struct Writing<'a> {
    /// Name in the folder.
    pub name: &'a str,
    /// Whether it is a program.
    pub executable: bool,
    /// Content.
    pub bytes: &'a [u8],
}

/// Writes files into a folder, which is made; one that has something in it is refused unless `confirm` says otherwise.
///
/// All names are looked at before anything is written. A file gets its name when it is whole, so a link of that name is
/// replaced and never followed.
///
/// # Errors
/// The first that went wrong.
pub fn write(folder: &Path, files: &[Writing<'_>], confirm: bool) -> Result<(), WriteError> {
    if let Some(bad) = files.iter().find(|file| !is_safe(file.name)) {
        return Err(WriteError::Name(bad.name.to_owned()));
    }
    fs::create_dir_all(folder).map_err(failed(folder))?;
    let is_empty = fs::read_dir(folder).map_err(failed(folder))?.next().is_none();
    if !is_empty && !confirm {
        return Err(WriteError::NotEmpty(folder.display().to_string()));
    }
    files.iter().try_for_each(|file| write_one(folder, file))
}

fn write_one(folder: &Path, file: &Writing<'_>) -> Result<(), WriteError> {
    let (partial, path) = (folder.join(format!(".{}.partial", file.name)), folder.join(file.name));
    // What an interrupted run left; whatever it is, it goes.
    match fs::remove_file(&partial) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(&partial)(error)),
        _ => {}
    }
    let mut out = options(file.executable).open(&partial).map_err(failed(&partial))?;
    out.write_all(file.bytes).map_err(failed(&partial))?;
    drop(out);
    fs::rename(&partial, &path).map_err(failed(&path))
}

#[cfg(unix)]
fn options(executable: bool) -> fs::OpenOptions {
    use std::os::unix::fs::OpenOptionsExt as _;
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true).mode(if executable { 0o777 } else { 0o666 });
    options
}

#[cfg(not(unix))]
fn options(_executable: bool) -> fs::OpenOptions {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    options
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> WriteError {
    let path: PathBuf = path.to_owned();
    move |cause| WriteError::Io { path: path.display().to_string(), cause }
}

/// Whether a name stays in its folder, on every system: one part, no drive, nothing hidden, nothing unprintable.
fn is_safe(name: &str) -> bool {
    let has_bad = |character: char| character.is_control() || "/\\:".contains(character);
    !name.is_empty() && !name.starts_with('.') && name.len() <= 240 && !name.contains(has_bad)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file<'a>(name: &'a str, bytes: &'a [u8]) -> Writing<'a> {
        Writing { name, executable: false, bytes }
    }

    #[test]
    fn names_that_lead_elsewhere_are_refused_before_anything_is_written() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["../a", "a/b", "/a", "..", ".", "", ".hidden", "a\\b", "c:x", "a\nb", &"x".repeat(241)] {
            let error = write(folder.path(), &[file("good", b""), file(name, b"")], false).unwrap_err();
            assert!(matches!(error, WriteError::Name(_)), "{name:?}: {error}");
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_folder_with_content_is_left_alone_unless_confirmed() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("new/one");
        write(&target, &[file("a", b"1")], false).unwrap();
        let error = write(&target, &[file("a", b"2")], false).unwrap_err().to_string();
        assert!(
            error.ends_with("must be empty, pass --confirm to overwrite contents of directory"),
            "{error}"
        );
        assert_eq!(fs::read(target.join("a")).unwrap(), b"1");
        write(&target, &[file("a", b"2")], true).unwrap();
        assert_eq!(fs::read(target.join("a")).unwrap(), b"2");
        assert_eq!(fs::read_dir(&target).unwrap().count(), 1, "nothing half-written stays");
    }

    #[cfg(unix)]
    #[test]
    fn a_link_in_the_folder_is_replaced_and_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let outside = folder.path().join("outside");
        fs::write(&outside, "safe").unwrap();
        let target = folder.path().join("to");
        fs::create_dir(&target).unwrap();
        for name in ["a", ".a.partial"] {
            std::os::unix::fs::symlink(&outside, target.join(name)).unwrap();
        }
        write(&target, &[file("a", b"new")], true).unwrap();
        assert_eq!(fs::read(&outside).unwrap(), b"safe");
        assert_eq!(fs::read(target.join("a")).unwrap(), b"new");
    }
}
