//! The image that a release image stands on: looked through once, so that readers need not.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;

use lockstep_api::names::{annotation, file, label};

use super::BuildError;
use super::image::{Format, Foundation, manifests_layer};
use crate::image::{Content, Descriptor};
use crate::layer::{Layer, Next, walk};
use crate::open::{Image, Layers, ReadError};
use crate::platform::{Platform, PlatformFilter};
use crate::store::{Store, Which};

/// The operating system of entries of a list that are no images: attestations.
const NO_SYSTEM: &str = "unknown";

/// One base, ready to be built on.
#[derive(Debug, Clone)]
pub struct Base {
    /// Its layers and its configuration.
    pub foundation: Foundation,
    /// Where its layers are.
    pub store: Option<Store>,
    /// Layers of it that only exist in memory.
    pub own: Vec<Layer>,
    /// For which platform it is, in a list.
    pub platform: Option<Platform>,
}

/// All bases of a release: one, or one for each platform.
#[derive(Debug, Clone)]
pub struct Bases {
    /// At least one.
    pub all: Vec<Base>,
    /// The format of the list, when the release becomes one.
    pub list: Option<Format>,
    /// `manifests/` of the first.
    pub manifests: BTreeMap<String, Bytes>,
}

// === impl Bases ===

impl Bases {
    /// No base: the release image has one layer.
    pub fn none() -> Self {
        let base = Base { foundation: Foundation::nothing(), store: None, own: Vec::new(), platform: None };
        Self { all: vec![base], list: None, manifests: BTreeMap::new() }
    }

    /// A base that holds nothing but these files as `manifests/`.
    pub fn of_manifests(manifests: BTreeMap<String, Bytes>, modified: u64) -> Self {
        if manifests.is_empty() {
            return Self::none();
        }
        let layer =
            manifests_layer(manifests.iter().map(|(name, bytes)| (name.as_str(), &bytes[..])), modified);
        let foundation = Foundation::nothing().with_layer(&layer, file::MANIFESTS);
        let base = Base { foundation, store: None, own: vec![layer], platform: None };
        Self { all: vec![base], list: None, manifests }
    }

    /// An image, or every image of a list.
    pub async fn of_image(image: Image, keep_list: bool) -> Result<Self, BuildError> {
        let (list, images) = match (&image.list, keep_list) {
            (Some(list), true) => (
                Some(Format::of(&list.media_type)),
                children(&image.store, &list.content().map_err(ReadError::from)?).await?,
            ),
            _ => (None, vec![(None, image)]),
        };
        let mut all = Vec::new();
        let mut manifests = BTreeMap::new();
        for (index, (platform, image)) in images.into_iter().enumerate() {
            let image = marked(image).await?;
            if index == 0 {
                manifests = manifests_of(&image).await?;
            }
            all.push(Base {
                foundation: foundation(&image)?,
                store: Some(image.store),
                own: Vec::new(),
                platform,
            });
        }
        if all.is_empty() {
            return Err(BuildError::Refused("the base image is a list of no images".to_owned()));
        }
        Ok(Self { all, list, manifests })
    }
}

async fn children(store: &Store, content: &Content) -> Result<Vec<(Option<Platform>, Image)>, BuildError> {
    let Content::Index(index) = content else { return Ok(Vec::new()) };
    let any = PlatformFilter::parse("").map_err(ReadError::from)?;
    let mut found = Vec::new();
    for entry in &index.manifests {
        if entry.platform.as_ref().is_some_and(|platform| platform.os == NO_SYSTEM) {
            continue;
        }
        let image = Image::open(store, &Which::Digest(entry.digest.clone()), &any).await?;
        found.push((entry.platform.clone(), image));
    }
    Ok(found)
}

/// Says on each layer which folders of a release it holds; below a mark everything is said already.
async fn marked(mut image: Image) -> Result<Image, BuildError> {
    let mut layers = image.manifest.layers.clone();
    let last_mark = layers.iter().rposition(|layer| layer.annotations.contains_key(annotation::HOLDS));
    for layer in layers.iter_mut().skip(last_mark.map_or(0, |at| at + 1)) {
        let held = held(&image.store, layer).await?;
        if !held.is_empty() {
            let held = held.into_iter().collect::<Vec<_>>().join(",");
            layer.annotations.insert(annotation::HOLDS.to_owned(), held);
        }
    }
    image.manifest.layers = layers;
    Ok(image)
}

/// The folders of a release that a layer adds to or takes from.
async fn held(store: &Store, layer: &Descriptor) -> Result<BTreeSet<&'static str>, ReadError> {
    const FOLDERS: [&str; 2] = [file::MANIFESTS, file::RELEASE_MANIFESTS];
    walk(store, layer, BTreeSet::new(), |found, entry, _| {
        let first = entry.path.split('/').next().unwrap_or_default();
        let first = first.strip_prefix(".wh.").unwrap_or(first);
        found.extend(FOLDERS.into_iter().find(|folder| *folder == first));
        // An opaque root takes both.
        if entry.path == ".wh..wh..opq" {
            found.extend(FOLDERS);
        }
        Ok(if found.len() == FOLDERS.len() { Next::Stop } else { Next::Continue })
    })
    .await
}

async fn manifests_of(image: &Image) -> Result<BTreeMap<String, Bytes>, BuildError> {
    let is_marked = |layer: &Descriptor| layer.annotations.contains_key(annotation::HOLDS);
    if !image.manifest.layers.iter().any(is_marked) {
        return Ok(BTreeMap::new());
    }
    let files = image.folder(file::MANIFESTS, Layers::All).await?;
    Ok(files.into_iter().map(|(name, file)| (name, file.bytes)).collect())
}

/// What is built on: a release of ours gives its base back, anything else is taken as it is.
fn foundation(image: &Image) -> Result<Foundation, BuildError> {
    let mut layers = image.manifest.layers.clone();
    let mut diff_ids = image.config.diff_ids.clone();
    if layers.len() != diff_ids.len() {
        let why = format!(
            "the base image {} has {} layers, but its configuration names {}",
            image.raw.digest,
            layers.len(),
            diff_ids.len()
        );
        return Err(BuildError::Refused(why));
    }
    let mut digest = Some(image.raw.digest.to_string());
    let holds = layers.last().and_then(|layer| layer.annotations.get(annotation::HOLDS));
    if holds.is_some_and(|holds| holds == file::RELEASE_MANIFESTS) {
        layers.pop();
        diff_ids.pop();
        digest = image.config.labels.get(label::IMAGE_RELEASE_BASE_DIGEST).cloned();
    }
    let format = Format::of(&image.raw.media_type);
    Ok(Foundation { format, layers, diff_ids, config: image.config.raw.clone(), digest })
}
