//! Rules about what must be there before an object can be applied: its kind and its namespace.

use lockstep_api::names::{kind, namespace};
use lockstep_api::object::join_api_version;
use lockstep_payload::Manifest;

use super::dependency::{missing, too_late};
use super::survey::{Survey, entries, title};
use super::{Finding, rules};

/// Namespaces that every cluster has.
const BUILT_IN_NAMESPACES: [&str; 4] = ["default", namespace::KUBE_SYSTEM, "kube-public", "kube-node-lease"];

pub(super) fn check(survey: &Survey<'_>, findings: &mut Vec<Finding>) {
    // What is to be deleted and cannot exist is deleted already.
    for (index, manifest) in survey.applied() {
        check_kind(survey, index, manifest, findings);
        check_namespace(survey, index, manifest, findings);
    }
}

/// The kind must be built in, or come from a CRD or another API server of the release.
fn check_kind(survey: &Survey<'_>, index: usize, manifest: &Manifest, findings: &mut Vec<Finding>) {
    let (group, kind, version) = (&manifest.id.group, &manifest.id.kind, manifest.version());
    let is_built_in = survey.schema.kind(&manifest.api_version, kind).is_some();
    if is_built_in || survey.schema.removed(&manifest.api_version, kind).is_some() {
        return;
    }
    let crds = survey.crds(group, kind);
    let serves = |crd: &usize| {
        entries(&survey.manifest(*crd).object, &["spec", "versions"])
            .any(|entry| entry["name"] == version && entry["served"] == true)
    };
    let mut providers: Vec<usize> = crds.iter().copied().filter(serves).collect();
    providers.extend(survey.api_services(group, version));
    let what = format!("{} {kind}", join_api_version(group, version));
    if let Some((provider, place)) = too_late(survey, index, &providers) {
        let message = format!(
            "{} is of the kind {what}, but an update reaches the CRD, in {}, only after it. An update to the first release \
             with this CRD never gets there. Let the file of the CRD sort before this one",
            title(manifest),
            survey.manifest(provider).file
        );
        findings.push(survey.finding(&rules::CUSTOM_RESOURCE_BEFORE_CRD, index, place, message));
    }
    let Some(place) = missing(survey, index, &providers) else { return };
    let finding = match (providers.first(), crds.first()) {
        (Some(provider), _) => {
            let message = format!(
                "{} is of the kind {what}, and here the CRD in {} is not selected. The task waits in vain. Give both the \
                 same annotations",
                title(manifest),
                survey.manifest(*provider).file
            );
            survey.finding(&rules::CUSTOM_RESOURCE_WITHOUT_CRD, index, place, message)
        }
        (None, Some(crd)) => {
            let message = format!(
                "{} is of the kind {what}, but the CRD in {} does not serve that version. The task waits until somebody \
                 else does. Use a version that is served",
                title(manifest),
                survey.manifest(*crd).file
            );
            survey.finding(&rules::KIND_NOT_PROVIDED, index, place, message)
        }
        (None, None) => {
            let message = format!(
                "{} is of the kind {what}, which is not built in and which nothing in the release provides. The task waits \
                 until an operator brings it at run time. If none does, add the CRD or correct the kind",
                title(manifest)
            );
            survey.finding(&rules::KIND_NOT_PROVIDED, index, place, message)
        }
    };
    findings.push(finding);
}

