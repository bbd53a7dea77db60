//! An OCI layout: a folder with `oci-layout`, `index.json` and `blobs/ALGORITHM/HEX`.
//!
//! A blob is written as `HEX.partial` and gets its name when it is whole and checked; after an interruption the next run goes on
//! behind what is there. `index.json` is replaced as a whole.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use futures::StreamExt as _;
use serde_json::json;
use tokio::io::{AsyncSeekExt as _, AsyncWriteExt as _};
use tokio::sync::Mutex;

use super::alone::{Turns, lock};
use super::source::read_file;
use super::{Blob, BlobSource, StoreError, Which, io_error};
use crate::digest::{Digest, Hasher};
use crate::image::{Descriptor, Index, MAX_MANIFEST_BYTES, RawManifest, media_type};

/// The file that says that a folder is a layout.
pub const MARKER: &str = "oci-layout";
/// Its content.
pub const MARKER_CONTENT: &str = r#"{"imageLayoutVersion":"1.0.0"}"#;
/// The file that lists the images.
pub const INDEX: &str = "index.json";
/// The annotation that names an image in the index.
pub const REF_NAME: &str = "org.opencontainers.image.ref.name";
/// Largest list of images that is read, in bytes.
pub const MAX_INDEX_BYTES: u64 = 64 * 1024 * 1024;
/// How often content that turned out wrong is fetched anew.
const MOST_TRIES: u32 = 4;

/// A layout on disk.
#[derive(Debug, Clone)]
pub struct Layout {
    root: PathBuf,
    /// One writer of `index.json` at a time.
    writer: Arc<Mutex<()>>,
    turns: Arc<Turns>,
    /// Keeps other processes from writing; only in a layout that was opened to add to it.
    _lock: Option<Arc<File>>,
}

// === impl Layout ===

impl Layout {
    /// Opens a layout that is there.
    pub async fn open(root: &Path) -> Result<Self, StoreError> {
        let marker = root.join(MARKER);
        match tokio::fs::metadata(&marker).await {
            Ok(_) => Ok(Self::new(root, None)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let why = format!("{} is no OCI layout: {MARKER} is missing", root.display());
                Err(StoreError::Refused(why))
            }
            Err(error) => Err(io_error(&marker)(error)),
        }
    }

    /// Opens a layout to add to it, and makes it where nothing is; only one process at a time can. A folder with other content
    /// is refused.
    pub async fn create(root: &Path) -> Result<Self, StoreError> {
        tokio::fs::create_dir_all(root).await.map_err(io_error(root))?;
        let path = root.join(MARKER);
        if !path.is_file() {
            let mut entries = tokio::fs::read_dir(root).await.map_err(io_error(root))?;
            if entries.next_entry().await.map_err(io_error(root))?.is_some() {
                let why =
                    format!("{} is neither empty nor an OCI layout; nothing was written", root.display());
                return Err(StoreError::Refused(why));
            }
            tokio::fs::write(&path, MARKER_CONTENT).await.map_err(io_error(&path))?;
        }
        let file = File::options().read(true).write(true).open(&path).map_err(io_error(&path))?;
        lock(&file, root)?;
        Ok(Self::new(root, Some(Arc::new(file))))
    }

    fn new(root: &Path, lock: Option<Arc<File>>) -> Self {
        Self { root: root.to_owned(), writer: Arc::default(), turns: Arc::default(), _lock: lock }
    }

    /// What to call it in messages.
    pub fn name(&self) -> String {
        format!("oci:{}", self.root.display())
    }

