//! How a release is built.

use std::collections::{BTreeMap, BTreeSet};

use lockstep_release::build::assemble::{Component, Payload, Rules, SourceFile, assemble};
use lockstep_release::build::mapping::Mappings;
use lockstep_release::build::metadata::Metadata;
use lockstep_release::build::replace::{Replacement, replace};
use lockstep_release::build::stream::{Stream, Tag};
use lockstep_release::build::{check, image, naming};

use super::Difference;

pub(super) const DIFFERENCES: &[Difference] = &[
    Difference {
        id: "two-images-with-one-separator",
        title: "Two images with one character between them are both replaced",
        decision: "always exact",
        case: "`r/a:1 r/a:2` and `x=r/a:1,y=r/a:2\"`, where `r/a` stands for `T`",
        reference: "T r/a:2\nx=r/a:1,y=T\"",
        ours: "T T\nx=T,y=T\"",
        why: "The reference eats the separator with the first image, and knows no comma as an end.",
        observe: || [replaced("r/a:1 r/a:2"), replaced("x=r/a:1,y=r/a:2\"")].join("\n"),
    },
    Difference {
        id: "image-ends-that-are-missed",
        title: "An image may end before `;`, `)` and an escape in JSON, and have a tag and a digest",
        decision: "always exact",
        case: "`r/a:1;`, `(r/a:1)`, `\"r/a:1\\n\"` and `r/a:1@sha256:abcd`, where `r/a` stands for `T`",
        reference: "r/a:1; (r/a:1) \"r/a:1\\n\" r/a:1@sha256:abcd",
        ours: "T; (T) \"T\\n\" T",
        why: "The reference leaves them as they are, and a cluster without access to the developers' registry cannot pull them.",
        observe: || ["r/a:1;", "(r/a:1)", r#""r/a:1\n""#, "r/a:1@sha256:abcd"].map(replaced).join(" "),
    },
    Difference {
        id: "image-behind-a-prefix",
        title: "Part of another name or of a URL is no image",
        decision: "always exact",
        case: "`mirror/r/a:1`, `my-r/a:1` and `https://r/a:8443`, where `r/a` stands for `T`",
        reference: "mirror/T my-T https://T",
        ours: "mirror/r/a:1 my-r/a:1 https://r/a:8443",
        why: "What came out was no name of anything.",
        observe: || ["mirror/r/a:1", "my-r/a:1", "https://r/a:8443"].map(replaced).join(" "),
    },
    Difference {
        id: "undeclared-image",
        title: "An image that no operator declares fails the build",
        decision: "always say why",
        case: "a Pod that runs `r/other:1`, which no image-references names",
        reference: "built; the image stays as written",
        ours: "op/pod.yaml:6: undeclared image \"r/other:1\" in the field image",
        why: "It is missing from every mirror of the release, and nobody notices before a disconnected cluster does. \
              `--allow-undeclared-images` makes it a warning.",
        observe: undeclared,
    },
    Difference {
        id: "equal-versions-of-two-images",
        title: "A version that two images agree on can be used",
        decision: "always exact",
        case: "`0.0.1-snapshot-kubernetes` where two referenced images have `kubernetes=1.36.2`",
        reference: "the version for \"kubernetes\" is inconsistent across the referenced images: a, b",
        ours: "v: 1.36.2",
        why: "Two images that say the same are consistent.",
        observe: || built(&["a", "b"], "v: 0.0.1-snapshot-kubernetes"),
    },
    Difference {
        id: "every-document-is-checked",
        title: "All documents of a manifest file are checked",
        decision: "always say why",
        case: "a file whose second document has no apiVersion",
        reference: "built",
        ours: "op/a.yaml:6: manifests must contain Kubernetes API objects with 'kind' and 'apiVersion' set",
        why: "The reference looks at the first one only, and a cluster then refuses the release. Names that are missing and objects \
              that stand twice in a file are found too.",
        observe: || {
            let text = "kind: A\napiVersion: v1\nmetadata:\n  name: a\n---\nkind: B\n";
            check::check("op/a.yaml", text.as_bytes()).iter().map(ToString::to_string).collect()
        },
    },
    Difference {
        id: "mapping-twice",
        title: "A name that is mapped twice is refused",
        decision: "always say why",
        case: "`a=r/1 a=r/2`",
        reference: "the last one wins",
        ours: "each source tag may only be specified once: a",
        why: "The reference means to refuse it and compares with the wrong side.",
        observe: || {
            let mut mappings = Mappings::default();
            let outcome = mappings.add_argument("a=r/1").and_then(|()| mappings.add_argument("a=r/2"));
            outcome.map_or_else(|error| error.to_string(), |()| "accepted".to_owned())
        },
    },
    Difference {
        id: "numbered-name-that-is-taken",
        title: "A file never replaces another one",
        decision: "always exact",
        case: "two files `a.yaml` and one `a_2.yaml` in a release",
        reference: "a.yaml a_2.yaml a_2.yaml",
        ours: "a.yaml a_2.yaml a_2_2.yaml",
        why: "The number that is added may be taken; the reference writes two files of one name.",
        observe: || {
            let mut names = naming::Names::default();
            ["a.yaml", "a.yaml", "a_2.yaml"].map(|name| names.claim(name)).join(" ")
        },
    },
    Difference {
        id: "format-of-the-base",
        title: "A release image has the format of its base",
        decision: "D16",
        case: "a base in the format of the OCI",
        reference: "application/vnd.docker.distribution.manifest.v2+json",
        ours: "application/vnd.oci.image.manifest.v1+json",
        why: "An image of Docker's format with layers of the other is what some registries refuse. Layers are marked with the \
              folder that they hold, so that a reader fetches no other.",
        observe: || {
            let (base, payload) = (image::Foundation::nothing(), Payload::default());
            image::compose(&base, &image::payload_layer(&payload, false), &payload).raw.media_type
        },
    },
    Difference {
        id: "a-release-is-never-made-now",
        title: "The clock has no say in a release",
        decision: "the same input gives the same bytes",
        case: "a release of files in folders, without `--created`",
        reference: "the time of the build",
        ours: "1970-01-01T00:00:00Z",
        why: "The same input gives the same digest. What counts is what was asked for (`--created`, `SOURCE_DATE_EPOCH`), then the \
              time of the image stream or release, then the newest file in the component images.",
        observe: || lockstep_release::build::assemble::rfc3339(payload(&[], "a: 1").0),
    },
];

fn replaced(text: &str) -> String {
    let one = Replacement { literal: "r/a".to_owned(), target: "T".to_owned() };
    String::from_utf8_lossy(&replace(text.as_bytes(), &[one])).into_owned()
}

fn rules() -> Rules {
    Rules {
        prefix: naming::DEFAULT_PREFIX.to_owned(),
        allow_missing_images: false,
        allow_undeclared_images: false,
        skip_manifest_check: false,
        keep: BTreeSet::new(),
    }
}

fn file(text: &str) -> SourceFile {
    SourceFile { bytes: text.to_owned().into(), modified: None }
}

/// Builds a release of one operator that names images, with one text file; gives time and text.
fn payload(tags: &[&str], text: &str) -> (u64, String) {
    let notes = BTreeMap::from([("io.openshift.build.versions".to_owned(), "kubernetes=1.36.2".to_owned())]);
    let tag =
        |name: &&str| Tag { annotations: Some(notes.clone()), ..Tag::image(name, &format!("r/{name}")) };
    let stream = Stream { tags: tags.iter().map(tag).collect(), ..Stream::default() };
    let files = BTreeMap::from([
        ("image-references".to_owned(), file(&String::from_utf8_lossy(&stream.write()))),
        ("a.txt".to_owned(), file(text)),
    ]);
    let component = Component { name: "op".to_owned(), files };
    let metadata = Metadata { version: "1.0.0".to_owned(), ..Metadata::default() };
    match assemble(vec![component], stream, &metadata, None, &rules()) {
        Ok(payload) => (payload.created, String::from_utf8_lossy(&payload.files[0].bytes).into_owned()),
        Err(error) => (u64::MAX, error.to_string()),
    }
}

fn built(tags: &[&str], text: &str) -> String {
    payload(tags, text).1
}

fn undeclared() -> String {
    let pod = "kind: Pod\napiVersion: v1\nmetadata: {name: a}\nspec:\n  containers:\n  - image: r/other:1\n";
    let found = lockstep_release::build::undeclared::find("op/pod.yaml", pod.as_bytes(), &BTreeSet::new());
    let told = found.first().map(ToString::to_string).unwrap_or_default();
    told.split(": it is none").next().unwrap_or_default().to_owned()
}
