//! From component images, an image stream, and on a base.

use lockstep_payload::Folder;
use lockstep_release::build::stream::Stream;
use lockstep_release::image::{Content, media_type};
use serde_json::json;

use crate::stage::{Image, MANIFEST, Stage, new_release, operator, references};

const ANNOTATION: &str = "lockstep.dev/holds";

fn plain<'a>() -> Image<'a> {
    Image {
        labels: json!({}),
        layers: vec![vec![("usr/bin/x", "x")]],
        is_docker: false,
        architecture: "amd64",
    }
}

/// The operator's own image: manifests in the lower layer, something else above.
fn base<'a>() -> Image<'a> {
    Image {
        labels: json!({"name": "cvo"}),
        layers: vec![
            vec![("usr/bin/os", "os")],
            vec![("manifests/0000_00_cluster-version-operator_00_a.yaml", MANIFEST)],
            vec![("usr/bin/cvo", "cvo")],
        ],
        is_docker: true,
        architecture: "amd64",
    }
}

/// An operator `dns` that uses `coredns`, a plain `coredns`, a base and an image that nobody needs.
async fn staged() -> Stage {
    let stage = Stage::new();
    let own = references(&[("coredns", "r/coredns".to_owned())]);
    let deployment = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: dns\n  namespace: default\nspec:\n  containers:\n  - image: r/coredns:v1\n    env: [{name: V, value: 0.0.1-snapshot-kubernetes}]\n";
    let files = [("manifests/01-pod.yaml", deployment), ("manifests/image-references", own.as_str())];
    stage.image(Some("dns"), &operator(&files)).await;
    let coredns = Image {
        labels: json!({"io.openshift.build.versions": "kubernetes=1.36.2", "io.openshift.build.source-location": "https://example.com/coredns"}),
        ..plain()
    };
    stage.image(Some("coredns"), &coredns).await;
    stage.image(Some("cluster-version-operator"), &base()).await;
    stage.image(Some("unused"), &plain()).await;
    stage
}

const MAPPINGS: [&str; 4] = [
    "dns=registry.example.com/dns:v1",
    "coredns=registry.example.com/coredns:v1",
    "cluster-version-operator=registry.example.com/cvo:v1",
    "unused=registry.example.com/unused:v1",
];

