//! The log line about the end of a run, its metrics, and the end of its record.
//!
//! INVARIANT(one-line-per-run): every run that has an id has exactly one such line, whatever its
//! end, and is counted once. The line is written when the [`RunLog`] is dropped. So an early return
//! writes it too, and so does a future that is dropped because the client disconnected or the server
//! stops.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tracing::{debug, info};

use crate::error::ServiceError;
use crate::run::access::network::GuestNetwork;
use crate::run::execute::run_trace::{RunTrace, WorkerPhases};
use crate::run::prepare::purpose::RunPurpose;
use crate::run::record::run_record::DraftRecord;
use crate::runs::active::ActivePlace;
use wardian_dispatch::FinishedRun;
use wardian_formats::job::host::RequestKind;
use wardian_formats::protocol::methods::execution::RunResult;
use wardian_stores::audit::AuditLog;
use wardian_stores::records::RunOutcomeKind;
use wardian_telemetry::{Metrics, RunPhases};
use wardian_vocabulary::ids::{RunId, TenantId};

/// Longest reason of a refusal in a log line, in characters. It may quote a caller's parameters.
const MAX_REASON: usize = 200;

/// Writes the line of one run when it is dropped.
#[derive(Debug)]
pub(crate) struct RunLog {
    run_id: RunId,
    tenant: TenantId,
    purpose: RunPurpose,
    opened: Instant,
    end: End,
    /// The durations of the run's phases, once they are known.
    phases: Option<Phases>,
    /// The number of the worker that had the run.
    worker: Option<u64>,
    /// The network of the run.
    network: Option<Arc<GuestNetwork>>,
    /// The record of the run, if the server keeps records.
    record: Option<DraftRecord>,
    /// Gets the hosts that were refused.
    audit: Option<AuditLog>,
    /// The metrics that the run is counted in.
    metrics: Option<Arc<Metrics>>,
    /// The span of the run, if a caller asked for it.
    trace: Option<RunTrace>,
    /// The place of the run among those that callers find, unless its record has it.
    place: Option<ActivePlace>,
}

/// How long the phases of a run took.
#[derive(Debug, Clone, Copy, Default)]
struct Phases {
    /// The program, including the host calls that it waited for.
    ran: Duration,
    /// The wait for a worker.
    queued: Duration,
    /// The gateway's answers to requests for storing a blob: a part of `ran`.
    stored: Duration,
    /// The gateway's answers to requests for the network, most of it waits: a part of `ran`.
    waited: Option<Duration>,
    /// Processor time.
    cpu: Option<Duration>,
    /// The reset of the worker's memory after the run that it had before.
    reset: Option<Duration>,
}

/// The end of a run, as far as it is known.
#[derive(Debug)]
enum End {
    /// It has not ended. If the line is written now, the call was cancelled.
    Open,
    Completed,
    Failed(String),
    /// It never began.
    Refused(String),
}

impl RunLog {
    pub(crate) fn open(run_id: &RunId, tenant: &TenantId, purpose: RunPurpose) -> Self {
        let (run_id, tenant, opened) = (run_id.clone(), tenant.clone(), Instant::now());
        Self {
            run_id,
            tenant,
            purpose,
            opened,
            end: End::Open,
            phases: None,
            worker: None,
            network: None,
            record: None,
            audit: None,
            metrics: None,
            trace: None,
            place: None,
        }
    }

    /// Lets callers find the run until its line is written, and its record if it has one.
    pub(crate) fn holding(mut self, place: Option<ActivePlace>) -> Self {
        self.place = place;
        self
    }

    /// Ends this span, with those of its phases, at the end of the run.
    pub(crate) fn traced(&mut self, trace: RunTrace) {
        self.trace = Some(trace);
    }

    /// The run begins to wait for a worker.
    pub(crate) fn note_prepared(&mut self) {
        self.trace.iter_mut().for_each(RunTrace::note_prepared);
    }

    /// Hands this record over at the end of the run, whatever the end is.
    pub(crate) fn keep(&mut self, record: DraftRecord) {
        self.record = Some(record.until_written(self.place.take()));
    }

    /// Notes refused hosts there at the end of the run.
    pub(crate) fn report_to(&mut self, audit: Option<&AuditLog>) {
        self.audit = audit.cloned();
    }

    /// The record of the run, if the server keeps records.
    pub(crate) const fn record(&mut self) -> Option<&mut DraftRecord> {
        self.record.as_mut()
    }

    /// Counts the run in these metrics too, if a caller asked for it.
    pub(crate) fn counted_in(mut self, metrics: &Arc<Metrics>) -> Self {
        if self.purpose == RunPurpose::Call {
            self.metrics = Some(Arc::clone(metrics));
        }
        self
    }

