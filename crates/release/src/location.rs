//! What a person types for a release or an image: a folder, a layout, an archive or a pull spec.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::reference::{PullSpec, check_tag};

/// A place where a release is, or is written to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Location {
    /// A folder with `manifests/` and `release-manifests/`.
    Folder(PathBuf),
    /// A folder with `oci-layout`, and one of the tags in it.
    Layout {
        /// The folder.
        path: PathBuf,
        /// The tag; without it the only release in there.
        tag: Option<String>,
    },
    /// A file that is a tar of such a folder.
    Archive {
        /// The file.
        path: PathBuf,
        /// The tag; without it the only release in there.
        tag: Option<String>,
    },
    /// A repository of a registry.
    Registry(PullSpec),
}

/// Why a text is no location.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LocationError {
    /// Neither on disk nor a pull spec.
    #[error("{0}: no such file or folder, and {1}")]
    Nothing(String, String),
    /// The path is missing behind the prefix.
    #[error("{0}: the path is missing; wanted {1}")]
    NoPath(String, &'static str),
    /// What stands behind the path is no tag.
    #[error("{0}: {1}")]
    Tag(String, String),
    /// On disk, but neither folder nor file.
    #[error("{0}: neither a folder nor a file")]
    Special(String),
}

/// What is on disk at a path; a parameter, so that reading a location needs no disk in tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnDisk {
    /// Nothing.
    Nothing,
    /// A folder.
    Folder,
    /// A folder with the file `oci-layout`.
    Layout,
    /// A file.
    File,
    /// Something else: a socket, a device.
    Special,
}

// === impl OnDisk ===

impl OnDisk {
    /// Looks.
    pub fn at(path: &Path) -> Self {
        match std::fs::metadata(path) {
            Ok(found) if found.is_dir() && path.join("oci-layout").is_file() => Self::Layout,
            Ok(found) if found.is_dir() => Self::Folder,
            Ok(found) if found.is_file() => Self::File,
            Ok(_) => Self::Special,
            Err(_) => Self::Nothing,
        }
    }
}

// === impl Location ===

impl Location {
    /// Reads what names something that exists.
    ///
    /// # Order
    /// 1. `oci:DIR[:TAG]`, `oci-archive:FILE[:TAG]`, `docker://PULLSPEC` say themselves what they are;
    /// 2. what is on disk under the whole text: a folder, a layout, an archive;
    /// 3. `PATH:TAG` where the path is a layout or an archive on disk;
    /// 4. a pull spec with a registry: a single word is more likely a folder that is not there than a name of the hub.
    pub fn parse(text: &str) -> Result<Self, LocationError> {
        Self::parse_with(text, OnDisk::at)
    }

    /// Reads what names a place to write to: nothing has to be there.
    ///
    /// A text that ends in `.tar` is an archive; one that begins with `.` or `/` is a folder.
    pub fn parse_target(text: &str) -> Result<Self, LocationError> {
        let looks_like_archive = |path: &str| Path::new(path).extension().is_some_and(|end| end == "tar");
        Self::parse_with(text, |path| match OnDisk::at(path) {
            OnDisk::Nothing if looks_like_archive(&path.to_string_lossy()) => OnDisk::File,
            OnDisk::Nothing if is_path(&path.to_string_lossy()) && !has_tag(path) => OnDisk::Folder,
            found => found,
        })
    }

    fn parse_with(text: &str, on_disk: impl Fn(&Path) -> OnDisk) -> Result<Self, LocationError> {
        if let Some(rest) = text.strip_prefix("oci:") {
            let (path, tag) = path_and_tag(text, rest, "oci:DIR[:TAG]")?;
            return Ok(Self::Layout { path, tag });
        }
        if let Some(rest) = text.strip_prefix("oci-archive:") {
            let (path, tag) = path_and_tag(text, rest, "oci-archive:FILE[:TAG]")?;
            return Ok(Self::Archive { path, tag });
        }
        if let Some(rest) = text.strip_prefix("docker://") {
            return pull_spec(text, rest).map(Self::Registry);
        }
        match on_disk(Path::new(text)) {
            OnDisk::Folder => return Ok(Self::Folder(text.into())),
            OnDisk::Layout => return Ok(Self::Layout { path: text.into(), tag: None }),
            OnDisk::File => return Ok(Self::Archive { path: text.into(), tag: None }),
            OnDisk::Special => return Err(LocationError::Special(text.to_owned())),
            OnDisk::Nothing => {}
        }
        if let Some((path, tag)) = text.rsplit_once(':').filter(|(_, tag)| check_tag(tag).is_ok()) {
            let (path, tag) = (PathBuf::from(path), Some(tag.to_owned()));
            match on_disk(&path) {
                OnDisk::Layout => return Ok(Self::Layout { path, tag }),
                OnDisk::File => return Ok(Self::Archive { path, tag }),
                _ => {}
            }
        }
        if is_path(text) {
            let hint = "a pull spec does not begin with `.` or `/`".to_owned();
            return Err(LocationError::Nothing(text.to_owned(), hint));
        }
        let spec = pull_spec(text, text)?;
        if spec.registry.is_empty() || spec.repository.is_empty() {
            let hint = format!(
                "a pull spec names its registry and repository, as in registry.example.com/release:{text}"
            );
            return Err(LocationError::Nothing(text.to_owned(), hint));
        }
        Ok(Self::Registry(spec))
    }
}

