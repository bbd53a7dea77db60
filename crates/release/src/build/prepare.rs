//! From a request to a release that only has to be written.

use std::collections::BTreeSet;

use serde_json::Value;

use lockstep_api::names::{annotation, file, metadata as key};
use lockstep_payload::Folder;

use super::assemble::{Component, Rules, assemble, rfc3339};
use super::base::Bases;
use super::metadata::{Metadata, check_versions};
use super::naming::check_prefix;
use super::output::Prepared;
use super::request::{BASE_TAG, BaseChoice, Lookup, Request, Source};
use super::stream::Stream;
use super::{BuildError, components, folder, input, repackage, versions};
use crate::location::Location;
use crate::open::{self, Image, OpenRelease, ReadError, Wanted};
use crate::store::{self, Which};

/// What the sources gave.
#[derive(Default)]
struct Inputs {
    stream: Stream,
    /// Manifests that were found on disk; without them the images are looked at.
    components: Option<Vec<Component>>,
    /// Of the release that is changed.
    metadata: Option<Metadata>,
    notes: Vec<String>,
    warnings: Vec<String>,
}

/// Makes a release ready to be written.
///
/// # Order
/// 1. the request is checked; 2. images and manifests are read from the source; 3. mappings are applied; 4. the files of the
///    release are made; 5. the base is looked at; 6. layer, configuration and manifest are made.
///
/// A release with nothing to change is copied; one with other metadata keeps its manifests, byte for byte.
pub async fn prepare(request: &Request, lookup: &Lookup) -> Result<Prepared, BuildError> {
    check(request)?;
    if let Source::Release(location) = &request.source {
        let opened = open::release(location, &lookup.registries, &lookup.filter, Wanted::Everything).await?;
        let old = repackage::read(&opened)?;
        if !request.changes_manifests(&old.metadata.version) {
            return repackage::repackage(request, lookup, opened, old).await;
        }
        let inputs = of_release(request, &opened, old);
        return build(request, lookup, inputs).await;
    }
    build(request, lookup, read(request)?).await
}

fn check(request: &Request) -> Result<(), BuildError> {
    let usage = BuildError::Usage;
    if matches!(request.source, Source::Mappings) && request.mappings.images.is_empty() {
        return Err(usage("must specify image mappings when no other source is defined".to_owned()));
    }
    versions::parse(&request.component_versions, &request.display_names)
        .map_err(|why| usage(format!("--component-versions is invalid: {why}")))?;
    if let Some(name) = &request.name {
        semver::Version::parse(name)
            .map_err(|error| usage(format!("--name must be a semantic version: {error}")))?;
    }
    for versions in [&request.previous, &request.next].into_iter().flatten() {
        check_versions(versions).map_err(usage)?;
    }
    check_prefix(&request.prefix).map_err(|why| usage(format!("--prefix: {why}")))
}

fn read(request: &Request) -> Result<Inputs, BuildError> {
    let is_excluded = |name: &str| request.exclude.contains(name);
    match &request.source {
        Source::Folder(path) => {
            let found = folder::read(path, is_excluded)?;
            let notes = vec![
                format!("Using {} as the input to the release", path.display()),
                format!("Found {} operator manifest directories on disk", found.components.len()),
            ];
            Ok(Inputs {
                stream: found.stream,
                components: Some(found.components),
                metadata: None,
                notes,
                warnings: found.warnings,
            })
        }
        Source::Stream { bytes, mode } => {
            let stream = input::read(bytes, *mode, is_excluded).map_err(BuildError::Refused)?;
            let notes = vec![format!("Found {} images in image stream", stream.tags.len())];
            Ok(Inputs { stream, notes, ..Inputs::default() })
        }
        Source::Mappings | Source::Release(_) => Ok(Inputs::default()),
    }
}

fn of_release(request: &Request, opened: &OpenRelease, old: repackage::Old) -> Inputs {
    let mut stream = old.stream;
    stream.tags.retain(|tag| !request.exclude.contains(&tag.name));
    let notes = vec![format!("Found {} images in release", stream.tags.len())];
    // A path of this machine is nobody else's business, and would give the same input another digest.
    if let Some(spec) = opened.pull_spec() {
        stream.annotations.insert(annotation::FROM_RELEASE.to_owned(), spec.to_string());
    }
    Inputs { stream, metadata: Some(old.metadata), notes, ..Inputs::default() }
}

