//! The command on real releases.

use lockstep_tests::cli::lockstep;
use lockstep_tests::corpus::corpus;
use lockstep_tests::page::{MAX_BYTES, check_page};
use serde_json::Value;

const VERSIONS: [&str; 2] = ["4.20.0", "4.21.0"];

#[test]
fn listed_objects_equal_the_golden_file_byte_for_byte() {
    let Some(corpus) = corpus("objects of real releases") else { return };
    for version in VERSIONS {
        let folder = corpus.join(version).display().to_string();
        let run = lockstep(&["release", "objects", &folder, "--folder", "release-manifests", "-o", "tsv"]);
        let golden = std::fs::read_to_string(corpus.join(version).join("objects.tsv")).unwrap();
        // NB: not `assert_eq`: its message would be two megabytes long.
        let differs = run.stdout.lines().zip(golden.lines()).position(|(ours, golden)| ours != golden);
        assert_eq!(differs, None, "{version}: first line that differs");
        assert!(run.stdout == golden, "{version}: same beginning, other length");
    }
}

#[test]
fn info_gives_the_counts_of_the_corpus() {
    let Some(corpus) = corpus("counts of real releases") else { return };
    let cases = [
        ("4.20.0", "Default", 1135, 961),
        ("4.20.0", "TechPreviewNoUpgrade", 1135, 1021),
        ("4.21.0", "Default", 1143, 975),
        ("4.21.0", "DevPreviewNoUpgrade", 1143, 986),
    ];
    for (version, feature_set, objects, selected) in cases {
        let folder = corpus.join(version).display().to_string();
        let image = format!("registry.example.com/release:{version}");
        let run = lockstep(&[
            "release",
            "info",
            &folder,
            "--feature-set",
            feature_set,
            "--release-image",
            &image,
            "-o",
            "json",
        ]);
        let info: Value = serde_json::from_str(&run.stdout).unwrap();
        assert_eq!(
            (info["objects"].as_u64(), info["selected"].as_u64()),
            (Some(objects), Some(selected)),
            "{version} {feature_set}"
        );
        if feature_set == "Default" {
            assert_eq!(info["clusterOperators"].as_array().unwrap().len(), 34);
        }
        if (version, feature_set) == ("4.20.0", "Default") {
            assert_eq!(info["versionHash"], "cd0ODHHvYDU=");
        }
    }
}

#[test]
fn update_graphs_have_their_known_chunks() {
    let Some(corpus) = corpus("graphs of real releases") else { return };
    for (version, chunks) in [("4.20.0", 86), ("4.21.0", 87)] {
        let folder = corpus.join(version).display().to_string();
        let graph: Value =
            serde_json::from_str(&lockstep(&["release", "graph", &folder, "-o", "json"]).stdout).unwrap();
        let lanes: usize = graph["stages"]
            .as_array()
            .unwrap()
            .iter()
            .map(|stage| stage["lanes"].as_array().unwrap().len())
            .sum();
        assert_eq!(lanes, chunks, "{version}");
        insta::assert_snapshot!(format!("graph_{version}"), lockstep(&["release", "graph", &folder]).stdout);
    }
}

#[test]
fn the_page_of_a_real_release_is_well_formed_in_a_browser() {
    let Some(corpus) = corpus("graph page of a real release") else { return };
    let folder = corpus.join("4.20.0").display().to_string();
    for mode in ["updating", "installing"] {
        let run = lockstep(&["release", "graph", &folder, "--mode", mode, "-o", "html"]);
        assert_eq!(run.code, 0, "{}", run.stderr);
        assert!(run.stdout.len() < MAX_BYTES, "{} bytes", run.stdout.len());
        let report = check_page(&run.stdout).unwrap();
        assert!(report.texts > 961, "one text for each manifest and more: {report}");
        assert!(report.problems.is_empty(), "{mode}: {report}");
    }
}
