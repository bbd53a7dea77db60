//! The resolutions of the specification.

use lockstep_api::{ClusterVersion, validation};
use serde_json::{Value, json};

use super::*;

const DIGEST: &str = "sha256:aaaa";

fn a_release(version: &str, image: &str) -> Release {
    Release { version: version.to_owned(), image: image.to_owned(), ..Release::default() }
}

fn own() -> Release {
    a_release("4.0.1", "image/image:v4.0.1")
}

fn status(status: Value) -> ClusterVersionStatus {
    serde_json::from_value(status).unwrap()
}

fn entry(state: &str, version: &str) -> Value {
    json!({"state": state, "startedTime": "2026-01-01T00:00:00Z", "version": version,
        "image": format!("image/image:v{version}")})
}

fn running() -> ClusterVersionStatus {
    status(json!({"desired": {"version": "4.0.1", "image": "image/image:v4.0.1"},
        "history": [entry("Completed", "4.0.1"), entry("Completed", "4.0.0")],
        "availableUpdates": [{"version": "4.0.2", "image": "image/image:v4.0.2", "url": "https://example.com/2",
                "channels": ["fast"]},
            {"version": "4.0.3", "image": "image/image:v4.0.3"}]}))
}

fn asked(update: Value) -> ClusterVersionSpec {
    let mut spec = json!({"clusterID": ""});
    spec["desiredUpdate"] = update;
    serde_json::from_value(spec).unwrap()
}

/// Version and image of what is wanted, and whether it is the operator's own.
fn resolved(update: Value, status: &ClusterVersionStatus) -> (String, String, bool) {
    let Wanted { release, is_own, .. } = resolve(&asked(update), status, &own(), false);
    (release.version, release.image, is_own)
}

fn is(version: &str, image: &str, is_own: bool) -> (String, String, bool) {
    (version.to_owned(), image.to_owned(), is_own)
}

#[test]
fn nothing_asked_for_means_the_release_of_the_running_operator() {
    let expected = is("4.0.1", "image/image:v4.0.1", true);
    assert_eq!(resolved(json!(null), &running()), expected);
    let mut on_the_way = running();
    on_the_way.desired = a_release("4.0.2", "image/image:v4.0.2");
    assert_eq!(resolved(json!(null), &on_the_way), expected, "an update that is taken back");
    let risks = json!({"acceptRisks": [{"name": "A"}]});
    assert_eq!(resolved(risks, &running()), expected, "accepted risks start nothing");
}

#[test]
fn an_operator_that_keeps_a_release_which_is_not_its_own_stays_there() {
    let mut status = running();
    status.desired = a_release("4.20.0", "other.example.com/release@sha256:bb");
    let Wanted { release, is_own, .. } = resolve(&asked(json!(null)), &status, &own(), true);
    assert_eq!((release, is_own), (status.desired.clone(), false));
    let fresh = ClusterVersionStatus::default();
    assert!(resolve(&asked(json!(null)), &fresh, &own(), true).is_own, "nothing is kept yet");
}

#[test]
fn an_image_is_taken_as_given() {
    let image = "image/image:v4.0.9";
    assert_eq!(resolved(json!({"image": image}), &running()), is("", image, false));
    assert_eq!(resolved(json!({"image": image, "version": "4.0.9"}), &running()), is("4.0.9", image, false));
    let listed = resolve(&asked(json!({"image": "image/image:v4.0.2"})), &running(), &own(), false).release;
    assert_eq!((listed.version.as_str(), listed.url.as_str()), ("", "https://example.com/2"));
    let own_image = json!({"image": own().image});
    assert_eq!(resolved(own_image, &running()), is("4.0.1", "image/image:v4.0.1", true));
}

#[test]
fn a_version_is_looked_up_among_the_available_updates() {
    let update = json!({"version": "4.0.3", "force": true});
    assert_eq!(resolved(update.clone(), &running()), is("4.0.3", "image/image:v4.0.3", false));
    assert!(resolve(&asked(update), &running(), &own(), false).force);
    let two = resolve(&asked(json!({"version": "4.0.2"})), &running(), &own(), false).release;
    assert_eq!((two.url.as_str(), two.channels), ("https://example.com/2", vec!["fast".to_owned()]));
}

#[test]
fn a_version_that_only_the_history_knows_is_found_there() {
    let reference = is("4.0.1", "image/image:v4.0.1", true);
    let found = resolved(json!({"version": "4.0.0"}), &running());
    assert_ne!(found, reference);
    assert_eq!(found, is("4.0.0", "image/image:v4.0.0", false));
}

