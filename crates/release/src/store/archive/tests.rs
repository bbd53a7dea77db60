//! An archive survives a crash at every byte, is the same for the same input, and refuses what it is not.

use super::*;
use crate::image::media_type;

fn blob(bytes: &[u8]) -> Descriptor {
    Descriptor::new("x", Digest::of(bytes), bytes.len() as u64)
}

fn manifest(text: &str) -> RawManifest {
    RawManifest::new(format!(r#"{{"layers":[],"x":"{text}"}}"#), media_type::OCI_MANIFEST)
}

async fn all(archive: &Archive, blob: &Descriptor) -> Vec<u8> {
    let mut stream = archive.read_blob(blob, 0).await.unwrap();
    let mut bytes = Vec::new();
    while let Some(piece) = stream.next().await {
        bytes.extend_from_slice(&piece.unwrap());
    }
    bytes
}

/// Adds one image: a blob, then the manifest under a tag.
async fn add(path: &Path, content: &[u8], tag: &str) -> bool {
    let archive = Archive::create(path).await.unwrap();
    let moved = archive.write_blob(&blob(content), &BlobSource::memory(content.to_vec())).await.unwrap();
    archive.write_manifest(Some(tag), &manifest(tag)).await.unwrap();
    archive.finish().await.unwrap();
    moved
}

#[tokio::test]
async fn what_is_written_is_read_and_the_same_input_gives_the_same_file() {
    let folder = tempfile::tempdir().unwrap();
    let paths = [folder.path().join("a.tar"), folder.path().join("sub/b.tar")];
    for path in &paths {
        assert!(add(path, b"one", "1").await);
        assert!(add(path, b"two", "2").await);
        assert!(!add(path, b"one", "1").await, "it is there");
        let archive = Archive::open(path).await.unwrap();
        assert_eq!(archive.tags(), ["1", "2"]);
        assert_eq!(archive.manifest(&Which::Tag("1".into())).await.unwrap(), manifest("1"));
        assert_eq!(archive.find(&Which::Digest(manifest("2").digest)), Some(manifest("2").digest));
        assert_eq!(archive.find(&Which::Tag("3".into())), None);
        assert_eq!(all(&archive, &blob(b"two")).await, b"two");
        let mut rest = archive.read_blob(&blob(b"two"), 2).await.unwrap();
        assert_eq!(rest.next().await.unwrap().unwrap(), "o");
    }
    assert_eq!(std::fs::read(&paths[0]).unwrap(), std::fs::read(&paths[1]).unwrap());
}

#[tokio::test]
async fn after_a_crash_at_any_byte_the_archive_is_gone_on_with() {
    let folder = tempfile::tempdir().unwrap();
    let whole = folder.path().join("whole.tar");
    add(&whole, b"one", "1").await;
    let first = std::fs::metadata(&whole).unwrap().len() - 1024;
    add(&whole, b"two", "2").await;
    let bytes = std::fs::read(&whole).unwrap();
    // Whole blocks are all that counts, as the test below says: it is enough to look closely at their edges.
    for length in (0..bytes.len()).filter(|length| matches!(length % 512, 0 | 1 | 300 | 511)) {
        let path = folder.path().join("torn.tar");
        std::fs::write(&path, &bytes[..length]).unwrap();
        if length as u64 >= first {
            let torn = Archive::open(&path).await.unwrap();
            assert_eq!(torn.manifest(&Which::Tag("1".into())).await.unwrap(), manifest("1"), "at {length}");
        }
        add(&path, b"one", "1").await;
        add(&path, b"two", "2").await;
        let archive = Archive::open(&path).await.unwrap();
        for (tag, content) in [("1", b"one"), ("2", b"two")] {
            assert_eq!(
                archive.manifest(&Which::Tag(tag.into())).await.unwrap(),
                manifest(tag),
                "at {length}"
            );
            assert_eq!(all(&archive, &blob(content)).await, content, "at {length}");
        }
    }
}

#[tokio::test]
async fn at_every_byte_exactly_the_whole_entries_are_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("whole.tar");
    add(&path, b"one", "1").await;
    add(&path, b"two", "2").await;
    let bytes = std::fs::read(&path).unwrap();
    let scan = |length: usize| Contents::scan(&mut Cursor::new(&bytes[..length])).unwrap();
    let whole = scan(bytes.len());
    for length in 0..bytes.len() {
        let torn = scan(length);
        assert!(torn.end <= length as u64 && torn.end + 4 * 512 > length as u64, "at {length}");
        let kept = whole
            .blobs
            .iter()
            .filter(|(_, span)| span.offset + span.size.next_multiple_of(512) <= length as u64);
        assert_eq!(torn.blobs, kept.map(|(digest, span)| (digest.clone(), *span)).collect(), "at {length}");
    }
}

#[tokio::test]
async fn a_large_blob_goes_on_beside_the_archive_and_leaves_nothing_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.tar");
    let bytes = vec![5; usize::try_from(SMALL).unwrap() + 7];
    let (descriptor, meter) = (blob(&bytes), super::super::Meter::default());
    let partial = folder.path().join("a.tar.partial");
    std::fs::create_dir(&partial).unwrap();
    std::fs::write(partial.join(descriptor.digest.hex()), &bytes[..1000]).unwrap();
    let archive = Archive::create(&path).await.unwrap();
    let source = BlobSource::memory(bytes.clone()).counted_by(&meter);
    let both =
        futures::join!(archive.write_blob(&descriptor, &source), archive.write_blob(&descriptor, &source));
    assert_eq!((both.0.unwrap(), both.1.unwrap()), (true, false), "two at a time write it once");
    assert_eq!(meter.bytes(), bytes.len() as u64 - 1000);
    archive.finish().await.unwrap();
    assert!(!partial.exists());
    assert_eq!(all(&archive, &descriptor).await, bytes);
}

