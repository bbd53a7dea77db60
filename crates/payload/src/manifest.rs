//! One object of a release, with the place it came from.

use std::collections::HashSet;
use std::fmt;
use std::io::{self, Write};
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;
use sha2::{Digest, Sha256};

use lockstep_api::names::{annotation, file, group, kind};
use lockstep_api::{ResourceId, object};

use crate::file_name::{RunLevel, run_level};
use crate::gojson;
use crate::yaml::{self, Document, YamlError};

/// The folder of a release that a manifest comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Folder {
    /// `manifests/`: the operator's own, which are templates.
    Manifests,
    /// `release-manifests/`: everybody else's.
    ReleaseManifests,
}

/// One object of a release.
#[derive(Debug, Clone)]
pub struct Manifest {
    /// Which of the two folders.
    pub folder: Folder,
    /// Base name of the file.
    pub file: Arc<str>,
    /// Which document of the file: the number of separators before it, so empty documents count.
    pub document: usize,
    /// Line of the file on which the object starts, from 1.
    pub line: usize,
    /// Run level and component by the file name.
    pub run_level: Option<RunLevel>,
    /// `apiVersion` as it will be applied.
    pub api_version: String,
    /// Group, kind, namespace and name.
    pub id: ResourceId,
    /// The object as it will be applied.
    pub object: Value,
    /// The bytes that count for the hash, where they are not the sorted JSON of `object`.
    original: Option<Box<str>>,
    had_no_version: bool,
}

/// Why a file holds no usable manifests.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ManifestError {
    /// The text is neither YAML nor JSON.
    #[error("error parsing: {0}")]
    Syntax(YamlError),
    /// A document that is not a Kubernetes object.
    #[error("unable to decode manifest: line {line}: Object 'Kind' is missing in '{excerpt}'")]
    NoKind {
        /// Line of the file, from 1.
        line: usize,
        /// How the document begins.
        excerpt: String,
    },
    /// An object without a name.
    #[error("line {line}: Resource with fields {id} must contain kubernetes required fields kind and name")]
    NoName {
        /// Line of the file, from 1.
        line: usize,
        /// What is there.
        id: ResourceId,
    },
    /// The same object twice in one file.
    #[error("duplicate resource: ({id})")]
    Duplicate {
        /// The object.
        id: ResourceId,
    },
}

/// Reads all manifests of one file.
///
/// # Errors
/// The first document that is not an acceptable manifest; the file then gives none.
pub fn read_file(folder: Folder, name: &Arc<str>, bytes: &[u8]) -> Result<Vec<Manifest>, ManifestError> {
    let mut manifests: Vec<Manifest> = Vec::new();
    let mut seen = HashSet::new();
    for document in yaml::documents(bytes).map_err(ManifestError::Syntax)? {
        let manifest = Manifest::from_document(folder, name, document)?;
        if !seen.insert(manifest.id.clone()) {
            return Err(ManifestError::Duplicate { id: manifest.id });
        }
        manifests.push(manifest);
    }
    Ok(manifests)
}

// === impl Folder ===

impl Folder {
    /// The folder's name in a release.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Manifests => file::MANIFESTS,
            Self::ReleaseManifests => file::RELEASE_MANIFESTS,
        }
    }
}

// === impl Manifest ===

impl Manifest {
    /// Makes a manifest of one document.
    ///
    /// # Errors
    /// When the document is not an object with a kind and a name.
    pub fn from_document(folder: Folder, file: &Arc<str>, content: Document) -> Result<Self, ManifestError> {
        let Document { value: mut object, index, line, json } = content;
        if object::kind(&object).is_empty() {
            return Err(ManifestError::NoKind { line, excerpt: excerpt(&object) });
        }
        let mut original = json;
        let had_no_version = is_versionless_first_generation(&object);
        if had_no_version {
            original.get_or_insert_with(|| sorted_json(&object));
            object["apiVersion"] = Value::from(format!("{}/v1", group::OPERATOR_STATUS));
        }
        let id = ResourceId::of(&object);
        if id.name.is_empty() {
            return Err(ManifestError::NoName { line, id });
        }
        Ok(Self {
            folder,
            file: Arc::clone(file),
            document: index,
            line,
            run_level: run_level(file),
            api_version: object::api_version(&object).to_owned(),
            id,
            object,
            original,
            had_no_version,
        })
    }

