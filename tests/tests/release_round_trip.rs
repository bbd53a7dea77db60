//! A release goes from a folder through registries and an archive and comes out as it went in; little is fetched to look at one.
#![expect(clippy::unwrap_used, reason = "a test fails by a panic, also in the functions that tests share")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use lockstep_release::store::{Access, Registries, Store, Which};
use lockstep_release::{Digest, PullSpec, RawManifest};
use lockstep_tests::cli::{Run, lockstep_with, root};
use lockstep_tests::corpus::corpus;
use lockstep_tests::fault_proxy::{FaultProxy, Plan};
use lockstep_tests::layouts::{Content, files, write_blob, write_image, write_image_of};
use serde_json::{Value, json};
use xtask::registry::{Options, Registry, skopeo};

/// The bytes of the base layers that nobody should have to fetch.
const BASE_BYTES: u64 = 500_000_000;
const BASE_LAYERS: u64 = 5;
/// The format of a layer that is not compressed, so that it weighs what it holds.
const PLAIN_LAYER: &str = "application/vnd.oci.image.layer.v1.tar";

/// Runs the command with a home that has no credentials, and expects it to succeed.
fn run(home: &Path, arguments: &[&str]) -> Run {
    let home = home.to_str().unwrap();
    let run = lockstep_with(
        arguments,
        &[("HOME", home), ("XDG_RUNTIME_DIR", home), ("REGISTRY_AUTH_FILE", ""), ("NO_PROXY", "127.0.0.1")],
    );
    assert_eq!(run.code, 0, "{arguments:?}\n{}{}", run.stdout, run.stderr);
    run
}

fn repository(registry: &str, name: &str) -> Store {
    // The first suite to ask for it is the only one that gets to choose.
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let registries = Registries::new(Access { plain_http: true, ..Access::default() }).unwrap();
    let spec = PullSpec::parse(&format!("{registry}/{name}")).unwrap();
    Store::Registry(registries.repository(&spec).unwrap())
}

/// A tar with one file.
fn tar(path: &str, content: &[u8]) -> Vec<u8> {
    let mut header = vec![0; 512];
    header[..path.len()].copy_from_slice(path.as_bytes());
    header[100..107].copy_from_slice(b"0000644");
    header[108..115].copy_from_slice(b"0000000");
    header[116..123].copy_from_slice(b"0000000");
    header[124..135].copy_from_slice(format!("{:011o}", content.len()).as_bytes());
    header[136..147].copy_from_slice(b"00000000000");
    header[148..156].copy_from_slice(b"        ");
    header[156] = b'0';
    header[257..265].copy_from_slice(b"ustar\x0000");
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    header.extend_from_slice(content);
    header.resize(header.len().next_multiple_of(512) + 1024, 0);
    header
}

/// Copies a release folder and points every image of it to one that is in the registry.
async fn with_real_images(from: &Path, to: &Path, images: &Store, name: &str) -> usize {
    let content = |path: &str, text: &str| Content::from([(path.to_owned(), text.as_bytes().to_vec())]);
    let references = fs::read(from.join("release-manifests/image-references")).unwrap();
    let references: Value = serde_json::from_slice(&references).unwrap();
    let mut moved: BTreeMap<String, String> = BTreeMap::new();
    for tag in references["spec"]["tags"].as_array().unwrap() {
        let (component, old) = (tag["name"].as_str().unwrap(), tag["from"]["name"].as_str().unwrap());
        let layers = [content("base", "shared by all"), content("own", component)];
        let digest = write_image(images, None, &layers, &json!({"name": component})).await;
        moved.insert(old.to_owned(), format!("{name}@{digest}"));
    }
    for folder in ["manifests", "release-manifests"] {
        fs::create_dir_all(to.join(folder)).unwrap();
        for entry in fs::read_dir(from.join(folder)).unwrap() {
            let entry = entry.unwrap();
            let mut text = String::from_utf8(fs::read(entry.path()).unwrap()).unwrap();
            if text.contains("@sha256:") {
                for (old, new) in &moved {
                    text = text.replace(old, new);
                }
            }
            fs::write(to.join(folder).join(entry.file_name()), text).unwrap();
        }
    }
    moved.len()
}

