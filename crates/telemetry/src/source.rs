//! Numbers that are read when the metrics are asked for.

use std::fmt;
use std::sync::Arc;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;

/// A part of the server whose numbers can be read at any time.
pub trait MetricSource: fmt::Debug + Send + Sync + 'static {
    /// Reads them.
    fn read(&self) -> Vec<MetricReading>;
}

impl MetricSource for Arc<dyn MetricSource> {
    fn read(&self) -> Vec<MetricReading> {
        (**self).read()
    }
}

/// A metric, read at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct MetricReading {
    /// Its name, without the suffix `_total` of counters.
    pub name: &'static str,
    /// Its meaning, as a sentence without a full stop.
    pub help: &'static str,
    /// Its kind.
    pub kind: MetricKind,
    /// The name of the label that tells its values apart; empty if it has one value.
    pub label: &'static str,
    /// The values, each with its label.
    pub values: Vec<(String, f64)>,
}

/// The kind of a [`MetricReading`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricKind {
    /// It goes up and down.
    Gauge,
    /// It only goes up.
    Counter,
}

impl MetricReading {
    /// A gauge with one value.
    #[must_use]
    pub fn gauge(name: &'static str, help: &'static str, value: f64) -> Self {
        let values = vec![(String::new(), value)];
        Self { name, help, kind: MetricKind::Gauge, label: "", values }
    }

    /// A counter with one value.
    #[must_use]
    pub fn counter(name: &'static str, help: &'static str, value: f64) -> Self {
        Self { kind: MetricKind::Counter, ..Self::gauge(name, help, value) }
    }

    /// The metric with several values, each with its `label`.
    #[must_use]
    pub fn by<L: Into<String>>(
        self,
        label: &'static str,
        values: impl IntoIterator<Item = (L, f64)>,
    ) -> Self {
        let values = values.into_iter().map(|(text, value)| (text.into(), value)).collect();
        Self { label, values, ..self }
    }
}

/// A count as a number of metrics, exact up to 2^53.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "metrics are numbers of this kind")]
pub const fn number_of(count: u64) -> f64 {
    count as f64
}

/// A source, as the library asks it.
#[derive(Debug)]
pub(super) struct SourceCollector<S>(pub(super) S);

impl<S: MetricSource> Collector for SourceCollector<S> {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        for reading in self.0.read() {
            let kind = match reading.kind {
                MetricKind::Gauge => MetricType::Gauge,
                MetricKind::Counter => MetricType::Counter,
            };
            let mut metric = encoder.encode_descriptor(reading.name, reading.help, None, kind)?;
            for (text, value) in &reading.values {
                if reading.label.is_empty() {
                    write_value(&mut metric, reading.kind, *value)?;
                } else {
                    let labels = [(reading.label, text.as_str())];
                    write_value(&mut metric.encode_family(&labels)?, reading.kind, *value)?;
                }
            }
        }
        Ok(())
    }
}

fn write_value(metric: &mut MetricEncoder<'_>, kind: MetricKind, value: f64) -> fmt::Result {
    match kind {
        MetricKind::Gauge => metric.encode_gauge(&value),
        MetricKind::Counter => metric.encode_counter::<NoLabelSet, _, f64>(&value, None),
    }
}
