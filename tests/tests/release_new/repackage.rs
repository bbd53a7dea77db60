//! From a release that exists: as it is, with other metadata, with other images.

use std::collections::BTreeMap;

use lockstep_payload::Folder;
use lockstep_release::build::stream::Stream;
use lockstep_release::open::OpenRelease;
use lockstep_tests::corpus::corpus;

use crate::stage::{MANIFEST, Stage, files, new_release, operator, references};

/// Both folders of an opened release, as paths.
fn content(release: &OpenRelease) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for folder in [Folder::Manifests, Folder::ReleaseManifests] {
        for name in release.files.list(folder).unwrap() {
            let bytes = release.files.read(folder, &name).unwrap();
            found.insert(format!("{}/{name}", folder.as_str()), bytes);
        }
    }
    found
}

fn on_disk(root: &std::path::Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for folder in ["manifests", "release-manifests"] {
        found.extend(
            files(&root.join(folder)).into_iter().map(|(name, bytes)| (format!("{folder}/{name}"), bytes)),
        );
    }
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn a_real_release_folder_becomes_an_image_and_a_folder_again_byte_for_byte() {
    let Some(corpus) = corpus("repackaging a real release") else { return };
    let stage = Stage::new();
    let folder = corpus.join("4.20.0");
    let (source, out) = (folder.display().to_string(), format!("oci:{}", stage.path("out")));
    let run = new_release(&["--from-release", &source, "--to", &out, "--lint", "off"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stdout.ends_with(" 4.20.0 2026-08-19T23:21:05Z\n"), "{}", run.stdout);
    let release = stage.open(&format!("{out}:4.20.0")).await;
    let (found, expected) = (content(&release), on_disk(&folder));
    assert_eq!(found.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>());
    assert!(found == expected, "some file differs");

    // An image with nothing to change keeps its digest, whatever it is written to.
    let copied = new_release(&[
        "--from-release",
        &out,
        "--to",
        &format!("oci:{}", stage.path("copy")),
        "--lint",
        "off",
    ]);
    assert_eq!(copied.stdout, run.stdout, "{}", copied.stderr);
    let back = new_release(&["--from-release", &out, "--to", &stage.path("back"), "--lint", "off"]);
    assert_eq!(back.stdout, run.stdout, "{}", back.stderr);
    assert!(on_disk(&stage.root().join("back")) == expected, "some file differs");
}

/// A release made from one operator image in a layout.
async fn staged() -> Stage {
    let stage = Stage::new();
    let own = references(&[("app", "r/app".to_owned())]);
    let pod = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: dns\n  namespace: default\nspec:\n  containers:\n  - image: r/app:v1\n";
    let files = [("manifests/1.yaml", pod), ("manifests/image-references", own.as_str())];
    stage.image(Some("op"), &operator(&files)).await;
    stage.image(Some("app"), &operator(&[("manifests/2.yaml", MANIFEST)])).await;
    stage.image(Some("registry.example.com/other:fix"), &operator(&[("manifests/3.yaml", MANIFEST)])).await;
    let layout = format!("oci:{}", stage.path("images"));
    let run = new_release(&[
        "op=registry.example.com/op:v1",
        "app=registry.example.com/app:v1",
        "--images-from",
        &layout,
        "--name",
        "1.0.0",
        "--previous",
        "0.9.0",
        "--base",
        "none",
        "--lint",
        "off",
        "--to",
        &format!("oci:{}", stage.path("release")),
    ]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    stage
}

#[tokio::test(flavor = "multi_thread")]
async fn other_metadata_changes_the_metadata_and_nothing_else() {
    let stage = staged().await;
    let (old, out) = (format!("oci:{}", stage.path("release")), format!("oci:{}", stage.path("out")));
    let run = new_release(&["--from-release", &old, "--next", "1.0.1", "--lint", "off", "--to", &out]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let (before, after) = (content(&stage.open(&old).await), content(&stage.open(&out).await));
    let differ: Vec<&String> = before.keys().filter(|name| before[*name] != after[*name]).collect();
    assert_eq!((differ, before.len()), (vec![&"release-manifests/release-metadata".to_owned()], after.len()));
    let metadata = String::from_utf8(after["release-manifests/release-metadata"].clone()).unwrap();
    assert!(metadata.contains("0.9.0") && metadata.contains("1.0.1"), "{metadata}");
    assert_eq!(
        stage.open(&out).await.image.unwrap().manifest.layers.len(),
        1,
        "the old payload is replaced, not hidden"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replaced_image_changes_manifests() {
    let stage = staged().await;
    let (old, out) = (format!("oci:{}", stage.path("release")), format!("oci:{}", stage.path("out")));
    let images = format!("oci:{}", stage.path("images"));
    let arguments =
        ["--from-release", &old, "app=registry.example.com/other:fix", "--name", "1.0.1", "--base", "none"];
    let run =
        new_release(&[&arguments[..], &["--images-from", &images, "--lint", "off", "--to", &out]].concat());
    assert_eq!(run.code, 0, "{}", run.stderr);
    let files = content(&stage.open(&out).await);
    let stream = Stream::read(&files["release-manifests/image-references"]).unwrap();
    assert!(
        !stream.annotations.contains_key("release.openshift.io/from-release"),
        "a path of this machine is not published"
    );
    let image = stream.tag("app").unwrap().pull_spec().unwrap();
    assert!(image.starts_with("registry.example.com/other@sha256:"), "{image}");
    let pod = String::from_utf8(files["release-manifests/0000_50_op_1.yaml"].clone()).unwrap();
    assert!(pod.contains(image), "{pod}");
    assert!(
        String::from_utf8(files["release-manifests/release-metadata"].clone()).unwrap().contains("0.9.0"),
        "inherited"
    );

    // Without the images there is nothing to take manifests from.
    let run = new_release(&[&arguments[..], &["--images-from", &old, "--lint", "off"]].concat());
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains("is not in oci:"), "{}", run.stderr);
}
