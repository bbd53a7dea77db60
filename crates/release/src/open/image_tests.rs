use super::*;
use crate::image::media_type;
use crate::layer::{Layer, LayerWriter};
use crate::store::{BlobSource, Layout, StoreError};

/// A layout and what is written to it.
struct Bench {
    _folder: tempfile::TempDir,
    store: Store,
}

impl Bench {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::Layout(Layout::create(&folder.path().join("l")).await.unwrap());
        Self { _folder: folder, store }
    }

    async fn blob(&self, media_type: &str, bytes: &[u8]) -> Descriptor {
        let blob = Descriptor::new(media_type, Digest::of(bytes), bytes.len() as u64);
        self.store.write_blob(&blob, &BlobSource::memory(bytes.to_vec())).await.unwrap();
        blob
    }

    async fn layer(&self, layer: Layer) -> Descriptor {
        self.blob(media_type::OCI_LAYER, &layer.bytes).await
    }

    /// An image of layers, bottom first.
    async fn image(&self, layers: Vec<Descriptor>) -> Image {
        let config = self.blob(media_type::OCI_CONFIG, b"{}").await;
        let manifest = ImageManifest {
            schema_version: 2,
            media_type: media_type::OCI_MANIFEST.to_owned(),
            config,
            layers,
            annotations: BTreeMap::new(),
        };
        let raw = RawManifest::of(&manifest, media_type::OCI_MANIFEST);
        self.store.write_manifest(Some("image"), &raw).await.unwrap();
        Image::open(&self.store, &Which::Tag("image".into()), &PlatformFilter::Host).await.unwrap()
    }
}

fn layer(files: &[(&str, &str)]) -> Layer {
    let mut layer = LayerWriter::new();
    for (path, content) in files {
        layer.file(path, 0o644, 0, content.as_bytes());
    }
    layer.finish()
}

/// A tar with one entry of any kind and any path, which no careful writer would write.
fn raw_tar(kind: tar::EntryType, path: &str, link: &str, content: &[u8], size: u64) -> Vec<u8> {
    let mut header = tar::Header::new_gnu();
    header.as_mut_bytes()[..path.len()].copy_from_slice(path.as_bytes());
    header.as_mut_bytes()[157..157 + link.len()].copy_from_slice(link.as_bytes());
    header.set_entry_type(kind);
    header.set_size(size);
    header.set_mode(0o644);
    header.set_cksum();
    let mut bytes = header.as_bytes().to_vec();
    bytes.extend_from_slice(content);
    bytes.resize(bytes.len().next_multiple_of(512) + 1024, 0);
    bytes
}

async fn names(image: &Image, folder: &str, layers: Layers) -> Result<Vec<String>, String> {
    let files = image.folder(folder, layers).await.map_err(|error| error.to_string())?;
    Ok(files.iter().map(|(name, file)| format!("{name}={}", String::from_utf8_lossy(&file.bytes))).collect())
}

#[tokio::test]
async fn upper_layers_win_and_hide() {
    let bench = Bench::new().await;
    let bottom = layer(&[
        ("./manifests/a", "old"),
        ("/manifests/b", "b"),
        ("manifests/c", "c"),
        ("manifests/sub/x", ""),
    ]);
    let top = layer(&[("manifests/a", "new"), ("manifests/.wh.b", ""), ("other/d", "d")]);
    let layers = vec![bench.layer(bottom).await, bench.layer(top).await];
    let image = bench.image(layers).await;
    assert_eq!(names(&image, "manifests", Layers::All).await.unwrap(), ["a=new", "c=c"]);
    assert_eq!(names(&image, "manifests", Layers::Top).await.unwrap(), ["a=new"]);
    assert_eq!(names(&image, "manifests", Layers::Until("a")).await.unwrap(), ["a=new"]);

    let opaque = layer(&[("manifests/.wh..wh..opq", ""), ("manifests/z", "z")]);
    let mut layers = image.manifest.layers.clone();
    layers.push(bench.layer(opaque).await);
    let image = bench.image(layers).await;
    assert_eq!(names(&image, "manifests", Layers::All).await.unwrap(), ["z=z"]);
}

