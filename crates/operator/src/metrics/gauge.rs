//! Gauges that are computed at the moment somebody asks for them.

use std::collections::BTreeMap;
use std::fmt;

use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::gauge::ConstGauge;

/// A gauge with all its rows.
///
/// Rows with equal labels would make a reader refuse the whole answer, so there is one per set: the last one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Gauge {
    name: &'static str,
    help: &'static str,
    rows: BTreeMap<Labels, i64>,
}

type Labels = Vec<(&'static str, String)>;

// === impl Gauge ===

impl Gauge {
    /// A gauge without rows, which is not shown.
    pub(super) fn new(name: &'static str, help: &'static str) -> Self {
        Self { name, help, rows: BTreeMap::new() }
    }

    /// Sets the value of a row.
    pub(super) fn set<const N: usize>(&mut self, labels: [(&'static str, &str); N], value: i64) {
        let labels = labels.into_iter().map(|(name, value)| (name, value.to_owned())).collect();
        self.rows.insert(labels, value);
    }

    /// Writes the gauge with its rows.
    pub(super) fn encode(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        if self.rows.is_empty() {
            return Ok(());
        }
        let mut encoder = encoder.encode_descriptor(self.name, self.help, None, MetricType::Gauge)?;
        for (labels, value) in &self.rows {
            if labels.is_empty() {
                encoder.encode_gauge(value)?;
            } else {
                ConstGauge::new(*value).encode(encoder.encode_family(labels)?)?;
            }
        }
        Ok(())
    }
}
