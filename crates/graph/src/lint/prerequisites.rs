//! Rules about what must be there before an object can be applied: its kind and its namespace.

use lockstep_api::names::namespace;
use lockstep_api::object::join_api_version;
use lockstep_payload::Manifest;

use super::dependency::{missing, too_late};
use super::survey::{Survey, entries, title};
use super::{Finding, rules, spelling};

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
            "{} is of the kind {what}, but an update reaches the {provider}, in {file}, only after it. An update to the \
             first release with this {provider} never gets there. Let the file of the {provider} sort before this one",
            title(manifest),
            provider = provider_kind(survey, provider),
            file = survey.manifest(provider).file
        );
        findings.push(survey.finding(&rules::CUSTOM_RESOURCE_BEFORE_CRD, index, place, message));
    }
    let Some(place) = missing(survey, index, &providers) else { return };
    let title = title(manifest);
    let (rule, message) = match (providers.first(), crds.first()) {
        (Some(provider), _) => (
            &rules::CUSTOM_RESOURCE_WITHOUT_CRD,
            format!(
                "{title} is of the kind {what}, and here the {} in {} is not selected. The task waits until somebody else \
                 brings the kind. If nobody does, give both the same annotations",
                provider_kind(survey, *provider),
                survey.manifest(*provider).file
            ),
        ),
        (None, Some(crd)) => (
            &rules::KIND_NOT_PROVIDED,
            format!(
                "{title} is of the kind {what}, but the CRD in {} does not serve that version. The task waits until \
                 somebody else does. Use a version that is served",
                survey.manifest(*crd).file
            ),
        ),
        (None, None) => match (unknown_built_in(survey, manifest), survey.deleted_crd(group, kind)) {
            (Some(hint), _) => (
                &rules::UNKNOWN_BUILT_IN_KIND,
                format!(
                    "{title} is of the kind {what}, which Kubernetes does not have. Nothing else can add a kind to its API \
                     group, so the task fails. {hint}"
                ),
            ),
            (None, Some(tombstone)) => (
                &rules::KIND_NOT_PROVIDED,
                format!(
                    "{title} is of the kind {what}, whose CRD the release does not bring; {} deletes it. The task waits in vain. Remove \
                     one of the two",
                    survey.manifest(tombstone).file
                ),
            ),
            (None, None) => (
                &rules::KIND_NOT_PROVIDED,
                format!(
                    "{title} is of the kind {what}, which is not built in and which nothing in the release provides. The \
                     task waits until an operator brings it at run time. If none does, add the CRD or correct the kind"
                ),
            ),
        },
    };
    findings.push(survey.finding(rule, index, place, message));
}

