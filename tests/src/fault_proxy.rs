//! A proxy in front of a registry that does harm by plan, and counts what goes through it.
//!
//! The plan is a list of rules; the first rule that applies to a request decides. Chance comes from the seed of the plan alone.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::StreamExt as _;
use http::{HeaderValue, Method, Request, Response, Uri, header};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpListener;
use tokio::task::{JoinHandle, JoinSet};

type Body = UnsyncBoxBody<Bytes, io::Error>;

/// What a request is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// `GET /v2/`.
    Ping,
    /// A manifest is read or asked about.
    ManifestGet,
    /// A manifest is written.
    ManifestPut,
    /// A blob is asked about.
    BlobHead,
    /// A blob is read.
    BlobGet,
    /// An upload or mount begins.
    UploadStart,
    /// Bytes of an upload.
    UploadPatch,
    /// The end of an upload.
    UploadPut,
    /// How far an upload has come.
    UploadStatus,
    /// Everything else: tags.
    Other,
}

/// Which requests of a kind a rule applies to.
#[derive(Clone, Copy, Debug)]
pub enum When {
    /// The first so many.
    First(u64),
    /// So many of a thousand, by chance.
    Share(u64),
}

/// What happens to a request or its answer.
#[derive(Clone, Copy, Debug)]
pub enum Fault {
    /// The proxy answers this status itself.
    Status(u16),
    /// The proxy answers this status itself, and asks for so many seconds of patience.
    RetryAfter(u16, u64),
    /// The connection ends without an answer; the registry never saw the request.
    HangUp,
    /// The registry does what it is asked, and the connection ends without an answer.
    LoseAnswer,
    /// The connection ends after so many bytes of the body.
    DropAfter(u64),
    /// The body ends after so many bytes, and the header agrees with that.
    Truncate(u64),
    /// The byte at this position of the body is inverted.
    Flip(u64),
    /// The answer comes late.
    Delay(Duration),
    /// The registry keeps so many bytes of the upload, then the connection ends.
    DropUpload(u64),
    /// The registry answers all bytes, whatever range was asked for.
    IgnoreRange,
}

/// What harm to do.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    seed: u64,
    rules: Vec<(Kind, When, Fault)>,
}

/// What went through.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Requests by kind, harmed ones too.
    pub requests: BTreeMap<Kind, u64>,
    /// How many requests or answers were harmed.
    pub faults: u64,
    /// Bytes of blobs from the registry to clients.
    pub blob_bytes_down: u64,
    /// Bytes of blobs from clients, as far as the proxy took them.
    pub blob_bytes_up: u64,
    /// Most requests that were under way at one time.
    pub most_at_once: u64,
    /// When requests came, by kind.
    pub times: BTreeMap<Kind, Vec<Instant>>,
}

/// A running proxy; it ends when it is dropped.
pub struct FaultProxy {
    /// Where clients find it.
    pub address: SocketAddr,
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

struct Shared {
    upstream: SocketAddr,
    client: Client<HttpConnector, Body>,
    state: Mutex<State>,
}

struct State {
    plan: Plan,
    /// How often each rule was looked at.
    looked: Vec<u64>,
    counters: Counters,
    under_way: u64,
    /// Where an upload went on that the client does not know of.
    moved: BTreeMap<String, String>,
}

// === impl Plan ===

impl Plan {
    /// No harm; rules that work by chance take it from the seed.
    pub fn seeded(seed: u64) -> Self {
        Self { seed, rules: Vec::new() }
    }

