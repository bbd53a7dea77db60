//! What images weigh, which layers they share, and whether every byte is what its digest says.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use futures::StreamExt as _;
use jiff::Timestamp;
use serde::Serialize;

use lockstep_payload::images::ImageReferences;
use lockstep_view::table::Table;

use super::text::indent;
use crate::digest::Digest;
use crate::extract::tools::component;
use crate::image::{Content, Descriptor};
use crate::open::{Image, OpenRelease, ReadError};
use crate::platform::PlatformFilter;
use crate::store::{BlobSource, Registries, Which};

/// Most manifests of one list, with those of lists in it; real ones have about ten.
const MOST_MANIFESTS: usize = 1000;

/// One image of a release.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ImageWeight {
    /// Name of its tag.
    pub name: String,
    /// Its digest, that of the list where it is in one.
    pub digest: String,
    /// Digest of the manifest itself.
    pub content_digest: String,
    /// Format of the manifest.
    pub media_type: String,
    /// When it was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created: Option<String>,
    /// Its layers, bottom first.
    pub layers: Vec<Descriptor>,
    /// Its configuration.
    pub config: serde_json::Value,
}

/// Content that is not what it should be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Mismatch {
    /// The image, by its tag; empty for the release itself.
    pub name: String,
    /// What is wrong.
    pub why: String,
}

/// Opens all images of a release, several at a time; in the order of the tags.
pub async fn open_all(
    release: &OpenRelease,
    images: &ImageReferences,
    registries: &Registries,
    filter: &PlatformFilter,
    parallel: usize,
) -> Vec<(String, Result<Image, ReadError>)> {
    let tags = images.tags.iter().filter(|tag| tag.pull_spec.is_some());
    let open = |tag| async move {
        let tag: &lockstep_payload::images::ImageTag = tag;
        (tag.name.clone(), component(release, registries, filter, tag).await)
    };
    futures::stream::iter(tags.map(open)).buffered(parallel.max(1)).collect().await
}

/// Reads every blob of some images and compares it with its size and digest; each blob of a store once.
///
/// Of a manifest list all images are read, whatever their platform. Manifests are compared when they are fetched.
pub async fn verify(images: &[(String, Image)], parallel: usize) -> Vec<Mismatch> {
    let blobs = futures::stream::iter(images.iter().map(|(_, image)| blobs_of(image)));
    let blobs: Vec<(Vec<Descriptor>, Vec<String>)> = blobs.buffered(parallel.max(1)).collect().await;
    let (mut seen, mut work, mut mismatches) = (BTreeSet::new(), Vec::new(), Vec::new());
    for ((name, image), (blobs, problems)) in images.iter().zip(blobs) {
        mismatches.extend(problems.into_iter().map(|why| Mismatch { name: name.clone(), why }));
        let place = image.store.name();
        for blob in blobs {
            if seen.insert((place.clone(), blob.digest.clone())) {
                work.push((name.clone(), image.store.clone(), blob));
            }
        }
    }
    let check = |(name, store, blob): (String, crate::store::Store, Descriptor)| async move {
        let mut stream = BlobSource::store(store).checked(&blob);
        while let Some(piece) = stream.next().await {
            if let Err(error) = piece {
                return Some(Mismatch { name, why: error.to_string() });
            }
        }
        None
    };
    let found: Vec<Option<Mismatch>> =
        futures::stream::iter(work.into_iter().map(check)).buffered(parallel.max(1)).collect().await;
    mismatches.extend(found.into_iter().flatten());
    mismatches
}

/// The blobs of an image and of all others in its list, and what is wrong with their manifests.
async fn blobs_of(image: &Image) -> (Vec<Descriptor>, Vec<String>) {
    let mut blobs: Vec<Descriptor> = image.manifest.blobs().cloned().collect();
    let mut problems = Vec::new();
    let mut seen = BTreeSet::from([image.raw.digest.clone()]);
    let mut open: Vec<Digest> = image.list.iter().map(|list| list.digest.clone()).collect();
    while let Some(digest) = open.pop() {
        if !seen.insert(digest.clone()) {
            continue;
        }
        if seen.len() > MOST_MANIFESTS {
            problems.push(format!("the manifest list has more than {MOST_MANIFESTS} manifests"));
            break;
        }
        match content(image, &digest).await {
            Ok(Content::Image(manifest)) => blobs.extend(manifest.blobs().cloned()),
            Ok(Content::Index(index)) => open.extend(index.manifests.into_iter().map(|child| child.digest)),
            Err(error) => problems.push(error.to_string()),
        }
    }
    (blobs, problems)
}

async fn content(image: &Image, digest: &Digest) -> Result<Content, ReadError> {
    let own = image.list.as_ref().filter(|list| list.digest == *digest);
    match own {
        Some(list) => Ok(list.content()?),
        None => Ok(image.store.manifest(&Which::Digest(digest.clone())).await?.content()?),
    }
}

// === impl ImageWeight ===

impl ImageWeight {
    /// What an opened image weighs.
    pub fn of(name: &str, image: &Image) -> Self {
        Self {
            name: name.to_owned(),
            digest: image.digest().to_string(),
            content_digest: image.raw.digest.to_string(),
            media_type: image.raw.media_type.clone(),
            created: image.config.created.clone(),
            layers: image.manifest.layers.clone(),
            config: image.config.raw.clone(),
        }
    }

    fn size(&self) -> u64 {
        self.layers.iter().map(|layer| layer.size).fold(0, u64::saturating_add)
    }
}

/// The release with what its images weigh.
pub fn text(details: &super::Details, images: &[ImageWeight], now: Timestamp) -> String {
    let text = format!("{}Images:\n{}", details.head(), table(images, now));
    text.split('\n').map(lockstep_api::text::visible).collect::<Vec<_>>().join("\n")
}

