//! What somebody asks for when a release is built.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::input::ReferenceMode;
use super::mapping::Mappings;
use crate::location::Location;
use crate::platform::PlatformFilter;
use crate::store::Registries;

/// The tag that releases stand on, and that is never dropped.
pub const BASE_TAG: &str = "cluster-version-operator";

/// Where manifests and images come from.
#[derive(Debug, Clone)]
pub enum Source {
    /// Only what the mappings name.
    Mappings,
    /// A folder with one folder for each operator.
    Folder(PathBuf),
    /// An image stream.
    Stream {
        /// The file.
        bytes: Vec<u8>,
        /// Which pull specs are recorded.
        mode: ReferenceMode,
    },
    /// A release that exists.
    Release(Location),
}

/// What the release image stands on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BaseChoice {
    /// The tag [`BASE_TAG`], or the base of the release that is changed; nothing when `is_optional` and there is none.
    Default {
        /// Whether a release without a base is fine.
        is_optional: bool,
    },
    /// Nothing.
    None,
    /// A tag of the input, or an image.
    Named(String),
}

/// How images are looked up.
#[derive(Debug, Clone)]
pub struct Lookup {
    /// The registries.
    pub registries: Registries,
    /// A layout or archive that is asked instead of registries.
    pub images_from: Option<Location>,
    /// Which image of a list.
    pub filter: PlatformFilter,
    /// Whether the release is for all platforms of its images.
    pub keep_manifest_list: bool,
    /// How many images are looked at side by side.
    pub parallel: usize,
}

/// A release that is wanted.
#[derive(Debug, Clone)]
pub struct Request {
    /// Where manifests and images come from.
    pub source: Source,
    /// Images that are added or replaced.
    pub mappings: Mappings,
    /// Names that are left out of every input.
    pub exclude: BTreeSet<String>,
    /// Tags that stay although nobody names them.
    pub include: BTreeSet<String>,
    /// The version.
    pub name: Option<String>,
    /// Versions from which it can be reached.
    pub previous: Option<Vec<String>>,
    /// Versions that can be reached from it.
    pub next: Option<Vec<String>>,
    /// More metadata, as JSON.
    pub metadata: Option<String>,
    /// Where people read about it.
    pub url: Option<String>,
    /// Channels.
    pub channels: Vec<String>,
    /// Default component versions.
    pub component_versions: String,
    /// Their display names.
    pub display_names: String,
    /// What the release image stands on.
    pub base: BaseChoice,
    /// What comes before component and file name of a file without run level.
    pub prefix: String,
    /// Whether operators may name images that there are not.
    pub allow_missing_images: bool,
    /// Whether images that no operator declares are only warnings.
    pub allow_undeclared_images: bool,
    /// Whether the content of manifests is not checked.
    pub skip_manifest_check: bool,
    /// When it was made, in seconds since 1970.
    pub created: Option<u64>,
}

// === impl Request ===

impl Request {
    /// A request with nothing but a source.
    pub fn new(source: Source) -> Self {
        Self {
            source,
            mappings: Mappings::default(),
            exclude: BTreeSet::new(),
            include: BTreeSet::new(),
            name: None,
            previous: None,
            next: None,
            metadata: None,
            url: None,
            channels: Vec::new(),
            component_versions: String::new(),
            display_names: String::new(),
            base: BaseChoice::Default { is_optional: false },
            prefix: super::naming::DEFAULT_PREFIX.to_owned(),
            allow_missing_images: false,
            allow_undeclared_images: false,
            skip_manifest_check: false,
            created: None,
        }
    }

    /// Whether manifests have to be made anew: something that is written into them changes.
    pub(super) fn changes_manifests(&self, name: &str) -> bool {
        !self.mappings.images.is_empty()
            || !self.exclude.is_empty()
            || !self.include.is_empty()
            || !self.component_versions.is_empty()
            || self.prefix != super::naming::DEFAULT_PREFIX
            || self.name.as_ref().or(self.mappings.version.as_ref()).is_some_and(|wanted| wanted != name)
    }

    /// Whether `release-metadata` changes.
    pub(super) fn changes_metadata(&self) -> bool {
        self.previous.is_some()
            || self.next.is_some()
            || self.metadata.is_some()
            || self.url.is_some()
            || !self.channels.is_empty()
    }
}
