//! What the metrics show of the workers, the images, the skills, the records, the sessions and the keys of
//! tokens.

use std::sync::Arc;

use wardian_dispatch::{Counters, Pool};
use wardian_images::{ImageCache, ImageRenewals};
use wardian_service::{Authentication, Discovery, SessionReport};
use wardian_skills::registry::Registry;
use wardian_stores::audit::AuditLog;
use wardian_stores::records::Recorder;
use wardian_stores::tenants::ProviderKeys;
use wardian_telemetry::{MetricReading, MetricSource, number_of};

/// What the metrics show of the records of runs and of the audit log.
#[derive(Debug)]
pub struct JournalState {
    /// Takes the records, if the server keeps them.
    pub recorder: Option<Recorder>,
    /// The audit log.
    pub audit: AuditLog,
}

impl MetricSource for JournalState {
    fn read(&self) -> Vec<MetricReading> {
        let lines = number_of(self.audit.lost());
        let lost = "wardian_audit_lines_lost";
        let mut readings =
            vec![MetricReading::counter(lost, "Lines of the audit log that were lost", lines)];
        if let Some(counts) = self.recorder.as_ref().map(Recorder::counts) {
            let ends = [("written", counts.written), ("lost", counts.lost), ("late", counts.late)];
            let ends = [&ends[..], &[("log_lost", counts.lost_logs)]].concat();
            let ends = ends.into_iter().map(|(end, count)| (end, number_of(count)));
            let help = "Records of runs by outcome";
            readings.push(MetricReading::counter("wardian_records", help, 0.0).by("result", ends));
            let (name, help) = ("wardian_records_waiting", "Records of runs waiting to be written");
            readings.push(MetricReading::gauge(name, help, number_of(counts.waiting)));
        }
        readings
    }
}

/// What the metrics show of the keys by which tokens are verified.
#[derive(Debug)]
pub struct TokenKeysState(Arc<ProviderKeys>);

impl TokenKeysState {
    /// The keys of a server that takes tokens.
    #[must_use]
    pub fn of(authentication: &Authentication) -> Option<Self> {
        match authentication {
            Authentication::Tokens { tokens, .. } => Some(Self(Arc::clone(tokens.keys()))),
            Authentication::Open | Authentication::Keys(_) => None,
        }
    }
}

impl MetricSource for TokenKeysState {
    fn read(&self) -> Vec<MetricReading> {
        let report = self.0.report();
        let results = [
            ("changed", report.changed),
            ("unchanged", report.unchanged),
            ("failed", report.failed),
        ];
        let results = results.map(|(result, count)| (result, number_of(count)));
        let help = "Attempts to read the keys for tokens, by result";
        let age = report.age.map_or(0.0, |age| age.as_secs_f64());
        vec![
            MetricReading::gauge(
                "wardian_token_keys",
                "Keys that verify tokens",
                number(report.keys),
            ),
            MetricReading::counter("wardian_token_key_readings", help, 0.0).by("result", results),
            MetricReading::gauge(
                "wardian_token_keys_age_seconds",
                "Time since the keys for tokens were last read; 0 if never",
                age,
            ),
        ]
    }
}

/// What the metrics show of sessions.
#[derive(Debug)]
pub struct SessionsState(pub Arc<Discovery>);

impl MetricSource for SessionsState {
    fn read(&self) -> Vec<MetricReading> {
        let SessionReport { open, waiting, parked, guests, images, image_bytes } =
            self.0.sessions().report();
        let bytes = number_of(parked.as_u64());
        vec![
            MetricReading::gauge("wardian_sessions", "Sessions that are open", number_of(open)),
            MetricReading::gauge(
                "wardian_sessions_waiting",
                "Sessions of which a cell waits for its caller",
                number_of(waiting),
            ),
            MetricReading::gauge(
                "wardian_session_guests",
                "Interpreters of sessions that workers keep",
                number_of(guests),
            ),
            MetricReading::gauge(
                "wardian_session_parked_bytes",
                "Bytes of sessions on the disk",
                bytes,
            ),
            MetricReading::gauge(
                "wardian_session_images",
                "Memory images that open sessions began as",
                number_of(images),
            ),
            MetricReading::gauge(
                "wardian_session_image_bytes",
                "Bytes of these images on the disk",
                number_of(image_bytes.as_u64()),
            ),
        ]
    }
}

