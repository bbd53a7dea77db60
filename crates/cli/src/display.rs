//! A run on standard output while it goes on: a screen that is drawn again and again, lines, or events as JSON.
//!
//! Nothing about the terminal is changed, not even its cursor: a frame is ordinary lines, and the next one begins
//! with going up over them. So there is nothing to put back when the command is ended in the middle.

use std::fmt::Write as _;
use std::io::{self, BufRead, IsTerminal as _, Write as _};
use std::pin::pin;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use tokio::sync::mpsc::Receiver;
use tokio::time::MissedTickBehavior;

use lockstep_apply::progress::{Board, Eta, Event, Forecast, Lines, Recording, screen};

/// The shortest time between two frames.
const FRAME: Duration = Duration::from_millis(100);
/// How often the forecast is made anew: it takes some milliseconds, and nobody reads faster.
const FORECAST: Duration = Duration::from_secs(1);

/// How a run is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// A screen that is drawn again and again.
    Screen,
    /// A line for what matters, and the state every few seconds.
    Lines {
        /// Whether every step of every object has its line.
        verbose: bool,
    },
    /// Every event as a line of JSON.
    JsonLines,
}

/// Shows a run; takes its events one by one.
pub(crate) struct Display {
    form: Form,
    /// Seconds of the run per second of the wall between two events; 0 where time stands still then.
    speed: f64,
    /// Columns and rows of the terminal.
    size: fn() -> (usize, usize),
    board: Board,
    forecast: Forecast,
    lines: Lines,
    frames: Frames,
    eta: Option<Eta>,
    last_event: Instant,
    last_frame: Option<Instant>,
    last_forecast: Option<Instant>,
}

/// How the showing ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shown {
    /// The last event was taken.
    All,
    /// Ctrl-C was pressed.
    Interrupted,
}

/// Frames that overwrite each other.
#[derive(Debug, Default)]
struct Frames {
    /// Lines of the frame that is on the terminal.
    drawn: usize,
}

// === impl Form ===

impl Form {
    /// The form that fits standard output: frames need a terminal that can move its cursor.
    pub(crate) fn fitting(json_lines: bool, verbose: bool) -> Self {
        let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        match json_lines {
            true => Self::JsonLines,
            // Each step as a line and a screen cannot be had together.
            false if io::stdout().is_terminal() && !is_dumb && !verbose => Self::Screen,
            false => Self::Lines { verbose },
        }
    }
}

// === impl Display ===

impl Display {
    /// A display before the first event. The speed is that of the run's clock: 1 for a real one, 0 for virtual time.
    pub(crate) fn new(form: Form, speed: f64, size: fn() -> (usize, usize)) -> Self {
        Self {
            form,
            speed,
            size,
            board: Board::new(),
            forecast: Forecast::new(),
            lines: Lines::new(form == Form::Lines { verbose: true }),
            frames: Frames::default(),
            eta: None,
            last_event: Instant::now(),
            last_frame: None,
            last_forecast: None,
        }
    }

    /// Takes an event and shows what it changes.
    pub(crate) fn take(&mut self, event: &Event) -> anyhow::Result<()> {
        let before = match self.form {
            Form::Lines { .. } => self.lines.tick(event.at, &self.board, self.eta),
            Form::Screen | Form::JsonLines => Vec::new(),
        };
        self.board.on(event);
        self.forecast.on(event);
        self.last_event = Instant::now();
        match self.form {
            Form::Screen => self.draw(false),
            Form::Lines { .. } => {
                let lines = before.into_iter().chain(self.lines.on(event, &self.board));
                print(&lines.map(|line| line + "\n").collect::<String>())
            }
            Form::JsonLines => print(&format!("{}\n", serde_json::to_string(event)?)),
        }
    }

    /// Shows that time goes by although nothing happens.
    pub(crate) fn tick(&mut self) -> anyhow::Result<()> {
        match self.form {
            Form::Screen => self.draw(false),
            Form::Lines { .. } => {
                self.look_ahead();
                let lines = self.lines.tick(self.now(), &self.board, self.eta);
                print(&lines.into_iter().map(|line| line + "\n").collect::<String>())
            }
            Form::JsonLines => Ok(()),
        }
    }

