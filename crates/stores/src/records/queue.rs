//! Records that wait to be written, within a bound on their memory.

use std::any::Any;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::Notify;
use tracing::error;

use crate::records::config::RecordsConfig;
use crate::records::record::RunRecord;
use crate::records::server_id::RunHolder;
use wardian_formats::job::outcome::LogChunk;
use wardian_vocabulary::units::ByteCount;

/// The most memory of the records that wait, those that are being written included.
pub const QUEUE_MEMORY: ByteCount = ByteCount::mebibytes(32);

/// The part of it that logs do not take, so that a flood of output costs no record.
const FOR_RECORDS: u64 = QUEUE_MEMORY.as_u64() / 4;

/// Memory of a record besides its texts, and of its JSON.
const RECORD: u64 = 4 << 10;

/// Memory of a piece of a log besides its text.
const PIECE: usize = 64;

/// The interval of saying in the log that records are lost.
const TOLD_INTERVAL: Duration = Duration::from_secs(10);

/// Takes the records of runs. Clones share one queue.
#[derive(Debug, Clone)]
pub struct Recorder(pub(super) Arc<QueueState>);

/// The state that recorders and the writer share.
#[derive(Debug)]
pub(super) struct QueueState {
    pub(super) config: RecordsConfig,
    waiting: Mutex<Queue>,
    /// Wakes the writer.
    pub(super) arrived: Notify,
    memory: AtomicU64,
    lost: AtomicU64,
    lost_logs: AtomicU64,
    written: AtomicU64,
    late: AtomicU64,
    told: Mutex<Option<Instant>>,
}

#[derive(Debug, Default)]
struct Queue {
    records: VecDeque<WaitingRecord>,
    /// True once nobody takes records any more.
    has_ended: bool,
}

/// A record with its log.
#[derive(Debug)]
pub(super) struct WaitingRecord {
    pub(super) record: Box<RunRecord>,
    pub(super) log: Vec<LogChunk>,
    pub(super) tail: RecordTail,
    pub(super) memory: RoomInQueue,
}

/// What goes with a record.
#[derive(Debug, Default)]
pub struct RecordTail {
    /// The result of a run in the background as JSON, at most [`MAX_RESULT`](crate::records::MAX_RESULT) bytes.
    pub result: Option<String>,
    /// What it was given and what it left, as JSON, if that is kept.
    pub content: Option<String>,
    /// Its document, if it is kept: at most [`MAX_DOCUMENT_KEPT`](crate::records::MAX_DOCUMENT_KEPT)
    /// bytes.
    pub document: Option<String>,
    /// The server that has the run, if it was noted. The record is written only while it has it.
    pub holder: Option<RunHolder>,
    /// Dropped once the record is written, or lost.
    pub until_written: Option<Box<dyn Any + Send>>,
}

/// Memory of the queue, given back when it is dropped.
#[derive(Debug)]
pub(super) struct RoomInQueue {
    shared: Arc<QueueState>,
    bytes: u64,
}

/// Memory of the queue for the log of one run.
#[derive(Debug)]
pub struct RoomForLog(RoomInQueue);

/// Counts since the start of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordCounts {
    /// Records that were written.
    pub written: u64,
    /// Records that were lost.
    pub lost: u64,
    /// Logs that were lost although their records were not.
    pub lost_logs: u64,
    /// Records that were left out, because another server had ended their runs before.
    pub late: u64,
    /// Records that wait to be written.
    pub waiting: u64,
}

impl Recorder {
    /// An empty queue.
    pub(super) fn new(config: RecordsConfig) -> Self {
        Self(Arc::new(QueueState {
            config,
            waiting: Mutex::default(),
            arrived: Notify::new(),
            memory: AtomicU64::new(0),
            lost: AtomicU64::new(0),
            lost_logs: AtomicU64::new(0),
            written: AtomicU64::new(0),
            late: AtomicU64::new(0),
            told: Mutex::new(None),
        }))
    }

    /// The settings.
    #[must_use]
    pub fn config(&self) -> &RecordsConfig {
        &self.0.config
    }

