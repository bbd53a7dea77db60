//! Where the bytes of a blob come from, and how they are moved: resumed where they broke off, counted, hashed.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures::{StreamExt as _, stream};

use super::{Blob, Store, StoreError, io_error};
use crate::digest::Hasher;
use crate::image::Descriptor;

/// Largest piece of a file that is read at once, in bytes.
const PIECE: usize = 256 * 1024;
/// How often in a row a connection may break without a single new byte.
const MOST_BREAKS: u32 = 8;

/// Where the bytes of a blob come from; it can be opened again at any position.
#[derive(Debug, Clone)]
pub struct BlobSource {
    place: Place,
    meter: Meter,
}

#[derive(Debug, Clone)]
enum Place {
    Memory(Bytes),
    File(PathBuf),
    Store(Box<Store>),
}

/// Counts the bytes that came over; bytes that came twice count twice.
#[derive(Debug, Clone, Default)]
pub struct Meter(Arc<AtomicU64>);

// === impl Meter ===

impl Meter {
    /// Bytes so far.
    pub fn bytes(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Adds bytes.
    pub fn add(&self, bytes: u64) {
        self.0.fetch_add(bytes, Ordering::Relaxed);
    }
}

// === impl BlobSource ===

impl BlobSource {
    /// Bytes in memory.
    pub fn memory(bytes: impl Into<Bytes>) -> Self {
        Self { place: Place::Memory(bytes.into()), meter: Meter::default() }
    }

    /// A file with exactly these bytes.
    pub fn file(path: impl Into<PathBuf>) -> Self {
        Self { place: Place::File(path.into()), meter: Meter::default() }
    }

    /// The blob of the same digest in a store.
    pub fn store(store: Store) -> Self {
        Self { place: Place::Store(Box::new(store)), meter: Meter::default() }
    }

    /// Counts what comes over.
    #[must_use]
    pub fn counted_by(mut self, meter: &Meter) -> Self {
        self.meter = meter.clone();
        self
    }

    /// The store, when it is one: a registry can then be asked to mount instead of to receive.
    pub fn as_store(&self) -> Option<&Store> {
        match &self.place {
            Place::Store(store) => Some(store),
            _ => None,
        }
    }

    fn name(&self) -> String {
        match &self.place {
            Place::Memory(_) => "memory".to_owned(),
            Place::File(path) => path.display().to_string(),
            Place::Store(store) => store.name(),
        }
    }

    /// Opens the source at a position; what breaks is the reader's to deal with.
    pub async fn open(&self, blob: &Descriptor, from: u64) -> Result<Blob, StoreError> {
        let stream: Blob = match &self.place {
            Place::Memory(bytes) => {
                let from = usize::try_from(from).unwrap_or(usize::MAX).min(bytes.len());
                stream::iter([Ok(bytes.slice(from..))]).boxed()
            }
            Place::File(path) => read_file(path.clone(), from, u64::MAX).await?,
            Place::Store(store) => store.read_blob(blob, from).await?,
        };
        let meter = self.meter.clone();
        Ok(stream
            .inspect(move |piece| {
                if let Ok(piece) = piece {
                    meter.add(piece.len() as u64);
                }
            })
            .boxed())
    }

    /// The bytes from a position on; where the source breaks off it is opened again at the place it had come to.
    ///
    /// Ends with an error when there are more bytes than the blob has, or when nothing comes any more. Nothing is hashed here.
    pub fn resuming(&self, blob: &Descriptor, from: u64) -> Blob {
        let reader = Resuming {
            source: self.clone(),
            blob: blob.clone(),
            position: from,
            breaks: 0,
            stream: None,
            done: false,
        };
        stream::unfold(reader, |mut reader| async move {
            let piece = reader.next().await?;
            Some((piece, reader))
        })
        .boxed()
    }

    /// All bytes of a blob; the end comes only when size and digest are right, otherwise an error does.
    pub fn checked(&self, blob: &Descriptor) -> Blob {
        self.checked_after(blob, Hasher::like(&blob.digest))
    }