/// The table of what images weigh, and what all of them weigh together.
pub fn table(images: &[ImageWeight], now: Timestamp) -> String {
    let mut uses: BTreeMap<&str, (usize, u64)> = BTreeMap::new();
    let mut bases: Vec<&str> = Vec::new();
    for image in images {
        let own: BTreeMap<&str, u64> =
            image.layers.iter().map(|layer| (layer.digest.as_str(), layer.size)).collect();
        for (digest, size) in own {
            uses.entry(digest).or_insert((0, size)).0 += 1;
        }
        if let Some(base) = image.layers.first().map(|layer| layer.digest.as_str())
            && !bases.contains(&base)
        {
            bases.push(base);
        }
    }
    let has_bases = bases.len() > 1;
    let header = ["name", "age", "layers", "size mb", "unique mb", "base"];
    let mut out = Table::new(&header[..header.len() - usize::from(!has_bases)]);
    let mut tops = BTreeSet::new();
    for image in images {
        let mut unique: u64 = image
            .layers
            .iter()
            .filter(|layer| uses[layer.digest.as_str()].0 == 1)
            .map(|layer| layer.size)
            .fold(0, u64::saturating_add);
        if let Some(top) = image.layers.last()
            && tops.insert(top.digest.as_str())
            && unique == 0
        {
            unique = top.size;
        }
        let base = image
            .layers
            .first()
            .and_then(|layer| bases.iter().position(|base| *base == layer.digest.as_str()));
        let created = image.created.as_deref().and_then(|text| text.parse::<Timestamp>().ok());
        let age =
            created.map(|created| short_duration(now.as_second() - created.as_second())).unwrap_or_default();
        let row = [
            image.name.clone(),
            age,
            image.layers.len().to_string(),
            mebibytes(image.size()),
            mebibytes(unique),
        ];
        let base = base.filter(|_| has_bases).map(|place| base_name(place, bases.len()));
        out.row(row.into_iter().chain(base));
    }
    let total = uses.values().map(|(_, size)| *size).fold(0, u64::saturating_add);
    let mut text = indent(&out.to_string());
    let _ = write!(text, "\n  {} across {} layers", decimal(total), uses.len());
    if has_bases {
        let _ = write!(text, ", {} different base images", bases.len());
    }
    text.push('\n');
    text
}

/// Letters, each a step further in, while there are few.
fn base_name(place: usize, count: usize) -> String {
    match (count <= 5).then(|| u8::try_from(place).ok()).flatten() {
        Some(letter) => format!("{}{}", " ".repeat(place), char::from(b'A' + letter)),
        None => (place + 1).to_string(),
    }
}

#[expect(clippy::cast_precision_loss, reason = "one decimal is shown")]
fn mebibytes(bytes: u64) -> String {
    format!("{:.1}", bytes as f64 / 1_048_576.0)
}

/// Decimal units, four digits.
#[expect(clippy::cast_precision_loss, reason = "four digits are shown")]
fn decimal(bytes: u64) -> String {
    let mut value = bytes as f64;
    let mut units = ["B", "kB", "MB", "GB", "TB", "PB"].iter();
    let mut unit = units.next().unwrap_or(&"");
    while value >= 1000.0 {
        let Some(next) = units.next() else { break };
        (value, unit) = (value / 1000.0, next);
    }
    let digits = match value {
        value if value >= 1000.0 => 0,
        value if value >= 100.0 => 1,
        value if value >= 10.0 => 2,
        _ => 3,
    };
    let text = format!("{value:.digits$}");
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text}{unit}")
}

/// `45s`, `3m`, `20h`, `14d`, `2y`.
pub fn short_duration(seconds: i64) -> String {
    match seconds.max(0) {
        s if s < 60 => format!("{s}s"),
        s if s < 3600 => format!("{}m", s / 60),
        s if s < 86400 => format!("{}h", s / 3600),
        s if s < 365 * 86400 => format!("{}d", s / 86400),
        s => format!("{}y", s / (365 * 86400)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(name: &str, layers: &[(&str, u64)]) -> ImageWeight {
        let layer = |(content, size): &(&str, u64)| Descriptor {
            size: *size,
            ..Descriptor::new("layer", Digest::of(content.as_bytes()), *size)
        };
        ImageWeight {
            name: name.to_owned(),
            digest: String::new(),
            content_digest: String::new(),
            media_type: String::new(),
            created: Some("2024-01-01T00:00:00Z".to_owned()),
            layers: layers.iter().map(layer).collect(),
            config: serde_json::Value::Null,
        }
    }

    #[test]
    fn shared_layers_count_once_and_bases_have_letters() {
        const MIB: u64 = 1_048_576;
        let images = [
            image("a", &[("base", 100 * MIB), ("a", MIB)]),
            image("b", &[("base", 100 * MIB), ("b", MIB / 2)]),
            image("c", &[("base", 100 * MIB)]),
            image("d", &[("other", 3)]),
        ];
        insta::assert_snapshot!(table(&images, "2024-01-15T00:00:00Z".parse().unwrap()));
        assert!(!table(&images[..2], Timestamp::UNIX_EPOCH).contains("BASE"), "only with several bases");
    }

    #[test]
    fn times_and_sizes_are_short() {
        let times = [45, 60, 7200, 14 * 86400, 800 * 86400].map(short_duration);
        assert_eq!(times, ["45s", "1m", "2h", "14d", "2y"]);
        assert_eq!([5, 999, 5_600_000_000, 123_456].map(decimal), ["5B", "999B", "5.6GB", "123.5kB"]);
    }
}
