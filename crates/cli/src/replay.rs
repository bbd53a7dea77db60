//! `lockstep replay`

use std::fs::File;
use std::io::BufReader;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context as _;

use lockstep_apply::progress::{Happening, Recording};

use crate::args::{EventOutput, ReplayArgs};
use crate::display::{Display, FRAME, Form, View};
use crate::exit::Outcome;
use crate::output;

pub(crate) fn run(args: &ReplayArgs) -> anyhow::Result<Outcome> {
    let name = args.recording.display();
    let file = File::open(&args.recording).with_context(|| format!("reading the recording {name}"))?;
    let mut recording = Recording::open(BufReader::new(file)).with_context(|| name.to_string())?;
    let form = Form::fitting(args.output == EventOutput::Jsonl, args.verbose);
    let mut view = View::new(Some(Display::new(form, args.speed)), None, None)?;
    let mut pace = Pace::new(args.speed);
    for event in recording.by_ref() {
        let event = event.with_context(|| name.to_string())?;
        pace.wait(event.at, matches!(event.what, Happening::Began { .. }), || view.tick());
        view.take(&event);
    }
    view.finish()?;
    if recording.is_cut_off() {
        output::note("the recording ends in the middle of an event: its run was killed");
    }
    Ok(Outcome::Clean)
}

/// Makes events come when they would.
pub(crate) struct Pace {
    speed: f64,
    began: Instant,
}

// === impl Pace ===

impl Pace {
    /// So many times as fast as it was.
    pub(crate) fn new(speed: f64) -> Self {
        Self { speed, began: Instant::now() }
    }

    /// Waits until an event of this moment is due, and calls `tick` for every frame meanwhile. Each act counts its time
    /// from its own beginning.
    pub(crate) fn wait(&mut self, at: f64, is_beginning: bool, mut tick: impl FnMut()) {
        if is_beginning {
            self.began = Instant::now();
        }
        let due = Duration::try_from_secs_f64(at / self.speed).unwrap_or_default();
        while let Some(left) = due.checked_sub(self.began.elapsed()).filter(|left| !left.is_zero()) {
            thread::sleep(left.min(FRAME));
            tick();
        }
    }
}
