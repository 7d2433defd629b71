//! The metrics that are recorded while the server works.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use prometheus_client::encoding::text;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use crate::history::{History, Overview, PhaseSummary, SAMPLE_INTERVAL, ServerSample};
use crate::labels::{
    CallLabels, DirectionLabels, EventLabels, OwnerLabels, PhaseLabels, RequestLabels, RouteLabels,
    RunLabels, TenantLabels, ToolCallLabels,
};
use crate::process::ThisProcess;
use crate::quantiles::{self, RELATIVE_ERROR};
use crate::source::{MetricSource, SourceCollector};
use wardian_vocabulary::ids::TenantId;

/// The media type of [`Metrics::text`].
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Bounds of the buckets of durations, in seconds: an empty run takes a fraction of a millisecond,
/// a long one minutes.
const SECONDS: [f64; 18] = [
    0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5,
    5.0, 10.0, 60.0, 300.0,
];

type Durations<L> = Family<L, Histogram, fn() -> Histogram>;

/// The metrics of a server. `Debug` shows nothing of them.
pub struct Metrics {
    registry: Mutex<Registry>,
    /// The parts whose numbers are read, also for samples.
    sources: Mutex<Vec<Arc<dyn MetricSource>>>,
    history: Mutex<History>,
    /// Counts that samples take: those of all labels together.
    totals: Totals,
    /// The phases of runs, for quantiles.
    phase_times: [(&'static str, quantiles::Durations); 5],
    tenants: TenantLabels,
    runs: Family<RunLabels, Counter>,
    cpu: Family<OwnerLabels, Counter<f64, AtomicU64>>,
    phases: Durations<PhaseLabels>,
    calls: Family<CallLabels, Counter>,
    requests: Family<RequestLabels, Counter>,
    request_times: Durations<RouteLabels>,
    connections: Gauge,
    egress_requests: Counter,
    egress_refusals: Counter,
    egress_bytes: Family<DirectionLabels, Counter>,
    sessions: Family<EventLabels, Counter>,
    session_resumes: Histogram,
    tool_calls: Family<ToolCallLabels, Counter>,
}

/// Counts over all tenants and methods.
#[derive(Debug, Default)]
struct Totals {
    runs: AtomicU64,
    failed: AtomicU64,
    calls: AtomicU64,
}

/// How long the phases of a run took.
#[derive(Debug, Clone, Copy, Default)]
pub struct RunPhases {
    /// The wait for a worker.
    pub queued: Duration,
    /// The program, including the host calls that it waited for.
    pub ran: Duration,
    /// The whole run, from its admission to its result.
    pub total: Duration,
    /// The reset of the worker's memory after the run before, if it had one.
    pub reset: Option<Duration>,
    /// Processor time of the program in its worker.
    pub cpu: Duration,
}

/// What a run moved over the network.
#[derive(Debug, Clone, Copy, Default)]
pub struct RunTraffic {
    /// Requests to hosts.
    pub requests: u64,
    /// Requests and connections that were refused.
    pub refusals: u64,
    /// Bytes that were sent.
    pub sent: u64,
    /// Bytes that were received.
    pub received: u64,
}

/// A connection that is open as long as this value lives.
#[derive(Debug)]
pub struct OpenConnection(Arc<Metrics>);

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.0.connections.dec();
    }
}

/// A number of metrics as a count. What is below zero or no number is 0.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the conversion saturates"
)]
const fn whole(value: f64) -> u64 {
    value as u64
}

fn durations() -> Histogram {
    Histogram::new(SECONDS)
}

impl Metrics {
    /// Metrics of which nothing is counted yet.
    #[must_use]
    pub fn new() -> Arc<Self> {
        let metrics = Self {
            registry: Mutex::new(Registry::default()),
            sources: Mutex::default(),
            history: Mutex::default(),
            totals: Totals::default(),
            phase_times: ["queue", "set_up", "execute", "total", "reset"]
                .map(|phase| (phase, quantiles::Durations::default())),
            tenants: TenantLabels::default(),
            runs: Family::default(),
            cpu: Family::default(),
            phases: Family::new_with_constructor(durations),
            calls: Family::default(),
            requests: Family::default(),
            request_times: Family::new_with_constructor(durations),
            connections: Gauge::default(),
            egress_requests: Counter::default(),
            egress_refusals: Counter::default(),
            egress_bytes: Family::default(),
            sessions: Family::default(),
            session_resumes: durations(),
            tool_calls: Family::default(),
        };
        metrics.register();
        Arc::new(metrics)
    }

