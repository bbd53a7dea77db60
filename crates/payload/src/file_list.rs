//! Manifests from a list of files that belong to no release folder.

use std::collections::BTreeSet;
use std::sync::Arc;

use lockstep_api::ResourceId;

use crate::manifest::{Folder, Manifest, ManifestError, read_file};

/// Why a list of files holds no usable manifests; everything that is wrong is listed.
#[derive(Debug, thiserror::Error)]
#[error("error loading manifests: {}", aggregate(.errors))]
pub struct ListError {
    /// One entry per problem, in file order.
    pub errors: Vec<ListedError>,
}

/// One problem with a file of a list.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("File {path} contains: {cause}")]
pub struct ListedError {
    /// The file, as it was given.
    pub path: String,
    /// What is wrong.
    pub cause: ManifestError,
}

/// Reads files, given as path and content, in their order; an object may stand in only one of them.
///
/// A file that cannot be read as manifests gives none, so it takes no identity from the files after it.
///
/// # Errors
/// All problems together, never only the first.
pub fn load_list<'a>(
    files: impl IntoIterator<Item = (&'a str, &'a [u8])>,
) -> Result<Vec<Manifest>, ListError> {
    let (mut manifests, mut errors) = (Vec::new(), Vec::new());
    let mut seen: BTreeSet<ResourceId> = BTreeSet::new();
    for (path, bytes) in files {
        let mut complain = |cause| errors.push(ListedError { path: path.to_owned(), cause });
        let name = path.rsplit('/').next().unwrap_or(path);
        match read_file(Folder::ReleaseManifests, &Arc::from(name), bytes) {
            Err(source) => complain(source),
            Ok(found) => {
                for manifest in found {
                    if seen.insert(manifest.id.clone()) {
                        manifests.push(manifest);
                    } else {
                        complain(ManifestError::Duplicate { id: manifest.id });
                    }
                }
            }
        }
    }
    if errors.is_empty() { Ok(manifests) } else { Err(ListError { errors }) }
}

/// One error as it is; several in brackets. No two are equal: a file is read once and names an object once.
fn aggregate(errors: &[ListedError]) -> String {
    let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
    if texts.len() == 1 { texts.concat() } else { format!("[{}]", texts.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INGRESS: &str =
        "apiVersion: extensions/v1beta1\nkind: Ingress\nmetadata: {name: i, namespace: ns}\n";

    fn a_map(name: &str) -> String {
        format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: ns}}\n")
    }

    fn a_file(documents: &[String]) -> String {
        documents.join("---\n")
    }

    fn load(files: &[(&str, String)]) -> Result<Vec<Manifest>, ListError> {
        load_list(files.iter().map(|(path, text)| (*path, text.as_bytes())))
    }

    #[test]
    fn duplicates_across_files_are_errors_and_a_bad_file_takes_no_identity() {
        let ingress = || INGRESS.to_owned();
        let error = load(&[
            ("in/f0.yaml", a_file(&[a_map("cm1"), a_map("cm1")])),
            ("in/f1.yaml", a_file(&[ingress(), a_map("cm1"), a_map("cm2"), a_map("cm3"), a_map("cm4")])),
            ("in/f2.yaml", a_file(&[ingress(), a_map("cm4")])),
            ("in/fs.yaml", a_file(&[a_map("cm2"), a_map("cm4")])),
        ])
        .unwrap_err();
        let map = |name: &str| ResourceId::new("", "ConfigMap", "ns", name);
        let expected = [
            ("in/f0.yaml", map("cm1")),
            ("in/f2.yaml", ResourceId::new("extensions", "Ingress", "ns", "i")),
            ("in/f2.yaml", map("cm4")),
            ("in/fs.yaml", map("cm2")),
            ("in/fs.yaml", map("cm4")),
        ]
        .map(|(path, id)| ListedError { path: path.to_owned(), cause: ManifestError::Duplicate { id } });
        assert_eq!(error.errors, expected);
        let text = error.to_string();
        let start = "error loading manifests: [File in/f0.yaml contains: duplicate resource: (Group: \"\" Kind: \
                     \"ConfigMap\" Namespace: \"ns\" Name: \"cm1\"), File in/f2.yaml contains: duplicate";
        assert!(text.starts_with(start) && text.ends_with("Name: \"cm4\")]"), "{text}");
    }

    #[test]
    fn good_files_give_their_manifests_in_order_and_no_files_give_none() {
        let found = load(&[("b/2.yaml", a_map("two")), ("a/1.yaml", a_map("one"))]).unwrap();
        let names: Vec<_> = found.iter().map(|it| (&*it.file, it.id.name.as_str())).collect();
        assert_eq!(names, [("2.yaml", "two"), ("1.yaml", "one")]);
        assert!(load(&[]).unwrap().is_empty());
    }

    #[test]
    fn one_problem_stands_without_brackets() {
        let error = load(&[("a.yaml", "kind: Pod\n".to_owned())]).unwrap_err().to_string();
        assert!(
            error.starts_with("error loading manifests: File a.yaml contains: line 1: Resource"),
            "{error}"
        );
    }
}
