//! What a person asks of a cluster's version, and what they should know before they do.

use lockstep_api::names::condition;
use lockstep_api::{ClusterVersion, Release, Update, UpdateHistory, same_image};

use crate::precondition;

/// A request as it is typed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wish {
    /// A version, or the pull spec of a release image.
    pub target: String,
    /// Whether the operator shall go on whatever speaks against it.
    pub force: bool,
    /// Whether it is asked for although something is wrong with the cluster.
    pub with_warnings: bool,
}

/// What is written into the ClusterVersion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ask {
    /// The new `spec.desiredUpdate`.
    pub update: Update,
    /// Where the cluster is, for people.
    pub from: String,
    /// Where it goes, for people.
    pub to: String,
    /// What speaks against it but does not stop it.
    pub warnings: Vec<String>,
    /// Whether that is asked for already.
    pub is_asked_already: bool,
}

/// Why nothing is asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Denial {
    /// Nobody told the cluster about this version.
    #[error("{}", unknown(.version, .known))]
    Unknown {
        /// The version.
        version: String,
        /// The versions that it knows.
        known: Vec<String>,
    },
    /// The version stands for several images.
    #[error(
        "there are several releases {version}: {}; say which one by its pull spec: lockstep upgrade to {}",
        .images.join(", "), .images.first().map_or("PULLSPEC", String::as_str)
    )]
    Ambiguous {
        /// The version.
        version: String,
        /// The pull specs.
        images: Vec<String>,
    },
    /// What a tag stands for may change between the look at it and its use.
    #[error(
        "{image} is not a pull spec by digest (NAME@sha256:…), so nobody can tell which release it will be when the \
         operator gets it; --force asks for it all the same"
    )]
    NoDigest {
        /// The pull spec.
        image: String,
    },
    /// Something speaks against it.
    #[error("{}", against(.reasons, *.needs_force))]
    Against {
        /// What.
        reasons: Vec<String>,
        /// Whether the operator would refuse it.
        needs_force: bool,
    },
    /// The cluster was never completely at a release.
    #[error(
        "the cluster has never been completely at a release, so there is none to go back to: {on_its_way} is being installed"
    )]
    NothingBefore {
        /// What is installed.
        on_its_way: String,
    },
    /// The way back is not one that the operator goes without being forced.
    #[error(
        "{why}. Going back is safe only to the release before and within its minor version; to insist: lockstep upgrade to \
         {image} --force"
    )]
    WayBack {
        /// What the operator would say.
        why: String,
        /// The release to go back to.
        image: String,
    },
}

/// The request for a release, unless something speaks against it.
///
/// *Order*: a version by the available updates, then by those that are recommended only to some, then by the history.
///
/// *Compatibility*: what `oc adm upgrade` refuses is refused here, and also what the operator would refuse anyway.
///
/// # Errors
/// Why nothing should be asked for.
pub fn choose(version: &ClusterVersion, wish: &Wish) -> Result<Ask, Denial> {
    let release = find(version, &wish.target)?;
    if !wish.force && !release.image.contains("@sha256:") {
        return Err(Denial::NoDigest { image: release.image });
    }
    let ask = ask(version, &release, wish.force);
    if ask.is_asked_already {
        return Ok(ask);
    }
    let mut concerns = of_cluster(version);
    let mut notes = Vec::new();
    let mut needs_force = false;
    if !release.version.is_empty() {
        for finding in precondition::check(version, &release.version) {
            let is_known = is_conditional(version, &release.version);
            needs_force |= finding.is_blocking;
            if finding.is_blocking || is_known { &mut concerns } else { &mut notes }.push(finding.message);
        }
    }
    if !concerns.is_empty() && !wish.force && !wish.with_warnings {
        return Err(Denial::Against { reasons: concerns, needs_force });
    }
    if needs_force && !wish.force {
        concerns
            .push("without --force the operator will refuse this and say so in ReleaseAccepted".to_owned());
    }
    if wish.force {
        notes.push("--force skips the verification of the release and every precondition".to_owned());
    }
    concerns.extend(notes);
    Ok(Ask { warnings: concerns, ..ask })
}

/// The request to go back to the release that was complete last; nothing when no other one is on its way.
///
/// # Errors
/// Why that is not possible.
pub fn abort(version: &ClusterVersion) -> Result<Option<Ask>, Denial> {
    let status = &version.status;
    let Some(last) = status.last_completed() else {
        return match status.history.first() {
            None => Ok(None),
            Some(entry) => Err(Denial::NothingBefore { on_its_way: entry_name(entry).to_owned() }),
        };
    };
    let release = of_entry(last);
    let is_there = status.history.first() == Some(last) && same_image(&status.desired.image, &last.image);
    let other = version.spec.desired_update.as_ref().filter(|update| !asks_for(update, &release));
    if is_there && other.is_none() {
        return Ok(None);
    }
    // While the operator still is where it was, there is nothing to go back from.
    if !is_there && let Some(finding) = blocking(version, &release.version) {
        return Err(Denial::WayBack { why: finding, image: release.image });
    }
    Ok(Some(Ask { is_asked_already: false, ..ask(version, &release, false) }))
}

