//! Blobs to a registry: mounted from a neighbour if it has them, sent otherwise, gone on with where a connection broke.

use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::BytesMut;
use futures::{StreamExt as _, stream};
use jiff::Timestamp;
use reqwest::{Body, Method, StatusCode, Url, header};

use super::answer::{Answer, code, refusal, said};
use super::auth::Scope;
use super::failure::{Failure, failure};
use super::host::{Ask, LONG_PATIENCE, Target, is_passing};
use super::patience::{MOST_TRIES, retry_after};
use super::place::Place;
use super::redirect;
use crate::image::Descriptor;
use crate::store::{Blob, BlobSource, Store, StoreError};

/// Blobs below this many bytes go with the request that ends the upload.
const SMALL: u64 = 16 * 1024;
/// How often content that the registry or the source finds wrong is sent anew.
const MOST_WRONG: u32 = 4;
/// How long an upload may bring no byte forward.
const STILLNESS: Duration = Duration::from_mins(1);

/// One blob on its way to one repository.
struct Upload<'a> {
    place: &'a Place,
    blob: &'a Descriptor,
    source: &'a BlobSource,
    what: String,
}

/// What came of asking for an upload.
enum Start {
    /// The registry took the blob from another of its repositories.
    Mounted,
    /// Bytes go here.
    At(Url),
}

/// What became of an upload.
enum Outcome {
    Done,
    /// The registry knows nothing of it any more: from the beginning.
    Lost(StoreError),
    /// The bytes are not those of the digest: from the beginning, with new bytes.
    Wrong(StoreError),
}

/// What became of one request with bytes.
enum Sent {
    /// All of it arrived; the upload goes on there.
    All(Url),
    /// It broke; the registry may ask for patience.
    Broke(StoreError, Option<Duration>),
    Outcome(Outcome),
}

/// Writes a blob unless it is there; says whether bytes were moved.
pub(super) async fn write(place: &Place, blob: &Descriptor, source: &BlobSource) -> Result<bool, StoreError> {
    let what = format!("{place}: uploading the blob {}", blob.digest);
    match place.blob_size(&blob.digest).await? {
        Some(size) if size == blob.size => return Ok(false),
        Some(size) => {
            let why = format!("it has {size} bytes there, not {}", blob.size);
            let what = format!("the blob {}", blob.digest);
            return Err(StoreError::Mismatch { what, store: place.to_string(), why });
        }
        None => {}
    }
    let upload = Upload { place, blob, source, what };
    let neighbour = neighbour(place, source);
    let (mut tries, mut wrong) = (place.host.patience.tries(), 0);
    loop {
        let url = match upload.start(neighbour.as_deref()).await? {
            Start::Mounted => return Ok(false),
            Start::At(url) => url,
        };
        let outcome =
            if blob.size < SMALL { upload.send_small(url).await? } else { upload.send(url).await? };
        match outcome {
            Outcome::Done => return Ok(true),
            Outcome::Lost(error) => {
                if !tries.again(&error, None, MOST_TRIES, Duration::ZERO).await {
                    return Err(error);
                }
            }
            Outcome::Wrong(error) => {
                wrong += 1;
                if wrong >= MOST_WRONG {
                    return Err(error);
                }
            }
        }
    }
}

/// The repository of the same registry that the bytes would come from.
fn neighbour(place: &Place, source: &BlobSource) -> Option<String> {
    let Some(Store::Registry(repository)) = source.as_store() else { return None };
    let other = &repository.own;
    let is_neighbour = Arc::ptr_eq(&other.host, &place.host) && other.path() != place.path();
    is_neighbour.then(|| other.path())
}

// === impl Upload ===