/// The namespace must be built in or come from the release.
fn check_namespace(survey: &Survey<'_>, index: usize, manifest: &Manifest, findings: &mut Vec<Finding>) {
    let (name, is_namespaced) = (manifest.id.namespace.as_str(), survey.is_namespaced(manifest));
    if name.is_empty() {
        let Some(place) = survey.find_one(index).filter(|_| is_namespaced == Some(true)) else { return };
        let message = format!(
            "{} names no namespace although its kind is namespaced, so it cannot be applied. Set metadata.namespace",
            title(manifest)
        );
        findings.push(survey.finding(&rules::NAMESPACED_OBJECT_WITHOUT_NAMESPACE, index, place, message));
        return;
    }
    if is_namespaced == Some(false) || BUILT_IN_NAMESPACES.contains(&name) {
        return;
    }
    let providers = survey.core(kind::NAMESPACE, "", name);
    if let Some((provider, place)) = too_late(survey, index, &providers) {
        let message = format!(
            "{} lives in a namespace that an update reaches, in {}, only after it. An update to the first release with this \
             namespace never gets there. Let the file of the Namespace sort before this one",
            title(manifest),
            survey.manifest(provider).file
        );
        findings.push(survey.finding(&rules::OBJECT_BEFORE_NAMESPACE, index, place, message));
    }
    if let Some(place) = missing(survey, index, &providers) {
        let why = match providers.first() {
            Some(provider) => {
                format!("the Namespace in {} is not selected where it is", survey.manifest(*provider).file)
            }
            None => "the release does not bring its namespace".to_owned(),
        };
        let message = format!(
            "{}: {why}. The task waits until an operator creates the namespace at run time. If none does, add it to the \
             release",
            title(manifest)
        );
        findings.push(survey.finding(&rules::NAMESPACE_NOT_IN_RELEASE, index, place, message));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::super::testing::{
        Objects, a_crd, a_namespace, annotated, found, found_anywhere, ids, object, with,
    };

    const NONE: [(&str, &str); 0] = [];
    const FEATURE_SET: &str = "release.openshift.io/feature-set";

    fn release(files: &[(&str, Value)]) -> lockstep_payload::Release {
        files
            .iter()
            .fold(Objects::new(), |objects, (name, object)| objects.file(name, std::slice::from_ref(object)))
            .release()
    }

    fn foo_crd() -> Value {
        a_crd("example.com", "Foo", "v1")
    }

    fn a_foo() -> Value {
        object("example.com/v1", "Foo", "", "foo")
    }

    #[test]
    fn an_object_in_an_earlier_level_than_its_crd_is_a_deadlock() {
        let bad = release(&[("0000_60_a_1.yaml", a_foo()), ("0000_70_b_1.yaml", foo_crd())]);
        assert_eq!(ids(&found(&bad)), [("custom-resource-before-crd", "foo")]);
        let beside = release(&[("0000_60_a_1.yaml", a_foo()), ("0000_60_b_1.yaml", foo_crd())]);
        assert_eq!(ids(&found(&beside)), NONE);
        let good = release(&[("0000_60_a_1.yaml", foo_crd()), ("0000_60_a_2.yaml", a_foo())]);
        assert_eq!(ids(&found(&good)), NONE);
    }

    #[test]
    fn variants_of_a_crd_by_feature_set_provide_the_kind_together() {
        let variant = |sets: &str| annotated(foo_crd(), FEATURE_SET, sets);
        let files = |second: &str| {
            release(&[
                ("0000_60_a_1.yaml", variant("Default,OKD")),
                ("0000_60_a_2.yaml", variant(second)),
                ("0000_60_a_3.yaml", a_foo()),
            ])
        };
        let complete = files("CustomNoUpgrade,DevPreviewNoUpgrade,TechPreviewNoUpgrade");
        assert_eq!(ids(&found_anywhere(&complete)), NONE);
        let gap = files("CustomNoUpgrade,DevPreviewNoUpgrade");
        assert_eq!(ids(&found(&gap)), NONE);
        let all = found_anywhere(&gap);
        assert_eq!(ids(&all), [("custom-resource-without-crd", "foo")]);
        assert!(all[0].combination.as_deref().unwrap().ends_with("feature set TechPreviewNoUpgrade"));
    }

    #[test]
    fn a_kind_or_version_that_nothing_provides_is_found() {
        let nothing = release(&[("0000_60_a_1.yaml", a_foo())]);
        assert_eq!(ids(&found(&nothing)), [("kind-not-provided", "foo")]);
        for version in ["v0", "v2"] {
            let other = object(&format!("example.com/{version}"), "Foo", "", "foo");
            let unserved = release(&[("0000_60_a_1.yaml", foo_crd()), ("0000_60_a_2.yaml", other)]);
            assert_eq!(ids(&found(&unserved)), [("kind-not-provided", "foo")], "{version}");
        }
        let server = with(
            object("apiregistration.k8s.io/v1", "APIService", "", "v1.example.com"),
            "spec",
            serde_json::json!({}),
        );
        assert_eq!(
            ids(&found(&release(&[("0000_60_a_1.yaml", server), ("0000_60_a_2.yaml", a_foo())]))),
            NONE
        );
    }

    #[test]
    fn an_object_that_is_deleted_needs_neither_kind_nor_namespace() {
        let gone = annotated(
            object("example.com/v1", "Foo", "nowhere", "foo"),
            "release.openshift.io/delete",
            "true",
        );
        assert_eq!(ids(&found(&release(&[("0000_60_a_1.yaml", gone)]))), NONE);
    }

    #[test]
    fn an_object_in_an_earlier_level_than_its_namespace_is_a_deadlock() {
        let map = || object("v1", "ConfigMap", "ns", "a");
        let bad = release(&[("0000_60_a_1.yaml", map()), ("0000_60_a_2.yaml", a_namespace("ns"))]);
        assert_eq!(ids(&found(&bad)), [("object-before-namespace", "a")]);
        let good = release(&[("0000_60_a_1.yaml", a_namespace("ns")), ("0000_60_a_2.yaml", map())]);
        assert_eq!(ids(&found(&good)), NONE);
    }

    #[test]
    fn a_namespace_that_the_release_does_not_bring_is_told() {
        let map = |namespace| release(&[("0000_60_a_1.yaml", object("v1", "ConfigMap", namespace, "a"))]);
        assert_eq!(ids(&found(&map("ns"))), [("namespace-not-in-release", "a")]);
        assert_eq!(ids(&found(&map("kube-system"))), NONE);
        assert_eq!(ids(&found(&map(""))), [("namespaced-object-without-namespace", "a")]);
        let cluster_scoped = release(&[("0000_60_a_1.yaml", object("v1", "Namespace", "nowhere", "a"))]);
        assert_eq!(ids(&found(&cluster_scoped)), NONE);
    }
}