    fn register(&self) {
        let registry = &mut *self.registry.lock();
        registry.register("wardian_runs", "Runs of callers that have ended", self.runs.clone());
        registry.register(
            "wardian_run_cpu_seconds",
            "Processor time of runs in their workers",
            self.cpu.clone(),
        );
        registry.register(
            "wardian_run_phase_seconds",
            "Time of the phases of runs: queue, set_up, execute, and total; and reset, after a run",
            self.phases.clone(),
        );
        registry.register("wardian_rpc_calls", "Calls of methods", self.calls.clone());
        registry.register("wardian_http_requests", "HTTP requests", self.requests.clone());
        registry.register(
            "wardian_http_request_seconds",
            "Time from the head of a request to the head of its answer",
            self.request_times.clone(),
        );
        registry.register(
            "wardian_http_connections",
            "Open connections of clients",
            self.connections.clone(),
        );
        registry.register(
            "wardian_egress_requests",
            "HTTP requests of runs to other servers",
            self.egress_requests.clone(),
        );
        registry.register(
            "wardian_egress_refusals",
            "Requests, connections and look-ups of runs that were refused",
            self.egress_refusals.clone(),
        );
        registry.register(
            "wardian_egress_bytes",
            "Bytes that runs sent to other servers and received from them",
            self.egress_bytes.clone(),
        );
        registry.register("wardian_session_events", "Events of sessions", self.sessions.clone());
        registry.register(
            "wardian_session_resume_seconds",
            "Time to make the interpreter of a session from its states on the disk",
            self.session_resumes.clone(),
        );
        registry.register(
            "wardian_tool_calls",
            "Calls of tools of callers that ended",
            self.tool_calls.clone(),
        );
        registry.register_collector(Box::new(SourceCollector(ThisProcess)));
    }

    /// Adds a part whose numbers are read whenever the metrics are asked for.
    pub fn add(&self, source: impl MetricSource) {
        let source: Arc<dyn MetricSource> = Arc::new(source);
        self.sources.lock().push(Arc::clone(&source));
        self.registry.lock().register_collector(Box::new(SourceCollector(source)));
    }

    /// Keeps a sample of this moment. To be called every [`SAMPLE_INTERVAL`].
    pub fn take_sample(&self) {
        let sample = self.sample();
        self.history.lock().note(Instant::now(), sample);
    }

    /// The samples that are kept, one of now, and how long the phases of runs took.
    #[must_use]
    pub fn overview(&self) -> Overview {
        let sample = self.sample();
        let samples = self.history.lock().until(Instant::now(), sample);
        let phases = self.phase_times.iter();
        let phases = phases.map(|(phase, times)| PhaseSummary { phase, times: times.summary() });
        Overview {
            interval_ms: u64::try_from(SAMPLE_INTERVAL.as_millis()).unwrap_or(u64::MAX),
            samples,
            phases: phases.collect(),
            relative_error: RELATIVE_ERROR,
        }
    }

    fn sample(&self) -> ServerSample {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let mut sample = ServerSample {
            runs: count(&self.totals.runs),
            failed: count(&self.totals.failed),
            calls: count(&self.totals.calls),
            ..ServerSample::default()
        };
        let sources = self.sources.lock().clone();
        let mut parts = Vec::new();
        for source in &sources {
            parts.extend(source.read());
        }
        for reading in parts.into_iter().chain(ThisProcess.read()) {
            for (label, value) in &reading.values {
                let place = match (reading.name, label.as_str()) {
                    ("wardian_runs_queued", _) => &mut sample.queued,
                    ("wardian_runs_running", _) => &mut sample.running,
                    ("wardian_workers", "busy") => &mut sample.busy,
                    ("wardian_workers", "idle") => &mut sample.idle,
                    ("wardian_request_memory_bytes", _) => &mut sample.request_bytes,
                    ("process_resident_memory_bytes", _) => &mut sample.resident_bytes,
                    ("process_cpu_seconds", _) => {
                        sample.cpu_ms = whole(*value * 1_000.0);
                        continue;
                    }
                    _ => continue,
                };
                *place = whole(*value);
            }
        }
        sample
    }

