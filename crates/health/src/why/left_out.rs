//! Entries of the catalogue that are not built, with the reason.

/// An entry that no rule looks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeftOut {
    /// The entry.
    pub id: &'static str,
    /// Why it is not built.
    pub reason: &'static str,
}

/// All of them.
pub const LEFT_OUT: &[LeftOut] = &[];