    /// Adds a rule.
    #[must_use]
    pub fn with(mut self, kind: Kind, when: When, fault: Fault) -> Self {
        self.rules.push((kind, when, fault));
        self
    }
}

// === impl Counters ===

impl Counters {
    /// Requests of a kind.
    pub fn of(&self, kind: Kind) -> u64 {
        self.requests.get(&kind).copied().unwrap_or_default()
    }
}

// === impl FaultProxy ===

impl FaultProxy {
    /// Starts a proxy in front of a registry that speaks plain HTTP.
    pub async fn start(upstream: SocketAddr, plan: Plan) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let state = State {
            looked: vec![0; plan.rules.len()],
            plan,
            counters: Counters::default(),
            under_way: 0,
            moved: BTreeMap::new(),
        };
        let client = Client::builder(TokioExecutor::new()).build_http();
        let shared = Arc::new(Shared { upstream, client, state: Mutex::new(state) });
        let task = tokio::spawn(serve(listener, Arc::clone(&shared)));
        Ok(Self { address, shared, task })
    }

    /// What went through so far.
    pub fn counters(&self) -> Counters {
        self.shared.with(|state| state.counters.clone())
    }

    /// Goes on with another plan; the counters begin anew.
    pub fn follow(&self, plan: Plan) {
        self.shared.with(|state| {
            state.looked = vec![0; plan.rules.len()];
            state.plan = plan;
            state.counters = Counters::default();
        });
    }
}

impl Drop for FaultProxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let shared = Arc::clone(&shared);
        connections.spawn(async move {
            let service = hyper::service::service_fn(move |request| answer(Arc::clone(&shared), request));
            // A connection that ends in an error is what this proxy is for.
            let _ = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
        while connections.try_join_next().is_some() {}
    }
}

/// One request: an error ends the connection.
async fn answer(shared: Arc<Shared>, request: Request<Incoming>) -> io::Result<Response<Body>> {
    let kind = kind(request.method(), request.uri().path());
    let fault = shared.begin(kind);
    let _under_way = UnderWay(Arc::clone(&shared));
    match fault {
        Some(Fault::Status(status)) => return Ok(refusal(status, None)),
        Some(Fault::RetryAfter(status, seconds)) => return Ok(refusal(status, Some(seconds))),
        Some(Fault::HangUp) => return Err(hang_up()),
        Some(Fault::DropUpload(bytes)) => return Err(shared.keep_part(request, bytes).await),
        Some(Fault::Delay(time)) => tokio::time::sleep(time).await,
        _ => {}
    }
    let is_upload = matches!(kind, Kind::UploadPatch | Kind::UploadPut);
    let (mut parts, body) = request.into_parts();
    if matches!(fault, Some(Fault::IgnoreRange)) {
        parts.headers.remove(header::RANGE);
    }
    let path = parts.uri.path().to_owned();
    parts.uri = shared.upstream_uri(&parts.uri)?;
    let counted = Arc::clone(&shared);
    let body = pieces(body, move |piece| {
        if is_upload {
            counted.with(|state| state.counters.blob_bytes_up += piece.len() as u64);
        }
        Ok(piece)
    });
    let response = shared.client.request(Request::from_parts(parts, body)).await.map_err(io::Error::other)?;
    if matches!(fault, Some(Fault::LoseAnswer)) {
        return Err(hang_up());
    }
    if kind == Kind::UploadPatch && response.status().is_success() {
        // From here on the client knows where the upload is.
        shared.with(|state| state.moved.remove(&path));
    }
    Ok(shared.harmed(kind, fault, response))
}

// === impl Shared ===

