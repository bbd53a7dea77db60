use lockstep_payload::{LoadOptions, MemoryFiles};
use serde_json::json;

use super::*;

const REPO: &str = "registry.example.com/r";

/// A release with one image and these files of `release-manifests/`.
fn release(version: &str, digit: char, commit: &str, files: &[(&str, Value)]) -> Release {
    let metadata = json!({"kind": "cincinnati-metadata-v0", "version": version, "previous": ["1.0.0"]});
    let images = json!({"kind": "ImageStream", "apiVersion": "image.openshift.io/v1", "metadata": {"name": version},
        "spec": {"tags": [{"name": "web", "from": {"kind": "DockerImage", "name": image(digit)},
            "annotations": {(annotation::BUILD_COMMIT_ID): commit}}]}});
    let mut memory = MemoryFiles::new(version)
        .with(Folder::ReleaseManifests, "release-metadata", metadata.to_string())
        .with(Folder::ReleaseManifests, "image-references", images.to_string());
    for (name, object) in files {
        memory = memory.with(Folder::ReleaseManifests, *name, object.to_string());
    }
    Release::load(&memory, &LoadOptions::default()).unwrap()
}

fn image(digit: char) -> String {
    format!("{REPO}@sha256:{}", digit.to_string().repeat(64))
}

fn config(name: &str, data: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "n"}, "data": data})
}

fn for_sets(mut object: Value, sets: &str) -> Value {
    object["metadata"]["annotations"] =
        json!({(annotation::FEATURE_SET): sets, "include.release.openshift.io/p": "true"});
    object
}

fn definition(version: &Value) -> Value {
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "things.example.com"},
        "spec": {"group": "example.com", "scope": "Cluster", "names": {"kind": "Thing", "plural": "things"}, "versions": version}})
}