async fn build(request: &Request, lookup: &Lookup, inputs: Inputs) -> Result<Prepared, BuildError> {
    let Inputs { mut stream, components, metadata: old, mut notes, mut warnings } = inputs;
    for (name, image) in request.mappings.images.iter().filter(|(name, _)| !request.exclude.contains(*name)) {
        stream.override_tag(name, image);
    }
    stream.sort();
    if !request.component_versions.is_empty() {
        let mut note = |key: &str, text: &str| stream.annotations.insert(key.to_owned(), text.to_owned());
        note(annotation::BUILD_VERSIONS, &request.component_versions);
        note(annotation::BUILD_VERSION_DISPLAY_NAMES, &request.display_names);
    }
    let components = if let Some(components) = components {
        components
    } else {
        let loaded = components::load(&mut stream, lookup).await?;
        notes.extend(loaded.notes);
        warnings.extend(loaded.warnings);
        loaded.components
    };
    let created = request.created.or_else(|| seconds(stream.created.as_deref()?));
    let name = name(request, old.as_ref(), &stream, created)?;
    let metadata = metadata(request, old, &name, lookup.keep_manifest_list)?;
    let rules = Rules {
        prefix: request.prefix.clone(),
        allow_missing_images: request.allow_missing_images,
        allow_undeclared_images: request.allow_undeclared_images,
        skip_manifest_check: request.skip_manifest_check,
        keep: request.include.iter().cloned().chain([BASE_TAG.to_owned()]).collect::<BTreeSet<_>>(),
    };
    let mut payload = assemble(components, stream.clone(), &metadata, created, &rules)?;
    notes.append(&mut payload.notes);
    warnings.append(&mut payload.warnings);
    if payload.created == 0 && request.created.is_none() {
        notes.push(
            "nothing says when this release was made, so it says 1970; --created or SOURCE_DATE_EPOCH does"
                .to_owned(),
        );
    }
    (payload.notes, payload.warnings) = (notes, warnings);
    let bases = bases(request, lookup, &stream).await?;
    Ok(Prepared::build(payload, bases))
}

/// The version: as asked for, of the mapping file, of the release or stream, or made from the time.
fn name(
    request: &Request,
    old: Option<&Metadata>,
    stream: &Stream,
    created: Option<u64>,
) -> Result<String, BuildError> {
    let asked = request.name.as_ref().or(request.mappings.version.as_ref());
    if let Some(asked) = asked {
        let version = semver::Version::parse(asked)
            .map_err(|error| BuildError::Usage(format!("--name must be a semantic version: {error}")))?;
        return Ok(version.to_string());
    }
    if let Some(old) = old {
        return Ok(old.version.clone());
    }
    if semver::Version::parse(&stream.name).is_ok() {
        return Ok(stream.name.clone());
    }
    let time = rfc3339(created.unwrap_or_default()).replace('T', "-").replace([':', 'Z'], "");
    Ok(format!("0.0.1-{time}"))
}

/// `release-metadata` as asked for; what nobody asks for stays what it was.
pub(super) fn metadata(
    request: &Request,
    old: Option<Metadata>,
    name: &str,
    is_multi: bool,
) -> Result<Metadata, BuildError> {
    let mut metadata = old.unwrap_or_default();
    // Whether it is for several processors follows from what is built, not from what it is built from.
    metadata.metadata.remove(key::ARCHITECTURE);
    name.clone_into(&mut metadata.version);
    if let Some(previous) = &request.previous {
        metadata.previous.clone_from(previous);
    }
    if let Some(next) = &request.next {
        metadata.next.clone_from(next);
    }
    if let Some(json) = &request.metadata {
        metadata.metadata.clear();
        metadata.add(json).map_err(BuildError::Usage)?;
    }
    let mut set = |key: &str, value: String| metadata.metadata.insert(key.to_owned(), Value::from(value));
    if let Some(url) = &request.url {
        set(key::URL, url.clone());
    }
    if !request.channels.is_empty() {
        set(key::CHANNELS, request.channels.join(","));
    }
    if is_multi {
        set(key::ARCHITECTURE, key::ARCHITECTURE_MULTI.to_owned());
    }
    check_versions(&metadata.previous)
        .and_then(|()| check_versions(&metadata.next))
        .map_err(BuildError::Usage)?;
    Ok(metadata)
}

