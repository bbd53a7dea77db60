//! Undeclared images: what runs or is handed on as an image, and is none of the release.
//!
//! Such an image is missing from every mirror of the release. What is looked at, after replacement:
//!
//! - `image` of containers and init containers, and of image volumes, anywhere in an object;
//! - environment variables of containers whose name is `IMAGE`, ends in `_IMAGE` or begins with `RELATED_IMAGE_`;
//! - `from` of an ImageStream's tags;
//! - values of a `ConfigMap`, and texts of JSON objects in them, when they are a pull spec with tag or digest as a whole.
//!
//! A text with a variable in it is no pull spec, and YAML documents inside a `ConfigMap` are not looked at: whoever applies
//! them fills in their images, and says so with names that do not exist. An object that is only deleted runs nothing.

use std::collections::BTreeSet;

use lockstep_api::names::{annotation, kind};
use lockstep_api::object;
use lockstep_payload::yaml;
use serde_json::Value;

use super::Problem;
use super::loose::line_of;
use super::stream::DOCKER_IMAGE;
use crate::reference::PullSpec;

/// Looks through the documents of a file; one that cannot be read says nothing.
pub fn find(file: &str, bytes: &[u8], images: &BTreeSet<&str>) -> Vec<Problem> {
    let mut problems = Vec::new();
    for document in yaml::documents(bytes).unwrap_or_default() {
        if object::annotation(&document.value, annotation::DELETE) == Some("true") {
            continue;
        }
        let mut found = Vec::new();
        walk(&document.value, &mut found);
        match object::kind(&document.value) {
            kind::CONFIG_MAP => config_map(&document.value, &mut found),
            kind::IMAGE_STREAM => stream(&document.value, &mut found),
            _ => {}
        }
        let mut told = BTreeSet::new();
        for (place, image) in found {
            if images.contains(image.as_str()) || !told.insert(image.clone()) {
                continue;
            }
            let why = format!(
                "undeclared image {image:?} in {place}: it is none of the release's images; name it in image-references \
                 of this operator, or let it pass with --allow-undeclared-images"
            );
            let line = line_of(bytes, &image, document.line);
            problems.push(Problem { file: file.to_owned(), line, why });
        }
    }
    problems
}

type Found = Vec<(String, String)>;

fn walk(value: &Value, found: &mut Found) {
    match value {
        Value::Array(values) => values.iter().for_each(|value| walk(value, found)),
        Value::Object(fields) => {
            for (key, value) in fields {
                match (key.as_str(), value) {
                    ("containers" | "initContainers" | "ephemeralContainers", Value::Array(containers)) => {
                        for container in containers {
                            of_container(container, found);
                        }
                    }
                    ("volumes", Value::Array(volumes)) => {
                        let images = volumes.iter().filter_map(|it| it["image"]["reference"].as_str());
                        images.for_each(|image| note(found, "an image volume", image, false));
                    }
                    _ => {}
                }
                walk(value, found);
            }
        }
        _ => {}
    }
}

fn of_container(container: &Value, found: &mut Found) {
    if let Some(image) = container["image"].as_str() {
        note(found, "the field image", image, false);
    }
    for variable in container["env"].as_array().into_iter().flatten() {
        let (Some(name), Some(value)) = (variable["name"].as_str(), variable["value"].as_str()) else {
            continue;
        };
        let place = format!("the variable {name}");
        if name.split('_').any(|word| word == "IMAGE") {
            note(found, &place, value, true);
        } else {
            note_in_words(found, &place, value);
        }
    }
    for key in ["command", "args"] {
        for text in container[key].as_array().into_iter().flatten().filter_map(Value::as_str) {
            note_in_words(found, &format!("the field {key}"), text);
        }
    }
}

/// Takes pull specs out of a text such as `-images=oauth=registry.example.com/oauth:v1`; without a registry a word may be anything.
fn note_in_words(found: &mut Found, place: &str, text: &str) {
    let is_between = |letter: char| letter.is_whitespace() || "=,;\"'".contains(letter);
    let has_registry = |word: &&str| PullSpec::parse(word).is_ok_and(|spec| !spec.registry.is_empty());
    for word in text.split(is_between).filter(has_registry) {
        note(found, place, word, true);
    }
}

fn config_map(map: &Value, found: &mut Found) {
    for (key, value) in map["data"].as_object().into_iter().flatten() {
        let Some(text) = value.as_str() else { continue };
        let place = format!("the value {key}");
        note(found, &place, text.trim(), true);
        if text.trim_start().starts_with('{') {
            let inner: Value = serde_json::from_str(text).unwrap_or_default();
            texts(&inner, &mut |text| note(found, &place, text, true));
        }
    }
}

