//! `skopeo` reads what we write and we read what it writes, in registries, layouts and archives; digests never change.

use std::path::Path;

use lockstep_release::image::Content;
use lockstep_release::store::{Archive, Layout};
use lockstep_release::{BlobSource, RawManifest, Store, Which};

use crate::stage::{Image, Stage, an_image};

/// Runs `skopeo` and gives back what it says.
fn skopeo(home: &Path, arguments: &[&str]) -> String {
    let output = xtask::registry::skopeo(home)
        .expect("the stage is set")
        .args(arguments)
        .output()
        .expect("the stage is set");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "skopeo {}: {said}", arguments.join(" "));
    String::from_utf8(output.stdout).expect("the stage is set")
}

/// The three kinds of stores of one stage, with the names that `skopeo` has for them.
async fn stores(stage: &Stage, name: &str) -> [(Store, String); 3] {
    let (layout, archive) = (stage.path(&format!("{name}-layout")), stage.path(&format!("{name}.tar")));
    [
        (stage.store(name), format!("docker://{}/{name}:1", stage.address())),
        (
            Store::Layout(Layout::create(&layout).await.expect("the stage is set")),
            format!("oci:{}:1", layout.display()),
        ),
        (
            Store::Archive(Archive::create(&archive).await.expect("the stage is set")),
            format!("oci-archive:{}:1", archive.display()),
        ),
    ]
}

/// Reads all blobs of an image and checks them.
async fn check(store: &Store, manifest: &RawManifest) {
    let Content::Image(image) = manifest.content().expect("the stage is set") else {
        unreachable!("one image")
    };
    for blob in image.blobs() {
        let mut stream = BlobSource::store(store.clone()).checked(blob);
        while let Some(piece) = futures::StreamExt::next(&mut stream).await {
            piece.expect("the stage is set");
        }
    }
}

#[tokio::test]
async fn skopeo_inspects_and_copies_what_was_written_everywhere() {
    let stage = Stage::start();
    let home = stage.folder.path();
    let image: Image = an_image(1);
    for (at, (store, name)) in stores(&stage, "ours").await.into_iter().enumerate() {
        image.write(&store, "1").await;
        drop(store);
        let raw = skopeo(home, &["inspect", "--raw", "--tls-verify=false", &name]);
        assert_eq!(raw.as_bytes(), &image.manifest.bytes[..], "{name}");
        let seen = skopeo(
            home,
            &["inspect", "--tls-verify=false", "--format", "{{.Digest}} {{.Labels.seed}}", &name],
        );
        assert_eq!(seen.trim(), format!("{} 1", image.manifest.digest), "{name}");
        let copy = format!("copy-{at}");
        let target = format!("docker://{}/{copy}:1", stage.address());
        let flags = ["copy", "--preserve-digests", "--src-tls-verify=false", "--dest-tls-verify=false", "-q"];
        skopeo(home, &[&flags[..], &[&name, &target]].concat());
        let copied = stage.store(&copy);
        assert_eq!(copied.manifest(&Which::Tag("1".into())).await.unwrap(), image.manifest, "{name}");
        image.check(&copied).await;
    }
}

#[tokio::test]
async fn what_skopeo_wrote_is_read_everywhere() {
    let stage = Stage::start();
    let home = stage.folder.path();
    let image = an_image(2);
    image.write(&stage.store("source"), "1").await;
    let source = format!("docker://{}/source:1", stage.address());
    let (layout, archive) = (stage.path("layout"), stage.path("archive.tar"));
    let targets = [
        format!("docker://{}/theirs:1", stage.address()),
        format!("oci:{}:1", layout.display()),
        format!("oci-archive:{}:1", archive.display()),
    ];
    let flags = ["copy", "--preserve-digests", "--src-tls-verify=false", "--dest-tls-verify=false", "-q"];
    for target in &targets {
        skopeo(home, &[&flags[..], &[&source, target]].concat());
    }
    let stores = [
        stage.store("theirs"),
        Store::Layout(Layout::open(&layout).await.unwrap()),
        Store::Archive(Archive::open(&archive).await.unwrap()),
    ];
    for store in &stores {
        assert_eq!(store.tags().await.unwrap(), ["1"], "{}", store.name());
        assert_eq!(
            store.manifest(&Which::Tag("1".into())).await.unwrap(),
            image.manifest,
            "{}",
            store.name()
        );
        image.check(store).await;
    }
    // An archive of another program is added to, and that program reads both images.
    let more = an_image(3);
    more.write(&Store::Archive(Archive::create(&archive).await.unwrap()), "2").await;
    for (tag, image) in [("1", &image), ("2", &more)] {
        let raw = skopeo(home, &["inspect", "--raw", &format!("oci-archive:{}:{tag}", archive.display())]);
        assert_eq!(raw.as_bytes(), &image.manifest.bytes[..]);
    }
}

#[tokio::test]
async fn the_format_of_docker_is_read_and_carried_unchanged() {
    let stage = Stage::start();
    let home = stage.folder.path();
    an_image(4).write(&stage.store("source"), "1").await;
    let (source, target) =
        (format!("docker://{}/source:1", stage.address()), format!("docker://{}/docker:1", stage.address()));
    let flags = ["copy", "--format", "v2s2", "--src-tls-verify=false", "--dest-tls-verify=false", "-q"];
    skopeo(home, &[&flags[..], &[&source, &target]].concat());
    let theirs = stage.store("docker");
    let manifest = theirs.manifest(&Which::Tag("1".into())).await.unwrap();
    assert!(manifest.media_type.contains("docker"), "{}", manifest.media_type);
    check(&theirs, &manifest).await;
    for (store, name) in stores(&stage, "again").await {
        let Content::Image(image) = manifest.content().unwrap() else { unreachable!("one image") };
        for blob in image.blobs() {
            store.write_blob(blob, &BlobSource::store(theirs.clone())).await.unwrap();
        }
        store.write_manifest(Some("1"), &manifest).await.unwrap();
        store.finish().await.unwrap();
        assert_eq!(store.manifest(&Which::Tag("1".into())).await.unwrap(), manifest, "{name}");
        check(&store, &manifest).await;
    }
}
