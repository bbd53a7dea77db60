//! The time of day, as whoever runs the operator has it: of the machine, or of a simulation.

use std::sync::Arc;

use jiff::Timestamp;

/// Tells the time of day.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// A clock that begins at a moment and goes with the time of the runtime, which may be virtual.
pub fn of_runtime(start: Timestamp) -> Clock {
    let began = tokio::time::Instant::now();
    Arc::new(move || {
        let elapsed = jiff::SignedDuration::try_from(began.elapsed()).unwrap_or(jiff::SignedDuration::MAX);
        start.checked_add(elapsed).unwrap_or(Timestamp::MAX)
    })
}
