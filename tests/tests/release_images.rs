//! `release info` with the flags that look at images: tables, weights, integrity, and the changelog from real git.
#![expect(clippy::unwrap_used, reason = "a test fails by a panic, also in the functions that tests share")]

use std::fs;
use std::path::Path;
use std::process::Command;

use lockstep_release::image::media_type;
use lockstep_release::platform::host_architecture;
use lockstep_release::store::Layout;
use lockstep_release::{RawManifest, Store, Which};
use lockstep_tests::cli::{Run, lockstep};
use lockstep_tests::layouts::{EXAMPLE, a_layout, files, write_image};
use serde_json::{Value, json};

fn info(release: &str, arguments: &[&str]) -> Run {
    let all: Vec<&str> = ["release", "info", release].iter().chain(arguments).copied().collect();
    lockstep(&all)
}

fn good(release: &str, arguments: &[&str]) -> String {
    let run = info(release, arguments);
    assert_eq!(run.code, 0, "{}", run.stderr);
    run.stdout
}

/// Reduces the release of a layout to the three images that are there.
fn only_images_there(folder: &Path) -> String {
    let release = folder.join("small");
    for part in ["manifests", "release-manifests"] {
        fs::create_dir_all(release.join(part)).unwrap();
    }
    let location = format!("oci:{}:1.0.0", folder.join("layout").display());
    for name in ["image-references", "release-metadata"] {
        let run = lockstep(&["release", "extract", &location, "--file", name]);
        let mut value: Value = serde_json::from_str(&run.stdout).unwrap();
        if name == "image-references" {
            let there = ["cli", "cli-artifacts", "installer"];
            let tags = value["spec"]["tags"].as_array_mut().unwrap();
            tags.retain(|tag| there.contains(&tag["name"].as_str().unwrap()));
        }
        fs::write(release.join("release-manifests").join(name), value.to_string()).unwrap();
    }
    release.display().to_string()
}

#[test]
fn the_tables_of_the_example_are_as_the_snapshots_say() {
    insta::assert_snapshot!("pullspecs", good(EXAMPLE, &["--pullspecs"]));
    insta::assert_snapshot!("commits", good(EXAMPLE, &["--commits"]));
    insta::assert_snapshot!("by_operator", good(EXAMPLE, &["--by-operator"]));
    let json: Value = serde_json::from_str(&good(EXAMPLE, &["--pullspecs", "-o", "json"])).unwrap();
    assert_eq!((json["kind"].as_str(), json["name"].as_str()), (Some("ReleaseDetails"), Some("1.0.0")));
}

#[test]
fn one_image_is_found_and_another_is_not() {
    let spec = good(EXAMPLE, &["--image-for", "cli"]);
    assert!(spec.contains("@sha256:") && spec.lines().count() == 1, "{spec}");
    let run = info(EXAMPLE, &["--image-for", "nothing"]);
    assert_eq!(run.code, 1);
    assert!(
        run.stderr.contains("no image tag \"nothing\" exists in the release image examples/releases/1.0.0"),
        "{}",
        run.stderr
    );
    assert_eq!(info(EXAMPLE, &["--image-for", "cli", "-o", "json"]).code, 2);
    assert_eq!(info(EXAMPLE, &["--commits", "--pullspecs"]).code, 2);
    assert_eq!(info(EXAMPLE, &["--changelog", "x"]).code, 2);
}

#[test]
fn contents_are_the_files_in_order() {
    let text = good(EXAMPLE, &["--contents"]);
    assert!(text.starts_with("# image-references\n"));
    let names: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("# 0000_")).collect();
    assert!(names.len() > 50 && names.is_sorted());
}

/// The release with three images, in a layout of its own.
fn a_whole_layout() -> (tempfile::TempDir, String) {
    let (folder, _) = a_layout();
    let small = only_images_there(folder.path());
    let layout = folder.path().join("layout");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let store = Store::Layout(Layout::open(&layout).await.unwrap());
        let content = files(&Path::new(&small).join("release-manifests"));
        let content =
            content.into_iter().map(|(name, bytes)| (format!("release-manifests/{name}"), bytes)).collect();
        let labels = json!({"io.openshift.release": "1.0.0"});
        write_image(&store, Some("small"), &[content], &labels).await;
    });
    let location = format!("oci:{}:small", layout.display());
    (folder, location)
}