/// How an update that is on its way is called, if one is: from where, to where.
pub fn on_its_way(version: &ClusterVersion) -> Option<(String, String)> {
    let status = &version.status;
    let first = status.history.first().filter(|entry| !entry.is_completed())?;
    let from = status.last_completed().map_or("nothing", entry_name);
    Some((from.to_owned(), entry_name(first).to_owned()))
}

/// Whether an update asks for a release.
pub(crate) fn asks_for(update: &Update, release: &Release) -> bool {
    if update.image.is_empty() {
        !update.version.is_empty() && update.version == release.version
    } else {
        same_image(&update.image, &release.image)
    }
}

/// The release that is meant.
fn find(version: &ClusterVersion, target: &str) -> Result<Release, Denial> {
    let status = &version.status;
    let available = || status.available_updates.iter().flatten().cloned();
    let conditional = || status.conditional_updates.iter().map(|update| update.release.clone());
    let history = || status.history.iter().map(of_entry);
    if target.contains(['/', '@']) {
        let known = available().chain(conditional()).chain(history());
        let version =
            known.filter(|known| same_image(&known.image, target)).map(|known| known.version).next();
        let version = version.unwrap_or_default();
        return Ok(Release { version, image: target.to_owned(), ..Release::default() });
    }
    let lists: [Vec<Release>; 3] = [available().collect(), conditional().collect(), history().collect()];
    for list in &lists {
        let mut images: Vec<&Release> = Vec::new();
        for release in list.iter().filter(|release| release.version == target && !release.image.is_empty()) {
            if !images.iter().any(|known| same_image(&known.image, &release.image)) {
                images.push(release);
            }
        }
        match images.as_slice() {
            [] => {}
            [one] => return Ok((*one).clone()),
            many => {
                let images = many.iter().map(|release| release.image.clone()).collect();
                return Err(Denial::Ambiguous { version: target.to_owned(), images });
            }
        }
    }
    let mut known: Vec<String> = Vec::new();
    for release in lists.into_iter().flatten() {
        if !release.version.is_empty() && !known.contains(&release.version) {
            known.push(release.version);
        }
    }
    Err(Denial::Unknown { version: target.to_owned(), known })
}

fn ask(version: &ClusterVersion, release: &Release, force: bool) -> Ask {
    let status = &version.status;
    let before = version.spec.desired_update.as_ref();
    let update = Update {
        version: release.version.clone(),
        image: release.image.clone(),
        force,
        // Risks were accepted for the cluster, not for one request.
        accept_risks: before.map(|update| update.accept_risks.clone()).unwrap_or_default(),
        ..Update::default()
    };
    let is_asked_already = match before {
        Some(before) => asks_for(before, release) && before.force == force,
        None => same_image(&status.desired.image, &release.image) && !force,
    };
    let current = status.history.first().map_or_else(|| status.desired.name(), entry_name);
    let to = if release.version.is_empty() { &release.image } else { &release.version };
    Ask { update, from: current.to_owned(), to: to.clone(), warnings: Vec::new(), is_asked_already }
}

/// What is wrong with the cluster, whatever is asked for.
fn of_cluster(version: &ClusterVersion) -> Vec<String> {
    let conditions = &version.status.conditions;
    let mut concerns = Vec::new();
    if let Some(invalid) = conditions.find(condition::INVALID).filter(|it| it.is_true()) {
        concerns.push(format!("the ClusterVersion is invalid: {}", invalid.message));
    }
    if let Some(failing) = conditions.find(condition::FAILING).filter(|it| it.is_true()) {
        concerns.push(format!("the cluster is failing ({}): {}", failing.reason, failing.message));
    }
    if let Some((from, to)) = on_its_way(version) {
        concerns
            .push(format!("an update from {from} to {to} is in progress; a new request replaces it at once"));
    }
    concerns
}

/// Whether the update service names a risk of this version.
fn is_conditional(version: &ClusterVersion, target: &str) -> bool {
    version.status.conditional_updates.iter().any(|update| update.release.version == target)
}

fn blocking(version: &ClusterVersion, target: &str) -> Option<String> {
    let findings = precondition::check(version, target);
    findings.into_iter().find(|finding| finding.is_blocking).map(|finding| finding.message)
}

fn of_entry(entry: &UpdateHistory) -> Release {
    Release { version: entry.version.clone(), image: entry.image.clone(), ..Release::default() }
}

/// A release of the history as texts name it.
pub(crate) fn entry_name(entry: &UpdateHistory) -> &str {
    if entry.version.is_empty() { &entry.image } else { &entry.version }
}

fn unknown(version: &str, known: &[String]) -> String {
    let known = if known.is_empty() { "none at all".to_owned() } else { known.join(", ") };
    format!(
        "the cluster knows no release {version}; it knows {known}. Give the pull spec of the release by digest: lockstep \
         upgrade to NAME@sha256:…"
    )
}

fn against(reasons: &[String], needs_force: bool) -> String {
    let flag = if needs_force { "--force" } else { "--allow-upgrade-with-warnings" };
    let reasons = match reasons {
        [one] => one.clone(),
        many => {
            let numbered = many.iter().enumerate().map(|(index, reason)| format!("({}) {reason}", index + 1));
            format!("{} things speak against it: {}", many.len(), numbered.collect::<Vec<_>>().join(" "))
        }
    };
    format!("{reasons}. To ask for it all the same, give {flag}").replace("..", ".")
}

#[cfg(test)]
#[path = "ask_tests.rs"]
mod tests;