    /// Writes the bytes that count for the version hash: sorted JSON, or the original bytes of a JSON document.
    pub fn write_raw(&self, out: &mut impl Write) -> io::Result<()> {
        match &self.original {
            Some(original) => out.write_all(original.as_bytes()),
            None => gojson::write(&self.object, out),
        }
    }

    /// SHA-256 of the object as JSON with sorted keys, no blanks and UTF-8, in hexadecimal.
    pub fn digest(&self) -> String {
        let mut hasher = Hasher(Sha256::new());
        // Writing into a hash cannot fail.
        let _ = gojson::write_plain(&self.object, &mut hasher);
        hasher.0.finalize().iter().fold(String::with_capacity(64), |mut text, byte| {
            for half in [byte >> 4, byte & 15] {
                text.extend(char::from_digit(u32::from(half), 16));
            }
            text
        })
    }

    /// The version part of `apiVersion`.
    pub fn version(&self) -> &str {
        object::split_api_version(&self.api_version).1
    }

    /// One annotation, under the rule that one value that is not a string hides them all.
    pub fn annotation(&self, key: &str) -> Option<&str> {
        object::annotation(&self.object, key)
    }

    /// Whether this is a ClusterOperator that an update waits for, of either generation.
    pub fn is_cluster_operator(&self) -> bool {
        self.id.kind == kind::CLUSTER_OPERATOR
            && (self.id.group == group::CONFIG || self.is_first_generation())
    }

    /// Whether this is a ClusterOperator of the first generation (`operatorstatus.openshift.io`).
    pub fn is_first_generation(&self) -> bool {
        self.id.kind == kind::CLUSTER_OPERATOR && self.id.group == group::OPERATOR_STATUS
    }

    /// Whether `apiVersion` had to be completed because it names a group without a version.
    pub fn had_no_version(&self) -> bool {
        self.had_no_version
    }

    /// Whether the object is to be removed from the cluster.
    pub fn is_delete(&self) -> bool {
        self.annotation(annotation::DELETE) == Some("true")
    }

    /// Whether the object is only created, never changed again.
    pub fn is_create_only(&self) -> bool {
        self.annotation(annotation::CREATE_ONLY) == Some("true")
    }

    /// Whether the object is a custom resource definition.
    pub fn is_crd(&self) -> bool {
        self.id.kind == kind::CUSTOM_RESOURCE_DEFINITION && self.id.group == group::API_EXTENSIONS
    }
}

/// `Filename: "<file>" <id>`, the form of the reference's log lines.
impl fmt::Display for Manifest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Filename: {:?} {}", self.file, self.id)
    }
}

/// The example of the first protocol gives a group where an `apiVersion` belongs.
fn is_versionless_first_generation(object: &Value) -> bool {
    object::api_version(object) == group::OPERATOR_STATUS && object::kind(object) == kind::CLUSTER_OPERATOR
}

fn sorted_json(object: &Value) -> Box<str> {
    let mut bytes = Vec::new();
    // Writing into memory cannot fail, and JSON is always UTF-8.
    let _ = gojson::write(object, &mut bytes);
    String::from_utf8_lossy(&bytes).into()
}

fn excerpt(object: &Value) -> String {
    let text = sorted_json(object);
    match text.char_indices().nth(120) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.into_string(),
    }
}

/// SHA-256 as a writer.
struct Hasher(Sha256);

impl Write for Hasher {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<Manifest>, ManifestError> {
        read_file(Folder::ReleaseManifests, &Arc::from("0000_10_a_file.yaml"), text.as_bytes())
    }