    /// The folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    fn blob_path(&self, digest: &Digest) -> PathBuf {
        self.root.join("blobs").join(digest.algorithm()).join(digest.hex())
    }

    /// The images that have a name or are listed without one.
    pub async fn index(&self) -> Result<Index, StoreError> {
        let path = self.root.join(INDEX);
        let bytes = match tokio::fs::metadata(&path).await {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(empty_index()),
            Err(error) => return Err(io_error(&path)(error)),
            Ok(found) if found.len() > MAX_INDEX_BYTES => {
                return Err(StoreError::Refused(format!(
                    "{}: {} bytes are too many",
                    path.display(),
                    found.len()
                )));
            }
            Ok(_) => tokio::fs::read(&path).await.map_err(io_error(&path))?,
        };
        read_index(&bytes, &path.display().to_string())
    }

    pub(super) async fn manifest(&self, which: &Which) -> Result<RawManifest, StoreError> {
        let index = self.index().await?;
        let (digest, said) = locate(&index, which, &self.name())?;
        let path = self.blob_path(&digest);
        let size = self.blob_size(&digest).await?.ok_or_else(|| not_found(which, &self.name()))?;
        if size > MAX_MANIFEST_BYTES {
            let why = format!("{}: {size} bytes are too many for a manifest", path.display());
            return Err(StoreError::Refused(why));
        }
        let bytes = tokio::fs::read(&path).await.map_err(io_error(&path))?;
        super::checked_manifest(RawManifest::new(bytes, &said), &digest, &self.name())
    }

    pub(super) async fn find(&self, which: &Which) -> Result<Option<Digest>, StoreError> {
        let index = self.index().await?;
        let Ok((digest, _)) = locate(&index, which, "") else { return Ok(None) };
        Ok(self.blob_size(&digest).await?.map(|_| digest))
    }

    pub(super) async fn tags(&self) -> Result<Vec<String>, StoreError> {
        Ok(tags(&self.index().await?))
    }

    pub(super) async fn blob_size(&self, digest: &Digest) -> Result<Option<u64>, StoreError> {
        let path = self.blob_path(digest);
        match tokio::fs::metadata(&path).await {
            Ok(found) if found.is_file() => Ok(Some(found.len())),
            Ok(_) => Err(StoreError::Refused(format!("{}: not a regular file", path.display()))),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(io_error(&path)(error)),
        }
    }

    pub(super) async fn read_blob(&self, blob: &Descriptor, from: u64) -> Result<Blob, StoreError> {
        if self.blob_size(&blob.digest).await?.is_none() {
            return Err(StoreError::NotFound {
                what: format!("the blob {}", blob.digest),
                store: self.name(),
            });
        }
        read_file(self.blob_path(&blob.digest), from, u64::MAX).await
    }

    pub(super) async fn write_blob(
        &self,
        blob: &Descriptor,
        source: &BlobSource,
    ) -> Result<bool, StoreError> {
        let _one_at_a_time = self.turns.take(&blob.digest).await;
        // The name is given only to whole and checked content, so a file of the right size is it.
        if self.blob_size(&blob.digest).await? == Some(blob.size) {
            return Ok(false);
        }
        let path = self.blob_path(&blob.digest);
        let folder = path.parent().unwrap_or(&self.root).to_owned();
        tokio::fs::create_dir_all(&folder).await.map_err(io_error(&folder))?;
        let partial = partial(&path);
        fetch(blob, source, &partial).await?;
        tokio::fs::rename(&partial, &path).await.map_err(io_error(&path))?;
        Ok(true)
    }

    /// Removes a blob, if it is there.
    pub(super) async fn forget(&self, digest: &Digest) -> Result<(), StoreError> {
        let _one_at_a_time = self.turns.take(digest).await;
        let path = self.blob_path(digest);
        match tokio::fs::remove_file(&path).await {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(io_error(&path)(error)),
            _ => Ok(()),
        }
    }

    pub(super) async fn write_manifest(
        &self,
        tag: Option<&str>,
        manifest: &RawManifest,
    ) -> Result<(), StoreError> {
        self.write_blob(&manifest.descriptor(), &BlobSource::memory(manifest.bytes.clone())).await?;
        let Some(tag) = tag else { return Ok(()) };
        let _one_at_a_time = self.writer.lock().await;
        let mut index = self.index().await?;
        enter(&mut index, tag, manifest);
        self.write_index(&index).await
    }

    pub(super) async fn note(&self, tag: &str, key: &str, value: &str) -> Result<(), StoreError> {
        let _one_at_a_time = self.writer.lock().await;
        let mut index = self.index().await?;
        if note(&mut index, tag, key, value) { self.write_index(&index).await } else { Ok(()) }
    }

    async fn write_index(&self, index: &Index) -> Result<(), StoreError> {
        let (path, next) = (self.root.join(INDEX), self.root.join("index.json.partial"));
        let mut file = tokio::fs::File::create(&next).await.map_err(io_error(&next))?;
        file.write_all(&index_bytes(index)).await.map_err(io_error(&next))?;
        file.flush().await.map_err(io_error(&next))?;
        // The name must not come to the disk before the content.
        file.sync_all().await.map_err(io_error(&next))?;
        tokio::fs::rename(&next, &path).await.map_err(io_error(&path))
    }
}

