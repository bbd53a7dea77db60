//! What has to be at the destination, and what of it is there already.
//!
//! # Order
//! 1. Every image with all its manifests; those that the destination has are read there, so a second run hardly asks the source.
//! 2. The signatures beside them.
//! 3. All their blobs, each once.
//! 4. Which of these the destination has. A registry that has a manifest has its blobs as well; it took it only with them.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use futures::{StreamExt as _, stream};

use super::naming::{BESIDE_SIGNATURE, Component, Naming, Role, SIGNATURE, beside};
use super::progress::{Phase, Snapshot};
use crate::digest::Digest;
use crate::image::{Content, Descriptor, RawManifest};
use crate::location::Location;
use crate::reference::PullSpec;
use crate::store::{Registries, Store, StoreError, Which};

/// How many images are asked for at a time; how many requests a registry gets at once is its own bound.
const AT_ONCE: usize = 16;
/// How deep lists may be inside lists; the image is the last.
const MOST_LEVELS: usize = 3;
/// Most manifests that one image may have.
const MOST_MANIFESTS: usize = 256;

/// A place to write to. The store is missing where a dry run would have to make it.
#[derive(Debug, Clone)]
pub struct Destination {
    /// Where.
    pub location: Location,
    /// What is there.
    pub store: Option<Store>,
}

/// The release that is mirrored.
#[derive(Debug, Clone)]
pub struct Source {
    /// The store of the release image.
    pub home: Store,
    /// Its digest: that of the list, when it is one.
    pub digest: Digest,
    /// What it was called.
    pub name: String,
    /// The names of its tags.
    pub naming: Naming,
    /// Its images.
    pub components: Vec<Component>,
    /// Its version.
    pub version: String,
    /// Its architecture, or `multi`.
    pub architecture: String,
}

/// What is wanted.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// Where everything goes.
    pub to: Destination,
    /// Where the release image goes, if elsewhere.
    pub release_to: Option<Destination>,
    /// The tag of the release image.
    pub release_tag: String,
    /// Whether the release image is copied.
    pub release_image: bool,
    /// Whether its images are copied.
    pub components: bool,
    /// Whether signatures are copied.
    pub signatures: bool,
}

/// What has to be done.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Where things go; most have one.
    pub destinations: Vec<Destination>,
    /// Every image; those whose reading failed say why.
    pub images: Vec<PlannedImage>,
    /// Every blob, the largest first.
    pub blobs: Vec<PlannedBlob>,
}

/// One image.
#[derive(Debug, Clone)]
pub struct PlannedImage {
    /// Its name in the release.
    pub name: String,
    /// What it is.
    pub role: Role,
    /// Where it comes from.
    pub source: String,
    /// Where it goes: an index into [`Plan::destinations`].
    pub destination: usize,
    /// Its tag there.
    pub tag: String,
    /// Its digest.
    pub digest: Digest,
    /// Its manifests: what a list points to comes before the list.
    pub manifests: Vec<PlannedManifest>,
    /// Its blobs: indexes into [`Plan::blobs`].
    pub blobs: Vec<usize>,
    /// Whether the tag points to it already.
    pub tagged: bool,
    /// Why it could not be read.
    pub problem: Option<String>,
}

/// One manifest.
#[derive(Debug, Clone)]
pub struct PlannedManifest {
    /// The manifest.
    pub raw: RawManifest,
    /// Whether it is there.
    pub there: bool,
}

/// One blob for one destination.
#[derive(Debug, Clone)]
pub struct PlannedBlob {
    /// What it is.
    pub descriptor: Descriptor,
    /// Where it goes: an index into [`Plan::destinations`].
    pub destination: usize,
    /// Where it is.
    pub sources: Vec<Store>,
    /// Whether it is there.
    pub there: bool,
}

/// An image before its manifests are known.
#[derive(Debug, Clone)]
struct Draft {
    name: String,
    role: Role,
    spec: Option<PullSpec>,
    destination: usize,
    tag: String,
    digest: Digest,
    /// Where it is known to be.
    store: Option<Store>,
}

