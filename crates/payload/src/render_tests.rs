//! The tables of the specification for rendering.

use super::*;

fn file_of(name: &str, text: &str) -> File {
    File { name: name.to_owned(), content: text.as_bytes().to_vec() }
}

/// A CRD in the default profile, for these major versions.
fn a_crd(name: &str, majors: &str) -> String {
    let major = if majors.is_empty() {
        String::new()
    } else {
        format!(", release.openshift.io/major-version: {majors:?}")
    };
    format!(
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{name: {name}, annotations: \
         {{include.release.openshift.io/self-managed-high-availability: \"true\"{major}}}}}\n"
    )
}

fn selection(major_version: Option<u64>) -> Selection {
    Selection {
        major_version,
        profile: Some("self-managed-high-availability".to_owned()),
        ..Selection::default()
    }
}

fn data() -> TemplateData {
    TemplateData {
        release_image: "R".into(),
        cluster_profile: "some-profile".into(),
        ..TemplateData::default()
    }
}

#[test]
fn the_major_version_decides_what_is_written() {
    for (major, documents, written) in [
        (Some(4), &["4", "5", ""][..], "0,2"),
        (Some(5), &["4", "5"], "1"),
        (None, &["4", "5"], "0,1"),
        (Some(4), &["-3", "4"], "0,1"),
        (Some(4), &["4,5", "-3", "6"], "0,1"),
    ] {
        let mut names = Vec::new();
        for (index, majors) in documents.iter().enumerate() {
            let input = file_of(&format!("{index}.yaml"), &a_crd("a", majors));
            let output = file(Source::Manifests, &input, &data(), &selection(major)).unwrap();
            names.extend(output.map(|output| output.name.trim_end_matches(".yaml").to_owned()));
        }
        assert_eq!(names.join(","), written, "{major:?} {documents:?}");
    }
}

#[test]
fn templates_are_rendered_and_objects_of_one_file_stay_in_one() {
    let text = format!("{}---\n{}", a_crd("'{{.ReleaseImage}}'", ""), a_crd("b", ""));
    let output =
        file(Source::Bootstrap, &file_of("a.yaml", &text), &data(), &selection(None)).unwrap().unwrap();
    let text = String::from_utf8(output.content).unwrap();
    let parts: Vec<Value> = text.split("\n---\n").map(|part| serde_json::from_str(part).unwrap()).collect();
    assert_eq!((parts.len(), &parts[0]["metadata"]["name"]), (2, &"R".into()));
    let future = file_of("a.yaml", "a: {{.FutureField}}");
    let error = file(Source::Manifests, &future, &data(), &selection(None)).unwrap_err().to_string();
    assert!(
        error.starts_with("render template a.yaml from manifests: failed to execute template"),
        "{error}"
    );
    let error =
        file(Source::ReleaseManifests, &file_of("a.yaml", "a: ["), &data(), &selection(None)).unwrap_err();
    assert!(error.to_string().starts_with("parse manifest a.yaml from release-manifests: "), "{error}");
}

#[test]
fn of_the_release_only_image_policies_are_wanted() {
    let include = "annotations: {include.release.openshift.io/self-managed-high-availability: \"true\"}";
    let policy = format!(
        "apiVersion: config.openshift.io/v1\nkind: ClusterImagePolicy\nmetadata: {{name: a, {include}}}\n"
    );
    for (source, text, is_written) in [
        (Source::ReleaseManifests, policy.as_str(), true),
        (Source::ReleaseManifests, &a_crd("a", ""), false),
        (Source::ReleaseManifests, &policy.replace("config.", "example."), false),
        (Source::Manifests, &a_crd("a", ""), true),
    ] {
        let output = file(source, &file_of("a.yaml", text), &data(), &selection(None)).unwrap();
        assert_eq!(output.is_some(), is_written, "{source:?} {text}");
    }
    let skipped = file_of(SKIPPED[2], &a_crd("a", ""));
    assert_eq!(file(Source::Manifests, &skipped, &data(), &selection(None)).unwrap(), None);
    assert_eq!(file(Source::Manifests, &file_of("a.txt", "{{"), &data(), &selection(None)).unwrap(), None);
}

#[test]
fn manifests_of_the_command_line_are_checked() {
    let head =
        |kind: &str| format!("apiVersion: config.openshift.io/v1\nkind: {kind}\nmetadata: {{name: a}}\n");
    let version = head("ClusterVersion")
        + "spec:\n  clusterID: x\n  overrides: [{kind: Deployment, group: apps, namespace: a, name: b, unmanaged: true}]\n";
    assert_eq!(overrides("f", version.as_bytes()).unwrap()[0].name, "b");
    let twice = format!("{version}---\n{version}");
    assert_eq!(
        overrides("f", twice.as_bytes()).unwrap_err().to_string(),
        "ClusterVersion manifest f contains 2 manifests, but expected only one"
    );
    assert_eq!(
        overrides("f", head("Proxy").as_bytes()).unwrap_err().to_string(),
        "ClusterVersion manifest f GroupVersionKind config.openshift.io/v1, Kind=Proxy, but expected \
         config.openshift.io/v1, Kind=ClusterVersion"
    );
    let gates = head("FeatureGate")
        + "spec: {featureSet: TechPreviewNoUpgrade}\nstatus: {featureGates: [{version: 1.0.0, enabled: [{name: A}]}]}\n";
    let read = feature_gates("f", gates.as_bytes()).unwrap();
    assert_eq!((read.feature_set.as_str(), read.is_enabled("A")), ("TechPreviewNoUpgrade", true));
    assert!(
        feature_gates("f", b"a: [").unwrap_err().to_string().starts_with("loading FeatureGate manifest f: ")
    );
}
