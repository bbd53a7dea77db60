//! Watches: events of one resource as a stream.
//!
//! A watch holds no queue of its own: it remembers the last version it sent and takes the next events from the ring of the
//! store when the client has read the previous ones. A client that is too slow finds its place forgotten and gets
//! `410 Gone`, as from the real server; a thousand watches cost a thousand cursors.

use std::collections::VecDeque;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use futures::future::{Either, select};
use futures::stream;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::Shared;
use super::answer::{Form, partial};
use super::page::parse_version;
use super::request::ListOptions;
use super::resource::Resource;
use super::select::Selection;
use crate::status::Status;
use crate::store::{Change, Event, Store};

/// How often an idle watch that wants bookmarks gets one.
const BOOKMARK_EVERY: Duration = Duration::from_mins(1);
/// How long before its end a watch that wants bookmarks gets the last one.
const BOOKMARK_BEFORE_END: Duration = Duration::from_secs(2);
/// A watch without a limit of its own stays open this long, and up to twice as long.
const DEFAULT_LIFE: Duration = Duration::from_mins(30);
/// No watch stays open longer.
const LONGEST_LIFE: Duration = Duration::from_hours(24);
/// How many events are taken from the store at once.
const BATCH: usize = 64;

/// One open watch.
struct Watch {
    shared: Arc<Shared>,
    resource: Arc<Resource>,
    selection: Selection,
    form: Form,
    /// What was there when the watch began and was not sent yet; shared with the store, not copied.
    state: VecDeque<Arc<Value>>,
    /// Whether a bookmark tells where that ends.
    marks_state: bool,
    /// Encoded events that wait to be sent.
    ready: VecDeque<Bytes>,
    /// The version up to which events were looked at.
    seen: u64,
    /// The version of the last bookmark, or where the watch began.
    marked: u64,
    changed: tokio::sync::watch::Receiver<u64>,
    end: Instant,
    bookmark: Option<Instant>,
    is_over: bool,
}

/// Opens a watch; what is wrong with its options is an error, what is too old an event.
pub(super) fn open(
    shared: &Arc<Shared>,
    resource: &Arc<Resource>,
    selection: Selection,
    options: &ListOptions,
    form: Form,
) -> Result<Body, Status> {
    let mut core = shared.core();
    let asked = parse_version(&options.resource_version)?;
    let with_state = options.send_initial_events.unwrap_or(asked == 0);
    let life = match options.timeout_seconds {
        Some(seconds) if seconds > 0 => Duration::from_secs(seconds),
        _ => DEFAULT_LIFE.mul_f64(1.0 + core.jitter.fraction()),
    };
    // A client may ask for centuries; a day is for ever.
    let end = Instant::now() + shared.clock.scaled(life.min(LONGEST_LIFE));
    let seen = if with_state || asked == 0 { core.store.revision() } else { asked };
    let mut watch = Watch {
        shared: Arc::clone(shared),
        resource: Arc::clone(resource),
        selection,
        form,
        state: VecDeque::new(),
        marks_state: false,
        ready: VecDeque::new(),
        seen,
        marked: seen,
        changed: core.store.subscribe(&resource.table),
        end,
        bookmark: None,
        is_over: false,
    };
    if with_state {
        watch.send_state(&core.store, options.send_initial_events.is_some() && options.bookmarks);
    }
    if options.bookmarks {
        watch.bookmark = Some(watch.next_bookmark());
    }
    drop(core);
    Ok(Body::from_stream(stream::unfold(watch, |mut watch| async move {
        let chunk = watch.next().await?;
        Some((Ok::<_, std::convert::Infallible>(chunk), watch))
    })))
}

// === impl Watch ===