/// The parts whose state is shown.
#[derive(Debug)]
pub(super) struct RuntimeState {
    pub(super) pool: Arc<Pool>,
    pub(super) images: Arc<ImageCache>,
    /// Those of tenants with their own images.
    pub(super) tenant_images: Vec<Arc<ImageCache>>,
    pub(super) registry: Arc<Registry>,
}

impl MetricSource for RuntimeState {
    fn read(&self) -> Vec<MetricReading> {
        let report = self.pool.report();
        let resting = report.workers.iter().filter(|worker| worker.is_resting).count();
        let busy = report.workers.len().saturating_sub(resting);
        let caches = || self.tenant_images.iter().chain([&self.images]);
        let images: Vec<_> = caches().flat_map(|cache| cache.report()).collect();
        let resident = images.iter().map(|image| number_of(image.resident.as_u64())).sum();
        vec![
            MetricReading::gauge("wardian_workers", "Worker processes that are ready", 0.0)
                .by("state", [("idle", number(resting)), ("busy", number(busy))]),
            MetricReading::gauge(
                "wardian_worker_slots",
                "Target number of worker processes",
                number(self.pool.size()),
            ),
            MetricReading::gauge(
                "wardian_runs_running",
                "Runs in progress",
                number(report.running),
            ),
            MetricReading::gauge(
                "wardian_runs_queued",
                "Runs waiting for a worker",
                number(report.queued),
            ),
            events(&report.counters),
            MetricReading::gauge(
                "wardian_images",
                "Images that runs can start from",
                number(images.len()),
            ),
            MetricReading::gauge("wardian_image_bytes", "Memory of these images", resident),
            renewals(caches().map(|cache| cache.renewals())),
            MetricReading::gauge(
                "wardian_skills",
                "Skills visible to all tenants",
                number(self.registry.current().len()),
            ),
            MetricReading::gauge(
                "wardian_tenant_skills",
                "Skills in the folders of tenants, for all tenants",
                number(self.registry.of_tenants().values().map(|index| index.len()).sum()),
            ),
        ]
    }
}

fn renewals(counts: impl Iterator<Item = ImageRenewals>) -> MetricReading {
    let (renewed, failed) = counts.fold((0_u64, 0_u64), |(renewed, failed), one| {
        (renewed.saturating_add(one.renewed), failed.saturating_add(one.failed))
    });
    let results = [("renewed", renewed), ("failed", failed)];
    let results = results.map(|(result, count)| (result, number_of(count)));
    let help = "Images that were due to be rebuilt with a new hash secret";
    MetricReading::counter("wardian_image_renewals", help, 0.0).by("result", results)
}

fn events(counters: &Counters) -> MetricReading {
    let Counters {
        started,
        ended,
        failed_starts,
        finished,
        overdue,
        crashed,
        broke_interpreter,
        out_of_memory,
        violations,
        repeated,
        given_up,
        guests_given_up,
        awaited,
        overloaded,
        limited,
    } = *counters;
    let events = [
        ("started", started),
        ("ended", ended),
        ("failed_start", failed_starts),
        ("run_finished", finished),
        ("run_overdue", overdue),
        ("run_crashed", crashed),
        ("run_broke_interpreter", broke_interpreter),
        ("run_out_of_memory", out_of_memory),
        ("violation", violations),
        ("run_repeated", repeated),
        ("given_up", given_up),
        ("guest_given_up", guests_given_up),
        ("run_awaited_worker", awaited),
        ("run_overloaded", overloaded),
        ("run_limited", limited),
    ];
    let events = events.map(|(event, count)| (event, number_of(count)));
    MetricReading::counter("wardian_worker_events", "Events of the workers and their queue", 0.0)
        .by("event", events)
}

fn number(count: usize) -> f64 {
    number_of(u64::try_from(count).unwrap_or(u64::MAX))
}