#[tokio::test(flavor = "multi_thread")]
async fn images_with_the_label_bring_their_manifests_and_are_recorded_by_digest() {
    let stage = staged().await;
    let (layout, out) = (format!("oci:{}", stage.path("images")), format!("oci:{}", stage.path("out")));
    let more = ["--images-from", &layout, "--name", "1.0.0", "--to", &out, "--lint", "off"];
    let run = new_release(&[&MAPPINGS[..], &more].concat());
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(
        run.stdout.ends_with(" 1.0.0 2023-11-14T22:13:20Z\n"),
        "the newest file of the images: {}",
        run.stdout
    );
    let again = new_release(&[&MAPPINGS[..], &more].concat());
    assert_eq!(run.stdout, again.stdout);

    let release = stage.open(&format!("{out}:1.0.0")).await;
    let images =
        Stream::read(&release.files.read(Folder::ReleaseManifests, "image-references").unwrap()).unwrap();
    let names: Vec<&str> = images.tags.iter().map(|tag| tag.name.as_str()).collect();
    assert_eq!(names, ["cluster-version-operator", "coredns", "dns"]);
    let coredns = images.tag("coredns").unwrap();
    let notes = coredns.annotations.as_ref().unwrap();
    assert_eq!(notes["io.openshift.build.versions"], "kubernetes=1.36.2");
    assert_eq!(notes["io.openshift.build.source-location"], "https://example.com/coredns");
    assert_eq!(notes["io.openshift.build.commit.id"], "");
    assert_eq!(notes["io.openshift.release.override"], "true");
    assert_eq!(notes["lockstep.dev/used-by"], "dns");
    let image = coredns.pull_spec().unwrap();
    assert!(image.starts_with("registry.example.com/coredns@sha256:"), "{image}");
    let pod = release.files.read(Folder::ReleaseManifests, "0000_50_dns_01-pod.yaml").unwrap();
    let pod = String::from_utf8(pod).unwrap();
    assert!(pod.contains(&format!("image: {image}\n")) && pod.contains("value: 1.36.2}"), "{pod}");

    // The base is the operator's own image, in its format; readers are told where the manifests are.
    let image = release.image.as_ref().unwrap();
    assert_eq!(image.raw.media_type, media_type::DOCKER_MANIFEST);
    let held: Vec<Option<&str>> = image
        .manifest
        .layers
        .iter()
        .map(|layer| layer.annotations.get(ANNOTATION).map(String::as_str))
        .collect();
    assert_eq!(held, [None, Some("manifests"), None, Some("release-manifests")]);
    assert_eq!(image.config.raw["config"]["Entrypoint"], json!(["/usr/bin/run"]));
    let labels: Vec<&String> = image.config.labels.keys().collect();
    assert_eq!(labels, ["io.openshift.release", "io.openshift.release.base-image-digest"]);
    let own = release.files.list(Folder::Manifests).unwrap();
    assert_eq!(own, ["0000_00_cluster-version-operator_00_a.yaml"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_by_digest_looks_into_the_last_layer_and_an_override_into_all() {
    let stage = Stage::new();
    let above = MANIFEST.replace(": a", ": b");
    let layered = Image {
        layers: vec![vec![("manifests/below.yaml", MANIFEST)], vec![("./manifests/above.yaml", &above)]],
        ..operator(&[])
    };
    let digest = stage.image(Some("op"), &layered).await.digest;
    stage.write("stream", references(&[("op", format!("registry.example.com/op@{digest}"))]).as_bytes());
    let layout = format!("oci:{}", stage.path("images"));
    let more = ["--images-from", &layout, "--name", "1.0.0", "--base", "none", "--lint", "off", "--to-dir"];
    let names = |folder: &str, source: &[&str]| {
        let run = new_release(&[source, &more, &[&stage.path(folder)]].concat());
        assert_eq!(run.code, 0, "{}", run.stderr);
        let found = crate::stage::files(&stage.root().join(folder));
        found.into_keys().filter(|name| name.starts_with("0000")).collect::<Vec<_>>()
    };
    assert_eq!(names("stream-out", &["-f", &stage.path("stream")]), ["0000_50_op_above.yaml"]);
    let both = ["0000_50_op_above.yaml", "0000_50_op_below.yaml"];
    assert_eq!(names("override-out", &["op=registry.example.com/op:v1"]), both);
}

#[tokio::test(flavor = "multi_thread")]
async fn labels_that_cannot_be_read_and_images_that_are_not_there_are_told() {
    let stage = Stage::new();
    let wrong = Image { labels: json!({"io.openshift.build.versions": "other=1.0.0"}), ..plain() };
    stage.image(Some("wrong"), &wrong).await;
    let odd = Image { labels: json!({"io.openshift.release.operator": "yes"}), ..plain() };
    stage.image(Some("odd"), &odd).await;
    let layout = format!("oci:{}", stage.path("images"));
    let new =
        |mapping: &str| new_release(&[mapping, "--images-from", &layout, "--base", "none", "--lint", "off"]);
    let run = new("wrong=registry.example.com/wrong:v1");
    assert_eq!(run.code, 1);
    assert!(
        run.stderr.contains(
            "tag \"wrong\" references a component version \"other\" which is not in the allowed list"
        ),
        "{}",
        run.stderr
    );
    let run = new("gone=registry.example.com/gone:v1");
    assert!(
        run.code == 1
            && run.stderr.contains("the image of the tag gone, registry.example.com/gone:v1, is not in oci:"),
        "{}",
        run.stderr
    );
    let run = new("odd=registry.example.com/odd:v1");
    assert!(run.code == 0 && run.stderr.contains("warning: the image odd has the label"), "{}", run.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_release_for_several_platforms_is_a_list_of_images_with_one_payload() {
    let stage = Stage::new();
    let own = operator(&[("manifests/1.yaml", MANIFEST)]);
    let (one, two) =
        (stage.image(None, &own).await, stage.image(None, &Image { architecture: "arm64", ..own }).await);
    let list = stage.list("op", &[(one, "amd64"), (two, "arm64")]).await;
    let (one, two) = (
        stage.image(None, &base()).await,
        stage.image(None, &Image { architecture: "arm64", ..base() }).await,
    );
    stage.list("cluster-version-operator", &[(one.clone(), "amd64"), (two, "arm64")]).await;
    let (layout, out) = (format!("oci:{}", stage.path("images")), format!("oci:{}:multi", stage.path("out")));
    let run = new_release(&[
        "op=registry.example.com/op:v1",
        "cluster-version-operator=registry.example.com/cvo:v1",
        "--keep-manifest-list",
        "--images-from",
        &layout,
        "--name",
        "1.0.0",
        "--lint",
        "off",
        "--to",
        &out,
    ]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let release = stage.open(&out).await;
    let image = release.image.as_ref().unwrap();
    assert!(run.stdout.starts_with(image.digest().as_str()), "{}", run.stdout);
    let written = image.list.as_ref().unwrap();
    assert_eq!(written.media_type, media_type::DOCKER_LIST);
    let Content::Index(index) = written.content().unwrap() else { unreachable!() };
    let platforms: Vec<String> =
        index.manifests.iter().map(|entry| entry.platform.as_ref().unwrap().to_string()).collect();
    assert_eq!(platforms, ["linux/amd64", "linux/arm64"]);
    assert_eq!(image.config.labels["io.openshift.release.base-image-digest"], one.digest.to_string());
    let images =
        Stream::read(&release.files.read(Folder::ReleaseManifests, "image-references").unwrap()).unwrap();
    assert_eq!(
        images.tag("op").unwrap().pull_spec(),
        Some(format!("registry.example.com/op@{list}").as_str())
    );
    let metadata = release.files.read(Folder::ReleaseManifests, "release-metadata").unwrap();
    assert!(
        String::from_utf8(metadata).unwrap().contains("\"release.openshift.io/architecture\": \"multi\"")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_base_that_has_a_payload_is_hidden_by_the_new_one() {
    let stage = Stage::new();
    let old = Image {
        layers: vec![
            vec![("manifests/a.yaml", MANIFEST)],
            vec![("release-manifests/gone.yaml", MANIFEST), ("usr/x", "x")],
        ],
        ..plain()
    };
    stage.image(Some("old"), &old).await;
    stage.write("in/a/1.yaml", MANIFEST.as_bytes());
    let (base, out) = (format!("oci:{}:old", stage.path("images")), format!("oci:{}", stage.path("out")));
    let run = new_release(&[
        "--from-dir",
        &stage.path("in"),
        "--name",
        "1.0.0",
        "--base",
        &base,
        "--lint",
        "off",
        "--to",
        &out,
    ]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let release = stage.open(&out).await;
    let mut names = release.files.list(Folder::ReleaseManifests).unwrap();
    names.sort();
    assert_eq!(names, ["0000_50_a_1.yaml", "image-references", "release-metadata"]);
    let folder = release
        .image
        .as_ref()
        .unwrap()
        .folder("release-manifests", lockstep_release::Layers::All)
        .await
        .unwrap();
    assert_eq!(folder.len(), 3, "also for who reads all layers");
    assert_eq!(release.files.list(Folder::Manifests).unwrap(), ["a.yaml"]);
}
