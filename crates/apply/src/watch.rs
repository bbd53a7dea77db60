//! Watches that never end: everything that exists, then every change, whatever the server does in between.
//!
//! One watch is a small state machine. It begins with everything that exists, as one stream where the server can do
//! that, in pages otherwise; then it reads events. A watch that breaks goes on from the last version that was seen; when
//! that is forgotten, everything is given anew. Events are parsed one at a time and nothing is kept.

mod backoff;
mod lines;

use std::time::Duration;
use std::vec;

use futures::StreamExt as _;
use futures::stream::{self, BoxStream};
use serde::Deserialize;
use serde_json::Value;
use tokio::time::{Instant, sleep_until, timeout_at};

pub use backoff::Backoff;
use lines::Lines;

use crate::kinds::Resource;
use crate::refusal::Refusal;
use crate::server::{Call, ListPage, Server};

/// What is watched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Watched {
    /// Which kind.
    pub resource: Resource,
    /// In which namespace; `None` for all.
    pub namespace: Option<String>,
    /// Which labels.
    pub label_selector: Option<String>,
    /// Which fields.
    pub field_selector: Option<String>,
    /// Whether the metadata are enough.
    pub metadata_only: bool,
}

/// What a watch saw.
#[derive(Debug, Clone, PartialEq)]
pub enum Seen {
    /// Everything that exists is given anew from here on.
    Restarted,
    /// An object as it is now.
    Object(Value),
    /// An object that is gone, or is no longer selected, as it was.
    Gone(Value),
    /// Everything that exists has been given: what was not given since [`Seen::Restarted`] is gone.
    Synced {
        /// As of this version.
        version: String,
    },
    /// After [`Seen::Trouble`] the watch goes on from where it was.
    Resumed,
    /// Nothing is seen for a while. The watch goes on by itself.
    Trouble {
        /// Why.
        refusal: Refusal,
        /// When it is tried again.
        retry_in: Duration,
    },
}

/// The server ends a watch by itself after a time between these, in seconds: all watches of a run shall not end at once.
const LIFE: (u64, u64) = (290, 590);
/// A watch that has not ended this long after its time is dead: the connection is gone without a word.
const GRACE: Duration = Duration::from_secs(15);
/// A stream of everything that exists must not pause longer; a server that pauses is asked for pages from then on.
const PAUSE: Duration = Duration::from_mins(1);
/// A watch that lived this long was a good one.
const STEADY: Duration = Duration::from_secs(5);
/// Objects per page: a definition has more than 100 kB and becomes five times that in memory, metadata are small.
const PAGE: u32 = 100;
const PAGE_OF_METADATA: u32 = 500;
/// Marks the bookmark that ends a stream of everything that exists.
const INITIAL_EVENTS_END: &str = "k8s.io/initial-events-end";

/// Watches a kind for ever; dropping the stream ends the watch. The same seed gives the same pauses.
pub fn watch(server: Server, what: Watched, seed: u64) -> BoxStream<'static, Seen> {
    let name = format!("{} {:?} {:?}", what.resource.list_path(None), what.namespace, what.field_selector);
    let watcher = Watcher {
        server,
        backoff: Backoff::new(seed, &name),
        streams: true,
        pages: true,
        is_troubled: false,
        state: State::Listing,
        what,
    };
    stream::unfold(watcher, |mut watcher| async move { Some((watcher.next().await, watcher)) }).boxed()
}

/// A watch and where it stands.
struct Watcher {
    server: Server,
    what: Watched,
    backoff: Backoff,
    /// Whether the server gives everything that exists as a stream, as far as we know.
    streams: bool,
    /// Whether lists come in pages; not after a page was forgotten before it was asked for.
    pages: bool,
    /// Whether the last thing that was told was trouble.
    is_troubled: bool,
    state: State,
}

