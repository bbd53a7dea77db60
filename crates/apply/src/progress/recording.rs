//! The events of a run in a file: one JSON object per line, the first says what it is.
//!
//! A file of a run that was killed ends in the middle of a line at worst; everything before that line is good.

use std::io::{self, BufRead, Read as _, Write};

use serde::{Deserialize, Serialize};

use super::{Board, Event};

/// The version that is written, and the latest that is read.
pub const RECORDING_VERSION: u32 = 1;
const API_VERSION: &str = "lockstep.dev/v1";
const KIND: &str = "Recording";
/// The longest line that is read, in bytes: the first event lists all tasks, some hundred bytes each.
const LONGEST_LINE: u64 = 64 << 20;

/// The first line of a recording.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RecordingHeader {
    /// Always `lockstep.dev/v1`.
    pub api_version: String,
    /// Always `Recording`.
    pub kind: String,
    /// Version of the lines that follow.
    pub version: u32,
    /// The program that wrote it, such as `lockstep 0.1.0`.
    #[serde(default)]
    pub written_by: String,
    /// When the run began, as its clock showed; absent in rehearsals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub began_at: Option<String>,
}

/// Writes a recording while the run goes on.
#[derive(Debug)]
pub struct Recorder<W> {
    out: W,
}

/// Reads a recording: an iterator of its events.
#[derive(Debug)]
pub struct Recording<R> {
    input: R,
    header: RecordingHeader,
    line: usize,
    is_cut_off: bool,
    is_over: bool,
}

/// What is wrong with a recording.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// It cannot be read.
    #[error("reading line {line} of the recording")]
    Read {
        /// Which line.
        line: usize,
        /// Why.
        source: io::Error,
    },
    /// The first line is not that of a recording.
    #[error("line 1 is not the header of a recording; a recording is what --record FILE writes")]
    NotARecording,
    /// It was written by a later program.
    #[error(
        "the recording has version {found}, and only versions up to {RECORDING_VERSION} are known; read it with a later lockstep"
    )]
    LaterVersion {
        /// Its version.
        found: u32,
    },
    /// A line is not an event.
    #[error("line {line} of the recording is not an event: {problem}")]
    BrokenLine {
        /// Which line.
        line: usize,
        /// What is wrong with it.
        problem: String,
    },
}

// === impl Recorder ===

impl<W: Write> Recorder<W> {
    /// Starts a recording with its header.
    pub fn begin(mut out: W, written_by: &str, began_at: Option<String>) -> io::Result<Self> {
        let header = RecordingHeader {
            api_version: API_VERSION.to_owned(),
            kind: KIND.to_owned(),
            version: RECORDING_VERSION,
            written_by: written_by.to_owned(),
            began_at,
        };
        write_line(&mut out, &header)?;
        Ok(Self { out })
    }

    /// Adds an event. It is handed on at once, so that a run that is killed leaves a good recording.
    pub fn on(&mut self, event: &Event) -> io::Result<()> {
        write_line(&mut self.out, event)
    }

    /// Gives back what was written to.
    pub fn into_inner(self) -> W {
        self.out
    }
}

/// One write per line: a line is there as a whole or not at all, as far as the system keeps that.
fn write_line(out: &mut impl Write, value: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    out.write_all(&line)?;
    out.flush()
}

// === impl Recording ===

impl<R: BufRead> Recording<R> {
    /// Reads the header.
    pub fn open(input: R) -> Result<Self, RecordingError> {
        let header = RecordingHeader {
            api_version: String::new(),
            kind: String::new(),
            version: 0,
            written_by: String::new(),
            began_at: None,
        };
        let mut recording = Self { input, header, line: 0, is_cut_off: false, is_over: false };
        let line = recording.next_line()?.unwrap_or_default();
        // A later header may have other fields: what it is and its version are looked at first.
        let value: serde_json::Value =
            serde_json::from_slice(&line).map_err(|_| RecordingError::NotARecording)?;
        if value["apiVersion"] != API_VERSION || value["kind"] != KIND {
            return Err(RecordingError::NotARecording);
        }
        let version = value["version"].as_u64().and_then(|found| u32::try_from(found).ok());
        match version {
            Some(found) if found > RECORDING_VERSION => return Err(RecordingError::LaterVersion { found }),
            Some(1..) => {}
            _ => return Err(RecordingError::NotARecording),
        }
        recording.header = serde_json::from_value(value).map_err(|_| RecordingError::NotARecording)?;
        Ok(recording)
    }

    /// What the first line says.
    pub fn header(&self) -> &RecordingHeader {
        &self.header
    }