fn version(name: &str, served: bool, storage: bool, spec: &Value) -> Value {
    json!({"name": name, "served": served, "storage": storage, "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}})
}

#[test]
fn objects_are_the_same_by_group_kind_namespace_and_name() {
    let old = release(
        "1.0.0",
        'a',
        "c1",
        &[
            ("0000_10_a_1.yaml", config("kept", &json!({}))),
            ("0000_10_a_2.yaml", config("gone", &json!({}))),
            ("0000_10_a_3.yaml", config("other", &json!({"k": "1"}))),
        ],
    );
    let new = release(
        "1.1.0",
        'a',
        "c1",
        &[
            ("0000_20_a_1.yaml", config("kept", &json!({}))),
            ("0000_10_a_3-new.yaml", config("other", &json!({"k": "2"}))),
            ("0000_10_a_4.yaml", config("new", &json!({}))),
        ],
    );
    let diff = compare(&old, &new);
    assert_eq!(diff.release_manifests, Counts { added: 1, removed: 1, changed: 1 });
    assert_eq!(diff.manifests, Counts::default());
    assert!(diff.update_declared);
    assert_eq!(
        (diff.moved[0].from.as_str(), diff.moved[0].to.as_str()),
        ("10 a", "20 a"),
        "only moved, not changed"
    );
    assert_eq!((diff.renamed[0].from.as_str(), diff.renamed[0].objects), ("0000_10_a_3.yaml", 1));
    let changed = diff.objects.iter().find(|object| object.change == Change::Changed).unwrap();
    assert_eq!(changed.variants[0].fields[0].change.path, "data.k");
    assert_eq!(changed.cause, Some(Cause::Content));
    insta::assert_snapshot!(diff.text());
}

#[test]
fn a_release_equals_itself() {
    let same = release("1.0.0", 'a', "c1", &[("0000_10_a_1.yaml", config("x", &json!({"k": "1"})))]);
    let diff = compare(&same, &same);
    assert!(diff.is_empty());
    assert!(diff.text().ends_with("\nnothing differs\n"));
}

#[test]
fn a_change_of_images_and_version_is_told_from_others_and_images_go_by_component_and_commit() {
    let data = |digit: char, version: &str, more: &str| json!({"images": format!("{{\"web\": \"{}\"}}", image(digit)), "version": version, "more": more});
    let of = |version: &str, digit: char, commit: &str, object: &Value| {
        release(version, digit, commit, &[("0000_10_a_1.yaml", config("x", object))])
    };
    let old = of("1.0.0", 'a', "1111111111", &data('a', "1.0.0", "m"));
    for (digit, version, object, cause) in [
        ('b', "1.0.0", data('b', "1.0.0", "m"), Cause::Images),
        ('a', "1.1.0", data('a', "1.1.0", "m"), Cause::Version),
        ('b', "1.1.0", data('b', "1.1.0", "m"), Cause::ImagesAndVersion),
        ('b', "1.1.0", data('b', "1.1.0", "n"), Cause::Content),
        ('b', "1.1.0", data('c', "1.1.0", "m"), Cause::Content),
    ] {
        let diff = compare(&old, &of(version, digit, "2222222222", &object));
        assert_eq!(diff.objects[0].cause, Some(cause));
    }
    let diff = compare(&old, &of("1.1.0", 'b', "2222222222", &data('b', "1.1.0", "m")));
    let field = &diff.objects[0].variants[0].fields[0];
    assert_eq!(field.images[0].from_commit.as_deref(), Some("1111111111"));
    assert_eq!(field.shown.after, Some(json!("{\"web\": \"web 222222222\"}")));
    assert_eq!(
        field.change.after,
        Some(json!(format!("{{\"web\": \"{}\"}}", image('b')))),
        "the format keeps the pull spec"
    );
    assert_eq!((diff.images.changed.len(), diff.images.rebuilt.len()), (1, 0));
    let rebuilt = compare(&old, &of("1.1.0", 'b', "1111111111", &json!({})));
    assert_eq!((rebuilt.images.changed.len(), rebuilt.images.rebuilt.len()), (0, 1), "the same commit");
    let unknown = compare(&old, &of("1.1.0", 'b', "", &json!({})));
    assert_eq!((unknown.images.changed.len(), unknown.images.rebuilt.len()), (0, 1), "no commit");
}

#[test]
fn variants_are_compared_with_their_own_kind() {
    let variant = |set: &str, value: &str| for_sets(config("x", &json!({"k": value})), set);
    let old = release(
        "1.0.0",
        'a',
        "c",
        &[
            ("0000_10_a_1-Default.yaml", variant("Default", "1")),
            ("0000_10_a_1-Tech.yaml", variant("TechPreviewNoUpgrade", "9")),
        ],
    );
    let new = release(
        "1.1.0",
        'a',
        "c",
        &[
            ("0000_10_a_1-Default.yaml", variant("Default", "2")),
            ("0000_10_a_1-Dev.yaml", variant("DevPreviewNoUpgrade", "5")),
            ("0000_10_a_1-Tech.yaml", variant("TechPreviewNoUpgrade", "9")),
        ],
    );
    let diff = compare(&old, &new);
    assert_eq!(diff.release_manifests, Counts { added: 0, removed: 0, changed: 1 }, "one object");
    let variants: Vec<_> = diff.objects[0]
        .variants
        .iter()
        .map(|one| (one.change, one.fields.len(), one.audience.as_str()))
        .collect();
    assert_eq!(
        variants,
        [
            (Change::Changed, 1, "feature-set=Default, p"),
            (Change::Added, 0, "feature-set=DevPreviewNoUpgrade, p"),
        ]
    );
}

#[test]
fn a_deletion_is_told_once_when_it_begins() {
    let deleted = |name: &str| {
        let mut object = config(name, &json!({}));
        object["metadata"]["annotations"] = json!({(annotation::DELETE): "true"});
        object
    };
    let old = release(
        "1.0.0",
        'a',
        "c",
        &[("0000_10_a_1.yaml", config("x", &json!({}))), ("0000_10_a_2.yaml", deleted("old"))],
    );
    let new = release(
        "1.1.0",
        'a',
        "c",
        &[
            ("0000_10_a_1.yaml", deleted("x")),
            ("0000_10_a_2.yaml", deleted("old")),
            ("0000_10_a_3.yaml", deleted("never")),
        ],
    );
    let deletions: Vec<_> =
        compare(&old, &new).deletions.into_iter().map(|found| (found.id.name, found.was_there)).collect();
    assert_eq!(deletions, [("never".to_owned(), false), ("x".to_owned(), true)]);
}

#[test]
fn capabilities_come_from_objects_and_from_the_cluster_version() {
    let with = |names: &str| {
        let mut object = config("x", &json!({}));
        object["metadata"]["annotations"] = json!({(annotation::CAPABILITY): names});
        object
    };
    let mut known = definition(
        &json!([{"name": "v1", "schema": {"openAPIV3Schema": {"properties": {"spec": {"properties": {
        "capabilities": {"properties": {"additionalEnabledCapabilities": {"items": {"enum": ["Build", "Ingress"]}}}}}}}}}}]),
    );
    known["spec"]["group"] = json!("config.openshift.io");
    known["spec"]["names"]["kind"] = json!("ClusterVersion");
    let old = release("1.0.0", 'a', "c", &[("0000_10_a_1.yaml", with("Console+Build"))]);
    let new = release("1.1.0", 'a', "c", &[("0000_10_a_1.yaml", with("Build")), ("0000_10_a_2.yaml", known)]);
    let found = compare(&old, &new).capabilities;
    assert_eq!((found.added, found.removed), (vec!["Ingress".to_owned()], vec!["Console".to_owned()]));
    assert_eq!((found.moved[0].from.as_str(), found.moved[0].to.as_str()), ("Console+Build", "Build"));
}

fn rules(old: Value, new: Value) -> Vec<(&'static str, String)> {
    let of = |version, object| release(version, 'a', "c", &[("0000_10_a_1.yaml", object)]);
    let diff = compare(&of("1.0.0", old), &of("1.1.0", new));
    diff.objects.into_iter().flat_map(|object| object.incompatible).map(|one| (one.rule, one.path)).collect()
}

#[test]
fn versions_that_go_are_incompatible_and_new_ones_are_not() {
    let any = &json!({});
    let old = definition(&json!([version("v1beta1", true, true, any), version("v1", true, false, any)]));
    let more = definition(&json!([
        version("v1beta1", true, true, any),
        version("v1", true, false, any),
        version("v2", true, false, any)
    ]));
    assert_eq!(rules(old.clone(), more), []);
    let gone = definition(&json!([version("v1", true, true, any)]));
    assert_eq!(
        rules(old.clone(), gone).iter().map(|(rule, _)| *rule).collect::<Vec<_>>(),
        ["stored-version-changed", "version-removed"]
    );
    let not_served =
        definition(&json!([version("v1beta1", false, true, any), version("v1", true, false, any)]));
    assert_eq!(
        rules(old.clone(), not_served),
        [("version-not-served", "spec.versions[name=\"v1beta1\"]".to_owned())]
    );
    let mut wider = old.clone();
    wider["spec"]["scope"] = json!("Namespaced");
    assert_eq!(rules(old.clone(), wider), [("scope-changed", "spec.scope".to_owned())]);
    let mut deleted = old.clone();
    deleted["metadata"]["annotations"] =
        json!({(annotation::DELETE): "true", "include.release.openshift.io/p": "true"});
    assert_eq!(rules(old, deleted), [("definition-deleted", String::new())]);
}

#[test]
fn a_narrowed_schema_is_incompatible_in_the_variant_that_takes_over() {
    let of = |kind: &str| {
        definition(&json!([version("v1", true, true, &json!({"properties": {"a": {"type": kind}}}))]))
    };
    assert_eq!(rules(of("string"), of("integer")), [("type-changed", "v1 spec.a".to_owned())]);
    let old = release(
        "1.0.0",
        'a',
        "c",
        &[
            ("0000_10_a_1-Default.yaml", for_sets(of("string"), "Default")),
            ("0000_10_a_1-Tech.yaml", for_sets(of("integer"), "TechPreviewNoUpgrade")),
        ],
    );
    let both = for_sets(of("integer"), "Default,TechPreviewNoUpgrade");
    let new = release("1.1.0", 'a', "c", &[("0000_10_a_1.yaml", both)]);
    let diff = compare(&old, &new);
    assert_eq!(diff.incompatible, 1, "{}", diff.text());
    let same = release(
        "1.1.0",
        'a',
        "c",
        &[
            ("0000_10_a_1-Default.yaml", for_sets(of("string"), "Default")),
            ("0000_10_a_1-Tech.yaml", for_sets(of("integer"), "TechPreviewNoUpgrade")),
            ("0000_10_a_1-Dev.yaml", for_sets(of("boolean"), "DevPreviewNoUpgrade")),
        ],
    );
    assert_eq!(compare(&old, &same).incompatible, 0, "another set's variant takes nobody's place");
}

#[test]
fn a_definition_that_some_clusters_lose_is_told_with_them_although_others_keep_it() {
    let of = |sets: &str, profiles: &[&str]| {
        let mut object = definition(&json!([version("v1", true, true, &json!({}))]));
        let includes = profiles
            .iter()
            .map(|profile| (format!("{}{profile}", annotation::INCLUDE_PREFIX), json!("true")));
        let mut annotations: serde_json::Map<String, Value> = includes.collect();
        if !sets.is_empty() {
            annotations.insert(annotation::FEATURE_SET.to_owned(), json!(sets));
        }
        object["metadata"]["annotations"] = Value::Object(annotations);
        object
    };
    let told = |old: &[Value], new: &[Value]| {
        let of = |version: &str, objects: &[Value]| {
            let names: Vec<String> = (0..objects.len()).map(|at| format!("0000_10_a_{at}.yaml")).collect();
            let files: Vec<(&str, Value)> =
                names.iter().map(String::as_str).zip(objects.iter().cloned()).collect();
            release(version, 'a', "c", &files)
        };
        let objects = compare(&of("1.0.0", old), &of("1.1.0", new)).objects;
        let all = objects.into_iter().flat_map(|object| object.incompatible);
        all.map(|one| {
            assert_eq!(one.rule, "definition-removed", "{one:?}");
            let message = one.message.strip_prefix("the release no longer has the definition").unwrap();
            message.split(':').next().unwrap().to_owned()
        })
        .collect::<Vec<_>>()
    };
    let (default, tech) = (of("Default", &["p"]), of("TechPreviewNoUpgrade", &["p"]));
    let both = [default.clone(), tech.clone()];
    assert_eq!(told(&both, &[tech]), [" for profile p, feature set Default"]);
    assert_eq!(told(&both, &[of("TechPreviewNoUpgrade,Default", &["p"])]), [""; 0], "one takes both places");
    assert_eq!(told(&both, &[of("", &["p"])]), [""; 0]);
    assert_eq!(
        told(&[of("Default,TechPreviewNoUpgrade", &["p", "q"])], &[of("Default", &["p"])]),
        [
            " for profile p, feature set TechPreviewNoUpgrade",
            " for profile q, feature sets Default, TechPreviewNoUpgrade",
        ]
    );
    assert_eq!(told(&[of("Default", &["p", "q"])], &[]), [""], "nobody has it");
    // Only the first release speaks of the community's own set; who is for all sets is for that one too.
    let community = of("OKD,Default", &["p"]);
    assert_eq!(told(&[community.clone(), of("TechPreviewNoUpgrade", &["p"])], &[of("", &["p"])]), [""; 0]);
    assert_eq!(told(&[community], &[default]), [" for profile p, feature set OKD"]);
}

#[test]
fn what_was_deleted_before_cannot_be_lost() {
    let old = definition(&json!([version("v1", true, true, &json!({}))]));
    let mut deleted = for_sets(old.clone(), "Default");
    deleted["metadata"]["annotations"][annotation::DELETE] = json!("true");
    let mut other = for_sets(definition(&json!([version("v2", true, true, &json!({}))])), "Default");
    other["spec"]["scope"] = json!("Namespaced");
    assert_eq!(rules(deleted.clone(), other), [], "a definition that comes anew breaks nobody");
    assert_eq!(rules(deleted, config("x", &json!({}))), [], "nor does the end of a deletion");
}

#[test]
fn a_filter_keeps_the_counts_and_nothing_beside_the_objects() {
    let old = release("1.0.0", 'a', "c1", &[("0000_10_a_1.yaml", config("x", &json!({"k": "1"})))]);
    let new = release(
        "1.1.0",
        'b',
        "c2",
        &[
            ("0000_10_a_1.yaml", config("x", &json!({"k": "2"}))),
            ("0000_10_a_2.yaml", config("y", &json!({}))),
        ],
    );
    let names = |only, object| {
        let diff = compare(&old, &new).only(only, object);
        assert_eq!(diff.release_manifests, Counts { added: 1, removed: 0, changed: 1 });
        assert!(diff.images.is_empty());
        diff.objects.into_iter().map(|object| object.id.name).collect::<Vec<_>>()
    };
    assert_eq!(names(Some(Only::Added), None), ["y"]);
    assert_eq!(names(Some(Only::Changed), None), ["x"]);
    assert_eq!(names(Some(Only::Incompatible), None), [""; 0]);
    assert_eq!(names(None, Some(("configmap", "x"))), ["x"]);
    assert_eq!(names(Some(Only::Added), Some(("ConfigMap", "x"))), [""; 0]);
}
