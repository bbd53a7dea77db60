//! The smallest `OpenAPI` documents that are true: which addresses take which methods and query parameters.
//!
//! Clients such as `kubectl` look only for one thing here before they write: whether the PATCH of a kind knows
//! `fieldValidation`. Schemas of objects are left out, so `kubectl explain` finds nothing.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{Answer, JSON, Question, etag};
use crate::server::resource::Names;
use lockstep_schema::Schema;

/// The query parameters of requests that write, with their types.
const WRITE_PARAMETERS: [(&str, &str); 3] =
    [("dryRun", "string"), ("fieldManager", "string"), ("fieldValidation", "string")];
/// What a PATCH may consist of.
const PATCHES: [&str; 3] =
    ["application/apply-patch+yaml", "application/json-patch+json", "application/merge-patch+json"];

/// How the two generations of the format write the same thing.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Generation {
    V2,
    V3,
}

/// `/openapi/v3`: where the document of each version of each group is.
pub(super) fn index(served: &[Names]) -> Answer {
    let mut documents: BTreeMap<String, Vec<&Names>> = BTreeMap::new();
    for names in served {
        documents.entry(document_name(names)).or_default().push(names);
    }
    let paths: Map<String, Value> = documents
        .into_iter()
        .map(|(name, served)| {
            let hash = etag(&document_text(&served));
            let url = format!("/openapi/v3/{name}?hash={hash}");
            (name, json!({"serverRelativeURL": url}))
        })
        .collect();
    let body = json!({"paths": paths}).to_string();
    Answer { headers: vec![("etag", format!("\"{}\"", etag(&body)))], ..Answer::text(200, JSON, body) }
}

/// `/openapi/v3/api/V` and `/openapi/v3/apis/G/V`.
pub(super) fn v3(served: &[Names], question: &Question<'_>, name: &str) -> Answer {
    if !accepts_json(question.accept) {
        return Answer { headers: vec![("vary", "Accept".into())], ..Answer::empty(406) };
    }
    let served: Vec<&Names> = served.iter().filter(|names| document_name(names) == name).collect();
    if served.is_empty() {
        return Answer::empty(404);
    }
    let body = document_text(&served);
    let hash = etag(&body);
    let mut headers = vec![("etag", format!("\"{hash}\"")), ("vary", "Accept".into())];
    let asked = question.query.split('&').find_map(|pair| pair.strip_prefix("hash="));
    match asked {
        Some(asked) if !asked.is_empty() && asked != hash => {
            headers.push(("location", format!("/openapi/v3/{name}?hash={hash}")));
            Answer { headers, ..Answer::empty(301) }
        }
        Some(_) => {
            headers.push(("cache-control", "public, immutable".into()));
            Answer { headers, ..Answer::text(200, JSON, body) }
        }
        None => Answer { headers, ..Answer::text(200, JSON, body) },
    }
}

/// What `kubectl` asks for when it does not know a kind.
const PROTOBUF_V2: &str = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
/// How the real server names what it answers then.
const PROTOBUF_V2_ANSWER: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

/// `/openapi/v2`: all in one document, in the older generation of the format.
pub(super) fn v2(served: &[Names], question: &Question<'_>) -> Answer {
    if question.accept.contains(PROTOBUF_V2) {
        // Whoever asks like that looks for one kind and finds none; the smallest document says `swagger: "2.0"`.
        return Answer::text(200, PROTOBUF_V2_ANSWER, "\n\u{3}2.0".to_owned());
    }
    if !accepts_json(question.accept) {
        return Answer { headers: vec![("vary", "Accept".into())], ..Answer::empty(406) };
    }
    let mut paths = Map::new();
    for names in served {
        add_paths(&mut paths, names, Generation::V2);
    }
    let body = json!({"swagger": "2.0", "info": info(), "paths": paths, "definitions": {}}).to_string();
    let headers = vec![("etag", format!("\"{}\"", etag(&body))), ("vary", "Accept".into())];
    Answer { headers, ..Answer::text(200, JSON, body) }
}