/// Where a blob is written until it is whole.
pub(super) fn partial(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".partial");
    name.into()
}

/// Fetches a blob into a file, behind what is there already; content that turns out wrong is thrown away and fetched anew.
pub(super) async fn fetch(blob: &Descriptor, source: &BlobSource, path: &Path) -> Result<(), StoreError> {
    let mut tries = 0;
    loop {
        match fetch_once(blob, source, path).await {
            Err(error @ StoreError::Mismatch { .. }) => {
                let _ = tokio::fs::remove_file(path).await;
                tries += 1;
                if tries == MOST_TRIES {
                    return Err(error);
                }
            }
            outcome => return outcome,
        }
    }
}

async fn fetch_once(blob: &Descriptor, source: &BlobSource, path: &Path) -> Result<(), StoreError> {
    let options = || {
        let mut options = tokio::fs::OpenOptions::new();
        options.create(true).truncate(false).write(true).read(true);
        options
    };
    let mut file = options().open(path).await.map_err(io_error(path))?;
    let there = file.metadata().await.map_err(io_error(path))?.len();
    let mut hasher = Hasher::like(&blob.digest);
    if there > blob.size {
        file.set_len(0).await.map_err(io_error(path))?;
    } else if there > 0 {
        let mut prefix = read_file(path.to_owned(), 0, u64::MAX).await?;
        while let Some(piece) = prefix.next().await {
            hasher.update(&piece?);
        }
    }
    file.seek(std::io::SeekFrom::Start(hasher.bytes())).await.map_err(io_error(path))?;
    let mut stream = source.checked_after(blob, hasher);
    while let Some(piece) = stream.next().await {
        match piece {
            Ok(piece) => file.write_all(&piece).await.map_err(io_error(path))?,
            Err(error) => {
                // What came so far is the beginning of the next try.
                let _ = file.flush().await;
                return Err(error);
            }
        }
    }
    file.flush().await.map_err(io_error(path))?;
    file.sync_data().await.map_err(io_error(path))
}

/// A list of no images.
pub(super) fn empty_index() -> Index {
    Index {
        schema_version: 2,
        media_type: media_type::OCI_INDEX.to_owned(),
        manifests: Vec::new(),
        annotations: std::collections::BTreeMap::new(),
    }
}

pub(super) fn read_index(bytes: &[u8], name: &str) -> Result<Index, StoreError> {
    serde_json::from_slice(bytes).map_err(|error| StoreError::Refused(format!("{name}: {error}")))
}

/// The list as bytes; entries are sorted by name, so that the same images give the same bytes.
pub(super) fn index_bytes(index: &Index) -> Bytes {
    let mut index = index.clone();
    index.manifests.sort_by_key(|entry| (entry.annotations.get(REF_NAME).cloned(), entry.digest.clone()));
    serde_json::to_vec(&json!(index)).unwrap_or_default().into()
}

