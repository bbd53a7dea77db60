//! The writing end of an archive: entries are only ever added behind the last whole one.
//!
//! Before the first byte of an entry goes out, the end mark is cut off, so at any moment the file is a beginning of what it will
//! be: after a crash everything up to the last whole entry is there, with the list of images that was written last.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};

use super::entries::{self, Span};

/// One block of nothing.
const NOTHING: [u8; 512] = [0; 512];

/// The file of an archive that is written to.
#[derive(Debug)]
pub(super) struct Writer {
    file: File,
    /// Where the last whole entry ends.
    end: u64,
    /// Whether the end is marked.
    is_closed: bool,
}

// === impl Writer ===

impl Writer {
    pub(super) fn new(file: File, end: u64, is_closed: bool) -> Self {
        Self { file, end, is_closed }
    }

    /// Adds an entry whose content is exactly this long, and says where it is. What fails is cut off again.
    pub(super) fn append(&mut self, path: &str, size: u64, content: &mut impl Read) -> io::Result<Span> {
        let outcome = self.try_append(path, size, content);
        if outcome.is_err() {
            // A disk that is full takes no bytes, but it gives some back.
            let _ = self.file.set_len(self.end);
        }
        outcome
    }

    fn try_append(&mut self, path: &str, size: u64, content: &mut impl Read) -> io::Result<Span> {
        self.is_closed = false;
        self.file.set_len(self.end)?;
        self.file.seek(SeekFrom::Start(self.end))?;
        let header = entries::header(path, size);
        self.file.write_all(&header)?;
        // Between two files the kernel copies by itself.
        let copied = io::copy(content, &mut self.file)?;
        if copied != size {
            return Err(io::Error::other(format!("{copied} bytes came for {path}, not {size}")));
        }
        let filled = entries::padded(size).unwrap_or(size);
        let fill = usize::try_from(filled - size).unwrap_or_default();
        self.file.write_all(&NOTHING[..fill])?;
        let span = Span { offset: self.end + header.len() as u64, size };
        self.end = span.offset + filled;
        Ok(span)
    }

    /// Brings what was written to the disk, before anything is thrown away that it came from.
    pub(super) fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    /// Marks the end, unless it is marked.
    pub(super) fn close(&mut self) -> io::Result<()> {
        if self.is_closed {
            return Ok(());
        }
        self.file.set_len(self.end)?;
        self.file.seek(SeekFrom::Start(self.end))?;
        self.file.write_all(&[NOTHING; 2].concat())?;
        self.is_closed = true;
        self.file.sync_data()
    }
}