/// What brings a kind, in a sentence.
fn provider_kind(survey: &Survey<'_>, provider: usize) -> &'static str {
    if survey.manifest(provider).is_crd() { "CRD" } else { "APIService" }
}

/// What to do about a kind that does not exist although its group is one of Kubernetes' own.
///
/// Not for versions before `v1`: which of them a server has is a matter of its flags.
fn unknown_built_in(survey: &Survey<'_>, manifest: &Manifest) -> Option<String> {
    let (group, kind, version) = (&manifest.id.group, manifest.id.kind.as_str(), manifest.version());
    let is_stable = !version.contains("alpha") && !version.contains("beta");
    if !is_stable || !survey.schema.is_builtin_group(group) {
        return None;
    }
    let in_group: Vec<_> = survey.schema.kinds().filter(|one| one.group == group).collect();
    let names: Vec<&str> = in_group.iter().map(|one| one.kind).collect();
    let meant = spelling::meant(kind, &names).unwrap_or(kind);
    // The same name in another group is a forgotten or mistaken group.
    let found = in_group.into_iter().find(|one| one.kind == meant);
    let found = found.or_else(|| survey.schema.kinds().find(|one| one.kind == kind));
    Some(found.map_or_else(
        || "Correct the kind or the apiVersion".to_owned(),
        |one| format!("{} {} is probably meant", one.api_version, one.kind),
    ))
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
    let (providers, tombstones) = survey.namespaces(name);
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
        let file = |index: &usize| &survey.manifest(*index).file;
        let why = match (providers.first().map(file), tombstones.first().map(file)) {
            (Some(file), _) => format!("the Namespace in {file} is not selected where it is"),
            (None, Some(file)) => format!("the release does not bring its namespace; {file} deletes it"),
            (None, None) => "the release does not bring its namespace".to_owned(),
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
    fn a_misspelled_kind_of_kubernetes_itself_is_an_error_with_the_right_one() {
        let of = |api_version: &str, kind: &str| {
            let all = found(&release(&[("0000_60_a_1.yaml", object(api_version, kind, "default", "a"))]));
            all.into_iter().map(|it| (it.rule.id, it.message)).collect::<Vec<_>>()
        };
        for (api_version, kind, meant) in [
            ("v1", "Configmap", "v1 ConfigMap is probably meant"),
            ("apps/v1", "Deploymnet", "apps/v1 Deployment is probably meant"),
            ("batch/v3", "Job", "batch/v1 Job is probably meant"),
            ("v1", "Deployment", "apps/v1 Deployment is probably meant"),
            ("v1", "Foo", "Correct the kind"),
        ] {
            let all = of(api_version, kind);
            assert_eq!(all.len(), 1, "{all:?}");
            assert_eq!(all[0].0, "unknown-built-in-kind");
            assert!(all[0].1.contains(meant), "{}", all[0].1);
        }
        assert_eq!(of("v1", "ConfigMap"), []);
        for (api_version, kind) in
            [("snapshot.storage.k8s.io/v1", "VolumeSnapshot"), ("apps/v9alpha1", "New")]
        {
            assert_eq!(of(api_version, kind)[0].0, "kind-not-provided", "{api_version}");
        }
    }

    #[test]
    fn what_comes_too_late_or_is_not_selected_is_named_rightly() {
        let server = || {
            let server = object("apiregistration.k8s.io/v1", "APIService", "", "v1.example.com");
            with(server, "spec", serde_json::json!({}))
        };
        let late =
            |provider| found(&release(&[("0000_60_a_1.yaml", a_foo()), ("0000_60_a_2.yaml", provider)]));
        assert!(late(server())[0].message.contains("reaches the APIService, in 0000_60_a_2.yaml, only"));
        assert!(late(foo_crd())[0].message.contains("reaches the CRD, in 0000_60_a_2.yaml, only"));
        let optional = annotated(server(), "capability.openshift.io/name", "Console");
        let all = found_anywhere(&release(&[("0000_60_a_1.yaml", optional), ("0000_60_a_2.yaml", a_foo())]));
        assert!(
            all[0].message.contains("the APIService in 0000_60_a_1.yaml is not selected"),
            "{}",
            all[0].message
        );
    }

    #[test]
    fn what_the_release_itself_deletes_is_told() {
        const DELETE: &str = "release.openshift.io/delete";
        let told = |gone: Value, user: Value| {
            let gone = annotated(gone, DELETE, "true");
            let all = found(&release(&[("0000_60_a_1.yaml", gone), ("0000_60_a_2.yaml", user)]));
            all.iter().any(|it| it.message.contains("0000_60_a_1.yaml deletes it"))
        };
        let map = || object("v1", "ConfigMap", "ns", "a");
        assert!(told(a_namespace("ns"), map()));
        assert!(!told(a_namespace("other"), map()));
        let mut bare = foo_crd();
        bare.as_object_mut().unwrap().remove("spec");
        assert!(told(bare, a_foo()));
        assert!(told(foo_crd(), a_foo()));
        assert!(!told(a_crd("example.com", "Bar", "v1"), a_foo()));
    }

    #[test]
    fn a_namespace_that_names_a_namespace_is_still_one() {
        let odd = object("v1", "Namespace", "nowhere", "ns");
        let map = object("v1", "ConfigMap", "ns", "a");
        assert_eq!(ids(&found(&release(&[("0000_60_a_1.yaml", odd), ("0000_60_a_2.yaml", map)]))), NONE);
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
