//! An embedded Kubernetes API server with a scripted world: operators, workloads, people, faults and a clock.

mod builtin;
mod clock;
mod crd;
mod faults;
mod fields;
mod meta;
mod rng;
mod serve;
mod server;
pub mod status;
mod store;
mod world;

pub use builtin::check_builtin;
pub use clock::Clock;
pub use rng::Rng;
