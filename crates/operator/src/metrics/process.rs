//! What the system says of this process, as every exporter tells it.

use std::fmt;
use std::fs;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

/// Reads `/proc` each time somebody asks; what cannot be read is not shown.
#[derive(Debug)]
pub(super) struct Process;

/// What is known of a process.
#[derive(Debug, Clone, Default, PartialEq)]
struct Usage {
    cpu_seconds: Option<f64>,
    start_seconds: Option<f64>,
    resident_bytes: Option<i64>,
    virtual_bytes: Option<i64>,
    threads: Option<i64>,
    open_files: Option<i64>,
    most_files: Option<i64>,
}

/// The unit of times in `stat`: fixed for all that Linux tells programs, whatever it uses itself.
const TICKS_PER_SECOND: f64 = 100.0;

impl Collector for Process {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let mut usage = Usage::parse(
            &read("/proc/self/stat"),
            &read("/proc/self/status"),
            &read("/proc/self/limits"),
            &read("/proc/stat"),
        );
        // NB: one of them is the folder that is being read.
        let open = fs::read_dir("/proc/self/fd").ok().map(|entries| entries.count().saturating_sub(1));
        usage.open_files = open.and_then(|count| i64::try_from(count).ok());
        usage.encode(&mut encoder)
    }
}

// === impl Usage ===

impl Usage {
    fn parse(stat: &str, status: &str, limits: &str, machine: &str) -> Self {
        // The name of the program is in brackets and may hold anything, also brackets.
        let fields: Vec<f64> = stat
            .rsplit_once(')')
            .map(|(_, rest)| rest.split_whitespace().map(|field| field.parse().unwrap_or(0.0)).collect())
            .unwrap_or_default();
        // Counted from 3 in the manual: 14 and 15 are the time in user and system mode, 22 the start.
        let ticks = |field: usize| fields.get(field - 3).map(|ticks| ticks / TICKS_PER_SECOND);
        let boot: Option<f64> = entry(machine, "btime ").and_then(|text| text.parse().ok());
        let number = |key: &str| entry(status, key).and_then(|text| text.parse::<i64>().ok());
        Self {
            cpu_seconds: ticks(14).zip(ticks(15)).map(|(user, system)| user + system),
            start_seconds: ticks(22).zip(boot).map(|(start, boot)| start + boot),
            resident_bytes: number("VmRSS:").map(|kilobytes| kilobytes * 1024),
            virtual_bytes: number("VmSize:").map(|kilobytes| kilobytes * 1024),
            threads: number("Threads:"),
            open_files: None,
            most_files: entry(limits, "Max open files").and_then(|text| text.parse().ok()),
        }
    }

    fn encode(&self, to: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let gauge = |value: Option<i64>| value.map(ConstGauge::new);
        one(to, "process_cpu_seconds", "Time of processors in use", self.cpu_seconds.map(ConstCounter::new))?;
        let start = self.start_seconds.map(ConstGauge::new);
        one(to, "process_start_time_seconds", "When the process began, in seconds since the epoch", start)?;
        one(to, "process_resident_memory_bytes", "Memory in use", gauge(self.resident_bytes))?;
        one(to, "process_virtual_memory_bytes", "Address space in use", gauge(self.virtual_bytes))?;
        one(to, "process_threads", "Threads of the process", gauge(self.threads))?;
        one(to, "process_open_fds", "Open file descriptors", gauge(self.open_files))?;
        one(to, "process_max_fds", "Most file descriptors that may be open", gauge(self.most_files))
    }
}

/// The first word after a key at the beginning of a line.
fn entry<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.strip_prefix(key))?.split_whitespace().next()
}

fn one(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    metric: Option<impl EncodeMetric>,
) -> fmt::Result {
    match metric {
        Some(metric) => metric.encode(encoder.encode_descriptor(name, help, None, metric.metric_type())?),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usage_is_read_past_a_name_with_brackets() {
        let stat = "7 (a) b) S 1 7 7 0 -1 4194560 9 0 0 0 250 50 0 0 20 0 5 0 1000 10000000 500 99";
        let status = "Name:\ta\nVmSize:\t   20480 kB\nVmRSS:\t   10240 kB\nThreads:\t5\n";
        let limits = "Limit                     Soft Limit           Hard Limit           Units\n\
                      Max open files            1024                 524288               files\n";
        let usage = Usage::parse(stat, status, limits, "cpu 1 2\nbtime 1700000000\n");
        assert_eq!(usage.cpu_seconds, Some(3.0));
        assert_eq!(usage.start_seconds, Some(1_700_000_010.0));
        assert_eq!((usage.resident_bytes, usage.virtual_bytes), (Some(10_485_760), Some(20_971_520)));
        assert_eq!((usage.threads, usage.most_files), (Some(5), Some(1024)));
    }

    #[test]
    fn nothing_to_read_is_nothing_to_show() {
        assert_eq!(Usage::parse("", "", "", ""), Usage::default());
    }
}
