//! What is refused although the reference takes it, or tries to.

use lockstep_payload::limits::{MAX_ALIAS_BYTES, MAX_DEPTH, MAX_FILE_BYTES};
use lockstep_payload::template::{TemplateData, render};
use lockstep_payload::{DiskFiles, LoadOptions, Release, yaml};

use super::Difference;
use super::fixture::error_of;

pub(super) const DIFFERENCES: &[Difference] = &[
    Difference {
        id: "file-size",
        title: "A manifest file has at most 32 MiB",
        decision: "limits against hostile input",
        case: "`release-manifests/0000_10_a_1.yaml` with one byte more",
        reference: "read as a whole, whatever its size",
        ours: "Error loading manifests from FOLDER: FOLDER/release-manifests/0000_10_a_1.yaml: 33554433 bytes, more than the \
               33554432 that a manifest may have",
        why: "The largest file of a real release has 1.4 MB. A release may come from anywhere, and memory is not endless. For \
              the same reason a folder has at most 20 000 files.",
        observe: || {
            let folder = tempfile::tempdir().unwrap();
            let path = |name: &str| folder.path().join(name);
            std::fs::create_dir_all(path("manifests")).unwrap();
            std::fs::create_dir_all(path("release-manifests")).unwrap();
            let images =
                r#"{"kind":"ImageStream","apiVersion":"image.openshift.io/v1","metadata":{"name":"1.0.0"}}"#;
            let metadata = r#"{"kind":"cincinnati-metadata-v0","version":"1.0.0"}"#;
            std::fs::write(path("release-manifests/image-references"), images).unwrap();
            std::fs::write(path("release-manifests/release-metadata"), metadata).unwrap();
            let file = std::fs::File::create(path("release-manifests/0000_10_a_1.yaml")).unwrap();
            file.set_len(MAX_FILE_BYTES + 1).unwrap();
            let files = DiskFiles::open(folder.path()).unwrap();
            let error = error_of(Release::load(&files, &LoadOptions::default()));
            error.replace(&folder.path().display().to_string(), "FOLDER")
        },
    },
    Difference {
        id: "nesting-depth",
        title: "A document is nested at most 128 levels deep",
        decision: "limits against hostile input",
        case: "a YAML document of 129 lists in each other",
        reference: "accepted, up to 10000 levels",
        ours: "line 1: nested more than 128 levels deep",
        why: "Real definitions reach about 60 levels. Deep nesting costs stack in everything that walks a document.",
        observe: || {
            let depth = MAX_DEPTH + 1;
            error_of(yaml::documents(format!("{}{}", "[".repeat(depth), "]".repeat(depth)).as_bytes()))
        },
    },
    Difference {
        id: "alias-bytes",
        title: "Anchors and aliases of a file cost at most 16 MiB",
        decision: "limits against hostile input",
        case: "one text of 1 MiB and 17 aliases of it",
        reference: "accepted",
        ours: "document contains excessive aliasing",
        why: "The reference limits how many nodes aliases make, and so do we; that says nothing about their size.",
        observe: || {
            let text = "x".repeat(1024 * 1024);
            let aliases = "- *a\n".repeat(MAX_ALIAS_BYTES / text.len() + 1);
            let error = error_of(yaml::documents(format!("- &a {text}\n{aliases}").as_bytes()));
            error.split_once(": ").map_or(error.clone(), |(_, message)| message.to_owned())
        },
    },
    Difference {
        id: "long-numbers",
        title: "A number of more than 512 characters is a text",
        decision: "limits against hostile input",
        case: "`0.` and 600 times the digit 1, without quotes",
        reference: "a number",
        ours: "a text",
        why: "No manifest has such a number, and reading one costs time that grows faster than its length.",
        observe: || {
            let documents = yaml::documents(format!("0.{}\n", "1".repeat(600)).as_bytes()).unwrap();
            let value = &documents[0].value;
            if value.is_string() { "a text" } else { "a number" }.to_owned()
        },
    },
    Difference {
        id: "json-must-be-utf-8",
        title: "JSON that is not UTF-8 is refused",
        decision: "always say why",
        case: "a JSON document with the byte 0xFF in a text",
        reference: "accepted, with a replacement character in its place",
        ours: "line 1: not UTF-8 text (is this a binary file?)",
        why: "The reference refuses such bytes in YAML and silently changes them in JSON. What is applied should be what was \
              written.",
        observe: || error_of(yaml::documents(b"{\"kind\": \"\xff\"}")),
    },
    Difference {
        id: "json-half-characters",
        title: "JSON with half a character is refused",
        decision: "always say why",
        case: "a JSON document with the text `\"\\ud800\"`, the first half of a surrogate pair",
        reference: "accepted, with a replacement character in its place",
        ours: "line 1: JSON: unexpected end of hex escape",
        why: "As with bytes that are not UTF-8: what is applied should be what was written.",
        observe: || error_of(yaml::documents(br#"{"kind": "\ud800x"}"#)),
    },
    Difference {
        id: "release-size",
        title: "The files of a release have at most 512 MiB together, and a template renders to at most 32 MiB",
        decision: "limits against hostile input",
        case: "40 times an image name of 1 MiB in one template",
        reference: "rendered, whatever its size",
        ours: "renders to more than the 33554432 bytes that a manifest may have",
        why: "Real releases have 16 MB. A small file must not need a large machine.",
        observe: || {
            let data = TemplateData { release_image: "x".repeat(1024 * 1024), ..TemplateData::default() };
            error_of(render(&"{{.ReleaseImage}}".repeat(40), &data))
        },
    },
];