/// The bases that the request names.
pub(super) async fn bases(request: &Request, lookup: &Lookup, stream: &Stream) -> Result<Bases, BuildError> {
    let image = match &request.base {
        BaseChoice::None => return Ok(Bases::none()),
        BaseChoice::Default { is_optional } => match stream.tag(BASE_TAG).and_then(|tag| tag.pull_spec()) {
            Some(image) => lookup.image(BASE_TAG, image).await.map_err(|error| {
                BuildError::Refused(format!("{error}; or build without a base: --base none"))
            })?,
            None if *is_optional => return Ok(Bases::none()),
            None => {
                let why = format!(
                    "the base image tag {BASE_TAG:?} could not be found in the input, cannot build a release image; name \
                     another base, or `--base none`"
                );
                return Err(BuildError::Usage(why));
            }
        },
        BaseChoice::Named(text) => match stream.tag(text).and_then(|tag| tag.pull_spec()) {
            Some(image) => lookup.image(text, image).await?,
            None => named("--base", text, lookup).await?,
        },
    };
    Bases::of_image(image, lookup.keep_manifest_list).await
}

/// A base that is no tag of the input, as this flag names it.
pub async fn named(flag: &str, text: &str, lookup: &Lookup) -> Result<Image, BuildError> {
    let location = Location::parse(text).map_err(|error| BuildError::Usage(format!("{flag}: {error}")))?;
    if let Location::Folder(path) = &location {
        let why =
            format!("{flag}: {} is a folder; wanted an image, a tag of the input, or `none`", path.display());
        return Err(BuildError::Usage(why));
    }
    if let Location::Registry(spec) = &location {
        return lookup.image(flag, &spec.to_string()).await;
    }
    let (store, which) = store::open(&location, &lookup.registries).await?;
    let which = match which {
        Some(which) => which,
        None => match store.tags().await?.as_slice() {
            [tag] => Which::Tag(tag.clone()),
            tags => {
                let why =
                    format!("{flag}: {} holds {} images; say which with `:TAG`", store.name(), tags.len());
                return Err(BuildError::Usage(why));
            }
        },
    };
    Ok(Image::open(&store, &which, &lookup.filter).await?)
}

/// Seconds since 1970 of a time that is written.
pub fn seconds(text: &str) -> Option<u64> {
    let time: jiff::Timestamp = text.parse().ok()?;
    u64::try_from(time.as_second()).ok()
}

/// Both special files of a release.
pub(super) fn special(opened: &OpenRelease, name: &str) -> Result<Vec<u8>, BuildError> {
    opened.files.read(Folder::ReleaseManifests, name).map_err(|error| ReadError::from(error).into())
}

/// The names of both special files.
pub(super) const SPECIAL: [&str; 2] = [file::IMAGE_REFERENCES, file::RELEASE_METADATA];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whether_a_release_is_for_several_processors_follows_from_what_is_built() {
        let mut old = Metadata::default();
        old.metadata.insert(key::ARCHITECTURE.to_owned(), Value::from(key::ARCHITECTURE_MULTI));
        old.metadata.insert(key::URL.to_owned(), Value::from("u"));
        let mut request = Request::new(Source::Mappings);
        for json in [None, Some(r#"{"url": "new"}"#.to_owned())] {
            request.metadata = json;
            for is_multi in [false, true] {
                let made = metadata(&request, Some(old.clone()), "1.0.0", is_multi).unwrap();
                assert_eq!(made.is_multi(), is_multi, "{:?}", request.metadata);
                assert!(made.metadata.contains_key(key::URL));
            }
        }
    }

    #[test]
    fn a_version_of_the_mapping_file_changes_manifests_as_a_name_does() {
        let mut request = Request::new(Source::Mappings);
        assert!(!request.changes_manifests("1.0.0"));
        request.mappings.version = Some("1.0.1".to_owned());
        assert!(request.changes_manifests("1.0.0"));
        request.name = Some("1.0.0".to_owned());
        assert!(!request.changes_manifests("1.0.0"), "the name counts more");
    }
}
