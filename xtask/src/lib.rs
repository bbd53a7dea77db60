//! Checks, generation, benchmarks and a real Kubernetes for the suites.
//!
//! The commands of `cargo xtask` are functions of this library, so that the suites can use the same code:
//! [`kube::Server`] is the fixture that starts a private API server, [`registry::Registry`] one that starts a registry.

pub mod bench;
pub mod browser;
mod debian;
mod error;
pub mod helm;
pub mod kube;
mod lock;
pub mod promtool;
pub mod registry;
pub mod schema;
pub mod soak;
pub mod test;
pub mod tmux;
mod workspace;

pub use error::Error;