/// Where a watch stands.
enum State {
    /// Nothing is known: everything has to be given.
    Listing,
    /// A page has to be asked for; the first one has no token.
    Paging { token: Option<String> },
    /// The objects of a page are being given.
    Giving { items: vec::IntoIter<Value>, token: Option<String>, version: String },
    /// Everything up to this version was given: a watch has to be opened there.
    Opening { version: String },
    /// Events come in.
    Reading(Reading),
    /// Something went wrong; it goes on later.
    Waiting { until: Instant, then: Box<State> },
}

/// An open watch.
struct Reading {
    lines: Lines,
    /// The last version seen; none before everything that exists has been given.
    version: Option<String>,
    opened: Instant,
    /// When the watch is dead, whatever it looks like.
    end: Instant,
}

/// One line of a watch.
#[derive(Deserialize)]
struct Event {
    #[serde(rename = "type")]
    kind: String,
    object: Value,
}

// === impl Watcher ===

impl Watcher {
    async fn next(&mut self) -> Seen {
        loop {
            if let Some(seen) = self.step().await {
                return seen;
            }
        }
    }

    /// Goes one state further.
    async fn step(&mut self) -> Option<Seen> {
        match std::mem::replace(&mut self.state, State::Listing) {
            State::Listing if self.streams => self.open_with_state().await,
            State::Listing => self.ask_for_page(None).await,
            State::Paging { token } => self.ask_for_page(token).await,
            State::Giving { items, token, version } => self.give(items, token, version),
            State::Opening { version } => self.open(version).await,
            State::Reading(reading) => self.read(reading).await,
            State::Waiting { until, then } => {
                sleep_until(until).await;
                self.state = *then;
                None
            }
        }
    }

    /// Asks for everything that exists and all changes as one stream.
    async fn open_with_state(&mut self) -> Option<Seen> {
        let (call, end) = self.watch_call();
        let call = call.with("sendInitialEvents", "true").with("resourceVersionMatch", "NotOlderThan");
        match self.server.open(call).await {
            Ok(body) => {
                let opened = Instant::now();
                self.state = State::Reading(Reading { lines: Lines::new(body), version: None, opened, end });
                self.is_troubled = false;
                Some(Seen::Restarted)
            }
            Err(refusal) if refuses_streams(&refusal) => self.go_on_with_pages(),
            Err(refusal) => Some(self.trouble(refusal, State::Listing)),
        }
    }

    /// Asks for a page of what exists.
    async fn ask_for_page(&mut self, token: Option<String>) -> Option<Seen> {
        let what = &self.what;
        let limit = if what.metadata_only { PAGE_OF_METADATA } else { PAGE };
        let page = ListPage {
            label_selector: what.label_selector.as_deref(),
            field_selector: what.field_selector.as_deref(),
            limit: self.pages.then_some(limit),
            token: token.as_deref(),
            // The newest: what a server has at hand may be older than what we have seen already.
            resource_version: None,
        };
        let call = Call::list(&what.resource, what.namespace.as_deref(), &page);
        let call = if what.metadata_only { call.metadata_only_list() } else { call };
        match self.server.send(call).await {
            Ok(answer) => {
                let mut list = answer.object;
                let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
                let version = text(&list["metadata"]["resourceVersion"]);
                let next = Some(text(&list["metadata"]["continue"])).filter(|token| !token.is_empty());
                let items = match list["items"].take() {
                    Value::Array(items) => items,
                    _ => Vec::new(),
                };
                self.state = State::Giving { items: items.into_iter(), token: next, version };
                token.is_none().then_some(Seen::Restarted)
            }
            Err(Refusal::Gone) => {
                // The pages took too long. All at once does not.
                self.pages = false;
                self.begin_anew()
            }
            Err(refusal) if token.is_some() && refusal.is_transient() => {
                Some(self.trouble(refusal, State::Paging { token }))
            }
            Err(refusal) => Some(self.trouble(refusal, State::Listing)),
        }
    }