#[test]
fn sizes_are_those_of_the_layers() {
    let (_folder, layout) = a_whole_layout();
    let text = good(&layout, &["--size"]);
    assert!(
        text.contains("NAME")
            && text.contains("UNIQUE MB")
            && text.contains("across 3 layers, 3 different base images"),
        "{text}"
    );
    let json: Value = serde_json::from_str(&good(&layout, &["--size", "-o", "json"])).unwrap();
    let images = json["images"].as_array().unwrap();
    assert_eq!(images.len(), 3);
    assert!(images.iter().all(|image| image["layers"][0]["size"].as_u64() > Some(100)), "{json}");
}

#[test]
fn a_changed_byte_anywhere_is_found() {
    let (folder, layout) = a_whole_layout();
    let line = good(&layout, &["--verify"]);
    assert!(line.starts_with("sha256:") && line.ends_with(" 2024-01-02T03:04:05Z 1.0.0\n"), "{line}");
    let blobs = folder.path().join("layout/blobs/sha256");
    let mut harmed = 0;
    for (name, bytes) in files(&blobs) {
        let mut bad = bytes.clone();
        let middle = bad.len() / 2;
        bad[middle] ^= 1;
        fs::write(blobs.join(&name), &bad).unwrap();
        let run = info(&layout, &["--verify"]);
        fs::write(blobs.join(&name), &bytes).unwrap();
        if run.code != 0 {
            harmed += 1;
            assert_eq!((run.code, run.stdout.as_str()), (1, ""), "{}", run.stderr);
        }
    }
    // Manifest, configuration and layer of the release and of each of its three images.
    assert_eq!(harmed, 12);
}

/// A layout with a release whose only image is a list for this machine and for another, and the list in it.
fn a_layout_with_a_list() -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let layout = folder.path().join("layout");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let store = Store::Layout(Layout::create(&layout).await.unwrap());
        let other = if host_architecture() == "s390x" { "arm64" } else { "s390x" };
        let mut children = Vec::new();
        for architecture in [host_architecture(), other] {
            let content = [("usr/bin/oc".to_owned(), architecture.as_bytes().to_vec())].into();
            let labels = json!({"for": architecture});
            let digest = write_image(&store, None, &[content], &labels).await;
            let mut child = json!(store.manifest(&Which::Digest(digest)).await.unwrap().descriptor());
            child["platform"] = json!({"os": "linux", "architecture": architecture});
            children.push(child);
        }
        let list = json!({"schemaVersion": 2, "mediaType": media_type::OCI_INDEX, "manifests": children});
        let list = RawManifest::of(&list, media_type::OCI_INDEX);
        store.write_manifest(None, &list).await.unwrap();
        let spec = format!("registry.example.com/images@{}", list.digest);
        let references = json!({"kind": "ImageStream", "apiVersion": "image.openshift.io/v1", "metadata": {"name": "1.0.0"},
            "spec": {"tags": [{"name": "cli", "from": {"kind": "DockerImage", "name": spec}}]}});
        let metadata = json!({"kind": "cincinnati-metadata-v0", "version": "1.0.0"});
        let content = [("image-references", references), ("release-metadata", metadata)];
        let content = content.map(|(name, value)| (format!("release-manifests/{name}"), value.to_string().into_bytes()));
        write_image(&store, Some("1.0.0"), &[content.into()], &json!({"io.openshift.release": "1.0.0"})).await;
    });
    let location = format!("oci:{}:1.0.0", layout.display());
    (folder, location)
}

#[test]
fn a_changed_byte_of_an_image_for_another_platform_is_found() {
    let (folder, layout) = a_layout_with_a_list();
    good(&layout, &["--verify"]);
    let blobs = folder.path().join("layout/blobs/sha256");
    let all = files(&blobs);
    // Manifest, configuration and layer of the release and of two images, and the list.
    assert_eq!(all.len(), 3 * 3 + 1);
    for (name, bytes) in &all {
        let mut bad = bytes.clone();
        *bad.last_mut().unwrap() ^= 1;
        fs::write(blobs.join(name), &bad).unwrap();
        let run = info(&layout, &["--verify"]);
        fs::write(blobs.join(name), bytes).unwrap();
        assert_eq!((run.code, run.stdout.as_str()), (1, ""), "{name}: {}", run.stderr);
    }
}

