//! Reads a layer from a store, entry by entry.
//!
//! Whoever looks at entries sees them before the digest of the layer is known to be right, so what it found counts only when
//! [`walk`] has returned: the layer is always fetched and hashed to its end.

use std::cell::Cell;
use std::io::{self, Read};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use flate2::read::MultiGzDecoder;
use futures::StreamExt as _;
use tokio::sync::mpsc;

use crate::image::Descriptor;
use crate::open::ReadError;
use crate::store::{BlobSource, Store};

/// Pieces that wait between the network and the reader.
const QUEUE: usize = 16;
/// A layer may unpack to this many times its size; real ones reach about 20, a gzip bomb 1,000.
const MOST_TIMES: u64 = 200;
/// … and this many bytes more, because small layers may be mostly zeros.
const SLACK: u64 = 64 * 1024 * 1024;
/// Most bytes of what stands before an entry: long names, extended attributes.
const MOST_EXTENSION: u64 = 4 * 1024 * 1024;
/// Most entries of a layer; a whole operating system has about 100,000.
const MOST_ENTRIES: usize = 2_000_000;

/// What the header of an entry says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Path without `./` or `/` in front and without `/` at the end.
    pub path: String,
    /// What it is.
    pub kind: EntryKind,
    /// Bytes of its content.
    pub size: u64,
    /// Its permissions.
    pub mode: u32,
    /// When it was changed last, in seconds since 1970.
    pub modified: u64,
}

/// What an entry is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A folder.
    Directory,
    /// Another name, by path.
    Symlink(String),
    /// Another name of the same content.
    HardLink(String),
    /// A device, a pipe.
    Other,
}

/// Whether more entries are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Yes.
    Continue,
    /// No; the rest of the layer is only hashed.
    Stop,
}

/// Shows every entry of a layer, with its content, until enough is seen; then checks the whole layer.
///
/// # Errors
/// `..` in a path, more content than a layer can sensibly have, a broken tar or compression, wrong size or digest.
pub async fn walk<S: Send + 'static>(
    store: &Store,
    layer: &Descriptor,
    mut state: S,
    mut visit: impl FnMut(&mut S, &Entry, &mut dyn Read) -> Result<Next, ReadError> + Send + 'static,
) -> Result<S, ReadError> {
    let (sender, receiver) = mpsc::channel(QUEUE);
    let is_refused = Arc::new(AtomicBool::new(false));
    let limit = layer.size.saturating_mul(MOST_TIMES).saturating_add(SLACK);
    let reader = tokio::task::spawn_blocking({
        let is_refused = is_refused.clone();
        move || {
            let mut pipe = Pipe { receiver, piece: Bytes::new() };
            let outcome = entries(&mut pipe, limit, &mut |entry, content| visit(&mut state, entry, content));
            is_refused.store(outcome.is_err(), Ordering::Release);
            (outcome, state)
        }
    });
    let mut stream = BlobSource::store(store.clone()).checked(layer);
    let (mut is_read, mut broken) = (true, None);
    while let Some(piece) = stream.next().await {
        match piece {
            // A reader that has seen enough is gone; the bytes are still hashed.
            Ok(piece) if is_read => is_read = sender.send(piece).await.is_ok(),
            Ok(_) if is_refused.load(Ordering::Acquire) => break,
            Ok(_) => {}
            Err(error) => {
                broken = Some(error);
                break;
            }
        }
    }
    drop(sender);
    let (outcome, state) = reader.await.map_err(|error| ReadError::Refused(error.to_string()))?;
    // A broken stream makes a broken tar; the cause is the stream.
    if let Some(error) = broken {
        return Err(error.into());
    }
    outcome.map_err(|error| error.in_layer(&store.name(), layer))?;
    Ok(state)
}

/// Walks a tar that may be compressed.
fn entries(
    pipe: &mut Pipe,
    limit: u64,
    visit: &mut dyn FnMut(&Entry, &mut dyn Read) -> Result<Next, ReadError>,
) -> Result<(), ReadError> {
    match pipe.peek().get(..4) {
        Some([0x1f, 0x8b, ..]) => tar_entries(MultiGzDecoder::new(pipe), limit, visit),
        Some([0x28, 0xb5, 0x2f, 0xfd]) => {
            let decoder = ruzstd::decoding::StreamingDecoder::new(pipe)
                .map_err(|error| ReadError::Refused(format!("broken zstd: {error}")))?;
            tar_entries(decoder, limit, visit)
        }
        _ => tar_entries(pipe, limit, visit),
    }
}

