use std::sync::atomic::{AtomicU64, Ordering};

use axum::body::{Bytes, to_bytes};
use axum::routing::any;
use futures::StreamExt as _;
use http::Request;
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use tower::ServiceExt as _;

use super::*;

/// A small API behind faults: it counts what it executes, and its watches say something every ten seconds.
struct Bench {
    clock: Arc<Clock>,
    faults: Faults,
    router: Router,
    executed: Arc<AtomicU64>,
}

impl Bench {
    fn new(seed: u64) -> Self {
        let clock = Arc::new(Clock::simulated());
        let faults = Faults::new(&Rng::new(seed), clock.clone());
        let executed = Arc::new(AtomicU64::new(0));
        let (count, time) = (executed.clone(), clock.clone());
        let handler = move |request: Request<Body>| {
            let (count, time) = (count.clone(), time.clone());
            async move {
                count.fetch_add(1, Ordering::Relaxed);
                if !request.uri().query().unwrap_or_default().contains("watch=1") {
                    return Response::new(Body::from("done"));
                }
                let ticks = futures::stream::unfold(0, move |number| {
                    let time = time.clone();
                    async move {
                        time.sleep(Duration::from_secs(10)).await;
                        Some((Ok::<_, std::io::Error>(Bytes::from(format!("{number}\n"))), number + 1))
                    }
                });
                Response::new(Body::from_stream(ticks.boxed()))
            }
        };
        let router = faults.wrap(Router::new().fallback(any(handler)));
        Self { clock, faults, router, executed }
    }

    fn with(rules: &[Value]) -> Self {
        let bench = Self::new(1);
        for rule in rules {
            bench.add(rule.clone());
        }
        bench
    }

    fn add(&self, rule: Value) {
        self.faults.add(serde_json::from_value(rule).unwrap()).unwrap();
    }

    async fn send(&self, line: &str, body: &str) -> Response<Body> {
        let (method, address) = line.split_once(' ').unwrap();
        let request =
            Request::builder().method(method).uri(address).body(Body::from(body.to_owned())).unwrap();
        self.router.clone().oneshot(request).await.unwrap()
    }

    async fn code(&self, line: &str) -> u16 {
        self.send(line, "").await.status().as_u16()
    }

    /// Code and JSON body.
    async fn told(&self, line: &str, body: &str) -> (u16, Value) {
        let response = self.send(line, body).await;
        let code = response.status().as_u16();
        let bytes = to_bytes(response.into_body(), 1 << 20).await.unwrap();
        (code, serde_json::from_slice(&bytes).unwrap_or(Value::Null))
    }

    /// The next thing that a watch says within a minute: a line, its end, or nothing.
    async fn next(&self, body: &mut Body) -> String {
        let minute = self.clock.sleep(Duration::from_mins(1));
        match select(std::pin::pin!(body.frame()), std::pin::pin!(minute)).await {
            futures::future::Either::Left((Some(frame), _)) => {
                String::from_utf8(frame.unwrap().into_data().unwrap().to_vec()).unwrap()
            }
            futures::future::Either::Left((None, _)) => "end".into(),
            futures::future::Either::Right(_) => "silence".into(),
        }
    }

    fn executed(&self) -> u64 {
        self.executed.load(Ordering::Relaxed)
    }

    fn seconds(&self) -> f64 {
        self.clock.elapsed().as_secs_f64()
    }
}

const PODS: &str = "GET /api/v1/pods";
const WATCH: &str = "GET /api/v1/pods?watch=1&resourceVersion=5";

#[tokio::test(start_paused = true)]
async fn without_rules_everything_passes() {
    let bench = Bench::new(1);
    assert_eq!(bench.code(PODS).await, 200);
    let mut watch = bench.send(WATCH, "").await.into_body();
    assert_eq!([bench.next(&mut watch).await, bench.next(&mut watch).await], ["0\n", "1\n"]);
}

#[tokio::test(start_paused = true)]
async fn latency_delays_by_the_time_of_the_lab() {
    let bench = Bench::with(&[
        json!({"name": "a", "effect": {"latency": {"from": "2s"}}}),
        json!({"name": "b", "effect": {"latency": {"from": "3s"}}, "match": {"verbs": ["list"]}}),
    ]);
    assert_eq!(bench.code("GET /version").await, 200);
    assert!((bench.seconds() - 2.0).abs() < 0.01, "{}", bench.seconds());
    assert_eq!(bench.code(PODS).await, 200);
    assert!((bench.seconds() - 7.0).abs() < 0.01, "both delays: {}", bench.seconds());
}

