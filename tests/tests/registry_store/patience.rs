//! How long and how often a registry is asked again, and who is told of it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use lockstep_release::store::{OnRetry, Registries};
use lockstep_release::{BlobSource, StoreError, Which};
use lockstep_tests::cli::lockstep_with;
use lockstep_tests::fault_proxy::{Fault, FaultProxy, Kind, Plan, When};
use lockstep_tests::made_release::Recipe;

use crate::front::{Act, Front};
use crate::stage::{Stage, all, blob, repository};

/// Tries within a second: the fifth pause alone would end it.
const MOST_TRIES: u64 = 5;
const ALWAYS: When = When::First(u64::MAX);

/// Registries with a second of patience, and what they tell.
fn hasty(stage: &Stage) -> (Registries, Arc<Mutex<Vec<String>>>) {
    let told = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&told);
    let registries = stage.registries_with(|access| {
        access.patience = Duration::from_secs(1);
        access.on_retry = Some(OnRetry::new(move |text| {
            kept.lock().expect("the stage is set").push(text.to_owned());
        }));
    });
    (registries, told)
}

#[tokio::test]
async fn tries_are_counted_once_and_told_from_the_third_on() {
    let stage = Stage::start();
    let bytes = b"some bytes";
    stage.store("a").write_blob(&blob(bytes), &BlobSource::memory(&bytes[..])).await.unwrap();
    for (kind, fault) in [
        (Kind::BlobGet, Fault::Status(503)),
        (Kind::BlobGet, Fault::HangUp),
        (Kind::ManifestGet, Fault::Status(503)),
        (Kind::ManifestGet, Fault::HangUp),
    ] {
        let plan = Plan::default().with(kind, ALWAYS, fault);
        let proxy = FaultProxy::start(stage.address(), plan).await.unwrap();
        let (registries, told) = hasty(&stage);
        let store = repository(&registries, proxy.address, "a");
        let error = match kind {
            Kind::BlobGet => all(BlobSource::store(store).checked(&blob(bytes))).await.unwrap_err(),
            _ => store.manifest(&Which::Tag("1".into())).await.unwrap_err(),
        };
        assert!(error.is_transient(), "{error}");
        let tries = proxy.counters().of(kind);
        assert!((2..=MOST_TRIES).contains(&tries), "{kind:?} {fault:?}: {tries} tries");
        let told = told.lock().unwrap();
        assert_eq!(told.len() as u64, tries.saturating_sub(3), "{told:?}");
        assert!(told.iter().all(|text| text.contains(&proxy.address.to_string()) && text.contains("; try ")));
    }
}

#[tokio::test]
async fn who_waits_for_somebody_that_others_gave_up_gives_up_too() {
    let stage = Stage::start();
    let plan = Plan::default().with(Kind::Ping, ALWAYS, Fault::HangUp);
    let proxy = FaultProxy::start(stage.address(), plan).await.unwrap();
    let registries = stage.registries_with(|access| access.per_registry = 1);
    let store = repository(&registries, proxy.address, "a");
    let asked = (0..12).map(|number| {
        let (store, which) = (store.clone(), Which::Tag(number.to_string()));
        async move { store.find(&which).await.unwrap_err() }
    });
    for error in futures::future::join_all(asked).await {
        assert!(matches!(error, StoreError::Network { .. }), "{error}");
    }
    // Three tries each, and the fourth of the first.
    let pings = proxy.counters().of(Kind::Ping);
    assert!((4..=37).contains(&pings), "{pings}");
}

#[tokio::test]
async fn a_registry_gets_the_time_it_asks_for() {
    let stage = Stage::start();
    let plan = Plan::default().with(Kind::ManifestGet, When::First(1), Fault::RetryAfter(429, 1));
    let proxy = FaultProxy::start(stage.address(), plan).await.unwrap();
    let store = stage.store_at(proxy.address, "a");
    assert_eq!(store.find(&Which::Tag("1".into())).await.unwrap(), None);
    let counters = proxy.counters();
    let times = &counters.times[&Kind::ManifestGet];
    assert_eq!(times.len(), 2);
    assert!(times[1] - times[0] >= Duration::from_secs(1), "{:?}", times[1] - times[0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_command_reaches_registries_through_a_proxy_and_tells_of_tries() {
    let stage = Stage::start();
    let name = "registry.example.com:5000/ocp/app";
    let recipe = Recipe { images: 1, layer: (1000, 2000), ..Recipe::small("4.20.0", name) };
    recipe.make(&stage.store("ocp/app")).await.unwrap();
    let plan = Plan::default().with(Kind::ManifestGet, When::First(4), Fault::Status(503));
    let busy = FaultProxy::start(stage.address(), plan).await.unwrap();
    let upstream = busy.address;
    let front = Front::start(move |_| Act::Forward(upstream)).await;
    let (proxy, auth) = (format!("http://{}", front.address), stage.path("auth.json"));
    let run = tokio::task::spawn_blocking(move || {
        let auth = auth.display().to_string();
        let arguments =
            ["release", "info", "--plain-http", "-a", &auth, "registry.example.com:5000/ocp/app:4.20.0"];
        let environment =
            [("HTTP_PROXY", &*proxy), ("http_proxy", &proxy), ("NO_PROXY", ""), ("no_proxy", "")];
        lockstep_with(&arguments, &environment)
    });
    let run = run.await.unwrap();
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stdout.contains("4.20.0"), "{}", run.stdout);
    assert!(front.seen().iter().any(|seen| seen.path.ends_with("/manifests/4.20.0")));
    assert_eq!(run.stderr.matches("; try ").count(), 2, "{}", run.stderr);
    assert!(run.stderr.contains(&format!("note: {name}:4.20.0: 503")), "{}", run.stderr);
}
