//! What the kernel says about a process: its memory and its connections.

use std::collections::BTreeSet;
use std::fs;
use std::io;

/// Memory of a process, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// What it has now.
    pub now: u64,
    /// The most that it ever had.
    pub peak: u64,
}

/// The memory of a running process.
pub fn memory(pid: u32) -> io::Result<Memory> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    Ok(Memory { now: bytes(&status, "VmRSS:"), peak: bytes(&status, "VmHWM:") })
}

/// How many TCP connections a running process has open.
pub fn connections(pid: u32) -> io::Result<usize> {
    let mut sockets = BTreeSet::new();
    for entry in fs::read_dir(format!("/proc/{pid}/fd"))? {
        // A file may be closed in this moment.
        let target = entry.and_then(|entry| fs::read_link(entry.path())).unwrap_or_default();
        let target = target.to_string_lossy();
        let number = target.strip_prefix("socket:[").and_then(|rest| rest.strip_suffix(']'));
        sockets.extend(number.map(str::to_owned));
    }
    let table = |name: &str| fs::read_to_string(format!("/proc/{pid}/net/{name}"));
    let tables = [table("tcp")?, table("tcp6").unwrap_or_default()];
    Ok(tables.iter().flat_map(|table| established(table)).filter(|it| sockets.contains(*it)).count())
}

/// A line of `/proc/PID/status`, such as `VmRSS:     123 kB`.
fn bytes(status: &str, name: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or_default() * 1024
}

/// The numbers of the sockets in `/proc/PID/net/tcp` that are connected.
fn established(table: &str) -> impl Iterator<Item = &str> {
    table.lines().skip(1).filter_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        (*fields.get(3)? == "01").then(|| fields.get(9).copied())?
    })
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn both_lines_are_read_in_bytes() {
        let status = "VmPeak:\t  900 kB\nVmHWM:\t   123 kB\nVmRSS:\t 7 kB\n";
        assert_eq!(bytes(status, "VmHWM:"), 123 * 1024);
        assert_eq!(bytes(status, "VmRSS:"), 7 * 1024);
        assert_eq!(bytes("State:\tZ (zombie)\n", "VmRSS:"), 0);
    }

    #[test]
    fn the_memory_of_this_process_is_not_more_than_its_peak() {
        let memory = memory(std::process::id()).unwrap();
        assert!(memory.now > 100_000 && memory.now <= memory.peak, "{memory:?}");
    }

    #[test]
    fn a_connection_counts_as_long_as_it_is_open_and_a_listener_does_not() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let before = connections(std::process::id()).unwrap();
        let there = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let here = listener.accept().unwrap();
        assert_eq!(connections(std::process::id()).unwrap(), before + 2);
        drop((there, here));
    }
}
