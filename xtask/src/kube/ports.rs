//! Ports for the private Kubernetes, outside the range that the system hands out by itself.
//!
//! A port of the ephemeral range may be taken by any outgoing connection between the moment it is chosen and the
//! moment a server binds it; below that range only another server can take it, and then other ports are tried.

use std::fs;
use std::hash::{BuildHasher as _, RandomState};
use std::net::{Ipv4Addr, TcpListener};
use std::ops::RangeInclusive;

use crate::Error;

/// Where the kernel says which ports are ephemeral.
const EPHEMERAL: &str = "/proc/sys/net/ipv4/ip_local_port_range";
/// The lowest port used; below it sit services that people run.
const LOWEST: u16 = 10_000;
/// Fewer ports than this and parallel suites would meet too often.
const ENOUGH: u16 = 1_000;

/// An endless supply of ports that were free when they were asked for.
pub(crate) struct Ports {
    range: RangeInclusive<u16>,
    next: u16,
}

// === impl Ports ===

impl Ports {
    /// Ports of this machine, from a random place on.
    pub(crate) fn of_this_machine() -> Self {
        let range = range_outside(fs::read_to_string(EPHEMERAL).ok().as_deref());
        // Every process and every call gets another seed from the standard library's own randomness.
        Self::starting_at(range, RandomState::new().hash_one(std::process::id()))
    }

    fn starting_at(range: RangeInclusive<u16>, seed: u64) -> Self {
        let width = u64::from(range.end() - range.start()) + 1;
        let offset = u16::try_from(seed % width).unwrap_or_default();
        let next = range.start() + offset;
        Self { range, next }
    }

    /// The next port that nobody listens on.
    pub(crate) fn free(&mut self) -> Result<u16, Error> {
        let width = self.range.end() - self.range.start();
        (0..=width)
            .map(|_| self.candidate())
            .find(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok())
            .ok_or_else(|| Error::Data {
                from: "ports".into(),
                what: format!("all of {}-{} are taken", self.range.start(), self.range.end()),
            })
    }

    fn candidate(&mut self) -> u16 {
        let port = self.next;
        self.next = if port == *self.range.end() { *self.range.start() } else { port + 1 };
        port
    }
}

/// The widest usable range outside the ephemeral one; `text` is the kernel's "LOW HIGH".
fn range_outside(text: Option<&str>) -> RangeInclusive<u16> {
    let (low, high) = text.and_then(parse_range).unwrap_or((32_768, 60_999));
    if low >= LOWEST + ENOUGH {
        LOWEST..=low - 1
    } else if high <= u16::MAX - ENOUGH {
        high + 1..=u16::MAX
    } else {
        // Everything is ephemeral: a collision is possible and the caller tries again.
        LOWEST..=32_767
    }
}

fn parse_range(text: &str) -> Option<(u16, u16)> {
    let mut numbers = text.split_whitespace().map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_stay_below_the_ephemeral_range() {
        assert_eq!(range_outside(Some("32768\t60999\n")), 10_000..=32_767);
        assert_eq!(range_outside(Some("15000 20000")), 10_000..=14_999);
    }

    #[test]
    fn an_ephemeral_range_that_starts_low_moves_ports_above_it() {
        assert_eq!(range_outside(Some("1024 50000")), 50_001..=65_535);
    }

    #[test]
    fn unknown_or_boundless_ephemeral_ranges_still_give_ports() {
        assert_eq!(range_outside(None), 10_000..=32_767);
        assert_eq!(range_outside(Some("what?")), 10_000..=32_767);
        assert_eq!(range_outside(Some("1024 65535")), 10_000..=32_767);
    }

    #[test]
    fn candidates_start_anywhere_and_wrap_around() {
        let mut ports = Ports::starting_at(100..=103, 4 + 2);
        let seen: Vec<u16> = (0..5).map(|_| ports.candidate()).collect();
        assert_eq!(seen, [102, 103, 100, 101, 102]);
    }

    #[test]
    fn a_port_that_somebody_listens_on_is_passed_over() {
        let mut ports = Ports::of_this_machine();
        let taken = ports.free().unwrap();
        let _listener = TcpListener::bind((Ipv4Addr::LOCALHOST, taken)).unwrap();
        let mut again = Ports { range: taken..=taken + 1, next: taken };
        assert_ne!(again.free().ok(), Some(taken));
    }
}
