//! `release new`: what comes out of operators' folders and images, that it is always the same, and what is refused.
#![expect(clippy::unwrap_used, reason = "a test fails by a panic, also in the functions that tests share")]

#[path = "release_new/components.rs"]
mod components;
#[path = "release_new/repackage.rs"]
mod repackage;
#[path = "release_new/stage.rs"]
mod stage;

use std::collections::BTreeMap;
use std::fs;

use lockstep_release::build::metadata::Metadata;
use lockstep_release::build::stream::Stream;
use lockstep_tests::corpus::corpus;
use serde_json::Value;

use stage::{MANIFEST, Stage, files, new_release, operators, references};

#[test]
fn four_real_operators_become_exactly_the_expected_files() {
    let Some(corpus) = corpus("release new over real operators") else { return };
    let stage = Stage::new();
    let run = operators(&corpus, &["--to", &stage.path("out")]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let mut found = files(&stage.root().join("out/release-manifests"));
    let mut expected = BTreeMap::new();
    for operator in fs::read_dir(corpus.join("operators-expected")).unwrap() {
        let operator = operator.unwrap().path();
        if operator.is_dir() {
            expected.extend(files(&operator));
        }
    }
    let images = Stream::read(&found.remove("image-references").unwrap()).unwrap();
    let metadata: Value = serde_json::from_slice(&found.remove("release-metadata").unwrap()).unwrap();
    assert_eq!(expected.len(), 113);
    // NB: not `assert_eq` on the contents: its message would be megabytes long.
    assert_eq!(found.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>());
    for (name, bytes) in &expected {
        assert!(found[name] == *bytes, "{name} differs");
    }
    assert_eq!(metadata["version"], "5.0.0");
    let wanted: Value =
        serde_json::from_slice(&fs::read(corpus.join("operators-expected/images.json")).unwrap()).unwrap();
    assert_eq!(images.tags.len(), wanted["images"].as_object().unwrap().len());
    for tag in &images.tags {
        assert_eq!(tag.pull_spec(), wanted["images"][&tag.name].as_str());
    }
    let users =
        |tag: &str| images.tag(tag).unwrap().annotations.as_ref().unwrap()["lockstep.dev/used-by"].clone();
    assert_eq!(users("cli"), "cluster-dns-operator,cluster-samples-operator");
    assert_eq!(users("hyperkube"), "cluster-kube-apiserver-operator");
}

#[test]
fn the_same_input_gives_the_same_digest_whatever_the_times_of_the_files() {
    let Some(corpus) = corpus("digests of real operators") else { return };
    let stage = Stage::new();
    let first = operators(&corpus, &["--to", &format!("oci:{}", stage.path("one"))]);
    assert_eq!(first.code, 0, "{}", first.stderr);
    let second = operators(&corpus, &["--to", &format!("oci:{}", stage.path("two"))]);
    assert_eq!(first.stdout, second.stdout);
    assert_eq!(files(&stage.root().join("one")), files(&stage.root().join("two")));
    // Copies have other times and come in another order of the folder.
    for operator in fs::read_dir(corpus.join("operators")).unwrap() {
        let operator = operator.unwrap();
        for (name, bytes) in files(&operator.path()).iter().rev() {
            stage.write(&format!("copied/{}/{name}", operator.file_name().display()), bytes);
        }
    }
    let images = corpus.join("operators-expected/images.json").display().to_string();
    let copied = new_release(&[
        "--from-dir",
        &stage.path("copied"),
        "--mapping-file",
        &images,
        "--component-versions",
        "kubernetes=1.36.2",
        "--base",
        "none",
        "--lint",
        "off",
    ]);
    assert_eq!(first.stdout, copied.stdout, "{}", copied.stderr);
    let parts: Vec<&str> = first.stdout.trim_end().split(' ').collect();
    assert!(parts[0].starts_with("sha256:") && parts[1..] == ["5.0.0", "1970-01-01T00:00:00Z"], "{parts:?}");
    let said = operators(&corpus, &["--created", "2024-09-20T14:45:10Z"]);
    assert!(said.stdout.ends_with(" 5.0.0 2024-09-20T14:45:10Z\n"), "{}", said.stdout);
    let seconds = operators(&corpus, &["--created", "1726843510"]);
    assert_eq!(said.stdout, seconds.stdout);
}

#[test]
fn a_real_image_stream_and_real_metadata_are_written_in_the_same_shape() {
    let Some(corpus) = corpus("shape of real image-references") else { return };
    let images = fs::read(corpus.join("reference/image-references")).unwrap();
    assert!(Stream::read(&images).unwrap().write() == images, "image-references");
    let bytes = fs::read(corpus.join("reference/release-metadata")).unwrap();
    let read = lockstep_payload::metadata::read(&bytes).unwrap();
    let metadata = Metadata {
        version: read.version.to_string(),
        previous: read.previous,
        next: read.next,
        metadata: read.metadata,
    };
    assert_eq!(String::from_utf8(metadata.write()).unwrap(), String::from_utf8(bytes).unwrap());
}

#[test]
fn the_worked_example_of_the_specification() {
    let stage = Stage::new();
    let tags = ["alpha-operator", "beta", "cluster-version-operator", "unused"];
    let tags: Vec<(&str, String)> = tags.iter().map(|tag| (*tag, format!("r.example.com/{tag}:1"))).collect();
    stage.write("in/image-references", references(&tags).as_bytes());
    stage.write("in/alpha-operator/00_ns.yaml", MANIFEST.as_bytes());
    stage.write("in/alpha-operator/0000_20_alpha-operator_10_deploy.yaml", MANIFEST.as_bytes());
    stage.write("in/alpha-operator/README.md", b"read me");
    let own = references(&[("beta", "r/beta".to_owned())]);
    stage.write("in/alpha-operator/image-references", own.as_bytes());
    stage.write("in/alpha-operator/sub/x.yaml", MANIFEST.as_bytes());
    stage.write("in/zeta/0000_20_alpha-operator_10_deploy.yaml", MANIFEST.replace(": a", ": b").as_bytes());
    let run = new_release(&[
        "--from-dir",
        &stage.path("in"),
        "--name",
        "1.2.3",
        "--base",
        "none",
        "--to-file",
        &stage.path("layer.tar.gz"),
    ]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(
        run.stderr.contains("note: Included 3 images from 2 input operators into the release"),
        "{}",
        run.stderr
    );
    let wanted = [
        "release-manifests",
        "release-manifests/image-references",
        "release-manifests/release-metadata",
        "release-manifests/0000_20_alpha-operator_10_deploy.yaml",
        "release-manifests/0000_50_alpha-operator_00_ns.yaml",
        "release-manifests/0000_50_alpha-operator_README.md",
        "release-manifests/0000_20_alpha-operator_10_deploy_2.yaml",
    ];
    assert_eq!(stage.tar_names("layer.tar.gz"), wanted);
}

#[test]
fn problems_are_told_with_file_and_line_and_nothing_is_written() {
    let stage = Stage::new();
    stage.write("in/a/image-references", references(&[("gone", "r/gone".to_owned())]).as_bytes());
    stage.write("in/a/1.yaml", MANIFEST.as_bytes());
    let pod = "kind: Pod\napiVersion: v1\nmetadata:\n  name: a\nspec:\n  containers:\n  - image: r.example.com/other:1\n";
    stage.write("in/b/pod.yaml", pod.as_bytes());
    stage.write("in/b/wrong.yaml", format!("{MANIFEST}---\nkind: A\n").as_bytes());
    let arguments =
        ["--from-dir", &stage.path("in"), "--name", "1.0.0", "--base", "none", "--to", &stage.path("out")];
    let run = new_release(&arguments);
    assert_eq!(run.code, 1);
    for line in [
        "error: a/image-references:5: operator \"a\" contained an invalid image-references file: no input image tag named \"gone\"",
        "error: b/pod.yaml:7: undeclared image \"r.example.com/other:1\" in the field image",
        "error: b/wrong.yaml:7: manifests must contain Kubernetes API objects",
        "error: unable to create a release: 3 problems in the manifests",
    ] {
        assert!(run.stderr.contains(line), "{line}\n{}", run.stderr);
    }
    assert!(run.stdout.is_empty() && !stage.root().join("out").exists());
    let relaxed = ["--allow-missing-images", "--allow-undeclared-images", "--skip-manifest-check"];
    let run = new_release(&[&arguments[..], &relaxed].concat());
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stderr.contains("warning: b/pod.yaml:7: undeclared image"), "{}", run.stderr);
}

#[test]
fn wrong_usage_is_2_and_says_what_is_wrong() {
    let stage = Stage::new();
    stage.write("in/a/1.yaml", MANIFEST.as_bytes());
    stage.write("twice", b"a=r/1\na=r/2\n");
    let (folder, twice) = (stage.path("in"), stage.path("twice"));
    let cases: &[(&[&str], &str)] = &[
        (&[], "must specify image mappings when no other source is defined"),
        (&["a"], "all arguments must be valid SRC=DST mappings"),
        (&["--mapping-file", &twice], "line 2: each source tag may only be specified once: a"),
        (&["--from-dir", &folder, "--name", "1.0"], "--name must be a semantic version: "),
        (&["--from-dir", &folder, "--previous", "x"], "\"x\" is not a valid semantic version: "),
        (&["--from-dir", &folder, "--metadata", "[]"], "invalid --metadata: "),
        (&["--from-dir", &folder, "--component-versions", "a=1"], "--component-versions is invalid: "),
        (&["--from-dir", &folder, "--prefix", "../x"], "--prefix: "),
        (&["--from-dir", &folder, "--created", "soon"], "--created: \"soon\" is no time"),
        (
            &["--from-dir", &folder],
            "the base image tag \"cluster-version-operator\" could not be found in the input",
        ),
        (&["--from-dir", &folder, "--from-release", &folder], "cannot be used with"),
    ];
    for (arguments, message) in cases {
        let run = new_release(arguments);
        assert!(run.stderr.contains(message), "{arguments:?}: {}", run.stderr);
        assert_eq!(run.code, 2, "{arguments:?}: {}", run.stderr);
    }
}

#[test]
fn names_that_would_leave_the_folder_are_refused() {
    let stage = Stage::new();
    stage.write("in/image-references", references(&[("../evil", "r/x".to_owned())]).as_bytes());
    stage.write("in/a\nb/1.yaml", MANIFEST.as_bytes());
    let run = new_release(&["--from-dir", &stage.path("in"), "--base", "none", "--to", &stage.path("out")]);
    assert_eq!(run.code, 1);
    assert!(
        run.stderr.contains("\"../evil\" cannot be part of a file name: it has a slash"),
        "{}",
        run.stderr
    );
    assert!(run.stderr.contains("it has control characters"), "{}", run.stderr);
    assert!(!stage.root().join("out").exists() && !stage.root().join("evil").exists());
    fs::create_dir(stage.root().join("full")).unwrap();
    stage.write("full/thesis.txt", b"");
    stage.write("good/a/1.yaml", MANIFEST.as_bytes());
    let run =
        new_release(&["--from-dir", &stage.path("good"), "--base", "none", "--to", &stage.path("full")]);
    assert!(run.code == 1 && run.stderr.contains("is not empty; nothing was written"), "{}", run.stderr);
}

#[test]
fn lint_is_shown_and_fails_the_build_when_it_is_told_to() {
    let stage = Stage::new();
    // A custom resource that nothing defines is a warning.
    let resource = "apiVersion: example.com/v1\nkind: Thing\nmetadata:\n  name: a\n  annotations:\n    include.release.openshift.io/self-managed-high-availability: \"true\"\n";
    stage.write("in/a/1.yaml", resource.as_bytes());
    let arguments =
        ["--from-dir", &stage.path("in"), "--name", "1.0.0", "--base", "none", "--to", &stage.path("out")];
    let run = new_release(&[&arguments[..], &["--lint", "warning"]].concat());
    assert_eq!(run.code, 1, "{}", run.stderr);
    assert!(run.stderr.contains("lint: release-manifests/0000_50_a_1.yaml:1: warning: "), "{}", run.stderr);
    assert!(run.stdout.is_empty() && !stage.root().join("out").exists());
    let off = new_release(&[&arguments[..], &["--lint", "off", "--dry-run"]].concat());
    assert!(!off.stderr.contains("lint:"), "{}", off.stderr);
    let shown = new_release(&arguments);
    assert!(shown.code == 0 && shown.stderr.contains("lint: "), "{}", shown.stderr);
    assert_eq!(shown.stdout, off.stdout, "a dry run says what would come out");
}

#[test]
fn metadata_prefix_and_json_are_as_asked_for() {
    let stage = Stage::new();
    stage.write("in/image-references", references(&[("a", "r.example.com/a:1".to_owned())]).as_bytes());
    stage.write("in/a/1.yaml", MANIFEST.as_bytes());
    stage.write("in/b/1.yaml", MANIFEST.as_bytes());
    let arguments = [
        "--from-dir",
        &stage.path("in"),
        "--name",
        "1.0.0",
        "--exclude",
        "b",
        "--prefix",
        "99",
        "--previous",
        "0.9.9,0.9.10",
        "--next",
        "1.0.1",
        "--url",
        "https://example.com/1",
        "--channels",
        "stable-1.0,fast-1.0",
        "--metadata",
        r#"{"team": "blue"}"#,
        "--lint",
        "off",
        "--to-dir",
        &stage.path("flat"),
    ];
    let run = new_release(&arguments);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let found = files(&stage.root().join("flat"));
    assert_eq!(found.keys().collect::<Vec<_>>(), ["99_a_1.yaml", "image-references", "release-metadata"]);
    let metadata: Value = serde_json::from_slice(&found["release-metadata"]).unwrap();
    assert_eq!(metadata["previous"], serde_json::json!(["0.9.10", "0.9.9"]));
    assert_eq!(metadata["next"], serde_json::json!(["1.0.1"]));
    assert_eq!(metadata["metadata"]["io.openshift.upgrades.graph.release.channels"], "stable-1.0,fast-1.0");
    assert_eq!(
        (&metadata["metadata"]["url"], &metadata["metadata"]["team"]),
        (&"https://example.com/1".into(), &"blue".into())
    );
    let json = new_release(&[&arguments[..arguments.len() - 2], &["-o", "json"]].concat());
    assert_eq!(json.stdout.trim_end().as_bytes(), found["image-references"]);
}
