//! The span of a run, and those of its phases.

use std::time::{Duration, Instant};

use tracing::{Span, error_span};

use crate::caller::Caller;
use crate::runs::active::ActiveRun;
use wardian_telemetry::traces::{AttributeValue, OpenSpan, SpanName};

/// The span of one run, which ends when it is dropped.
#[derive(Debug)]
pub(crate) struct RunTrace {
    span: OpenSpan,
    began: Instant,
    /// The time at which the run began to wait for a worker.
    prepared: Option<Instant>,
    /// What is known of its time on a worker.
    worked: Option<WorkerPhases>,
}

/// The time of a run from its place in the queue to its outcome.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WorkerPhases {
    /// The wait for a worker.
    pub queued: Duration,
    /// The program.
    pub ran: Duration,
    /// The part of it in which the server stored blobs.
    pub stored: Duration,
    /// The part of it in which the server waited for the network.
    pub waited: Duration,
    /// The time at which the worker's outcome was there.
    pub answered: Instant,
}

impl RunTrace {
    /// Begins the span of a run of `caller`.
    pub(crate) fn begin(caller: &Caller, run: &ActiveRun) -> Self {
        let mut span = caller.trace.begin(SpanName::of("run"));
        if span.is_recorded() {
            span.set("wardian.run.id", AttributeValue::text(run.id.as_str()));
            span.set("wardian.run.kind", run.kind.name());
            span.set("wardian.run.detached", AttributeValue::Flag(run.is_detached));
            span.set("wardian.tenant.id", AttributeValue::text(caller.tenant.as_str()));
            if let Some((name, version)) = &run.skill {
                span.set("wardian.skill.name", AttributeValue::text(name.as_str()));
                span.set("wardian.skill.version", AttributeValue::text(&version.to_string()));
            }
        }
        Self { span, began: Instant::now(), prepared: None, worked: None }
    }

    /// Names the run and its span in the log lines of whatever it is entered for.
    pub(crate) fn lines(&self, run: &ActiveRun) -> Span {
        let scope = self.span.scope();
        match (scope.trace_id(), scope.span_id()) {
            (Some(trace), Some(span)) => {
                error_span!("run", run.id = %run.id, trace_id = %trace, span_id = %span)
            }
            _ => Span::none(),
        }
    }

    /// The run begins to wait for a worker.
    pub(crate) fn note_prepared(&mut self) {
        self.prepared = Some(Instant::now());
    }

    /// The outcome of the worker is there.
    pub(crate) fn note_worked(&mut self, phases: WorkerPhases) {
        self.worked = Some(phases);
    }

    /// Ends the span with the word that records have for the end, and records the phases as far as
    /// they are known.
    pub(crate) fn end(mut self, outcome: &'static str, cpu: Option<Duration>) {
        if !self.span.is_recorded() {
            return;
        }
        let now = Instant::now();
        let scope = self.span.scope().clone();
        let phase = |name, from, to| scope.record(SpanName::of(name), (from, to), &[]);
        phase("prepare", self.began, self.prepared.unwrap_or(now));
        if let (Some(prepared), Some(worked)) = (self.prepared, self.worked) {
            let WorkerPhases { queued, ran, stored, waited, answered } = worked;
            // The time of the program is the worker's own word: it fits between the others, or is
            // cut.
            let granted = (prepared + queued).min(answered);
            let started = answered.checked_sub(ran).unwrap_or(granted).max(granted);
            phase("queue", prepared, granted);
            phase("set_up", granted, started);
            let waits = [("wardian.write_blob_us", stored), ("wardian.network_us", waited)];
            let waits = waits.map(|(key, time)| (key, microseconds(time)));
            scope.record(SpanName::of("execute"), (started, answered), &waits);
            phase("finish", answered, now);
        }
        if let Some(cpu) = cpu {
            self.span.set("wardian.cpu_us", microseconds(cpu));
        }
        self.span.set("wardian.run.outcome", outcome);
        match outcome {
            "completed" => self.span.succeed(),
            _ => self.span.fail(outcome),
        }
    }
}

fn microseconds(time: Duration) -> AttributeValue {
    AttributeValue::number(u64::try_from(time.as_micros()).unwrap_or(u64::MAX))
}