    /// Shows the last state, and gives the board for the summary.
    pub(crate) fn finish(mut self) -> anyhow::Result<Board> {
        if self.form == Form::Screen {
            self.draw(true)?;
        }
        Ok(self.board)
    }

    fn draw(&mut self, at_once: bool) -> anyhow::Result<()> {
        if !at_once && self.last_frame.is_some_and(|last| last.elapsed() < FRAME) {
            return Ok(());
        }
        self.last_frame = Some(Instant::now());
        self.look_ahead();
        let (width, height) = (self.size)();
        // The line below the frame is where the cursor stands.
        let lines = screen(&self.board, self.eta, self.now(), width, height.saturating_sub(1));
        print(&self.frames.next(&lines))
    }

    fn look_ahead(&mut self) {
        if self.last_forecast.is_none_or(|last| last.elapsed() >= FORECAST) {
            self.last_forecast = Some(Instant::now());
            self.eta = self.forecast.eta(self.now());
        }
    }

    fn now(&self) -> f64 {
        match self.board.ended() {
            Some(ended) => ended.at,
            None => self.board.now() + self.speed * self.last_event.elapsed().as_secs_f64(),
        }
    }
}

/// Shows events as they come, until the sender is gone or Ctrl-C is pressed.
pub(crate) async fn show(mut events: Receiver<Event>, display: &mut Display) -> anyhow::Result<Shown> {
    // One for all rounds: a new one each time would not see what was pressed between two of them.
    let mut interrupt = pin!(tokio::signal::ctrl_c());
    let mut frames = tokio::time::interval(FRAME);
    frames.set_missed_tick_behavior(MissedTickBehavior::Skip);
    loop {
        tokio::select! {
            biased;
            _ = &mut interrupt => return Ok(Shown::Interrupted),
            event = events.recv() => match event {
                Some(event) => display.take(&event)?,
                None => return Ok(Shown::All),
            },
            _ = frames.tick() => display.tick()?,
        }
    }
}

/// Shows a recording so many times as fast as it was.
pub(crate) async fn replay<R: BufRead>(
    recording: Recording<R>,
    speed: f64,
    display: &mut Display,
) -> anyhow::Result<Shown> {
    let mut interrupt = pin!(tokio::signal::ctrl_c());
    let began = Instant::now();
    for event in recording {
        let event = event.context("replaying")?;
        let due = Duration::try_from_secs_f64(event.at / speed).unwrap_or_default();
        while let Some(left) = due.checked_sub(began.elapsed()).filter(|left| !left.is_zero()) {
            tokio::select! {
                biased;
                _ = &mut interrupt => return Ok(Shown::Interrupted),
                () = tokio::time::sleep(left.min(FRAME)) => display.tick()?,
            }
        }
        display.take(&event)?;
    }
    Ok(Shown::All)
}

/// NB: not through `anstream`: with `NO_COLOR` it would take away the escapes that move the cursor as well.
fn print(text: &str) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        outcome => outcome.context("writing to standard output"),
    }
}

// === impl Frames ===

impl Frames {
    /// What to write so that these lines take the place of those before; one write, so that nothing flickers.
    fn next(&mut self, lines: &[String]) -> String {
        let mut text = String::new();
        // Writing to a String cannot fail.
        if self.drawn > 0 {
            let _ = write!(text, "\u{1b}[{}A", self.drawn);
        }
        text.push('\r');
        for line in lines {
            let _ = write!(text, "{line}\u{1b}[K\r\n");
        }
        // A shorter frame leaves nothing of a longer one.
        text.push_str("\u{1b}[J");
        self.drawn = lines.len();
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_goes_up_over_the_one_before_and_wipes_what_is_left_of_it() {
        let mut frames = Frames::default();
        let lines = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        assert_eq!(frames.next(&lines(&["a", "b"])), "\ra\u{1b}[K\r\nb\u{1b}[K\r\n\u{1b}[J");
        assert_eq!(frames.next(&lines(&["c"])), "\u{1b}[2A\rc\u{1b}[K\r\n\u{1b}[J");
        assert_eq!(frames.next(&[]), "\u{1b}[1A\r\u{1b}[J");
    }
}