impl Upload<'_> {
    fn scope(&self) -> Scope {
        Scope::push(&self.place.path())
    }

    fn refused(&self, why: &str) -> StoreError {
        StoreError::Refused(format!("{}: {why}", self.what))
    }

    /// Begins, with a mount if a neighbour may have the blob.
    async fn start(&self, neighbour: Option<&str>) -> Result<Start, StoreError> {
        let uploads = format!("{}/blobs/uploads/", self.place.path());
        if let Some(neighbour) = neighbour {
            let target = Target::Path(format!("{uploads}?mount={}&from={neighbour}", self.blob.digest));
            let mut ask = Ask::new(Method::POST, target, self.scope(), &self.what);
            ask.scopes.push(Scope::pull(neighbour));
            // Who may not read there, or asks at a service that knows no second scope, sends the bytes.
            match self.place.ask(&ask).await {
                Ok(answer) if answer.status() == StatusCode::CREATED => return Ok(Start::Mounted),
                Ok(answer) if answer.status() == StatusCode::ACCEPTED => {
                    return self.location(&answer).map(Start::At);
                }
                Ok(_) | Err(StoreError::Denied { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        let ask = Ask::new(Method::POST, Target::Path(uploads), self.scope(), &self.what);
        let answer = self.place.ask(&ask).await?;
        match answer.status() {
            StatusCode::ACCEPTED => self.location(&answer).map(Start::At),
            StatusCode::NOT_FOUND => {
                Err(StoreError::NotFound { what: "the repository".to_owned(), store: self.place.to_string() })
            }
            _ => Err(answer.failed(&self.what).await),
        }
    }

    /// Where the upload goes on.
    fn location(&self, answer: &Answer) -> Result<Url, StoreError> {
        self.location_of(answer.response.url(), answer.header("location").as_deref())
    }

    fn location_of(&self, at: &Url, location: Option<&str>) -> Result<Url, StoreError> {
        let location = location.ok_or_else(|| self.refused("the registry does not say where it goes on"))?;
        redirect::upload(at, location).map_err(|why| self.refused(&why))
    }

    /// A blob that goes with the last request.
    async fn send_small(&self, url: Url) -> Result<Outcome, StoreError> {
        let mut bytes = BytesMut::new();
        let mut stream = self.source.checked(self.blob);
        while let Some(piece) = stream.next().await {
            match piece {
                Ok(piece) => bytes.extend_from_slice(&piece),
                Err(error @ StoreError::Mismatch { .. }) => return Ok(Outcome::Wrong(error)),
                Err(error) => return Err(error),
            }
        }
        self.finish(url, bytes.freeze()).await
    }

    /// A blob that goes in a request of its own, and on where that broke.
    async fn send(&self, mut url: Url) -> Result<Outcome, StoreError> {
        let patience = &self.place.host.patience;
        let (mut from, mut tries) = (0, patience.tries());
        while from < self.blob.size {
            match self.send_from(&url, from).await? {
                Sent::All(next) => {
                    url = next;
                    from = self.blob.size;
                }
                Sent::Outcome(outcome) => return Ok(outcome),
                Sent::Broke(error, asked) => {
                    // NB: the time of a large request is not counted; its stillness is bounded.
                    if !tries.again(&error, asked, MOST_TRIES, Duration::ZERO).await {
                        return Err(error);
                    }
                    match self.arrived(&url).await? {
                        None => return Ok(Outcome::Lost(error)),
                        Some((next, arrived)) => {
                            // Whoever comes forward has all tries again.
                            if arrived > from {
                                tries = patience.tries();
                            }
                            (url, from) = (next, arrived);
                        }
                    }
                }
            }
        }
        self.finish(url, bytes::Bytes::new()).await
    }

    /// Sends the bytes from a position on, once.
    async fn send_from(&self, url: &Url, from: u64) -> Result<Sent, StoreError> {
        let authorization = self.place.host.authorize(&[self.scope()], &self.place.spec).await?;
        let gate = self.place.host.gate(&Method::PATCH);
        let permit = gate.enter().await;
        // NB: only a whole blob can be checked on the way; the registry checks the others.
        let bytes =
            if from == 0 { self.source.checked(self.blob) } else { self.source.resuming(self.blob, from) };
        let progress = Progress::default();
        let mut request = self
            .place
            .host
            .client
            .patch(url.clone())
            .header(header::CONTENT_TYPE, "application/octet-stream")
            .header(header::CONTENT_LENGTH, self.blob.size - from)
            .body(Body::wrap_stream(progress.watch(one_behind(bytes))));
        if from > 0 {
            request = request.header(header::CONTENT_RANGE, format!("{from}-{}", self.blob.size - 1));
        }
        if let Some(value) = authorization {
            request = request.header(header::AUTHORIZATION, value);
        }
        let outcome = progress.wait(&self.what, request).await;
        match progress.error() {
            Some(error @ StoreError::Mismatch { .. }) => return Ok(Sent::Outcome(Outcome::Wrong(error))),
            Some(error) => return Err(error),
            None => {}
        }
        let response = match outcome {
            Ok(response) => response,
            Err(Failure::Passing(error)) => return Ok(Sent::Broke(error, None)),
            Err(failure) => return Err(failure.into_error()),
        };
        let answer = Answer { response, is_elsewhere: false, _permit: permit };
        match answer.status() {
            StatusCode::ACCEPTED | StatusCode::NO_CONTENT | StatusCode::CREATED => {
                Ok(Sent::All(self.location(&answer)?))
            }
            status if is_passing(status) || status == StatusCode::UNAUTHORIZED => {
                if status == StatusCode::TOO_MANY_REQUESTS {
                    gate.slow_down();
                }
                let asked = answer.header("retry-after");
                let asked = asked.and_then(|value| retry_after(&value, Timestamp::now()));
                Ok(Sent::Broke(answer.failed(&self.what).await, asked))
            }
            StatusCode::NOT_FOUND | StatusCode::RANGE_NOT_SATISFIABLE => {
                Ok(Sent::Outcome(Outcome::Lost(answer.failed(&self.what).await)))
            }
            _ => Err(answer.failed(&self.what).await),
        }
    }

    /// How many bytes of the upload have arrived, and where it goes on; nothing when the registry has given it up.
    async fn arrived(&self, url: &Url) -> Result<Option<(Url, u64)>, StoreError> {
        let ask = Ask::new(Method::GET, Target::Url(url.clone()), self.scope(), &self.what);
        let answer = self.place.ask(&ask).await?;
        if !answer.status().is_success() {
            return Ok(None);
        }
        let arrived = answer.header("range").as_deref().and_then(arrived);
        let next = match answer.header("location") {
            Some(location) => self.location_of(url, Some(&location))?,
            None => url.clone(),
        };
        Ok(arrived.filter(|arrived| *arrived <= self.blob.size).map(|arrived| (next, arrived)))
    }

    /// Ends the upload; the registry compares the digest.
    async fn finish(&self, mut url: Url, bytes: bytes::Bytes) -> Result<Outcome, StoreError> {
        url.query_pairs_mut().append_pair("digest", self.blob.digest.as_str());
        let mut ask = Ask::new(Method::PUT, Target::Url(url), self.scope(), &self.what)
            .header(header::CONTENT_TYPE, "application/octet-stream");
        ask.body = bytes;
        ask.patience = LONG_PATIENCE;
        let answer = self.place.ask(&ask).await?;
        let status = answer.status();
        if status.is_success() {
            return Ok(Outcome::Done);
        }
        let bytes = answer.bytes(refusal::MAX_BYTES, &self.what).await.unwrap_or_default();
        let error =
            StoreError::Answer { what: self.what.clone(), status: status.as_u16(), why: said(&bytes) };
        match (status.as_u16(), code(&bytes).as_deref()) {
            (400, Some("DIGEST_INVALID" | "SIZE_INVALID")) => Ok(Outcome::Wrong(error)),
            // An answer that got lost: the first try may have ended the upload.
            (404, _) if self.place.blob_size(&self.blob.digest).await? == Some(self.blob.size) => {
                Ok(Outcome::Done)
            }
            (404 | 416, _) | (400, Some("BLOB_UPLOAD_INVALID" | "BLOB_UPLOAD_UNKNOWN")) => {
                Ok(Outcome::Lost(error))
            }
            _ => Err(error),
        }
    }
}

/// How many bytes `Range: 0-99` stands for. NB: registries write `0-0` when nothing has arrived.
fn arrived(range: &str) -> Option<u64> {
    let (start, end) = range.strip_prefix("bytes=").unwrap_or(range).split_once('-')?;
    let end: u64 = end.trim().parse().ok()?;
    (start.trim() == "0").then(|| if end == 0 { 0 } else { end + 1 })
}

/// The same pieces, each when the next one or the end is known.
///
/// NB: whoever knows the length takes the last byte and never asks for the end, which is where a check says no.
fn one_behind(pieces: Blob) -> Blob {
    stream::unfold((pieces, None), |(mut pieces, mut held)| async move {
        loop {
            match (pieces.next().await, held) {
                (Some(Ok(piece)), None) => held = Some(piece),
                (Some(Ok(piece)), Some(before)) => return Some((Ok(before), (pieces, Some(piece)))),
                (Some(Err(error)), _) => return Some((Err(error), (stream::empty().boxed(), None))),
                (None, Some(last)) => return Some((Ok(last), (stream::empty().boxed(), None))),
                (None, None) => return None,
            }
        }
    })
    .boxed()
}

/// Watches bytes on their way out.
#[derive(Default)]
struct Progress {
    bytes: Arc<AtomicU64>,
    error: Arc<Mutex<Option<StoreError>>>,
}

// === impl Progress ===

impl Progress {
    /// The same bytes; the error of the source is kept, because the HTTP client would wrap it beyond recognition.
    fn watch(
        &self,
        bytes: Blob,
    ) -> impl futures::Stream<Item = Result<bytes::Bytes, std::io::Error>> + Send + 'static {
        let (count, slot) = (Arc::clone(&self.bytes), Arc::clone(&self.error));
        bytes.map(move |piece| match piece {
            Ok(piece) => {
                count.fetch_add(piece.len() as u64, Ordering::Relaxed);
                Ok(piece)
            }
            Err(error) => {
                let text = error.to_string();
                *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                Err(std::io::Error::other(text))
            }
        })
    }

    /// The answer, as long as bytes go out or the answer comes in time.
    async fn wait(&self, what: &str, request: reqwest::RequestBuilder) -> Result<reqwest::Response, Failure> {
        let mut sending = pin!(request.send());
        loop {
            let before = self.bytes.load(Ordering::Relaxed);
            match tokio::time::timeout(STILLNESS, &mut sending).await {
                Ok(outcome) => return outcome.map_err(|error| failure(what, error)),
                Err(_) if self.bytes.load(Ordering::Relaxed) != before => {}
                Err(_) => {
                    let why = format!("no byte went over for {} s", STILLNESS.as_secs());
                    return Err(Failure::Passing(StoreError::Network { what: what.to_owned(), why }));
                }
            }
        }
    }

    fn error(&self) -> Option<StoreError> {
        self.error.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_last_piece_goes_out_only_when_the_end_is_right() {
        let run = async |end: Option<StoreError>| {
            let pieces = ["a", "b"].map(|piece| Ok(bytes::Bytes::from(piece))).into_iter();
            let pieces = stream::iter(pieces.chain(end.map(Err)).collect::<Vec<_>>()).boxed();
            let seen: Vec<_> = one_behind(pieces).map(|piece| piece.map_err(|_| ())).collect().await;
            seen
        };
        assert_eq!(run(None).await, [Ok("a".into()), Ok("b".into())]);
        assert_eq!(run(Some(StoreError::Refused(String::new()))).await, [Ok("a".into()), Err(())]);
    }

    #[test]
    fn the_range_of_an_upload_says_how_much_has_arrived() {
        assert_eq!(arrived("0-99"), Some(100));
        assert_eq!(arrived("bytes=0-9"), Some(10));
        assert_eq!(arrived("0-0"), Some(0), "registries write this for nothing");
        assert_eq!(arrived("5-9"), None);
        assert_eq!(arrived(""), None);
    }
}
