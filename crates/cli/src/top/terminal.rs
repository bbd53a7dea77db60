//! The terminal, taken over and given back: on every way out, a panic among them.

use std::io;
use std::thread;
use std::time::Duration;

use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event};
use tokio::sync::mpsc;

/// How long a key is waited for before it is looked whether anybody still wants one.
const PATIENCE: Duration = Duration::from_millis(100);
/// More keys than anybody types while a frame is drawn; what is pressed beyond that waits in the terminal.
const KEYS: usize = 64;

/// A terminal in our hands; it is given back when this is dropped.
pub(crate) struct Screen {
    pub(crate) terminal: DefaultTerminal,
}

// === impl Screen ===

impl Screen {
    /// Takes the terminal over. From here on a panic, wherever it is, gives it back before it is told.
    pub(crate) fn take() -> io::Result<Self> {
        Ok(Self { terminal: ratatui::try_init()? })
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // A panic has given it back already, before it was told: twice would put the cursor onto what it told.
        if !thread::panicking() {
            // Where the terminal is gone there is nothing to give back.
            let _ = ratatui::try_restore();
        }
    }
}

/// What is pressed, until nobody reads it.
pub(crate) fn events() -> mpsc::Receiver<io::Result<Event>> {
    let (sender, receiver) = mpsc::channel(KEYS);
    // A thread, because a terminal can only be waited for; it ends with its reader.
    thread::spawn(move || {
        while !sender.is_closed() {
            let event = match event::poll(PATIENCE) {
                Ok(false) => continue,
                Ok(true) => event::read(),
                Err(error) => Err(error),
            };
            let is_over = event.is_err();
            if sender.blocking_send(event).is_err() || is_over {
                return;
            }
        }
    });
    receiver
}
