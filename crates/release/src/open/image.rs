//! One image: its manifest, its configuration, and the files in its layers.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;

use bytes::Bytes;

use lockstep_api::names::annotation;
use lockstep_payload::limits::{MAX_FILE_BYTES, MAX_FILES, MAX_RELEASE_BYTES};

use super::ReadError;
use crate::digest::Digest;
use crate::image::{Content, Descriptor, ImageConfig, ImageManifest, MAX_CONFIG_BYTES, RawManifest};
use crate::layer::read::{EntryKind, Next, walk};
use crate::platform::PlatformFilter;
use crate::store::{Store, Which};

/// How deep lists may stand in lists.
const MOST_LISTS: usize = 3;
/// What the name of a file that hides another one begins with.
pub(super) const WHITEOUT: &str = ".wh.";
/// The name of a file that hides everything below its folder.
pub(super) const OPAQUE: &str = ".wh..wh..opq";

/// An image whose manifest and configuration were read.
#[derive(Debug, Clone)]
pub struct Image {
    /// Where it is.
    pub store: Store,
    /// The list that it was chosen from.
    pub list: Option<RawManifest>,
    /// Its manifest as it was received.
    pub raw: RawManifest,
    /// Its manifest.
    pub manifest: ImageManifest,
    /// Its configuration.
    pub config: ImageConfig,
}

/// A file of an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LayerFile {
    /// Content.
    pub bytes: Bytes,
    /// Permissions.
    pub mode: u32,
    /// When it was changed last, in seconds since 1970.
    pub modified: u64,
}

/// Which layers are looked into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layers {
    /// Only the last one.
    Top,
    /// From the top, until a file of this name is found.
    Until(&'static str),
    /// From the top, all that can add something.
    All,
}

/// What one layer says about a folder.
#[derive(Default)]
struct FolderView {
    files: BTreeMap<String, LayerFile>,
    hidden: BTreeSet<String>,
    hides_all: bool,
    bytes: u64,
}

// === impl Image ===

impl Image {
    /// Reads the manifest and the configuration of an image; of a list, the first image that is wanted.
    pub async fn open(store: &Store, which: &Which, filter: &PlatformFilter) -> Result<Self, ReadError> {
        let mut raw = store.manifest(which).await?;
        let mut list: Option<RawManifest> = None;
        let mut seen = BTreeSet::from([raw.digest.clone()]);
        let manifest = loop {
            match raw.content()? {
                Content::Image(manifest) => break manifest,
                Content::Index(index) => {
                    let chosen = filter.choose(&index)?[0].clone();
                    if !seen.insert(chosen.digest.clone()) || seen.len() > MOST_LISTS {
                        let text = format!(
                            "{}: the manifest list {} points to itself or to lists in lists",
                            store.name(),
                            raw.digest
                        );
                        return Err(ReadError::Refused(text));
                    }
                    let next = store.manifest(&Which::Digest(chosen.digest.clone())).await?;
                    if next.bytes.len() as u64 != chosen.size {
                        let text = format!(
                            "{}: the manifest {} has {} bytes, and the manifest list {} that points to it says {}",
                            store.name(),
                            chosen.digest,
                            next.bytes.len(),
                            raw.digest,
                            chosen.size
                        );
                        return Err(ReadError::Refused(text));
                    }
                    list.get_or_insert(raw);
                    raw = next;
                }
            }
        };
        let config = store.read_small(&manifest.config, MAX_CONFIG_BYTES).await?;
        let config = ImageConfig::read(&config).map_err(|error| {
            let digest = &manifest.config.digest;
            ReadError::Refused(format!(
                "{}: the configuration {digest} cannot be read: {error}",
                store.name()
            ))
        })?;
        Ok(Self { store: store.clone(), list, raw, manifest, config })
    }

    /// The digest that a pull spec of it has: that of the list, when it came from one.
    pub fn digest(&self) -> &Digest {
        &self.list.as_ref().unwrap_or(&self.raw).digest
    }

    /// The layers, top first, that may hold a folder: those that are marked so, and those above all marks, which somebody
    /// added later; all when none is marked.
    fn layers_of(&self, folder: &str) -> Vec<&Descriptor> {
        let holds = |layer: &Descriptor| layer.annotations.get(annotation::HOLDS).cloned();
        let names_it = |names: String| names.split(',').any(|name| name == folder);
        let mut is_below_a_mark = false;
        let mut layers = Vec::new();
        for layer in self.manifest.layers.iter().rev() {
            let mark = holds(layer);
            is_below_a_mark |= mark.is_some();
            if mark.map_or(!is_below_a_mark, names_it) {
                layers.push(layer);
            }
        }
        layers
    }

