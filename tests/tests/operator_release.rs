//! `lockstep operator` with real releases on a real server: 4.20.0 is installed, then updated to 4.21.0 from a real
//! registry; what the ClusterVersion says on the way, and how little is fetched.
#![expect(clippy::unwrap_used, reason = "a test fails by a panic, also in the functions that tests share")]

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use insta::assert_snapshot;
use lockstep_release::layer::LayerWriter;
use lockstep_release::store::{Access, Registries, Store};
use lockstep_release::{Digest, PullSpec};
use lockstep_tests::cli::lockstep_with;
use lockstep_tests::corpus::corpus;
use lockstep_tests::fault_proxy::{FaultProxy, Plan};
use lockstep_tests::layouts::{Content, files, write_blob, write_image_of};
use lockstep_tests::operator::{
    DEPLOYMENT, FIRST_IMAGE, Launch, Observer, VERSION, bring_version, condition, is_at, patch, until,
};
use lockstep_tests::process::memory;
use lockstep_tests::real::{Chosen, Real};
use lockstep_tests::releases::load;
use serde_json::{Value, json};
use xtask::registry::{Options, Registry};

/// Bytes of the base image that nobody should have to fetch.
const BASE_BYTES: usize = 120_000_000;
const PATIENCE: Duration = Duration::from_mins(8);

/// Writes an image with the operator's own manifests of a release on a heavy layer, and the release on top of it; its pull
/// spec by digest and the bytes of all of it.
async fn publish(registry: &Registry, folder: &Path, home: &Path) -> (String, u64) {
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let address = registry.address().to_string();
    let registries = Registries::new(Access { plain_http: true, ..Access::default() }).unwrap();
    let spec = PullSpec::parse(&format!("{address}/base")).unwrap();
    let store = Store::Registry(registries.repository(&spec).unwrap());
    // Nothing that compression makes smaller.
    let mut state = 1_u64;
    let heavy: Vec<u8> = std::iter::repeat_with(|| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state.to_be_bytes()[0]
    })
    .take(BASE_BYTES)
    .collect();
    let own: Content = files(&folder.join("manifests"))
        .into_iter()
        .map(|(name, bytes)| (format!("manifests/{name}"), bytes))
        .collect();
    let mut layers = Vec::new();
    let mut diff_ids: Vec<Digest> = Vec::new();
    for content in [Content::from([("usr/lib/heavy".to_owned(), heavy)]), own] {
        let mut writer = LayerWriter::new();
        for (path, bytes) in &content {
            writer.file(path, 0o644, 7, bytes);
        }
        let layer = writer.finish();
        layers.push(write_blob(&store, lockstep_release::image::media_type::OCI_LAYER, layer.bytes).await);
        diff_ids.push(layer.diff_id);
    }
    let bytes: u64 = layers.iter().map(|layer| layer.size).sum();
    write_image_of(&store, Some("1"), layers, &diff_ids, &json!({})).await;
    let (from, base) = (folder.display().to_string(), format!("{address}/base:1"));
    let to = format!("{address}/release:4.21.0");
    let home = home.to_str().unwrap();
    let arguments = ["release", "new", "--from-release", &from, "--base", &base, "--to", &to, "--plain-http"];
    let run =
        lockstep_with(&arguments, &[("HOME", home), ("XDG_RUNTIME_DIR", home), ("NO_PROXY", "127.0.0.1")]);
    assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
    let digest = run.stdout.split(' ').next().unwrap();
    (format!("{address}/release@{digest}"), bytes)
}

/// Messages with their numbers taken out, each sort once in its order; without those that come only when the machine is
/// slow enough for somebody to be waited for.
fn forms(messages: &[String]) -> String {
    let mut forms: Vec<String> = Vec::new();
    for message in messages {
        let words = message.split(' ').map(|word| {
            let bare = word.trim_start_matches('(').trim_end_matches(['%', ':', ',']);
            if !bare.is_empty() && bare.bytes().all(|byte| byte.is_ascii_digit()) {
                word.replace(bare, "N")
            } else {
                word.to_owned()
            }
        });
        let form = words.collect::<Vec<_>>().join(" ");
        let is_of_slowness = form.contains(", waiting ") || form.contains("Unable to apply");
        if !is_of_slowness && !forms.contains(&form) {
            forms.push(form);
        }
    }
    forms.join("\n")
}

