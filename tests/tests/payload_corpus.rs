//! Selection and version hashes of real releases against the Go operator's.
#![expect(clippy::unwrap_used, reason = "a test fails by a panic, also in the functions that tests share")]

use std::collections::BTreeSet;
use std::path::Path;

use lockstep_payload::{Capabilities, DiskFiles, LoadOptions, Release, Selection};
use lockstep_tests::corpus::corpus;

const IMAGE: &str = "registry.example.com/release:4.20.0";

fn load(folder: &Path, profile: &str) -> Release {
    let options = LoadOptions { release_image: IMAGE.to_owned(), profile: profile.to_owned() };
    Release::load(&DiskFiles::open(folder).unwrap(), &options).unwrap()
}

fn selection(release: &Release, profile: &str, feature_set: &str) -> Selection {
    Selection {
        exclude: Some(String::new()),
        feature_set: Some(feature_set.to_owned()),
        feature_gates: Some(BTreeSet::new()),
        major_version: Some(release.major_version()),
        profile: Some(profile.to_owned()),
        capabilities: Some(Capabilities::all(&BTreeSet::new()).filter()),
        ..Selection::default()
    }
}

#[test]
fn counts_and_hashes_equal_the_go_operators() {
    let Some(corpus) = corpus("selection of real releases") else { return };
    let expected = [
        ("self-managed-high-availability", "", 961, "cd0ODHHvYDU="),
        ("self-managed-high-availability", "TechPreviewNoUpgrade", 1021, "sJliMgF7TVU="),
        ("self-managed-high-availability", "DevPreviewNoUpgrade", 969, "Sl2beJkQEw0="),
        ("self-managed-high-availability", "CustomNoUpgrade", 1017, "kYi8aVzKwjg="),
        ("single-node-developer", "", 701, "14biaKgHB1Y="),
        ("single-node-developer", "TechPreviewNoUpgrade", 745, "mxdQIvrI5sA="),
        ("single-node-developer", "DevPreviewNoUpgrade", 703, "Npo4yMycomw="),
        ("single-node-developer", "CustomNoUpgrade", 745, "mxdQIvrI5sA="),
        ("ibm-cloud-managed", "", 711, "ayn5DZugn1c="),
        ("ibm-cloud-managed", "TechPreviewNoUpgrade", 723, "ig-a-kPN4yw="),
        ("ibm-cloud-managed", "DevPreviewNoUpgrade", 720, "If6aCsrjswA="),
        ("ibm-cloud-managed", "CustomNoUpgrade", 722, "uP266wg7LMY="),
        ("hypershift", "", 422, "mrfqzscLj6A="),
        ("hypershift", "TechPreviewNoUpgrade", 426, "Nl0d8VuPZJg="),
        ("hypershift", "DevPreviewNoUpgrade", 423, "0GCmUM60g6g="),
        ("hypershift", "CustomNoUpgrade", 426, "Nl0d8VuPZJg="),
    ];
    // The profile stands in the operator's own manifests, so each needs its own load.
    for profiles in expected.chunks(4) {
        let release = load(&corpus.join("4.20.0"), profiles[0].0);
        for (profile, feature_set, count, hash) in profiles {
            let selection = selection(&release, profile, feature_set);
            assert_eq!(release.selected(&selection).count(), *count, "{profile} {feature_set}");
            assert_eq!(release.version_hash(&selection), *hash, "{profile} {feature_set}");
        }
    }
}

#[test]
fn counts_of_the_newer_release_hold() {
    let Some(corpus) = corpus("selection of real releases") else { return };
    let expected = [
        ("self-managed-high-availability", "", 975),
        ("self-managed-high-availability", "TechPreviewNoUpgrade", 1022),
        ("self-managed-high-availability", "DevPreviewNoUpgrade", 986),
        ("self-managed-high-availability", "CustomNoUpgrade", 1019),
        ("single-node-developer", "", 711),
        ("ibm-cloud-managed", "", 726),
        ("hypershift", "", 418),
    ];
    let release = load(&corpus.join("4.21.0"), "self-managed-high-availability");
    for (profile, feature_set, count) in expected {
        let selection = selection(&release, profile, feature_set);
        assert_eq!(release.selected(&selection).count(), count, "{profile} {feature_set}");
        assert_eq!(release.manifests.len(), 1122 + 21);
    }
}
