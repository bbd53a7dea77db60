//! Bundles the default example release into the binary and records which source it was built from.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

fn main() {
    // NB: asked at run time; the same program may be found in a shared cache by another clone.
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("../..");
    bundle(&root.join("examples/releases/1.0.0"));
    let commit = git(&root, &["rev-parse", "HEAD"]).unwrap_or_else(|| "unknown".to_owned());
    println!("cargo::rustc-env=LOCKSTEP_COMMIT={commit}");
    if let Some(head) = git(&root, &["rev-parse", "--git-path", "logs/HEAD"]) {
        println!("cargo::rerun-if-changed={}", root.join(head).display());
    }
}

/// Writes a table of folder, file name and content of every file of the release.
fn bundle(release: &Path) {
    let mut table = String::from("&[\n");
    for folder in ["manifests", "release-manifests"] {
        println!("cargo::rerun-if-changed={}", release.join(folder).display());
        let mut files: Vec<PathBuf> = fs::read_dir(release.join(folder))
            .expect("the example release is part of the source")
            .map(|entry| entry.expect("a readable folder").path())
            .collect();
        files.sort();
        for file in files {
            println!("cargo::rerun-if-changed={}", file.display());
            let name =
                file.file_name().and_then(|name| name.to_str()).expect("file names of the example are text");
            let _ = writeln!(
                table,
                "    ({folder:?}, {name:?}, include_bytes!({:?})),",
                file.display().to_string()
            );
        }
    }
    table.push_str("]\n");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it")).join("bundled.rs");
    fs::write(out, table).expect("the output folder is writable");
}

fn git(root: &Path, arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").arg("-C").arg(root).args(arguments).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