    fn raw(manifest: &Manifest) -> String {
        let mut bytes = Vec::new();
        manifest.write_raw(&mut bytes).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn an_object_has_an_identity_and_sorted_raw_bytes() {
        let found = read("kind: Ingress\napiVersion: extensions/v1beta1\nmetadata:\n  namespace: test-namespace\n  name: test-ingress\n").unwrap();
        assert_eq!(found[0].id, ResourceId::new("extensions", "Ingress", "test-namespace", "test-ingress"));
        assert_eq!(
            raw(&found[0]),
            r#"{"apiVersion":"extensions/v1beta1","kind":"Ingress","metadata":{"name":"test-ingress","namespace":"test-namespace"}}"#
        );
        assert_eq!(
            found[0].to_string(),
            r#"Filename: "0000_10_a_file.yaml" Group: "extensions" Kind: "Ingress" Namespace: "test-namespace" Name: "test-ingress""#
        );
    }

    #[test]
    fn a_block_scalar_keeps_its_lines() {
        let found = read("kind: ConfigMap\napiVersion: v1\nmetadata: {name: a}\ndata:\n  multi-line: |\n    hello world\n    how are you?\n").unwrap();
        assert!(raw(&found[0]).contains(r#""multi-line":"hello world\nhow are you?\n""#));
    }

    #[test]
    fn documents_keep_their_order_and_empty_ones_give_none() {
        let map = |name: &str| format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n");
        for (text, first, second) in [
            (format!("{}---\n{}", map("a"), map("b")), 0, 1),
            (format!("---\n{}---\n# nothing\n---\n{}---\n", map("a"), map("b")), 1, 3),
        ] {
            let found = read(&text).unwrap();
            let names: Vec<_> =
                found.iter().map(|manifest| (manifest.document, manifest.id.name.as_str())).collect();
            assert_eq!(names, [(first, "a"), (second, "b")]);
        }
    }

    #[test]
    fn incomplete_and_repeated_objects_are_refused() {
        let cases = [
            (
                "apiVersion: v1\n",
                "unable to decode manifest: line 1: Object 'Kind' is missing in '{\"apiVersion\":\"v1\"}'",
            ),
            (
                "kind: List\napiVersion: v1\n",
                "line 1: Resource with fields Group: \"\" Kind: \"List\" Name: \"\" must contain kubernetes required fields kind and name",
            ),
            (
                "kind: Pod\nmetadata: {generateName: x}\n",
                "must contain kubernetes required fields kind and name",
            ),
            ("kind: [\n", "error parsing: line "),
            (
                "apiVersion: extensions/v1\nkind: ConfigMap\nmetadata: {name: a-config, namespace: default}\n---\napiVersion: extensions/v2\nkind: ConfigMap\nmetadata: {name: a-config, namespace: default}\n",
                "duplicate resource: (Group: \"extensions\" Kind: \"ConfigMap\" Namespace: \"default\" Name: \"a-config\")",
            ),
            ("just text\n", "Object 'Kind' is missing in '\"just text\"'"),
        ];
        for (text, expected) in cases {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn a_missing_api_version_is_accepted() {
        assert_eq!(read("kind: Test\nmetadata: {name: a}\n").unwrap()[0].api_version, "");
    }

    #[test]
    fn the_first_protocols_example_gets_a_version() {
        let text = "apiVersion: operatorstatus.openshift.io\nkind: ClusterOperator\nmetadata:\n  namespace: my-cluster-operator-namespace\n  name: my-cluster-operator\nstatus:\n  version: 1.0.0\n";
        let found = &read(text).unwrap()[0];
        assert_eq!(found.api_version, "operatorstatus.openshift.io/v1");
        assert_eq!(found.object["apiVersion"], "operatorstatus.openshift.io/v1");
        assert!(found.is_first_generation() && found.is_cluster_operator() && found.had_no_version());
        assert!(
            raw(found).contains(r#""apiVersion":"operatorstatus.openshift.io","#),
            "the hash counts what was written"
        );
        let versioned = &read(&text.replace("shift.io\n", "shift.io/v1\n")).unwrap()[0];
        assert!(versioned.is_first_generation() && !versioned.had_no_version());
    }
}
