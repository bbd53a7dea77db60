//! A run on standard output while it goes on: a screen that is drawn again and again, lines, or events as JSON.
//!
//! Nothing about the terminal is changed, not even its cursor: a frame is ordinary lines, and the next one begins
//! with going up over them. So there is nothing to put back when the command is ended in the middle.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, IsTerminal as _, Write as _};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context as _;

use lockstep_apply::progress::{Board, Eta, Event, Forecast, Happening, Lines, Outcome, Recorder, screen};

/// The shortest time between two frames.
pub(crate) const FRAME: Duration = Duration::from_millis(100);
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
    board: Board,
    forecast: Forecast,
    lines: Lines,
    frames: Frames,
    eta: Option<Eta>,
    last_event: Instant,
    last_frame: Option<Instant>,
    last_forecast: Option<Instant>,
}

/// A display and, where it is wanted, a recording. Remembers the first problem with either, so that a run does not
/// end because nobody can be told of it.
pub(crate) struct View {
    display: Option<Display>,
    recorder: Option<Recorder<File>>,
    problem: Option<anyhow::Error>,
}

/// Frames that overwrite each other.
#[derive(Debug, Default)]
pub(crate) struct Frames {
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
    pub(crate) fn new(form: Form, speed: f64) -> Self {
        Self {
            form,
            speed,
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
        // Also made where they are not shown: so the last ones do not say again what a frame has said.
        let mut lines = self.lines.tick(event.at, &self.board, self.eta);
        self.board.on(event);
        self.forecast.on(event);
        self.last_event = Instant::now();
        lines.extend(self.lines.on(event, &self.board));
        match self.form {
            Form::Screen if matches!(event.what, Happening::Ended { .. }) => {
                self.draw(true)?;
                // What comes next stands below.
                self.frames = Frames::default();
                print_lines(lines)
            }
            Form::Screen => self.draw(false),
            Form::Lines { .. } => print_lines(lines),
            Form::JsonLines => print(&format!("{}\n", serde_json::to_string(event)?)),
        }
    }

    /// Shows that time goes by although nothing happens.
    pub(crate) fn tick(&mut self) -> anyhow::Result<()> {
        match self.form {
            Form::Screen => self.draw(false),
            Form::Lines { .. } => {
                self.look_ahead();
                print_lines(self.lines.tick(self.now(), &self.board, self.eta))
            }
            Form::JsonLines => Ok(()),
        }
    }

    /// Where the run stands.
    pub(crate) fn board(&self) -> &Board {
        &self.board
    }

    fn draw(&mut self, at_once: bool) -> anyhow::Result<()> {
        if !at_once && self.last_frame.is_some_and(|last| last.elapsed() < FRAME) {
            return Ok(());
        }
        self.last_frame = Some(Instant::now());
        self.look_ahead();
        let (width, height) = size();
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

    /// The moment of the run that is shown.
    pub(crate) fn now(&self) -> f64 {
        match self.board.ended() {
            Some(ended) => ended.at,
            None => self.board.now() + self.speed * self.last_event.elapsed().as_secs_f64(),
        }
    }
}

// === impl View ===

impl View {
    /// A view; without a display it is only recorded.
    pub(crate) fn new(
        display: Option<Display>,
        record: Option<&Path>,
        began_at: Option<String>,
    ) -> anyhow::Result<Self> {
        let begin = |path: &Path| {
            let file = File::create(path)?;
            Recorder::begin(file, concat!("lockstep ", env!("CARGO_PKG_VERSION")), began_at)
        };
        let recorder = match record {
            Some(path) => {
                Some(begin(path).with_context(|| format!("writing the recording {}", path.display()))?)
            }
            None => None,
        };
        Ok(Self { display, recorder, problem: None })
    }

    /// Takes an event.
    pub(crate) fn take(&mut self, event: &Event) {
        if let Some(recorder) = &mut self.recorder
            && let Err(error) = recorder.on(event)
        {
            self.recorder = None;
            self.keep(Err(error).context("writing the recording"));
        }
        if let Some(display) = &mut self.display {
            let outcome = display.take(event);
            self.keep(outcome);
        }
    }

    /// Shows that time goes by although nothing happens.
    pub(crate) fn tick(&mut self) {
        if let Some(display) = &mut self.display {
            let outcome = display.tick();
            self.keep(outcome);
        }
    }

    /// Ends a run that was stopped: tells what was open.
    pub(crate) fn cancel(&mut self) {
        let Some(display) = &self.display else { return };
        let (at, board) = (display.now(), display.board());
        if board.tasks().is_empty() || board.ended().is_some() {
            return;
        }
        let writes = board.writes().values().sum();
        let what = Happening::Ended { outcome: Outcome::Cancelled, missing: board.unfinished(at), writes };
        self.take(&Event { at, what });
    }

    /// The first problem with showing or recording.
    pub(crate) fn finish(self) -> anyhow::Result<()> {
        self.problem.map_or(Ok(()), Err)
    }

    fn keep(&mut self, outcome: anyhow::Result<()>) {
        if let Err(error) = outcome {
            self.problem.get_or_insert(error);
        }
    }
}

/// Columns and rows of the terminal; where it does not tell, those of the environment or of the oldest terminals.
pub(crate) fn size() -> (usize, usize) {
    let of_environment = |name: &str| std::env::var(name).ok()?.parse().ok().filter(|n| *n > 0);
    match terminal_size::terminal_size() {
        Some((width, height)) => (width.0.into(), height.0.into()),
        None => (of_environment("COLUMNS").unwrap_or(80), of_environment("LINES").unwrap_or(24)),
    }
}

fn print_lines(lines: Vec<String>) -> anyhow::Result<()> {
    if lines.is_empty() {
        return Ok(());
    }
    print(&lines.into_iter().map(|line| line + "\n").collect::<String>())
}

/// NB: not through `anstream`: with `NO_COLOR` it would take away the escapes that move the cursor as well.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        outcome => outcome.context("writing to standard output"),
    }
}

// === impl Frames ===

impl Frames {
    /// What to write so that these lines take the place of those before; one write, so that nothing flickers.
    pub(crate) fn next(&mut self, lines: &[String]) -> String {
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
