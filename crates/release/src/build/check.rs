//! Content checks: a file that consumers of the release would refuse is refused here, with its line.

use std::collections::HashSet;

use lockstep_api::ResourceId;
use lockstep_api::names::file::MANIFEST_EXTENSIONS;
use lockstep_payload::yaml;
use serde_json::Value;

use super::Problem;

/// How much of a document that is no object is shown, in characters.
const EXCERPT: usize = 30;

/// Whether consumers read a file of this name as manifests.
pub fn is_manifest(name: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(_, extension)| MANIFEST_EXTENSIONS.contains(&extension))
}

/// Checks all documents of a source file; `file` is what to call it.
///
/// # Compatibility
/// The reference checks the first document only, and neither names nor duplicates, which its consumers then refuse.
pub fn check(file: &str, bytes: &[u8]) -> Vec<Problem> {
    let problem = |line: usize, why: String| Problem { file: file.to_owned(), line, why };
    let documents = match yaml::documents(bytes) {
        Ok(documents) => documents,
        Err(error) => return vec![problem(error.line, format!("invalid YAML/JSON: {}", error.message))],
    };
    let mut seen = HashSet::new();
    let mut problems = Vec::new();
    for document in documents {
        let (value, line) = (&document.value, document.line);
        if !value.is_object() {
            let text: String = value.to_string().chars().take(EXCERPT).collect();
            problems.push(problem(line, format!("not a valid YAML/JSON object, got: {text}…")));
            continue;
        }
        let is_set = |key: &str| value[key].as_str().is_some_and(|text| !text.is_empty());
        if !is_set("kind") || !is_set("apiVersion") {
            let why = "manifests must contain Kubernetes API objects with 'kind' and 'apiVersion' set";
            problems.push(problem(line, why.to_owned()));
            continue;
        }
        if !matches!(&value["metadata"]["name"], Value::String(name) if !name.is_empty()) {
            let why = format!("the {} has no metadata.name", value["kind"].as_str().unwrap_or_default());
            problems.push(problem(line, why));
            continue;
        }
        let id = ResourceId::of(value);
        if !seen.insert(id.clone()) {
            problems.push(problem(line, format!("duplicate resource: ({id})")));
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n";

    fn told(text: &str) -> Vec<String> {
        check("op/f.yaml", text.as_bytes()).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn what_consumers_accept_passes() {
        for text in [
            GOOD,
            "",
            "# only a comment\n",
            "---\n---\n",
            &format!("---\n{GOOD}---\n{}", GOOD.replace("name: a", "name: b")),
        ] {
            assert_eq!(told(text), Vec::<String>::new(), "{text}");
        }
    }

    #[test]
    fn every_document_is_checked_and_told_with_its_line() {
        let cases = [
            ("a: [", "op/f.yaml:2: invalid YAML/JSON: "),
            ("- a\n- b\n", "op/f.yaml:1: not a valid YAML/JSON object, got: [\"a\",\"b\"]…"),
            (
                "kind: A\n",
                "op/f.yaml:1: manifests must contain Kubernetes API objects with 'kind' and 'apiVersion' set",
            ),
            ("kind: 1\napiVersion: v1\n", "op/f.yaml:1: manifests must contain"),
            ("kind: A\napiVersion: v1\n", "op/f.yaml:1: the A has no metadata.name"),
        ];
        for (text, wanted) in cases {
            assert!(told(text)[0].starts_with(wanted), "{:?}", told(text));
        }
        let second = told(&format!("{GOOD}---\nkind: A\n"));
        assert!(second[0].starts_with("op/f.yaml:6: manifests must contain"), "{second:?}");
        let twice = told(&format!("{GOOD}---\n{GOOD}"));
        assert!(twice[0].starts_with("op/f.yaml:6: duplicate resource: ("), "{twice:?}");
    }

    #[test]
    fn only_three_extensions_are_manifests() {
        assert!(is_manifest("a.yaml") && is_manifest("a.yml") && is_manifest("a.json"));
        assert!(!is_manifest("a.YAML") && !is_manifest("README.md") && !is_manifest("yaml"));
    }
}
