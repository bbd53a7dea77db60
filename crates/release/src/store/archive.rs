//! An archive: a tar of an OCI layout in one file, as `skopeo` reads and writes it (`oci-archive`).
//!
//! A blob is fetched into `ARCHIVE.partial/` beside the file, where an interrupted one is gone on with, and added to the file when
//! it is whole and checked. The list of images is added when some were named and at the end; the last one counts.

mod entries;
mod writer;

use std::collections::HashMap;
use std::fs::File;
use std::io::{Cursor, Read as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::{Bytes, BytesMut};
use futures::StreamExt as _;

use self::entries::{Contents, ScanError, Span, blob_path, entry};
use self::writer::Writer;
use super::alone::{Turns, lock};
use super::layout::{
    INDEX, MARKER, MARKER_CONTENT, MAX_INDEX_BYTES, empty_index, enter, fetch, index_bytes, locate,
    not_found, note, read_index, tags,
};
use super::source::read_file;
use super::{Blob, BlobSource, StoreError, Which, io_error};
use crate::digest::Digest;
use crate::image::{Descriptor, Index, MAX_MANIFEST_BYTES, RawManifest};

/// Blobs below this many bytes are fetched into memory instead of a file beside the archive.
const SMALL: u64 = 1024 * 1024;
/// How often content that turned out wrong is fetched anew.
const MOST_TRIES: u32 = 4;
/// After so many names the list of images is written, so that a crash costs no more of them.
const MOST_UNWRITTEN: usize = 32;

/// An archive on disk.
#[derive(Debug, Clone)]
pub struct Archive {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    path: PathBuf,
    state: Mutex<State>,
    /// Blobs that somebody fetches at the moment.
    turns: Turns,
}

#[derive(Debug)]
struct State {
    blobs: HashMap<Digest, Span>,
    index: Index,
    /// How many names the list in the file lacks.
    unwritten: usize,
    /// Only in an archive that was opened to add to it.
    writer: Option<Writer>,
}

// === impl Archive ===

impl Archive {
    /// Opens an archive that is there.
    pub async fn open(path: &Path) -> Result<Self, StoreError> {
        let path = path.to_owned();
        blocking(move || {
            let mut file = File::open(&path).map_err(io_error(&path))?;
            let contents = scan(&mut file, &path)?;
            check_layout(&contents, &path)?;
            let index = load_index(&path, contents.index)?;
            Ok(Self::new(path, State { blobs: contents.blobs, index, unwritten: 0, writer: None }))
        })
        .await
    }

    /// Opens an archive to add to it, and makes it where nothing is; only one process at a time can.
    pub async fn create(path: &Path) -> Result<Self, StoreError> {
        let path = path.to_owned();
        blocking(move || Self::create_now(path)).await
    }

    fn create_now(path: PathBuf) -> Result<Self, StoreError> {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(io_error(folder))?;
        }
        let options = File::options().create(true).truncate(false).read(true).write(true).open(&path);
        let mut file = options.map_err(io_error(&path))?;
        lock(&file, &path)?;
        if is_begun(&mut file).map_err(io_error(&path))? {
            let mut writer = Writer::new(file, 0, false);
            let content = MARKER_CONTENT.as_bytes();
            writer
                .append(MARKER, content.len() as u64, &mut Cursor::new(content))
                .map_err(io_error(&path))?;
            let state =
                State { blobs: HashMap::new(), index: empty_index(), unwritten: 0, writer: Some(writer) };
            return Ok(Self::new(path, state));
        }
        let contents = scan(&mut file, &path)?;
        check_layout(&contents, &path)?;
        let index = load_index(&path, contents.index)?;
        let writer = Some(Writer::new(file, contents.end, contents.is_closed));
        Ok(Self::new(path, State { blobs: contents.blobs, index, unwritten: 0, writer }))
    }

    fn new(path: PathBuf, state: State) -> Self {
        Self { shared: Arc::new(Shared { path, state: Mutex::new(state), turns: Turns::default() }) }
    }

    /// What to call it in messages.
    pub fn name(&self) -> String {
        format!("oci-archive:{}", self.shared.path.display())
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.shared.path
    }

    /// The images that have a name or are listed without one.
    pub fn index(&self) -> Index {
        self.shared.state().index.clone()
    }

    fn span(&self, digest: &Digest) -> Option<Span> {
        self.shared.state().blobs.get(digest).copied()
    }

    pub(super) async fn manifest(&self, which: &Which) -> Result<RawManifest, StoreError> {
        let (digest, said) = locate(&self.index(), which, &self.name())?;
        let span = self.span(&digest).ok_or_else(|| not_found(which, &self.name()))?;
        if span.size > MAX_MANIFEST_BYTES {
            let why = format!("{}: {digest}: {} bytes are too many for a manifest", self.name(), span.size);
            return Err(StoreError::Refused(why));
        }
        let mut stream = read_file(self.path().to_owned(), span.offset, span.size).await?;
        let mut bytes = BytesMut::new();
        while let Some(piece) = stream.next().await {
            bytes.extend_from_slice(&piece?);
        }
        super::checked_manifest(RawManifest::new(bytes, &said), &digest, &self.name())
    }

    pub(super) fn find(&self, which: &Which) -> Option<Digest> {
        let (digest, _) = locate(&self.index(), which, "").ok()?;
        self.span(&digest).map(|_| digest)
    }

    pub(super) fn tags(&self) -> Vec<String> {
        tags(&self.index())
    }

    pub(super) fn blob_size(&self, digest: &Digest) -> Option<u64> {
        self.span(digest).map(|span| span.size)
    }

    pub(super) async fn read_blob(&self, blob: &Descriptor, from: u64) -> Result<Blob, StoreError> {
        let missing =
            || StoreError::NotFound { what: format!("the blob {}", blob.digest), store: self.name() };
        let span = self.span(&blob.digest).ok_or_else(missing)?;
        let from = from.min(span.size);
        read_file(self.path().to_owned(), span.offset + from, span.size - from).await
    }

    pub(super) async fn write_blob(
        &self,
        blob: &Descriptor,
        source: &BlobSource,
    ) -> Result<bool, StoreError> {
        let _one_at_a_time = self.shared.turns.take(&blob.digest).await;
        if self.span(&blob.digest).is_some_and(|span| span.size == blob.size) {
            return Ok(false);
        }
        if blob.size < SMALL {
            let bytes = fetch_small(blob, source).await?;
            self.append(blob, Content::Memory(bytes)).await?;
        } else {
            let folder = self.shared.partial_folder();
            tokio::fs::create_dir_all(&folder).await.map_err(io_error(&folder))?;
            let path = folder.join(blob.digest.hex());
            fetch(blob, source, &path).await?;
            self.append(blob, Content::File(path)).await?;
        }
        Ok(true)
    }

    /// Takes no notice of a blob any more; the one that is added next counts.
    pub(super) fn forget(&self, digest: &Digest) {
        self.shared.state().blobs.remove(digest);
    }

    async fn append(&self, blob: &Descriptor, content: Content) -> Result<(), StoreError> {
        let (shared, digest, size) = (Arc::clone(&self.shared), blob.digest.clone(), blob.size);
        // NB: what has begun is ended even when nobody waits for it any more.
        blocking(move || shared.append_blob(&digest, size, &content)).await
    }

    pub(super) async fn write_manifest(
        &self,
        tag: Option<&str>,
        manifest: &RawManifest,
    ) -> Result<(), StoreError> {
        self.write_blob(&manifest.descriptor(), &BlobSource::memory(manifest.bytes.clone())).await?;
        let Some(tag) = tag.map(str::to_owned) else { return Ok(()) };
        let (shared, manifest) = (Arc::clone(&self.shared), manifest.clone());
        blocking(move || {
            let mut state = shared.state();
            enter(&mut state.index, &tag, &manifest);
            state.unwritten += 1;
            if state.unwritten >= MOST_UNWRITTEN { shared.write_index(&mut state) } else { Ok(()) }
        })
        .await
    }

    /// Keeps a note beside a tag; it is in the file when the list of images is written next.
    pub(super) fn note(&self, tag: &str, key: &str, value: &str) {
        let mut state = self.shared.state();
        if note(&mut state.index, tag, key, value) {
            state.unwritten += 1;
        }
    }

    /// Writes the list of images and the mark of the end, and takes away what is no longer needed beside the file.
    pub async fn finish(&self) -> Result<(), StoreError> {
        let shared = Arc::clone(&self.shared);
        blocking(move || shared.finish()).await
    }
}

