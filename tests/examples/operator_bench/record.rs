//! Requests of one server as its audit log has them, with their times.

use std::collections::BTreeMap;
use std::error::Error;

use k8s_openapi::jiff::Timestamp;
use lockstep_tests::audit::Request;
use lockstep_tests::operator::LEASE;

/// How many addresses of unwanted requests are named.
const NAMED: usize = 10;

/// A moment by the clock of this machine, which the server has, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment(Timestamp);

/// A request with its times.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) request: Request,
    pub(crate) received: Moment,
    pub(crate) answered: Moment,
}

/// This moment.
pub(crate) fn now() -> Moment {
    Moment(Timestamp::now())
}

// === impl Moment ===

impl Moment {
    /// Seconds from another moment to this one.
    pub(crate) fn since(self, other: Self) -> f64 {
        self.0.duration_since(other.0).as_secs_f64()
    }
}

// === impl Entry ===

impl Entry {
    pub(crate) fn new(request: Request) -> Result<Self, Box<dyn Error>> {
        let (received, answered) = (Moment(request.received.parse()?), Moment(request.answered.parse()?));
        Ok(Self { request, received, answered })
    }

    /// Whether it is about the Lease.
    pub(crate) fn is_of_lease(&self) -> bool {
        let leases = LEASE.rsplit_once('/').map_or(LEASE, |(leases, _)| leases);
        self.request.path.starts_with(leases)
    }

    /// Whether somebody got or renewed the Lease by it.
    pub(crate) fn is_hold(&self) -> bool {
        self.is_of_lease() && self.request.is_write() && (200..300).contains(&self.request.code)
    }

    /// Whether it is of the sort that has to be when nothing happens.
    pub(crate) fn is_idle(&self) -> bool {
        self.request.is_watch() || self.is_of_lease()
    }

    /// The address of what it is about, also of what it creates.
    pub(crate) fn address(&self) -> String {
        let Request { path, name, verb, .. } = &self.request;
        if verb == "create" { format!("{path}/{name}") } else { path.clone() }
    }
}

/// The most frequent of these requests.
pub(crate) fn named<'a>(entries: impl IntoIterator<Item = &'a Entry>) -> Vec<String> {
    let mut counts: BTreeMap<(&str, String), usize> = BTreeMap::new();
    for entry in entries {
        *counts.entry((&entry.request.verb, entry.address())).or_default() += 1;
    }
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    counts.iter().take(NAMED).map(|((verb, path), count)| format!("{count} × {verb} {path}")).collect()
}