#[tokio::test(start_paused = true)]
async fn random_latency_stays_in_its_range_and_follows_the_seed() {
    let run = |seed| async move {
        let bench = Bench::new(seed);
        bench.add(json!({"name": "a", "effect": {"latency": {"from": "1s", "to": "3s"}}}));
        let mut times = Vec::new();
        for _ in 0..20 {
            let before = bench.clock.elapsed();
            bench.code(PODS).await;
            times.push(bench.clock.elapsed().saturating_sub(before).as_millis());
        }
        times
    };
    let times = run(1).await;
    assert!(times.iter().all(|millis| (1000..=3001).contains(millis)), "{times:?}");
    assert!(times.iter().min() != times.iter().max());
    assert_eq!(times, run(1).await);
    assert_ne!(times, run(2).await);
}

#[tokio::test(start_paused = true)]
async fn refusals_speak_as_the_real_server() {
    let object = "PUT /apis/apps/v1/namespaces/x/deployments/web";
    for (code, reason, message) in [
        (401, json!("Unauthorized"), "Unauthorized"),
        (403, json!("Forbidden"), "deployments.apps \"web\" is forbidden: User \"admin\" cannot update"),
        (404, json!("NotFound"), "deployments.apps \"web\" not found"),
        (
            409,
            json!("Conflict"),
            "Operation cannot be fulfilled on deployments.apps \"web\": the object has been modified",
        ),
        (500, Value::Null, "etcdserver: request timed out"),
        (503, json!("ServiceUnavailable"), "the server is currently unable to handle the request"),
    ] {
        let bench = Bench::with(&[json!({"name": "a", "effect": {"refuse": {"code": code}}})]);
        let (answered, status) = bench.told(object, "").await;
        assert_eq!((answered, &status["code"], &status["reason"]), (code, &json!(code), &reason), "{status}");
        assert!(status["message"].as_str().unwrap().starts_with(message), "{status}");
        assert_eq!(bench.executed(), 0);
    }
    let bench =
        Bench::with(&[json!({"name": "slow-down", "effect": {"refuse": {"code": 429, "retryAfter": "7s"}}})]);
    let response = bench.send(object, "").await;
    assert_eq!(
        (response.status().as_u16(), &response.headers()["retry-after"]),
        (429, &HeaderValue::from(7))
    );
    assert_eq!(response.headers()[FAULT_HEADER], "slow-down");
}