    /// How many bytes of layers have to be fetched for a folder, at most.
    pub fn weight_of(&self, folder: &str) -> u64 {
        self.layers_of(folder).iter().map(|layer| layer.size).fold(0, u64::saturating_add)
    }

    /// The regular files directly in a folder; upper layers win, and what they hide is not there.
    ///
    /// # Errors
    /// A link in the folder: what it points to would be left out or taken from elsewhere, and nobody would notice.
    pub async fn folder(
        &self,
        folder: &str,
        layers: Layers,
    ) -> Result<BTreeMap<String, LayerFile>, ReadError> {
        let mut all = FolderView::default();
        let candidates = match layers {
            Layers::Top => self.manifest.layers.last().into_iter().collect(),
            Layers::Until(_) | Layers::All => self.layers_of(folder),
        };
        for layer in candidates {
            let view = FolderView { bytes: all.bytes, ..FolderView::default() };
            let prefix = folder.to_owned();
            let view = walk(&self.store, layer, view, move |view, entry, content| {
                view.take(&prefix, entry, content)?;
                Ok(Next::Continue)
            })
            .await?;
            all.add_below(view);
            let is_complete = matches!(layers, Layers::Until(name) if all.files.contains_key(name));
            if all.hides_all || is_complete {
                break;
            }
        }
        Ok(all.files)
    }
}

/// The content of a regular file that has at most so many bytes.
pub(super) fn read(
    size: u64,
    limit: u64,
    entry: &crate::layer::Entry,
    content: &mut dyn Read,
) -> Result<LayerFile, ReadError> {
    if size > limit {
        let text =
            format!("{} has {size} bytes, more than the {limit} that such a file may have", entry.path);
        return Err(ReadError::Refused(text));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or_default().min(1 << 20));
    content.take(limit).read_to_end(&mut bytes)?;
    if bytes.len() as u64 != size {
        let text = format!("{} ends after {} of {size} bytes", entry.path, bytes.len());
        return Err(ReadError::Refused(text));
    }
    Ok(LayerFile { bytes: bytes.into(), mode: entry.mode, modified: entry.modified })
}

// === impl FolderView ===

impl FolderView {
    /// Takes what an entry says about the folder.
    fn take(
        &mut self,
        folder: &str,
        entry: &crate::layer::Entry,
        content: &mut dyn Read,
    ) -> Result<(), ReadError> {
        let is_link = matches!(entry.kind, EntryKind::Symlink(_) | EntryKind::HardLink(_));
        if entry.path == folder && is_link {
            return Err(ReadError::Refused(format!("the folder {folder} is a link; it has to be a folder")));
        }
        if entry.path == format!("{WHITEOUT}{folder}") {
            self.hides_all = true;
        }
        let name = entry.path.strip_prefix(folder).and_then(|rest| rest.strip_prefix('/'));
        let Some(name) = name.filter(|name| !name.contains('/')) else { return Ok(()) };
        if name == OPAQUE {
            self.hides_all = true;
        } else if let Some(hidden) = name.strip_prefix(WHITEOUT) {
            self.hidden.insert(hidden.to_owned());
        } else if is_link {
            let text = format!("{} is a link; a release has regular files only", entry.path);
            return Err(ReadError::Refused(text));
        } else if entry.kind == EntryKind::File {
            self.bytes += entry.size;
            if self.files.len() == MAX_FILES || self.bytes > MAX_RELEASE_BYTES {
                let text = format!("{folder} has more than {MAX_FILES} files or {MAX_RELEASE_BYTES} bytes");
                return Err(ReadError::Refused(text));
            }
            self.files.insert(name.to_owned(), read(entry.size, MAX_FILE_BYTES, entry, content)?);
        }
        Ok(())
    }

    /// Puts a layer under those that were read.
    fn add_below(&mut self, below: Self) {
        for (name, file) in below.files {
            if !self.hidden.contains(&name) {
                self.files.entry(name).or_insert(file);
            }
        }
        self.hidden.extend(below.hidden);
        self.hides_all |= below.hides_all;
        self.bytes = below.bytes;
    }
}

#[cfg(test)]
#[path = "image_tests.rs"]
mod tests;