impl fmt::Display for Location {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (prefix, path, tag) = match self {
            Self::Folder(path) => ("", path, &None),
            Self::Layout { path, tag } => ("oci:", path, tag),
            Self::Archive { path, tag } => ("oci-archive:", path, tag),
            Self::Registry(spec) => return spec.fmt(formatter),
        };
        write!(formatter, "{prefix}{}", path.display())?;
        tag.as_ref().map_or(Ok(()), |tag| write!(formatter, ":{tag}"))
    }
}

fn pull_spec(text: &str, spec: &str) -> Result<PullSpec, LocationError> {
    PullSpec::parse(spec).map_err(|error| LocationError::Nothing(text.to_owned(), error.to_string()))
}

fn is_path(text: &str) -> bool {
    text.starts_with(['.', '/'])
}

fn has_tag(path: &Path) -> bool {
    path.to_string_lossy().rsplit_once(':').is_some_and(|(_, tag)| check_tag(tag).is_ok())
}

/// The last colon begins a tag, unless a slash comes behind it.
fn path_and_tag(
    text: &str,
    rest: &str,
    wanted: &'static str,
) -> Result<(PathBuf, Option<String>), LocationError> {
    let (path, tag) = match rest.rsplit_once(':') {
        Some((path, tag)) if !tag.contains('/') => (path, Some(tag)),
        _ => (rest, None),
    };
    if path.is_empty() {
        return Err(LocationError::NoPath(text.to_owned(), wanted));
    }
    if let Some(tag) = tag {
        check_tag(tag).map_err(|why| LocationError::Tag(text.to_owned(), why))?;
    }
    Ok((path.into(), tag.map(str::to_owned)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<String, String> {
        let on_disk = |path: &Path| match path.to_str().unwrap() {
            "folder" | "./folder" => OnDisk::Folder,
            "/layout" => OnDisk::Layout,
            "r.tar" => OnDisk::File,
            "/dev/null" => OnDisk::Special,
            _ => OnDisk::Nothing,
        };
        let found = Location::parse_with(text, on_disk).map_err(|error| error.to_string())?;
        let kind = match found {
            Location::Folder(_) => "folder",
            Location::Layout { .. } => "layout",
            Location::Archive { .. } => "archive",
            Location::Registry(_) => "registry",
        };
        Ok(format!("{kind} {found}"))
    }

    #[test]
    fn what_is_on_disk_comes_before_pull_specs() {
        assert_eq!(read("folder").unwrap(), "folder folder");
        assert_eq!(read("host.tld/other").unwrap(), "registry host.tld/other");
        assert_eq!(read("/layout").unwrap(), "layout oci:/layout");
        assert_eq!(read("/layout:4.20.0").unwrap(), "layout oci:/layout:4.20.0");
        assert_eq!(read("r.tar:4.20.0").unwrap(), "archive oci-archive:r.tar:4.20.0");
        assert_eq!(read("oci:x/y:1").unwrap(), "layout oci:x/y:1");
        assert_eq!(read("oci:x:5/y").unwrap(), "layout oci:x:5/y");
        assert_eq!(read("docker://folder").unwrap(), "registry folder");
        assert_eq!(read("localhost:5000/a:1").unwrap(), "registry localhost:5000/a:1");
    }

    #[test]
    fn what_is_nothing_says_so() {
        assert_eq!(
            read("./gone").unwrap_err(),
            "./gone: no such file or folder, and a pull spec does not begin with `.` or `/`"
        );
        assert!(
            read("Gone").unwrap_err().contains("no such file or folder, and \"Gone\" is not a valid image")
        );
        assert!(read("4.20.0").unwrap_err().contains("names its registry and repository, as in "));
        assert!(read("oci:").unwrap_err().contains("wanted oci:DIR[:TAG]"));
        assert!(read("oci:a:b c").unwrap_err().contains("is no tag"));
        assert_eq!(read("/dev/null").unwrap_err(), "/dev/null: neither a folder nor a file");
    }

    #[test]
    fn a_place_to_write_to_need_not_be_there() {
        let read = |text: &str| Location::parse_target(text).unwrap();
        assert_eq!(read("./no/such"), Location::Folder("./no/such".into()));
        assert_eq!(read("no-such.tar"), Location::Archive { path: "no-such.tar".into(), tag: None });
        let tagged = Location::Archive { path: "no-such.tar".into(), tag: Some("1".to_owned()) };
        assert_eq!(read("no-such.tar:1"), tagged);
        assert!(matches!(read("host.tld/a"), Location::Registry(_)));
    }
}
