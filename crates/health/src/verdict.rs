//! What can be said of an object.

use serde::Serialize;

/// Whether an object is well.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", tag = "state")]
pub enum Verdict {
    /// It is as it should be.
    Good,
    /// It is on its way; an event will tell.
    NotYet(Why),
    /// It will not become well by itself.
    Bad(Why),
}

/// Why an object is not well.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Why {
    /// One word for machines, such as `ClusterOperatorNotAvailable` or `ImagePullBackOff`.
    pub reason: String,
    /// One sentence for people: names the object, the condition and what is missing.
    pub sentence: String,
}

// === impl Verdict ===

impl Verdict {
    /// Not there yet.
    pub fn not_yet(reason: impl Into<String>, sentence: impl Into<String>) -> Self {
        Self::NotYet(Why { reason: reason.into(), sentence: sentence.into() })
    }

    /// Wrong, and not getting better by itself.
    pub fn bad(reason: impl Into<String>, sentence: impl Into<String>) -> Self {
        Self::Bad(Why { reason: reason.into(), sentence: sentence.into() })
    }

    /// Whether it is as it should be.
    pub fn is_good(&self) -> bool {
        *self == Self::Good
    }

    /// Why it is not well, if it is not.
    pub fn why(&self) -> Option<&Why> {
        match self {
            Self::Good => None,
            Self::NotYet(why) | Self::Bad(why) => Some(why),
        }
    }
}