#[test]
fn after_an_update_the_request_for_it_means_the_same_release() {
    let done = status(json!({"desired": {"version": "4.0.1", "image": "image/image:v4.0.1"},
        "history": [entry("Completed", "4.0.1")]}));
    let expected = is("4.0.1", "image/image:v4.0.1", true);
    assert_eq!(resolved(json!({"version": "4.0.1"}), &done), expected);
    assert_eq!(resolved(json!({"version": "4.0.1"}), &ClusterVersionStatus::default()), expected);
}

#[test]
fn a_version_without_an_image_is_not_followed_and_told() {
    let wanted = resolve(&asked(json!({"version": "4.0.9"})), &running(), &own(), false);
    assert!(wanted.is_own);
    assert!(wanted.remark.unwrap().contains("no image is known for the version 4.0.9"));
}

#[test]
fn several_architectures_are_reached_only_at_the_current_version() {
    let multi = json!({"version": "4.0.3", "architecture": "Multi"});
    let wanted = resolve(&asked(multi.clone()), &running(), &own(), false);
    assert!(wanted.is_own && wanted.remark.unwrap().contains("4.0.1 for several architectures"));

    let mut status = running();
    let mut listed = a_release("4.0.1", "image/image:v4.0.1-multi");
    listed.architecture = "Multi".to_owned();
    status.available_updates.as_mut().unwrap().push(listed);
    assert_eq!(resolved(multi.clone(), &status), is("4.0.1", "image/image:v4.0.1-multi", false));

    status.desired.architecture = "Multi".to_owned();
    assert_eq!(resolved(multi.clone(), &status), is("4.0.3", "image/image:v4.0.3", false));
    status.desired.architecture.clear();
    let own = Release { architecture: "Multi".to_owned(), ..own() };
    assert_eq!(resolve(&asked(multi), &status, &own, false).release.version, "4.0.3");
}

#[test]
fn a_preflight_is_not_an_update() {
    let update = json!({"image": "image/image:v4.0.2", "mode": "Preflight"});
    let wanted = resolve(&asked(update), &running(), &own(), false);
    let reference = "image/image:v4.0.2";
    assert_ne!(wanted.release.image, reference);
    assert!(wanted.is_own && wanted.remark.unwrap().contains("preflight"));
}

#[test]
fn a_request_that_is_not_valid_leaves_the_cluster_where_it_is() {
    let cases = [
        (json!({"version": "4.0.4"}), "when image is empty the update must be an available update"),
        (json!({"version": "4.0.3"}), "there are multiple possible payloads for this version"),
    ];
    for (update, problem) in cases {
        let mut version = ClusterVersion::new("version");
        version.spec = asked(update);
        version.status = running();
        let twice = a_release("4.0.3", "image/image:v4.0.3-b");
        version.status.available_updates.as_mut().unwrap().push(twice);
        let errors = validation::validate(&version, false);
        assert!(errors[0].message.starts_with(problem), "{errors:?}");
        let version = validation::without_invalid(version, &errors);
        let wanted = resolve(&version.spec, &version.status, &own(), false);
        assert_eq!((wanted.is_own, wanted.remark), (true, None));
    }
}

#[test]
fn what_is_known_of_an_image_is_filled_in_and_nothing_is_overwritten() {
    let image = format!("a.example.com/release@{DIGEST}");
    let known = Release {
        url: "https://example.com".to_owned(),
        channels: vec!["fast".to_owned()],
        ..a_release("1.0.1", &image)
    };
    let none = Release::default();
    assert_eq!(complete(a_release("", &image), &none, std::slice::from_ref(&known)), known);
    let elsewhere = format!("b.example.com/release@{DIGEST}");
    let found = complete(a_release("", &elsewhere), &none, std::slice::from_ref(&known));
    assert_eq!((found.version.as_str(), found.image.as_str()), ("1.0.1", elsewhere.as_str()));
    let other = a_release("", "c.example.com/release@sha256:cccc");
    assert_eq!(complete(other.clone(), &none, std::slice::from_ref(&known)), other);
    let said = Release { url: "https://own.example.com".to_owned(), ..a_release("1.0.0", &image) };
    let found = complete(said.clone(), &none, std::slice::from_ref(&known));
    assert_eq!((&found.version, &found.url, &found.channels), (&said.version, &said.url, &known.channels));
    let own = Release { architecture: "Multi".to_owned(), ..a_release("2.0.0", &image) };
    let found = complete(a_release("", &image), &own, std::slice::from_ref(&known));
    assert_eq!((found.version.as_str(), found.architecture.as_str()), ("2.0.0", "Multi"), "its own first");
    assert_eq!(complete(none.clone(), &none, &[known]), none, "no image is no image");
}
