//! Gets a release: from the image that the operator runs from, from a copy that was kept, or from where it is.

mod cache;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use lockstep_api::names::reason;
use lockstep_payload::retrieval::{Desired, Plan, RetrievalError, Verified, accept, plan};
use lockstep_payload::{DiskFiles, Files, LoadOptions, Release};
use lockstep_release::store::{Access, ClusterAccess, OnRetry, Registries};
use lockstep_release::{Location, PlatformFilter, Wanted, open};
use tokio::time::timeout;

pub(crate) use cache::Cache;

/// How releases are got.
#[derive(Debug, Clone)]
pub(crate) struct Retriever {
    /// Pull spec of the image that the operator runs from.
    pub(crate) own_image: String,
    /// Where the files of that image are.
    pub(crate) payload_dir: PathBuf,
    /// The cluster profile, for templates.
    pub(crate) profile: String,
    /// Where fetched releases are kept.
    pub(crate) cache: Option<Cache>,
    /// How long fetching one may take.
    pub(crate) patience: Duration,
    /// Whether a release may be used that nobody verified.
    pub(crate) accept_unverified: bool,
    /// Whether registries are spoken to without checking who they are.
    pub(crate) insecure: bool,
}

/// A release that was got and can be read.
#[derive(Debug)]
pub(crate) struct Retrieved {
    pub(crate) release: Release,
    /// Whether it is the one that the operator itself comes from.
    pub(crate) is_local: bool,
    /// What the administrator accepted by insisting on it; goes into the history.
    pub(crate) risks: String,
}

/// Why a release cannot be used, and at which step that was found out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LoadFailure {
    /// A reason of `ReleaseAccepted`.
    pub(crate) step: &'static str,
    /// The reason of the failure itself.
    pub(crate) reason: &'static str,
    pub(crate) message: String,
}

/// What nobody can say yet.
const UNVERIFIED: &str =
    "signatures are not checked by this version; only the digest of its content was compared";

// === impl Retriever ===

impl Retriever {
    /// Gets the release of an image and reads it.
    pub(crate) async fn retrieve(
        &self,
        desired: &Desired,
        version: &str,
        cluster: ClusterAccess,
    ) -> Result<Retrieved, LoadFailure> {
        let failed = |error: &RetrievalError| LoadFailure {
            step: reason::RETRIEVE_PAYLOAD,
            reason: error.reason(),
            message: error.to_string(),
        };
        match plan(desired, &self.own_image).map_err(|error| failed(&error))? {
            Plan::Local => {
                let files = DiskFiles::open(&self.payload_dir)
                    .map_err(|error| failed(&RetrievalError::NotFetched(error.to_string())))?;
                let release = self.read(&files, &desired.image)?;
                Ok(Retrieved { release, is_local: true, risks: String::new() })
            }
            Plan::Fetch { digest } => {
                let verification = if self.accept_unverified { Ok(()) } else { Err(UNVERIFIED.to_owned()) };
                let verified = accept(desired, version, verification).map_err(|error| failed(&error))?;
                let risks = match verified {
                    Verified::Yes => String::new(),
                    Verified::Forced(text) => text,
                };
                let release = self.fetch(&desired.image, &digest, cluster).await?;
                Ok(Retrieved { release, is_local: false, risks })
            }
        }
    }

    /// From the copy that was kept, or from its place.
    async fn fetch(&self, image: &str, digest: &str, cluster: ClusterAccess) -> Result<Release, LoadFailure> {
        let failed = |why: String| {
            let error = RetrievalError::NotFetched(why);
            LoadFailure { step: reason::RETRIEVE_PAYLOAD, reason: error.reason(), message: error.to_string() }
        };
        let cache = self.cache.as_ref().filter(|_| !digest.is_empty());
        if let Some(files) = cache.and_then(|cache| cache.find(digest)) {
            return self.read(&files, image);
        }
        let location = Location::parse(image).map_err(|error| failed(error.to_string()))?;
        let last = Arc::new(Mutex::new(String::new()));
        let tell = Arc::clone(&last);
        let access = Access {
            insecure: self.insecure,
            patience: self.patience,
            cluster: Some(cluster),
            on_retry: Some(OnRetry::new(move |text| {
                tracing::info!("{text}");
                text.clone_into(&mut tell.lock().unwrap_or_else(PoisonError::into_inner));
            })),
            ..Access::default()
        };
        let registries = Registries::new(access).map_err(|error| failed(error.to_string()))?;
        let opening = open::release(&location, &registries, &PlatformFilter::Host, Wanted::Everything);
        let Ok(opened) = timeout(self.patience, opening).await else {
            let last = last.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let mut why = format!("{image} was not there after {} s", self.patience.as_secs());
            if !last.is_empty() {
                why = format!("{why}; the last problem: {last}");
            }
            return Err(failed(why));
        };
        let opened = opened.map_err(|error| failed(error.to_string()))?;
        let release = self.read(opened.files.as_ref(), image)?;
        if let Some(cache) = cache
            && let Err(error) = cache.keep(digest, opened.files.as_ref())
        {
            tracing::warn!("the release {image} cannot be kept for later: {error}");
        }
        Ok(release)
    }

    fn read(&self, files: &dyn Files, image: &str) -> Result<Release, LoadFailure> {
        let options = LoadOptions { release_image: image.to_owned(), profile: self.profile.clone() };
        Release::load(files, &options).map_err(|error| LoadFailure {
            step: reason::LOAD_PAYLOAD,
            reason: reason::UPDATE_PAYLOAD_INTEGRITY,
            message: error.to_string(),
        })
    }
}

#[cfg(test)]
#[path = "retrieve_tests.rs"]
mod tests;
