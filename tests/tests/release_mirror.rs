//! `lockstep release mirror`: everything arrives with its bytes unchanged, nothing twice, and what is wrong is told.
#![expect(
    clippy::panic,
    clippy::print_stdout,
    reason = "a suite that says what it did, and fails by a panic, also in the functions that tests share"
)]

#[path = "release_mirror/content.rs"]
mod content;
#[path = "release_mirror/disk.rs"]
mod disk;
#[path = "release_mirror/fire.rs"]
mod fire;
