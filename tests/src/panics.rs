//! Panics of a whole process, also those of tasks that nobody waits for.

use std::sync::Once;
use std::sync::atomic::{AtomicUsize, Ordering};

static PANICS: AtomicUsize = AtomicUsize::new(0);
static HOOK: Once = Once::new();

/// Counts panics from now on; they are still reported as usual.
pub fn watch() {
    HOOK.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            PANICS.fetch_add(1, Ordering::SeqCst);
            usual(info);
        }));
    });
}

/// How many there were.
pub fn count() -> usize {
    PANICS.load(Ordering::SeqCst)
}