fn succeeds(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{command:?}: {said}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_real_release_round_trips_through_two_registries_and_an_archive() {
    let Some(corpus) = corpus("release_round_trip") else { return };
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path();
    let path = |name: &str| home.join(name).to_str().unwrap().to_owned();
    let (first, second) =
        (Registry::start(&Options::default()).unwrap(), Registry::start(&Options::default()).unwrap());
    let (here, there) = (first.address().to_string(), second.address().to_string());

    let images = repository(&here, "images");
    let input = home.join("input");
    let count = with_real_images(&corpus.join("4.20.0"), &input, &images, &format!("{here}/images")).await;

    let release = format!("{here}/release:4.20.0");
    let built =
        run(home, &["release", "new", "--from-release", &path("input"), "--to", &release, "--plain-http"]);
    let digest = built.stdout.split(' ').next().unwrap().to_owned();
    assert!(Digest::parse(&digest).is_ok(), "{}", built.stdout);
    let archive = path("mirror.tar");
    run(home, &["release", "mirror", &release, "--to", &archive, "--plain-http"]);
    let mirror = format!("{there}/mirror");
    run(home, &["release", "mirror", &archive, "--to", &mirror, "--plain-http"]);

    let arrived = format!("{mirror}@{digest}");
    let out = path("out");
    run(home, &["release", "extract", &arrived, "--to", &out, "--plain-http"]);
    let (went_in, came_out) = (files(&input.join("release-manifests")), files(Path::new(&out)));
    let names = |files: &BTreeMap<String, Vec<u8>>| files.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&went_in), names(&came_out));
    assert!(went_in == came_out, "the same names, but other bytes");
    // A pull spec is the release image of the operator's own manifests; here all shall have the same.
    let image = ["--release-image", "registry.example.com/release:4.20.0"];
    let objects = |release: &str| {
        run(home, &["release", "objects", release, "--plain-http", image[0], image[1]]).stdout
    };
    let expected = objects(&path("input"));
    for place in [release.as_str(), &archive, &arrived] {
        assert!(objects(place) == expected, "{place} has other objects, those of manifests/ included");
    }

    // Another client accepts every image and digest that we wrote.
    let store = repository(&there, "mirror");
    let tags = store.tags().await.unwrap();
    assert_eq!(tags.len(), count + 1, "{tags:?}");
    let mut digests = BTreeSet::new();
    fs::create_dir(home.join("copies")).unwrap();
    for tag in &tags {
        let ours = store.manifest(&Which::Tag(tag.clone())).await.unwrap();
        let source = format!("docker://{mirror}:{tag}");
        let said = succeeds(skopeo(home).unwrap().args(["inspect", "--tls-verify=false", &source]));
        let said: Value = serde_json::from_str(&said).unwrap();
        assert_eq!(said["Digest"], ours.digest.as_str());
        let copy = format!("dir:{}", home.join("copies").join(tag).display());
        succeeds(skopeo(home).unwrap().args(["copy", "--all", "--src-tls-verify=false", &source, &copy]));
        digests.insert(ours.digest);
    }
    assert_eq!(digests.len(), count + 1);
    let from_archive = format!("oci-archive:{archive}:4.20.0-x86_64");
    succeeds(skopeo(home).unwrap().args(["inspect", "--raw", &from_archive]));

    // And we read what it wrote.
    let again = format!("oci:{}:4.20.0", path("by-skopeo"));
    succeeds(skopeo(home).unwrap().args([
        "copy",
        "--src-tls-verify=false",
        &format!("docker://{arrived}"),
        &again,
    ]));
    assert!(objects(&again) == expected, "what skopeo copied has other objects");
    let elsewhere = format!("{there}/by-skopeo:4.20.0");
    let target = format!("docker://{elsewhere}");
    succeeds(skopeo(home).unwrap().args(["copy", "--dest-tls-verify=false", &again, &target]));
    assert!(objects(&elsewhere) == expected, "what skopeo pushed has other objects");
}

