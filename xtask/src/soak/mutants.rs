//! `cargo xtask soak mutants`: breaks the engine on purpose, and asks whether the simulation notices.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Error;
use crate::error::io_error;
use crate::lock::lock;
use crate::workspace::{cargo, commit, output, root, target_folder};

/// The test that must fail.
const TEST: &str = "the_engine_keeps_its_laws_in_every_world";
/// What that test says when it does.
const FOUND: &str = "first failing seed: ";

/// Runs the simulation against every patch of `tests/mutants`, with so many seeds at most; whether all were found.
///
/// Each patch is applied to a checkout of its own, so nobody's files change. It is a checkout of the last commit: what is
/// not committed is not in it. All patches share one build folder, and with nobody else: cargo names what it builds by the
/// path inside of a checkout, so a broken engine would end up in ordinary builds.
pub(super) fn run(seeds: u64, out: &mut dyn Write) -> Result<bool, Error> {
    let target = target_folder()?.join("mutants");
    fs::create_dir_all(&target).map_err(io_error(format!("making `{}`", target.display())))?;
    let _lock = lock(&target.join("xtask.lock"), "other mutants")?;
    let tree = Tree::new(&target)?;
    let patches = patches()?;
    let mut found = 0;
    for patch in &patches {
        let name = patch.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        tree.apply(patch)?;
        let result = first_seed(&tree, &target, seeds);
        tree.clean()?;
        let (seed, law) = result?;
        let line = match seed {
            Some(seed) => {
                found += 1;
                format!("{name}: found by seed {seed}: {law}")
            }
            None => format!("{name}: NOT FOUND with {seeds} seeds"),
        };
        writeln!(out, "{line}").map_err(io_error("writing the report"))?;
    }
    let line = format!("cargo xtask soak mutants: commit {}, {found} of {} found", commit(), patches.len());
    writeln!(out, "{line}").map_err(io_error("writing the report"))?;
    Ok(found == patches.len() && !patches.is_empty())
}

/// All patches, in order.
fn patches() -> Result<Vec<PathBuf>, Error> {
    let folder = root().join("tests/mutants");
    let entries = fs::read_dir(&folder).map_err(io_error(format!("reading `{}`", folder.display())))?;
    let mut patches: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    patches.retain(|path| path.extension().is_some_and(|extension| extension == "patch"));
    patches.sort();
    Ok(patches)
}

/// The first seed that finds what is broken in a tree, and the first law that it breaks.
fn first_seed(tree: &Tree, target: &Path, seeds: u64) -> Result<(Option<u64>, String), Error> {
    let arguments =
        ["test", "--package", "lockstep-tests", "--test", "simulation", "--locked", "--", TEST, "--exact"];
    let ran = cargo(target, &arguments)
        .current_dir(&tree.folder)
        .env("LOCKSTEP_SEEDS", seeds.to_string())
        .env_remove("LOCKSTEP_SEED")
        .env_remove("LOCKSTEP_FIRST_SEED")
        .output()
        .map_err(io_error("running `cargo test`"))?;
    let log = [ran.stdout, ran.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    let has_run = log.contains("test result: ");
    if !has_run {
        return Err(Error::Command { command: format!("cargo {}", arguments.join(" ")), log });
    }
    let mut rest = log.split(FOUND).skip(1);
    let Some(text) = rest.next() else { return Ok((None, String::new())) };
    let seed = text.lines().next().and_then(|line| line.trim().parse().ok());
    let law = text.lines().nth(2).unwrap_or_default().trim().to_owned();
    Ok((seed, law))
}

/// A second checkout of this repository; it is gone when this is dropped.
struct Tree {
    folder: PathBuf,
}

// === impl Tree ===

impl Tree {
    fn new(target: &Path) -> Result<Self, Error> {
        let tree = Self { folder: target.join("checkout") };
        tree.remove();
        let folder = tree.folder.display().to_string();
        git(&root(), &["worktree", "add", "--force", "--detach", &folder, "HEAD"])?;
        Ok(tree)
    }

    fn apply(&self, patch: &Path) -> Result<(), Error> {
        git(&self.folder, &["apply", &patch.display().to_string()])
    }

    fn clean(&self) -> Result<(), Error> {
        git(&self.folder, &["checkout", "--quiet", "--", "."])
    }

    /// Removes what an earlier run may have left; nothing to remove is fine.
    fn remove(&self) {
        let folder = self.folder.display().to_string();
        let remove = ["worktree", "remove", "--force", folder.as_str()];
        let _ = Command::new("git").arg("-C").arg(root()).args(remove).output();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        self.remove();
    }
}

fn git(folder: &Path, arguments: &[&str]) -> Result<(), Error> {
    let folder = folder.display().to_string();
    output("git", &[&["-C", folder.as_str()], arguments].concat()).map(drop)
}
