//! A wait on a terminal or in a log.

use std::io::{self, IsTerminal as _, Write as _};
use std::time::Instant;

use lockstep_api::ResourceId;
use lockstep_api::text::visible;
use lockstep_converge::wait::{Ending, Failure, Pacer, Told};
use lockstep_health::why::Diagnosis;
use serde_json::json;

use crate::args::WaitOutput;
use crate::output;

/// The shortest time between two lines about what is missing, in a log.
const PACE: std::time::Duration = std::time::Duration::from_secs(10);

/// How many causes are told.
const MOST_CAUSES: usize = 2;

pub(super) struct Show {
    output: WaitOutput,
    is_live: bool,
    begun: Instant,
    pacer: Pacer,
    /// The state that stands on the terminal and is overwritten.
    state: String,
}

// === impl Show ===

impl Show {
    pub(super) fn new(output: WaitOutput) -> Self {
        let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let is_live = output == WaitOutput::Text && io::stdout().is_terminal() && !is_dumb;
        Self { output, is_live, begun: Instant::now(), pacer: Pacer::new(PACE), state: String::new() }
    }

    pub(super) fn take(&mut self, told: &Told) -> anyhow::Result<()> {
        if self.output == WaitOutput::Json {
            return json_line(&json!(told));
        }
        let lines = self.pacer.lines(told, self.begun.elapsed());
        match told {
            Told::State { what } if self.is_live => {
                self.state.clone_from(what);
                self.draw();
                Ok(())
            }
            _ => self.lines(&lines),
        }
    }

    pub(super) fn tick(&mut self) -> anyhow::Result<()> {
        match (self.output, self.is_live) {
            (WaitOutput::Json, _) => Ok(()),
            (WaitOutput::Text, true) => {
                self.draw();
                Ok(())
            }
            (WaitOutput::Text, false) => {
                let line: Vec<String> = self.pacer.due(self.begun.elapsed()).into_iter().collect();
                self.lines(&line)
            }
        }
    }

    pub(super) fn interrupted(&mut self) -> anyhow::Result<()> {
        self.state.clear();
        self.lines(&["interrupted; the cluster goes on by itself, and waiting again does no harm".to_owned()])
    }

    pub(super) fn end(&mut self, ending: &Ending, causes: Option<&Diagnosis>) -> anyhow::Result<()> {
        if self.output == WaitOutput::Json {
            return json_line(&json!({
                "told": "end", "version": 1, "failure": ending.failure, "stability": ending.stability,
                "causes": causes.map(|it| &it.causes)}));
        }
        self.state.clear();
        let Some(failure) = &ending.failure else { return self.lines(&[]) };
        self.lines(&report(failure, causes))
    }

    /// The line of the moment, over the one before.
    fn draw(&self) {
        if self.state.is_empty() {
            return;
        }
        let width = terminal_size::terminal_size().map_or(80, |(width, _)| usize::from(width.0));
        let line = format!("[{:>4}s] {}", self.begun.elapsed().as_secs(), visible(&self.state));
        let line: String = line.chars().take(width.saturating_sub(1)).collect();
        let mut out = io::stdout().lock();
        // A terminal that went away is noticed by whoever prints the end.
        let _ = write!(out, "\r{line}\u{1b}[K").and_then(|()| out.flush());
    }

    fn lines(&mut self, lines: &[String]) -> anyhow::Result<()> {
        let mut text = if self.is_live { "\r\u{1b}[K".to_owned() } else { String::new() };
        for line in lines.iter().flat_map(|line| line.lines()) {
            text += &visible(line);
            text.push('\n');
        }
        output::print(&text)
    }
}

/// What was missing: the sentence, every operator that is not well, what to do.
fn report(failure: &Failure, causes: Option<&Diagnosis>) -> Vec<String> {
    let mut lines = vec![format!("failed: {}", failure.sentence)];
    for operator in &failure.operators {
        let since =
            if operator.since.is_empty() { String::new() } else { format!(" since {}", operator.since) };
        lines.push(format!("  ClusterOperator {}: {}{since}", operator.name, operator.words.join(", ")));
        lines.extend(operator.conditions.iter().map(|condition| format!("    {condition}")));
    }
    for cause in causes.iter().flat_map(|it| &it.causes).take(MOST_CAUSES) {
        let sure = cause.confidence.word();
        lines.push(format!("cause ({sure}): {}: {}", cause.title, object(&cause.object)));
        lines.extend(cause.evidence.iter().map(|line| format!("    {line}")));
        lines.extend(cause.fix.first().map(|fix| format!("    mend it: {fix}")));
    }
    lines.push("next:".to_owned());
    lines.extend(failure.next_steps.iter().map(|next| format!("  {next}")));
    lines
}

fn json_line(value: &serde_json::Value) -> anyhow::Result<()> {
    output::print(&format!("{value}\n"))
}

/// An object for people.
fn object(id: &ResourceId) -> String {
    match id.namespace.as_str() {
        "" => format!("{} {}", id.kind, id.name),
        namespace => format!("{} {namespace}/{}", id.kind, id.name),
    }
}
