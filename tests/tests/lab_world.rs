//! The scripted world against a real API server without controllers: workloads, operators and people as objects.
#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by a panic, also in the functions that tests share"
)]

#[path = "lab_world/operators.rs"]
mod operators;
#[path = "lab_world/releases.rs"]
mod releases;
#[path = "lab_world/stage.rs"]
mod stage;
#[path = "lab_world/workloads.rs"]
mod workloads;
