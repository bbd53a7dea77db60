//! Loading tables of the specification.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::*;
use crate::files::MemoryFiles;

const HA: &str = "include.release.openshift.io/self-managed-high-availability";

fn image_references(version: &str) -> String {
    json!({"kind": "ImageStream", "apiVersion": "image.openshift.io/v1", "metadata": {"name": version}})
        .to_string()
}

fn release_metadata(version: &str, metadata: &Value) -> String {
    json!({"kind": "cincinnati-metadata-v0", "version": version, "previous": ["1.1.1", "1.2.2"], "metadata": metadata})
        .to_string()
}

fn a_release(version: &str) -> MemoryFiles {
    let metadata = json!({"url": "https://example.com/errata",
        "io.openshift.upgrades.graph.release.channels": "channel-c,channel-a,channel-b"});
    MemoryFiles::new("release")
        .with(Folder::ReleaseManifests, "image-references", image_references(version))
        .with(Folder::ReleaseManifests, "release-metadata", release_metadata(version, &metadata))
}

fn load(files: &MemoryFiles) -> Release {
    let options = LoadOptions {
        release_image: "image:1".to_owned(),
        profile: "self-managed-high-availability".to_owned(),
    };
    Release::load(files, &options).unwrap()
}

fn load_error(files: &MemoryFiles) -> String {
    Release::load(files, &LoadOptions::default()).unwrap_err().to_string()
}

fn default_selection(release: &Release) -> Selection {
    Selection {
        exclude: Some(String::new()),
        feature_set: Some(String::new()),
        feature_gates: Some(BTreeSet::new()),
        major_version: Some(release.major_version()),
        profile: Some("self-managed-high-availability".to_owned()),
        ..Selection::default()
    }
}

fn names(release: &Release, selection: &Selection) -> Vec<String> {
    release.selected(selection).map(|manifest| manifest.id.name.clone()).collect()
}

/// A JSON document as the reference's own test data writes it.
fn test_json(name: &str) -> String {
    format!(
        "{{\n  \"kind\": \"Test\",\n  \"apiVersion\": \"v1\",\n  \"metadata\": {{\n    \"name\": \"{name}\",\n    \"annotations\": {{\n      \"{HA}\": \"true\"\n    }}\n  }}\n}}"
    )
}

fn test_yaml(name: &str) -> String {
    format!("kind: Test\napiVersion: v1\nmetadata:\n  name: {name}\n  annotations:\n    {HA}: \"true\"\n")
}

fn spec_release() -> MemoryFiles {
    let excluded = test_yaml("exclude")
        .replace("annotations:\n", "annotations:\n    exclude.release.openshift.io/exclude-test: \"true\"\n");
    a_release("1.0.0-abc")
        .with(Folder::ReleaseManifests, "0000_10_a_file", test_json("file"))
        .with(Folder::ReleaseManifests, "0000_10_a_file.json", test_json("file-json"))
        .with(Folder::ReleaseManifests, "0000_10_a_file.yaml", test_yaml("file-yaml"))
        .with(Folder::ReleaseManifests, "0000_10_a_file.yml", test_yaml("file-yml"))
        .with(Folder::ReleaseManifests, "0000_20_a_exclude.yml", excluded)
}

#[test]
fn files_without_a_manifest_extension_are_not_loaded_and_the_rest_is_in_order() {
    let release = load(&spec_release());
    let selection = Selection { exclude: Some("exclude-test".to_owned()), ..default_selection(&release) };
    assert_eq!(names(&release, &selection), ["file-json", "file-yaml", "file-yml"]);
    assert_eq!(release.version_hash(&selection), "DL-FFQ2Uem8=");
    assert_eq!(release.metadata.version.to_string(), "1.0.0-abc");
    assert_eq!(release.metadata.channels, ["channel-a", "channel-b", "channel-c"]);
    assert_eq!(release.metadata.url.as_deref(), Some("https://example.com/errata"));
    assert!(!release.metadata.multi_architecture);
}

#[test]
fn the_metadata_can_say_multi_architecture() {
    let metadata = json!({"release.openshift.io/architecture": "multi"});
    let files = spec_release().with(
        Folder::ReleaseManifests,
        "release-metadata",
        release_metadata("1.0.0-abc", &metadata),
    );
    assert!(load(&files).metadata.multi_architecture);
}

