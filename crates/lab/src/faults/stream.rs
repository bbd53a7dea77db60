//! Watches under faults: ended or silenced, also by rules that come after them.

use std::collections::BTreeSet;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use http::Response;
use hyper::body::{Frame, SizeHint};
use tokio::sync::watch;

use super::request::Asked;
use super::{Effect, Faults, Span};

/// What becomes of an open watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// The stream ends.
    Dropped,
    /// The stream stays and says nothing any more.
    Stalled,
}

/// Waits for the fate of one watch.
struct Guard {
    faults: Faults,
    asked: Asked,
    changes: watch::Receiver<u64>,
    /// When the watch began, in the time of the lab.
    start: Duration,
    /// Rules that were asked about this watch already: each decides once.
    judged: BTreeSet<u64>,
}

/// The body of a watch.
enum Stream {
    /// As the server sends it, until something happens.
    Open { body: Body, end: Pin<Box<dyn Future<Output = End> + Send>> },
    /// Over, whatever the server would say.
    Dropped,
    /// Silent for ever. The stream of the server is gone: nothing piles up for a client that hears nothing.
    Stalled,
}

/// Puts a watch under the rules.
///
/// `judged` are the rules that decided already when the watch was asked for.
pub(super) fn guard(
    faults: Faults,
    asked: Asked,
    judged: BTreeSet<u64>,
    response: Response<Body>,
) -> Response<Body> {
    let guard = Guard {
        changes: faults.0.changes.subscribe(),
        start: faults.0.clock.elapsed(),
        judged,
        faults,
        asked,
    };
    response.map(|body| Body::new(Stream::Open { body, end: Box::pin(guard.end()) }))
}

// === impl Guard ===

impl Guard {
    /// Waits until a rule strikes; for ever when none does.
    async fn end(mut self) -> End {
        loop {
            self.changes.borrow_and_update();
            match self.look() {
                Ok(end) => return end,
                Err(wait) => self.faults.until(wait, &mut self.changes).await,
            }
        }
    }

    /// What happens now, or else how long nothing can happen.
    fn look(&mut self) -> Result<End, Option<Duration>> {
        let now = self.faults.0.clock.elapsed();
        let mut next: Option<Duration> = None;
        for entry in &mut self.faults.rules().entries {
            let (end, after) = match entry.rule.effect {
                Effect::DropWatch { after } => (End::Dropped, after),
                Effect::StallWatch { after } => (End::Stalled, after),
                // Who is away does not keep streams open.
                Effect::Outage {} => (End::Dropped, Span::default()),
                _ => continue,
            };
            if self.judged.contains(&entry.id) {
                continue;
            }
            let due = self.start.max(entry.start).saturating_add(after.into());
            if due > now {
                let wait = due.saturating_sub(now);
                next = Some(next.map_or(wait, |next| next.min(wait)));
                continue;
            }
            self.judged.insert(entry.id);
            if entry.strikes(&self.asked, now) {
                return Ok(end);
            }
        }
        Err(next)
    }
}

// === impl Stream ===

impl HttpBody for Stream {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let Self::Open { body, end } = &mut *self else {
            return if self.is_end_stream() { Poll::Ready(None) } else { Poll::Pending };
        };
        // The rules first: what the server says after the moment of the fault does not arrive.
        match end.as_mut().poll(context) {
            Poll::Pending => Pin::new(body).poll_frame(context),
            Poll::Ready(End::Dropped) => {
                *self = Self::Dropped;
                Poll::Ready(None)
            }
            Poll::Ready(End::Stalled) => {
                *self = Self::Stalled;
                Poll::Pending
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Open { body, .. } => body.is_end_stream(),
            Self::Dropped => true,
            Self::Stalled => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            // NB: it may end early, so an exact length would be a promise.
            Self::Open { .. } | Self::Stalled => SizeHint::default(),
            Self::Dropped => SizeHint::with_exact(0),
        }
    }
}