/// Five layers of 100 MB and a release on top of them; with the marks of our layers, or as a foreign tool writes it.
async fn a_heavy_release(registry: &Registry, home: &Path) -> [String; 2] {
    let address = registry.address().to_string();
    let base = repository(&address, "base");
    let mut layers = Vec::new();
    for number in 0..BASE_LAYERS {
        let size = usize::try_from(BASE_BYTES / BASE_LAYERS).unwrap();
        let content: Vec<u8> = (0..=250).cycle().skip(usize::try_from(number).unwrap()).take(size).collect();
        let layer = tar(&format!("usr/lib/{number}"), &content);
        layers.push(write_blob(&base, PLAIN_LAYER, layer).await);
    }
    let own = b"apiVersion: v1\nkind: Namespace\nmetadata: {name: own, annotations: {include.release.openshift.io/self-managed-high-availability: \"true\"}}\n";
    layers.insert(2, write_blob(&base, PLAIN_LAYER, tar("manifests/0000_00_own_1.yaml", own)).await);
    // A plain tar is its own uncompressed form.
    let diff_ids: Vec<Digest> = layers.iter().map(|layer| layer.digest.clone()).collect();
    write_image_of(&base, Some("1"), layers, &diff_ids, &json!({})).await;

    let release = format!("{address}/release:1.0.0");
    let (example, base) = ("examples/releases/1.0.0", format!("{address}/base:1"));
    run(
        home,
        &["release", "new", "--from-release", example, "--base", &base, "--to", &release, "--plain-http"],
    );
    let store = repository(&address, "release");
    let ours = store.manifest(&Which::Tag("1.0.0".into())).await.unwrap();
    let mut manifest: Value = serde_json::from_slice(&ours.bytes).unwrap();
    for layer in manifest["layers"].as_array_mut().unwrap() {
        layer.as_object_mut().unwrap().remove("annotations");
    }
    let foreign = RawManifest::of(&manifest, &ours.media_type);
    assert_ne!(foreign.digest, ours.digest, "our layers carry marks");
    store.write_manifest(Some("foreign"), &foreign).await.unwrap();
    [release, format!("{address}/release:foreign")]
}

#[tokio::test(flavor = "multi_thread")]
async fn looking_at_a_release_on_a_heavy_base_fetches_less_than_two_percent() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path();
    let registry = Registry::start(&Options::default()).unwrap();
    let releases = a_heavy_release(&registry, home).await;
    let expected =
        fs::read(root().join("examples/releases/1.0.0/release-manifests/release-metadata")).unwrap();
    for release in releases {
        let proxy = FaultProxy::start(registry.address(), Plan::default()).await.unwrap();
        let release = release.replace(&registry.address().to_string(), &proxy.address.to_string());
        let mut before = 0;
        let mut fetched = || {
            let bytes = proxy.counters().blob_bytes_down;
            std::mem::replace(&mut before, bytes).abs_diff(bytes)
        };
        let info = run(home, &["release", "info", &release, "-o", "json", "--plain-http"]);
        let info_bytes = fetched();
        let info: Value = serde_json::from_str(&info.stdout).unwrap();
        assert_eq!(info["version"], "1.0.0");
        let file = run(home, &["release", "extract", &release, "--file", "release-metadata", "--plain-http"]);
        let file_bytes = fetched();
        assert_eq!(file.stdout.as_bytes(), expected);
        println!("{release}: info fetched {info_bytes} bytes, extract --file {file_bytes}, of {BASE_BYTES}");
        for bytes in [info_bytes, file_bytes] {
            assert!(bytes > 0 && bytes < BASE_BYTES / 50, "{release}: {bytes}");
        }
        // The manifests of the operator itself are found where the mark says they are.
        let objects = info["objects"].as_u64().unwrap();
        let all = run(home, &["release", "objects", &release, "--plain-http"]).stdout;
        assert!(all.contains("0000_00_own_1.yaml"), "{all}");
        let is_marked = !release.ends_with("foreign");
        assert_eq!(
            objects == all.lines().count() as u64 - 1,
            is_marked,
            "{objects} of {}",
            all.lines().count()
        );
    }
}