#[test]
fn version_hashes_of_the_specification() {
    let hash = |files: &[(&str, String)]| {
        let files = files.iter().fold(a_release("1.0.0"), |release, (name, content)| {
            release.with(Folder::ReleaseManifests, *name, content.as_str())
        });
        let release = load(&files);
        let selection = default_selection(&release);
        release.version_hash(&selection)
    };
    let yaml = |name: &str| (format!("{name}.yaml"), test_yaml(name));
    let (a, b, c) = (yaml("10-a-file"), yaml("20-a-file"), yaml("20-b-file"));
    assert_eq!(hash(&[(&a.0, a.1.clone()), (&b.0, b.1.clone()), (&c.0, c.1.clone())]), "Gyh2W6qcDO4=");
    assert_eq!(hash(&[("a.yaml", test_yaml("file-yaml"))]), "Y9500_0QNis=");
    assert_eq!(hash(&[("a.json", test_json("file"))]), "fvnVhLw92pE=", "JSON keeps its bytes");
    assert_eq!(
        hash(&[
            ("a.json", test_json("file-json")),
            ("b.yaml", test_yaml("file-yaml")),
            ("c.yaml", test_yaml("file-yml"))
        ]),
        "DL-FFQ2Uem8="
    );
}

#[test]
fn an_object_without_annotations_does_not_count_for_the_hash() {
    let plain = a_release("1.0.0").with(Folder::ReleaseManifests, "a.yaml", test_yaml("file-yaml"));
    let first = "apiVersion: operatorstatus.openshift.io/v1\nkind: ClusterOperator\nmetadata: {name: o, namespace: ns}\n";
    let with_first = load(&plain.with(Folder::ReleaseManifests, "b.yaml", first));
    let selection = default_selection(&with_first);
    assert_eq!(names(&with_first, &selection), ["file-yaml", "o"], "it is selected");
    assert_eq!(
        with_first.version_hash(&selection),
        "Y9500_0QNis=",
        "but the reference would not have counted it"
    );
}

#[test]
fn feature_gates_change_what_is_selected_and_with_it_the_hash() {
    let config_map = |name: &str, gate: Option<&str>, value: &str| {
        let mut annotations = json!({HA: "true"});
        if let Some(gate) = gate {
            annotations["release.openshift.io/feature-gate"] = json!(gate);
        }
        json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": name, "namespace": "default", "annotations": annotations}, "data": {"key": value}})
    };
    // As YAML, so that the hash is taken over the sorted form.
    let yaml = |value: Value| format!("# a comment, so that this is YAML\n{value}\n");
    let release = load(
        &a_release("1.0.0")
            .with(
                Folder::ReleaseManifests,
                "0000_10_a_1.yaml",
                yaml(config_map("always-included", None, "always-present")),
            )
            .with(
                Folder::ReleaseManifests,
                "0000_10_a_2.yaml",
                yaml(config_map("experimental-feature", Some("ExperimentalFeature"), "experimental-data")),
            )
            .with(
                Folder::ReleaseManifests,
                "0000_10_a_3.yaml",
                yaml(config_map("legacy-excluded", Some("-LegacyFeature"), "new-implementation")),
            ),
    );
    let cases: [(&[&str], &[&str], &str); 3] = [
        (&[], &["always-included", "legacy-excluded"], "YAJ_K7RyH7U="),
        (
            &["ExperimentalFeature"],
            &["always-included", "experimental-feature", "legacy-excluded"],
            "yrh5CWG1KPI=",
        ),
        (
            &["ExperimentalFeature", "LegacyFeature"],
            &["always-included", "experimental-feature"],
            "ge54Uoy7v5o=",
        ),
    ];
    for (gates, expected, hash) in cases {
        let gates = gates.iter().map(|gate| (*gate).to_owned()).collect();
        let selection = Selection { feature_gates: Some(gates), ..default_selection(&release) };
        assert_eq!(names(&release, &selection), expected);
        assert_eq!(release.version_hash(&selection), hash);
    }
}