fn document_text(served: &[&Names]) -> String {
    let mut paths = Map::new();
    for names in served {
        add_paths(&mut paths, names, Generation::V3);
    }
    json!({"openapi": "3.0.0", "info": info(), "paths": paths, "components": {"schemas": {}}}).to_string()
}

/// `api/v1`, `apis/apps/v1`.
fn document_name(names: &Names) -> String {
    if names.group.is_empty() {
        format!("api/{}", names.version)
    } else {
        format!("apis/{}/{}", names.group, names.version)
    }
}

fn info() -> Value {
    let version = Schema::builtin().kubernetes.trim_start_matches('v');
    let short = version.rsplit_once('.').map_or(version, |(short, _)| short);
    json!({"title": "Kubernetes", "version": short})
}

/// Whether JSON is among the wishes, or nothing is wished for.
fn accepts_json(accept: &str) -> bool {
    let mut ranges = accept.split(',').map(|clause| clause.split(';').next().unwrap_or_default().trim());
    // NB: the real server also writes protobuf; a client that insists on it is told that the lab does not.
    accept.trim().is_empty() || ranges.any(|range| matches!(range, JSON | "application/*" | "*/*"))
}

/// The addresses of the objects of one resource and of its subresources.
fn add_paths(paths: &mut Map<String, Value>, names: &Names, generation: Generation) {
    let root = if names.namespaced {
        format!("/{}/namespaces/{{namespace}}/{}", document_name(names), names.plural)
    } else {
        format!("/{}/{}", document_name(names), names.plural)
    };
    let own = (names.group.as_str(), names.version.as_str(), names.kind.as_str());
    let has = |verb: &str| names.verbs.iter().any(|it| it == verb);
    let some = |all: &[(&'static str, &'static str)]| -> Vec<(&'static str, &'static str)> {
        all.iter().filter(|(_, verb)| has(verb)).copied().collect()
    };
    let collection = some(&[("get", "list"), ("post", "create"), ("delete", "deletecollection")]);
    let object = some(&[("get", "get"), ("put", "update"), ("patch", "patch"), ("delete", "delete")]);
    add_path(paths, root.clone(), &collection, own, generation);
    add_path(paths, format!("{root}/{{name}}"), &object, own, generation);
    for sub in &names.subresources {
        let has = |verb: &str| sub.verbs.iter().any(|it| it == verb);
        let methods: Vec<_> = [("get", "get"), ("post", "create"), ("put", "update"), ("patch", "patch")]
            .into_iter()
            .filter(|(_, verb)| has(verb))
            .collect();
        let kind = (sub.group.as_str(), sub.version.as_str(), sub.kind.as_str());
        add_path(paths, format!("{root}/{{name}}/{}", sub.name), &methods, kind, generation);
    }
}

fn add_path(
    paths: &mut Map<String, Value>,
    path: String,
    methods: &[(&'static str, &'static str)],
    (group, version, kind): (&str, &str, &str),
    generation: Generation,
) {
    if methods.is_empty() {
        return;
    }
    let mut item = Map::new();
    for (method, action) in methods {
        let mut operation = json!({
            "responses": {"200": {"description": "OK"}},
            "x-kubernetes-action": action,
            "x-kubernetes-group-version-kind": {"group": group, "version": version, "kind": kind},
        });
        if matches!(*method, "post" | "put" | "patch") {
            let mut parameters: Vec<Value> =
                WRITE_PARAMETERS.iter().map(|it| parameter(it, "query", generation)).collect();
            if *method == "patch" {
                parameters.push(parameter(&("force", "boolean"), "query", generation));
            }
            operation["parameters"] = parameters.into();
        }
        if *method == "patch" {
            match generation {
                Generation::V2 => operation["consumes"] = json!(PATCHES),
                Generation::V3 => {
                    let content: Map<String, Value> =
                        PATCHES.iter().map(|it| ((*it).to_owned(), json!({}))).collect();
                    operation["requestBody"] = json!({"content": content, "required": true});
                }
            }
        }
        item.insert((*method).into(), operation);
    }
    let places: Vec<Value> = ["namespace", "name"]
        .iter()
        .filter(|name| path.contains(&format!("{{{name}}}")))
        .map(|name| {
            let mut place = parameter(&(name, "string"), "path", generation);
            place["required"] = true.into();
            place
        })
        .collect();
    if !places.is_empty() {
        item.insert("parameters".into(), places.into());
    }
    paths.insert(path, Value::Object(item));
}

