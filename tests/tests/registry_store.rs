//! Images go to and come from a real registry whole and right, whatever happens on the way, and credentials stay where they belong.

#[path = "registry_store/access.rs"]
mod access;
#[path = "registry_store/faults.rs"]
mod faults;
#[path = "registry_store/front.rs"]
mod front;
#[path = "registry_store/mirrors.rs"]
mod mirrors;
#[path = "registry_store/patience.rs"]
mod patience;
#[path = "registry_store/skopeo.rs"]
mod skopeo;
#[path = "registry_store/stage.rs"]
mod stage;

use front::{Act, Front, says};
use lockstep_release::store::Meter;
use lockstep_release::{BlobSource, Digest, Which};
use lockstep_tests::fault_proxy::{Fault, FaultProxy, Kind, Plan, When};
use stage::{Stage, an_image, blob, content};

#[tokio::test]
async fn an_image_is_written_once_and_read_back_as_it_was() {
    let stage = Stage::start();
    let store = stage.store("team/app");
    let image = an_image(1);
    assert!(store.find(&Which::Tag("1".into())).await.unwrap().is_none());
    assert!(store.tags().await.unwrap_err().is_not_found());
    assert_eq!(image.write(&store, "1").await, image.blobs.len(), "all blobs were moved");
    assert_eq!(image.write(&store, "2").await, 0, "all blobs were there");
    assert_eq!(store.tags().await.unwrap(), ["1", "2"]);
    assert_eq!(store.manifest(&Which::Tag("2".into())).await.unwrap(), image.manifest);
    let by_digest = Which::Digest(image.manifest.digest.clone());
    assert_eq!(store.manifest(&by_digest).await.unwrap(), image.manifest);
    assert_eq!(store.find(&by_digest).await.unwrap(), Some(image.manifest.digest.clone()));
    assert_eq!(store.find(&Which::Tag("1".into())).await.unwrap(), Some(image.manifest.digest.clone()));
    image.check(&store).await;
    let missing = Digest::of(b"missing");
    assert_eq!(store.blob_size(&missing).await.unwrap(), None);
    let error = store.manifest(&Which::Digest(missing.clone())).await.unwrap_err();
    assert!(error.is_not_found(), "{error}");
    let error = store.read_blob(&blob(b"missing"), 0).await.err().unwrap();
    assert!(error.is_not_found(), "{error}");
}

#[tokio::test]
async fn a_blob_of_a_neighbour_is_mounted_and_not_sent() {
    let stage = Stage::start();
    let proxy = FaultProxy::start(stage.address(), Plan::default()).await.unwrap();
    let (from, to) = (stage.store_at(proxy.address, "a/from"), stage.store_at(proxy.address, "b/to"));
    let image = an_image(2);
    image.write(&from, "1").await;
    proxy.follow(Plan::default());
    let meter = Meter::default();
    for (descriptor, _) in &image.blobs {
        let source = BlobSource::store(from.clone()).counted_by(&meter);
        assert!(!to.write_blob(descriptor, &source).await.unwrap(), "mounted");
    }
    let counters = proxy.counters();
    assert_eq!((meter.bytes(), counters.blob_bytes_up, counters.blob_bytes_down), (0, 0, 0));
    assert_eq!(counters.of(Kind::UploadStart), image.blobs.len() as u64);
    image.check(&to).await;
}

#[tokio::test]
async fn where_mounts_are_ignored_the_bytes_are_sent_even_with_one_request_at_a_time() {
    let stage = Stage::start();
    // Two names of one registry: nothing can be mounted, and the bytes come from where they go.
    let proxy = FaultProxy::start(stage.address(), Plan::default()).await.unwrap();
    let registries = stage.registries_with(|access| access.per_registry = 1);
    let from = stage::repository(&registries, proxy.address, "a/from");
    let to = stage::repository(&registries, stage.address(), "b/to");
    let image = an_image(3);
    image.write(&from, "1").await;
    for (descriptor, _) in &image.blobs {
        assert!(to.write_blob(descriptor, &BlobSource::store(from.clone())).await.unwrap());
    }
    image.check(&to).await;
}

#[tokio::test]
async fn a_registry_that_does_not_say_digests_is_asked_twice_even_with_one_request_at_a_time() {
    let stage = Stage::start();
    let image = an_image(4);
    image.write(&stage.store("a"), "1").await;
    let upstream = stage.address();
    let silent = Front::start(move |_| Act::Without("docker-content-digest", upstream)).await;
    let headless = Front::start(move |seen| match seen.method.as_str() {
        "HEAD" => says(405, &[], ""),
        _ => Act::Forward(upstream),
    })
    .await;
    let registries = stage.registries_with(|access| access.per_registry = 1);
    for front in [silent, headless] {
        let store = stage::repository(&registries, front.address, "a");
        let find = async |tag: &str| {
            let which = Which::Tag(tag.to_owned());
            let found = tokio::time::timeout(std::time::Duration::from_secs(20), store.find(&which)).await;
            found.expect("it waits for itself").unwrap()
        };
        assert_eq!(find("1").await, Some(image.manifest.digest.clone()));
        assert_eq!(find("2").await, None);
    }
}

#[tokio::test]
async fn no_more_requests_are_under_way_than_allowed() {
    let stage = Stage::start();
    let late = Fault::Delay(std::time::Duration::from_millis(30));
    let plan = Plan::default().with(Kind::BlobHead, When::First(u64::MAX), late);
    let proxy = FaultProxy::start(stage.address(), plan).await.unwrap();
    let registries = stage.registries_with(|access| access.per_registry = 3);
    let store = stage::repository(&registries, proxy.address, "a");
    let asked = (0..12).map(|number| Digest::of(&content(number, 5)));
    let asked = asked.map(|digest| async { store.blob_size(&{ digest }).await.unwrap() });
    futures::future::join_all(asked).await;
    let most = proxy.counters().most_at_once;
    assert!((2..=3).contains(&most), "{most}");
}