    /// Gives one object of a page, or what comes after the last.
    fn give(
        &mut self,
        mut items: vec::IntoIter<Value>,
        token: Option<String>,
        version: String,
    ) -> Option<Seen> {
        if let Some(item) = items.next() {
            self.state = State::Giving { items, token, version };
            return Some(Seen::Object(self.complete(item)));
        }
        if token.is_some() {
            self.state = State::Paging { token };
            return None;
        }
        self.pages = true;
        self.is_troubled = false;
        self.state = State::Opening { version: version.clone() };
        Some(Seen::Synced { version })
    }

    /// Opens a watch that goes on from a version.
    async fn open(&mut self, version: String) -> Option<Seen> {
        let (call, end) = self.watch_call();
        match self.server.open(call.with("resourceVersion", &version)).await {
            Ok(body) => {
                let opened = Instant::now();
                let lines = Lines::new(body);
                self.state = State::Reading(Reading { lines, version: Some(version), opened, end });
                std::mem::take(&mut self.is_troubled).then_some(Seen::Resumed)
            }
            Err(Refusal::Gone) => self.begin_anew(),
            // The kind may come back without the objects that it had.
            Err(refusal @ Refusal::KindNotServed) => Some(self.trouble(refusal, State::Listing)),
            Err(refusal) => Some(self.trouble(refusal, State::Opening { version })),
        }
    }

    /// Reads one line.
    async fn read(&mut self, mut reading: Reading) -> Option<Seen> {
        let is_initial = reading.version.is_none();
        let patience = if is_initial { reading.end.min(Instant::now() + PAUSE) } else { reading.end };
        let line = match timeout_at(patience, reading.lines.next()).await {
            Err(_) if is_initial => return self.go_on_with_pages(),
            Err(_) => {
                let message = "the watch was silent for too long".to_owned();
                return Some(self.broken(reading, Refusal::Busy { message, retry_after: None }));
            }
            Ok(None) => return self.ended(reading),
            Ok(Some(Err(refusal))) => return Some(self.broken(reading, refusal)),
            Ok(Some(Ok(line))) => line,
        };
        match serde_json::from_slice::<Event>(&line) {
            Ok(event) => self.take(reading, event),
            Err(error) => {
                let message = format!("an event of the watch cannot be read: {error}");
                reading.version = None;
                Some(self.broken(reading, Refusal::Other { code: 200, reason: String::new(), message }))
            }
        }
    }

    /// What an event means.
    fn take(&mut self, mut reading: Reading, event: Event) -> Option<Seen> {
        if event.kind == "ERROR" {
            return match Refusal::of_status(&event.object) {
                Refusal::Gone => self.begin_anew(),
                refusal if reading.version.is_none() && refuses_streams(&refusal) => self.go_on_with_pages(),
                refusal => Some(self.broken(reading, refusal)),
            };
        }
        let metadata = &event.object["metadata"];
        let version = metadata["resourceVersion"].as_str().unwrap_or_default();
        let is_end_of_state =
            event.kind == "BOOKMARK" && metadata["annotations"][INITIAL_EVENTS_END] == "true";
        let seen = if reading.version.is_some() {
            reading.version = Some(version.to_owned());
            self.backoff.reset();
            None
        } else if is_end_of_state {
            reading.version = Some(version.to_owned());
            Some(Seen::Synced { version: version.to_owned() })
        } else {
            None
        };
        self.state = State::Reading(reading);
        match event.kind.as_str() {
            "ADDED" | "MODIFIED" => Some(Seen::Object(event.object)),
            "DELETED" => Some(Seen::Gone(event.object)),
            _ => seen,
        }
    }

    /// The server ended the watch.
    fn ended(&mut self, reading: Reading) -> Option<Seen> {
        let Some(version) = reading.version else {
            let message = "the stream ended before everything was given".to_owned();
            return Some(self.trouble(Refusal::Busy { message, retry_after: None }, State::Listing));
        };
        let then = State::Opening { version };
        if reading.opened.elapsed() >= STEADY {
            self.backoff.reset();
            self.state = then;
        } else {
            // A server that ends every watch at once shall not be asked all the time.
            let until = Instant::now() + self.backoff.next();
            self.state = State::Waiting { until, then: Box::new(then) };
        }
        None
    }

