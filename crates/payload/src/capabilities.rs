//! Which capabilities a cluster has, and which it keeps although nobody asked for them.

use std::collections::{BTreeMap, BTreeSet};

use lockstep_api::ResourceId;
use lockstep_api::capability::{BaselineSet, GATED, KNOWN};
use lockstep_api::names::annotation;

use crate::manifest::Manifest;
use crate::selection::{CapabilityFilter, Selection, capability_names};

/// The effective capabilities of a cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// All that exist, given the feature gates.
    pub known: BTreeSet<String>,
    /// All that are on; what is on can never be switched off again.
    pub enabled: BTreeSet<String>,
    /// Those of `enabled` that the spec does not ask for.
    pub implicit: BTreeSet<String>,
}

// === impl Capabilities ===

impl Capabilities {
    /// Computes the effective set.
    ///
    /// `ensure` holds what was on before and what is always on. `gates` are the enabled feature gates; a capability
    /// whose gate is off does not exist.
    pub fn effective<'a>(
        baseline: Option<BaselineSet>,
        additional: impl IntoIterator<Item = &'a str>,
        ensure: impl IntoIterator<Item = &'a str>,
        gates: &BTreeSet<String>,
    ) -> Self {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
        let mut enabled = owned(baseline.unwrap_or_default().members());
        enabled.extend(additional.into_iter().map(str::to_owned));
        let mut implicit = BTreeSet::new();
        for name in ensure {
            if enabled.insert(name.to_owned()) {
                implicit.insert(name.to_owned());
            }
        }
        let mut known = owned(&KNOWN);
        for gated in GATED.iter().filter(|gated| !gated.is_known(|gate| gates.contains(gate))) {
            for set in [&mut known, &mut enabled, &mut implicit] {
                set.remove(gated.capability);
            }
        }
        Self { known, enabled, implicit }
    }

    /// Every known capability, switched on.
    pub fn all(gates: &BTreeSet<String>) -> Self {
        Self::effective(None, [], [], gates)
    }

    /// The filter that these capabilities make.
    pub fn filter(&self) -> CapabilityFilter {
        CapabilityFilter { known: Some(self.known.clone()), enabled: self.enabled.clone() }
    }

    /// Takes over what an update enables implicitly; the earlier implicit set is replaced by the new one.
    #[must_use]
    pub fn with_implicit(mut self, implicit: BTreeSet<String>) -> Self {
        self.enabled.extend(implicit.iter().cloned());
        self.implicit = implicit;
        self
    }

    /// What an update to `next` enables implicitly: once an object is managed it stays managed, and then the whole
    /// capability that the update has put it under is installed.
    ///
    /// `selection` gives the feature gates and the major version to judge by; its other filters do not count here.
    pub fn implied_by_update(
        &self,
        current: &[Manifest],
        next: &[Manifest],
        selection: &Selection,
    ) -> BTreeSet<String> {
        let judge = Selection {
            capabilities: Some(CapabilityFilter { known: None, enabled: self.enabled.clone() }),
            feature_gates: selection.feature_gates.clone(),
            major_version: selection.major_version,
            ..Selection::default()
        };
        let mut by_id: BTreeMap<&ResourceId, Vec<&Manifest>> = BTreeMap::new();
        for manifest in current {
            by_id.entry(&manifest.id).or_default().push(manifest);
        }
        let mut implicit = self.implicit.clone();
        for update in next.iter().filter(|update| judge.check(update).is_err()) {
            let same = by_id.get(&update.id).into_iter().flatten();
            for managed in same.filter(|managed| judge.check(managed).is_ok()) {
                let had = capability_names(managed.annotation(annotation::CAPABILITY));
                let new = capability_names(update.annotation(annotation::CAPABILITY)).into_iter();
                implicit.extend(
                    new.filter(|name| !had.contains(name) && !self.enabled.contains(*name))
                        .map(str::to_owned),
                );
            }
        }
        implicit
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::manifest::Folder;
    use crate::yaml::Document;

    fn set(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    fn all_gates() -> BTreeSet<String> {
        set(&["CRDCompatibilityRequirementOperator", "ClusterAPIMachineManagement"])
    }

    fn object(kind: &str, name: &str, capabilities: &str) -> Manifest {
        let value = json!({"apiVersion": "test.k8s.io/v1", "kind": kind,
            "metadata": {"name": name, "namespace": "ns1", "annotations": {"capability.openshift.io/name": capabilities}}});
        let document = Document { value, index: 0, line: 1, json: None };
        Manifest::from_document(Folder::ReleaseManifests, &Arc::from("a.yaml"), document).unwrap()
    }

    #[test]
    fn effective_sets_of_the_specification() {
        let (v411, none) = (BaselineSet::parse("v4.11"), BaselineSet::parse("None"));
        let current = BaselineSet::parse("vCurrent");
        let old = ["baremetal", "marketplace", "openshift-samples", "MachineAPI"];
        let caps = ["cap1", "cap2", "cap3"];
        let everything = set(&KNOWN);
        let cases = [
            (None, vec![], everything.clone()),
            (none, vec![], set(&[])),
            (v411, vec![], set(&old)),
            (current, vec![], everything.clone()),
            (none, caps.to_vec(), set(&caps)),
            (v411, caps.to_vec(), &set(&old) | &set(&caps)),
        ];
        for (baseline, additional, enabled) in cases {
            let found = Capabilities::effective(baseline, additional, [], &all_gates());
            assert_eq!(found.enabled, enabled);
            assert_eq!(found.known, everything);
            assert_eq!(found.implicit, set(&[]));
        }
    }

    #[test]
    fn a_capability_whose_gate_is_off_does_not_exist() {
        let found = Capabilities::effective(None, [], [], &set(&[]));
        assert_eq!((found.known.len(), found.enabled.len()), (17, 17));
        let none = BaselineSet::parse("None");
        let found = Capabilities::effective(none, ["baremetal", "ClusterAPI"], [], &set(&[]));
        assert_eq!(found.enabled, set(&["baremetal"]));
        let found = Capabilities::effective(None, [], ["ClusterAPI", "cap1"], &set(&[]));
        assert_eq!(found.implicit, set(&["cap1"]), "dropped, not implicit");
        let one = set(&["CRDCompatibilityRequirementOperator"]);
        assert!(Capabilities::all(&one).known.contains("CompatibilityRequirements"));
        assert!(!Capabilities::all(&one).known.contains("ClusterAPI"));
    }

    #[test]
    fn what_was_enabled_stays_enabled() {
        let ensure = ["cap1", "cap2", "cap3", "cap2"];
        let found = Capabilities::effective(BaselineSet::parse("vCurrent"), [], ensure, &all_gates());
        assert_eq!(found.implicit, set(&["cap1", "cap2", "cap3"]));
        assert!(found.enabled.is_superset(&found.implicit));
    }

    #[test]
    fn a_full_cluster_that_is_asked_to_shrink_keeps_everything() {
        let full: Vec<&str> = Capabilities::all(&set(&[]))
            .enabled
            .iter()
            .map(|name| KNOWN.iter().find(|known| *known == name).copied().unwrap())
            .collect();
        let ensure = full.iter().copied().chain(["Ingress"]);
        let found = Capabilities::effective(BaselineSet::parse("None"), ["baremetal"], ensure, &set(&[]));
        let listed = found.implicit.iter().cloned().collect::<Vec<_>>().join(", ");
        assert_eq!(
            listed,
            "Build, CSISnapshot, CloudControllerManager, CloudCredential, Console, DeploymentConfig, ImageRegistry, \
             Ingress, Insights, MachineAPI, NodeTuning, OperatorLifecycleManager, OperatorLifecycleManagerV1, Storage, \
             marketplace, openshift-samples"
        );
    }

    #[test]
    fn implicit_results_replace_the_earlier_ones() {
        let start = |enabled: &[&str]| Capabilities {
            enabled: set(enabled),
            implicit: set(&["old"]),
            ..Capabilities::default()
        };
        let found = start(&["cap1"]).with_implicit(set(&["cap2", "cap3", "cap4"]));
        assert_eq!(found.enabled, set(&["cap1", "cap2", "cap3", "cap4"]));
        assert_eq!(found.implicit, set(&["cap2", "cap3", "cap4"]));
        assert_eq!(start(&["cap1", "cap2"]).with_implicit(set(&["cap2"])).enabled, set(&["cap1", "cap2"]));
        let found = start(&["cap1"]).with_implicit(set(&[]));
        assert_eq!((found.enabled, found.implicit), (set(&["cap1"]), set(&[])));
    }

    #[test]
    fn implicit_enabling_of_the_specification() {
        type Row<'a> = (&'a str, Vec<Manifest>, Vec<Manifest>, &'a [&'a str], &'a [&'a str], &'a [&'a str]);
        let one = || object("Test", "name1", "cap1");
        let two = || object("Test", "name1", "cap2");
        let cases: [Row<'_>; 9] = [
            ("basic", vec![one()], vec![two()], &["cap1"], &[], &["cap2"]),
            ("other kind", vec![one()], vec![object("Other", "name1", "cap2")], &[], &[], &[]),
            ("current not enabled", vec![one()], vec![two()], &["cap2"], &[], &[]),
            ("already enabled", vec![one()], vec![two()], &["cap1", "cap2"], &[], &[]),
            ("already implicit", vec![one()], vec![two()], &["cap1"], &["cap2"], &["cap2"]),
            (
                "added once",
                vec![one(), object("Test", "name2", "cap1")],
                vec![two(), object("Test", "name2", "cap2")],
                &["cap1"],
                &[],
                &["cap2"],
            ),
            ("no update", vec![one()], vec![], &["cap1"], &["cap1"], &["cap1"]),
            ("no current", vec![], vec![two()], &["cap1"], &["cap1"], &["cap1"]),
            ("twice in the update", vec![one()], vec![two(), two()], &["cap1"], &[], &["cap2"]),
        ];
        for (name, current, next, enabled, before, after) in cases {
            // Known or not makes no difference: the specification's row "unknown cap" is the first one without cap2.
            for known in [set(&["cap1"]), set(&["cap1", "cap2"])] {
                let start = Capabilities { known, enabled: set(enabled), implicit: set(before) };
                let found = start.implied_by_update(&current, &next, &Selection::default());
                assert_eq!(found, set(after), "{name}");
            }
        }
    }

    #[test]
    fn implicit_enabling_over_many_objects() {
        let many =
            |names: &[&str]| names.iter().map(|name| format!("cap{name}")).collect::<Vec<_>>().join("+");
        let side = |lists: [&[&str]; 6]| -> Vec<Manifest> {
            lists
                .iter()
                .enumerate()
                .map(|(index, list)| object("Test", &format!("name{}", index + 1), &many(list)))
                .collect()
        };
        let (five, six): (&[&str], &[&str]) = (&["17", "19", "21", "23"], &["18", "20", "22", "24"]);
        let current = side([
            &["1", "3", "5", "7"],
            &["1", "2", "4", "6", "8"],
            &["2", "9", "11", "13", "15"],
            &["10", "12", "14", "16"],
            five,
            six,
        ]);
        let next = side([
            &["111", "113", "115", "117"],
            &["111", "112", "114", "116", "118"],
            &["112", "119", "1111", "1113", "1115"],
            &["1110", "1112", "1114", "1116"],
            five,
            six,
        ]);
        let start = Capabilities {
            enabled: (1..=24).map(|number| format!("cap{number}")).collect(),
            implicit: set(&["cap000", "cap111", "cap112", "cap113", "cap114"]),
            ..Capabilities::default()
        };
        let expected: BTreeSet<String> = std::iter::once("cap000".to_owned())
            .chain((111..=119).chain(1110..=1116).map(|number| format!("cap{number}")))
            .collect();
        assert_eq!(start.implied_by_update(&current, &next, &Selection::default()), expected);
    }
}