impl Shared {
    fn with<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        act(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Counts a request and chooses what happens to it.
    fn begin(&self, kind: Kind) -> Option<Fault> {
        self.with(|state| {
            *state.counters.requests.entry(kind).or_default() += 1;
            state.counters.times.entry(kind).or_default().push(Instant::now());
            state.under_way += 1;
            state.counters.most_at_once = state.counters.most_at_once.max(state.under_way);
            let fault = state.choose(kind);
            state.counters.faults += u64::from(fault.is_some());
            fault
        })
    }

    /// The address at the registry; an upload that went on behind the client's back is found where it is now.
    fn upstream_uri(&self, asked: &Uri) -> io::Result<Uri> {
        let path = asked.path_and_query().map_or("/", |path| path.as_str());
        let moved = self.with(|state| state.moved.get(asked.path()).cloned());
        let path = match moved {
            // The end of an upload names the digest beside the state.
            Some(moved) => match asked
                .query()
                .and_then(|query| query.split('&').find(|part| part.starts_with("digest=")))
            {
                Some(digest) => format!("{moved}&{digest}"),
                None => moved,
            },
            None => path.to_owned(),
        };
        format!("http://{}{path}", self.upstream).parse().map_err(io::Error::other)
    }

    /// Gives the registry the first bytes of an upload as if they were all, and says nothing to the client.
    async fn keep_part(&self, request: Request<Incoming>, bytes: u64) -> io::Error {
        let (mut parts, mut body) = request.into_parts();
        let wanted = usize::try_from(bytes).unwrap_or(usize::MAX);
        let mut kept = Vec::new();
        while kept.len() < wanted
            && let Some(Ok(frame)) = body.frame().await
        {
            kept.extend(frame.into_data().unwrap_or_default());
        }
        kept.truncate(wanted);
        self.with(|state| state.counters.blob_bytes_up += kept.len() as u64);
        let path = parts.uri.path().to_owned();
        parts.uri = match self.upstream_uri(&parts.uri) {
            Ok(uri) => uri,
            Err(error) => return error,
        };
        for name in [header::CONTENT_LENGTH, header::CONTENT_RANGE, header::TRANSFER_ENCODING] {
            parts.headers.remove(name);
        }
        let body = Full::from(kept).map_err(never).boxed_unsync();
        if let Ok(response) = self.client.request(Request::from_parts(parts, body)).await
            && let Some(location) = response.headers().get(header::LOCATION)
            && let Some(moved) = location.to_str().ok().and_then(|location| location.parse::<Uri>().ok())
            && let Some(moved) = moved.path_and_query()
        {
            self.with(|state| state.moved.insert(path, moved.as_str().to_owned()));
        }
        hang_up()
    }

    /// The answer of the registry, counted, with the harm done to it.
    fn harmed(
        self: &Arc<Self>,
        kind: Kind,
        fault: Option<Fault>,
        response: Response<Incoming>,
    ) -> Response<Body> {
        let (mut parts, body) = response.into_parts();
        if let Some(Fault::Truncate(limit)) = fault
            && let Some(length) = parts.headers.get(header::CONTENT_LENGTH)
            && let Some(length) = length.to_str().ok().and_then(|length| length.parse::<u64>().ok())
        {
            parts.headers.insert(header::CONTENT_LENGTH, HeaderValue::from(length.min(limit)));
        }
        let shared = Arc::clone(self);
        let is_blob = kind == Kind::BlobGet && parts.status.is_success();
        let mut position = 0;
        let body = pieces(body, move |piece| {
            let piece = harm(piece, &mut position, fault)?;
            if is_blob {
                shared.with(|state| state.counters.blob_bytes_down += piece.len() as u64);
            }
            Ok(piece)
        });
        Response::from_parts(parts, body)
    }
}

// === impl State ===

impl State {
    fn choose(&mut self, kind: Kind) -> Option<Fault> {
        for (at, (wanted, when, fault)) in self.plan.rules.iter().enumerate() {
            if *wanted != kind {
                continue;
            }
            let looked = self.looked[at];
            self.looked[at] += 1;
            let applies = match when {
                When::First(count) => looked < *count,
                When::Share(thousandths) => {
                    mixed(self.plan.seed ^ (at as u64) << 32 ^ looked) % 1000 < *thousandths
                }
            };
            if applies {
                return Some(*fault);
            }
        }
        None
    }
}

/// Counts a request as over when it is dropped.
struct UnderWay(Arc<Shared>);

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.with(|state| state.under_way -= 1);
    }
}