/// Conditions with their times and pull specs taken out.
fn conditions(object: &Value, names: &BTreeMap<String, &str>) -> String {
    let mut lines = Vec::new();
    for condition in object["status"]["conditions"].as_array().unwrap() {
        let part = |name: &str| condition[name].as_str().unwrap_or_default();
        let mut line = format!("{}={} {}: {}", part("type"), part("status"), part("reason"), part("message"));
        for (image, name) in names {
            line = line.replace(image.as_str(), name);
        }
        lines.push(line);
    }
    lines.join("\n")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_real_release_is_installed_and_updated_from_a_registry() {
    let Some(corpus) = corpus("operator_release") else { return };
    let folder = tempfile::tempdir().unwrap();
    let releases: [Chosen; 2] = ["4.20.0", "4.21.0"].map(|version| load(&corpus.join(version)));
    let real = Real::start(true, &releases.each_ref()).await;
    bring_version(&real.client).await;
    let observer = Observer::start(real.server());
    let registry = Registry::start(&Options::default()).unwrap();
    let (image, image_bytes) = publish(&registry, &corpus.join("4.21.0"), folder.path()).await;
    let proxy = FaultProxy::start(registry.address(), Plan::default()).await.unwrap();
    let image = image.replace(&registry.address().to_string(), &proxy.address.to_string());

    let launch =
        Launch::new(real.kube.kubeconfig(), FIRST_IMAGE, &corpus.join("4.20.0"), folder.path(), "operator")
            .with(&["--insecure-registries"]);
    let (start, replica) = (Instant::now(), launch.start());
    let installed =
        until(&real.client, "the installation", PATIENCE, Some(&replica), |it| is_at(it, "4.20.0")).await;
    println!("4.20.0 installed in {:.1} s", start.elapsed().as_secs_f64());
    let names = BTreeMap::from([(FIRST_IMAGE.to_owned(), "<first>"), (image.clone(), "<second>")]);
    assert_snapshot!("conditions_installed", conditions(&installed, &names));

    let start = Instant::now();
    patch(&real.client, VERSION, &json!({"spec": {"desiredUpdate": {"image": image, "force": true}}})).await;
    let updated = until(&real.client, "the update", PATIENCE, Some(&replica), |it| is_at(it, "4.21.0")).await;
    println!("updated to 4.21.0 in {:.1} s", start.elapsed().as_secs_f64());
    assert_snapshot!("conditions_updated", conditions(&updated, &names));
    let history = updated["status"]["history"].as_array().unwrap();
    let entry = |entry: &Value| {
        format!("{} {}", entry["version"].as_str().unwrap(), entry["state"].as_str().unwrap())
    };
    assert_eq!(history.iter().map(entry).collect::<Vec<_>>(), ["4.21.0 Completed", "4.20.0 Completed"]);
    assert_eq!(updated["status"]["desired"]["image"], image.as_str());
    assert_snapshot!("progressing_messages", forms(&observer.messages("Progressing")));
    observer.assert_laws();

    let fetched = proxy.counters().blob_bytes_down;
    println!(
        "fetched {fetched} of {image_bytes} bytes; VmRSS {} kB",
        memory(replica.pid()).unwrap().now / 1024
    );
    assert!(fetched > 0 && fetched * 20 < image_bytes, "{fetched} of {image_bytes}");

    // The release brings the reference's operator, which would take the cluster over.
    assert!(real.get(DEPLOYMENT).await.is_null(), "the other operator was deployed");
    assert!(condition(&updated, "ReleaseAccepted").2.contains("runs another operator and is left alone"));
    let events = real.get("/api/v1/namespaces/openshift-cluster-version/events").await;
    let reasons: Vec<&str> =
        events["items"].as_array().unwrap().iter().filter_map(|event| event["reason"].as_str()).collect();
    for reason in
        ["OperatorDeploymentSkipped", "InstallCompleted", "UpdateStarted", "UpdateCompleted", "PayloadLoaded"]
    {
        assert!(reasons.contains(&reason), "{reason} is not among {reasons:?}");
    }
}
