//! `lockstep operator` on a real server with the example releases: an update that replaces the operator itself, what is
//! refused and why, overrides, pause, restarts, and the columns that people look at.
#![expect(clippy::unwrap_used, reason = "a test fails by a panic, also in the functions that tests share")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use insta::assert_snapshot;
use lockstep_release::image::media_type;
use lockstep_release::layer::LayerWriter;
use lockstep_release::store::Layout;
use lockstep_release::{Digest, Store};
use lockstep_tests::cli::root;
use lockstep_tests::clients::Call;
use lockstep_tests::layouts::{Content, write_blob, write_image, write_image_of};
use lockstep_tests::operator::{
    DEPLOYMENT, FIRST_IMAGE, LEASE, Launch, Observer, Replica, VERSION, bring_version, condition, is_at,
    patch, until,
};
use lockstep_tests::real::{Chosen, Real};
use lockstep_tests::releases::example;
use serde_json::{Value, json};
use tempfile::TempDir;

/// How long anything may take on a busy machine.
const PATIENCE: Duration = Duration::from_mins(3);

/// A server with the operators of both releases, a ClusterVersion, and who listens to it.
struct Place {
    real: Real,
    observer: Observer,
    folder: TempDir,
}

impl Place {
    async fn new() -> Self {
        let releases: [Chosen; 2] = ["1.0.0", "1.1.0"].map(example);
        let real = Real::start(false, &releases.each_ref()).await;
        bring_version(&real.client).await;
        let observer = Observer::start(real.server());
        Self { real, observer, folder: tempfile::tempdir().unwrap() }
    }

    fn launch(&self, image: &str, version: &str, name: &str) -> Launch {
        Launch::new(self.real.kube.kubeconfig(), image, &release(version), self.folder.path(), name)
    }

    /// An operator of 1.0.0 that has installed it.
    async fn installed(&self, flags: &[&str]) -> Replica {
        let replica = self.launch(FIRST_IMAGE, "1.0.0", "first").with(flags).start();
        self.until("the installation", Some(&replica), |object| is_at(object, "1.0.0")).await;
        replica
    }

    async fn ask(&self, update: &Value) {
        patch(&self.real.client, VERSION, &json!({"spec": {"desiredUpdate": update}})).await;
    }

    async fn until(
        &self,
        what: &str,
        replica: Option<&Replica>,
        is_wanted: impl Fn(&Value) -> bool,
    ) -> Value {
        until(&self.real.client, what, PATIENCE, replica, is_wanted).await
    }

    /// An object of the release that was deleted comes back.
    async fn assert_managed(&self, replica: &Replica) {
        let path = "/api/v1/namespaces/openshift-service-ca-operator/configmaps/service-ca-operator-config";
        let before = self.real.get(path).await;
        assert!(before.is_object(), "the release has it");
        Call::new("DELETE", path).send(&self.real.client).await.unwrap();
        let is_back = |live: &Value| live.is_object() && live["metadata"]["uid"] != before["metadata"]["uid"];
        assert!(self.real.until(path, is_back).await.is_ok(), "it is not managed\n{}", replica.log());
    }
}

fn release(version: &str) -> PathBuf {
    root().join("examples/releases").join(version)
}