    /// The watch broke.
    fn broken(&mut self, reading: Reading, refusal: Refusal) -> Seen {
        let then = match reading.version {
            Some(version) => {
                if reading.opened.elapsed() >= STEADY {
                    self.backoff.reset();
                }
                State::Opening { version }
            }
            None => State::Listing,
        };
        self.trouble(refusal, then)
    }

    /// The version is forgotten: at once the first time, later when it goes on like that.
    fn begin_anew(&mut self) -> Option<Seen> {
        let is_first = self.backoff.is_fresh();
        let pause = self.backoff.next();
        self.state = if is_first {
            State::Listing
        } else {
            State::Waiting { until: Instant::now() + pause, then: Box::new(State::Listing) }
        };
        None
    }

    fn go_on_with_pages(&mut self) -> Option<Seen> {
        self.streams = false;
        self.state = State::Listing;
        None
    }

    fn trouble(&mut self, refusal: Refusal, then: State) -> Seen {
        let retry_in = self.backoff.next().max(refusal.retry_after().unwrap_or_default());
        self.state = State::Waiting { until: Instant::now() + retry_in, then: Box::new(then) };
        self.is_troubled = true;
        Seen::Trouble { refusal, retry_in }
    }

    /// A watch request without a start, and when its stream is dead.
    fn watch_call(&mut self) -> (Call, Instant) {
        let what = &self.what;
        let seconds = self.backoff.between(LIFE.0, LIFE.1);
        let call = Call::watch(&what.resource, what.namespace.as_deref())
            .with_some("labelSelector", what.label_selector.as_deref())
            .with_some("fieldSelector", what.field_selector.as_deref())
            .with("allowWatchBookmarks", "true")
            .with("timeoutSeconds", &seconds.to_string());
        let call = if what.metadata_only { call.metadata_only() } else { call };
        (call, Instant::now() + Duration::from_secs(seconds) + GRACE)
    }

    /// The server leaves version and kind out of the objects of a list; in events they are there.
    fn complete(&self, mut item: Value) -> Value {
        if let Value::Object(fields) = &mut item {
            let resource = &self.what.resource;
            let (api_version, kind) = if self.what.metadata_only {
                ("meta.k8s.io/v1".to_owned(), "PartialObjectMetadata")
            } else {
                (resource.api_version(), resource.kind.as_str())
            };
            fields.entry("apiVersion").or_insert_with(|| api_version.into());
            fields.entry("kind").or_insert_with(|| kind.into());
        }
        item
    }
}

/// Whether the server cannot give everything that exists as a stream, rather than being in trouble.
fn refuses_streams(refusal: &Refusal) -> bool {
    match refusal {
        // A 500 is what a server says whose storage cannot tell where a stream is.
        Refusal::Invalid { .. } | Refusal::Required { .. } | Refusal::Stale => true,
        Refusal::Other { code, .. } => (400..=500).contains(code),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_in_trouble_is_not_one_that_has_no_streams() {
        let answer =
            |code: u16, body: &str| refuses_streams(&Refusal::of_response(code, body.as_bytes(), None));
        let status = |code: u16, reason: &str| {
            let status =
                serde_json::json!({"kind": "Status", "code": code, "reason": reason, "message": "m"});
            answer(code, &status.to_string())
        };
        assert!(status(400, "BadRequest") && status(422, "Invalid") && status(500, "InternalError"));
        assert!(!answer(503, "away") && !answer(404, "404 page not found") && !answer(429, "later"));
        assert!(!status(410, "Expired") && !status(403, "Forbidden") && !status(401, "Unauthorized"));
    }
}
