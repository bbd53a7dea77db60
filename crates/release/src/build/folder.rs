//! Operators' manifests on disk: one folder for each component.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use lockstep_api::names::file;
use lockstep_payload::limits::{MAX_FILE_BYTES, MAX_FILES};

use super::BuildError;
use super::assemble::{Component, SourceFile};
use super::stream::Stream;

/// What a folder of operators holds.
#[derive(Debug, Clone, Default)]
pub struct Operators {
    /// The images of `image-references` at the top, if there is one.
    pub stream: Stream,
    /// One component for each sub-folder, by name.
    pub components: Vec<Component>,
    /// What was left out.
    pub warnings: Vec<String>,
}

/// Reads a folder of operators. A sub-folder is a component; its manifests are directly in it or in its `manifests/`.
///
/// Times of files are not read: a checkout changes them, and the same input shall give the same release.
pub fn read(root: &Path, is_excluded: impl Fn(&str) -> bool) -> Result<Operators, BuildError> {
    let mut found = Operators::default();
    let images = root.join(file::IMAGE_REFERENCES);
    if images.is_file() {
        found.stream = Stream::read(&content(&images)?).map_err(|error| {
            BuildError::Refused(format!(
                "unable to load image data from release directory: {}: could not parse images: {error}",
                images.display()
            ))
        })?;
        found.stream.tags.retain(|tag| !is_excluded(&tag.name));
    }
    for (name, path) in entries(root)? {
        if !path.is_dir() || is_excluded(&name) {
            continue;
        }
        // `.git` of a checkout is no operator, and its configuration may hold a password.
        if name.starts_with('.') {
            found.warnings.push(format!("{}: left out, its name begins with a dot", path.display()));
            continue;
        }
        let own = path.join(file::MANIFESTS);
        let folder = if own.is_dir() { own } else { path };
        let mut files = BTreeMap::new();
        for (file, path) in entries(&folder)? {
            let kind = fs::symlink_metadata(&path).map_err(|error| failed(&path, &error))?.file_type();
            if kind.is_file() {
                files.insert(file, SourceFile { bytes: content(&path)?.into(), modified: None });
            } else if !kind.is_dir() {
                found.warnings.push(format!("{}: left out, it is no regular file", path.display()));
            }
        }
        found.components.push(Component { name, files });
    }
    Ok(found)
}

/// The entries of a folder by name.
fn entries(folder: &Path) -> Result<Vec<(String, std::path::PathBuf)>, BuildError> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(|error| failed(folder, &error))? {
        let entry = entry.map_err(|error| failed(folder, &error))?;
        let name = entry.file_name().into_string().map_err(|name| {
            BuildError::Refused(format!("{}: the name {} is no UTF-8", folder.display(), name.display()))
        })?;
        if found.len() == MAX_FILES {
            return Err(BuildError::Refused(format!("{}: more than {MAX_FILES} files", folder.display())));
        }
        found.push((name, entry.path()));
    }
    found.sort();
    Ok(found)
}

fn content(path: &Path) -> Result<Vec<u8>, BuildError> {
    let bytes = fs::metadata(path).map_err(|error| failed(path, &error))?.len();
    if bytes > MAX_FILE_BYTES {
        let why = format!(
            "{}: {bytes} bytes, more than the {MAX_FILE_BYTES} that a manifest may have",
            path.display()
        );
        return Err(BuildError::Refused(why));
    }
    fs::read(path).map_err(|error| failed(path, &error))
}

fn failed(path: &Path, error: &std::io::Error) -> BuildError {
    BuildError::Refused(format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(root: &Path, path: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "x").unwrap();
    }

    #[test]
    fn a_component_is_a_folder_with_manifests_directly_or_in_their_own_folder() {
        let root = tempfile::tempdir().unwrap();
        for path in [
            "b/1.yaml",
            ".git/config",
            "b/sub/2.yaml",
            "a/manifests/3.yaml",
            "a/Dockerfile",
            "c/4.yaml",
            "README.md",
        ] {
            write(root.path(), path);
        }
        std::os::unix::fs::symlink("/etc/hostname", root.path().join("b/link.yaml")).unwrap();
        let found = read(root.path(), |name| name == "c").unwrap();
        let files: Vec<String> = found
            .components
            .iter()
            .flat_map(|it| it.files.keys().map(|file| format!("{}/{file}", it.name)))
            .collect();
        assert_eq!(files, ["a/3.yaml", "b/1.yaml"]);
        assert!(found.warnings[0].ends_with("/.git: left out, its name begins with a dot"));
        assert!(found.warnings[1].ends_with("b/link.yaml: left out, it is no regular file"));
        assert!(found.stream.tags.is_empty());
    }

    #[test]
    fn wrong_images_and_missing_folders_are_told() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("image-references"), "kind: List").unwrap();
        let error = read(root.path(), |_| false).unwrap_err().to_string();
        assert!(error.starts_with("unable to load image data from release directory: "), "{error}");
        assert!(error.contains("could not parse images: invalid kind/apiVersion"), "{error}");
        assert!(read(&root.path().join("gone"), |_| false).is_err());
    }
}
