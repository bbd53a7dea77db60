//! Compares what is at a destination with what was made, byte for byte.

use futures::StreamExt as _;
use lockstep_release::image::Content;
use lockstep_release::{BlobSource, Descriptor, Digest, Store, Which};
use lockstep_tests::made_release::Made;

/// Everything of a release is there under its names, with every byte hashed here again.
pub(crate) async fn assert_complete(store: &Store, made: &Made) {
    let prefix = format!("{}-x86_64", made.version);
    let mut tags = vec![(prefix.clone(), Some(made.release.clone()))];
    tags.extend(made.images.iter().map(|(name, digest)| (format!("{prefix}-{name}"), Some(digest.clone()))));
    tags.extend(made.signatures.iter().map(|tag| (tag.clone(), None)));
    for (tag, digest) in tags {
        let manifest = store.manifest(&Which::Tag(tag.clone())).await;
        let manifest = manifest.unwrap_or_else(|error| panic!("{tag}: {error}"));
        assert_eq!(Digest::of(&manifest.bytes), manifest.digest, "{tag}");
        if let Some(digest) = digest {
            assert_eq!(manifest.digest, digest, "{tag}");
        }
        if let Content::Index(index) = manifest.content().expect("a list") {
            for child in index.manifests {
                store.manifest(&Which::Digest(child.digest)).await.expect("what a list points to");
            }
        }
    }
    for (digest, size) in &made.blobs {
        let blob = Descriptor::new("", digest.clone(), *size);
        let mut stream = BlobSource::store(store.clone()).checked(&blob);
        while let Some(piece) = stream.next().await {
            piece.unwrap_or_else(|error| panic!("{digest}: {error}"));
        }
    }
}

/// Nobody sees a tag of something that is not whole.
pub(crate) async fn assert_whole_or_untagged(store: &Store) {
    for tag in store.tags().await.unwrap_or_default() {
        let manifest = store.manifest(&Which::Tag(tag.clone())).await.expect("what a tag points to");
        let mut images = vec![manifest];
        while let Some(manifest) = images.pop() {
            match manifest.content().expect("a manifest") {
                Content::Index(index) => {
                    for child in index.manifests {
                        images.push(store.manifest(&Which::Digest(child.digest)).await.expect("a child"));
                    }
                }
                Content::Image(image) => {
                    for blob in image.blobs() {
                        let size = store.blob_size(&blob.digest).await.expect("an answer");
                        assert_eq!(size, Some(blob.size), "{tag} has a tag and is not whole");
                    }
                }
            }
        }
    }
}