/// The history without its times.
fn history(object: &Value) -> Vec<String> {
    let entries = object["status"]["history"].as_array().cloned().unwrap_or_default();
    let text = |entry: &Value| {
        let part = |name: &str| entry[name].as_str().unwrap_or_default().to_owned();
        let end = if entry["completionTime"].is_null() { "open" } else { "ended" };
        format!("{} {} {end} verified={}", part("version"), part("state"), entry["verified"])
    };
    entries.iter().map(text).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_operator_of_the_next_release_completes_what_the_first_one_began() {
    let place = Place::new().await;
    let mut first = place.installed(&[]).await;
    let columns = columns(&place);
    assert_snapshot!("columns_after_installation", columns);

    let target = release("1.1.0").display().to_string();
    place.ask(&json!({"image": target, "force": true})).await;
    assert_eq!(first.exit(PATIENCE).await, 0, "{}", first.log());
    let handed_over = place.real.get(VERSION).await;
    assert_eq!(
        history(&handed_over),
        ["1.1.0 Partial open verified=false", "1.0.0 Completed ended verified=false"]
    );
    let deployment = place.real.get(DEPLOYMENT).await;
    assert_eq!(deployment["spec"]["template"]["spec"]["containers"][0]["image"], target.as_str());
    let lease = place.real.get(LEASE).await;
    assert_eq!(lease["spec"]["holderIdentity"], "", "the successor need not wait");

    // What the kubelet does now.
    let second = place.launch(&target, "1.1.0", "second").start();
    let done = place.until("the update", Some(&second), |object| is_at(object, "1.1.0")).await;
    assert_eq!(
        history(&done),
        ["1.1.0 Completed ended verified=false", "1.0.0 Completed ended verified=false"]
    );
    let risks = done["status"]["history"][0]["acceptedRisks"].as_str().unwrap_or_default();
    assert!(risks.contains("cannot be verified"), "what was forced is remembered: {risks:?}");
    place.observer.assert_laws();
    place.assert_managed(&second).await;
}

/// What `kubectl get clusterversion,co` prints, without ages.
fn columns(place: &Place) -> String {
    let output = place.real.kube.kubectl(&["get", "clusterversion,co"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let age = |word: &str| {
        word.len() > 1
            && word.chars().all(|letter| letter.is_ascii_digit() || "smh".contains(letter))
            && word.ends_with(['s', 'm', 'h'])
    };
    let line = |line: &str| {
        let words: Vec<&str> =
            line.split_whitespace().map(|word| if age(word) { "<age>" } else { word }).collect();
        words.join("  ")
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_used_is_refused_with_its_cause_and_the_running_release_stays_managed() {
    let place = Place::new().await;
    let replica = place.installed(&["--retrieve-timeout=6s", "--insecure-registries"]).await;

    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let hanging = format!("{}/release@{}", silent.local_addr().unwrap(), digest_of("x"));
    let nobody = {
        let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        format!("{}/release@{}", closed.local_addr().unwrap(), digest_of("x"))
    };
    let image = |layout: &str| format!("oci:{}:1.1.0", place.folder.path().join(layout).display());
    hostile_layouts(place.folder.path()).await;
    let rows: [(&str, Value, &str, &str); 9] = [
        ("no such folder", json!({"image": "/no/such/release"}), "RetrievePayload", "no such file or folder"),
        ("a registry that hangs", json!({"image": hanging}), "RetrievePayload", "was not there after 6 s"),
        ("no registry", json!({"image": nobody}), "RetrievePayload", "onnect"),
        ("a wrong digest", json!({"image": image("wrong-digest")}), "RetrievePayload", "digest"),
        ("a truncated layer", json!({"image": image("truncated")}), "RetrievePayload", "bytes"),
        (
            "a path out of the image",
            json!({"image": image("path")}),
            "RetrievePayload",
            "points outside of the image",
        ),
        ("a bomb", json!({"image": image("bomb")}), "RetrievePayload", "decompression bomb"),
        ("no manifests", json!({"image": image("broken")}), "LoadPayload", "0000_10_broken.yaml"),
        (
            "another version",
            json!({"image": release("1.1.0"), "version": "1.2.0"}),
            "VerifyPayloadVersion",
            "release image version 1.1.0 does not match the expected upstream version 1.2.0",
        ),
    ];
    for (what, mut update, step, cause) in rows {
        update["force"] = json!(true);
        place.ask(&json!(null)).await;
        place
            .until("the old state", Some(&replica), |object| condition(object, "ReleaseAccepted").0 == "True")
            .await;
        let start = Instant::now();
        place.ask(&update).await;
        let is_refused = |object: &Value| condition(object, "ReleaseAccepted").0 == "False";
        let object = place.until(what, Some(&replica), is_refused).await;
        let (_, reason, message) = condition(&object, "ReleaseAccepted");
        assert_eq!(reason, step, "{what}: {message}");
        assert!(message.contains(cause), "{what}: {message}");
        assert!(start.elapsed() < Duration::from_mins(1), "{what} took {:?}", start.elapsed());
        assert_eq!(condition(&object, "Failing").0, "False", "{what}");
        assert!(is_at(&object, "1.0.0"), "{what} changes nothing else: {:#}", object["status"]["history"]);
    }
    place.assert_managed(&replica).await;

    // Unverified, and nobody insists.
    place.ask(&json!(null)).await;
    place.ask(&json!({"image": release("1.1.0")})).await;
    let is_unverified =
        |object: &Value| condition(object, "ReleaseAccepted").2.contains("cannot be verified");
    place.until("a refusal of the unverified", Some(&replica), is_unverified).await;

    // Fields that cannot be used.
    patch(
        &place.real.client,
        VERSION,
        &json!({"spec": {"desiredUpdate": null, "upstream": "#%GG", "clusterID": "x"}}),
    )
    .await;
    let object =
        place.until("Invalid", Some(&replica), |object| condition(object, "Invalid").0 == "True").await;
    assert_snapshot!("invalid_fields", condition(&object, "Invalid").2);
    place.assert_managed(&replica).await;
    place.observer.assert_laws();
}

fn digest_of(text: &str) -> String {
    Digest::of(text.as_bytes()).to_string()
}

/// Releases that nobody should use, each in a layout of its own.
async fn hostile_layouts(folder: &Path) {
    let create = async |name: &str| Store::Layout(Layout::create(&folder.join(name)).await.unwrap());
    let of_example = |extra: &[(&str, &str)]| {
        let mut content = Content::new();
        for (name, bytes) in lockstep_tests::layouts::files(&release("1.1.0").join("release-manifests")) {
            content.insert(format!("release-manifests/{name}"), bytes);
        }
        for (name, text) in extra {
            content.insert((*name).to_owned(), text.as_bytes().to_vec());
        }
        content
    };
    let blobs = |name: &str| folder.join(name).join("blobs/sha256");
    let hex = |digest: &Digest| digest.to_string().trim_start_matches("sha256:").to_owned();

    let store = create("wrong-digest").await;
    let digest = write_image(&store, Some("1.1.0"), &[of_example(&[])], &json!({})).await;
    let manifest = blobs("wrong-digest").join(hex(&digest));
    let text = fs::read_to_string(&manifest).unwrap();
    fs::write(&manifest, text.replacen("schemaVersion\":2", "schemaVersion\":2 ", 1)).unwrap();

    let store = create("truncated").await;
    let mut writer = LayerWriter::new();
    for (path, bytes) in of_example(&[]) {
        writer.file(&path, 0o644, 7, &bytes);
    }
    let layer = writer.finish();
    let blob = write_blob(&store, media_type::OCI_LAYER, layer.bytes.clone()).await;
    write_image_of(&store, Some("1.1.0"), vec![blob.clone()], &[layer.diff_id], &json!({})).await;
    fs::write(blobs("truncated").join(hex(&blob.digest)), &layer.bytes[..layer.bytes.len() / 2]).unwrap();

    for (name, bytes) in [("path", tar("../../etc/passwd", 1)), ("bomb", bomb())] {
        let store = create(name).await;
        let blob = write_blob(&store, media_type::OCI_LAYER, bytes).await;
        let diff_id = blob.digest.clone();
        write_image_of(&store, Some("1.1.0"), vec![blob], &[diff_id], &json!({})).await;
    }

    let store = create("broken").await;
    let broken = [("release-manifests/0000_10_broken.yaml", "a: [")];
    write_image(&store, Some("1.1.0"), &[of_example(&broken)], &json!({})).await;
}

/// A tar with one file of so many zeros, the end of which is left out.
fn tar(path: &str, size: u64) -> Vec<u8> {
    let mut header = vec![0; 512];
    header[..path.len()].copy_from_slice(path.as_bytes());
    header[100..107].copy_from_slice(b"0000644");
    header[124..135].copy_from_slice(format!("{size:011o}").as_bytes());
    header[148..156].copy_from_slice(b"        ");
    header[156] = b'0';
    header[257..265].copy_from_slice(b"ustar\x0000");
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    header.resize(512 + usize::try_from(size.min(1024)).unwrap().next_multiple_of(512), 0);
    header
}

/// Ten megabytes that unpack to ten gigabytes.
fn bomb() -> Vec<u8> {
    let gzip = |input: &str| {
        let output = Command::new("sh").arg("-c").arg(format!("{input} | gzip -9c")).output().unwrap();
        assert!(output.status.success() && !output.stdout.is_empty());
        output.stdout
    };
    let folder = tempfile::tempdir().unwrap();
    let head = folder.path().join("head");
    fs::write(&head, &tar("zeros", 0o77_777_777_777)[..512]).unwrap();
    let mut bytes = gzip(&format!("cat {}", head.display()));
    let part = gzip("head -c 104857600 /dev/zero");
    for _ in 0..100 {
        bytes.extend_from_slice(&part);
    }
    bytes
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn overrides_pause_restart_and_the_way_back_are_honoured() {
    let place = Place::new().await;
    let mut replica = place.installed(&["--own-deployment=auto", "--accept-unverified"]).await;

    // An override: the object is left alone at once, and the history stays as it is.
    let config = "/api/v1/namespaces/openshift-service-ca-operator/configmaps/service-ca-operator-config";
    let entry = json!({"group": "", "kind": "ConfigMap", "namespace": "openshift-service-ca-operator",
        "name": "service-ca-operator-config", "unmanaged": true});
    patch(&place.real.client, VERSION, &json!({"spec": {"overrides": [entry]}})).await;
    let is_observed = |object: &Value| {
        object["status"]["observedGeneration"] == object["metadata"]["generation"] && is_at(object, "1.0.0")
    };
    place.until("the override", Some(&replica), is_observed).await;
    let upgradeable = condition(&place.real.get(VERSION).await, "Upgradeable");
    assert_eq!((upgradeable.0.as_str(), upgradeable.1.as_str()), ("False", "ClusterVersionOverrides"));
    tokio::time::sleep(Duration::from_millis(500)).await;
    place.real.intrude(config, &json!([{"op": "add", "path": "/data/mine", "value": "x"}])).await.unwrap();
    place.real.intrude(config, &json!([{"op": "remove", "path": "/data/ca-validity-days"}])).await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(place.real.get(config).await["data"].get("ca-validity-days").is_none(), "it is left alone");
    patch(&place.real.client, VERSION, &json!({"spec": {"overrides": []}})).await;
    let is_restored = |live: &Value| live["data"].get("ca-validity-days").is_some();
    assert!(place.real.until(config, is_restored).await.is_ok(), "{}", replica.log());

    // A pause: an update is not taken up, drift is repaired, and the status says so.
    place.until("no override", Some(&replica), is_observed).await;
    patch(
        &place.real.client,
        VERSION,
        &json!({"metadata": {"annotations": {"lockstep.dev/paused": "true"}}}),
    )
    .await;
    place
        .until("the pause", Some(&replica), |object| condition(object, "Progressing").2.contains("paused"))
        .await;
    place.ask(&json!({"image": release("1.1.0")})).await;
    place.assert_managed(&replica).await;
    let paused = place.real.get(VERSION).await;
    assert_eq!(history(&paused), ["1.0.0 Completed ended verified=false"]);

    // kill -9, and another one goes on as if nothing had been.
    replica.kill();
    let second = place.launch(FIRST_IMAGE, "1.0.0", "second").with(&["--accept-unverified"]).start();
    place.assert_managed(&second).await;

    // The pause is over, and before anything was done the request is taken back.
    place.ask(&json!(null)).await;
    patch(&place.real.client, VERSION, &json!({"metadata": {"annotations": {"lockstep.dev/paused": null}}}))
        .await;
    let object = place.until("the end of the pause", Some(&second), is_observed).await;
    assert_eq!(history(&object), ["1.0.0 Completed ended verified=false"]);
    place.observer.assert_laws();

    // Somebody who is asked to stop gives the lease back.
    let mut second = second;
    second.terminate();
    assert_eq!(second.exit(Duration::from_secs(20)).await, 0);
    assert_eq!(place.real.get(LEASE).await["spec"]["holderIdentity"], "");
}