    /// Counts a run of a caller. `outcome` is the word of records for its end.
    pub fn count_run(&self, tenant: &TenantId, outcome: &'static str, phases: RunPhases) {
        let tenant = self.tenants.of(tenant);
        let RunPhases { queued, ran, total, reset, cpu } = phases;
        let owner = OwnerLabels { tenant: Arc::clone(&tenant) };
        self.cpu.get_or_create(&owner).inc_by(cpu.as_secs_f64());
        self.runs.get_or_create(&RunLabels { tenant, outcome }).inc();
        self.totals.runs.fetch_add(1, Ordering::Relaxed);
        if outcome != "completed" {
            self.totals.failed.fetch_add(1, Ordering::Relaxed);
        }
        let set_up = total.saturating_sub(queued).saturating_sub(ran);
        let times = [("queue", queued), ("set_up", set_up), ("execute", ran), ("total", total)];
        for (phase, time) in times.into_iter().chain(reset.map(|reset| ("reset", reset))) {
            let times = self.phases.get_or_create(&PhaseLabels { phase });
            times.observe(time.as_secs_f64());
            if let Some((_, times)) = self.phase_times.iter().find(|(name, _)| *name == phase) {
                times.count(time);
            }
        }
    }

    /// Counts what a run moved over the network.
    pub fn count_traffic(&self, traffic: RunTraffic) {
        let RunTraffic { requests, refusals, sent, received } = traffic;
        self.egress_requests.inc_by(requests);
        self.egress_refusals.inc_by(refusals);
        for (direction, bytes) in [("sent", sent), ("received", received)] {
            self.egress_bytes.get_or_create(&DirectionLabels { direction }).inc_by(bytes);
        }
    }

    /// Counts an event of a session. `event` is from a fixed set.
    pub fn count_session(&self, event: &'static str) {
        self.sessions.get_or_create(&EventLabels { event }).inc();
    }

    /// Lets these events of sessions be shown also before the first one.
    pub fn show_session_events(&self, events: impl IntoIterator<Item = &'static str>) {
        for event in events {
            self.sessions.get_or_create(&EventLabels { event }).inc_by(0);
        }
    }

    /// Counts a call of a tool of its caller by a program. `result` is from a fixed set.
    pub fn count_tool_call(&self, result: &'static str) {
        self.tool_calls.get_or_create(&ToolCallLabels { result }).inc();
    }

    /// Lets these ends of calls of tools be shown also before the first one.
    pub fn show_tool_calls(&self, results: impl IntoIterator<Item = &'static str>) {
        for result in results {
            self.tool_calls.get_or_create(&ToolCallLabels { result }).inc_by(0);
        }
    }

    /// Counts an interpreter of a session that was made from its states, which took this time.
    pub fn count_session_resume(&self, time: Duration) {
        self.session_resumes.observe(time.as_secs_f64());
    }

