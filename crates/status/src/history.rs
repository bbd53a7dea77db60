//! The releases that a cluster was brought to: how an entry is made, changed and, when there are too many, forgotten.

use lockstep_api::{Release, Time, UpdateHistory, UpdateState};

/// Entries that a history keeps; more would make every write of the status longer.
pub const MAX_ENTRIES: usize = 100;

/// What is to be written about a release.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Entry<'a> {
    /// Whether every manifest of it was applied.
    pub is_complete: bool,
    /// Whether it was verified.
    pub is_verified: bool,
    /// What was forced or accepted on the way; empty when nothing was, or when that is not known here.
    pub accepted_risks: &'a str,
}

/// Writes a release into the history; without an image there is nothing to write.
///
/// *Order*: the newest entry is changed when it is about the same release, else it ends and a new one stands before it;
/// then what is too much is forgotten.
///
/// *Compatibility*: what was accepted stays, also when the same release is accepted again without a risk. Duplicates are
/// left alone, where the reference ends. The reference forgets one entry per write, so a long history stays too long.
pub fn merge(history: &mut Vec<UpdateHistory>, release: &Release, entry: Entry<'_>, now: Time) {
    if release.image.is_empty() {
        return;
    }
    if !history.first_mut().is_some_and(|newest| is_continued(newest, release)) {
        if let Some(newest) = history.first_mut() {
            newest.completion_time.get_or_insert(now);
        }
        history.insert(0, UpdateHistory::begun(release, now));
    }
    if let Some(newest) = history.first_mut() {
        if entry.is_complete {
            newest.state = UpdateState::Completed;
            newest.completion_time.get_or_insert(now);
        }
        newest.verified |= entry.is_verified;
        if !entry.accepted_risks.is_empty() {
            entry.accepted_risks.clone_into(&mut newest.accepted_risks);
        }
    }
    prune(history, MAX_ENTRIES);
}

/// Whether an entry is about a release; what the entry does not say yet is filled in.
fn is_continued(newest: &mut UpdateHistory, release: &Release) -> bool {
    if newest.state.as_str().is_empty() {
        newest.state = UpdateState::Partial;
    }
    if !is_same(newest, release) {
        return false;
    }
    if newest.version.is_empty() {
        newest.version.clone_from(&release.version);
    }
    if newest.image.is_empty() {
        newest.image.clone_from(&release.image);
    }
    true
}

/// Whether an entry is about a release.
///
/// *Compatibility*: images are compared as text; another registry with the same digest is another entry.
pub fn is_same(entry: &UpdateHistory, release: &Release) -> bool {
    let is_same_version = entry.version == release.version;
    let is_same_image = entry.image == release.image;
    is_same_image && (is_same_version || release.version.is_empty() || entry.version.is_empty())
        || is_same_version && entry.image.is_empty()
}

/// Forgets the least telling entries until there are not more than `max`.
pub fn prune(history: &mut Vec<UpdateHistory>, max: usize) {
    while history.len() > max {
        let Some(least) = (0..history.len()).min_by_key(|&at| rank(history, at)) else { return };
        history.remove(least);
    }
}

/// How much an entry tells, in hundredths: what is older tells a little less, and no two entries tell the same.
fn rank(history: &[UpdateHistory], at: usize) -> i64 {
    let age = i64::try_from(at).unwrap_or(i64::MAX / 101);
    weight(history, at) * 100 - 101 * age
}

/// How much an entry tells, whatever its age.
///
/// *Order*: the oldest, the five newest and the newest completed one always stay; then the first and the last completed
/// of each minor version; then what was tried between two minor versions; last what was tried between two patches.
fn weight(history: &[UpdateHistory], at: usize) -> i64 {
    const ALWAYS: i64 = 1000;
    const EDGE_OF_A_MINOR: i64 = 30;
    const BETWEEN_MINORS: i64 = 20;
    const BETWEEN_PATCHES: i64 = -20;
    const NEWEST: usize = 5;

    let Some(entry) = history.get(at) else { return 0 };
    let newest_completed = history.iter().position(UpdateHistory::is_completed);
    if at + 1 == history.len() || at < NEWEST || newest_completed == Some(at) {
        return ALWAYS;
    }
    let newer = history.iter().take(at).rev().find(|it| it.is_completed());
    let older = history.iter().skip(at + 1).find(|it| it.is_completed());
    if entry.is_completed() {
        let is_edge = |next: Option<&UpdateHistory>| {
            next.is_none_or(|next| minor(&next.version) != minor(&entry.version))
        };
        return if is_edge(newer) || is_edge(older) { EDGE_OF_A_MINOR } else { 0 };
    }
    match (newer, older) {
        (Some(newer), Some(older)) if minor(&newer.version) != minor(&older.version) => BETWEEN_MINORS,
        (Some(newer), Some(older)) if piece(&newer.version, 2) != piece(&older.version, 2) => BETWEEN_PATCHES,
        _ => 0,
    }
}

/// Major and minor version as text; a text without a minor version has neither.
///
/// *Compatibility*: the reference does not look at the major version.
fn minor(version: &str) -> (&str, &str) {
    match piece(version, 1) {
        "" => ("", ""),
        minor => (piece(version, 0), minor),
    }
}

/// A piece of a version between dots.
fn piece(version: &str, at: usize) -> &str {
    version.split('.').nth(at).unwrap_or_default()
}

#[cfg(test)]
#[path = "history_tests.rs"]
mod tests;