/// An image with its manifests and where they were found.
struct Read {
    image: PlannedImage,
    store: Option<Store>,
}

/// Reads manifests of several places.
struct Reader<'a> {
    source: &'a Source,
    /// Whether images are looked for beside the release image first.
    is_home_first: bool,
    registries: &'a Registries,
    destinations: &'a [Destination],
}

/// Makes the plan; tells how far it is.
pub async fn plan(
    source: &Source,
    wanted: &Wanted,
    registries: &Registries,
    tell: &mut (dyn FnMut(Snapshot) + Send),
) -> Result<Plan, StoreError> {
    let mut destinations = vec![wanted.to.clone()];
    destinations.extend(wanted.release_to.clone());
    let is_home_first = match (&source.home, source.components.first()) {
        (Store::Layout(_) | Store::Archive(_), _) => true,
        // A release that was mirrored has its images beside it; one answer tells.
        (Store::Registry(_), Some(first)) => {
            source.home.find(&Which::Digest(first.digest.clone())).await?.is_some()
        }
        (Store::Registry(_), None) => false,
    };
    let reader = Reader { source, is_home_first, registries, destinations: &destinations };

    let drafts = drafts(source, wanted)?;
    let mut read = reader.read_all(drafts, tell).await;
    if wanted.signatures {
        let signatures = reader.signatures(&mut read).await;
        read.extend(reader.read_all(signatures, tell).await);
    }
    let (images, blobs) = join(read)?;
    let mut plan = Plan { destinations, images, blobs };
    plan.look().await?;
    Ok(plan)
}

fn drafts(source: &Source, wanted: &Wanted) -> Result<Vec<Draft>, StoreError> {
    let mut drafts = Vec::new();
    if wanted.release_image {
        drafts.push(Draft {
            name: "release".to_owned(),
            role: Role::Release,
            spec: None,
            destination: usize::from(wanted.release_to.is_some()),
            tag: wanted.release_tag.clone(),
            digest: source.digest.clone(),
            store: Some(source.home.clone()),
        });
    }
    for component in source.components.iter().filter(|_| wanted.components) {
        let tag = source.naming.component(&component.name);
        drafts.push(Draft {
            name: component.name.clone(),
            role: Role::Component,
            spec: Some(component.source.clone()),
            destination: 0,
            tag: tag.map_err(|error| StoreError::Refused(error.to_string()))?,
            digest: component.digest.clone(),
            store: None,
        });
    }
    Ok(drafts)
}

// === impl Read ===

impl Read {
    /// Leaves the image out; what was read of it is not copied.
    fn fail(&mut self, why: &str) {
        self.image.problem.get_or_insert_with(|| why.to_owned());
        self.image.manifests.clear();
        self.store = None;
    }
}

// === impl Reader ===