#[tokio::test]
async fn wrong_content_and_a_second_writer_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.tar");
    let archive = Archive::create(&path).await.unwrap();
    let error = archive.write_blob(&blob(b"right"), &BlobSource::memory("wrong")).await.unwrap_err();
    assert!(matches!(error, StoreError::Mismatch { .. }), "{error}");
    assert_eq!(archive.blob_size(&Digest::of(b"right")), None);
    let error = Archive::create(&path).await.unwrap_err().to_string();
    assert!(error.contains("another process writes to it"), "{error}");
    let reader = Archive::open(&path).await.unwrap();
    let error = reader.write_manifest(None, &manifest("x")).await.unwrap_err().to_string();
    assert!(error.contains("opened to be read"), "{error}");
}

#[tokio::test]
async fn who_forgets_to_finish_leaves_an_archive_all_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.tar");
    let archive = Archive::create(&path).await.unwrap();
    archive.write_manifest(Some("1"), &manifest("1")).await.unwrap();
    drop(archive);
    assert_eq!(Archive::open(&path).await.unwrap().tags(), ["1"]);
}

#[tokio::test]
async fn files_that_are_something_else_are_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let docker = [entry("manifest.json", b"[]"), vec![0; 1024]].concat();
    let other = [entry("thesis.txt", b"42"), vec![0; 1024]].concat();
    for (content, wanted) in [
        (docker, "skopeo copy docker-archive:"),
        (other, "oci-layout is missing"),
        (b"notes".to_vec(), "oci-layout is missing"),
        (vec![b'x'; 5000], "no tar archive"),
        ([&[0x1f, 0x8b][..], &[0; 600]].concat(), "gunzip"),
    ] {
        let path = folder.path().join("file");
        std::fs::write(&path, &content).unwrap();
        for outcome in [Archive::open(&path).await, Archive::create(&path).await] {
            let error = outcome.unwrap_err().to_string();
            assert!(error.contains(wanted), "{error}");
        }
        assert_eq!(std::fs::read(&path).unwrap(), content);
    }
    assert!(Archive::open(&folder.path().join("gone")).await.is_err());
}
