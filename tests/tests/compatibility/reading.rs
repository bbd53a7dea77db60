//! How a release is read, and what of it is selected.

use std::collections::BTreeSet;

use lockstep_graph::info::ReleaseInfo;
use lockstep_graph::lint::{Scope, lint};
use lockstep_payload::template::{TemplateData, render};
use lockstep_payload::{Capabilities, DiskFiles, FeatureGates, Folder, Manifest};
use serde_json::json;

use super::Difference;
use super::fixture::{a_manifest, a_map, a_release, a_selection, error_of, load};

const FIRST_GENERATION: &str = "apiVersion: operatorstatus.openshift.io\nkind: ClusterOperator\nmetadata:\n  \
                                namespace: my-namespace\n  name: my-operator\nstatus:\n  version: 1.0.0\n";

pub(super) const DIFFERENCES: &[Difference] = &[
    Difference {
        id: "first-generation-operator-is-selected",
        title: "A ClusterOperator of the first generation needs no annotations",
        decision: "D4",
        case: "a ClusterOperator of the group operatorstatus.openshift.io without annotations",
        reference: "no annotations",
        ours: "included",
        why: "The first protocol knows no annotations, and its manifests are to be waited for. This holds for this one \
              kind and group only.",
        observe: || outcome(&a_manifest(FIRST_GENERATION)),
    },
    Difference {
        id: "versionless-api-version",
        title: "The group of the first generation alone is read as its version 1",
        decision: "D4",
        case: "`apiVersion: operatorstatus.openshift.io` of a ClusterOperator",
        reference: "group \"\", version \"operatorstatus.openshift.io\"",
        ours: "group \"operatorstatus.openshift.io\", version \"v1\"",
        why: "The description of the first protocol shows it so, and read by the letter it names a kind that no server has. Lint \
              reports it.",
        observe: || {
            let manifest = a_manifest(FIRST_GENERATION);
            format!("group {:?}, version {:?}", manifest.id.group, manifest.version())
        },
    },
    Difference {
        id: "same-object-in-two-files",
        title: "The same object in two files is found",
        decision: "always say why",
        case: "`0000_90_a_1.yaml` and `0000_90_a_2.yaml` hold one config map with different data",
        reference: "accepted",
        ours: "accepted; lint: conflicting-objects in 0000_90_a_2.yaml",
        why: "Both load it, because real releases do it for different clusters. Where both files belong to one cluster they \
              overwrite each other for ever, and lint says in which cluster.",
        observe: || {
            let map = |value: &str| a_map("one", &format!("data:\n  key: {value}\n"));
            let release =
                load(&a_release().with(Folder::ReleaseManifests, "0000_90_a_1.yaml", map("first")).with(
                    Folder::ReleaseManifests,
                    "0000_90_a_2.yaml",
                    map("second"),
                ));
            let report = lint(&release.unwrap(), Scope::Selected(&a_selection()));
            let found = report.findings.iter().filter(|it| it.rule.id == "conflicting-objects");
            let found: Vec<_> = found.map(|it| format!("{} in {}", it.rule.id, it.file)).collect();
            format!("accepted; lint: {}", found.join(", "))
        },
    },
    Difference {
        id: "skipped-template-is-reported",
        title: "A template for a newer operator is skipped aloud",
        decision: "always say why",
        case: "`manifests/0000_50_new.yaml` refers to a field that the operator does not have",
        reference: "no warnings (a line in the log)",
        ours: "skipping manifest 0000_50_new.yaml: failed to execute template: line 1: can't evaluate field FutureField (may \
               require a newer operator)",
        why: "A typing error in a manifest drops it, and nobody reads a log for that. It stands in `release info`.",
        observe: || {
            let template = "image: '{{index .FutureField \"x\"}}'\n";
            let files = a_release().with(Folder::Manifests, "0000_50_new.yaml", template);
            ReleaseInfo::of(&load(&files).unwrap(), &a_selection(), "amd64").warnings.join("\n")
        },
    },
    Difference {
        id: "template-subset",
        title: "Templates are fields, images, texts and comments",
        decision: "pure core",
        case: "`{{ if .ReleaseImage }}x{{ end }}` in a file of `manifests/`",
        reference: "x",
        ours: "failed to parse manifest: line 1: action \"if .ReleaseImage }}x\" is not supported",
        why: "An operator's manifests use no other action of Go's template language. A file that does is skipped and \
              reported, like any template for a newer operator.",
        observe: || error_of(render("{{ if .ReleaseImage }}x{{ end }}", &TemplateData::default())),
    },
    Difference {
        id: "load-errors-say-where",
        title: "Load errors say folder and line",
        decision: "always say why",
        case: "`release-manifests/0000_10_a_1.yaml` without a kind",
        reference: "Error loading manifests from release: parse 0000_10_a_1.yaml: unable to decode manifest: Object 'Kind' is \
                    missing in '{\"apiVersion\":\"v1\"}'",
        ours: "Error loading manifests from release: parse release-manifests/0000_10_a_1.yaml: unable to decode manifest: line 1: \
               Object 'Kind' is missing in '{\"apiVersion\":\"v1\"}'",
        why: "Both folders may have a file of that name, and files have many documents. The rest of the text is unchanged.",
        observe: || {
            error_of(load(&a_release().with(
                Folder::ReleaseManifests,
                "0000_10_a_1.yaml",
                "apiVersion: v1\n",
            )))
        },
    },
    Difference {
        id: "not-a-release-folder",
        title: "A folder that is no release is told what it lacks",
        decision: "always say why",
        case: "a folder with nothing in it but a folder `4.20.0` that holds `release-manifests`",
        reference: "stat FOLDER/manifests: no such file or directory",
        ours: "FOLDER is not a release folder: manifests is missing (did you mean FOLDER/4.20.0?)",
        why: "The reference gives the error of the operating system as it is.",
        observe: || {
            let folder = tempfile::tempdir().unwrap();
            std::fs::create_dir_all(folder.path().join("4.20.0/release-manifests")).unwrap();
            let error = error_of(DiskFiles::open(folder.path()));
            error.replace(&folder.path().display().to_string(), "FOLDER")
        },
    },
    Difference {
        id: "metadata-warnings",
        title: "Wrong values in release-metadata are warnings that are seen",
        decision: "always say why",
        case: "an architecture that nobody knows in `release-metadata`",
        reference: "no warnings (a line in the log)",
        ours: "unrecognized release.openshift.io/architecture value \"sparc\"",
        why: "The value is ignored in both. Here `release info` lists what was ignored.",
        observe: || {
            let metadata = json!({"kind": "cincinnati-metadata-v0", "version": "1.0.0",
                "metadata": {"release.openshift.io/architecture": "sparc"}});
            let files = a_release().with(Folder::ReleaseManifests, "release-metadata", metadata.to_string());
            ReleaseInfo::of(&load(&files).unwrap(), &a_selection(), "amd64").warnings.join("\n")
        },
    },
    Difference {
        id: "major-version-number-text",
        title: "A wrong major version is called not a number",
        decision: "accident of the reference",
        case: "a definition with the major version `abc`",
        reference: "invalid included major version \"abc\" in annotation: (the words of Go's number parser)",
        ours: "invalid included major version \"abc\" in annotation: not a number",
        why: "The end of the text is that of a Go function, and nothing depends on it.",
        observe: || {
            outcome(&a_manifest(
                "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: a\n  annotations:\n    \
                 release.openshift.io/major-version: abc\n",
            ))
        },
    },
    Difference {
        id: "implicit-capability-of-an-empty-set",
        title: "An update may enable the first capability of a cluster",
        decision: "accident of the reference",
        case: "no capability is enabled, none always, and an update enables `Console` implicitly",
        reference: "the process crashes",
        ours: "enabled: Console",
        why: "The reference writes into a map that it never made; its default deployment hides that by always enabling one.",
        observe: || {
            let none = Capabilities::default();
            let some = none.with_implicit(BTreeSet::from(["Console".to_owned()]));
            format!("enabled: {}", Vec::from_iter(some.enabled).join(", "))
        },
    },
    Difference {
        id: "feature-set-change",
        title: "A change of the feature set selects again",
        decision: "D11",
        case: "a manifest for `TechPreviewNoUpgrade`; the cluster has no FeatureGate object, then one with that set",
        reference: "\"Default\" is required, and release.openshift.io/feature-set=TechPreviewNoUpgrade; then the process shuts \
                    down to be started again",
        ours: "\"Default\" is required, and release.openshift.io/feature-set=TechPreviewNoUpgrade; then included",
        why: "The selection is a function of the cluster's objects, so a new object gives a new selection and never a \
              restart. No object is the default set.",
        observe: || {
            let preview =
                a_manifest(&a_map("a", "    release.openshift.io/feature-set: TechPreviewNoUpgrade\n"));
            let check = |gates: &FeatureGates| {
                gates
                    .select(&a_selection())
                    .check(&preview)
                    .map_or_else(|it| it.to_string(), |()| "included".to_owned())
            };
            let object = json!({"spec": {"featureSet": "TechPreviewNoUpgrade"}});
            let (before, after) =
                (FeatureGates::of_cluster(None, "1.0.0"), FeatureGates::of_cluster(Some(&object), "1.0.0"));
            format!("{}; then {}", check(&before), check(&after))
        },
    },
];

fn outcome(manifest: &Manifest) -> String {
    a_selection().check(manifest).map_or_else(|reason| reason.to_string(), |()| "included".to_owned())
}
