//! How a command that goes on is ended.

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Ctrl-C, or what `kill` sends.
pub(crate) struct Stop {
    interrupt: Signal,
    terminate: Signal,
}

// === impl Stop ===

impl Stop {
    /// Takes the signals from now on.
    pub(crate) fn new() -> std::io::Result<Self> {
        Ok(Self { interrupt: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())? })
    }

    /// Waits for the next one.
    pub(crate) async fn wait(&mut self) {
        tokio::select! {
            biased;
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}