    /// The bytes that are still missing behind those that were hashed already; checked as a whole.
    pub fn checked_after(&self, blob: &Descriptor, hasher: Hasher) -> Blob {
        let (store, blob) = (self.name(), blob.clone());
        let stream = self.resuming(&blob, hasher.bytes());
        stream::unfold(Some((stream, hasher)), move |state| {
            let (store, blob) = (store.clone(), blob.clone());
            async move {
                let (mut stream, mut hasher) = state?;
                match stream.next().await {
                    Some(Ok(piece)) => {
                        hasher.update(&piece);
                        Some((Ok(piece), Some((stream, hasher))))
                    }
                    Some(Err(error)) => Some((Err(error), None)),
                    None => check(&blob, &store, hasher).err().map(|error| (Err(error), None)),
                }
            }
        })
        .boxed()
    }
}

/// Compares what came with what was promised.
pub fn check(blob: &Descriptor, store: &str, hasher: Hasher) -> Result<(), StoreError> {
    let bytes = hasher.bytes();
    let digest = hasher.finish();
    let why = if bytes != blob.size {
        format!("it has {bytes} bytes, not {}", blob.size)
    } else if digest != blob.digest {
        format!("the digest calculated from the content is {digest}")
    } else {
        return Ok(());
    };
    Err(StoreError::Mismatch { what: format!("the blob {}", blob.digest), store: store.to_owned(), why })
}

/// A part of a file, piece by piece.
pub(crate) async fn read_file(path: PathBuf, from: u64, length: u64) -> Result<Blob, StoreError> {
    use tokio::io::{AsyncReadExt as _, AsyncSeekExt as _};
    let mut file = tokio::fs::File::open(&path).await.map_err(io_error(&path))?;
    file.seek(std::io::SeekFrom::Start(from)).await.map_err(io_error(&path))?;
    file.set_max_buf_size(PIECE);
    let state = Some((file, length));
    Ok(stream::unfold(state, move |state| {
        let path = path.clone();
        async move {
            let (mut file, left) = state?;
            let wanted = usize::try_from(left).unwrap_or(PIECE).min(PIECE);
            let mut piece = vec![0; wanted];
            match file.read(&mut piece).await {
                Ok(0) => None,
                Ok(count) => {
                    piece.truncate(count);
                    Some((Ok(Bytes::from(piece)), Some((file, left - count as u64))))
                }
                Err(error) => Some((Err(io_error(&path)(error)), None)),
            }
        }
    })
    .boxed())
}

/// A stream that is opened again where it broke.
struct Resuming {
    source: BlobSource,
    blob: Descriptor,
    position: u64,
    breaks: u32,
    stream: Option<Blob>,
    done: bool,
}

/// Why there is no piece.
enum Stop {
    /// What was open broke off.
    Broke(StoreError),
    /// Nothing could be opened; a registry has tried that often enough by itself.
    Closed(StoreError),
}

// === impl Resuming ===

impl Resuming {
    async fn next(&mut self) -> Option<Result<Bytes, StoreError>> {
        while !self.done {
            let outcome = self.step().await;
            match outcome {
                Ok(Some(piece)) => return Some(Ok(piece)),
                Ok(None) => self.done = true,
                // Only a connection can be better next time: a file stays as short as it is.
                Err(Stop::Broke(error))
                    if error.is_transient()
                        && self.breaks < MOST_BREAKS
                        && let Place::Store(store) = &self.source.place
                        && let Store::Registry(repository) = &**store =>
                {
                    self.stream = None;
                    self.breaks += 1;
                    let pause = pause(self.breaks);
                    repository.tell_retry(self.breaks, &error, pause);
                    tokio::time::sleep(pause).await;
                }
                Err(Stop::Broke(error) | Stop::Closed(error)) => {
                    self.done = true;
                    return Some(Err(error));
                }
            }
        }
        None
    }