fn tar_entries(
    reader: impl Read,
    limit: u64,
    visit: &mut dyn FnMut(&Entry, &mut dyn Read) -> Result<Next, ReadError>,
) -> Result<(), ReadError> {
    let allowance = Rc::new(Cell::new(u64::MAX));
    let mut tar = tar::Archive::new(Bounded { reader, left: limit, limit, allowance: allowance.clone() });
    let mut entries = tar.entries()?;
    let (mut count, mut behind) = (0, 0);
    loop {
        // What is read here is the rest of the entry before, and long names and attributes, which go to memory.
        allowance.set(MOST_EXTENSION.saturating_add(behind));
        let Some(entry) = entries.next() else { return Ok(()) };
        allowance.set(u64::MAX);
        let mut entry = entry?;
        count += 1;
        if count > MOST_ENTRIES {
            return Err(ReadError::Refused(format!("more than {MOST_ENTRIES} entries")));
        }
        // NB: a sparse file says how large it would be; fewer bytes are there.
        let is_sparse = entry.header().entry_type() == tar::EntryType::GNUSparse;
        behind = if is_sparse { entry.header().entry_size().unwrap_or_default() } else { entry.size() };
        let header = describe(&entry)?;
        if !header.path.is_empty() && visit(&header, &mut entry)? == Next::Stop {
            return Ok(());
        }
    }
}

fn describe<R: Read>(entry: &tar::Entry<'_, R>) -> Result<Entry, ReadError> {
    let path = normalise(&String::from_utf8_lossy(&entry.path_bytes()))?;
    let target = || {
        entry.link_name_bytes().map(|name| String::from_utf8_lossy(&name).into_owned()).unwrap_or_default()
    };
    let kind = match entry.header().entry_type() {
        tar::EntryType::Regular | tar::EntryType::Continuous | tar::EntryType::GNUSparse => EntryKind::File,
        tar::EntryType::Directory => EntryKind::Directory,
        tar::EntryType::Symlink => EntryKind::Symlink(target()),
        tar::EntryType::Link => EntryKind::HardLink(target()),
        _ => EntryKind::Other,
    };
    let number = |field: io::Result<u64>| field.unwrap_or_default();
    let mode = entry.header().mode().unwrap_or_default();
    Ok(Entry { path, kind, size: entry.size(), mode, modified: number(entry.header().mtime()) })
}

/// A path below the root of the image; a path that leaves it is refused.
pub(crate) fn normalise(path: &str) -> Result<String, ReadError> {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    if parts.contains(&"..") || path.contains('\0') {
        return Err(ReadError::Refused(format!("the entry {path:?} points outside of the image")));
    }
    Ok(parts.join("/"))
}

/// The pieces of a stream as a reader.
struct Pipe {
    receiver: mpsc::Receiver<Bytes>,
    piece: Bytes,
}

// === impl Pipe ===

impl Pipe {
    /// The first bytes, at least four unless there are fewer.
    fn peek(&mut self) -> &[u8] {
        while self.piece.len() < 4 {
            let Some(next) = self.receiver.blocking_recv() else { break };
            self.piece = [&self.piece[..], &next[..]].concat().into();
        }
        &self.piece
    }
}

impl Read for Pipe {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.piece.is_empty() {
            match self.receiver.blocking_recv() {
                Some(piece) => self.piece = piece,
                None => return Ok(0),
            }
        }
        let count = buffer.len().min(self.piece.len());
        buffer[..count].copy_from_slice(&self.piece.split_to(count));
        Ok(count)
    }
}

/// A reader that refuses to give more than a limit, in all and for what comes next.
struct Bounded<R> {
    reader: R,
    left: u64,
    limit: u64,
    allowance: Rc<Cell<u64>>,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(buffer)?;
        self.left = self.left.checked_sub(count as u64).ok_or_else(|| {
            let text =
                format!("it unpacks to more than {} bytes, as only a decompression bomb does", self.limit);
            io::Error::new(io::ErrorKind::InvalidData, text)
        })?;
        let allowance = self.allowance.get().checked_sub(count as u64).ok_or_else(|| {
            let text = format!("the name and attributes of an entry have more than {MOST_EXTENSION} bytes");
            io::Error::new(io::ErrorKind::InvalidData, text)
        })?;
        self.allowance.set(allowance);
        Ok(count)
    }
}
