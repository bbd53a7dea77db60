//! Suites over several crates live in `tests/`; this library holds what they share.

pub mod corpus;
pub mod page;
