//! A real Kubernetes for the suites: its binaries and a private instance.
//!
//! [`assets`] provides the binaries, [`Server`] starts a private API server with them. Nothing is installed into
//! the system and nothing outside the cache folder and a temporary folder is written.

mod build;
pub(crate) mod ports;
pub(crate) mod process;
mod recipe;
pub(crate) mod server;

use std::env;
use std::path::{Path, PathBuf};

use crate::Error;
use recipe::{BINARIES, Recipe};

pub(crate) use build::{build, go_is_there, module_sources};
pub(crate) use recipe::Binary;
pub use server::{Server, ServerOptions};

/// The folder with the five Kubernetes binaries.
///
/// Order: the folder named by `KUBEBUILDER_ASSETS`; the cache (`$XDG_CACHE_HOME`, else `$HOME/.cache`); else they
/// are built with Go from the published modules that `xtask/kube/go.mod` pins, into that cache, which takes
/// minutes once.
pub fn assets() -> Result<PathBuf, Error> {
    if let Some(folder) = variable("KUBEBUILDER_ASSETS") {
        let missing = missing_in(&folder);
        return if missing.is_empty() { Ok(folder) } else { Err(Error::MissingBinaries { folder, missing }) };
    }
    let recipe = Recipe::read(&go_module())?;
    let cache = cache_root(variable("XDG_CACHE_HOME"), variable("HOME"))?.join("lockstep").join("kube");
    let folder = cache.join(&recipe.key);
    if !missing_in(&folder).is_empty() {
        build::into(&cache, &recipe)?;
    }
    Ok(folder)
}

/// The Go module that pins the versions.
pub(crate) fn go_module() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("kube")
}

/// The pinned Kubernetes version, such as `v1.36.3`.
pub(crate) fn kubernetes_version() -> Result<String, Error> {
    Ok(Recipe::read(&go_module())?.kubernetes)
}

/// Which of the binaries a folder does not have.
fn missing_in(folder: &Path) -> Vec<&'static str> {
    BINARIES.iter().map(|binary| binary.name).filter(|name| !folder.join(name).is_file()).collect()
}

/// The user's cache folder; a relative `XDG_CACHE_HOME` is to be ignored, says its specification.
pub(crate) fn cache_root(xdg: Option<PathBuf>, home: Option<PathBuf>) -> Result<PathBuf, Error> {
    xdg.filter(|folder| folder.is_absolute()).or_else(|| home.map(|home| home.join(".cache"))).ok_or_else(
        || Error::Data {
            from: "environment".into(),
            what: "neither HOME nor XDG_CACHE_HOME is set; set one of them, or KUBEBUILDER_ASSETS".into(),
        },
    )
}

pub(crate) fn variable(name: &str) -> Option<PathBuf> {
    env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_folder_lacks_all_five_binaries() {
        let missing = missing_in(Path::new("/nonexistent"));
        assert_eq!(
            missing,
            ["etcd", "kube-apiserver", "kubectl", "kube-controller-manager", "kube-scheduler"]
        );
    }

    #[test]
    fn the_cache_follows_xdg_before_home_and_ignores_a_relative_one() {
        let root = |xdg: Option<&str>, home: Option<&str>| {
            cache_root(xdg.map(PathBuf::from), home.map(PathBuf::from)).map_err(|error| error.to_string())
        };
        assert_eq!(root(Some("/x"), Some("/h")), Ok(PathBuf::from("/x")));
        assert_eq!(root(Some("x"), Some("/h")), Ok(PathBuf::from("/h/.cache")));
        assert_eq!(root(None, Some("/h")), Ok(PathBuf::from("/h/.cache")));
        assert!(root(None, None).is_err_and(|text| text.contains("XDG_CACHE_HOME")));
    }
}
