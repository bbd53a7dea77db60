//! The manifests of an operator, as files.

use lockstep_api::names::{file, kind};
use lockstep_api::object;
use serde_json::Value;

use crate::facts::{list, text};

/// A folder of manifests.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Folder {
    /// The files that hold objects, in the order in which they are applied.
    files: Vec<ManifestFile>,
    /// The files that nobody reads.
    unread: Vec<String>,
}

/// A file and its objects.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ManifestFile {
    /// Its name.
    pub name: String,
    /// Its documents in order; none for a file that is not read.
    pub objects: Vec<Value>,
}

/// An object, where it stands, and at which place in the order.
#[derive(Debug, Clone, Copy)]
pub(super) struct Placed<'a> {
    pub(super) file: &'a str,
    pub(super) place: (usize, usize),
    pub(super) object: &'a Value,
}

/// Kinds that run Pods for ever.
const WORKLOADS: [&str; 3] = [kind::DEPLOYMENT, kind::DAEMON_SET, kind::STATEFUL_SET];

// === impl Folder ===

impl Folder {
    /// A folder of files in any order; which of them are read is decided here, by their names.
    pub fn new(files: impl IntoIterator<Item = ManifestFile>) -> Self {
        let mut all: Vec<ManifestFile> = files.into_iter().collect();
        all.sort_by(|one, other| one.name.as_bytes().cmp(other.name.as_bytes()));
        let (files, unread): (Vec<ManifestFile>, Vec<ManifestFile>) = all
            .into_iter()
            .partition(|file| Self::is_read(&file.name) || file.name == file::IMAGE_REFERENCES);
        Self { files, unread: unread.into_iter().map(|file| file.name).collect() }
    }

    /// Whether a file of this name is read as manifests.
    pub fn is_read(name: &str) -> bool {
        name.rsplit_once('.').is_some_and(|(_, extension)| file::MANIFEST_EXTENSIONS.contains(&extension))
    }

    pub(super) fn unread(&self) -> &[String] {
        &self.unread
    }

    /// All objects in the order in which they are applied.
    pub(super) fn objects(&self) -> impl Iterator<Item = Placed<'_>> {
        let manifests = self.files.iter().filter(|file| file.name != file::IMAGE_REFERENCES).enumerate();
        manifests.flat_map(|(at, file)| {
            let placed = move |(document, object)| Placed { file: &file.name, place: (at, document), object };
            file.objects.iter().enumerate().map(placed)
        })
    }

    pub(super) fn of_kind<'a>(&'a self, wanted: &'a str) -> impl Iterator<Item = Placed<'a>> {
        self.objects().filter(move |placed| object::kind(placed.object) == wanted)
    }

    /// What runs Pods for ever.
    pub(super) fn workloads(&self) -> impl Iterator<Item = Placed<'_>> {
        self.objects().filter(|placed| WORKLOADS.contains(&object::kind(placed.object)))
    }

    pub(super) fn operators(&self) -> impl Iterator<Item = Placed<'_>> {
        self.of_kind(kind::CLUSTER_OPERATOR)
    }

    /// The `ImageStream` of `image-references`, if there is one.
    pub(super) fn images(&self) -> Option<&Value> {
        self.files.iter().find(|file| file.name == file::IMAGE_REFERENCES)?.objects.first()
    }

    /// Whether an object of this kind is among them.
    pub(super) fn has(&self, wanted: &str, namespace: &str, name: &str) -> bool {
        self.of_kind(wanted).any(|placed| {
            object::name(placed.object) == name && object::namespace(placed.object) == namespace
        })
    }
}

// === impl Placed ===

impl<'a> Placed<'a> {
    /// File, kind and name.
    pub(super) fn told(&self) -> String {
        let name = match object::namespace(self.object) {
            "" => object::name(self.object).to_owned(),
            namespace => format!("{namespace}/{}", object::name(self.object)),
        };
        format!("{}: {} {name}", self.file, object::kind(self.object))
    }

    /// The Pod that a workload makes.
    pub(super) fn pod(self) -> &'a Value {
        &self.object["spec"]["template"]["spec"]
    }

    /// All containers of the Pod that a workload makes.
    pub(super) fn containers(self) -> impl Iterator<Item = &'a Value> {
        let pod = self.pod();
        list(&pod["initContainers"]).iter().chain(list(&pod["containers"]))
    }

    /// The service account of the Pod; `default` when none is named.
    pub(super) fn service_account(&self) -> &'a str {
        match text(&self.pod()["serviceAccountName"]) {
            "" => "default",
            name => name,
        }
    }
}
