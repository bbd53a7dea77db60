//! Component images: what their labels say of them, and the manifests that they bring.

use std::collections::BTreeMap;

use futures::{StreamExt as _, TryStreamExt as _, stream};

use lockstep_api::names::{annotation, file, label};

use super::assemble::{Component, SourceFile};
use super::request::Lookup;
use super::stream::{Stream, Tag};
use super::{BuildError, versions};
use crate::image::ImageConfig;
use crate::location::Location;
use crate::open::{Image, Layers};
use crate::platform::PlatformFilter;
use crate::reference::PullSpec;
use crate::store::{self, Store, Which};

/// The tag that is meant when a pull spec names none.
const DEFAULT_TAG: &str = "latest";
/// The images of which the manifests are taken when a release is for several platforms: they are the same in all.
const MANIFESTS_PLATFORM: &str = "^linux/amd64$";

/// What looking at the images gave.
#[derive(Debug, Default)]
pub struct Loaded {
    /// Components that bring manifests.
    pub components: Vec<Component>,
    /// What helps to follow the build.
    pub notes: Vec<String>,
    /// What looks wrong.
    pub warnings: Vec<String>,
}

/// Looks at the images of all tags: pull specs become those by digest, labels become annotations, manifests are taken from
/// the images that bring some.
pub async fn load(stream: &mut Stream, lookup: &Lookup) -> Result<Loaded, BuildError> {
    if stream.tags.is_empty() {
        let why = "no component images defined, unable to build a release payload".to_owned();
        return Err(BuildError::Usage(why));
    }
    let tags = std::mem::take(&mut stream.tags);
    let found: Vec<Looked> = stream::iter(tags)
        .map(|tag| look(tag, lookup))
        .buffered(lookup.parallel.max(1))
        .try_collect()
        .await?;
    let mut loaded = Loaded::default();
    for looked in found {
        loaded.notes.extend(looked.note);
        loaded.warnings.extend(looked.warning);
        loaded.components.extend(looked.component);
        stream.tags.push(looked.tag);
    }
    Ok(loaded)
}

struct Looked {
    tag: Tag,
    component: Option<Component>,
    note: Option<String>,
    warning: Option<String>,
}

async fn look(mut tag: Tag, lookup: &Lookup) -> Result<Looked, BuildError> {
    let Some(pull_spec) = tag.pull_spec().map(str::to_owned) else {
        return Ok(Looked { tag, component: None, note: None, warning: None });
    };
    let image = lookup.image(&tag.name, &pull_spec).await?;
    let digest = if lookup.keep_manifest_list { image.digest() } else { &image.raw.digest };
    let spec = PullSpec::parse(&pull_spec).map_err(|error| BuildError::Refused(error.to_string()))?;
    let is_override = tag.is_override();
    let name = tag.name.clone();
    let exact = Tag::image(&name, &spec.with_digest(digest).to_string());
    let notes = annotations(&name, &image.config)?;
    tag.annotations.get_or_insert_default().extend(notes);
    tag.from = exact.from;

    let operator =
        image.config.labels.get(label::IMAGE_RELEASE_OPERATOR).map(String::as_str).unwrap_or_default();
    if operator.is_empty() {
        return Ok(Looked { tag, component: None, note: None, warning: None });
    }
    let warning = (operator != "true").then(|| {
        format!(
            "the image {name} has the label {}={operator:?}; `true` is meant",
            label::IMAGE_RELEASE_OPERATOR
        )
    });
    // Somebody who replaces an image may have put layers on the one with the manifests.
    let layers = if is_override { Layers::All } else { Layers::Top };
    let files = image.folder(file::MANIFESTS, layers).await?;
    let files = files
        .into_iter()
        .map(|(name, file)| (name, SourceFile { bytes: file.bytes, modified: Some(file.modified) }))
        .collect();
    let note = if is_override {
        format!("Loading override {pull_spec} {name}")
    } else {
        format!("Loading {} {name}", image.digest())
    };
    Ok(Looked { tag, component: Some(Component { name, files }), note: Some(note), warning })
}

/// What the labels of an image become on its tag.
fn annotations(tag: &str, config: &ImageConfig) -> Result<BTreeMap<String, String>, BuildError> {
    let text = |key: &str| config.labels.get(key).cloned().unwrap_or_default();
    let always =
        [annotation::BUILD_COMMIT_ID, annotation::BUILD_COMMIT_REF, annotation::BUILD_SOURCE_LOCATION];
    let mut found: BTreeMap<String, String> = always.map(|key| (key.to_owned(), text(key))).into();
    let (label, names) = (text(annotation::BUILD_VERSIONS), text(annotation::BUILD_VERSION_DISPLAY_NAMES));
    if !label.is_empty() {
        versions::check_labels(tag, &label, &names).map_err(|why| {
            BuildError::Refused(format!("unable to check whether to include image {tag}: {why}"))
        })?;
        found.insert(annotation::BUILD_VERSIONS.to_owned(), label);
        found.insert(annotation::BUILD_VERSION_DISPLAY_NAMES.to_owned(), names);
    }
    Ok(found)
}

// === impl Lookup ===

impl Lookup {
    /// Opens the image that a pull spec names: in the registry, or in the place that was given instead.
    pub async fn image(&self, tag: &str, pull_spec: &str) -> Result<Image, BuildError> {
        let spec = PullSpec::parse(pull_spec)
            .map_err(|error| BuildError::Refused(format!("the image of the tag {tag}: {error}")))?;
        let filter = match (self.keep_manifest_list, PlatformFilter::parse(MANIFESTS_PLATFORM)) {
            (true, Ok(filter)) => filter,
            _ => self.filter.clone(),
        };
        let (store, which) = if let Some(location) = &self.images_from {
            let (store, _) = store::open(location, &self.registries).await?;
            let which = find(&store, tag, &spec).await?;
            let missing = || format!("the image of the tag {tag}, {pull_spec}, is not in {}", store.name());
            let which = which.ok_or_else(|| BuildError::Refused(missing()))?;
            (store, which)
        } else {
            let (store, which) = store::open(&Location::Registry(spec), &self.registries).await?;
            (store, which.unwrap_or_else(|| Which::Tag(DEFAULT_TAG.to_owned())))
        };
        let opened = Image::open(&store, &which, &filter).await;
        opened.map_err(|error| {
            BuildError::Refused(format!(
                "the image of the tag {tag}, {pull_spec}, cannot be read: {error}; where there is no network, give the place \
                 that holds the images with --images-from"
            ))
        })
    }
}

/// An image in a layout or archive: by digest, by the whole pull spec, or by the name of the component.
async fn find(store: &Store, tag: &str, spec: &PullSpec) -> Result<Option<Which>, BuildError> {
    let candidates = match &spec.digest {
        Some(digest) => vec![Which::Digest(digest.clone())],
        None => vec![Which::Tag(spec.to_string()), Which::Tag(tag.to_owned())],
    };
    for which in candidates {
        if store.find(&which).await?.is_some() {
            return Ok(Some(which));
        }
    }
    Ok(None)
}
