//! From folder to folder, without a network.

use std::path::{Path, PathBuf};

use lockstep_release::image::{Content, media_type};
use lockstep_release::store::{Archive, Layout};
use lockstep_release::{BlobSource, Descriptor, Digest, RawManifest, Store, Which};
use lockstep_tests::cli::{Run, lockstep};
use lockstep_tests::made_release::{Made, Recipe};
use serde_json::{Value, json};

use crate::content::{assert_complete, assert_whole_or_untagged};

const REPOSITORY: &str = "src.example.com/ocp/art-dev";

async fn made(folder: &Path, recipe: &Recipe) -> (PathBuf, Made) {
    let path = folder.join("source");
    let store = Store::Layout(Layout::create(&path).await.expect("a layout"));
    let made = recipe.make(&store).await.expect("a release");
    (path, made)
}

async fn layout(path: &Path) -> Store {
    Store::Layout(Layout::open(path).await.expect("a layout"))
}

fn mirror(from: &str, to: &Path, more: &[&str]) -> Run {
    let to = format!("oci:{}", to.display());
    let mut arguments = vec!["release", "mirror", from, "--to", &to];
    arguments.extend(more);
    lockstep(&arguments)
}

fn report(run: &Run) -> Value {
    serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}: {}{}", run.stdout, run.stderr))
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_arrives_and_a_second_run_moves_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let (source, made) = made(folder.path(), &Recipe::small("4.20.0", REPOSITORY)).await;
    let (from, to) = (format!("oci:{}", source.display()), folder.path().join("to"));

    let dry = mirror(&from, &to, &["--dry-run"]);
    assert_eq!(dry.code, 0, "{}", dry.stderr);
    assert!(!to.exists(), "a dry run writes nothing");
    assert!(dry.stdout.contains("-> oci:") && !dry.stdout.contains("Success"), "{}", dry.stdout);

    let run = mirror(&from, &to, &[]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stderr.contains("parallel 6"), "{}", run.stderr);
    let image = format!("oci:{}:4.20.0-x86_64", to.display());
    assert!(run.stdout.starts_with(&format!("\nSuccess\nUpdate image:  {image}\n")), "{}", run.stdout);
    assert_complete(&layout(&to).await, &made).await;

    let again = report(&mirror(&from, &to, &["-o", "json"]));
    assert_eq!(again["complete"], true);
    assert_eq!((&again["totals"]["movedBytes"], &again["totals"]["missingBytes"]), (&json!(0), &json!(0)));
    assert_eq!(again["totals"]["bytes"], json!(made.bytes()));
    let results = again["images"].as_array().expect("images").iter().map(|image| &image["result"]);
    assert!(results.clone().all(|result| result == "present"), "{again}");
    assert_eq!(results.count(), made.images.len() + made.signatures.len() + 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_release_brings_only_what_is_new_and_the_first_stays() {
    let folder = tempfile::tempdir().expect("a folder");
    let (source, first) = made(folder.path(), &Recipe::small("4.20.0", REPOSITORY)).await;
    let (_, second) = made(folder.path(), &Recipe::small("4.20.1", REPOSITORY)).await;
    let to = folder.path().join("to");
    let from = |version: &str| format!("oci:{}:{version}", source.display());
    assert_eq!(mirror(&from("4.20.0"), &to, &[]).code, 0);
    let run = report(&mirror(&from("4.20.1"), &to, &["-o", "json"]));
    let new: u64 =
        second.blobs.iter().filter(|(it, _)| !first.blobs.contains_key(*it)).map(|(_, size)| size).sum();
    assert_eq!(run["totals"]["movedBytes"], json!(new), "exactly the bytes that are new");
    assert!(new > 0 && new < second.bytes() / 2);
    for release in [&first, &second] {
        assert_complete(&layout(&to).await, release).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_byte_that_rotted_at_the_destination_is_found_and_mended() {
    let folder = tempfile::tempdir().expect("a folder");
    let (source, made) = made(folder.path(), &Recipe::small("4.20.0", REPOSITORY)).await;
    let (from, to) = (format!("oci:{}:4.20.0", source.display()), folder.path().join("to"));
    assert_eq!(mirror(&from, &to, &[]).code, 0);
    let (blob, size) = made.blobs.iter().max_by_key(|(_, size)| **size).expect("a blob");
    // A layer, an image that has two names, and one that two lists have.
    let list = layout(&to).await.manifest(&Which::Digest(made.images["part-of-list"].clone())).await;
    let Content::Index(list) = list.expect("a list").content().expect("a list") else { panic!("no list") };
    let rotten = [blob, &made.images["twin"], &list.manifests[0].digest];
    for digest in rotten {
        rot(&to.join("blobs/sha256").join(digest.hex()), 100);
    }
    let run = mirror(&from, &to, &["-o", "json"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let told = report(&run);
    assert_eq!((&told["complete"], &told["problems"]), (&json!(true), &json!([])), "{told}");
    assert_eq!(told["totals"]["movedBytes"], json!(size), "only what rotted comes anew");
    let mended = told["mended"].to_string();
    for digest in rotten {
        assert!(mended.contains(digest.as_str()), "{mended}");
        let is_noted = |line: &str| line.contains(digest.as_str()) && line.ends_with("; it was written anew");
        assert!(run.stderr.lines().any(is_noted), "{}", run.stderr);
    }
    assert!(run.stderr.contains("verification: content integrity error"), "{}", run.stderr);
    assert_complete(&layout(&to).await, &made).await;
    assert_eq!(report(&mirror(&from, &to, &["-o", "json"]))["mended"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_byte_that_rotted_in_an_archive_is_mended_by_a_later_entry() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut recipe = Recipe::small("4.20.0", REPOSITORY);
    recipe.images = 6;
    let (source, made) = made(folder.path(), &recipe).await;
    let (from, path) = (format!("oci:{}:4.20.0", source.display()), folder.path().join("to.tar"));
    let to = format!("oci-archive:{}", path.display());
    let run = lockstep(&["release", "mirror", &from, "--to", &to]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let (blob, _) = made.blobs.iter().max_by_key(|(_, size)| **size).expect("a blob");
    let bytes = std::fs::read(&path).expect("an archive");
    for digest in [blob, &made.images["twin"]] {
        let content = std::fs::read(source.join("blobs/sha256").join(digest.hex())).expect("a blob");
        let at = bytes.windows(64).position(|piece| *piece == content[..64]).expect("it is in the archive");
        rot(&path, at + 20);
    }
    let run = lockstep(&["release", "mirror", &from, "--to", &to]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(
        run.stderr.matches("; it was written anew").count(),
        3,
        "a blob and a manifest of two names: {}",
        run.stderr
    );
    let archive = Store::Archive(Archive::open(&path).await.expect("an archive"));
    assert_complete(&archive, &made).await;
}

/// Turns one bit of a file.
fn rot(path: &Path, at: usize) {
    let mut bytes = std::fs::read(path).expect("a file");
    bytes[at] ^= 1;
    std::fs::write(path, bytes).expect("written");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_rotted_in_source_and_destination_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let (source, made) = made(folder.path(), &Recipe::small("4.20.0", REPOSITORY)).await;
    let (from, to) = (format!("oci:{}:4.20.0", source.display()), folder.path().join("to"));
    assert_eq!(mirror(&from, &to, &[]).code, 0);
    let (digest, _) = made.blobs.iter().max_by_key(|(_, size)| **size).expect("a blob");
    for layout in [&source, &to] {
        rot(&layout.join("blobs/sha256").join(digest.hex()), 1000);
    }
    let run = mirror(&from, &to, &[]);
    assert_eq!((run.code, run.stdout.as_str()), (1, ""), "{}", run.stderr);
    assert!(run.stderr.contains("content integrity error") && run.stderr.contains(digest.as_str()));
    assert!(!run.stderr.contains("written anew"), "{}", run.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_release_image_can_have_another_tag_in_the_same_place() {
    let folder = tempfile::tempdir().expect("a folder");
    let (source, made) = made(folder.path(), &Recipe::small("4.20.0", REPOSITORY)).await;
    let from = format!("oci:{}:4.20.0", source.display());
    let (to, archive) = (folder.path().join("to"), folder.path().join("to.tar"));
    // The same place by another way.
    let other = folder.path().join("source/../to");
    let run =
        mirror(&from, &to, &["--to-release-image", &format!("oci:{}:mine", other.display()), "-o", "json"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(report(&run)["totals"]["bytes"], json!(made.bytes()), "nothing is counted twice");
    let place = format!("oci-archive:{}", archive.display());
    let run = lockstep(&[
        "release",
        "mirror",
        &from,
        "--to",
        &place,
        "--to-release-image",
        &format!("{place}:mine"),
    ]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let archive = Store::Archive(Archive::open(&archive).await.expect("an archive"));
    for store in [layout(&to).await, archive] {
        let found = store.find(&Which::Tag("mine".to_owned())).await.expect("an answer");
        assert_eq!(found.as_ref(), Some(&made.release));
        let tags = store.tags().await.expect("tags");
        assert!(
            tags.contains(&"4.20.0-x86_64-image-00".to_owned())
                && !tags.contains(&"4.20.0-x86_64".to_owned())
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_layout_that_somebody_writes_to_is_left_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let (source, _) = made(folder.path(), &Recipe::small("4.20.0", REPOSITORY)).await;
    let (from, to) = (format!("oci:{}", source.display()), folder.path().join("to"));
    let writer = Layout::create(&to).await.expect("a layout");
    let run = mirror(&from, &to, &[]);
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains("another process writes to it; wait until that has ended"), "{}", run.stderr);
    assert_eq!(mirror(&from, &to, &["--dry-run"]).code, 0, "to look is allowed");
    drop(writer);
    assert_eq!(mirror(&from, &to, &[]).code, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broken_source_leaves_other_images_whole_and_no_tag_of_the_release() {
    let folder = tempfile::tempdir().expect("a folder");
    let (source, made) = made(folder.path(), &Recipe::small("4.20.0", REPOSITORY)).await;
    let manifest = layout(&source).await;
    let manifest =
        manifest.manifest(&Which::Digest(made.images["image-05"].clone())).await.expect("a manifest");
    let value: Value = serde_json::from_slice(&manifest.bytes).expect("JSON");
    let layer = Digest::parse(value["layers"][1]["digest"].as_str().expect("a digest")).expect("a digest");
    let path = source.join("blobs/sha256").join(layer.hex());
    let mut bytes = std::fs::read(&path).expect("a blob");
    bytes[1000] ^= 1;
    std::fs::write(&path, bytes).expect("written");
    let (from, to) = (format!("oci:{}:4.20.0", source.display()), folder.path().join("to"));
    let run = mirror(&from, &to, &["--continue-on-error", "-o", "json"]);
    assert_eq!(run.code, 1, "{}", run.stderr);
    let report = report(&run);
    for image in report["images"].as_array().expect("images") {
        let expected = match image["name"].as_str() {
            Some("image-05") => "failed",
            Some("release") => "notBegun",
            _ => "copied",
        };
        assert_eq!(image["result"], expected, "{image}");
    }
    let tags = layout(&to).await.tags().await.expect("tags");
    assert!(tags.contains(&"4.20.0-x86_64-image-04".to_owned()), "{tags:?}");
    assert!(!tags.contains(&"4.20.0-x86_64".to_owned()), "{tags:?}");
    assert_whole_or_untagged(&layout(&to).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_release_image_can_go_elsewhere_or_stay_or_go_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let (source, made) = made(folder.path(), &Recipe::small("4.20.0", REPOSITORY)).await;
    let from = format!("oci:{}", source.display());
    let tags = async |path: &Path| layout(path).await.tags().await.expect("tags");
    let (to, other) = (folder.path().join("to"), folder.path().join("other"));
    let elsewhere = format!("oci:{}:mine", other.display());
    assert_eq!(mirror(&from, &to, &["--to-release-image", &elsewhere]).code, 0);
    assert!(tags(&other).await.contains(&"mine".to_owned()));
    assert!(tags(&other).await.contains(&format!("{}.sig", made.release.dashed())), "with its signature");
    assert!(!tags(&to).await.contains(&"4.20.0-x86_64".to_owned()));
    let to = folder.path().join("without");
    assert_eq!(mirror(&from, &to, &["--skip-release-image", "--skip-signatures"]).code, 0);
    assert_eq!(tags(&to).await.len(), made.images.len());
    let to = folder.path().join("alone");
    assert_eq!(mirror(&from, &to, &["--only-release-image", "--skip-signatures"]).code, 0);
    assert_eq!(tags(&to).await, ["4.20.0-x86_64"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_disk_that_is_too_small_is_seen_before_anything_is_fetched() {
    let folder = tempfile::tempdir().expect("a folder");
    let (source, made) = made(folder.path(), &Recipe::small("4.20.0", REPOSITORY)).await;
    let store = layout(&source).await;
    // A layer of a petabyte, and a signature that claims to have it.
    let huge = Descriptor::new(media_type::OCI_LAYER, Digest::of(b"huge"), 1_000_000_000_000_000);
    let config = Descriptor::new(media_type::OCI_CONFIG, Digest::of(b"{}"), 2);
    store.write_blob(&config, &BlobSource::memory("{}")).await.expect("written");
    let manifest = RawManifest::of(
        &json!({"schemaVersion": 2, "config": config, "layers": [huge]}),
        media_type::OCI_MANIFEST,
    );
    store.write_manifest(Some(&format!("{}.sig", made.release.dashed())), &manifest).await.expect("written");
    let to = folder.path().join("to");
    let run = mirror(&format!("oci:{}:4.20.0", source.display()), &to, &[]);
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains("1000.0 TB are needed and"), "{}", run.stderr);
    assert!(!to.join("blobs").exists(), "nothing was fetched");
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_that_are_too_deep_and_sizes_that_differ_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("source");
    let store = Store::Layout(Layout::create(&path).await.expect("a layout"));
    let mut recipe = Recipe::small("4.20.0", REPOSITORY);
    recipe.images = 1;
    let made = recipe.make(&store).await.expect("a release");
    let signature = format!("{}.sig", made.release.dashed());
    let mut manifest =
        store.manifest(&Which::Digest(made.images["image-00"].clone())).await.expect("a manifest");
    for _ in 0..3 {
        let list = json!({"schemaVersion": 2, "mediaType": media_type::OCI_INDEX, "manifests": [manifest.descriptor()]});
        manifest = RawManifest::of(&list, media_type::OCI_INDEX);
        store.write_manifest(Some(&signature), &manifest).await.expect("written");
    }
    let from = format!("oci:{}:4.20.0", path.display());
    let run = mirror(&from, &folder.path().join("to"), &[]);
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains("too deep or too many"), "{}", run.stderr);

    let config = Descriptor::new(media_type::OCI_CONFIG, Digest::of(b"{}"), 2);
    let layer = |size| Descriptor::new(media_type::OCI_LAYER, Digest::of(b"{}"), size);
    let value = json!({"schemaVersion": 2, "config": config, "layers": [layer(3)]});
    let manifest = RawManifest::of(&value, media_type::OCI_MANIFEST);
    store.write_manifest(Some(&signature), &manifest).await.expect("written");
    let run = mirror(&from, &folder.path().join("to"), &[]);
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains("has 2 bytes for one manifest and 3 for another"), "{}", run.stderr);

    let image = store.manifest(&Which::Digest(made.images["image-00"].clone())).await.expect("a manifest");
    let mut child = image.descriptor();
    child.size += 1;
    let list = json!({"schemaVersion": 2, "mediaType": media_type::OCI_INDEX, "manifests": [child]});
    let list = RawManifest::of(&list, media_type::OCI_INDEX);
    store.write_manifest(Some(&signature), &list).await.expect("written");
    let run = mirror(&from, &folder.path().join("to"), &[]);
    assert_eq!(run.code, 1);
    let expected = format!("has {} bytes, and a list that points to it says {}", child.size - 1, child.size);
    assert!(run.stderr.contains(&expected), "{}", run.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn claimed_sizes_beyond_all_numbers_are_only_too_much() {
    let folder = tempfile::tempdir().expect("a folder");
    let (source, made) = made(folder.path(), &Recipe::small("4.20.0", REPOSITORY)).await;
    let store = layout(&source).await;
    let config = Descriptor::new(media_type::OCI_CONFIG, Digest::of(b"{}"), 2);
    store.write_blob(&config, &BlobSource::memory("{}")).await.expect("written");
    let layer = |name: &[u8]| Descriptor::new(media_type::OCI_LAYER, Digest::of(name), u64::MAX - 1);
    let value = json!({"schemaVersion": 2, "config": config, "layers": [layer(b"one"), layer(b"two")]});
    let manifest = RawManifest::of(&value, media_type::OCI_MANIFEST);
    store.write_manifest(Some(&format!("{}.sig", made.release.dashed())), &manifest).await.expect("written");
    let run = mirror(&format!("oci:{}:4.20.0", source.display()), &folder.path().join("to"), &[]);
    assert_eq!(run.code, 1, "{}", run.stderr);
    assert!(run.stderr.contains("are needed and"), "{}", run.stderr);
}

#[test]
fn what_cannot_be_meant_is_a_usage_error() {
    let cases: [(&[&str], &str); 9] = [
        (&[], "must specify a release image with --from"),
        (
            &["h.example.com/r:1", "--from", "b", "--to", "h.example.com/a"],
            "you may not specify an argument and --from",
        ),
        (&["h.example.com/r:1", "b"], "only one argument is accepted"),
        (&["h.example.com/r:1"], "must specify a place to mirror the release to with --to"),
        (&["h.example.com/r:1", "--to", "h.example.com/a:1"], "may not contain a tag or digest"),
        (&["h.example.com/r:1", "--to", "oci:x:1"], "may not contain a tag or digest"),
        (&["h.example.com/r:1", "--to", "h.example.com"], "--to must be a valid image repository"),
        (&["h.example.com/r:1", "--to", "./x"], "use oci:./x for images"),
        (
            &[
                "h.example.com/r:1",
                "--to",
                "h.example.com/a",
                "--skip-release-image",
                "--to-release-image",
                "h.example.com/b:1",
            ],
            "--skip-release-image and --to-release-image may not both be specified",
        ),
    ];
    for (arguments, expected) in cases {
        let arguments: Vec<&str> = ["release", "mirror"].iter().chain(arguments).copied().collect();
        let run = lockstep(&arguments);
        assert_eq!(run.code, 2, "{arguments:?}: {}", run.stderr);
        assert!(run.stderr.contains(expected), "{arguments:?}: {}", run.stderr);
    }
}
