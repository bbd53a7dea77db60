//! Helm for the suite that renders the chart, built once from its published module.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use crate::Error;
use crate::error::io_error;
use crate::kube::{Binary, build, cache_root, go_is_there, variable};
use crate::lock::lock;

/// For which Kubernetes charts are rendered where no cluster is asked; without it helm takes an old one.
const LINKER_FLAGS: &str = "-s -w -X helm.sh/helm/v3/pkg/chartutil.k8sVersionMajor=1 \
                            -X helm.sh/helm/v3/pkg/chartutil.k8sVersionMinor=36";

/// What is built.
const HELM: Binary = Binary { name: "helm", package: "helm.sh/helm/v3/cmd/helm" };

/// A `helm` command that knows no settings and no repositories of the user.
///
/// Order: the program named by `HELM`; the cache (`$XDG_CACHE_HOME`, else `$HOME/.cache`); else it is built with Go from the
/// module that `xtask/helm/go.mod` pins, which takes a minute or two once.
pub fn helm(home: &Path) -> Result<Command, Error> {
    let mut command = Command::new(binary()?);
    command.env("HELM_CACHE_HOME", home).env("HELM_CONFIG_HOME", home).env("HELM_DATA_HOME", home);
    Ok(command)
}

fn binary() -> Result<PathBuf, Error> {
    if let Some(given) = variable("HELM") {
        return Ok(given);
    }
    let module = Path::new(env!("CARGO_MANIFEST_DIR")).join("helm");
    let cache = cache_root(variable("XDG_CACHE_HOME"), variable("HOME"))?.join("lockstep").join("helm");
    let folder = cache.join(version(&module)?);
    let binary = folder.join(HELM.name);
    fs::create_dir_all(&cache).map_err(io_error(format!("creating `{}`", cache.display())))?;
    let _lock = lock(&cache.join("lock"), "builds helm")?;
    if binary.is_file() {
        return Ok(binary);
    }
    if !go_is_there() {
        let log = "no `go` on PATH; install Go, or name a program of your own in the variable HELM".into();
        return Err(Error::Go { doing: "building helm".into(), log });
    }
    // The folder gets its name when everything is in it.
    let partial = folder.with_extension("partial");
    fs::create_dir_all(&partial).map_err(io_error(format!("creating `{}`", partial.display())))?;
    build(&module, &HELM, &partial, LINKER_FLAGS, Instant::now())?;
    fs::rename(&partial, &folder).map_err(io_error(format!("renaming `{}`", partial.display())))?;
    Ok(binary)
}

/// The version that is pinned.
fn version(module: &Path) -> Result<String, Error> {
    let file = module.join("go.mod");
    let text = fs::read_to_string(&file).map_err(io_error(format!("reading `{}`", file.display())))?;
    let pinned = text.lines().find_map(|line| line.trim().strip_prefix("helm.sh/helm/v3 "));
    let pinned = pinned.and_then(|rest| rest.split_whitespace().next());
    pinned.map(str::to_owned).ok_or_else(|| Error::Data {
        from: file.display().to_string(),
        what: "no line requires `helm.sh/helm/v3` at a version".into(),
    })
}