fn git(folder: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .args([
            "-c",
            "user.name=A",
            "-c",
            "user.email=a@example.com",
            "-c",
            "init.defaultBranch=main",
            "-c",
            "commit.gpgsign=false",
        ])
        .args(arguments)
        .current_dir(folder)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// A release folder with images from these commits.
fn a_release(folder: &Path, version: &str, tags: &[(&str, char, &str, &str)]) -> String {
    let release = folder.join(version);
    for part in ["manifests", "release-manifests"] {
        fs::create_dir_all(release.join(part)).unwrap();
    }
    let tag = |(name, digit, source, commit): &(&str, char, &str, &str)| {
        json!({"name": name, "from": {"kind": "DockerImage", "name": format!("registry.example.com/i@sha256:{}", digit.to_string().repeat(64))},
            "annotations": {"io.openshift.build.source-location": source, "io.openshift.build.commit.id": commit,
                "io.openshift.build.versions": format!("kubernetes=1.{}.0", u32::from(*digit))}})
    };
    let images = json!({"kind": "ImageStream", "apiVersion": "image.openshift.io/v1", "metadata": {"name": version},
        "spec": {"tags": tags.iter().map(tag).collect::<Vec<_>>()}});
    let metadata = json!({"kind": "cincinnati-metadata-v0", "version": version});
    fs::write(release.join("release-manifests/image-references"), images.to_string()).unwrap();
    fs::write(release.join("release-manifests/release-metadata"), metadata.to_string()).unwrap();
    release.display().to_string()
}

#[test]
fn the_changelog_lists_merges_with_their_references() {
    let folder = tempfile::tempdir().unwrap();
    let sources = folder.path().join("sources");
    let repository = sources.join("github.com/example/thing");
    fs::create_dir_all(&repository).unwrap();
    git(&repository, &["init", "--quiet"]);
    let commit = |message: &str| git(&repository, &["commit", "--quiet", "--allow-empty", "-m", message]);
    commit("first");
    let from = git(&repository, &["rev-parse", "HEAD"]);
    for (number, body) in [(7, "Bug 12: fix <this>"), (8, "[release-4.1] NE-2, ABC-1: add that")] {
        git(&repository, &["checkout", "--quiet", "-b", &format!("b{number}")]);
        commit("work");
        git(&repository, &["checkout", "--quiet", "main"]);
        let subject = format!("Merge pull request #{number} from someone/b{number}");
        git(&repository, &["merge", "--quiet", "--no-ff", "-m", &subject, "-m", body, &format!("b{number}")]);
    }
    commit("straight to the branch");
    let to = git(&repository, &["rev-parse", "HEAD"]);
    let source = "https://github.com/example/thing";
    let old = a_release(folder.path(), "1.0.0", &[("web", 'a', source, &from), ("gone", 'c', "", "")]);
    let new = a_release(folder.path(), "1.1.0", &[("new", 'd', "", ""), ("web", 'b', source, &to)]);
    let sources = sources.display().to_string();
    let arguments = ["--changes-from", &old, "--changelog", &sources];
    let text = good(&new, &arguments).replace(&from, "(from)").replace(&to, "(to)");
    insta::assert_snapshot!("changelog", text);
    let json: Value = serde_json::from_str(&good(&new, &[&arguments[..], &["-o", "json"]].concat())).unwrap();
    assert_eq!(json["updatedImages"][0]["commits"][0]["pull"], 8, "the newest first");
    assert_eq!(json["updatedImages"][0]["commits"][0]["issues"], json!(["ABC-1", "NE-2"]));
    assert_eq!(good(&new, &["--changes-from", &new, "--changelog", &sources]), "releases are identical\n");
    let unknown = a_release(folder.path(), "1.2.0", &[("web", 'e', source, &"0".repeat(40))]);
    let run = info(&unknown, &arguments);
    assert_eq!(run.code, 1);
    assert!(
        run.stderr.contains("web: to commit 0000000000000000000000000000000000000000 does not exist"),
        "{}",
        run.stderr
    );
    let elsewhere =
        a_release(folder.path(), "1.3.0", &[("web", 'f', "https://github.com/example/other", &to)]);
    let run = info(&elsewhere, &arguments);
    assert!(
        run.code == 1
            && run
                .stderr
                .contains("is not there; clone https://github.com/example/other to it, or give --fetch"),
        "{}",
        run.stderr
    );
}
