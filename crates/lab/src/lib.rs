//! An embedded Kubernetes API server with a scripted world: operators, workloads, people, faults and a clock.

mod builtin;
mod clock;
mod crd;
mod faults;
mod fields;
mod rng;
mod serve;
mod server;
pub mod status;
mod store;
mod world;

pub use clock::Clock;
pub use rng::Rng;
pub use world::{
    LogLine, ReleaseFacts, Scenario, ScenarioError, World, WorldError, scenario_reference, scenario_schema,
};
