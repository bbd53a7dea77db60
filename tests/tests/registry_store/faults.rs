//! Each kind of harm on the way: the transfer ends complete and right, or it ends with an error and nothing was believed.

use lockstep_release::store::Layout;
use lockstep_release::{BlobSource, Store, StoreError, Which};
use lockstep_tests::fault_proxy::{Fault, FaultProxy, Kind, Plan, When};
use std::time::Duration;

use crate::stage::{Stage, all, an_image, blob, content};

/// Large enough that half of it is more than all buffers on the way.
const LARGE: usize = 12_000_000;

async fn there_and_back(plan: Plan) -> (FaultProxy, Stage) {
    let stage = Stage::start();
    let shown = format!("{plan:?}");
    let proxy = FaultProxy::start(stage.address(), plan).await.expect("the stage is set");
    let store = stage.store_at(proxy.address, "a");
    let image = an_image(7);
    image.write(&store, "1").await;
    let layout = Store::Layout(Layout::create(&stage.path("layout")).await.expect("the stage is set"));
    for (descriptor, _) in &image.blobs {
        layout.write_blob(descriptor, &BlobSource::store(store.clone())).await.expect("the stage is set");
    }
    let manifest = store.manifest(&Which::Tag("1".into())).await.expect("the stage is set");
    assert_eq!(manifest, image.manifest, "{shown}");
    image.check(&layout).await;
    assert!(proxy.counters().faults > 0, "{shown}: the plan did nothing");
    (proxy, stage)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_kind_of_harm_to_every_kind_of_request_is_survived() {
    let passing = [
        Fault::HangUp,
        Fault::Status(500),
        Fault::Status(503),
        Fault::RetryAfter(429, 1),
        Fault::Delay(Duration::from_millis(20)),
    ];
    let kinds = [
        Kind::Ping,
        Kind::ManifestGet,
        Kind::ManifestPut,
        Kind::BlobHead,
        Kind::BlobGet,
        Kind::UploadStart,
        Kind::UploadPatch,
        Kind::UploadPut,
    ];
    let everywhere = kinds.iter().flat_map(|kind| passing.iter().map(move |fault| (*kind, *fault)));
    let more = [
        (Kind::ManifestGet, Fault::Flip(10)),
        (Kind::ManifestGet, Fault::Truncate(10)),
        (Kind::ManifestGet, Fault::DropAfter(10)),
        (Kind::BlobGet, Fault::Flip(10)),
        (Kind::BlobGet, Fault::Truncate(10)),
        (Kind::BlobGet, Fault::DropAfter(10)),
        (Kind::UploadPatch, Fault::Status(404)),
        (Kind::UploadPatch, Fault::Status(416)),
        (Kind::UploadPatch, Fault::DropUpload(10)),
        (Kind::UploadPatch, Fault::DropUpload(u64::MAX)),
        (Kind::UploadPut, Fault::Status(404)),
        (Kind::UploadPut, Fault::LoseAnswer),
        (Kind::UploadPatch, Fault::LoseAnswer),
        (Kind::UploadStart, Fault::LoseAnswer),
        (Kind::ManifestPut, Fault::LoseAnswer),
    ];
    // Together they take as long as the slowest: most of it is waiting.
    let runs = everywhere
        .chain(more)
        .map(|(kind, fault)| there_and_back(Plan::seeded(1).with(kind, When::First(1), fault)));
    let mut running = futures::stream::FuturesUnordered::new();
    for run in runs {
        if running.len() == 8 {
            futures::StreamExt::next(&mut running).await;
        }
        running.push(run);
    }
    while futures::StreamExt::next(&mut running).await.is_some() {}
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_storm_of_all_of_them_is_survived() {
    for seed in 1..=3 {
        let mut plan = Plan::seeded(seed);
        for kind in [
            Kind::ManifestGet,
            Kind::ManifestPut,
            Kind::BlobHead,
            Kind::BlobGet,
            Kind::UploadStart,
            Kind::UploadPatch,
            Kind::UploadPut,
        ] {
            plan = plan.with(kind, When::Share(80), Fault::HangUp).with(
                kind,
                When::Share(80),
                Fault::Status(502),
            );
        }
        plan = plan
            .with(Kind::BlobGet, When::Share(100), Fault::Flip(777))
            .with(Kind::BlobGet, When::Share(300), Fault::DropAfter(400_000))
            .with(Kind::UploadPatch, When::Share(200), Fault::DropUpload(500_000));
        there_and_back(plan).await;
    }
}

#[tokio::test]
async fn a_download_goes_on_where_it_broke() {
    let stage = Stage::start();
    let bytes = content(1, LARGE);
    let descriptor = blob(&bytes);
    stage.store("a").write_blob(&descriptor, &BlobSource::memory(bytes.clone())).await.unwrap();
    let plan = Plan::default().with(Kind::BlobGet, When::First(3), Fault::DropAfter(3_000_000));
    let proxy = FaultProxy::start(stage.address(), plan).await.unwrap();
    let source = BlobSource::store(stage.store_at(proxy.address, "a"));
    assert!(all(source.checked(&descriptor)).await.unwrap() == bytes);
    let counters = proxy.counters();
    assert_eq!(counters.of(Kind::BlobGet), 4);
    // From the beginning each time it would be 21 MB; what was in buffers when a connection broke is lost.
    let down = usize::try_from(counters.blob_bytes_down).unwrap();
    assert!((LARGE..LARGE + 3_000_000).contains(&down), "{down}");
}

#[tokio::test]
async fn a_server_that_ignores_ranges_costs_bytes_and_nothing_else() {
    let stage = Stage::start();
    let bytes = content(2, 3_000_000);
    let descriptor = blob(&bytes);
    stage.store("a").write_blob(&descriptor, &BlobSource::memory(bytes.clone())).await.unwrap();
    let plan = Plan::default().with(Kind::BlobGet, When::First(1), Fault::DropAfter(1_000_000)).with(
        Kind::BlobGet,
        When::First(1),
        Fault::IgnoreRange,
    );
    let proxy = FaultProxy::start(stage.address(), plan).await.unwrap();
    let source = BlobSource::store(stage.store_at(proxy.address, "a"));
    assert!(all(source.checked(&descriptor)).await.unwrap() == bytes);
    assert_eq!(proxy.counters().blob_bytes_down, 4_000_000);
}

#[tokio::test]
async fn an_upload_goes_on_where_it_broke() {
    let stage = Stage::start();
    let plan = Plan::default().with(Kind::UploadPatch, When::First(3), Fault::DropUpload(3_000_000));
    let proxy = FaultProxy::start(stage.address(), plan).await.unwrap();
    let bytes = content(3, LARGE);
    let descriptor = blob(&bytes);
    let store = stage.store_at(proxy.address, "a");
    assert!(store.write_blob(&descriptor, &BlobSource::memory(bytes.clone())).await.unwrap());
    let counters = proxy.counters();
    assert_eq!((counters.of(Kind::UploadPatch), counters.of(Kind::UploadStatus)), (4, 3));
    assert_eq!(counters.blob_bytes_up, LARGE as u64, "every byte went over once");
    assert!(all(BlobSource::store(stage.store("a")).checked(&descriptor)).await.unwrap() == bytes);
}

#[tokio::test]
async fn an_upload_whose_end_was_heard_but_not_answered_is_there() {
    for length in [1000, 100_000] {
        let stage = Stage::start();
        let plan = Plan::default().with(Kind::UploadPut, When::First(1), Fault::LoseAnswer);
        let proxy = FaultProxy::start(stage.address(), plan).await.unwrap();
        let bytes = content(4, length);
        let descriptor = blob(&bytes);
        let store = stage.store_at(proxy.address, "a");
        assert!(store.write_blob(&descriptor, &BlobSource::memory(bytes.clone())).await.unwrap());
        let counters = proxy.counters();
        assert_eq!((counters.faults, counters.of(Kind::UploadStart)), (1, 1), "nothing is sent anew");
        assert!(all(BlobSource::store(stage.store("a")).checked(&descriptor)).await.unwrap() == bytes);
    }
}

#[tokio::test]
async fn a_registry_that_always_brings_wrong_bytes_is_never_believed() {
    let stage = Stage::start();
    let image = an_image(8);
    image.write(&stage.store("a"), "1").await;
    let plan = Plan::default().with(Kind::BlobGet, When::First(u64::MAX), Fault::Flip(5)).with(
        Kind::ManifestGet,
        When::First(u64::MAX),
        Fault::Flip(5),
    );
    let proxy = FaultProxy::start(stage.address(), plan).await.unwrap();
    let store = stage.store_at(proxy.address, "a");
    for which in [Which::Tag("1".into()), Which::Digest(image.manifest.digest.clone())] {
        let error = store.manifest(&which).await.unwrap_err();
        assert!(matches!(error, StoreError::Mismatch { .. }), "{error}");
    }
    let layout = Store::Layout(Layout::create(&stage.path("layout")).await.unwrap());
    let other = stage.store("other");
    for (descriptor, _) in &image.blobs {
        for target in [&layout, &other] {
            let error = target.write_blob(descriptor, &BlobSource::store(store.clone())).await.unwrap_err();
            assert!(matches!(error, StoreError::Mismatch { .. }), "{error}");
            assert_eq!(target.blob_size(&descriptor.digest).await.unwrap(), None);
        }
    }
}

#[tokio::test]
async fn whoever_is_not_there_is_given_up_soon_with_a_reason() {
    let stage = Stage::start();
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let error = stage.store_at(nobody, "a").find(&Which::Tag("1".into())).await.unwrap_err();
    assert!(matches!(error, StoreError::Network { .. }), "{error}");
    let text = error.to_string();
    assert!(text.contains(&nobody.to_string()) && text.to_lowercase().contains("refused"), "{text}");
}