fn parameter((name, ty): &(&str, &str), place: &str, generation: Generation) -> Value {
    match generation {
        Generation::V2 => json!({"name": name, "in": place, "type": ty}),
        Generation::V3 => json!({"name": name, "in": place, "schema": {"type": ty}}),
    }
}

#[cfg(test)]
mod tests {
    use super::super::groups::tests::custom;
    use super::*;

    fn json_of(answer: &Answer) -> Value {
        serde_json::from_str(&answer.body).unwrap()
    }

    /// The look of `kubectl` into the document of a version before it writes.
    fn takes_field_validation(document: &Value, group: &str, version: &str, kind: &str) -> bool {
        let paths = document["paths"].as_object().unwrap();
        let wanted = json!({"group": group, "version": version, "kind": kind});
        let mut patches = paths
            .values()
            .filter_map(|item| item.get("patch"))
            .filter(|patch| patch["x-kubernetes-group-version-kind"] == wanted)
            .peekable();
        assert!(patches.peek().is_some(), "{group}/{version} {kind}: no such path");
        // NB: the real one looks at whichever comes first in a random order, so all must have it.
        patches.all(|patch| {
            let parameters = patch["parameters"].as_array().unwrap();
            parameters.iter().any(|it| it["name"] == "fieldValidation" && it["in"] == "query")
        })
    }

    #[test]
    fn every_kind_that_can_be_patched_takes_field_validation() {
        let mut served = Names::builtin();
        served.push(custom("x.io", "v1", "Ant"));
        let index = json_of(&index(&served));
        let mut seen = 0;
        for names in served.iter().filter(|names| names.verbs.iter().any(|verb| verb == "patch")) {
            let name = document_name(names);
            let url = index["paths"][&name]["serverRelativeURL"].as_str().unwrap();
            let (path, query) = url.split_once('?').unwrap();
            assert_eq!(path, format!("/openapi/v3/{name}"));
            let answer = v3(&served, &Question { query, ..Question::default() }, &name);
            assert_eq!(answer.code, 200, "{url}");
            assert!(takes_field_validation(&json_of(&answer), &names.group, &names.version, &names.kind));
            seen += 1;
        }
        assert!(seen > 40, "{seen}");
        assert!(takes_field_validation(&json_of(&v2(&served, &Question::default())), "x.io", "v1", "Ant"));
    }

    #[test]
    fn an_outdated_hash_is_sent_to_the_right_one() {
        let served = [custom("x.io", "v1", "Ant")];
        let answer = v3(&served, &Question { query: "hash=00", ..Question::default() }, "apis/x.io/v1");
        assert_eq!(answer.code, 301);
        let location = &answer.headers.iter().find(|(name, _)| *name == "location").unwrap().1;
        let (_, query) = location.split_once('?').unwrap();
        assert_eq!(v3(&served, &Question { query, ..Question::default() }, "apis/x.io/v1").code, 200);
        assert_eq!(v3(&served, &Question::default(), "apis/y.io/v1").code, 404);
    }

    #[test]
    fn a_client_that_wants_protobuf_gets_the_smallest_document_and_no_other_form_is_served() {
        let ask = |accept| v2(&[], &Question { accept, ..Question::default() });
        assert_eq!(ask(PROTOBUF_V2).content_type, PROTOBUF_V2_ANSWER);
        assert_eq!(ask("application/json").code, 200);
        assert_eq!(ask("text/html").code, 406);
    }

    #[test]
    fn no_strategic_merge_patch_is_promised() {
        let served = Names::builtin();
        let document = v3(&served, &Question::default(), "apis/apps/v1").body;
        assert!(document.contains("application/merge-patch+json"));
        assert!(!document.contains("strategic"));
    }
}
