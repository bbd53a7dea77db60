//! Single files of an image, wherever in its layers they are.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;

use super::ReadError;
use super::image::{Image, LayerFile, OPAQUE, WHITEOUT, read};
use crate::layer::Entry;
use crate::layer::read::{EntryKind, Next, normalise, walk};

/// How many links may be followed to a file.
const MOST_LINKS: usize = 8;
/// Largest program that is taken out of an image, in bytes.
const MAX_PROGRAM_BYTES: u64 = 2 * 1024 * 1024 * 1024;

/// What the layers say about a path, as far as they were read.
enum FileView {
    Silent,
    Found(LayerFile),
    Elsewhere(String),
    Hidden,
}

// === impl Image ===

impl Image {
    /// One file of the image; links inside the image are followed. Layers below the one that has it are not fetched.
    pub async fn file(&self, path: &str) -> Result<Option<LayerFile>, ReadError> {
        Ok(self.files(&[path]).await?.pop().flatten())
    }

    /// Some files of the image, in the order of the paths.
    ///
    /// Each layer is fetched at most once for all of them, from the top, until every path is decided. A link whose
    /// target is none of the paths takes another round: the target may be in a layer above.
    pub async fn files(&self, paths: &[&str]) -> Result<Vec<Option<LayerFile>>, ReadError> {
        let wanted = paths.iter().map(|path| normalise(path)).collect::<Result<Vec<String>, _>>()?;
        let mut known = BTreeMap::new();
        let mut open: BTreeSet<String> = wanted.iter().cloned().collect();
        while !open.is_empty() {
            known.extend(self.look_for(open).await?);
            let ends = wanted.iter().map(|path| self.end_of_links(&known, path));
            let ends = ends.collect::<Result<Vec<&str>, _>>()?;
            open = ends.into_iter().filter(|end| !known.contains_key(*end)).map(str::to_owned).collect();
        }
        let file = |path: &String| {
            Ok(match known.get(self.end_of_links(&known, path)?) {
                Some(FileView::Found(file)) => Some(file.clone()),
                _ => None,
            })
        };
        wanted.iter().map(file).collect()
    }

    /// Where the links that are known lead to.
    fn end_of_links<'a>(
        &self,
        known: &'a BTreeMap<String, FileView>,
        path: &'a str,
    ) -> Result<&'a str, ReadError> {
        let mut end = path;
        for _ in 0..MOST_LINKS {
            match known.get(end) {
                Some(FileView::Elsewhere(next)) => end = next,
                _ => return Ok(end),
            }
        }
        Err(ReadError::Refused(format!("{}: {path} is a link in a circle", self.store.name())))
    }

    /// What the image says about some paths, without following links.
    async fn look_for(&self, paths: BTreeSet<String>) -> Result<BTreeMap<String, FileView>, ReadError> {
        let mut decided = BTreeMap::new();
        let mut open: BTreeMap<String, FileView> =
            paths.into_iter().map(|path| (path, FileView::Silent)).collect();
        for layer in self.manifest.layers.iter().rev() {
            if open.is_empty() {
                break;
            }
            let views = walk(&self.store, layer, open, |views, entry, content| {
                for (path, view) in views.iter_mut().filter(|(_, view)| !view.is_final()) {
                    view.take(path, entry, content)?;
                }
                Ok(if views.values().all(FileView::is_final) { Next::Stop } else { Next::Continue })
            })
            .await?;
            let is_open = |(_, view): &(String, FileView)| matches!(view, FileView::Silent);
            let (silent, spoken): (BTreeMap<_, _>, BTreeMap<_, _>) = views.into_iter().partition(is_open);
            open = silent;
            decided.extend(spoken);
        }
        decided.extend(open);
        Ok(decided)
    }
}

// === impl FileView ===

impl FileView {
    /// Whether nothing else in the layer matters.
    ///
    /// NB: what a layer hides is below it; the file may still come in this very layer.
    fn is_final(&self) -> bool {
        matches!(self, Self::Found(_) | Self::Elsewhere(_))
    }

    /// Takes what an entry says about a path.
    fn take(&mut self, path: &str, entry: &Entry, content: &mut dyn Read) -> Result<(), ReadError> {
        if entry.path == path {
            *self = match &entry.kind {
                EntryKind::File => Self::Found(read(entry.size, MAX_PROGRAM_BYTES, entry, content)?),
                EntryKind::Symlink(target) => Self::Elsewhere(resolve(path, target)?),
                EntryKind::HardLink(target) => Self::Elsewhere(normalise(target)?),
                EntryKind::Directory | EntryKind::Other => Self::Hidden,
            };
            return Ok(());
        }
        let below = path.strip_prefix(&entry.path).and_then(|rest| rest.strip_prefix('/'));
        if let (EntryKind::Symlink(target), Some(rest)) = (&entry.kind, below) {
            *self = Self::Elsewhere(format!("{}/{rest}", resolve(&entry.path, target)?));
        } else if hides(&entry.path, path) {
            *self = Self::Hidden;
        }
        Ok(())
    }
}

/// Whether an entry says that a path of the layers below is not there.
fn hides(entry: &str, wanted: &str) -> bool {
    let (folder, name) = entry.rsplit_once('/').unwrap_or(("", entry));
    let Some(hidden) = name.strip_prefix(WHITEOUT) else { return false };
    let is_below = |folder: &str| {
        folder.is_empty() || wanted.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
    };
    if name == OPAQUE {
        return is_below(folder);
    }
    let hidden = if folder.is_empty() { hidden.to_owned() } else { format!("{folder}/{hidden}") };
    wanted == hidden || is_below(&hidden)
}

/// Where a link points to, as a path of the image.
fn resolve(link: &str, target: &str) -> Result<String, ReadError> {
    let mut parts: Vec<&str> = Vec::new();
    if !target.starts_with('/') {
        parts.extend(link.split('/'));
        parts.pop();
    }
    for part in target.split('/').filter(|part| !part.is_empty() && *part != ".") {
        if part == ".." {
            parts.pop().ok_or_else(|| {
                ReadError::Refused(format!("the link {link:?} points to {target:?}, outside of the image"))
            })?;
        } else {
            parts.push(part);
        }
    }
    Ok(parts.join("/"))
}
