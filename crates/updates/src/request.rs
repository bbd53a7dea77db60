//! Which release a ClusterVersion asks for.

use lockstep_api::{
    ARCHITECTURE_MULTI, ClusterVersionSpec, ClusterVersionStatus, Release, Update, UpdateHistory, same_image,
};

/// The value of `mode` that asks for a check without an update.
const PREFLIGHT: &str = "Preflight";

/// The release that a cluster should run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// The release. Its version is empty when only an image was asked for: then the release itself tells it; otherwise
    /// the release must have it.
    pub release: Release,
    /// Whether the administrator insists.
    pub force: bool,
    /// Whether it is the release that the running operator belongs to.
    pub is_own: bool,
    /// Why a request is not followed, for people; nothing when it is, or when there is none.
    pub remark: Option<String>,
}

/// Which release the ClusterVersion asks for, after the parts of the spec that cannot be used were taken out.
///
/// `own` is the release that the running operator belongs to. `stays` tells that this operator keeps a release which is
/// not its own, because that one does not bring this operator: then "stay where you are" means the release of the status.
///
/// *Order*: an image as given; a version by the available updates, then by the history, newest first; nothing.
///
/// *Compatibility*: the reference accepts a version that only the history knows and then does nothing. A preflight is not
/// started as an update here.
pub fn resolve(
    spec: &ClusterVersionSpec,
    status: &ClusterVersionStatus,
    own: &Release,
    stays: bool,
) -> Wanted {
    let stay = |remark: Option<String>| {
        let current = if stays && !status.desired.image.is_empty() { &status.desired } else { own };
        wanted(current.clone(), false, status, own, remark)
    };
    let Some(update) = &spec.desired_update else { return stay(None) };
    if update.mode == PREFLIGHT {
        let remark =
            "spec.desiredUpdate.mode asks for a preflight, which is not supported: nothing is started";
        return stay(Some(remark.to_owned()));
    }
    if !update.image.is_empty() {
        let release = Release {
            version: update.version.clone(),
            image: update.image.clone(),
            architecture: update.architecture.clone(),
            ..Release::default()
        };
        return wanted(release, update.force, status, own, None);
    }
    if update.version.is_empty() && update.architecture.is_empty() {
        return stay(None);
    }
    match find(update, status, own) {
        Ok(release) => wanted(release, update.force, status, own, None),
        Err(remark) => stay(Some(remark)),
    }
}

/// A release with what is known about its image filled in; what it says itself is never overwritten.
///
/// *Order*: the running operator's own release, then the available updates. Images are the same when their digests are.
#[must_use]
pub fn complete(mut release: Release, own: &Release, available: &[Release]) -> Release {
    if release.image.is_empty() {
        return release;
    }
    let known = std::iter::once(own).chain(available);
    for known in known.filter(|known| same_image(&known.image, &release.image)) {
        for (field, value) in [
            (&mut release.version, &known.version),
            (&mut release.url, &known.url),
            (&mut release.architecture, &known.architecture),
        ] {
            if field.is_empty() {
                field.clone_from(value);
            }
        }
        if release.channels.is_empty() {
            release.channels.clone_from(&known.channels);
        }
    }
    release
}

/// The release of a version, or why there is none.
fn find(update: &Update, status: &ClusterVersionStatus, own: &Release) -> Result<Release, String> {
    let available = status.available_updates.as_deref().unwrap_or_default();
    let listed = |version: &str| {
        available.iter().find(|release| release.version == version && !release.image.is_empty())
    };
    if update.architecture == ARCHITECTURE_MULTI && !is_multi(status, own) {
        // NB: only the current version can be exchanged for its image of several architectures. The history does not
        // help here: its image of that version is the one to get away from.
        let current = &status.desired.version;
        let found = listed(current).cloned();
        return found.ok_or_else(|| {
            format!(
                "the release {current} for several architectures is not among the available updates: give its image in \
                 spec.desiredUpdate.image"
            )
        });
    }
    let version = &update.version;
    let was_there = |entry: &&UpdateHistory| entry.version == *version && !entry.image.is_empty();
    let from_history = |entry: &UpdateHistory| Release {
        version: version.clone(),
        image: entry.image.clone(),
        ..Release::default()
    };
    listed(version)
        .cloned()
        .or_else(|| status.history.iter().find(was_there).map(from_history))
        .or_else(|| (own.version == *version).then(|| own.clone()))
        .ok_or_else(|| {
            format!("no image is known for the version {version}: give it in spec.desiredUpdate.image")
        })
}

/// Whether the current release is one of several architectures.
fn is_multi(status: &ClusterVersionStatus, own: &Release) -> bool {
    let of_own = same_image(&status.desired.image, &own.image) && own.architecture == ARCHITECTURE_MULTI;
    status.desired.architecture == ARCHITECTURE_MULTI || of_own
}

fn wanted(
    release: Release,
    force: bool,
    status: &ClusterVersionStatus,
    own: &Release,
    remark: Option<String>,
) -> Wanted {
    let is_own = same_image(&release.image, &own.image);
    let version = release.version.clone();
    let available = status.available_updates.as_deref().unwrap_or_default();
    let mut release = complete(release, own, available);
    if !is_own {
        // The version is checked against the release, so only what was asked for may stand there.
        release.version = version;
    }
    Wanted { release, force, is_own, remark }
}

#[cfg(test)]
#[path = "request_tests.rs"]
mod tests;