    /// Reserves memory for a log of this length in so many pieces. Without it the log is lost, which
    /// is counted.
    #[must_use]
    pub fn room_for_log(&self, length: usize, pieces: usize) -> Option<RoomForLog> {
        let size = length.saturating_add(pieces.saturating_mul(PIECE));
        let most = QUEUE_MEMORY.as_u64().saturating_sub(FOR_RECORDS);
        let room = QueueState::reserve(&self.0, ByteCount::from(size).as_u64(), most);
        if room.is_none() {
            self.0.lost_logs.fetch_add(1, Ordering::Relaxed);
            self.0.tell("the queue of records is full, so the log of a run is not kept");
        }
        room.map(RoomForLog)
    }

    /// Hands a record over. Returns at once; the record is written soon after.
    #[cfg(test)]
    pub(crate) fn hand_over(
        &self,
        record: Box<RunRecord>,
        log: Option<(Vec<LogChunk>, RoomForLog)>,
    ) {
        self.hand_over_all(record, log, RecordTail::default());
    }

    /// Hands a record over, with the log and the result of its run. Returns at once; the record is
    /// written soon after.
    pub fn hand_over_all(
        &self,
        record: Box<RunRecord>,
        log: Option<(Vec<LogChunk>, RoomForLog)>,
        mut tail: RecordTail,
    ) {
        // The result comes first: only the server has it, and the run can be repeated.
        let texts = [&mut tail.result, &mut tail.document, &mut tail.content];
        let rooms = texts.map(|text| self.room_for_text(text));
        let size = RECORD.saturating_add(size_of_texts(&record));
        let Some(mut memory) = QueueState::reserve(&self.0, size, QUEUE_MEMORY.as_u64()) else {
            self.0.lose(1, "the queue of records is full");
            return;
        };
        rooms.into_iter().flatten().for_each(|room| memory.join(room));
        let log = match log {
            Some((log, RoomForLog(room))) => {
                memory.join(room);
                log
            }
            None => Vec::new(),
        };
        {
            let mut waiting = self.0.waiting.lock();
            if !waiting.has_ended {
                waiting.records.push_back(WaitingRecord { record, log, tail, memory });
                drop(waiting);
                self.0.arrived.notify_one();
                return;
            }
        }
        self.0.lose(1, "the server has stopped writing records");
    }

    /// Reserves memory for a result or a document. Like a log, it leaves room for records, and is
    /// lost without it.
    fn room_for_text(&self, text: &mut Option<String>) -> Option<RoomInQueue> {
        let size = ByteCount::from(text.as_ref()?.len()).as_u64();
        let most = QUEUE_MEMORY.as_u64().saturating_sub(FOR_RECORDS);
        let room = QueueState::reserve(&self.0, size, most);
        if room.is_none() {
            *text = None;
            self.0.lost_logs.fetch_add(1, Ordering::Relaxed);
            self.0.tell(
                "the queue of records is full, so the result, the document or the program of a run is \
                 not kept",
            );
        }
        room
    }

    /// Counts since the start.
    #[must_use]
    pub fn counts(&self) -> RecordCounts {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        RecordCounts {
            written: count(&self.0.written),
            late: count(&self.0.late),
            lost: count(&self.0.lost),
            lost_logs: count(&self.0.lost_logs),
            waiting: u64::try_from(self.0.waiting.lock().records.len()).unwrap_or(u64::MAX),
        }
    }

    /// Memory of the records that wait.
    #[cfg(test)]
    pub(super) fn memory(&self) -> u64 {
        self.0.memory.load(Ordering::Relaxed)
    }
}

impl QueueState {
    fn reserve(shared: &Arc<Self>, bytes: u64, most: u64) -> Option<RoomInQueue> {
        let add = |used: u64| used.checked_add(bytes).filter(|sum| *sum <= most);
        shared.memory.fetch_update(Ordering::AcqRel, Ordering::Acquire, add).ok()?;
        Some(RoomInQueue { shared: Arc::clone(shared), bytes })
    }

    /// Takes records from the queue: at most `count`, with at most `bytes` of memory, and at least
    /// one.
    pub(super) fn take(&self, count: usize, bytes: u64) -> Vec<WaitingRecord> {
        let mut waiting = self.waiting.lock();
        let mut taken: Vec<WaitingRecord> = Vec::new();
        let mut size = 0_u64;
        while taken.len() < count {
            let Some(next) = waiting.records.front() else { break };
            size = size.saturating_add(next.memory.bytes);
            if size > bytes && !taken.is_empty() {
                break;
            }
            taken.extend(waiting.records.pop_front());
        }
        taken
    }