#[tokio::test]
async fn only_layers_that_are_marked_are_fetched() {
    let bench = Bench::new().await;
    // Two layers that are nowhere: to fetch one of them would be an error.
    let nowhere =
        |text: &str| Descriptor::new(media_type::OCI_LAYER, Digest::of(text.as_bytes()), 500_000_000);
    let mut own = bench.layer(layer(&[("manifests/own", "1")])).await;
    own.annotations.insert(annotation::HOLDS.to_owned(), "manifests".to_owned());
    let mut payload = bench.layer(layer(&[("release-manifests/image-references", "2")])).await;
    payload.annotations.insert(annotation::HOLDS.to_owned(), "release-manifests".to_owned());
    let image = bench.image(vec![nowhere("one"), own, nowhere("two"), payload.clone()]).await;
    assert_eq!(names(&image, "manifests", Layers::All).await.unwrap(), ["own=1"]);
    assert_eq!(names(&image, "release-manifests", Layers::All).await.unwrap(), ["image-references=2"]);
    assert!(image.weight_of("manifests") < 1000);

    let later = bench.layer(layer(&[("release-manifests/later", "3")])).await;
    let image = bench.image(vec![nowhere("one"), payload.clone(), later]).await;
    let found = names(&image, "release-manifests", Layers::All).await.unwrap();
    assert_eq!(found, ["image-references=2", "later=3"], "what somebody put on top is there");

    payload.annotations.clear();
    let image = bench.image(vec![nowhere("one"), payload]).await;
    let found = names(&image, "release-manifests", Layers::Until("image-references")).await.unwrap();
    assert_eq!(found, ["image-references=2"], "reading stops when what is needed is complete");
    assert!(names(&image, "manifests", Layers::All).await.unwrap_err().contains("not found"));
}

#[tokio::test]
async fn a_file_is_found_through_links_and_not_through_what_hides_it() {
    let bench = Bench::new().await;
    let bottom = layer(&[("usr/bin/oc-4", "program"), ("gone", "x"), ("dir/inside", "x")]);
    let link = raw_tar(tar::EntryType::Symlink, "usr/bin/oc", "oc-4", b"", 0);
    let folder_link = raw_tar(tar::EntryType::Symlink, "bin", "/usr/bin", b"", 0);
    let top = layer(&[(".wh.gone", ""), ("dir/.wh..wh..opq", "")]);
    let layers = vec![
        bench.layer(bottom).await,
        bench.blob("x", &link).await,
        bench.blob("x", &folder_link).await,
        bench.layer(top).await,
    ];
    let image = bench.image(layers).await;
    let program = image.file("/bin/oc").await.unwrap().unwrap();
    assert_eq!(&program.bytes[..], b"program");
    for path in ["gone", "dir/inside", "usr/bin", "no/such"] {
        assert_eq!(image.file(path).await.unwrap(), None, "{path}");
    }
    let circle = raw_tar(tar::EntryType::Symlink, "a", "a", b"", 0);
    let image = bench.image(vec![bench.blob("x", &circle).await]).await;
    assert!(image.file("a").await.unwrap_err().to_string().contains("link in a circle"));
    let outside = raw_tar(tar::EntryType::Symlink, "a", "../../etc/passwd", b"", 0);
    let image = bench.image(vec![bench.blob("x", &outside).await]).await;
    assert!(image.file("a").await.unwrap_err().to_string().contains("outside of the image"));
}

