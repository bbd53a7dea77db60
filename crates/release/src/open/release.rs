//! A release as files, from a folder, a layout, an archive or a registry.

use lockstep_api::names::{file, label};
use lockstep_payload::{DiskFiles, Files, Folder, MemoryFiles};

use super::ReadError;
use super::image::{Image, LayerFile, Layers};
use crate::location::Location;
use crate::platform::PlatformFilter;
use crate::reference::PullSpec;
use crate::store::{self, Registries, Store, Which};

/// The tag that is meant when a pull spec names none.
const DEFAULT_TAG: &str = "latest";

/// An opened release.
pub struct OpenRelease {
    /// What to call it in messages.
    pub name: String,
    /// Where it is.
    pub location: Location,
    /// Its files, as far as they were wanted.
    pub files: Box<dyn Files + Send>,
    /// Its image; a folder has none.
    pub image: Option<Image>,
    left_out: Option<u64>,
}

// === impl OpenRelease ===

impl OpenRelease {
    /// The pull spec, by digest, of a release in a registry.
    pub fn pull_spec(&self) -> Option<PullSpec> {
        match (&self.location, &self.image) {
            (Location::Registry(spec), Some(image)) => Some(spec.with_digest(image.digest())),
            _ => None,
        }
    }

    /// Bytes of layers that were not fetched although they may hold manifests of the operator itself.
    pub fn left_out(&self) -> Option<u64> {
        self.left_out
    }
}

/// Which files of a release are wanted: nothing else is fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wanted {
    /// Both folders.
    Everything,
    /// What the release was made of, without the manifests of the operator itself.
    ReleaseManifests,
    /// Both folders, unless the second would take more than this many bytes.
    EverythingWithin(u64),
}

/// Opens a release.
///
/// Layers are read from the top; one that is marked to hold a folder is the only one that is fetched for it.
pub async fn release(
    location: &Location,
    registries: &Registries,
    filter: &PlatformFilter,
    wanted: Wanted,
) -> Result<OpenRelease, ReadError> {
    if let Location::Folder(path) = location {
        let files = DiskFiles::open(path)?;
        return Ok(OpenRelease {
            name: files.name(),
            location: location.clone(),
            files: Box::new(files),
            image: None,
            left_out: None,
        });
    }
    let (store, which) = store::open(location, registries).await?;
    let which = match (which, &store) {
        (Some(which), _) => which,
        (None, Store::Registry(_)) => Which::Tag(DEFAULT_TAG.to_owned()),
        (None, Store::Layout(_) | Store::Archive(_)) => only_release(&store).await?,
    };
    let image = Image::open(&store, &which, filter).await?;
    let name = location.to_string();
    let (files, left_out) = files(&image, &name, &wanted).await?;
    Ok(OpenRelease { name, location: location.clone(), files: Box::new(files), image: Some(image), left_out })
}

/// The files, and how many bytes were too many to fetch.
async fn files(image: &Image, name: &str, wanted: &Wanted) -> Result<(MemoryFiles, Option<u64>), ReadError> {
    let mut files = MemoryFiles::new(name);
    let payload = image.folder(file::RELEASE_MANIFESTS, Layers::Until(file::IMAGE_REFERENCES)).await?;
    if !payload.contains_key(file::IMAGE_REFERENCES) {
        let text =
            format!("{name}: release image did not contain an image-references file; is it a release?");
        return Err(ReadError::Refused(text));
    }
    files = add(files, Folder::ReleaseManifests, payload);
    let weight = image.weight_of(file::MANIFESTS);
    match wanted {
        Wanted::EverythingWithin(bytes) if weight > *bytes => return Ok((files, Some(weight))),
        Wanted::ReleaseManifests => {}
        Wanted::Everything | Wanted::EverythingWithin(_) => {
            files = add(files, Folder::Manifests, image.folder(file::MANIFESTS, Layers::All).await?);
        }
    }
    Ok((files, None))
}

fn add(
    files: MemoryFiles,
    folder: Folder,
    found: std::collections::BTreeMap<String, LayerFile>,
) -> MemoryFiles {
    found.into_iter().fold(files, |files, (name, file)| files.with(folder, name, file.bytes.to_vec()))
}

/// The only image in a layout or archive, or the only one of several that is a release.
async fn only_release(store: &Store) -> Result<Which, ReadError> {
    let tags = store.tags().await?;
    if let [tag] = tags.as_slice() {
        return Ok(Which::Tag(tag.clone()));
    }
    let mut releases = Vec::new();
    for tag in &tags {
        let which = Which::Tag(tag.clone());
        // A list of releases is found through any of its images.
        let any = PlatformFilter::parse("")?;
        let image = Image::open(store, &which, &any).await;
        if image.is_ok_and(|image| image.config.labels.contains_key(label::IMAGE_RELEASE)) {
            releases.push(tag.clone());
        }
    }
    match releases.as_slice() {
        [tag] => Ok(Which::Tag(tag.clone())),
        [] if tags.is_empty() => {
            Err(ReadError::Refused(format!("{} holds no image with a name", store.name())))
        }
        [] => {
            let text = format!("{} holds no release; its images are {}", store.name(), tags.join(", "));
            Err(ReadError::Refused(text))
        }
        several => {
            let text = format!(
                "{} holds {} releases; say which with `{}:TAG`: {}",
                store.name(),
                several.len(),
                store.name(),
                several.join(", ")
            );
            Err(ReadError::Refused(text))
        }
    }
}