/// Gives a manifest a name; the one that had it loses it.
pub(super) fn enter(index: &mut Index, tag: &str, manifest: &RawManifest) {
    index.manifests.retain(|entry| entry.annotations.get(REF_NAME).is_none_or(|name| name != tag));
    let mut entry = manifest.descriptor();
    entry.annotations.insert(REF_NAME.to_owned(), tag.to_owned());
    index.manifests.push(entry);
}

/// Notes something beside a tag; whether that changed anything.
pub(super) fn note(index: &mut Index, tag: &str, key: &str, value: &str) -> bool {
    let has_name = |entry: &&mut Descriptor| entry.annotations.get(REF_NAME).is_some_and(|name| name == tag);
    let Some(entry) = index.manifests.iter_mut().find(has_name) else { return false };
    entry.annotations.insert(key.to_owned(), value.to_owned()).is_none_or(|before| before != value)
}

/// A note beside any tag of an image.
pub(super) fn noted(index: &Index, digest: &Digest, key: &str) -> Option<String> {
    let mut entries = index.manifests.iter().filter(|entry| entry.digest == *digest);
    entries.find_map(|entry| entry.annotations.get(key).cloned())
}

/// The digest of an image, and what the list says of its format.
pub(super) fn locate(index: &Index, which: &Which, store: &str) -> Result<(Digest, String), StoreError> {
    match which {
        Which::Digest(digest) => {
            let listed = index.manifests.iter().find(|entry| entry.digest == *digest);
            Ok((digest.clone(), listed.map(|entry| entry.media_type.clone()).unwrap_or_default()))
        }
        Which::Tag(tag) => {
            let has_name = |entry: &&Descriptor| entry.annotations.get(REF_NAME) == Some(tag);
            let entry = index.manifests.iter().find(has_name).ok_or_else(|| not_found(which, store))?;
            Ok((entry.digest.clone(), entry.media_type.clone()))
        }
    }
}

pub(super) fn tags(index: &Index) -> Vec<String> {
    let mut tags: Vec<String> =
        index.manifests.iter().filter_map(|entry| entry.annotations.get(REF_NAME).cloned()).collect();
    tags.sort();
    tags
}