#[tokio::test]
async fn several_files_are_found_in_one_pass_and_layers_below_the_last_are_not_fetched() {
    let bench = Bench::new().await;
    let nowhere = Descriptor::new(media_type::OCI_LAYER, Digest::of(b"nowhere"), 500_000_000);
    let lower = layer(&[("bin/a", "old"), ("bin/b", "b"), ("bin/gone", "x")]);
    let link = raw_tar(tar::EntryType::Link, "bin/alias", "bin/b", b"", 0);
    let upper = layer(&[("bin/.wh.gone", ""), ("bin/a", "new")]);
    let layers =
        vec![nowhere, bench.layer(lower).await, bench.blob("x", &link).await, bench.layer(upper).await];
    let image = bench.image(layers).await;
    let found = image.files(&["/bin/alias", "bin/gone", "bin/b", "./bin/a", "bin/b"]).await.unwrap();
    let found: Vec<Option<&[u8]>> =
        found.iter().map(|file| file.as_ref().map(|file| &file.bytes[..])).collect();
    assert_eq!(found, [Some(&b"b"[..]), None, Some(b"b"), Some(b"new"), Some(b"b")]);
    assert_eq!(image.files(&[]).await.unwrap(), []);
    let error = image.files(&["bin/a", "bin/none"]).await.unwrap_err().to_string();
    assert!(error.contains("not found"), "all layers are asked for what is in none: {error}");
}

#[tokio::test]
async fn hostile_layers_are_refused_with_a_reason() {
    let file = tar::EntryType::Regular;
    let bomb = {
        use std::io::Write as _;
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        let size = 200 * 1024 * 1024;
        gzip.write_all(&raw_tar(file, "zeros", "", b"", size)[..512]).unwrap();
        let zeros = vec![0; 1024 * 1024];
        for _ in 0..200 {
            gzip.write_all(&zeros).unwrap();
        }
        gzip.finish().unwrap()
    };
    let name_bomb = {
        use std::io::Write as _;
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        let zeros = vec![b'a'; 1024 * 1024];
        gzip.write_all(&raw_tar(tar::EntryType::GNULongName, "././@LongLink", "", b"", 50 << 20)[..512])
            .unwrap();
        for _ in 0..50 {
            gzip.write_all(&zeros).unwrap();
        }
        gzip.write_all(&raw_tar(file, "x", "", b"x", 1)).unwrap();
        gzip.finish().unwrap()
    };
    let cases: [(Vec<u8>, &str); 9] = [
        (name_bomb, "the name and attributes of an entry have more than"),
        (raw_tar(file, "../../etc/passwd", "", b"x", 1), "points outside of the image"),
        (raw_tar(file, "manifests/../../x", "", b"x", 1), "points outside of the image"),
        (raw_tar(tar::EntryType::Symlink, "manifests/a.yaml", "/etc/passwd", b"", 0), "is a link"),
        (raw_tar(tar::EntryType::Link, "manifests/a.yaml", "x", b"", 0), "is a link"),
        (raw_tar(tar::EntryType::Symlink, "manifests", "/etc", b"", 0), "it has to be a folder"),
        (raw_tar(file, "manifests/a.yaml", "", b"short", 1 << 26), "more than the"),
        (raw_tar(file, "manifests/a.yaml", "", b"short", 5000), "ends after"),
        (bomb, "decompression bomb"),
    ];
    for (bytes, expected) in cases {
        let bench = Bench::new().await;
        let layer = bench.blob("x", &bytes).await;
        let image = bench.image(vec![layer.clone()]).await;
        let error = names(&image, "manifests", Layers::All).await.unwrap_err();
        assert!(error.contains(expected) && error.contains(layer.digest.as_str()), "{expected}: {error}");
    }
}

#[tokio::test]
async fn lying_sizes_and_digests_are_noticed() {
    let bench = Bench::new().await;
    let honest = bench.layer(layer(&[("manifests/a", "a")])).await;
    for size in [honest.size - 1, 10] {
        let image = bench.image(vec![Descriptor { size, ..honest.clone() }]).await;
        let error = image.folder("manifests", Layers::All).await.unwrap_err();
        assert!(matches!(error, ReadError::Store(StoreError::Mismatch { .. })), "{size}: {error}");
    }
    let Store::Layout(layout) = &bench.store else { unreachable!() };
    let path = layout.root().join("blobs/sha256").join(honest.digest.hex());
    let mut bytes = std::fs::read(&path).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let image = bench.image(vec![honest]).await;
    assert!(
        image.folder("manifests", Layers::All).await.is_err(),
        "the last byte, behind everything that is used"
    );
}