    /// Counts a call of a method. `result` is `ok`, or the kind of its error.
    pub fn count_call(&self, method: &'static str, result: &'static str) {
        self.calls.get_or_create(&CallLabels { method, result }).inc();
        self.totals.calls.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a request. `time` is that to the head of its answer.
    pub fn count_request(&self, route: &'static str, status: u16, time: Duration) {
        self.requests.get_or_create(&RequestLabels { route, status }).inc();
        let times = self.request_times.get_or_create(&RouteLabels { route });
        times.observe(time.as_secs_f64());
    }

    /// Counts a connection until the returned value is dropped.
    #[must_use]
    pub fn open_connection(self: &Arc<Self>) -> OpenConnection {
        self.connections.inc();
        OpenConnection(Arc::clone(self))
    }

    /// All metrics in the text format of `OpenMetrics`.
    ///
    /// # Errors
    ///
    /// A metric cannot be written.
    pub fn text(&self) -> Result<String, fmt::Error> {
        let mut written = String::new();
        text::encode(&mut written, &self.registry.lock())?;
        Ok(written)
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::MetricReading;
    use crate::source::number_of;

    #[derive(Debug)]
    struct Fixed;

    impl MetricSource for Fixed {
        fn read(&self) -> Vec<MetricReading> {
            vec![
                MetricReading::gauge("x_now", "A number", 1.5),
                MetricReading::counter("x_events", "Events", 0.0).by("kind", [("a\"\n", 2.0)]),
            ]
        }
    }

    #[test]
    fn samples_count_what_the_server_did() {
        #[derive(Debug)]
        struct Workers(f64);
        impl MetricSource for Workers {
            fn read(&self) -> Vec<MetricReading> {
                vec![
                    MetricReading::gauge("wardian_workers", "Workers", 0.0)
                        .by("state", [("idle", 1.0), ("busy", self.0)]),
                    MetricReading::gauge("wardian_runs_queued", "Waiting", number_of(7)),
                ]
            }
        }
        let metrics = Metrics::new();
        metrics.add(Workers(3.0));
        metrics.take_sample();
        let tenant = TenantId::parse("acme").unwrap();
        let ran = Duration::from_micros(18);
        let phases = RunPhases { ran, total: ran, ..RunPhases::default() };
        metrics.count_run(&tenant, "completed", phases);
        metrics.count_run(&tenant, "timeout", phases);
        metrics.count_call("run_code", "ok");
        let overview = metrics.overview();
        let [first, last] = overview.samples[..] else { panic!("{overview:?}") };
        assert_eq!((first.sample.runs, first.sample.calls), (0, 0));
        let ServerSample { runs, failed, calls, queued, busy, idle, resident_bytes, .. } =
            last.sample;
        assert_eq!((runs, failed, calls, queued, busy, idle), (2, 1, 1, 7, 3, 1));
        assert!(resident_bytes > 0);
        let execute = overview.phases.iter().find(|phase| phase.phase == "execute").unwrap();
        // The bound of the first bucket of the metrics is 100 µs.
        assert!(execute.times.count == 2 && (17.0..19.0).contains(&execute.times.p99_us));
    }

    #[test]
    fn what_is_recorded_is_written() {
        let metrics = Metrics::new();
        metrics.add(Fixed);
        let acme = TenantId::parse("acme").unwrap();
        let time = Duration::from_millis;
        let phases = RunPhases {
            queued: time(2),
            ran: time(30),
            total: time(40),
            reset: Some(time(3)),
            cpu: time(25),
        };
        metrics.count_run(&acme, "completed", phases);
        metrics.count_run(&acme, "exception", RunPhases::default());
        metrics.count_call("run_code", "ok");
        metrics.count_request("/rpc", 200, time(1));
        metrics.count_traffic(RunTraffic { requests: 2, refusals: 1, sent: 10, received: 20 });
        metrics.show_session_events(["created", "expired"]);
        metrics.count_session("created");
        metrics.count_session("created");
        metrics.count_session_resume(Duration::from_micros(600));
        metrics.show_tool_calls(["answered", "failed"]);
        metrics.count_tool_call("answered");
        let open = metrics.open_connection();
        let text = metrics.text().unwrap();
        for line in [
            "wardian_runs_total{tenant=\"acme\",outcome=\"completed\"} 1",
            "wardian_runs_total{tenant=\"acme\",outcome=\"exception\"} 1",
            "wardian_run_cpu_seconds_total{tenant=\"acme\"} 0.025",
            "wardian_run_phase_seconds_sum{phase=\"set_up\"} 0.008",
            "wardian_run_phase_seconds_bucket{le=\"0.05\",phase=\"execute\"} 2",
            // The second run had a worker that was new.
            "wardian_run_phase_seconds_count{phase=\"reset\"} 1",
            "wardian_run_phase_seconds_sum{phase=\"reset\"} 0.003",
            "wardian_rpc_calls_total{method=\"run_code\",result=\"ok\"} 1",
            "wardian_http_requests_total{route=\"/rpc\",status=\"200\"} 1",
            "wardian_http_request_seconds_count{route=\"/rpc\"} 1",
            "wardian_egress_bytes_total{direction=\"received\"} 20",
            "wardian_session_events_total{event=\"created\"} 2",
            "wardian_session_events_total{event=\"expired\"} 0",
            "wardian_tool_calls_total{result=\"answered\"} 1",
            "wardian_tool_calls_total{result=\"failed\"} 0",
            "wardian_session_resume_seconds_bucket{le=\"0.001\"} 1",
            "wardian_http_connections 1",
            "x_now 1.5",
            "x_events_total{kind=\"a\\\"\\n\"} 2.0",
            "# EOF",
        ] {
            assert!(text.lines().any(|written| written == line), "{line}\n{text}");
        }
        drop(open);
        assert!(metrics.text().unwrap().contains("wardian_http_connections 0\n"));
    }
}
