//! The queue of spans, and the thread that sends them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tracing::{info, warn};

use crate::source::{MetricReading, number_of};
use crate::traces::collector::{Collector, SendFailure, TraceError};
use crate::traces::otlp::request_body;
use crate::traces::shares::SpanShares;
use crate::traces::span::FinishedSpan;

/// Most spans that wait. A span takes 4 KiB at most, and usually less than 1 KiB.
const QUEUE: usize = 4_096;

/// Most spans of one request to the collector.
const BATCH: usize = 512;

/// The time for which the thread lets spans gather.
const GATHER: Duration = Duration::from_secs(1);

/// The pauses before a batch is sent again. After the last attempt it is lost.
const PAUSES: [Duration; 2] = [Duration::from_millis(500), Duration::from_secs(2)];

/// Longest reason in a log line, in characters.
const MAX_REASON: usize = 300;

/// Takes spans, and sends them from a separate thread.
#[derive(Debug)]
pub(super) struct Exporter {
    queue: SyncSender<Message>,
    shared: Arc<SpanQueue>,
    thread: Thread,
    ended: Mutex<Receiver<()>>,
}

#[derive(Debug)]
enum Message {
    Span(Box<FinishedSpan>),
    /// The server stops.
    Close,
}

/// The state that the exporter and its thread share.
#[derive(Debug)]
struct SpanQueue {
    is_closing: AtomicBool,
    waiting: Mutex<SpanShares>,
    exported: AtomicU64,
    dropped: AtomicU64,
    failed: AtomicU64,
}

/// Spans by what became of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct SpanCounts {
    /// The collector has them.
    pub(super) exported: u64,
    /// The queue was full, or the share of their tenant.
    pub(super) dropped: u64,
    /// The collector could not be reached, or did not want them.
    pub(super) failed: u64,
    /// They wait.
    pub(super) waiting: u64,
}

impl Exporter {
    pub(super) fn start(collector: Collector, service: &str) -> Result<Self, TraceError> {
        let (queue, spans) = sync_channel(QUEUE);
        let (end, ended) = sync_channel(1);
        let shared = Arc::new(SpanQueue {
            is_closing: AtomicBool::new(false),
            waiting: Mutex::new(SpanShares::new(QUEUE)),
            exported: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
            failed: AtomicU64::new(0),
        });
        let mut sending = Sending {
            collector,
            service: service.to_owned(),
            spans,
            shared: Arc::clone(&shared),
            is_failing: false,
        };
        let thread = thread::Builder::new().name("traces".to_owned()).spawn(move || {
            sending.run();
            // The server may have stopped to wait for the end.
            end.send(()).ok();
        });
        let thread = thread.map_err(TraceError::Thread)?.thread().clone();
        Ok(Self { queue, shared, thread, ended: Mutex::new(ended) })
    }

    /// Takes a span that is over. Never waits: a span that finds the queue full, or the share of its
    /// tenant, is dropped.
    pub(super) fn hand_over(&self, span: FinishedSpan) {
        let tenant = Arc::clone(&span.tenant);
        if !self.shared.waiting.lock().admit(&tenant) {
            self.shared.dropped.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let sent = self.queue.try_send(Message::Span(Box::new(span)));
        if let Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) = sent {
            self.shared.waiting.lock().release(&tenant);
            self.shared.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Sends what waits, for as long as `patience`.
    pub(super) fn close(&self, patience: Duration) {
        self.shared.is_closing.store(true, Ordering::Release);
        // A full queue wakes the thread as well.
        self.queue.try_send(Message::Close).ok();
        self.thread.unpark();
        let ended = self.ended.lock().recv_timeout(patience);
        let left = self.counts().waiting;
        if ended == Err(RecvTimeoutError::Timeout) && left > 0 {
            warn!(spans.lost = left, "{left} spans were not sent before the server stopped");
        }
    }

    pub(super) fn counts(&self) -> SpanCounts {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        SpanCounts {
            exported: count(&self.shared.exported),
            dropped: count(&self.shared.dropped),
            failed: count(&self.shared.failed),
            waiting: u64::try_from(self.shared.waiting.lock().total()).unwrap_or(u64::MAX),
        }
    }
}

impl SpanCounts {
    pub(super) fn readings(self) -> Vec<MetricReading> {
        let ends =
            [("exported", self.exported), ("dropped", self.dropped), ("failed", self.failed)];
        let ends = ends.map(|(end, count)| (end, number_of(count)));
        let help = "Spans by outcome";
        vec![
            MetricReading::counter("wardian_trace_spans", help, 0.0).by("result", ends),
            MetricReading::gauge(
                "wardian_trace_spans_waiting",
                "Spans waiting to be sent",
                number_of(self.waiting),
            ),
        ]
    }
}

/// The work of the thread.
struct Sending {
    collector: Collector,
    service: String,
    spans: Receiver<Message>,
    shared: Arc<SpanQueue>,
    is_failing: bool,
}

impl Sending {
    /// Sends spans until the server stops and none is left, or nobody records any more.
    fn run(&mut self) {
        loop {
            let Some(batch) = self.gather() else { return };
            if !batch.is_empty() {
                self.deliver(&batch);
                let mut waiting = self.shared.waiting.lock();
                batch.iter().for_each(|span| waiting.release(&span.tenant));
            } else if self.is_closing() {
                return;
            }
        }
    }

    fn is_closing(&self) -> bool {
        self.shared.is_closing.load(Ordering::Acquire)
    }

    /// The next spans, once some have gathered. None if nobody records any more.
    fn gather(&self) -> Option<Vec<FinishedSpan>> {
        let mut batch = Vec::new();
        if !self.is_closing()
            && let Message::Span(first) = self.spans.recv().ok()?
        {
            batch.push(*first);
        }
        let until = Instant::now() + GATHER;
        while batch.len() < BATCH {
            let left = match self.is_closing() {
                true => Duration::ZERO,
                false => until.saturating_duration_since(Instant::now()),
            };
            match self.spans.recv_timeout(left) {
                Ok(Message::Span(span)) => batch.push(*span),
                Ok(Message::Close) => {}
                Err(_) => break,
            }
        }
        Some(batch)
    }

    /// Sends a batch, again if the collector may take it later.
    fn deliver(&mut self, batch: &[FinishedSpan]) {
        let body = request_body(&self.service, batch);
        let count = u64::try_from(batch.len()).unwrap_or(u64::MAX);
        let mut pauses = PAUSES.into_iter();
        loop {
            let failure = match self.collector.send(&body) {
                Ok(rejected) => {
                    let rejected = rejected.min(count);
                    self.shared.failed.fetch_add(rejected, Ordering::Relaxed);
                    self.shared.exported.fetch_add(count - rejected, Ordering::Relaxed);
                    if std::mem::take(&mut self.is_failing) {
                        info!("spans can be sent again");
                    }
                    return;
                }
                Err(failure) => failure,
            };
            let pause = pauses.next().filter(|_| failure.is_passing() && !self.is_closing());
            let Some(pause) = pause else { return self.lose(count, &failure) };
            thread::park_timeout(pause);
        }
    }

    /// Counts spans as lost. The log names the first failure, until spans can be sent again.
    fn lose(&mut self, count: u64, failure: &SendFailure) {
        self.shared.failed.fetch_add(count, Ordering::Relaxed);
        if !std::mem::replace(&mut self.is_failing, true) {
            // A certificate of the collector may have a part in the text.
            let failure: String = failure.to_string().chars().take(MAX_REASON).collect();
            let failure = failure.escape_debug();
            warn!("spans cannot be sent, and are dropped until they can: {failure}");
        }
    }
}
