//! For each rule about manifests a folder that breaks it: the example with one change.

use std::fs;

use lockstep_converge::conformance::read_folder;
use lockstep_health::conformance::{Finding, manifests};
use lockstep_tests::cli::root;
use tempfile::TempDir;

/// One change to the folder of the example.
pub(crate) struct Breach {
    /// The rule that it breaks.
    pub(crate) id: &'static str,
    change: Change,
}

enum Change {
    Remove(&'static str),
    Rename(&'static str, &'static str),
    Replace(&'static str, &'static str, &'static str),
}

use Change::{Remove, Rename, Replace};

const DEPLOYMENT: &str = "03_deployment.yaml";
const OPERATOR: &str = "04_clusteroperator.yaml";
const RBAC: &str = "01_rbac.yaml";

pub(crate) const BREACHES: &[Breach] = &[
    Breach { id: "namespace-shipped", change: Remove("00_namespaces.yaml") },
    Breach {
        id: "roles-shipped",
        change: Replace(RBAC, "  kind: Role\n  name: example-operator", "  kind: Role\n  name: another"),
    },
    Breach {
        id: "service-account-bound",
        change: Replace(DEPLOYMENT, "serviceAccountName: example-operator", "serviceAccountName: nobody"),
    },
    Breach { id: "deployment-shipped", change: Remove(DEPLOYMENT) },
    Breach {
        id: "clusteroperator-shipped",
        change: Replace(OPERATOR, "config.openshift.io/v1", "operatorstatus.openshift.io/v1"),
    },
    Breach {
        id: "config-shipped",
        change: Replace(
            DEPLOYMENT,
            "        env:\n",
            "        envFrom:\n        - configMapRef:\n            name: nowhere\n        env:\n",
        ),
    },
    Breach { id: "image-references-shipped", change: Remove("image-references") },
    Breach { id: "versions-listed", change: Replace(OPERATOR, "- name: operator\n", "- name: something\n") },
    Breach {
        id: "version-follows-release",
        change: Replace(
            OPERATOR,
            "- name: operator\n    version: \"0.0.1-snapshot\"",
            "- name: operator\n    version: \"7\"",
        ),
    },
    Breach {
        id: "conditions-left-out",
        change: Replace(
            OPERATOR,
            "status:\n",
            "status:\n  conditions:\n  - type: Available\n    status: \"True\"\n",
        ),
    },
    Breach {
        id: "manifests-included",
        change: Replace("02_config.yaml", "include.release.openshift.io/", "somewhere.else.example.com/"),
    },
    Breach { id: "clusteroperator-after-deployment", change: Rename(OPERATOR, "02_clusteroperator.yaml") },
    Breach { id: "namespace-first", change: Rename("00_namespaces.yaml", "99_namespaces.yaml") },
    Breach { id: "files-read", change: Rename("02_config.yaml", "02_config.yaml.bak") },
    Breach {
        id: "related-objects-shipped",
        change: Replace(OPERATOR, "resource: namespaces", "resource: secrets"),
    },
    Breach {
        id: "related-namespaces-shipped",
        change: Replace(OPERATOR, "name: openshift-example\n", "name: another\n"),
    },
];

// === impl Breach ===

impl Breach {
    /// The changed folder.
    pub(crate) fn folder(&self) -> TempDir {
        let folder = tempfile::tempdir().unwrap();
        for entry in fs::read_dir(root().join(super::EXAMPLE)).unwrap() {
            let path = entry.unwrap().path();
            fs::copy(&path, folder.path().join(path.file_name().unwrap())).unwrap();
        }
        let at = |name: &str| folder.path().join(name);
        match &self.change {
            Remove(name) => fs::remove_file(at(name)).unwrap(),
            Rename(from, to) => fs::rename(at(from), at(to)).unwrap(),
            Replace(name, from, to) => {
                let text = fs::read_to_string(at(name)).unwrap();
                assert!(text.contains(from), "{}: {name} does not hold {from:?}", self.id);
                fs::write(at(name), text.replace(from, to)).unwrap();
            }
        }
        folder
    }

    pub(crate) fn judge(&self) -> Vec<Finding> {
        manifests(&read_folder(self.folder().path()).unwrap())
    }
}
