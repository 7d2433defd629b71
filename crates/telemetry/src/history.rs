//! What the server did in the last day: one sample a minute, in a ring of fixed size.
//!
//! INVARIANT(history-is-bounded): the ring holds [`KEPT`] samples at most, and one takes 96 bytes.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::quantiles::DurationSummary;

/// The time between two samples.
pub const SAMPLE_INTERVAL: Duration = Duration::from_mins(1);

/// Samples that are kept: those of 24 hours.
pub const KEPT: usize = 24 * 60;

/// Numbers of a server at one moment. Counters are those since its start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct ServerSample {
    /// Runs of callers that ended.
    pub runs: u64,
    /// Those of them that did not complete.
    pub failed: u64,
    /// Calls of methods.
    pub calls: u64,
    /// Runs that wait.
    pub queued: u64,
    /// Runs in progress.
    pub running: u64,
    /// Workers with a run.
    pub busy: u64,
    /// Workers without one.
    pub idle: u64,
    /// Memory of the gateway.
    pub(crate) resident_bytes: u64,
    /// Memory that requests hold.
    pub(crate) request_bytes: u64,
    /// Processor time of the gateway, in milliseconds.
    pub cpu_ms: u64,
}

/// A sample, and how long ago it was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct AgedSample {
    /// In milliseconds.
    pub age_ms: u64,
    /// The numbers.
    #[serde(flatten)]
    pub sample: ServerSample,
}

/// What an operator sees of a server at a glance.
#[derive(Debug, Clone, Serialize)]
pub struct Overview {
    /// The time between two samples, in milliseconds.
    pub(crate) interval_ms: u64,
    /// Samples, the oldest first; the last one is of this moment.
    pub samples: Vec<AgedSample>,
    /// The phases of runs since the start.
    pub phases: Vec<PhaseSummary>,
    /// The relative error of their quantiles.
    pub(crate) relative_error: f64,
}

/// How long one phase of runs took.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PhaseSummary {
    /// Its name, as in the metrics.
    pub phase: &'static str,
    /// The times.
    #[serde(flatten)]
    pub times: DurationSummary,
}

/// The samples of the last day.
#[derive(Debug, Default)]
pub(super) struct History {
    samples: VecDeque<(Instant, ServerSample)>,
}

impl History {
    /// Adds a sample. The oldest goes if there are too many.
    pub(super) fn note(&mut self, at: Instant, sample: ServerSample) {
        while self.samples.len() >= KEPT {
            self.samples.pop_front();
        }
        self.samples.push_back((at, sample));
    }

    /// All samples, and then this one of now.
    pub(super) fn until(&self, now: Instant, latest: ServerSample) -> Vec<AgedSample> {
        let aged = |(at, sample): &(Instant, ServerSample)| {
            let age = now.saturating_duration_since(*at).as_millis();
            AgedSample { age_ms: u64::try_from(age).unwrap_or(u64::MAX), sample: *sample }
        };
        self.samples.iter().chain([&(now, latest)]).map(aged).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn history_is_bounded() {
        let (mut history, began) = (History::default(), Instant::now());
        let minutes = u64::try_from(KEPT).unwrap() + 10;
        let sample = |runs| ServerSample { runs, ..ServerSample::default() };
        let mut now = began;
        for minute in 0..minutes {
            history.note(now, sample(minute));
            now += SAMPLE_INTERVAL;
        }
        let kept = history.until(now, sample(minutes));
        assert_eq!(kept.len(), KEPT + 1);
        assert_eq!((kept[0].sample.runs, kept[0].age_ms), (10, 24 * 60 * 60 * 1_000));
        assert_eq!(kept.last().map(|last| (last.sample.runs, last.age_ms)), Some((minutes, 0)));
        assert!(size_of::<(Instant, ServerSample)>() <= 96);
    }
}