    /// One piece, or the end.
    async fn step(&mut self) -> Result<Option<Bytes>, Stop> {
        if self.position == self.blob.size {
            return Ok(None);
        }
        let stream = match &mut self.stream {
            Some(stream) => stream,
            none => none.insert(self.source.open(&self.blob, self.position).await.map_err(Stop::Closed)?),
        };
        let piece = match stream.next().await {
            Some(piece) => piece.map_err(Stop::Broke)?,
            // A connection that ended too early looks like the end of the content.
            None => {
                return Err(Stop::Broke(StoreError::Network {
                    what: format!("{}: the blob {}", self.source.name(), self.blob.digest),
                    why: format!("ended after {} of {} bytes", self.position, self.blob.size),
                }));
            }
        };
        if !piece.is_empty() {
            self.breaks = 0;
        }
        self.position += piece.len() as u64;
        if self.position > self.blob.size {
            return Err(Stop::Broke(StoreError::Mismatch {
                what: format!("the blob {}", self.blob.digest),
                store: self.source.name(),
                why: format!("it has more than {} bytes", self.blob.size),
            }));
        }
        Ok(Some(piece))
    }
}

/// How long to wait before the next try: 0.1 s, doubled each time, 5 s at most.
fn pause(breaks: u32) -> Duration {
    Duration::from_millis(50 << breaks.min(7)).min(Duration::from_secs(5))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::Digest;

    async fn all(mut stream: Blob) -> Result<Vec<u8>, String> {
        let mut bytes = Vec::new();
        while let Some(piece) = stream.next().await {
            bytes.extend_from_slice(&piece.map_err(|error| error.to_string())?);
        }
        Ok(bytes)
    }

    fn blob(bytes: &[u8]) -> Descriptor {
        Descriptor::new("x", Digest::of(bytes), bytes.len() as u64)
    }

    #[tokio::test]
    async fn bytes_are_believed_only_when_size_and_digest_are_right() {
        let (good, meter) = (blob(b"abc"), Meter::default());
        let source = BlobSource::memory("abc").counted_by(&meter);
        assert_eq!(all(source.checked(&good)).await.unwrap(), b"abc");
        assert_eq!(meter.bytes(), 3);
        let wrong = all(BlobSource::memory("abd").checked(&good)).await.unwrap_err();
        assert!(wrong.contains("content integrity error") && wrong.contains("calculated from the content"));
        let long = all(BlobSource::memory("abcd").checked(&good)).await.unwrap_err();
        assert!(long.contains("more than 3 bytes"), "{long}");
    }

    #[tokio::test]
    async fn what_ends_too_early_and_has_no_connection_that_broke_is_refused() {
        let short = all(BlobSource::memory("ab").checked(&blob(b"abc"))).await.unwrap_err();
        assert!(short.contains("ended after 2 of 3 bytes"), "{short}");
    }

    #[tokio::test]
    async fn a_file_is_read_from_a_position() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("blob");
        std::fs::write(&path, vec![7; 600_000]).unwrap();
        let descriptor = blob(&vec![7; 600_000]);
        let rest = all(BlobSource::file(&path).resuming(&descriptor, 599_990)).await.unwrap();
        assert_eq!(rest, [7; 10]);
        let mut hasher = Hasher::default();
        hasher.update(&vec![7; 599_990]);
        assert_eq!(all(BlobSource::file(&path).checked_after(&descriptor, hasher)).await.unwrap().len(), 10);
        assert!(BlobSource::file(folder.path().join("gone")).open(&descriptor, 0).await.is_err());
    }

    #[test]
    fn pauses_grow_and_are_bounded() {
        let pauses: Vec<u128> = (1..=9).map(|breaks| pause(breaks).as_millis()).collect();
        assert_eq!(pauses, [100, 200, 400, 800, 1600, 3200, 5000, 5000, 5000]);
    }
}
