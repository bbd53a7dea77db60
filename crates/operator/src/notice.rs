//! What is worth an Event in the cluster.

/// Whether something is as it should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// It is.
    Normal,
    /// It is not.
    Warning,
}

/// Something worth an Event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// Whether it is as it should be.
    pub tone: Tone,
    /// One word for machines.
    pub reason: &'static str,
    /// What happened.
    pub message: String,
}

// === impl Notice ===

impl Notice {
    /// Something that is as it should be.
    pub fn normal(reason: &'static str, message: impl Into<String>) -> Self {
        Self { tone: Tone::Normal, reason, message: message.into() }
    }

    /// Something that is not.
    pub fn warning(reason: &'static str, message: impl Into<String>) -> Self {
        Self { tone: Tone::Warning, reason, message: message.into() }
    }
}