pub(super) fn not_found(which: &Which, store: &str) -> StoreError {
    StoreError::NotFound { what: which.to_string(), store: store.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blob(bytes: &[u8]) -> Descriptor {
        Descriptor::new("x", Digest::of(bytes), bytes.len() as u64)
    }

    impl Layout {
        async fn read_all(&self, blob: &Descriptor) -> Vec<u8> {
            tokio::fs::read(self.blob_path(&blob.digest)).await.unwrap()
        }
    }

    async fn a_layout() -> (tempfile::TempDir, Layout) {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::create(&folder.path().join("layout")).await.unwrap();
        (folder, layout)
    }

    #[tokio::test]
    async fn what_is_written_is_read_and_a_tag_moves() {
        let (_folder, layout) = a_layout().await;
        let one = RawManifest::new(r#"{"layers":[]}"#, media_type::OCI_MANIFEST);
        let two = RawManifest::new(r#"{"layers":[ ]}"#, media_type::DOCKER_MANIFEST);
        layout.write_manifest(Some("a"), &one).await.unwrap();
        layout.write_manifest(Some("b"), &one).await.unwrap();
        layout.write_manifest(Some("a"), &two).await.unwrap();
        let layout = Layout::open(layout.root()).await.unwrap();
        assert_eq!(layout.tags().await.unwrap(), ["a", "b"]);
        assert_eq!(layout.manifest(&Which::Tag("a".into())).await.unwrap(), two, "the format is kept too");
        assert_eq!(layout.manifest(&Which::Digest(one.digest.clone())).await.unwrap(), one);
        assert_eq!(layout.find(&Which::Tag("c".into())).await.unwrap(), None);
    }

    #[tokio::test]
    async fn an_interrupted_blob_goes_on_behind_what_is_there() {
        let (_folder, layout) = a_layout().await;
        let (bytes, meter) = (vec![9; 1000], super::super::Meter::default());
        let descriptor = blob(&bytes);
        let path = layout.blob_path(&descriptor.digest);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(partial(&path), &bytes[..900]).unwrap();
        let source = BlobSource::memory(bytes.clone()).counted_by(&meter);
        assert!(layout.write_blob(&descriptor, &source).await.unwrap());
        assert_eq!((meter.bytes(), std::fs::read(&path).unwrap()), (100, bytes));
        assert!(!layout.write_blob(&descriptor, &source).await.unwrap(), "it is there");
    }

    #[tokio::test]
    async fn a_wrong_beginning_is_thrown_away_and_a_wrong_source_leaves_nothing() {
        let (_folder, layout) = a_layout().await;
        let descriptor = blob(b"right");
        let path = layout.blob_path(&descriptor.digest);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(partial(&path), "wr").unwrap();
        layout.write_blob(&descriptor, &BlobSource::memory("right")).await.unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"right");
        let other = blob(b"other");
        let error = layout.write_blob(&other, &BlobSource::memory("0ther")).await.unwrap_err();
        assert!(matches!(error, StoreError::Mismatch { .. }), "{error}");
        let left = layout.blob_path(&other.digest);
        assert!(!left.exists() && !partial(&left).exists());
    }

    #[tokio::test]
    async fn two_who_write_the_same_wait_for_each_other() {
        let (_folder, layout) = a_layout().await;
        let (bytes, meter) = (vec![7; 300_000], super::super::Meter::default());
        let (descriptor, source) = (blob(&bytes), BlobSource::memory(bytes.clone()).counted_by(&meter));
        let writes = (0..8).map(|_| layout.write_blob(&descriptor, &source));
        let moved: Vec<bool> =
            futures::future::join_all(writes).await.into_iter().map(Result::unwrap).collect();
        assert_eq!(moved.iter().filter(|it| **it).count(), 1);
        assert_eq!((meter.bytes(), layout.read_all(&descriptor).await), (bytes.len() as u64, bytes));
    }

    #[tokio::test]
    async fn a_second_writer_is_refused_and_a_reader_is_not() {
        let (_folder, layout) = a_layout().await;
        let error = Layout::create(layout.root()).await.unwrap_err().to_string();
        assert!(error.ends_with("another process writes to it; wait until that has ended"), "{error}");
        let copy = layout.clone();
        Layout::open(layout.root()).await.unwrap();
        let root = layout.root().to_owned();
        drop(layout);
        assert!(Layout::create(&root).await.is_err(), "a copy writes still");
        drop(copy);
        Layout::create(&root).await.unwrap();
    }

    #[tokio::test]
    async fn what_is_forgotten_is_written_anew() {
        let (_folder, layout) = a_layout().await;
        let descriptor = blob(b"right");
        layout.forget(&descriptor.digest).await.unwrap();
        layout.write_blob(&descriptor, &BlobSource::memory("right")).await.unwrap();
        std::fs::write(layout.blob_path(&descriptor.digest), "wrong").unwrap();
        assert!(!layout.write_blob(&descriptor, &BlobSource::memory("right")).await.unwrap());
        layout.forget(&descriptor.digest).await.unwrap();
        assert!(layout.write_blob(&descriptor, &BlobSource::memory("right")).await.unwrap());
        assert_eq!(layout.read_all(&descriptor).await, b"right");
    }

    #[tokio::test]
    async fn a_folder_with_other_things_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("thesis.txt"), "").unwrap();
        let error = Layout::create(folder.path()).await.unwrap_err().to_string();
        assert!(error.contains("neither empty nor an OCI layout"), "{error}");
        assert!(Layout::open(folder.path()).await.unwrap_err().to_string().contains("oci-layout is missing"));
    }
}
