//! The API server: requests in, answers out.
//!
//! ```text
//! request ── request.rs ──▶ verb (get, list, watch, create, update, patch, delete) ──▶ answer.rs ── response
//!                              │   resource.rs: what is special about the kind          │
//!                              ▼                                                        │
//!                           core.rs: store, registry ◀── housekeeping.rs (a moment later)
//! ```

mod answer;
pub(crate) mod core;
mod delete;
pub(crate) mod discovery;
pub(crate) mod go_json;
mod housekeeping;
mod journal;
mod json_patch;
mod lab;
mod page;
mod patch;
mod registry;
mod request;
pub(crate) mod resource;
mod review;
mod select;
mod selector;
mod subresource;
mod verbs;
mod watch;
mod write;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

pub use lab::{Lab, LabOptions};

use self::core::Core;
use crate::clock::Clock;

/// What all requests share.
pub(crate) struct Shared {
    core: Mutex<Core>,
    /// The time of the lab.
    pub clock: Arc<Clock>,
    /// Wakes the controllers of the server.
    wake: Notify,
}

// === impl Shared ===

impl Shared {
    fn new(core: Core, clock: Arc<Clock>) -> Self {
        Self { core: Mutex::new(core), clock, wake: Notify::new() }
    }

    /// The state, for as long as the guard lives; nothing awaits while it does.
    fn core(&self) -> MutexGuard<'_, Core> {
        // A panic elsewhere leaves whole objects behind: writes are single calls on the store.
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets how lists looked, as etcd is made to: what was there one interval ago.
    async fn forget(self: Arc<Self>, interval: std::time::Duration) {
        let mut before = 0;
        loop {
            self.clock.sleep(interval).await;
            let mut core = self.core();
            core.store.compact(before);
            before = core.store.revision();
        }
    }

    /// Runs the controllers of the server, a moment after there is something for them to do.
    async fn keep_house(self: Arc<Self>, settle: std::time::Duration, has_controllers: bool) {
        loop {
            self.wake.notified().await;
            loop {
                self.clock.sleep(settle).await;
                let now = self.clock.stamp();
                let mut core = self.core();
                housekeeping::round(&mut core, &now, has_controllers);
                if core.work.is_empty() {
                    break;
                }
            }
        }
    }
}