fn stream(stream: &Value, found: &mut Found) {
    for tag in stream["spec"]["tags"].as_array().into_iter().flatten() {
        if tag["from"]["kind"] == DOCKER_IMAGE {
            note(found, "the field from", tag["from"]["name"].as_str().unwrap_or_default(), false);
        }
    }
}

fn texts(value: &Value, each: &mut impl FnMut(&str)) {
    match value {
        Value::String(text) => each(text),
        Value::Array(values) => values.iter().for_each(|value| texts(value, each)),
        Value::Object(fields) => fields.values().for_each(|value| texts(value, each)),
        _ => {}
    }
}

/// Takes what is a pull spec; where any text may stand it must have a path and a tag or digest.
fn note(found: &mut Found, place: &str, text: &str, any_text: bool) {
    let Ok(spec) = PullSpec::parse(text) else { return };
    let is_pinned = spec.tag.is_some() || spec.digest.is_some();
    if !any_text || (is_pinned && text.contains('/')) {
        found.push((place.to_owned(), text.to_owned()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIGEST: &str = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    fn found(text: &str) -> Vec<String> {
        let images = BTreeSet::from(["r.example.com/a@sha256:12"]);
        find("f", text.as_bytes(), &images).iter().map(|it| format!("{} {}", it.line, it.why)).collect()
    }

    fn deployment(container: &str) -> String {
        format!(
            "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: a\nspec:\n  template:\n    spec:\n      containers:\n      - {container}\n"
        )
    }

    #[test]
    fn containers_and_their_variables_are_looked_at() {
        let own = deployment(&format!("image: r.example.com/a@{DIGEST}"));
        assert_eq!(found(&own).len(), 1);
        assert!(
            found(&own)[0].starts_with("9 undeclared image \"r.example.com/a@sha256:e3b0"),
            "{:?}",
            found(&own)
        );
        for (container, count) in [
            ("image: busybox", 1),
            ("image: ${IMAGE}", 0),
            ("image: ''", 0),
            ("env: [{name: CLI_IMAGE, value: 'r/cli:v1'}, {name: RELATED_IMAGE_X, value: 'r/x:v1'}]", 2),
            (
                "env: [{name: IMAGE_PRUNER, value: 'r/x:v1'}, {name: IMAGES, value: 'r/x:v1'}, {name: CLI_IMAGE, value: cli}, {name: IMAGE}]",
                1,
            ),
            (
                "env: [{name: ANY, value: 'r.example.com/x:v1'}, {name: URL, value: 'https://r.example.com/x:443'}]",
                1,
            ),
            (
                "args: ['-images=a=r.example.com/x:v1,b=r.example.com/a@sha256:12', '--port=0.0.0.0:80/x', plain/path:1]",
                1,
            ),
            ("command: [sh, -c, 'run r.example.com:5000/x:v1; echo']", 1),
            ("{image: r/a, env: [{name: IMAGE, value: 'r/a:1'}]}", 2),
        ] {
            assert_eq!(found(&deployment(container)).len(), count, "{container}");
        }
        let deleted = deployment("image: busybox")
            .replace("name: a", "name: a\n  annotations: {release.openshift.io/delete: 'true'}");
        assert_eq!(found(&deleted), Vec::<String>::new());
        let declared = find("f", deployment("image: r/a").as_bytes(), &BTreeSet::from(["r/a"]));
        assert_eq!(declared, []);
    }

    #[test]
    fn whole_values_of_config_maps_and_json_in_them_are_looked_at() {
        let map = |data: &str| {
            found(&format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a}}\ndata:\n{data}"))
        };
        assert_eq!(map("  a: r/a:1\n  b: r/a:2\n").len(), 2);
        assert_eq!(
            map("  images.json: |\n    {\"x\": \"r/a:1\",\n     \"y\": {\"z\": \"r/a:2\"}}\n")[1]
                .split(' ')
                .next(),
            Some("7")
        );
        for other in [
            "  a: some/path\n",
            "  a: https://r.example.com/a:1\n",
            "  a: |\n    image: to.be/replaced:v99\n",
            "  a: 10:20\n",
        ] {
            assert_eq!(map(other), Vec::<String>::new(), "{other}");
        }
    }

    #[test]
    fn image_streams_and_volumes_are_looked_at() {
        let text = "apiVersion: image.openshift.io/v1\nkind: ImageStream\nmetadata: {name: a}\nspec:\n  tags:\n  - from: {kind: DockerImage, name: 'r/a:1'}\n  - from: {kind: ImageStreamTag, name: 'b:1'}\n";
        assert_eq!(found(text).len(), 1);
        let volume =
            "kind: Pod\napiVersion: v1\nspec:\n  volumes:\n  - name: a\n    image: {reference: r/a}\n";
        assert_eq!(found(volume).len(), 1);
    }
}
