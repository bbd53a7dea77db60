//! Clients that do everything wrong: the lab answers as a real API server does, never fails, and never grows without end.
//!
//! `LOCKSTEP_HOSTILE_SEED` and `LOCKSTEP_HOSTILE_CASES` set seed and number of the random requests.
#![expect(clippy::unwrap_used, reason = "a test fails by a panic, also in the functions that tests share")]

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::body::{Body, Bytes};
use futures::io::AsyncBufReadExt as _;
use futures::{AsyncBufRead, Stream, StreamExt as _};
use http::header;
use hyper_util::rt::TokioExecutor;
use kube::Client;
use kube::client::ConfigExt as _;
use kube::config::{Config, KubeConfigOptions, Kubeconfig};
use lockstep_lab::{Clock, Lab, LabOptions, Login, ServeOptions, Serving, serve};
use lockstep_tests::clients::{self, Answer, Call};
use lockstep_tests::hostile::{self, Hostile};
use lockstep_tests::panics;
use serde_json::{Value, json};
use tower::ServiceExt as _;
use xtask::kube::{Server, ServerOptions};

/// How long something may take that takes no time, on a machine that is busy with other suites.
const PATIENCE: Duration = Duration::from_mins(1);
const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

fn config_map(name: &str, data: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"k": data}})
}

fn nested(open: &str, close: &str, depth: usize) -> String {
    let object = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"deep"},"x":"#;
    format!("{object}{}1{}}}", open.repeat(depth), close.repeat(depth))
}

async fn served(lab: &Lab) -> (Serving, Client) {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let serving = serve(lab.router(), ServeOptions::new(address)).await.unwrap();
    let client = clients::of_text(&serving.kubeconfig(Login::Token)).await;
    (serving, client)
}

/// An open watch of config maps from now on.
async fn watch(client: &Client) -> impl AsyncBufRead + use<> {
    let list = Call::new("GET", format!("{CONFIG_MAPS}?limit=1")).send(client).await.unwrap();
    let version = list.body["metadata"]["resourceVersion"].as_str().unwrap().to_owned();
    let call = Call::new("GET", format!("{CONFIG_MAPS}?watch=true&resourceVersion={version}"));
    client.request_stream(call.request().unwrap()).await.unwrap()
}

async fn next(lines: &mut (impl Stream<Item = std::io::Result<String>> + Unpin)) -> Option<Value> {
    let line = tokio::time::timeout(PATIENCE, lines.next()).await.expect("an event or the end")?;
    Some(serde_json::from_str(&line.unwrap()).unwrap())
}

