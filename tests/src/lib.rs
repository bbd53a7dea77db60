//! Suites over several crates live in `tests/`; this library holds what they share.

pub mod audit;
pub mod cli;
pub mod clients;
pub mod corpus;
pub mod edit;
pub mod fault_proxy;
pub mod hostile;
pub mod install;
pub mod judge;
pub mod kubectl_transcript;
pub mod lab_up;
pub mod layouts;
pub mod made_release;
pub mod multiply;
pub mod normalise;
pub mod objects;
pub mod operator;
pub mod operator_simulation;
pub mod page;
pub mod panics;
pub mod process;
pub mod real;
pub mod releases;
pub mod request_order;
pub mod simulation;
pub mod writers;
