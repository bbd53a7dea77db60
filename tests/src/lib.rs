//! Suites over several crates live in `tests/`; this library holds what they share.

pub mod audit;
pub mod cli;
pub mod clients;
pub mod corpus;
pub mod hostile;
pub mod install;
pub mod kubectl_transcript;
pub mod lab_up;
pub mod normalise;
pub mod page;
pub mod panics;
pub mod real;
pub mod releases;