    /// Names the hosts of this network in the line, whatever the end of the run.
    pub(crate) fn watch(&mut self, network: &Arc<GuestNetwork>) {
        self.network = Some(Arc::clone(network));
    }

    /// Records the worker's outcome. The result may still differ.
    pub(crate) fn note(&mut self, finished: &FinishedRun) {
        self.worker = Some(finished.worker.number());
        let (ran, queued) = (finished.outcome.usage.wall_time, finished.queued);
        let stored = finished.host_time.of(RequestKind::WriteBlob);
        let waited = finished.host_time.of(RequestKind::Network);
        self.phases = Some(Phases {
            ran,
            queued,
            stored,
            waited: Some(waited).filter(|time| !time.is_zero()),
            cpu: finished.outcome.usage.cpu_time,
            reset: finished.outcome.usage.last_reset,
        });
        if let Some(trace) = &mut self.trace {
            let answered = Instant::now();
            trace.note_worked(WorkerPhases { queued, ran, stored, waited, answered });
        }
        self.end = match &finished.outcome.end {
            Ok(()) => End::Completed,
            Err(failure) => End::Failed(failure.error_type().to_owned()),
        };
        if let Some(record) = &mut self.record {
            record.note_finished(finished);
        }
    }

    /// Writes the line of a run whose result is returned to its caller.
    pub(crate) fn close(mut self, result: Result<&RunResult, &ServiceError>) {
        self.end = match result {
            Ok(RunResult { error: None, .. }) => End::Completed,
            Ok(RunResult { error: Some(error), .. }) => End::Failed(error.error_type.clone()),
            Err(error) => End::Refused(error.to_string().chars().take(MAX_REASON).collect()),
        };
        if let Some(record) = &mut self.record {
            record.note_result(result);
        }
    }

    fn count(&self, metrics: &Metrics) {
        let total = self.opened.elapsed();
        let phases = self.phases.unwrap_or_default();
        let cpu = phases.cpu.unwrap_or_default();
        let Phases { queued, ran, reset, .. } = phases;
        let phases = RunPhases { queued, ran, total, reset, cpu };
        metrics.count_run(&self.tenant, self.end.label(), phases);
        if let Some(network) = &self.network {
            metrics.count_traffic(network.traffic());
        }
    }
}

impl End {
    /// The end as a label of metrics: the word that records have for it.
    fn label(&self) -> &'static str {
        let outcome = match self {
            Self::Open => RunOutcomeKind::Cancelled,
            Self::Completed => RunOutcomeKind::Completed,
            Self::Failed(error_type) => RunOutcomeKind::of_error_type(error_type),
            Self::Refused(_) => RunOutcomeKind::Refused,
        };
        outcome.name()
    }
}

impl Drop for RunLog {
    fn drop(&mut self) {
        if let Some(metrics) = &self.metrics {
            self.count(metrics);
        }
        if let (Some(audit), Some(network)) = (&self.audit, &self.network) {
            network.report_refusals(audit, &self.tenant, &self.run_id);
        }
        if let Some(record) = self.record.take() {
            record.end(self.network.as_ref());
        }
        if let Some(trace) = self.trace.take() {
            trace.end(self.end.label(), self.phases.and_then(|phases| phases.cpu));
        }
        let unknown = || Phases { ran: self.opened.elapsed(), ..Phases::default() };
        let Phases { ran, queued, stored, waited, cpu, .. } = self.phases.unwrap_or_else(unknown);
        let cpu = cpu.map(whole_milliseconds);
        let [ran, queued, stored] = [ran, queued, stored].map(whole_milliseconds);
        let waited = waited.map(whole_milliseconds);
        let (run_id, tenant) = (&self.run_id, &self.tenant);
        let end = match &self.end {
            End::Open => "Cancelled".to_owned(),
            End::Completed => "completed".to_owned(),
            End::Failed(error_type) => error_type.escape_debug().to_string(),
            End::Refused(reason) => format!("refused: {}", reason.escape_debug()),
        };
        let hosts = self.network.as_ref().and_then(|network| network.hosts());
        let hosts = hosts.as_deref();
        match self.purpose {
            RunPurpose::Call => {
                info!(run.id = %run_id, tenant.id = %tenant, worker.id = self.worker, duration_ms = ran, queued_ms = queued,
                    cpu_ms = cpu, write_blob_ms = stored, network_ms = waited, network.hosts = hosts,
                    "run `{run_id}` ended: {end}");
            }
            RunPurpose::SelfTest => {
                debug!(run.id = %run_id, tenant.id = %tenant, duration_ms = ran, queued_ms = queued,
                    write_blob_ms = stored,
                    "run `{run_id}` of the self-test ended: {end}");
            }
            RunPurpose::Compilation => {
                debug!(run.id = %run_id, tenant.id = %tenant, duration_ms = ran, queued_ms = queued,
                    write_blob_ms = stored,
                    "run `{run_id}` that compiles a skill ended: {end}");
            }
        }
    }
}

