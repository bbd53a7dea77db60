//! Which way a release is got, and what is said when it cannot be.

use super::*;

fn retriever() -> Retriever {
    Retriever {
        own_image: "example.com/own@sha256:1".to_owned(),
        payload_dir: example("1.0.0"),
        profile: "self-managed-high-availability".to_owned(),
        cache: None,
        patience: Duration::from_secs(5),
        accept_unverified: false,
        insecure: false,
    }
}

fn example(version: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples/releases").join(version)
}

fn desired(image: &str, force: bool) -> Desired {
    Desired { image: image.to_owned(), force }
}

async fn retrieve(retriever: &Retriever, desired: &Desired) -> Result<Retrieved, LoadFailure> {
    retriever.retrieve(desired, "1.1.0", ClusterAccess::default()).await
}

#[tokio::test]
async fn the_own_image_is_read_from_its_own_files_and_is_not_verified() {
    let retriever = retriever();
    let found = retrieve(&retriever, &desired("example.com/own@sha256:1", false)).await.unwrap();
    assert!(found.is_local && found.risks.is_empty());
    assert_eq!(found.release.metadata.version.to_string(), "1.0.0");
}

#[tokio::test]
async fn nobody_uses_another_release_unverified_unless_he_insists() {
    let image = example("1.1.0").display().to_string();
    let refused = retrieve(&retriever(), &desired(&image, false)).await.unwrap_err();
    assert_eq!((refused.step, refused.reason), ("RetrievePayload", "ImageVerificationFailed"));
    assert!(refused.message.starts_with("The update cannot be verified: signatures"), "{}", refused.message);

    let forced = retrieve(&retriever(), &desired(&image, true)).await.unwrap();
    assert_eq!(forced.release.metadata.version.to_string(), "1.1.0");
    assert!(forced.risks.contains("cannot be verified, but continuing anyway"), "{}", forced.risks);

    let accepting = Retriever { accept_unverified: true, ..retriever() };
    let accepted = retrieve(&accepting, &desired(&image, false)).await.unwrap();
    assert_eq!((accepted.is_local, accepted.risks.as_str()), (false, ""));
}

#[tokio::test]
async fn what_is_wrong_with_a_release_is_told_with_its_step() {
    let nowhere = retrieve(&retriever(), &desired("/no/such/place", true)).await.unwrap_err();
    assert_eq!((nowhere.step, nowhere.reason), ("RetrievePayload", "UpdatePayloadRetrievalFailed"));
    assert!(nowhere.message.contains("/no/such/place: no such file"), "{}", nowhere.message);

    let broken = tempfile::tempdir().unwrap();
    let folder = broken.path().join("release-manifests");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::create_dir_all(broken.path().join("manifests")).unwrap();
    for file in ["image-references", "release-metadata"] {
        std::fs::copy(example("1.1.0").join("release-manifests").join(file), folder.join(file)).unwrap();
    }
    std::fs::write(folder.join("0000_10_a.yaml"), "a: [").unwrap();
    let image = broken.path().display().to_string();
    let wrong = retrieve(&retriever(), &desired(&image, true)).await.unwrap_err();
    assert_eq!((wrong.step, wrong.reason), ("LoadPayload", "UpdatePayloadIntegrity"));
    assert!(wrong.message.contains("0000_10_a.yaml"), "{}", wrong.message);

    let nothing = retrieve(&retriever(), &desired("", true)).await.unwrap_err();
    assert!(nothing.message.starts_with("no payload image has been specified"), "{}", nothing.message);
}
