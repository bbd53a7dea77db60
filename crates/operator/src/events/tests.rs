//! The pump in virtual time, before a server that answers, is busy, or refuses.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use http::{Method, Request, Response};
use kube::client::Body;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::*;

/// What came to the server: method, path and body.
type Seen = Arc<Mutex<Vec<(Method, String, Value)>>>;

/// A server that answers the requests with these codes, and then with success.
fn a_server(codes: &[u16]) -> (Server, Seen) {
    let seen = Seen::default();
    let (to, codes) = (Arc::clone(&seen), codes.to_vec());
    let service = tower::service_fn(move |request: Request<Body>| {
        let (seen, codes) = (Arc::clone(&to), codes.clone());
        async move {
            let (parts, body) = request.into_parts();
            let body = serde_json::from_slice(&body.collect_bytes().await.unwrap()).unwrap();
            let mut seen = seen.lock().unwrap();
            let code = codes.get(seen.len()).copied().unwrap_or(201);
            seen.push((parts.method, parts.uri.path().to_owned(), body));
            let reason = if code == 404 { "NotFound" } else { "" };
            let answer =
                json!({"kind": "Status", "code": code, "reason": reason, "details": {"kind": "events"}});
            let answer = Body::from(answer.to_string().into_bytes());
            Ok::<_, Infallible>(Response::builder().status(code).body(answer).unwrap())
        }
    });
    (Server::new(kube::Client::new(service, "default")), seen)
}

/// A clock that follows the runtime's.
fn a_clock() -> impl Fn() -> Timestamp {
    let begin = Instant::now();
    move || Timestamp::UNIX_EPOCH + begin.elapsed()
}

fn dropped(metrics: &Metrics) -> u64 {
    let text = metrics.encode();
    let row = text.lines().find_map(|line| line.strip_prefix("lockstep_events_dropped_total "));
    row.unwrap().parse().unwrap()
}

/// Runs the pump while `story` happens.
async fn tell(server: Server, story: impl AsyncFnOnce(&Recorder)) -> Metrics {
    let metrics = Metrics::new();
    let (recorder, notes) = channel(metrics.clone());
    let told = async move {
        story(&recorder).await;
        drop(recorder);
    };
    futures::future::join(pump(notes, server, "seed", a_clock()), told).await;
    metrics
}

#[tokio::test(start_paused = true)]
async fn note_becomes_an_event_and_repeats_become_one_patch() {
    let (server, seen) = a_server(&[]);
    let metrics = tell(server, async |recorder| {
        for _ in 0..50 {
            recorder.record(Notice::warning("PreconditionBlock", "no"));
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        tokio::time::sleep(Duration::from_mins(1)).await;
    })
    .await;
    let seen = seen.lock().unwrap();
    assert_eq!(seen.len(), 2, "{seen:?}");
    assert_eq!(seen[0].0, Method::POST);
    assert_eq!(seen[0].1, "/api/v1/namespaces/openshift-cluster-version/events");
    assert_eq!(seen[1].0, Method::PATCH);
    assert_eq!(seen[1].1, format!("{}/{}", seen[0].1, seen[0].2["metadata"]["name"].as_str().unwrap()));
    assert_eq!(seen[1].2[0], json!({"op": "replace", "path": "/count", "value": 50}));
    assert_eq!(dropped(&metrics), 0);
}

#[tokio::test(start_paused = true)]
async fn what_was_held_back_is_written_when_the_process_ends() {
    let (server, seen) = a_server(&[]);
    tell(server, async |recorder| {
        recorder.record(Notice::normal("R", "m"));
        recorder.record(Notice::normal("R", "m"));
    })
    .await;
    assert_eq!(seen.lock().unwrap()[1].2[0]["value"], 2);
}

#[tokio::test(start_paused = true)]
async fn busy_server_is_asked_again_and_one_that_refuses_is_not() {
    let (server, seen) = a_server(&[503, 503, 201, 403]);
    let metrics = tell(server, async |recorder| {
        recorder.record(Notice::normal("A", "m"));
        recorder.record(Notice::normal("B", "m"));
        tokio::time::sleep(Duration::from_mins(1)).await;
    })
    .await;
    let reasons: Vec<Value> =
        seen.lock().unwrap().iter().map(|(_, _, body)| body["reason"].clone()).collect();
    assert_eq!(reasons, ["A", "A", "A", "B"]);
    assert_eq!(dropped(&metrics), 1);
}

#[tokio::test(start_paused = true)]
async fn flood_before_a_dead_server_is_dropped_and_counted_and_nobody_waits() {
    let (server, _) = a_server(&[503; 2000]);
    let metrics = tell(server, async |recorder| {
        let begin = Instant::now();
        for number in 0..1000 {
            recorder.record(Notice::normal("R", format!("m{number}")));
        }
        assert_eq!(begin.elapsed(), Duration::ZERO);
    })
    .await;
    assert_eq!(dropped(&metrics), 1000);
}

#[tokio::test(start_paused = true)]
async fn event_that_is_gone_when_it_is_counted_is_created_again() {
    let (server, seen) = a_server(&[201, 404]);
    let metrics = tell(server, async |recorder| {
        recorder.record(Notice::normal("R", "m"));
        tokio::time::sleep(Duration::from_secs(20)).await;
        recorder.record(Notice::normal("R", "m"));
    })
    .await;
    let seen = seen.lock().unwrap();
    let methods: Vec<&Method> = seen.iter().map(|(method, ..)| method).collect();
    assert_eq!(methods, [Method::POST, Method::PATCH, Method::POST]);
    assert_eq!(seen[2].2["count"], 2);
    assert_eq!(dropped(&metrics), 0);
}