/// One piece of an answer after the harm; an error ends the connection.
fn harm(piece: Bytes, position: &mut u64, fault: Option<Fault>) -> io::Result<Bytes> {
    let start = *position;
    *position += piece.len() as u64;
    let within = |limit: u64| usize::try_from(limit.saturating_sub(start)).unwrap_or(usize::MAX);
    match fault {
        Some(Fault::DropAfter(limit)) if start >= limit => Err(hang_up()),
        Some(Fault::DropAfter(limit) | Fault::Truncate(limit)) => {
            Ok(piece.slice(..piece.len().min(within(limit))))
        }
        Some(Fault::Flip(at)) if start <= at && at < *position => {
            let mut bytes = piece.to_vec();
            bytes[within(at)] ^= 0xff;
            Ok(bytes.into())
        }
        _ => Ok(piece),
    }
}

/// A body that goes through a function piece by piece.
fn pieces(body: Incoming, mut through: impl FnMut(Bytes) -> io::Result<Bytes> + Send + 'static) -> Body {
    let stream =
        body.into_data_stream().map(move |piece| through(piece.map_err(io::Error::other)?).map(Frame::data));
    StreamBody::new(stream).boxed_unsync()
}

fn refusal(status: u16, patience: Option<u64>) -> Response<Body> {
    let code = match status {
        404 => "BLOB_UPLOAD_UNKNOWN",
        429 => "TOOMANYREQUESTS",
        _ => "UNAVAILABLE",
    };
    let text = format!(r#"{{"errors":[{{"code":"{code}","message":"by plan"}}]}}"#);
    let mut response = Response::new(Full::from(text).map_err(never).boxed_unsync());
    *response.status_mut() = http::StatusCode::from_u16(status).unwrap_or_default();
    if let Some(seconds) = patience {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

fn kind(method: &Method, path: &str) -> Kind {
    let is_read = matches!(*method, Method::GET | Method::HEAD);
    match method.as_str() {
        _ if path == "/v2/" => Kind::Ping,
        "PUT" if path.contains("/manifests/") => Kind::ManifestPut,
        _ if path.contains("/manifests/") && is_read => Kind::ManifestGet,
        "POST" if path.contains("/blobs/uploads") => Kind::UploadStart,
        "PATCH" if path.contains("/blobs/uploads/") => Kind::UploadPatch,
        "PUT" if path.contains("/blobs/uploads/") => Kind::UploadPut,
        "GET" if path.contains("/blobs/uploads/") => Kind::UploadStatus,
        "HEAD" if path.contains("/blobs/") => Kind::BlobHead,
        "GET" if path.contains("/blobs/") => Kind::BlobGet,
        _ => Kind::Other,
    }
}

fn hang_up() -> io::Error {
    io::Error::new(io::ErrorKind::ConnectionAborted, "by plan")
}

fn never(error: Infallible) -> io::Error {
    match error {}
}

/// Well mixed bits of a number (the finaliser of splitmix64).
fn mixed(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_told_apart_by_method_and_path() {
        for (method, path, wanted) in [
            (Method::GET, "/v2/", Kind::Ping),
            (Method::HEAD, "/v2/a/b/manifests/latest", Kind::ManifestGet),
            (Method::POST, "/v2/a/blobs/uploads/", Kind::UploadStart),
            (Method::GET, "/v2/a/blobs/uploads/123", Kind::UploadStatus),
            (Method::GET, "/v2/a/blobs/sha256:12", Kind::BlobGet),
            (Method::GET, "/v2/a/tags/list", Kind::Other),
        ] {
            assert_eq!(kind(&method, path), wanted, "{method} {path}");
        }
    }

    #[test]
    fn the_body_is_cut_and_flipped_where_the_plan_says() {
        let run = |fault| {
            let mut position = 0;
            let mut harm = |text: &'static str| harm(Bytes::from(text), &mut position, Some(fault));
            (harm("abc").map_err(|_| "cut"), harm("def").map_err(|_| "cut"))
        };
        assert_eq!(run(Fault::Truncate(4)), (Ok("abc".into()), Ok("d".into())));
        assert_eq!(run(Fault::DropAfter(3)), (Ok("abc".into()), Err("cut")));
        assert_eq!(run(Fault::Flip(3)), (Ok("abc".into()), Ok(Bytes::from_static(b"\x9bef"))));
    }
}
