//! Which release is begun with, and how a cluster's objects become a choice of manifests.

use serde_json::json;

use super::*;
use crate::lease::Timing;

const OWN: &str = "example.com/release@sha256:0";
const OTHER: &str = "example.com/release@sha256:1";

fn own() -> Release {
    Release { version: "1.0.0".to_owned(), image: OWN.to_owned(), ..Release::default() }
}

/// A world with a ClusterVersion that asks for an image and has a history, newest first.
fn world(desired: Option<&str>, history: &[(&str, &str)]) -> World {
    let entry = |(state, image): &(&str, &str)| {
        json!({"state": state, "image": image, "version": "1.0.0", "startedTime": "2026-01-01T00:00:00Z",
            "completionTime": null, "verified": false})
    };
    let history: Vec<Value> = history.iter().map(entry).collect();
    let newest = history.first().map_or("", |entry| entry["image"].as_str().unwrap_or_default());
    let update = desired.map(|image| json!({"image": image}));
    let version = json!({"apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion",
        "metadata": {"name": "version", "uid": "u"}, "spec": {"clusterID": "", "desiredUpdate": update},
        "status": {"desired": {"version": "", "image": newest}, "history": history, "observedGeneration": 0,
            "versionHash": "", "availableUpdates": null}});
    let mut world = World::default();
    world.put(Source::Version, version);
    world
}

fn settings() -> Settings {
    Settings {
        release_image: OWN.to_owned(),
        payload_dir: "/".into(),
        namespace: "openshift-cluster-version".to_owned(),
        profile: "self-managed-high-availability".to_owned(),
        exclude: String::new(),
        always_enable: vec!["Ingress".to_owned()],
        install_order: lockstep_graph::InstallOrder::Flat,
        own_deployment: crate::OwnDeployment::Auto,
        accept_unverified: false,
        insecure_registries: false,
        cache_dir: None,
        cache_limit: 0,
        retrieve_timeout: std::time::Duration::from_secs(1),
        unprovided_after: std::time::Duration::from_secs(1),
        identity: "a".to_owned(),
        timing: Timing::REFERENCE,
        seed: 0,
    }
}

/// The image that is begun with, and the one that is asked for.
fn images(desired: Option<&str>, history: &[(&str, &str)]) -> (String, String) {
    let asked = Asked::read(&world(desired, history), &own()).unwrap();
    (asked.first(&own()).release.image, asked.wanted.release.image)
}

/// What is asked for, the history, what is begun with, what is wanted, and why.
type Row =
    (Option<&'static str>, &'static [(&'static str, &'static str)], &'static str, &'static str, &'static str);

#[test]
fn the_release_that_is_begun_with() {
    const THIRD: &str = "example.com/release@sha256:2";
    let rows: [Row; 8] = [
        (None, &[], OWN, OWN, "a new cluster"),
        (Some(OTHER), &[], OWN, OTHER, "a new cluster is installed with its own release first"),
        (None, &[("Partial", OWN), ("Completed", OTHER)], OWN, OWN, "the successor goes on"),
        (None, &[("Completed", OTHER)], OWN, OWN, "the operator was replaced by hand"),
        (Some(OTHER), &[("Partial", OTHER), ("Completed", OWN)], OTHER, OTHER, "half-way to another release"),
        (Some(OTHER), &[("Completed", OTHER), ("Completed", OWN)], OTHER, OTHER, "at another release"),
        (Some(THIRD), &[("Completed", OTHER), ("Completed", OWN)], OTHER, THIRD, "on from another release"),
        (None, &[("Completed", OTHER), ("Completed", OWN)], OTHER, OTHER, "nothing is asked: it stays"),
    ];
    for (desired, history, first, wanted, why) in rows {
        assert_eq!(images(desired, history), (first.to_owned(), wanted.to_owned()), "{why}");
    }
}

#[test]
fn clearing_the_request_on_the_way_goes_back() {
    let (first, wanted) = images(None, &[("Partial", OTHER), ("Completed", OWN)]);
    assert_eq!((first.as_str(), wanted.as_str()), (OWN, OWN));
}

#[test]
fn what_was_enabled_stays_enabled_and_is_implicit() {
    let mut world = world(None, &[]);
    let mut version = world.raw_version().unwrap().clone();
    version["spec"]["capabilities"] =
        json!({"baselineCapabilitySet": "None", "additionalEnabledCapabilities": ["Console"]});
    version["status"]["capabilities"] = json!({"enabledCapabilities": ["Build"]});
    version["spec"]["overrides"] =
        json!([{"group": "apps", "kind": "Deployment", "namespace": "a", "name": "b", "unmanaged": true}]);
    world.put(Source::Version, version);
    let asked = Asked::read(&world, &own()).unwrap();
    let choice = Choice::read(&world, &asked, &settings(), "1.0.0", &BTreeSet::new()).unwrap();
    let names = |set: &BTreeSet<String>| set.iter().cloned().collect::<Vec<_>>().join(" ");
    assert_eq!(names(&choice.capabilities.enabled), "Build Console Ingress");
    assert_eq!(names(&choice.capabilities.implicit), "Build Ingress");
    assert_eq!(choice.overrides.len(), 1);
    assert_eq!(choice.facts.set, "version");
}

#[test]
fn registries_are_reached_as_the_cluster_says() {
    let mut world = world(None, &[]);
    assert_eq!(access(&world), ClusterAccess::default());
    let named = |name: &str, mut object: Value| {
        object["metadata"] = json!({"name": name});
        object
    };
    world.put(Source::PullSecret, named("pull-secret", json!({"data": {".dockerconfigjson": "e30="}})));
    world.put(Source::TrustedCa, named("trusted-ca-bundle", json!({"data": {"ca-bundle.crt": "PEM"}})));
    world.put(
        Source::Proxy,
        named(
            "cluster",
            json!({"spec": {"httpProxy": "not this"}, "status": {"httpsProxy": "http://p", "noProxy": ""}}),
        ),
    );
    world.put(Source::DigestMirrors, named("a", json!({"kind": "ImageDigestMirrorSet"})));
    let access = access(&world);
    assert_eq!(access.pull_secret.as_deref(), Some(b"{}".as_slice()));
    assert_eq!(access.certificates.as_deref(), Some(b"PEM".as_slice()));
    assert_eq!(
        (access.http_proxy, access.https_proxy.as_deref(), access.no_proxy),
        (None, Some("http://p"), None)
    );
    assert_eq!(access.mirror_sets.len(), 1);
}

#[test]
fn the_annotation_pauses() {
    let mut world = world(None, &[]);
    let mut version = world.raw_version().unwrap().clone();
    version["metadata"]["annotations"] = json!({"lockstep.dev/paused": "true"});
    world.put(Source::Version, version);
    assert!(Asked::read(&world, &own()).unwrap().is_paused);
}