#[test]
fn one_byte_wise_sort_goes_over_both_folders() {
    let files = a_release("1.0.0")
        .with(Folder::Manifests, "0000_00_cvo_1.yaml", test_yaml("own-00"))
        .with(Folder::Manifests, "0000_90_cvo_1.yaml", test_yaml("own-90"))
        .with(Folder::ReleaseManifests, "0000_03_a_1.yaml", test_yaml("other-03"))
        .with(Folder::ReleaseManifests, "0000_90_b_1.yaml", test_yaml("other-90"));
    let release = load(&files);
    let ours = names(&release, &Selection::default());
    let reference = "own-00, own-90, other-03, other-90";
    assert_ne!(ours.join(", "), reference);
    assert_eq!(ours, ["own-00", "other-03", "other-90", "own-90"]);
}

#[test]
fn a_template_for_a_newer_operator_is_skipped_and_named() {
    let files = a_release("1.0.0")
        .with(Folder::Manifests, "0000_00_valid.yaml", test_yaml("valid") + "image: '{{.ReleaseImage}}'\n")
        .with(Folder::Manifests, "0000_50_unknown-field.yaml", "image: '{{index .FutureField \"x\"}}'\n")
        .with(
            Folder::ReleaseManifests,
            "0000_60_a_1.yaml",
            test_yaml("plain") + "text: '{{ not a template }}'\n",
        );
    let release = load(&files);
    assert_eq!(names(&release, &Selection::default()), ["valid", "plain"]);
    assert_eq!(release.manifests[0].object["image"], "image:1");
    assert_eq!(
        release.manifests[1].object["text"], "{{ not a template }}",
        "release-manifests are not templates"
    );
    assert_eq!(release.skipped[0].file, "0000_50_unknown-field.yaml");
    assert!(release.skipped[0].error.to_string().contains("FutureField"));
}

#[test]
fn the_major_version_of_the_release_selects_definitions() {
    let crd = |name: &str, major: Option<&str>| {
        let mut annotations = json!({HA: "true"});
        if let Some(major) = major {
            annotations["release.openshift.io/major-version"] = json!(major);
        }
        json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": name, "annotations": annotations}})
        .to_string()
    };
    let cases = [
        ("noversion", None),
        ("version4only", Some("4")),
        ("version5only", Some("5")),
        ("version4or5", Some("4,5")),
        ("excludeversion3", Some("-3")),
    ];
    let files = cases.iter().enumerate().fold(a_release("5.0.0-xyz"), |files, (index, (name, major))| {
        files.with(Folder::ReleaseManifests, format!("0000_10_a_{index}.json"), crd(name, *major))
    });
    let release = load(&files);
    assert_eq!(release.major_version(), 5);
    assert_eq!(
        names(&release, &default_selection(&release)),
        ["noversion", "version5only", "version4or5", "excludeversion3"]
    );
}

#[test]
fn all_bad_files_are_reported_together() {
    let files = a_release("1.0.0")
        .with(Folder::ReleaseManifests, "0000_10_a_1.yaml", "kind: [\n")
        .with(Folder::ReleaseManifests, "0000_10_a_2.yaml", test_yaml("good"))
        .with(Folder::ReleaseManifests, "0000_10_a_3.yaml", "apiVersion: v1\n");
    let error = load_error(&files);
    assert!(error.starts_with("Error loading manifests from release: [parse release-manifests/0000_10_a_1.yaml: error parsing: line "), "{error}");
    assert!(
        error.contains(", parse release-manifests/0000_10_a_3.yaml: unable to decode manifest: "),
        "{error}"
    );
    let one = a_release("1.0.0").with(Folder::ReleaseManifests, "0000_10_a_1.yaml", "apiVersion: v1\n");
    assert!(
        load_error(&one)
            .starts_with("Error loading manifests from release: parse release-manifests/0000_10_a_1.yaml: ")
    );
}

#[test]
fn metadata_and_images_are_required_and_must_agree() {
    let empty = MemoryFiles::new("release");
    assert_eq!(
        load_error(&empty),
        "release is not a release folder: release-manifests/release-metadata is missing"
    );
    let other =
        a_release("1.0.0").with(Folder::ReleaseManifests, "image-references", image_references("2.0.0"));
    assert_eq!(
        load_error(&other),
        "release: release-manifests/image-references: version from image-references (2.0.0) differs from release-metadata (1.0.0)"
    );
}
