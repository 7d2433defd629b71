//! What a server counts and measures, for Prometheus, and its traces, for OpenTelemetry.
//!
//! The parts of a server record events in [`Metrics`]. What can be read at any time, such as the
//! number of workers, is read when the metrics are asked for: a part implements [`MetricSource`] for
//! that. `docs/operators.md` lists all metrics. Spans are recorded below a
//! [`TraceScope`](traces::TraceScope).
//!
//! INVARIANT(bounded-label-sets): no client decides how many series there are. Labels have values
//! from fixed sets, and tenants beyond the first thousand share one.

mod history;
mod labels;
mod metrics;
mod process;
mod quantiles;
mod source;
pub mod traces;

pub use crate::history::{KEPT, Overview, SAMPLE_INTERVAL};
pub use crate::metrics::{CONTENT_TYPE, Metrics, OpenConnection, RunPhases, RunTraffic};
pub use crate::source::{MetricReading, MetricSource, number_of};
