//! Built-in kinds: read, filled with defaults, checked and prepared as the real server does.

pub(crate) mod strategy;
pub(crate) mod validate;
