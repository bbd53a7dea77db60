//! Rules about images: every image that a manifest names is listed in image-references, and every image is
//! pinned.

use std::collections::BTreeSet;

use lockstep_api::ResourceId;
use lockstep_api::names::{file, group, kind, object};
use lockstep_payload::{Folder, Manifest};
use serde_json::Value;

use super::survey::{Survey, entries, text, title};
use super::{Finding, rules};

/// What stands between the name of an image and its digest.
const DIGEST: &str = "@sha256:";

pub(super) fn check(survey: &Survey<'_>, findings: &mut Vec<Finding>) {
    let references = &survey.release.images;
    let listed: BTreeSet<&str> = references.tags.iter().filter_map(|tag| tag.pull_spec.as_deref()).collect();
    for tag in &references.tags {
        let Some(image) = tag.pull_spec.as_deref().filter(|image| !is_by_digest(image)) else { continue };
        let message = format!(
            "image-references lists {} as {image:?}, without a digest. The release does not say which image that is, and \
             it cannot be verified or mirrored. Use name@sha256:…",
            tag.name
        );
        let mut finding = Survey::file_finding(
            &rules::IMAGE_NOT_BY_DIGEST,
            Folder::ReleaseManifests,
            file::IMAGE_REFERENCES,
            message,
        );
        finding.object = ResourceId::new(group::IMAGE, kind::IMAGE_STREAM, "", references.name.as_str());
        findings.push(finding);
    }
    let release_image = survey.all().find_map(|(_, manifest)| release_image(manifest));
    for (index, manifest) in survey.applied() {
        let is_unlisted = |image: &&str| Some(*image) != release_image && !listed.contains(image);
        let run = images(manifest);
        let mut mentioned = BTreeSet::new();
        collect_mentions(&manifest.object, &mut mentioned);
        mentioned.retain(|image| is_unlisted(image) && !run.contains(image));
        let images: Vec<&str> = run.into_iter().filter(is_unlisted).collect();
        if images.is_empty() && mentioned.is_empty() {
            continue;
        }
        let Some(place) = survey.find_one(index) else { continue };
        for image in mentioned {
            let message = format!(
                "{} names the image {image:?}, which image-references does not list. If something runs it, it is missing \
                 from every mirror of the release. List it there and use the listed pull spec here",
                title(manifest)
            );
            findings.push(survey.finding(&rules::IMAGE_MENTION_NOT_LISTED, index, place.clone(), message));
        }
        for image in images {
            let message = format!(
                "{} runs the image {image:?}, which image-references does not list. It is missing from every mirror of the \
                 release. List it there and use the listed pull spec here",
                title(manifest)
            );
            findings.push(survey.finding(&rules::IMAGE_NOT_LISTED, index, place.clone(), message));
            if !is_by_digest(image) {
                let message = format!(
                    "{} runs the image {image:?}, without a digest. Which image that is changes with time and place. Use \
                     name@sha256:…",
                    title(manifest)
                );
                findings.push(survey.finding(&rules::IMAGE_NOT_BY_DIGEST, index, place.clone(), message));
            }
        }
    }
}

/// The image of the release itself, which its own list cannot name: the operator that applies the release runs it.
fn release_image(manifest: &Manifest) -> Option<&str> {
    let is_own = manifest.folder == Folder::Manifests
        && manifest.id.kind == kind::DEPLOYMENT
        && manifest.id.name == object::CLUSTER_VERSION_OPERATOR;
    let containers = entries(pod(manifest)?, &["containers"]);
    let own = containers.filter(|_| is_own).find(|it| it["name"] == object::CLUSTER_VERSION_OPERATOR)?;
    own["image"].as_str()
}

/// The different images that the pods of an object run.
fn images(manifest: &Manifest) -> Vec<&str> {
    let Some(pod) = pod(manifest) else { return Vec::new() };
    let containers = ["initContainers", "containers"].into_iter().flat_map(|field| entries(pod, &[field]));
    let volumes = entries(pod, &["volumes"]).map(|volume| text(volume, &["image", "reference"]));
    let images = containers.map(|container| text(container, &["image"])).chain(volumes);
    let found: BTreeSet<&str> = images.filter(|image| !image.is_empty()).collect();
    found.into_iter().collect()
}

/// The different pull specs by digest in all texts of a value: environment variables, arguments, documents in maps.
fn collect_mentions<'v>(value: &'v Value, found: &mut BTreeSet<&'v str>) {
    match value {
        Value::String(text) => found.extend(pull_specs(text)),
        Value::Array(values) => values.iter().for_each(|value| collect_mentions(value, found)),
        Value::Object(fields) => fields.values().for_each(|value| collect_mentions(value, found)),
        _ => {}
    }
}

/// The pull specs by digest in a text.
fn pull_specs(text: &str) -> impl Iterator<Item = &str> {
    const LENGTH: usize = 64;
    let is_name = |char: char| char.is_ascii_alphanumeric() || "._:/-".contains(char);
    text.match_indices(DIGEST).filter_map(move |(at, _)| {
        let (before, digest) = (&text[..at], &text[at + DIGEST.len()..]);
        let start = before.len() - before.chars().rev().take_while(|char| is_name(*char)).count();
        let digits = digest.bytes().take_while(u8::is_ascii_hexdigit).count();
        let is_name = before[start..].contains(|char: char| char.is_ascii_alphanumeric());
        (is_name && digits == LENGTH).then(|| &text[start..at + DIGEST.len() + LENGTH])
    })
}