// === impl Shared ===

/// Checked content that goes into the archive.
enum Content {
    Memory(Bytes),
    /// A file beside the archive, removed afterwards.
    File(PathBuf),
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn partial_folder(&self) -> PathBuf {
        let mut name = self.path.as_os_str().to_owned();
        name.push(".partial");
        name.into()
    }

    fn read_only(&self) -> StoreError {
        StoreError::Refused(format!("{}: it was opened to be read", self.path.display()))
    }

    fn append_blob(&self, digest: &Digest, size: u64, content: &Content) -> Result<(), StoreError> {
        let mut state = self.state();
        let writer = state.writer.as_mut().ok_or_else(|| self.read_only())?;
        let path = blob_path(digest);
        let span = match content {
            Content::Memory(bytes) => writer.append(&path, size, &mut bytes.as_ref()),
            Content::File(from) => {
                let mut file = File::open(from).map_err(io_error(from))?;
                writer.append(&path, size, &mut file).and_then(|span| writer.sync().map(|()| span))
            }
        };
        let span = span.map_err(io_error(&self.path))?;
        state.blobs.insert(digest.clone(), span);
        if let Content::File(from) = content {
            std::fs::remove_file(from).map_err(io_error(from))?;
        }
        Ok(())
    }

    fn write_index(&self, state: &mut State) -> Result<(), StoreError> {
        let bytes = index_bytes(&state.index);
        let writer = state.writer.as_mut().ok_or_else(|| self.read_only())?;
        writer.append(INDEX, bytes.len() as u64, &mut bytes.as_ref()).map_err(io_error(&self.path))?;
        state.unwritten = 0;
        Ok(())
    }