    /// True if no record waits.
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.lock().records.is_empty()
    }

    /// True if a batch of this size is full.
    pub(super) fn holds(&self, count: usize, bytes: u64) -> bool {
        let is_large = self.memory.load(Ordering::Acquire) >= bytes;
        is_large || self.waiting.lock().records.len() >= count
    }

    /// Puts records back to the front, because they could not be written.
    pub(super) fn put_back(&self, records: Vec<WaitingRecord>) {
        let mut waiting = self.waiting.lock();
        if waiting.has_ended {
            drop(waiting);
            let count = u64::try_from(records.len()).unwrap_or(u64::MAX);
            return self.lose(count, "the server stopped before it could be written");
        }
        records.into_iter().rev().for_each(|record| waiting.records.push_front(record));
    }

    /// Ends the queue if it is empty: what is handed over from now on is counted as lost. Returns
    /// true if it has ended.
    pub(super) fn end_if_empty(&self) -> bool {
        let mut waiting = self.waiting.lock();
        waiting.has_ended |= waiting.records.is_empty();
        waiting.has_ended
    }

    /// Ends the queue. What waits is lost.
    pub(super) fn give_up(&self, reason: &str) {
        let left = {
            let mut waiting = self.waiting.lock();
            waiting.has_ended = true;
            std::mem::take(&mut waiting.records)
        };
        if !left.is_empty() {
            self.lose(u64::try_from(left.len()).unwrap_or(u64::MAX), reason);
        }
    }

    pub(super) fn note_written(&self, count: u64) {
        self.written.fetch_add(count, Ordering::Relaxed);
    }

    /// Counts records that came too late.
    pub(super) fn note_late(&self, count: u64) {
        self.late.fetch_add(count, Ordering::Relaxed);
    }

    /// Counts records that are lost, and says so.
    pub(super) fn lose(&self, count: u64, reason: &str) {
        self.lost.fetch_add(count, Ordering::Relaxed);
        self.tell(&format!("a record of a run was lost: {reason}"));
    }

    /// Says that something was lost, unless the log has said so a moment ago.
    fn tell(&self, what: &str) {
        let mut told = self.told.lock();
        if told.is_some_and(|told| told.elapsed() < TOLD_INTERVAL) {
            return;
        }
        *told = Some(Instant::now());
        let (lost, logs) = (&self.lost, &self.lost_logs);
        let (lost, logs) = (lost.load(Ordering::Relaxed), logs.load(Ordering::Relaxed));
        error!(
            records.lost = lost,
            records.lost_logs = logs,
            "{what}; since the start {lost} records and {logs} logs were lost"
        );
    }
}

impl RoomInQueue {
    /// Adds the memory of `other` to this.
    fn join(&mut self, mut other: Self) {
        self.bytes = self.bytes.saturating_add(std::mem::take(&mut other.bytes));
    }
}

impl Drop for RoomInQueue {
    fn drop(&mut self) {
        self.shared.memory.fetch_sub(self.bytes, Ordering::AcqRel);
    }
}

/// The length of those texts and lists of a record that can be long.
fn size_of_texts(record: &RunRecord) -> u64 {
    let error = record.error.as_ref().map_or(0, |error| {
        let traceback = error.traceback.as_ref().map_or(0, String::len);
        error.message.len().saturating_add(traceback).saturating_add(error.error_type.len())
    });
    let value = record.arguments.value.as_ref().map_or(0, |value| value.get().len());
    let blobs = record.input_blobs.len().saturating_add(record.output_blobs.len());
    let skills = record.mounted_skills.len().saturating_add(record.layers.len());
    let hosts = record.network.as_ref().map_or(0, |network| network.hosts.len());
    let lists = blobs.saturating_mul(160).saturating_add(skills.saturating_mul(512));
    let titles = [&record.label, &record.title].into_iter().flatten().map(String::len);
    let titles = titles.fold(0, usize::saturating_add);
    let rows = hosts.saturating_add(record.tool_calls.len());
    let sum = error.saturating_add(value).saturating_add(lists).saturating_add(titles);
    // Once as it is, and once as JSON.
    ByteCount::from(sum.saturating_add(rows.saturating_mul(512)).saturating_mul(2)).as_u64()
}