/// Rounds up, so that a short time is never logged as zero.
pub(crate) fn whole_milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros().div_ceil(1_000)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::io;

    use parking_lot::Mutex;
    use tracing_subscriber::fmt::MakeWriter;

    use super::*;
    use wardian_dispatch::DispatchError;
    use wardian_dispatch::WorkerId;
    use wardian_formats::job::host::HostTime;
    use wardian_formats::job::outcome::{
        Conversions, LeftFiles, Logs, RunFailure, RunOutcome, RunUsage,
    };

    /// Keeps what is logged on one thread.
    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl<'a> MakeWriter<'a> for Lines {
        type Writer = Self;

        fn make_writer(&'a self) -> Self {
            self.clone()
        }
    }

    /// Returns the lines that `happens` makes a run write.
    fn lines_of(purpose: RunPurpose, happens: impl FnOnce(RunLog)) -> String {
        let lines = Lines::default();
        let metrics = Metrics::new();
        let writer = tracing_subscriber::fmt().with_writer(lines.clone()).with_ansi(false);
        tracing::subscriber::with_default(writer.finish(), || {
            let log = RunLog::open(&RunId::generate(), &TenantId::local(), purpose);
            happens(log.counted_in(&metrics));
        });
        let text = metrics.text().unwrap();
        let runs = text.lines().filter(|line| line.starts_with("wardian_runs_total")).count();
        assert_eq!(runs, usize::from(purpose == RunPurpose::Call), "{text}");
        String::from_utf8(lines.0.lock().clone()).unwrap()
    }

    /// Returns the one line that `happens` makes a call's run write.
    fn line_of(happens: impl FnOnce(RunLog)) -> String {
        let text = lines_of(RunPurpose::Call, happens);
        assert_eq!(text.lines().count(), 1, "{text}");
        text
    }

    #[test]
    fn runs_of_the_server_itself_are_not_logged_like_calls() {
        for purpose in [RunPurpose::SelfTest, RunPurpose::Compilation] {
            assert_eq!(lines_of(purpose, drop), "");
        }
    }

    fn finished(end: Result<(), RunFailure>) -> FinishedRun {
        let usage = RunUsage { wall_time: Duration::from_micros(1_500), ..RunUsage::default() };
        let outcome = RunOutcome {
            end,
            logs: Logs::default(),
            files: LeftFiles::default(),
            blob_names: Vec::new(),
            usage,
            conversions: Conversions::default(),
            profile: None,
            cell: None,
        };
        let mut host_time = HostTime::default();
        host_time.add(RequestKind::WriteBlob, Duration::from_micros(2_500));
        let (worker, queued) = (WorkerId::default(), Duration::from_millis(7));
        FinishedRun {
            outcome,
            output: None,
            worker,
            queued,
            host_time,
            is_worker_lost: false,
            is_guest_kept: false,
            is_interrupt_left: false,
            pack: None,
        }
    }

    #[test]
    fn one_line_per_run_whatever_its_end() {
        let dropped = line_of(drop);
        assert!(dropped.contains("ended: Cancelled"), "{dropped}");
        let completed = line_of(|mut log| log.note(&finished(Ok(()))));
        assert!(completed.contains("ended: completed"), "{completed}");
        assert!(completed.contains("duration_ms=2 queued_ms=7 write_blob_ms=3"), "{completed}");
        let failed = line_of(|mut log| log.note(&finished(Err(RunFailure::StackOverflow))));
        assert!(failed.contains("ended: StackOverflow"), "{failed}");
        let busy = DispatchError::Overloaded { retry_after: Duration::from_secs(1) };
        let refused = line_of(|log| log.close(Err(&busy.into())));
        assert!(refused.contains("ended: refused: every worker is busy"), "{refused}");
        let hostile = ServiceError::NoSuchBlob { id: "\n\u{1b}[2J".repeat(100) };
        let hostile = line_of(|log| log.close(Err(&hostile)));
        assert!(!hostile.contains('\u{1b}') && hostile.len() < 1_000, "{hostile}");
        let panicked = line_of(|log| {
            let unwinds = std::panic::AssertUnwindSafe(move || {
                let _log = log;
                std::panic::resume_unwind(Box::new(()));
            });
            std::panic::catch_unwind(unwinds).unwrap_err();
        });
        assert!(panicked.contains("ended: "), "{panicked}");
    }
}