impl Reader<'_> {
    /// Reads images side by side; the order stays.
    async fn read_all(&self, drafts: Vec<Draft>, tell: &mut (dyn FnMut(Snapshot) + Send)) -> Vec<Read> {
        let mut snapshot =
            Snapshot { phase: Phase::Reading, images_done: 0, images: drafts.len(), bytes_done: 0, bytes: 0 };
        let mut results = stream::iter(drafts.into_iter().map(|draft| self.read(draft))).buffered(AT_ONCE);
        let mut read = Vec::new();
        tell(snapshot);
        while let Some(image) = results.next().await {
            read.push(image);
            snapshot.images_done += 1;
            tell(snapshot);
        }
        read
    }

    async fn read(&self, draft: Draft) -> Read {
        let mut image = PlannedImage {
            name: draft.name.clone(),
            role: draft.role,
            source: draft.spec.as_ref().map_or_else(|| self.source.name.clone(), ToString::to_string),
            destination: draft.destination,
            tag: draft.tag.clone(),
            digest: draft.digest.clone(),
            manifests: Vec::new(),
            blobs: Vec::new(),
            tagged: false,
            problem: None,
        };
        let outcome = async {
            let store = self.store_of(&draft).await?;
            let manifests = self.manifests(&draft, &store).await?;
            Ok::<_, StoreError>((store, manifests))
        };
        match outcome.await {
            Ok((store, manifests)) => {
                if draft.role == Role::Signature {
                    image.source = format!("{} in {}", draft.tag, store.name());
                }
                image.manifests = manifests;
                Read { image, store: Some(store) }
            }
            Err(error) => {
                image.problem = Some(error.to_string());
                Read { image, store: None }
            }
        }
    }

    /// Beside the release image, or where its pull spec says.
    async fn store_of(&self, draft: &Draft) -> Result<Store, StoreError> {
        if let Some(store) = &draft.store {
            return Ok(store.clone());
        }
        let home = &self.source.home;
        if self.is_home_first && home.find(&Which::Digest(draft.digest.clone())).await?.is_some() {
            return Ok(home.clone());
        }
        match &draft.spec {
            Some(spec) => Ok(Store::Registry(self.registries.repository(spec)?)),
            None => Ok(home.clone()),
        }
    }

    /// The manifest of an image and all that it points to, the deepest first.
    async fn manifests(&self, draft: &Draft, store: &Store) -> Result<Vec<PlannedManifest>, StoreError> {
        let there = self.destinations.get(draft.destination).and_then(|it| it.store.as_ref());
        let mut known: HashMap<Digest, PlannedManifest> = HashMap::new();
        let mut order = vec![draft.digest.clone()];
        let mut level: Vec<(Digest, Option<u64>)> = vec![(draft.digest.clone(), None)];
        for depth in 0.. {
            let mut next = Vec::new();
            for (digest, size) in level {
                if !known.contains_key(&digest) {
                    let found = manifest(&digest, there, store).await?;
                    known.insert(digest.clone(), found);
                }
                let Some(found) = known.get(&digest) else { continue };
                check_size(&found.raw, size, store)?;
                let Content::Index(index) = found.raw.content()? else { continue };
                next.extend(index.manifests.into_iter().map(|child| (child.digest, Some(child.size))));
            }
            if next.is_empty() {
                break;
            }
            if depth + 1 >= MOST_LEVELS || order.len() + next.len() > MOST_MANIFESTS {
                let why = format!(
                    "{}: the manifest list {} points to lists that are too deep or too many; more than {MOST_LEVELS} levels or {MOST_MANIFESTS} manifests are not followed",
                    store.name(),
                    draft.digest
                );
                return Err(StoreError::Refused(why));
            }
            order.extend(next.iter().map(|(digest, _)| digest.clone()));
            level = next;
        }
        // From the deepest up, each where it is needed first.
        let ordered = order.iter().rev().filter_map(|digest| known.remove(digest));
        Ok(ordered.collect())
    }

    /// The tags that are about images: signatures, and what signed images may have as well.
    ///
    /// Images whose signatures cannot be looked for are not copied without them: that is their problem.
    async fn signatures(&self, read: &mut [Read]) -> Vec<Draft> {
        let mut asked: HashMap<(String, Digest, usize), Vec<usize>> = HashMap::new();
        let mut questions = Vec::new();
        for (at, Read { image, store }) in read.iter().enumerate() {
            let Some(store) = store else { continue };
            for manifest in &image.manifests {
                let key = (store.name(), manifest.raw.digest.clone(), image.destination);
                let images = asked.entry(key.clone()).or_default();
                if images.is_empty() {
                    questions.push((store.clone(), key));
                }
                images.push(at);
            }
        }
        let ask = |(store, key): (Store, (String, Digest, usize))| async move {
            (signatures_of(&store, &key.1, key.2).await, key)
        };
        let mut answers = stream::iter(questions.into_iter().map(ask)).buffered(AT_ONCE);
        let mut drafts = Vec::new();
        while let Some((found, key)) = answers.next().await {
            match found {
                Ok(found) => drafts.extend(found),
                Err(error) => {
                    for at in asked.remove(&key).unwrap_or_default() {
                        read[at].fail(&format!("looking for its signature: {error}"));
                    }
                }
            }
        }
        drafts
    }
}