    fn finish(&self) -> Result<(), StoreError> {
        let mut state = self.state();
        if state.writer.is_none() {
            return Ok(());
        }
        if state.unwritten > 0 {
            self.write_index(&mut state)?;
        }
        if let Some(writer) = state.writer.as_mut() {
            writer.close().map_err(io_error(&self.path))?;
        }
        // It stays when something in it is not done.
        let _ = std::fs::remove_dir(self.partial_folder());
        Ok(())
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // Whoever forgot to finish, or failed on the way, leaves a file that others can read all the same.
        let _ = self.finish();
    }
}

/// Whether the file is new, or only the beginning of a new archive was written.
fn is_begun(file: &mut File) -> std::io::Result<bool> {
    let beginning = entry(MARKER, MARKER_CONTENT.as_bytes());
    let length = file.metadata()?.len();
    if length > beginning.len() as u64 {
        return Ok(false);
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(beginning.starts_with(&bytes))
}

fn scan(file: &mut File, path: &Path) -> Result<Contents, StoreError> {
    Contents::scan(file).map_err(|error| match error {
        ScanError::Io(error) => io_error(path)(error),
        ScanError::Format(why) => StoreError::Refused(format!("{}: {why}", path.display())),
    })
}

fn check_layout(contents: &Contents, path: &Path) -> Result<(), StoreError> {
    let why = if contents.has_marker {
        return Ok(());
    } else if contents.is_docker {
        let shown = path.display();
        format!(
            "it is an archive of `docker save`; convert it with `skopeo copy docker-archive:{shown} oci-archive:NEW.tar`"
        )
    } else {
        format!("it is no archive of an OCI layout: {MARKER} is missing")
    };
    Err(StoreError::Refused(format!("{}: {why}", path.display())))
}

fn load_index(path: &Path, span: Option<Span>) -> Result<Index, StoreError> {
    use std::io::{Seek as _, SeekFrom};
    let Some(span) = span else { return Ok(empty_index()) };
    if span.size > MAX_INDEX_BYTES {
        let why = format!("{}: {INDEX}: {} bytes are too many", path.display(), span.size);
        return Err(StoreError::Refused(why));
    }
    let mut file = File::open(path).map_err(io_error(path))?;
    file.seek(SeekFrom::Start(span.offset)).map_err(io_error(path))?;
    let mut bytes = Vec::new();
    file.take(span.size).read_to_end(&mut bytes).map_err(io_error(path))?;
    read_index(&bytes, &format!("{}: {INDEX}", path.display()))
}

/// A whole small blob, checked; one that turns out wrong is fetched anew.
async fn fetch_small(blob: &Descriptor, source: &BlobSource) -> Result<Bytes, StoreError> {
    let mut tries = 0;
    loop {
        tries += 1;
        let mut stream = source.checked(blob);
        let mut bytes = BytesMut::new();
        let mut outcome = Ok(());
        while let Some(piece) = stream.next().await {
            match piece {
                Ok(piece) => bytes.extend_from_slice(&piece),
                Err(error) => outcome = Err(error),
            }
        }
        match outcome {
            Ok(()) => return Ok(bytes.freeze()),
            Err(StoreError::Mismatch { .. }) if tries < MOST_TRIES => {}
            Err(error) => return Err(error),
        }
    }
}

async fn blocking<T: Send + 'static>(
    act: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    let outcome = tokio::task::spawn_blocking(act).await;
    outcome.unwrap_or_else(|error| Err(StoreError::Refused(format!("a task was given up: {error}"))))
}

#[cfg(test)]
#[path = "archive/tests.rs"]
mod tests;
