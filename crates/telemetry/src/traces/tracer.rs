//! Begins spans, decides which traces are recorded, and hands spans that are over to the exporter.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::source::{MetricReading, MetricSource};
use crate::traces::collector::{Collector, TraceError};
use crate::traces::config::{ParentTrust, TracesConfig};
use crate::traces::context::{RemoteParent, SpanId, TraceId};
use crate::traces::exporter::Exporter;
use crate::traces::span::{AttributeValue, Attributes, FinishedSpan, SpanKind, SpanName};
use wardian_vocabulary::clock::Clock;
use wardian_vocabulary::crypto::fill_random;
use wardian_vocabulary::ids::TenantId;

/// Begins the traces of a server. The default records nothing. Clones share one exporter.
#[derive(Debug, Clone, Default)]
pub struct Tracer(Option<Arc<Tracing>>);

/// A tracer that records.
#[derive(Debug)]
struct Tracing {
    exporter: Exporter,
    ratio: f64,
    parents: ParentTrust,
}

/// A place in a trace, below which spans are recorded. The default is in no trace.
#[derive(Clone, Default)]
pub struct TraceScope(Option<Place>);

#[derive(Clone)]
struct Place {
    tracing: Arc<Tracing>,
    trace: TraceId,
    span: SpanId,
    is_sampled: bool,
    tenant: Arc<TenantId>,
}

/// A span that lasts until it is dropped.
#[derive(Debug)]
pub struct OpenSpan {
    scope: TraceScope,
    /// The span itself, if its trace is recorded.
    recorded: Option<Box<Recorded>>,
}

#[derive(Debug)]
struct Recorded {
    tracing: Arc<Tracing>,
    began: Instant,
    span: FinishedSpan,
}

impl Tracer {
    /// Reads the files that the settings name, to find what is wrong with them.
    ///
    /// # Errors
    ///
    /// A file cannot be read or used.
    pub fn check(config: &TracesConfig) -> Result<(), TraceError> {
        Collector::open(config).map(drop)
    }

    /// Starts the thread that sends spans. Nothing is asked of the collector yet.
    ///
    /// # Errors
    ///
    /// A file that the settings name cannot be used, or the system refuses a thread.
    pub fn start(config: &TracesConfig) -> Result<Self, TraceError> {
        let collector = Collector::open(config)?;
        let exporter = Exporter::start(collector, &config.service_name)?;
        let (ratio, parents) = (config.ratio, config.parents);
        Ok(Self(Some(Arc::new(Tracing { exporter, ratio, parents }))))
    }

    /// True if spans are recorded.
    #[must_use]
    pub const fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Begins the first span of a request of this tenant, whose client may have named a parent.
    #[must_use]
    pub fn begin(
        &self,
        name: SpanName,
        parent: Option<RemoteParent>,
        tenant: &TenantId,
    ) -> OpenSpan {
        let Some(tracing) = &self.0 else { return OpenSpan::none() };
        // Without randomness there is no id, and the request continues without a trace.
        let Some((own, id)) = new_ids() else { return OpenSpan::none() };
        let joined = parent.as_ref().filter(|_| tracing.parents != ParentTrust::Link);
        let is_sampled = match joined {
            Some(parent) if tracing.parents == ParentTrust::Follow => parent.is_sampled,
            _ => tracing.draws(),
        };
        let trace = joined.map_or(own, |parent| parent.trace);
        let (tracing, tenant) = (Arc::clone(tracing), Arc::new(tenant.clone()));
        let scope = Place { tracing: Arc::clone(&tracing), trace, span: id, is_sampled, tenant };
        let mut open = OpenSpan::below(scope, name, SpanKind::Server, None);
        if let (Some(recorded), Some(parent)) = (&mut open.recorded, parent) {
            let span = &mut recorded.span;
            if tracing.parents == ParentTrust::Link {
                span.link = Some((parent.trace, parent.span));
            } else {
                span.parent = Some(parent.span);
                span.is_parent_remote = true;
                // It belongs to the client's trace. On one of the server's own it would steer
                // whoever samples by it.
                span.state = parent.state;
            }
        }
        open
    }

    /// Sends what waits, for as long as `patience`. What is not sent by then is counted as lost.
    pub fn close(&self, patience: Duration) {
        if let Some(tracing) = &self.0 {
            tracing.exporter.close(patience);
        }
    }
}

impl Tracing {
    /// Decides whether a trace is recorded. Nothing that a client sends has a part in it.
    fn draws(&self) -> bool {
        let mut bytes = [0; 4];
        if self.ratio >= 1.0 {
            return true;
        }
        let drawn = fill_random(&mut bytes).map(|()| u32::from_le_bytes(bytes));
        drawn.is_ok_and(|drawn| f64::from(drawn) < self.ratio * 2_f64.powi(32))
    }
}

