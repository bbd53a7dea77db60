//! Tells a program which release it belongs to, by overwriting a marker in it.

use std::io::{Read, Write};

/// A marker to look for, and what is written over its beginning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replacement {
    /// What it is, for messages.
    pub name: &'static str,
    /// The marker.
    pub marker: Vec<u8>,
    /// What is written, followed by a zero.
    pub value: String,
}

/// Why a program could not be patched.
#[derive(Debug, thiserror::Error)]
pub enum PatchError {
    /// The value does not fit.
    #[error("the {name} value has {bytes} bytes, but the maximum replacement length is {most}")]
    TooLong {
        /// Which.
        name: &'static str,
        /// Its length.
        bytes: usize,
        /// The greatest possible.
        most: usize,
    },
    /// The marker cannot be seen as a whole.
    #[error("the buffer size must be greater than {bytes} bytes to find {name}")]
    Buffer {
        /// Which.
        name: &'static str,
        /// Length of the marker.
        bytes: usize,
    },
    /// Reading or writing.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// The pull spec of the release, by digest.
pub const RELEASE_IMAGE: (&str, &str, usize) = ("release image", "_RELEASE_IMAGE_LOCATION_", 300);
/// The name of the release.
pub const RELEASE_VERSION: (&str, &str, usize) = ("release name", "_RELEASE_VERSION_LOCATION_", 64);
/// The architecture of the release.
pub const RELEASE_ARCHITECTURE: (&str, &str, usize) =
    ("release architecture", "_RELEASE_ARCHITECTURE_LOCATION_", 64);

// === impl Replacement ===

impl Replacement {
    /// A replacement of one of the known markers: a zero, its word, a zero, room, a zero.
    pub fn of((name, word, room): (&'static str, &str, usize), value: &str) -> Self {
        let marker = [b"\0", word.as_bytes(), b"\0", &vec![b'X'; room], b"\0"].concat();
        Self { name, marker, value: value.to_owned() }
    }
}

/// Copies a program and overwrites the first occurrence of each marker; gives the names of those that were not found.
pub fn patch(
    mut input: impl Read,
    mut output: impl Write,
    buffer: usize,
    replacements: &[Replacement],
) -> Result<Vec<&'static str>, PatchError> {
    for Replacement { name, marker, value } in replacements {
        if marker.len() > buffer {
            return Err(PatchError::Buffer { name, bytes: marker.len() });
        }
        if value.len() >= marker.len() {
            return Err(PatchError::TooLong {
                name,
                bytes: value.len(),
                most: marker.len().saturating_sub(1),
            });
        }
    }
    let mut open: Vec<&Replacement> = replacements.iter().collect();
    let longest = replacements.iter().map(|one| one.marker.len()).max().unwrap_or(0);
    let mut window: Vec<u8> = Vec::new();
    let mut piece = vec![0; buffer.max(1)];
    loop {
        let count = input.read(&mut piece)?;
        window.extend_from_slice(&piece[..count]);
        open.retain(|one| match find(&window, &one.marker) {
            Some(at) => {
                let end = at + one.value.len();
                window[at..end].copy_from_slice(one.value.as_bytes());
                window[end] = 0;
                false
            }
            None => true,
        });
        // A marker may have begun at the end of what is there.
        let keep = if count == 0 { 0 } else { longest.saturating_sub(1).min(window.len()) };
        let done = window.len() - keep;
        output.write_all(&window[..done])?;
        window.drain(..done);
        if count == 0 {
            return Ok(open.iter().map(|one| one.name).collect());
        }
    }
}

fn find(text: &[u8], wanted: &[u8]) -> Option<usize> {
    let first = *wanted.first()?;
    let last = text.len().checked_sub(wanted.len())?;
    let mut from = 0;
    while from <= last {
        let at = from + text[from..=last].iter().position(|byte| *byte == first)?;
        if text[at..].starts_with(wanted) {
            return Some(at);
        }
        from = at + 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &'static str, marker: &str, value: &str) -> Replacement {
        Replacement { name, marker: marker.as_bytes().to_vec(), value: value.to_owned() }
    }

    fn patched(input: &str, replacements: &[Replacement]) -> Result<(String, Vec<&'static str>), String> {
        let mut output = Vec::new();
        let open =
            patch(input.as_bytes(), &mut output, 4, replacements).map_err(|error| error.to_string())?;
        Ok((String::from_utf8(output).unwrap(), open))
    }

    #[test]
    fn rows_of_the_specification() {
        let (a, b) = (of("rep-A", "aa", "A"), of("rep-B", "bb", "B"));
        for (input, replacements, expected, open) in [
            ("aa345678", vec![a.clone()], "A\x00345678", vec![]),
            ("12345aa8", vec![a.clone()], "12345A\x008", vec![]),
            ("123456aa", vec![a.clone()], "123456A\x00", vec![]),
            ("123aa678", vec![a.clone()], "123A\x00678", vec![]),
            ("1aa4bb78", vec![a.clone(), b.clone()], "1A\x004B\x0078", vec![]),
            ("1bb4aa78", vec![a.clone(), b.clone()], "1B\x004A\x0078", vec![]),
            ("aa3aa678", vec![a.clone()], "A\x003aa678", vec![]),
            ("12345678", vec![a.clone(), b], "12345678", vec!["rep-A", "rep-B"]),
            ("12345678", vec![], "12345678", vec![]),
            ("", vec![a], "", vec!["rep-A"]),
        ] {
            assert_eq!(patched(input, &replacements), Ok((expected.to_owned(), open)), "{input}");
        }
        assert_eq!(
            patched("12345678", &[of("rep-A", "aaaaa", "A")]).unwrap_err(),
            "the buffer size must be greater than 5 bytes to find rep-A"
        );
        assert_eq!(
            patched("12345678", &[of("rep-A", "aa", "AA")]).unwrap_err(),
            "the rep-A value has 2 bytes, but the maximum replacement length is 1"
        );
    }

    #[test]
    fn the_known_markers_have_their_lengths() {
        let length = |marker| Replacement::of(marker, "x").marker.len();
        assert_eq!([RELEASE_IMAGE, RELEASE_VERSION, RELEASE_ARCHITECTURE].map(length), [327, 93, 98]);
    }
}