#[tokio::test]
async fn lists_in_lists_are_refused() {
    let bench = Bench::new().await;
    // A list cannot hold its own digest; lists in lists are as endless to a reader that does not count.
    let list = |child: Descriptor| {
        let json =
            serde_json::json!({"schemaVersion": 2, "mediaType": media_type::OCI_INDEX, "manifests": [child]});
        RawManifest::of(&json, media_type::OCI_INDEX)
    };
    let mut inner = list(Descriptor::new(media_type::OCI_INDEX, Digest::of(b"end"), 1));
    for _ in 0..4 {
        bench.store.write_manifest(None, &inner).await.unwrap();
        inner = list(inner.descriptor());
    }
    bench.store.write_manifest(Some("deep"), &inner).await.unwrap();
    let which = Which::Tag("deep".to_owned());
    let error = Image::open(&bench.store, &which, &PlatformFilter::Host).await.unwrap_err().to_string();
    assert!(error.contains("points to itself or to lists in lists"), "{error}");
}

#[tokio::test]
async fn a_list_that_lies_about_a_size_is_refused() {
    let bench = Bench::new().await;
    let image = bench.image(vec![bench.layer(layer(&[("a", "a")])).await]).await;
    for (lie, expected) in [(0, true), (1, false)] {
        let mut child = image.raw.descriptor();
        child.size += lie;
        let list =
            serde_json::json!({"schemaVersion": 2, "mediaType": media_type::OCI_INDEX, "manifests": [child]});
        let raw = RawManifest::of(&list, media_type::OCI_INDEX);
        bench.store.write_manifest(Some("list"), &raw).await.unwrap();
        let opened = Image::open(&bench.store, &Which::Tag("list".into()), &PlatformFilter::Host).await;
        assert_eq!(opened.is_ok(), expected);
        if let Err(error) = opened {
            let size = image.raw.bytes.len();
            let text = format!(
                "has {size} bytes, and the manifest list {} that points to it says {}",
                raw.digest,
                size + 1
            );
            assert!(error.to_string().contains(&text), "{error}");
        }
    }
}

#[tokio::test]
async fn a_list_that_points_to_itself_is_refused() {
    let bench = Bench::new().await;
    let Store::Layout(layout) = &bench.store else { unreachable!() };
    // No list can hold its own digest, so it lies about it.
    let own = Digest::of(b"the list");
    let list = serde_json::json!({"schemaVersion": 2, "mediaType": media_type::OCI_INDEX,
        "manifests": [{"mediaType": media_type::OCI_INDEX, "size": 1, "digest": own}]});
    let raw = RawManifest { digest: own.clone(), ..RawManifest::of(&list, media_type::OCI_INDEX) };
    std::fs::create_dir_all(layout.root().join("blobs/sha256")).unwrap();
    std::fs::write(layout.root().join("blobs/sha256").join(own.hex()), &raw.bytes).unwrap();
    let mut entry = raw.descriptor();
    entry.annotations.insert("org.opencontainers.image.ref.name".to_owned(), "self".to_owned());
    let index = serde_json::json!({"schemaVersion": 2, "manifests": [entry]});
    std::fs::write(layout.root().join("index.json"), index.to_string()).unwrap();
    for which in [Which::Tag("self".to_owned()), Which::Digest(own)] {
        let error = Image::open(&bench.store, &which, &PlatformFilter::Host).await.unwrap_err().to_string();
        assert!(error.starts_with("content integrity error: the manifest sha256:"), "{error}");
    }
}