impl TraceScope {
    /// The trace, whether it is recorded or not.
    #[must_use]
    pub fn trace_id(&self) -> Option<TraceId> {
        self.0.as_ref().map(|place| place.trace)
    }

    /// The span.
    #[must_use]
    pub fn span_id(&self) -> Option<SpanId> {
        self.0.as_ref().map(|place| place.span)
    }

    /// Begins a span below this place.
    #[must_use]
    pub fn begin(&self, name: SpanName) -> OpenSpan {
        let Some(place) = &self.0 else { return OpenSpan::none() };
        let id = if place.is_sampled { new_ids().map(|(_, id)| id) } else { Some(place.span) };
        let Some(id) = id else { return OpenSpan::none() };
        let scope = Place { span: id, ..place.clone() };
        OpenSpan::below(scope, name, SpanKind::Internal, Some(place.span))
    }

    /// Records a span below this place that is over already.
    pub fn record(
        &self,
        name: SpanName,
        (began, ended): (Instant, Instant),
        attributes: &[(&'static str, AttributeValue)],
    ) {
        let mut open = self.begin(name);
        let Some(recorded) = open.recorded.take() else { return };
        let Recorded { tracing, began: now, mut span } = *recorded;
        let time_of = |time: Instant| {
            span.began.saturating_sub(nanoseconds(now.saturating_duration_since(time)))
        };
        (span.began, span.ended) = (time_of(began), time_of(ended));
        span.attributes.extend_from_slice(attributes);
        tracing.exporter.hand_over(span);
    }
}

/// A scope in no recorded trace shows nothing of the exporter.
impl fmt::Debug for TraceScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(place) => write!(f, "TraceScope({}, {})", place.trace, place.span),
            None => f.write_str("TraceScope(none)"),
        }
    }
}

impl OpenSpan {
    /// A span in no trace.
    const fn none() -> Self {
        Self { scope: TraceScope(None), recorded: None }
    }

    fn below(place: Place, name: SpanName, kind: SpanKind, parent: Option<SpanId>) -> Self {
        let recorded = place.is_sampled.then(|| {
            let span = FinishedSpan {
                trace: place.trace,
                id: place.span,
                parent,
                is_parent_remote: false,
                link: None,
                state: String::new(),
                name,
                kind,
                began: nanoseconds(Clock::System.now()),
                ended: 0,
                attributes: Attributes::new(),
                tenant: Arc::clone(&place.tenant),
                error: None,
            };
            let tracing = Arc::clone(&place.tracing);
            Box::new(Recorded { tracing, began: Instant::now(), span })
        });
        Self { scope: TraceScope(Some(place)), recorded }
    }

    /// The place of this span, for those below it.
    #[must_use]
    pub const fn scope(&self) -> &TraceScope {
        &self.scope
    }

    /// True if the span is sent when it ends.
    #[must_use]
    pub const fn is_recorded(&self) -> bool {
        self.recorded.is_some()
    }

    /// Adds an attribute.
    pub fn set(&mut self, key: &'static str, value: impl Into<AttributeValue>) {
        if let Some(recorded) = &mut self.recorded {
            recorded.span.attributes.push((key, value.into()));
        }
    }

    /// The span ends with an error of this kind, unless it is said to end otherwise later.
    pub fn fail(&mut self, kind: &'static str) {
        if let Some(recorded) = &mut self.recorded {
            recorded.span.error = Some(kind);
        }
    }

    /// The span ends without an error.
    pub fn succeed(&mut self) {
        if let Some(recorded) = &mut self.recorded {
            recorded.span.error = None;
        }
    }
}

impl Drop for OpenSpan {
    fn drop(&mut self) {
        if let Some(recorded) = self.recorded.take() {
            let Recorded { tracing, began, mut span } = *recorded;
            span.ended = span.began.saturating_add(nanoseconds(began.elapsed()));
            tracing.exporter.hand_over(span);
        }
    }
}

impl MetricSource for Tracer {
    fn read(&self) -> Vec<MetricReading> {
        let counts = self.0.as_ref().map(|tracing| tracing.exporter.counts());
        counts.unwrap_or_default().readings()
    }
}

/// A new trace and a new span.
fn new_ids() -> Option<(TraceId, SpanId)> {
    let (mut trace, mut span) = ([0; 16], [0; 8]);
    fill_random(&mut trace).ok()?;
    fill_random(&mut span).ok()?;
    Some((TraceId::of(trace)?, SpanId::of(span)?))
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
