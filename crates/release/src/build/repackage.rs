//! A release that exists, as it is: its files are not made anew.

use std::collections::BTreeMap;

use bytes::Bytes;

use lockstep_payload::{Folder, metadata as consumer};

use super::BuildError;
use super::assemble::{Payload, PayloadFile, rfc3339};
use super::base::Bases;
use super::metadata::Metadata;
use super::output::Prepared;
use super::prepare::{SPECIAL, bases, metadata, seconds, special};
use super::request::{BaseChoice, Lookup, Request};
use super::stream::Stream;
use crate::open::{OpenRelease, ReadError};

/// What the two special files of a release say.
pub struct Old {
    /// `image-references`.
    pub stream: Stream,
    /// `release-metadata`.
    pub metadata: Metadata,
}

/// Reads the two special files.
pub fn read(opened: &OpenRelease) -> Result<Old, BuildError> {
    let [images, metadata] = SPECIAL;
    let refused = |what: &str, why: String| {
        BuildError::Refused(format!("{}: unable to load {what} from release contents: {why}", opened.name))
    };
    let stream =
        Stream::read(&special(opened, images)?).map_err(|error| refused(images, error.to_string()))?;
    let found =
        consumer::read(&special(opened, metadata)?).map_err(|error| refused(metadata, error.to_string()))?;
    let metadata = Metadata {
        version: found.version.to_string(),
        previous: found.previous,
        next: found.next,
        metadata: found.metadata,
    };
    Ok(Old { stream, metadata })
}

/// Makes a release with the manifests of another one.
///
/// With nothing to change, an image is copied and a folder becomes an image with two layers: `manifests/` and
/// `release-manifests/`. Other metadata or another base change just these.
pub(super) async fn repackage(
    request: &Request,
    lookup: &Lookup,
    opened: OpenRelease,
    old: Old,
) -> Result<Prepared, BuildError> {
    let [images, release_metadata] = SPECIAL;
    let created = request.created.or_else(|| seconds(old.stream.created.as_deref()?)).unwrap_or_default();
    let mut payload = Payload {
        name: old.metadata.version.clone(),
        created,
        image_references: special(&opened, images)?.into(),
        release_metadata: special(&opened, release_metadata)?.into(),
        newest: created,
        ..Payload::default()
    };
    for (name, bytes) in folder(&opened, Folder::ReleaseManifests)? {
        if !SPECIAL.contains(&name.as_str()) {
            payload.files.push(PayloadFile { name, bytes, modified: created });
        }
    }
    payload.notes.push(format!("Release built from {} images", old.stream.tags.len()));
    if request.changes_metadata() {
        let name = payload.name.clone();
        let is_multi = old.metadata.is_multi();
        payload.release_metadata = metadata(request, Some(old.metadata), &name, is_multi)?.write().into();
    }
    if request.created.is_some() {
        let mut stream = old.stream.clone();
        stream.created = Some(rfc3339(created));
        payload.image_references = stream.write().into();
    }
    let manifests = folder(&opened, Folder::Manifests)?;
    let keeps_base = matches!(request.base, BaseChoice::Default { .. });
    let is_unchanged = keeps_base && request.created.is_none() && !request.changes_metadata();
    let bases = match opened.image {
        Some(image) if is_unchanged => return Ok(Prepared::copy(payload, image, manifests)),
        Some(image) if keeps_base => Bases::of_image(image, true).await?,
        None if keeps_base => Bases::of_manifests(manifests, created),
        _ => bases(request, lookup, &old.stream).await?,
    };
    Ok(Prepared::build(payload, bases))
}

fn folder(opened: &OpenRelease, folder: Folder) -> Result<BTreeMap<String, Bytes>, BuildError> {
    let names = opened.files.list(folder).map_err(ReadError::from)?;
    let read = |name: String| {
        let bytes = opened.files.read(folder, &name).map_err(ReadError::from)?;
        Ok((name, bytes.into()))
    };
    names.into_iter().map(read).collect()
}