/// Requests whose answer of the real server counts; `{}` in a path is the address of the config maps.
fn table() -> Vec<(&'static str, Call)> {
    let json = "application/json";
    let apply = "application/apply-patch+yaml";
    let merge = "application/merge-patch+json";
    let patch = "application/json-patch+json";
    let post = |body: Vec<u8>| Call::new("POST", CONFIG_MAPS).body(json, body);
    let item = format!("{CONFIG_MAPS}/there");
    let get = |query: &str| Call::new("GET", format!("{CONFIG_MAPS}?{query}"));
    let apply_path = format!("{item}?fieldManager=m");
    // Twelve times twice as much: 8 MB, and no more if nobody counts.
    let copies: Vec<Value> = (0..12)
        .map(|number| json!({"op": "copy", "from": "/data", "path": format!("/data/{number}")}))
        .collect();
    let large = |bytes: usize| config_map("large", &"x".repeat(bytes)).to_string().into_bytes();
    let annotated = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "there",
        "annotations": {"a": "x".repeat(300_000)}}});
    vec![
        ("cut JSON", post(b"{\"kind\": \"ConfigMap\"".to_vec())),
        ("no JSON at all", post(b"\x00\xff\xfe".to_vec())),
        ("a list", post(b"[1, 2]".to_vec())),
        ("two documents", post(b"{} {}".to_vec())),
        ("nothing", post(Vec::new())),
        ("another kind", post(br#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"}}"#.to_vec())),
        ("an unknown kind", post(br#"{"apiVersion":"v9","kind":"Nothing"}"#.to_vec())),
        (
            "a wrong type",
            post(br#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"data":[1]}"#.to_vec()),
        ),
        ("a name that is no name", Call::post(CONFIG_MAPS, &config_map("../A_b\u{0}", "v"))),
        ("a body of 3 MiB and a byte", post(vec![b' '; (3 << 20) + 1])),
        ("data above its limit", post(large(1_100_000))),
        ("annotations above their limit", Call::new("PUT", &item).body(json, annotated.to_string())),
        ("nesting without end", post(nested("[", "]", 200_000).into_bytes())),
        ("nesting without end, objects", post(nested("{\"a\":", "}", 200_000).into_bytes())),
        ("nesting without end, cut", post(vec![b'['; 1 << 20])),
        ("nesting without end, merged", Call::new("PATCH", &item).body(merge, nested("[", "]", 200_000))),
        (
            "nesting without end, applied",
            Call::new("PATCH", &apply_path).body(apply, nested("[", "]", 200_000)),
        ),
        (
            "nesting without end, in YAML",
            Call::new("PATCH", &apply_path).body(apply, "a: ".to_owned() + &"[".repeat(200_000)),
        ),
        ("YAML that is none", Call::new("PATCH", &apply_path).body(apply, "a: [b\n\tc")),
        ("a JSON patch that is none", Call::new("PATCH", &item).body(patch, r#"{"op":"add"}"#)),
        (
            "a JSON patch of unknown operations",
            Call::new("PATCH", &item).body(patch, r#"[{"op":"grow","path":"/a"}]"#),
        ),
        (
            "a JSON patch that copies itself large",
            Call::new("PATCH", &item).body(patch, json!(copies).to_string()),
        ),
        ("a merge patch that is a list", Call::new("PATCH", &item).body(merge, "[]")),
        ("an unknown patch", Call::new("PATCH", &item).body("text/plain", "x")),
        ("protobuf that is none", Call::new("POST", CONFIG_MAPS).body("text/html", "<p>")),
        ("an unknown group", Call::new("GET", "/apis/nowhere.example.com/v1/things")),
        ("an unknown resource", Call::new("GET", "/api/v1/namespaces/default/things")),
        ("an unknown version", Call::new("GET", "/apis/apps/v9/deployments")),
        ("an unknown part", Call::new("GET", format!("{item}/scale"))),
        ("a method nobody has", Call::new("POST", &item).body(json, "{}")),
        ("a limit that is none", get("limit=x")),
        ("a limit below zero", get("limit=-1")),
        ("a limit beyond numbers", get("limit=99999999999999999999")),
        ("a place that is none", get("limit=1&continue=x")),
        ("a version that is none", get("resourceVersion=x")),
        ("a version of the future", get("resourceVersion=999999999&watch=true&timeoutSeconds=1")),
        ("a selector cut short", get("labelSelector=a%20in%20(")),
        ("a selector of nothing", get("fieldSelector=spec.x%3D1")),
        ("a dry run of some", Call::post(format!("{CONFIG_MAPS}?dryRun=Some"), &config_map("x", "v"))),
        ("an apply by nobody", Call::new("PATCH", &item).body(apply, config_map("there", "v").to_string())),
        ("a deletion for unknown reasons", Call::new("DELETE", format!("{item}?propagationPolicy=Nobody"))),
    ]
}

#[test]
fn hostile_requests_get_the_real_servers_code_and_reason() {
    let server = Server::start(&ServerOptions::default()).unwrap();
    panics::watch();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let wrong = runtime.block_on(async {
        let real = clients::of_file(server.kubeconfig()).await;
        let lab = Lab::new(LabOptions::default());
        let (_serving, over_tls) = served(&lab).await;
        for client in [&real, &over_tls] {
            Call::post(CONFIG_MAPS, &config_map("there", &"x".repeat(2000))).send(client).await.unwrap();
        }
        let mut wrong = Vec::new();
        for (what, call) in table() {
            let theirs = answer(&call, &real).await;
            for (way, client) in [("in process", &lab.client()), ("over TLS", &over_tls)] {
                let ours = answer(&call, client).await;
                if ours.verdict() != theirs.verdict() {
                    let told = |answer: &Answer| format!("{} {}", answer.code, start(&answer.body));
                    wrong.push(format!(
                        "{what}, {way}:
  lab  {}
  real {}",
                        told(&ours),
                        told(&theirs)
                    ));
                }
            }
        }
        wrong
    });
    assert!(wrong.is_empty(), "{} answers differ:\n{}", wrong.len(), wrong.join("\n"));
    assert_eq!(panics::count(), 0);
}

/// The answer; one that does not come has the code 0.
async fn answer(call: &Call, client: &Client) -> Answer {
    let answer = tokio::time::timeout(PATIENCE, call.send(client)).await;
    answer.ok().flatten().unwrap_or(Answer { code: 0, body: Value::Null })
}

fn start(body: &Value) -> String {
    body.to_string().chars().take(300).collect()
}

fn number(variable: &str, otherwise: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

#[tokio::test(start_paused = true)]
async fn damaged_requests_never_cause_a_panic_and_always_get_a_proper_answer() {
    panics::watch();
    let (seed, cases) = (number("LOCKSTEP_HOSTILE_SEED", 1), number("LOCKSTEP_HOSTILE_CASES", 20_000));
    let lab =
        Lab::new(LabOptions { clock: Arc::new(Clock::simulated()), window: 64, ..LabOptions::default() });
    let client = lab.client();
    let mut source = Hostile::new(seed);
    let mut refused = 0;
    for case in 0..cases {
        let call = source.call();
        // With paused time a watch is over at once, unless it asks for years.
        let Ok(answer) = tokio::time::timeout(Duration::from_hours(2), call.send(&client)).await else {
            assert!(call.path.contains("watch"), "seed {seed}, case {case}: no answer to {call:?}");
            continue;
        };
        let Some(answer) = answer else {
            assert!(call.request::<Vec<u8>>().is_none(), "seed {seed}, case {case}: no answer to {call:?}");
            continue;
        };
        refused += usize::from(answer.code >= 400);
        let objection = hostile::objection(&answer);
        assert_eq!(
            objection,
            None,
            "seed {seed}, case {case}: {call:?} with {}",
            String::from_utf8_lossy(&call.body)
        );
        assert_eq!(panics::count(), 0, "seed {seed}, case {case}: {call:?}");
    }
    let cases = usize::try_from(cases).unwrap();
    assert!(
        refused > cases / 5 && refused < cases * 19 / 20,
        "{refused} of {cases}: the mix is too tame or too wild"
    );
    let (objects, events) = lab.counts();
    assert!(objects < 2000 && events < 64 * 100, "{objects} objects, {events} events");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_that_is_not_read_costs_no_memory_and_ends_with_410() {
    panics::watch();
    let lab = Lab::new(LabOptions { window: 8, ..LabOptions::default() });
    let (_serving, over_tls) = served(&lab).await;
    let client = lab.client();
    Call::post(CONFIG_MAPS, &config_map("a", "0")).send(&client).await.unwrap();
    let mut slow = watch(&client).await.lines();
    let mut slow_over_tls = watch(&over_tls).await.lines();
    let mut quick = watch(&client).await.lines();

    let padding = "x".repeat(100_000);
    for number in 0..400 {
        let object = config_map("a", &format!("{number} {padding}"));
        let answer = Call::apply(&format!("{CONFIG_MAPS}/a"), "m", &object).send(&client).await.unwrap();
        assert_eq!(answer.code, 200);
        assert_eq!(next(&mut quick).await.unwrap()["type"], "MODIFIED");
    }
    let (_, events) = lab.counts();
    assert!(events <= 8 + 4, "the eight of config maps and the four namespaces, not {events}");

    let first = next(&mut slow).await.unwrap();
    assert_eq!((&first["type"], &first["object"]["code"]), (&json!("ERROR"), &json!(410)), "{first}");
    assert_eq!(next(&mut slow).await, None);
    // Sockets hold a few events more; after them the same.
    let mut read = 0;
    let last = loop {
        match next(&mut slow_over_tls).await.expect("an error before the end") {
            event if event["type"] == "ERROR" => break event,
            _ => read += 1,
        }
    };
    assert_eq!(last["object"]["code"], 410);
    assert!(read < 400, "{read}: it was never too slow");
    assert_eq!(next(&mut slow_over_tls).await, None);
    assert_eq!(panics::count(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_watches_all_get_every_event() {
    panics::watch();
    let lab = Lab::new(LabOptions::default());
    let (_serving, over_tls) = served(&lab).await;
    let mut watches = Vec::new();
    for number in 0..1000 {
        let client = if number % 10 == 0 { over_tls.clone() } else { lab.client() };
        watches.push(Box::pin(watch(&client).await).lines());
    }
    for name in ["a", "b", "c"] {
        Call::post(CONFIG_MAPS, &config_map(name, "v")).send(&lab.client()).await.unwrap();
    }
    for lines in &mut watches {
        for name in ["a", "b", "c"] {
            let event = next(lines).await.unwrap();
            assert_eq!(
                (&event["type"], &event["object"]["metadata"]["name"]),
                (&json!("ADDED"), &json!(name))
            );
        }
    }
    assert_eq!(panics::count(), 0);
}

/// The code of the answer to a body that comes piece by piece, without a socket or with one.
///
/// Nothing when the connection was closed before it was sent.
async fn post_stream(
    lab: &Lab,
    serving: Option<&Serving>,
    pieces: impl Stream<Item = Bytes> + Send + 'static,
) -> Option<u16> {
    let pieces = Body::from_stream(pieces.map(Ok::<_, Infallible>));
    let request = http::Request::builder().method("POST").header(header::CONTENT_TYPE, "application/json");
    let Some(serving) = serving else {
        let response = lab.router().oneshot(request.uri(CONFIG_MAPS).body(pieces).unwrap()).await.unwrap();
        return Some(response.status().as_u16());
    };
    let kubeconfig = Kubeconfig::from_yaml(&serving.kubeconfig(Login::Token)).unwrap();
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
    let client = hyper_util::client::legacy::Client::builder(TokioExecutor::new())
        .build(config.rustls_https_connector().unwrap());
    let request = request
        .uri(format!("{}{CONFIG_MAPS}", serving.url()))
        .header(header::AUTHORIZATION, format!("Bearer {}", serving.token()));
    Some(client.request(request.body(pieces).unwrap()).await.ok()?.status().as_u16())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_trickles_in_holds_up_nobody_else() {
    panics::watch();
    let lab = Lab::new(LabOptions::default());
    let (serving, over_tls) = served(&lab).await;
    for (name, serving, client) in [("a", None, lab.client()), ("b", Some(&serving), over_tls)] {
        let (sender, pieces) = futures::channel::mpsc::unbounded();
        let others = async {
            for byte in config_map(name, "v").to_string().bytes() {
                sender.unbounded_send(Bytes::from(vec![byte])).unwrap();
                let list = Call::new("GET", CONFIG_MAPS);
                let list = tokio::time::timeout(PATIENCE, list.send(&client)).await;
                let list = list.expect("others are answered").unwrap();
                assert_eq!(list.code, 200);
            }
            drop(sender);
        };
        let (code, ()) = tokio::join!(post_stream(&lab, serving, pieces), others);
        assert_eq!(code, Some(201));
    }
    assert_eq!(panics::count(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_of_unknown_length_is_cut_off_at_the_limit() {
    let lab = Lab::new(LabOptions::default());
    let (serving, _) = served(&lab).await;
    for serving in [None, Some(&serving)] {
        let piece = Bytes::from(vec![b' '; 64 << 10]);
        let sent = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&sent);
        // A gigabyte, if anybody read it.
        let pieces = futures::stream::iter(0..16 << 10).map(move |_| {
            counter.fetch_add(piece.len(), Ordering::SeqCst);
            piece.clone()
        });
        let code = tokio::time::timeout(PATIENCE, post_stream(&lab, serving, pieces)).await.unwrap();
        // Over a socket the client may see the end of the connection before the answer.
        assert!(code == Some(413) || (code.is_none() && serving.is_some()), "{code:?}");
        let sent = sent.load(Ordering::SeqCst);
        assert!(sent < 64 << 20, "{sent} bytes were taken");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nesting_that_grows_from_patch_to_patch_ends_in_a_refusal() {
    panics::watch();
    let lab = Lab::new(LabOptions::default());
    let client = lab.client();
    let collection = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    Call::post(collection, &hostile::definition()).send(&client).await.unwrap();
    let targets = "/apis/hostile.example.com/v1/namespaces/default/targets";
    let object = json!({"apiVersion": "hostile.example.com/v1", "kind": "Target", "metadata": {"name": "a"},
        "spec": {"free": {}}});
    let start = tokio::time::Instant::now();
    while Call::post(targets, &object).send(&client).await.unwrap().code != 201 {
        assert!(start.elapsed() < PATIENCE, "the kind is not served");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    // Each patch puts a hundred levels below the last ones.
    let mut path = "/spec/free".to_owned();
    let mut codes = Vec::new();
    for _ in 0..100 {
        let (inner, below) = (0..100)
            .fold((json!({}), String::new()), |(inner, below), _| (json!({"a": inner}), below + "/a"));
        let operations = json!([{"op": "add", "path": format!("{path}/a"), "value": inner["a"]}]);
        let call = Call::new("PATCH", format!("{targets}/a"))
            .body("application/json-patch+json", operations.to_string());
        let answer = call.send(&client).await.unwrap();
        assert_eq!(hostile::objection(&answer), None);
        codes.push(answer.code);
        if answer.code == 200 {
            path += &below;
        }
        let read = Call::new("GET", format!("{targets}/a")).send(&client).await.unwrap();
        assert_eq!(read.code, 200);
    }
    assert!(codes.contains(&200) && codes.last().is_some_and(|code| *code >= 400), "{codes:?}");
    assert_eq!(panics::count(), 0, "{codes:?}");
}
