//! Images by component and commit, and whether anything else than images and the version changed.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use lockstep_api::names::annotation;
use lockstep_payload::Release;
use lockstep_payload::changes::FieldChange;

use super::variants::Pair;
use super::{FieldDiff, ImageMention};

/// Letters of a commit that are shown.
const SHORT: usize = 9;

/// What made an object change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// Only pull specs of images of the release.
    Images,
    /// Only the version of the release.
    Version,
    /// Only these two.
    ImagesAndVersion,
    /// Something else.
    Content,
}

/// The pull specs and the version of one release.
#[derive(Debug)]
pub(super) struct Words {
    version: String,
    images: BTreeMap<String, Image>,
}

#[derive(Debug)]
struct Image {
    name: String,
    commit: Option<String>,
}

// === impl Cause ===

impl Cause {
    /// What two parts of an object together have changed by.
    pub(super) fn and(self, other: Self) -> Self {
        match (self, other) {
            (one, other) if one == other => one,
            (Self::Content, _) | (_, Self::Content) => Self::Content,
            _ => Self::ImagesAndVersion,
        }
    }

    /// The same in words, for what needs no reading; nothing for content.
    pub fn only(self) -> Option<&'static str> {
        match self {
            Self::Images => Some("only images"),
            Self::Version => Some("only the version"),
            Self::ImagesAndVersion => Some("only images and the version"),
            Self::Content => None,
        }
    }
}

// === impl Words ===

impl Words {
    pub(super) fn of(release: &Release) -> Self {
        let image = |tag: &lockstep_payload::images::ImageTag| {
            let commit = tag.annotations.get(annotation::BUILD_COMMIT_ID).filter(|commit| !commit.is_empty());
            Some((tag.pull_spec.clone()?, Image { name: tag.name.clone(), commit: commit.cloned() }))
        };
        // Several tags may share one image; the first of them gives it its name.
        let images = release.images.tags.iter().rev().filter_map(image).collect();
        Self { version: release.metadata.version.to_string(), images }
    }

    fn image(&self, word: &str) -> Option<&Image> {
        self.images.get(word).or_else(|| self.images.get(word.trim_end_matches(['.', ':'])))
    }

    /// The text with images by component and commit.
    fn show(&self, text: &str) -> String {
        replace(text, |word| {
            let image = self.image(word)?;
            let commit = image.commit.as_deref().map(short);
            Some(commit.map_or_else(|| image.name.clone(), |commit| format!("{} {commit}", image.name)))
        })
    }

    /// The value without what only says which release it is in.
    fn neutral(&self, value: &Value, images: bool, version: bool) -> Value {
        map(value, &|text| {
            replace(text, |word| match self.image(word) {
                Some(image) if images => Some(format!("(image {})", image.name)),
                None if version && word == self.version => Some("(version)".to_owned()),
                _ => None,
            })
        })
    }
}

/// What made a variant change.
pub(super) fn cause(pair: &Pair<'_>, (old, new): &(Words, Words)) -> Cause {
    let (Some(before), Some(after)) = (pair.before, pair.after) else { return Cause::Content };
    let is_only = |images, version| {
        old.neutral(&before.object, images, version) == new.neutral(&after.object, images, version)
    };
    match () {
        () if is_only(true, false) => Cause::Images,
        () if is_only(false, true) => Cause::Version,
        () if is_only(true, true) => Cause::ImagesAndVersion,
        () => Cause::Content,
    }
}

/// A changed field with the images that it names.
pub(super) fn field(change: FieldChange, (old, new): &(Words, Words)) -> FieldDiff {
    let mut mentions: BTreeMap<String, ImageMention> = BTreeMap::new();
    let mut note = |value: Option<&Value>, words: &Words, is_new: bool| {
        let found = value.map(|value| names(value, words)).unwrap_or_default();
        for (name, commit) in found {
            let mention = mentions.entry(name.clone()).or_insert(ImageMention {
                name,
                from_commit: None,
                to_commit: None,
            });
            *(if is_new { &mut mention.to_commit } else { &mut mention.from_commit }) = commit;
        }
    };
    note(change.before.as_ref(), old, false);
    note(change.after.as_ref(), new, true);
    let shown = FieldChange {
        path: change.path.clone(),
        before: change.before.as_ref().map(|value| map(value, &|text| old.show(text))),
        after: change.after.as_ref().map(|value| map(value, &|text| new.show(text))),
    };
    FieldDiff { change, images: mentions.into_values().collect(), shown }
}

/// The images that a value names.
fn names(value: &Value, words: &Words) -> Vec<(String, Option<String>)> {
    match value {
        Value::String(text) => {
            let found = tokens(text).filter_map(|word| words.image(word));
            found.map(|image| (image.name.clone(), image.commit.clone())).collect()
        }
        Value::Array(items) => items.iter().flat_map(|item| names(item, words)).collect(),
        Value::Object(map) => map.values().flat_map(|item| names(item, words)).collect(),
        _ => Vec::new(),
    }
}

/// The beginning of a commit, as people write it.
pub(super) fn short(commit: &str) -> &str {
    commit.get(..SHORT).unwrap_or(commit)
}

fn map(value: &Value, change: &impl Fn(&str) -> String) -> Value {
    match value {
        Value::String(text) => Value::String(change(text)),
        Value::Array(items) => items.iter().map(|item| map(item, change)).collect(),
        Value::Object(fields) => {
            fields.iter().map(|(name, value)| (name.clone(), map(value, change))).collect()
        }
        other => other.clone(),
    }
}

/// What can be part of a pull spec or a version.
fn is_word(character: char) -> bool {
    character.is_ascii_alphanumeric() || "._-/:@+".contains(character)
}

fn tokens(text: &str) -> impl Iterator<Item = &str> {
    text.split(|character| !is_word(character)).filter(|word| !word.is_empty())
}

/// The text with some of its words replaced.
fn replace(text: &str, with: impl Fn(&str) -> Option<String>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find(|character| !is_word(character)).unwrap_or(rest.len());
        let (word, behind) = rest.split_at(end);
        match with(word) {
            Some(other) if !word.is_empty() => out.push_str(&other),
            _ => out.push_str(word),
        }
        let next = behind.find(is_word).unwrap_or(behind.len());
        out.push_str(&behind[..next]);
        rest = &behind[next..];
    }
    out
}
