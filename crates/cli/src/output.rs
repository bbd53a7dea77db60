//! What goes to the terminal: data to standard output, talk to standard error, colour only where it is wanted.

use std::io::{self, Write as _};

use anstyle::{AnsiColor, Style};
use anyhow::Context as _;
use serde::Serialize;

use lockstep_api::text::visible;
use lockstep_payload::yaml;

use crate::args::Color;

/// Bold red, for the word `error`.
const ERROR: Style = AnsiColor::Red.on_default().bold();
/// Yellow, for warnings.
const WARNING: Style = AnsiColor::Yellow.on_default();
/// Blue, for notes.
const NOTE: Style = AnsiColor::Blue.on_default();

/// Applies `--color`; without it the terminal, `NO_COLOR` and `CLICOLOR_FORCE` decide.
pub(crate) fn choose_color(color: Color) {
    match color {
        Color::Auto => {}
        Color::Always => anstream::ColorChoice::Always.write_global(),
        Color::Never => anstream::ColorChoice::Never.write_global(),
    }
}

/// Writes text as it is to standard output.
///
/// A reader that went away (`lockstep … | head`) has what it wanted; the command goes on to its own outcome.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    let mut out = anstream::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        outcome => outcome.context("writing to standard output"),
    }
}

/// Writes bytes exactly as they are to standard output: a file that somebody asked for.
pub(crate) fn print_bytes(bytes: &[u8]) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        outcome => outcome.context("writing to standard output"),
    }
}

/// Writes a value as indented JSON.
pub(crate) fn print_json(value: &impl Serialize) -> anyhow::Result<()> {
    print(&format!("{}\n", serde_json::to_string_pretty(value)?))
}

/// Writes a value as YAML.
pub(crate) fn print_yaml(value: &impl Serialize) -> anyhow::Result<()> {
    print(&yaml::write(&serde_json::to_value(value)?))
}

/// Colours the severity in lines of the form `place: severity: message`; other lines are unchanged.
pub(crate) fn paint_severities(text: &str) -> String {
    let words = [(": error: ", ERROR), (": warning: ", WARNING), (": info: ", NOTE)];
    let paint = |line: &str| {
        let found = words
            .iter()
            .filter_map(|(word, style)| Some((line.find(word)?, word, style)))
            .min_by_key(|(at, ..)| *at);
        match found {
            Some((at, word, style)) => {
                let (place, message) = (&line[..at], &line[at + word.len()..]);
                format!("{place}: {style}{}{style:#}: {message}", word.trim_matches([':', ' ']))
            }
            None => line.to_owned(),
        }
    };
    text.split_inclusive('\n').map(paint).collect()
}

/// Tells an error with its causes.
pub(crate) fn error(error: &anyhow::Error) {
    let chain: Vec<String> = error.chain().map(ToString::to_string).collect();
    // Where standard error is gone there is nobody to tell.
    let _ = writeln!(anstream::stderr(), "{ERROR}error{ERROR:#}: {}", visible(&chain.join(": ")));
}

/// Tells text as it is.
pub(crate) fn tell(text: &str) {
    let _ = write!(anstream::stderr(), "{text}");
}

/// Tells something that is wrong but does not stop the command.
pub(crate) fn warn(text: &str) {
    let _ = writeln!(anstream::stderr(), "{WARNING}warning{WARNING:#}: {}", visible(text));
}

/// Tells something that helps to read the result.
pub(crate) fn note(text: &str) {
    let _ = writeln!(anstream::stderr(), "{NOTE}note{NOTE:#}: {}", visible(text));
}
