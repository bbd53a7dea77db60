//! Suites over several crates live in `tests/`; this library holds what they share.

pub mod cli;
pub mod corpus;
pub mod kubectl_transcript;
pub mod normalise;
pub mod page;