impl Watch {
    /// The next bytes for the client; nothing when the watch is over.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(chunk) = self.ready.pop_front() {
                return Some(chunk);
            }
            if let Some(object) = self.state.pop_front() {
                self.push_object("ADDED", &object);
                if self.state.is_empty() && self.marks_state {
                    self.send_bookmark(true);
                }
                continue;
            }
            if self.is_over || Instant::now() >= self.end {
                return None;
            }
            self.changed.mark_unchanged();
            if self.take_events() {
                continue;
            }
            let bookmark = self.bookmark.unwrap_or(self.end).min(self.end);
            let is_change = {
                let changed = pin!(self.changed.changed());
                let alarm = pin!(tokio::time::sleep_until(bookmark));
                // NB: `select` asks the first one first, always.
                match select(changed, alarm).await {
                    Either::Left((Ok(()), _)) => true,
                    // The resource is gone for good.
                    Either::Left((Err(_), _)) => return None,
                    Either::Right(_) => false,
                }
            };
            if is_change {
                continue;
            }
            let is_wanted = self.bookmark.is_some() && Instant::now() < self.end;
            if is_wanted && self.seen > self.marked {
                self.send_bookmark(false);
            }
            self.bookmark = self.bookmark.map(|_| self.next_bookmark());
        }
    }

    /// Takes the next events from the store; whether there were any.
    fn take_events(&mut self) -> bool {
        let shared = Arc::clone(&self.shared);
        let core = shared.core();
        match core.store.events_after(&self.resource.table, self.seen, BATCH) {
            Ok(events) => {
                for event in &events {
                    self.seen = event.revision;
                    self.send_event(event);
                }
                if events.is_empty() {
                    // Nothing of this resource came since, so a bookmark may name the newest version.
                    self.seen = self.seen.max(core.store.revision());
                }
                !events.is_empty()
            }
            Err(forgotten) => {
                let message = format!("too old resource version: {} ({})", self.seen, forgotten.oldest);
                let status = Status::expired(message);
                self.push("ERROR", &status.to_value());
                self.is_over = true;
                true
            }
        }
    }

    fn send_event(&mut self, event: &Event) {
        let is_now = event.change != Change::Deleted && self.selection.takes(&event.path, &event.object);
        let was = event.previous.as_ref().filter(|previous| self.selection.takes(&event.path, previous));
        match (was, is_now) {
            (None, true) => self.push_object("ADDED", &event.object),
            (Some(_), true) => self.push_object("MODIFIED", &event.object),
            (Some(_), false) if event.change == Change::Deleted => self.push_object("DELETED", &event.object),
            (Some(previous), false) => {
                // It left the selection: the client sees the state it knew, at the version of the change.
                let mut last = Value::clone(previous);
                last["metadata"]["resourceVersion"] = event.revision.to_string().into();
                self.push_object("DELETED", &Arc::new(last));
            }
            (None, false) => {}
        }
    }

    fn send_state(&mut self, store: &Store, with_end_mark: bool) {
        let objects = store.objects(&self.resource.table, &self.selection.namespace);
        let taken = objects.into_iter().filter(|(path, object)| self.selection.takes(path, object));
        self.state = taken.map(|(_, object)| object).collect();
        self.marks_state = with_end_mark;
        if self.state.is_empty() && with_end_mark {
            self.send_bookmark(true);
        }
    }

    fn send_bookmark(&mut self, is_end_of_state: bool) {
        self.marked = self.seen;
        let mut object = self.resource.empty_object();
        object["metadata"]["resourceVersion"] = self.seen.to_string().into();
        if is_end_of_state {
            object["metadata"]["annotations"] = json!({"k8s.io/initial-events-end": "true"});
        }
        self.push_object("BOOKMARK", &Arc::new(object));
    }

    fn next_bookmark(&self) -> Instant {
        let regular = Instant::now() + self.shared.clock.scaled(BOOKMARK_EVERY);
        let last = self.end.checked_sub(self.shared.clock.scaled(BOOKMARK_BEFORE_END));
        match last {
            Some(last) if last > Instant::now() => regular.min(last),
            _ => regular,
        }
    }

    fn push_object(&mut self, kind: &str, object: &Arc<Value>) {
        match self.form {
            Form::Metadata(api_version) | Form::MetadataList(api_version) => {
                self.push(kind, &partial(object, api_version));
            }
            Form::Whole => self.push(kind, &self.resource.present(object)),
        }
    }

    fn push(&mut self, kind: &str, object: &Value) {
        let mut line = format!("{{\"type\":\"{kind}\",\"object\":").into_bytes();
        if serde_json::to_writer(&mut line, object).is_ok() {
            line.extend_from_slice(b"}\n");
            self.ready.push_back(line.into());
        }
    }
}
