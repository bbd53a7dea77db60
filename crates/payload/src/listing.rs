//! All objects of a release as a table, one line each, for comparing two readers byte for byte.

use std::fmt::Write as _;

use serde_json::{Value, json};

use lockstep_api::text::visible;

use crate::manifest::Manifest;

/// Header of the tab-separated form.
pub const TSV_HEADER: &str = "file\tdocument\trun-level\tcomponent\tapiVersion\tkind\tnamespace\tname\tsha256 of the object as JSON (keys sorted, no spaces, UTF-8)";

/// What stands for a run level or component that a file name does not give.
const NONE: &str = "(none)";

/// The tab-separated form, header first.
pub fn tsv<'a>(manifests: impl IntoIterator<Item = &'a Manifest>) -> String {
    let mut out = format!("{TSV_HEADER}\n");
    for manifest in manifests {
        let (level, component) = run_level(manifest).unwrap_or((NONE, NONE));
        let id = &manifest.id;
        // Writing to a string cannot fail.
        let _ = writeln!(
            out,
            "{}\t{}\t{level}\t{component}\t{}\t{}\t{}\t{}\t{}",
            visible(&manifest.file),
            manifest.document,
            visible(&manifest.api_version),
            visible(&id.kind),
            visible(&id.namespace),
            visible(&id.name),
            manifest.digest()
        );
    }
    out
}

/// The same as JSON.
pub fn json<'a>(manifests: impl IntoIterator<Item = &'a Manifest>) -> Value {
    let items = manifests.into_iter().map(|manifest| {
        let (level, component) = run_level(manifest).unzip();
        let id = &manifest.id;
        json!({
            "folder": manifest.folder,
            "file": &*manifest.file,
            "document": manifest.document,
            "line": manifest.line,
            "runLevel": level,
            "component": component,
            "apiVersion": manifest.api_version,
            "kind": id.kind,
            "namespace": id.namespace,
            "name": id.name,
            "sha256": manifest.digest(),
        })
    });
    json!({"apiVersion": "lockstep.dev/v1", "kind": "ReleaseObjects", "items": items.collect::<Vec<_>>()})
}

fn run_level(manifest: &Manifest) -> Option<(&str, &str)> {
    manifest.run_level.as_ref().map(|found| (found.level.as_str(), found.component.as_str()))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::manifest::{Folder, read_file};

    fn manifests(file: &str) -> Vec<Manifest> {
        let text = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: \"a\\tb\", namespace: ns}\n";
        read_file(Folder::ReleaseManifests, &Arc::from(file), text.as_bytes()).unwrap()
    }

    #[test]
    fn a_line_has_nine_cells_whatever_the_names() {
        let text = tsv(&manifests("0000_07_net_1.yaml"));
        let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split('\t').collect()).collect();
        assert_eq!(
            lines[1][..8],
            ["0000_07_net_1.yaml", "1", "07", "net", "v1", "ConfigMap", "ns", "a\u{fffd}b"]
        );
        assert!(lines.iter().all(|line| line.len() == 9));
        assert!(tsv(&manifests("x.yaml")).contains("\t(none)\t(none)\t"));
    }

    #[test]
    fn json_keeps_the_names_and_says_null() {
        let list = json(&manifests("x.yaml"));
        assert_eq!(list["items"][0]["name"], "a\tb");
        assert_eq!(list["items"][0]["runLevel"], Value::Null);
        assert_eq!(list["items"][0]["folder"], "release-manifests");
    }
}
