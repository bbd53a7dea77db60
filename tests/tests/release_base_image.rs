//! The operator's own image: the same parts give the same bytes, releases stand on it, and what could not start is refused.
#![expect(clippy::unwrap_used, reason = "a test fails by a panic, also in the functions that tests share")]

use std::fs;
use std::path::Path;

use lockstep_tests::cli::{lockstep, root};

/// The smallest bytes that are a program for amd64, with or without a loader.
fn program(loader: Option<&str>) -> Vec<u8> {
    let mut bytes = vec![0; 64];
    bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
    (bytes[18], bytes[32], bytes[54]) = (62, 64, 56);
    if let Some(loader) = loader {
        bytes[56] = 1;
        let mut header = vec![0; 56];
        (header[0], header[8], header[32]) = (3, 120, u8::try_from(loader.len() + 1).unwrap());
        bytes.extend(header.into_iter().chain(loader.bytes()).chain([0]));
    }
    bytes
}

fn written(folder: &Path, name: &str, bytes: &[u8]) -> String {
    let path = folder.join(name);
    fs::write(&path, bytes).unwrap();
    path.display().to_string()
}

#[test]
fn a_release_stands_on_the_image_and_has_the_operators_manifests() {
    let folder = tempfile::tempdir().unwrap();
    let binary = written(folder.path(), "static", &program(None));
    let place = |name: &str| format!("oci:{}:v1", folder.path().join(name).display());
    let run = |to: &str| {
        lockstep(&["release", "base-image", "--binary", &binary, "--without-monitoring", "--to", to])
    };
    let (one, two) = (run(&place("one")), run(&place("two")));
    assert_eq!(one.code, 0, "{}", one.stderr);
    assert!(one.stdout.starts_with("sha256:"), "{}", one.stdout);
    assert_eq!(one.stdout, two.stdout, "the same binary gives the same digest");

    let operators = folder.path().join("operators/dns");
    fs::create_dir_all(&operators).unwrap();
    let namespace = "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: dns\n  annotations:\n    include.release.openshift.io/self-managed-high-availability: \"true\"\n";
    fs::write(operators.join("0000_50_dns_00_namespace.yaml"), namespace).unwrap();
    let (from, to) = (folder.path().join("operators").display().to_string(), place("release"));
    let new = lockstep(&[
        "release",
        "new",
        "--from-dir",
        &from,
        "--name",
        "1.0.0",
        "--base",
        &place("one"),
        "--to",
        &to,
    ]);
    assert_eq!(new.code, 0, "{}", new.stderr);
    let objects = lockstep(&[
        "release",
        "objects",
        &to,
        "--selected",
        "--release-image",
        "registry.example.com/release:1.0.0",
    ]);
    for object in
        ["cluster-version-operator", "clusterversions.config.openshift.io", "lockstep-operator", "\tdns\t"]
    {
        assert!(objects.stdout.contains(object), "{object}: {}", objects.stdout);
    }
    let lint = lockstep(&["release", "lint", &to, "--fail-on", "error"]);
    assert_eq!(lint.code, 0, "{}", lint.stdout);
    // The role that the operator starts with is enough for the manifests that it brings.
    let rights = lockstep(&["release", "rbac", &to, "-o", "text"]);
    assert!(rights.stdout.contains("Its own role is among them"), "{}", rights.stdout);
}

#[test]
fn a_program_that_could_not_start_in_the_image_is_refused_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let to = format!("oci:{}", folder.path().join("out").display());
    let dynamic = written(folder.path(), "dynamic", &program(Some("/lib64/ld-linux-x86-64.so.2")));
    let run =
        |arguments: &[&str]| lockstep(&[&["release", "base-image", "--to", &to][..], arguments].concat());
    let refused = run(&["--binary", &dynamic]);
    assert_eq!(refused.code, 1, "{}", refused.stderr);
    assert!(
        refused.stderr.contains("linked dynamically") && refused.stderr.contains("--from"),
        "{}",
        refused.stderr
    );
    assert!(!folder.path().join("out").exists(), "nothing is written");
    let script = written(folder.path(), "script", b"#!/bin/sh\n");
    assert!(run(&["--binary", &script]).stderr.contains("no program for Linux"));
    assert_eq!(run(&["--binary", &dynamic, "--allow-dynamic"]).code, 0);
    let on_itself = run(&["--binary", &dynamic, "--from", &to]);
    assert_eq!(on_itself.code, 0, "{}", on_itself.stderr);
}

#[test]
fn the_files_that_the_binary_carries_are_those_of_the_deploy_folder() {
    for file in lockstep_operator::manifests::FILES.iter().filter(|file| !file.name.ends_with(".crd.yaml")) {
        let on_disk = fs::read_to_string(root().join("deploy/manifests").join(file.name)).unwrap();
        assert_eq!(file.text, on_disk, "{}", file.name);
    }
    let files = fs::read_dir(root().join("deploy/manifests")).unwrap().count();
    assert_eq!(files + 2, lockstep_operator::manifests::FILES.len(), "a file that no image gets");
}
