//! Images that are new, gone, changed or only built again.

use std::collections::BTreeMap;

use serde::Serialize;

use lockstep_api::names::annotation;
use lockstep_payload::images::{ImageReferences, ImageTag};

/// What became of the images.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ImagesDiff {
    /// Only in the second.
    pub added: Vec<ImageDiff>,
    /// Only in the first.
    pub removed: Vec<ImageDiff>,
    /// From another commit.
    pub changed: Vec<ImageDiff>,
    /// From the same commit, or nobody knows from which: another image all the same.
    pub rebuilt: Vec<ImageDiff>,
}

/// One image.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ImageDiff {
    /// Name of its tag.
    pub name: String,
    /// Where its source is, in the second release where it is there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Pull spec before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Pull spec now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// Commit before, where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_commit: Option<String>,
    /// Commit now, where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to_commit: Option<String>,
}

// === impl ImagesDiff ===

impl ImagesDiff {
    /// Whether all images are the same.
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty() && self.changed.is_empty() && self.rebuilt.is_empty()
    }
}

/// Compares the images of two releases by the names of their tags.
pub fn compare(from: &ImageReferences, to: &ImageReferences) -> ImagesDiff {
    let (old, new) = (by_name(from), by_name(to));
    let mut diff = ImagesDiff::default();
    for (name, tag) in &new {
        let Some(before) = old.get(name) else {
            diff.added.push(image(None, Some(tag)));
            continue;
        };
        if before.pull_spec == tag.pull_spec {
            continue;
        }
        let change = image(Some(before), Some(tag));
        let is_other = change.from_commit.is_some()
            && change.to_commit.is_some()
            && change.from_commit != change.to_commit;
        if is_other { &mut diff.changed } else { &mut diff.rebuilt }.push(change);
    }
    let gone = old.iter().filter(|(name, _)| !new.contains_key(*name));
    diff.removed = gone.map(|(_, tag)| image(Some(tag), None)).collect();
    diff
}

fn by_name(images: &ImageReferences) -> BTreeMap<&str, &ImageTag> {
    images.tags.iter().map(|tag| (tag.name.as_str(), tag)).collect()
}

fn image(before: Option<&ImageTag>, after: Option<&ImageTag>) -> ImageDiff {
    let note = |tag: Option<&ImageTag>, key: &str| {
        tag?.annotations.get(key).filter(|value| !value.is_empty()).cloned()
    };
    let source = |tag| note(tag, annotation::BUILD_SOURCE_LOCATION);
    ImageDiff {
        name: after.or(before).map(|tag| tag.name.clone()).unwrap_or_default(),
        source: source(after).or_else(|| source(before)),
        from: before.and_then(|tag| tag.pull_spec.clone()),
        to: after.and_then(|tag| tag.pull_spec.clone()),
        from_commit: note(before, annotation::BUILD_COMMIT_ID),
        to_commit: note(after, annotation::BUILD_COMMIT_ID),
    }
}