    /// Whether the last line was cut off, as when the run was killed; known at the end.
    pub fn is_cut_off(&self) -> bool {
        self.is_cut_off
    }

    /// The board after all events.
    pub fn board(&mut self) -> Result<Board, RecordingError> {
        let mut board = Board::new();
        for event in self {
            board.on(&event?);
        }
        Ok(board)
    }

    /// The next line without its end; none at the end of the file.
    fn next_line(&mut self) -> Result<Option<Vec<u8>>, RecordingError> {
        self.line += 1;
        let line = self.line;
        let mut bytes = Vec::new();
        let read = self.input.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut bytes);
        read.map_err(|source| RecordingError::Read { line, source })?;
        match bytes.pop() {
            None => Ok(None),
            Some(b'\n') => Ok(Some(bytes)),
            Some(last) => {
                bytes.push(last);
                self.is_cut_off = true;
                Ok(Some(bytes))
            }
        }
    }
}

impl<R: BufRead> Iterator for Recording<R> {
    type Item = Result<Event, RecordingError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_over {
            return None;
        }
        let bytes = match self.next_line() {
            Ok(Some(bytes)) => bytes,
            Ok(None) => {
                self.is_over = true;
                return None;
            }
            Err(error) => {
                self.is_over = true;
                return Some(Err(error));
            }
        };
        match serde_json::from_slice(&bytes) {
            Ok(event) => {
                // The end of the line is missing, but nothing of the event.
                self.is_cut_off = false;
                Some(Ok(event))
            }
            Err(_) if self.is_cut_off => {
                self.is_over = true;
                None
            }
            Err(error) => {
                self.is_over = true;
                Some(Err(RecordingError::BrokenLine { line: self.line, problem: error.to_string() }))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::examples::whole;
    use super::*;

    fn recorded() -> String {
        let mut recorder = Recorder::begin(Vec::new(), "lockstep 0.1.0", None).unwrap();
        for event in whole() {
            recorder.on(&event).unwrap();
        }
        String::from_utf8(recorder.into_inner()).unwrap()
    }

    fn read(text: &str) -> Result<Vec<Event>, String> {
        let recording = Recording::open(text.as_bytes()).map_err(|error| error.to_string())?;
        recording.collect::<Result<_, _>>().map_err(|error| error.to_string())
    }

    #[test]
    fn what_is_recorded_is_read_again() {
        let text = recorded();
        let first = text.lines().next().unwrap();
        assert_eq!(
            first,
            r#"{"apiVersion":"lockstep.dev/v1","kind":"Recording","version":1,"writtenBy":"lockstep 0.1.0"}"#
        );
        assert_eq!(read(&text).unwrap(), whole());
    }

    #[test]
    fn a_replay_gives_the_same_board() {
        let mut live = Board::new();
        for event in whole() {
            live.on(&event);
        }
        let replayed = Recording::open(recorded().as_bytes()).unwrap().board().unwrap();
        assert_eq!(replayed.summary(), live.summary());
    }

    #[test]
    fn a_later_version_is_refused_with_its_number() {
        let text = recorded().replacen("\"version\":1", "\"version\":2,\"compression\":\"none\"", 1);
        let error = read(&text).unwrap_err();
        assert!(error.contains("has version 2") && error.contains("up to 1"), "{error}");
    }

    #[test]
    fn a_broken_line_is_named_by_its_number() {
        let mut lines: Vec<String> = recorded().lines().map(str::to_owned).collect();
        lines[4] = r#"{"at":1.0,"event":"exploded"}"#.into();
        let error = read(&(lines.join("\n") + "\n")).unwrap_err();
        assert!(
            error.starts_with("line 5 of the recording is not an event: unknown variant `exploded`"),
            "{error}"
        );
    }

    #[test]
    fn a_last_line_that_is_cut_off_is_left_out() {
        let text = recorded();
        let mut recording = Recording::open(&text.as_bytes()[..text.len() - 10]).unwrap();
        assert_eq!(recording.by_ref().map(Result::unwrap).count(), whole().len() - 1);
        assert!(recording.is_cut_off());
        let mut complete = Recording::open(text.as_bytes()).unwrap();
        assert_eq!(complete.by_ref().count(), whole().len());
        assert!(!complete.is_cut_off());
    }

    #[test]
    fn other_files_are_refused() {
        for text in ["", "hello\n", "{}\n", "[]\n", r#"{"apiVersion":"lockstep.dev/v1","kind":"Recording"}"#]
        {
            let error = read(text).unwrap_err();
            assert!(error.contains("not the header of a recording"), "{text}: {error}");
        }
    }
}