/// The pod that an object describes.
fn pod(manifest: &Manifest) -> Option<&Value> {
    let spec = &manifest.object["spec"];
    let pod = match (manifest.id.group.as_str(), manifest.id.kind.as_str()) {
        ("", kind::POD) => spec,
        ("", "ReplicationController")
        | (group::APPS, kind::DEPLOYMENT | kind::DAEMON_SET | kind::STATEFUL_SET | "ReplicaSet")
        | (group::BATCH, kind::JOB) => &spec["template"]["spec"],
        (group::BATCH, kind::CRON_JOB) => &spec["jobTemplate"]["spec"]["template"]["spec"],
        _ => return None,
    };
    Some(pod)
}

/// Whether a pull spec ends in a SHA-256 digest.
fn is_by_digest(image: &str) -> bool {
    image.split_once(DIGEST).is_some_and(|(name, digest)| {
        !name.is_empty() && digest.len() == 64 && digest.bytes().all(|byte| byte.is_ascii_hexdigit())
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::testing::{IMAGE, Objects, found, object, with};
    use super::*;

    fn rules_of(objects: Objects) -> Vec<(&'static str, String)> {
        found(&objects.release()).into_iter().map(|it| (it.rule.id, it.object.name)).collect()
    }

    fn a_cron_job(image: &str) -> Value {
        let pod = json!({"containers": [{"name": "a", "image": IMAGE}], "initContainers": [{"name": "b", "image": image}]});
        let spec = json!({"schedule": "@daily", "jobTemplate": {"spec": {"template": {"spec": pod}}}});
        with(object("batch/v1", "CronJob", "default", "job"), "spec", spec)
    }

    #[test]
    fn an_image_that_is_not_listed_or_not_pinned_is_found() {
        let other = IMAGE.replace("app", "other");
        let job = |image: &str| rules_of(Objects::new().file("0000_60_a_1.yaml", &[a_cron_job(image)]));
        assert_eq!(job(IMAGE), []);
        assert_eq!(job(&other), [("image-not-listed", "job".to_owned())]);
        let both = [("image-not-by-digest", "job".to_owned()), ("image-not-listed", "job".to_owned())];
        assert_eq!(job("registry.example.com/app:latest"), both);
    }

    #[test]
    fn an_image_in_any_text_must_be_listed_too() {
        let map = |text: String| {
            let map = with(object("v1", "ConfigMap", "default", "map"), "data", json!({"a": text}));
            rules_of(Objects::new().file("0000_60_a_1.yaml", &[map]))
        };
        let other = IMAGE.replace("app", "other");
        let mention = ("image-mention-not-listed", "map".to_owned());
        assert_eq!(map(format!(r#"{{"image": "{other}", "again": "{other}"}}"#)), [mention]);
        let (listed, cut) = (format!("--image={IMAGE},x"), &other[..other.len() - 1]);
        for fine in
            [listed, cut.to_owned(), format!("{other}0"), other.replace("registry.example.com/other", "")]
        {
            assert_eq!(map(fine.clone()), [], "{fine}");
        }
        let mut deployment = super::super::testing::a_deployment("cluster-version-operator");
        deployment["spec"]["template"]["spec"]["containers"][0]["env"] =
            json!([{"name": "A", "value": other}]);
        let file = "0000_00_cluster-version-operator_1.yaml";
        let found = rules_of(Objects::new().file(file, &[deployment]));
        assert_eq!(found, [("image-mention-not-listed", "cluster-version-operator".to_owned())]);
    }

    #[test]
    fn a_listed_image_without_a_digest_is_found_in_the_list() {
        let tag = "registry.example.com/app:latest";
        let found =
            rules_of(Objects::with_images(&[IMAGE, tag]).file("0000_60_a_1.yaml", &[a_cron_job(tag)]));
        assert_eq!(found, [("image-not-by-digest", "4.1.0".to_owned())]);
    }

    #[test]
    fn the_image_of_the_release_itself_needs_no_entry() {
        let deployment = |container: &str| {
            format!(
                "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: cluster-version-operator\n  namespace: default\n  annotations: {{include.release.openshift.io/self-managed-high-availability: \"true\"}}\nspec:\n  template:\n    spec:\n      containers:\n      - name: {container}\n        image: '{{{{.ReleaseImage}}}}'\n"
            )
        };
        let with_container = |container: &str| {
            let file = "0000_00_cluster-version-operator_1.yaml";
            rules_of(Objects::new().text(Folder::Manifests, file, &deployment(container)))
        };
        assert_eq!(with_container("cluster-version-operator"), []);
        assert_eq!(with_container("other").len(), 2);
    }

    #[test]
    fn only_a_whole_digest_pins() {
        assert!(is_by_digest(IMAGE));
        for image in ["a", "a:latest", "a@sha256:12", "@sha256:0", &IMAGE.replace("0123", "xyz!")] {
            assert!(!is_by_digest(image), "{image}");
        }
    }
}
