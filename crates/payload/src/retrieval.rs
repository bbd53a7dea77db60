//! Whether and how the release that a cluster asks for may be fetched: the decisions, without the fetching.
//!
//! Whoever fetches asks [`plan`] first, gives the result of the verification to [`accept`], and turns its own failure
//! into a [`RetrievalError`]; time limits come from [`Budget`].

use std::time::Duration;

use serde::Serialize;

use lockstep_api::names::reason;

/// What a cluster asks for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Desired {
    /// Pull spec of the release image.
    pub image: String,
    /// Whether the administrator wants it whatever the verification says.
    pub force: bool,
}

/// What has to be done to get it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Plan {
    /// It is the release that the operator itself comes from: nothing is fetched, nothing verified.
    Local,
    /// It has to be verified and fetched.
    Fetch {
        /// The digest of the pull spec; empty when it has only a tag, which cannot be verified.
        digest: String,
    },
}

/// What the verification said, where it did not stop the update.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Verified {
    /// The release is what it claims to be.
    Yes,
    /// It could not be verified, and the administrator wants it all the same; the text goes into the history.
    Forced(String),
}

/// Why a release is not to be had.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RetrievalError {
    /// Nothing was asked for.
    #[error("no payload image has been specified and the contents of the payload cannot be retrieved")]
    NoImage,
    /// It could not be verified.
    #[error("The update cannot be verified: {0}")]
    NotVerified(String),
    /// It could not be fetched.
    #[error("Unable to download and prepare the update: {0}")]
    NotFetched(String),
}

/// How long getting a release may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// All of it.
    pub total: Duration,
}

/// What there is to do for the release that is asked for; `own_image` is the one that the operator comes from.
///
/// # Errors
/// When nothing is asked for.
pub fn plan(desired: &Desired, own_image: &str) -> Result<Plan, RetrievalError> {
    if desired.image.is_empty() {
        return Err(RetrievalError::NoImage);
    }
    if desired.image == own_image {
        return Ok(Plan::Local);
    }
    let digest = desired.image.rsplit_once('@').map_or("", |(_, digest)| digest);
    Ok(Plan::Fetch { digest: digest.to_owned() })
}

/// Whether to go on after the verification.
///
/// # Errors
/// When the release could not be verified and nobody forced it.
pub fn accept(
    desired: &Desired,
    version: &str,
    verification: Result<(), String>,
) -> Result<Verified, RetrievalError> {
    match verification {
        Ok(()) => Ok(Verified::Yes),
        Err(why) if desired.force => Ok(Verified::Forced(format!(
            "Target release version={version:?} image={:?} cannot be verified, but continuing anyway because the update was forced: {why}",
            desired.image
        ))),
        Err(why) => Err(RetrievalError::NotVerified(why)),
    }
}

// === impl Budget ===

impl Budget {
    /// What the reference gives itself: four minutes.
    pub const REFERENCE: Self = Self { total: Duration::from_mins(4) };

    /// The part that the verification may use up, so that fetching has a chance after it hung.
    pub fn for_verification(self) -> Duration {
        self.total / 2
    }

    /// What is left for fetching.
    pub fn for_fetching(self, used: Duration) -> Duration {
        self.total.saturating_sub(used)
    }
}

// === impl RetrievalError ===

impl RetrievalError {
    /// The reason in a condition or an event.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::NotVerified(_) => reason::IMAGE_VERIFICATION_FAILED,
            Self::NoImage | Self::NotFetched(_) => reason::UPDATE_PAYLOAD_RETRIEVAL_FAILED,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: &str = "example.com/own@sha256:1";
    const TAG: &str = "example.com/release:2";
    const DIGEST: &str = "example.com/release@sha256:2";

    /// The folder and what the verification said, or the text of the failure.
    type Retrieved = Result<(String, Option<Verified>), String>;

    /// A retrieval as its caller does it: what happened, and which steps were asked.
    fn retrieve(
        image: &str,
        force: bool,
        verification: Result<(), &str>,
        download: Result<&str, &str>,
    ) -> (Retrieved, Vec<String>) {
        let desired = Desired { image: image.to_owned(), force };
        let mut asked = Vec::new();
        let mut run = || -> Result<(String, Option<Verified>), RetrievalError> {
            let Plan::Fetch { digest } = plan(&desired, OWN)? else { return Ok(("local".to_owned(), None)) };
            asked.push(format!("verify {digest:?}"));
            let verified = accept(&desired, "1.0.0", verification.map_err(str::to_owned))?;
            asked.push("download".to_owned());
            let folder = download.map_err(|why| RetrievalError::NotFetched(why.to_owned()))?;
            Ok((folder.to_owned(), Some(verified)))
        };
        let outcome = run().map_err(|error| error.to_string());
        (outcome, asked)
    }

    #[test]
    fn rows_of_the_specification() {
        let failed = |text: &str| Err(text.to_owned());
        let (local, asked) = retrieve(OWN, false, Err("never asked"), Err("never asked"));
        assert_eq!((local, asked.len()), (Ok(("local".to_owned(), None)), 0));
        let (none, _) = retrieve("", false, Ok(()), Ok("folder"));
        assert_eq!(
            none,
            failed("no payload image has been specified and the contents of the payload cannot be retrieved")
        );
        let (tag, asked) = retrieve(TAG, false, Ok(()), Err("no such image"));
        assert_eq!(tag, failed("Unable to download and prepare the update: no such image"));
        assert_eq!(asked, ["verify \"\"", "download"], "a tag has no digest to verify");
        for image in [TAG, DIGEST] {
            let (refused, asked) = retrieve(image, false, Err("no signature"), Ok("folder"));
            assert_eq!((refused, asked.len()), (failed("The update cannot be verified: no signature"), 1));
        }
        let (forced, _) = retrieve(DIGEST, true, Err("no signature"), Err("no such image"));
        assert_eq!(forced, failed("Unable to download and prepare the update: no such image"));
        let (risk, _) = retrieve(DIGEST, true, Err("timed out"), Ok("folder"));
        let text = "Target release version=\"1.0.0\" image=\"example.com/release@sha256:2\" cannot be verified, but continuing anyway because the update was forced: timed out";
        assert_eq!(risk, Ok(("folder".to_owned(), Some(Verified::Forced(text.to_owned())))));
        let (good, asked) = retrieve(DIGEST, false, Ok(()), Ok("folder"));
        assert_eq!(good, Ok(("folder".to_owned(), Some(Verified::Yes))));
        assert_eq!(asked[0], "verify \"sha256:2\"");
    }

    #[test]
    fn a_verification_that_hangs_leaves_half_of_the_time_and_a_download_ends_at_the_deadline() {
        let budget = Budget::REFERENCE;
        assert_eq!(budget.for_verification(), Duration::from_mins(2));
        assert_eq!(budget.for_fetching(budget.for_verification()), Duration::from_mins(2));
        assert_eq!(budget.for_fetching(Duration::from_mins(9)), Duration::ZERO);
    }

    #[test]
    fn each_failure_has_its_reason() {
        assert_eq!(RetrievalError::NotVerified(String::new()).reason(), "ImageVerificationFailed");
        assert_eq!(RetrievalError::NotFetched(String::new()).reason(), "UpdatePayloadRetrievalFailed");
    }
}
