//! An embedded Kubernetes API server with a scripted world: operators, workloads, people, faults and a clock.

pub mod builtin;
mod clock;
pub mod crd;
mod faults;
mod fields;
mod go;
mod meta;
mod rng;
mod serve;
mod server;
pub mod status;
mod store;
mod world;

pub use builtin::check_builtin;
pub use clock::Clock;
pub use faults::{
    Effect, FAULT_HEADER, Faults, Match, Offset, Rule, RuleError, RuleReport, RuleState, Span, SpanError,
    Verb,
};
pub use rng::Rng;
pub use serve::{KubeconfigError, Limits, Login, ServeError, ServeOptions, Serving, User, serve};
pub use server::{Lab, LabOptions};
pub use world::{
    LogLine, ReleaseFacts, Scenario, ScenarioError, World, WorldError, scenario_reference, scenario_schema,
};