#[tokio::test(start_paused = true)]
async fn a_timeout_before_the_commit_executes_nothing_and_one_after_it_does() {
    for (effect, executed) in [("timeoutBeforeCommit", 0), ("timeoutAfterCommit", 1)] {
        let bench = Bench::with(&[json!({"name": "a", "effect": {effect: {"after": "30s"}}})]);
        let (code, status) = bench.told("POST /api/v1/namespaces/x/pods", "{}").await;
        assert_eq!((code, &status["reason"]), (504, &json!("Timeout")));
        assert_eq!(bench.executed(), executed, "{effect}");
        assert!((bench.seconds() - 30.0).abs() < 0.01);
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_that_hangs_never_gets_an_answer() {
    for (effect, executed) in [("timeoutBeforeCommit", 0), ("timeoutAfterCommit", 1)] {
        let bench = Bench::with(&[json!({"name": "a", "effect": {effect: {"hang": true}}})]);
        let hanging = bench.send(PODS, "");
        assert!(tokio::time::timeout(Duration::from_hours(24), hanging).await.is_err());
        assert_eq!(bench.executed(), executed, "{effect}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_dropped_watch_ends_after_its_time() {
    let bench = Bench::with(&[json!({"name": "a", "effect": {"dropWatch": {"after": "25s"}}, "times": 1})]);
    let mut watch = bench.send(WATCH, "").await.into_body();
    let mut said = Vec::new();
    for _ in 0..3 {
        said.push(bench.next(&mut watch).await);
    }
    assert_eq!(said, ["0\n", "1\n", "end"]);
    assert!((bench.seconds() - 25.0).abs() < 0.01, "{}", bench.seconds());
    let mut second = bench.send(WATCH, "").await.into_body();
    for number in 0..5 {
        assert_eq!(bench.next(&mut second).await, format!("{number}\n"), "only one");
    }
}

#[tokio::test(start_paused = true)]
async fn a_stalled_watch_stays_open_and_silent() {
    let bench = Bench::with(&[json!({"name": "a", "effect": {"stallWatch": {"after": "15s"}}})]);
    let mut watch = bench.send(WATCH, "").await.into_body();
    let said = [bench.next(&mut watch).await, bench.next(&mut watch).await, bench.next(&mut watch).await];
    assert_eq!(said, ["0\n", "silence", "silence"]);
}

#[tokio::test(start_paused = true)]
async fn a_rule_that_comes_later_reaches_watches_that_are_open() {
    let bench = Bench::new(1);
    let mut watch = bench.send(WATCH, "").await.into_body();
    let mut other = bench.send("GET /api/v1/nodes?watch=1", "").await.into_body();
    assert_eq!(bench.next(&mut watch).await, "0\n");
    bench.add(json!({"name": "a", "match": {"resources": ["pods"]}, "effect": {"dropWatch": {}}}));
    assert_eq!(bench.next(&mut watch).await, "end");
    assert_eq!(bench.next(&mut other).await, "0\n", "another resource");
}

#[tokio::test(start_paused = true)]
async fn a_rule_whose_time_comes_later_reaches_watches_that_are_open() {
    let bench = Bench::with(&[json!({"name": "a", "effect": {"dropWatch": {"after": "4s"}}, "from": "11s"})]);
    let mut watch = bench.send(WATCH, "").await.into_body();
    assert_eq!([bench.next(&mut watch).await, bench.next(&mut watch).await], ["0\n", "end"]);
    assert!((bench.seconds() - 15.0).abs() < 0.01, "{}", bench.seconds());
}

#[tokio::test(start_paused = true)]
async fn an_expired_version_is_an_event_for_watches_and_an_answer_for_lists() {
    let bench = Bench::with(&[json!({"name": "a", "effect": {"expireWatch": {}}})]);
    let (code, event) = bench.told(WATCH, "").await;
    assert_eq!((code, &event["type"]), (200, &json!("ERROR")));
    assert_eq!((&event["object"]["code"], &event["object"]["reason"]), (&json!(410), &json!("Expired")));
    let (code, status) = bench.told("GET /api/v1/pods?continue=abc", "").await;
    assert_eq!((code, &status["reason"]), (410, &json!("Expired")));
    assert_eq!(bench.code(PODS).await, 200, "a list of what is there now");
}

#[tokio::test(start_paused = true)]
async fn an_outage_has_a_beginning_and_an_end() {
    let bench = Bench::with(&[json!({"name": "a", "effect": {"outage": {}}, "from": "1m", "for": "30s"})]);
    assert_eq!(bench.code("GET /readyz").await, 200);
    assert_eq!(bench.faults.list()[0].state, RuleState::Waiting);
    bench.clock.sleep(Duration::from_mins(1)).await;
    assert_eq!([bench.code("GET /readyz").await, bench.code(PODS).await], [503, 503]);
    assert_eq!(bench.code("GET /lab/v1/faults").await, 200, "the lab itself stays within reach");
    bench.clock.sleep(Duration::from_secs(30)).await;
    assert_eq!(bench.code("GET /readyz").await, 200);
    let report = &bench.faults.list()[0];
    assert_eq!((report.state, report.hits), (RuleState::Over, 2));
}

#[tokio::test(start_paused = true)]
async fn an_outage_ends_the_watches_that_it_matches() {
    let bench = Bench::with(&[
        json!({"name": "a", "match": {"resources": ["pods"]}, "effect": {"outage": {}}, "from": "15s", "for": "1m"}),
        json!({"name": "unlikely", "effect": {"outage": {}}, "probability": 0}),
    ]);
    let mut watch = bench.send(WATCH, "").await.into_body();
    let mut old = bench.send("GET /api/v1/watch/pods?watch=1", "").await.into_body();
    let mut other = bench.send("GET /api/v1/nodes?watch=1", "").await.into_body();
    assert_eq!([bench.next(&mut watch).await, bench.next(&mut watch).await], ["0\n", "end"]);
    assert!((bench.seconds() - 15.0).abs() < 0.01, "{}", bench.seconds());
    assert_eq!(bench.next(&mut old).await, "end", "the old address");
    assert_eq!(bench.code(WATCH).await, 503);
    assert_eq!(
        [bench.next(&mut other).await, bench.next(&mut other).await],
        ["0\n", "1\n"],
        "another resource"
    );
}

#[tokio::test(start_paused = true)]
async fn a_rule_strikes_as_often_as_it_says() {
    let bench = Bench::with(&[json!({"name": "a", "effect": {"refuse": {"code": 500}}, "times": 2})]);
    let mut codes = Vec::new();
    for _ in 0..4 {
        codes.push(bench.code(PODS).await);
    }
    assert_eq!(codes, [500, 500, 200, 200]);
}

#[tokio::test(start_paused = true)]
async fn chance_follows_the_seed_and_not_the_other_traffic() {
    let run = |seed, noise: bool| async move {
        let bench = Bench::new(seed);
        bench.add(json!({"name": "a", "match": {"resources": ["pods"]}, "effect": {"refuse": {"code": 500}}, "probability": 0.5}));
        let mut codes = Vec::new();
        for _ in 0..40 {
            if noise {
                assert_eq!(bench.code("GET /api/v1/nodes").await, 200);
            }
            codes.push(bench.code(PODS).await);
        }
        codes
    };
    let codes = run(1, false).await;
    let refused = codes.iter().filter(|code| **code == 500).count();
    assert!((10..=30).contains(&refused), "{refused} of 40");
    assert_eq!(codes, run(1, true).await);
    assert_ne!(codes, run(2, false).await);
}

#[tokio::test(start_paused = true)]
async fn the_clock_jumps_once_when_its_time_comes() {
    let bench =
        Bench::with(&[json!({"name": "later", "effect": {"clockJump": {"by": "-1h"}}, "from": "10s"})]);
    let mut tasks = tokio::task::JoinSet::new();
    tasks.spawn(bench.faults.clone().run_schedule());
    bench.clock.sleep(Duration::from_secs(20)).await;
    assert_eq!(bench.clock.stamp(), "2025-12-31T23:00:20Z");
    bench.add(json!({"name": "now", "effect": {"clockJump": {"by": "2h"}}}));
    bench.clock.sleep(Duration::from_secs(20)).await;
    assert_eq!(bench.clock.stamp(), "2026-01-01T01:00:40Z");
    assert!(bench.faults.list().iter().all(|report| (report.hits, report.state) == (1, RuleState::Over)));
}

#[tokio::test(start_paused = true)]
async fn rules_come_and_go_over_http() {
    let bench = Bench::new(1);
    let rule = "name: a\neffect: {refuse: {code: 503}}\n";
    assert_eq!(
        bench.told("POST /lab/v1/faults", rule).await,
        (201, json!({"name": "a", "effect": {"refuse": {"code": 503}}}))
    );
    assert_eq!(bench.code(PODS).await, 503);
    let (code, status) = bench.told("POST /lab/v1/faults", rule).await;
    assert_eq!((code, &status["reason"]), (409, &json!("AlreadyExists")));
    let (_, list) = bench.told("GET /lab/v1/faults", "").await;
    assert_eq!((&list["items"][0]["hits"], &list["items"][0]["state"]), (&json!(1), &json!("active")));
    assert_eq!(bench.code("DELETE /lab/v1/faults/a").await, 200);
    assert_eq!(bench.code("DELETE /lab/v1/faults/a").await, 404);
    assert_eq!(bench.code(PODS).await, 200);
    bench.told("POST /lab/v1/faults", rule).await;
    assert_eq!(bench.told("DELETE /lab/v1/faults", "").await.1["items"], json!([]));
}

#[tokio::test(start_paused = true)]
async fn a_wrong_rule_over_http_is_told_what_to_do() {
    let bench = Bench::new(1);
    for (body, part) in [
        ("{", "reading the rule"),
        ("", "there are 0 documents"),
        ("name: a\neffect: {refuse: {code: 418}}", "effect.refuse.code: 418"),
        ("name: a\neffect: {latency: {from: 5}}", "invalid type"),
        ("name: a\neffects: {}", "unknown field `effects`"),
    ] {
        let (code, status) = bench.told("POST /lab/v1/faults", body).await;
        assert_eq!(code, 400, "{body}");
        assert!(status["message"].as_str().unwrap().contains(part), "{body}: {status}");
    }
    let (code, _) = bench.told("POST /lab/v1/faults", &" ".repeat(70_000)).await;
    assert_eq!(code, 413);
    assert!(bench.faults.list().is_empty());
}