async fn signatures_of(store: &Store, digest: &Digest, destination: usize) -> Result<Vec<Draft>, StoreError> {
    let mut drafts = Vec::new();
    for suffix in [SIGNATURE].into_iter().chain(BESIDE_SIGNATURE) {
        let tag = beside(digest, suffix);
        match store.find(&Which::Tag(tag.clone())).await? {
            Some(found) => drafts.push(Draft {
                name: tag.clone(),
                role: Role::Signature,
                spec: None,
                destination,
                tag,
                digest: found,
                store: Some(store.clone()),
            }),
            // Most images have none; those are not asked for the rest.
            None if drafts.is_empty() => break,
            None => {}
        }
    }
    Ok(drafts)
}

async fn manifest(
    digest: &Digest,
    there: Option<&Store>,
    source: &Store,
) -> Result<PlannedManifest, StoreError> {
    let which = Which::Digest(digest.clone());
    if let Some(there) = there {
        match there.manifest(&which).await {
            Ok(raw) => return Ok(PlannedManifest { raw, there: true }),
            // What is wrong there is written anew.
            Err(StoreError::NotFound { .. } | StoreError::Mismatch { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(PlannedManifest { raw: source.manifest(&which).await?, there: false })
}

/// A manifest has the size that the list says that points to it.
fn check_size(manifest: &RawManifest, said: Option<u64>, store: &Store) -> Result<(), StoreError> {
    let size = manifest.bytes.len() as u64;
    match said {
        Some(said) if said != size => Err(StoreError::Refused(format!(
            "{}: the manifest {} has {size} bytes, and a list that points to it says {said}",
            store.name(),
            manifest.digest
        ))),
        _ => Ok(()),
    }
}

/// The sum of sizes that somebody claims; they may be anything.
pub(super) fn total(sizes: impl Iterator<Item = u64>) -> u64 {
    sizes.fold(0, u64::saturating_add)
}

/// Finds each blob once, with all places that have it.
fn join(read: Vec<Read>) -> Result<(Vec<PlannedImage>, Vec<PlannedBlob>), StoreError> {
    let mut blobs: BTreeMap<(usize, Digest), PlannedBlob> = BTreeMap::new();
    let mut needs: Vec<Vec<(usize, Digest)>> = Vec::new();
    for Read { image, store } in &read {
        let mut needed = Vec::new();
        for manifest in &image.manifests {
            let Content::Image(content) = manifest.raw.content()? else { continue };
            for blob in content.blobs() {
                let key = (image.destination, blob.digest.clone());
                let planned = blobs.entry(key.clone()).or_insert_with(|| PlannedBlob {
                    descriptor: Descriptor::new(&blob.media_type, blob.digest.clone(), blob.size),
                    destination: image.destination,
                    sources: Vec::new(),
                    there: false,
                });
                if planned.descriptor.size != blob.size {
                    let (one, other) = (planned.descriptor.size, blob.size);
                    let why = format!(
                        "{}: the blob {} has {one} bytes for one manifest and {other} for another",
                        image.source, blob.digest
                    );
                    return Err(StoreError::Refused(why));
                }
                if let Some(store) = store
                    && !planned.sources.iter().any(|known| known.name() == store.name())
                {
                    planned.sources.push(store.clone());
                }
                needed.push(key);
            }
        }
        needs.push(needed);
    }
    let mut keys: Vec<&(usize, Digest)> = blobs.keys().collect();
    keys.sort_by_key(|key| std::cmp::Reverse(blobs.get(*key).map_or(0, |blob| blob.descriptor.size)));
    let places: HashMap<(usize, Digest), usize> =
        keys.iter().enumerate().map(|(at, key)| ((*key).clone(), at)).collect();
    let ordered = keys.iter().filter_map(|key| blobs.get(*key).cloned()).collect();
    let images = read.into_iter().zip(needs).map(|(read, needed)| {
        let blobs: BTreeSet<usize> = needed.iter().filter_map(|key| places.get(key).copied()).collect();
        PlannedImage { blobs: blobs.into_iter().collect(), ..read.image }
    });
    Ok((images.collect(), ordered))
}

// === impl Plan ===

impl Plan {
    /// Asks the destinations what they have.
    async fn look(&mut self) -> Result<(), StoreError> {
        let stores: Vec<Option<Store>> = self.destinations.iter().map(|it| it.store.clone()).collect();
        let store = |destination: usize| stores.get(destination).and_then(Option::as_ref);
        for image in &self.images {
            let is_complete = !image.manifests.is_empty() && image.manifests.iter().all(|it| it.there);
            if is_complete && matches!(store(image.destination), Some(Store::Registry(_))) {
                for blob in &image.blobs {
                    if let Some(blob) = self.blobs.get_mut(*blob) {
                        blob.there = true;
                    }
                }
            }
        }
        let ask_blob = |(at, blob): (usize, &PlannedBlob)| {
            let (store, blob) = (store(blob.destination).cloned(), blob.descriptor.clone());
            async move {
                let Some(store) = store else { return Ok((at, false)) };
                let size = store.blob_size(&blob.digest).await?;
                Ok::<_, StoreError>((at, size == Some(blob.size)))
            }
        };
        let questions: Vec<_> =
            self.blobs.iter().enumerate().filter(|(_, blob)| !blob.there).map(ask_blob).collect();
        let mut answers = stream::iter(questions).buffer_unordered(AT_ONCE);
        let mut found = Vec::new();
        while let Some(answer) = answers.next().await {
            found.push(answer?);
        }
        drop(answers);
        for (at, there) in found {
            if let Some(blob) = self.blobs.get_mut(at) {
                blob.there = there;
            }
        }
        let ask_tag = |(at, image): (usize, &PlannedImage)| {
            let (store, tag, digest) =
                (store(image.destination).cloned(), Which::Tag(image.tag.clone()), image.digest.clone());
            async move {
                let Some(store) = store else { return Ok((at, false)) };
                Ok::<_, StoreError>((at, store.find(&tag).await? == Some(digest)))
            }
        };
        let questions: Vec<_> = self
            .images
            .iter()
            .enumerate()
            .filter(|(_, image)| image.manifests.iter().all(|manifest| manifest.there))
            .map(ask_tag)
            .collect();
        let tagged: Vec<_> = stream::iter(questions).buffer_unordered(AT_ONCE).collect().await;
        for answer in tagged {
            let (at, tagged) = answer?;
            if let Some(image) = self.images.get_mut(at) {
                image.tagged = tagged;
            }
        }
        Ok(())
    }

    /// Bytes of all blobs.
    pub fn bytes(&self) -> u64 {
        total(self.blobs.iter().map(|blob| blob.descriptor.size))
    }

    /// The blobs that are not there.
    pub fn missing(&self) -> impl Iterator<Item = &PlannedBlob> {
        self.blobs.iter().filter(|blob| !blob.there)
    }

    /// Bytes of the blobs that are not there.
    pub fn missing_bytes(&self) -> u64 {
        total(self.missing().map(|blob| blob.descriptor.size))
    }

    /// Bytes that have to be brought to one of the destinations.
    pub fn missing_bytes_of(&self, destination: usize) -> u64 {
        let missing = self.missing().filter(|blob| blob.destination == destination);
        total(missing.map(|blob| blob.descriptor.size))
    }

    /// How many manifests there are, each once for a destination.
    pub fn manifests(&self) -> usize {
        let all = self.images.iter().flat_map(|image| {
            image.manifests.iter().map(move |manifest| (image.destination, &manifest.raw.digest))
        });
        all.collect::<BTreeSet<_>>().len()
    }

    /// Whether nothing of an image has to be written.
    pub fn is_complete(&self, image: &PlannedImage) -> bool {
        image.problem.is_none()
            && image.tagged
            && image.manifests.iter().all(|manifest| manifest.there)
            && image.blobs.iter().all(|blob| self.blobs.get(*blob).is_some_and(|blob| blob.there))
    }
}
