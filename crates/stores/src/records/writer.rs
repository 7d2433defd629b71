//! Writes the records that wait, in batches, on a separate thread, and removes old ones.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};
use tracing::{debug, info, warn};

use crate::database_error::DatabaseError;
use crate::records::config::RecordsConfig;
use crate::records::queue::{QueueState, Recorder, WaitingRecord};
use crate::records::row::Row;
use crate::records::table::{RecordTable, Trimmed};
use wardian_vocabulary::clock::Clock;
use wardian_vocabulary::error::CauseChain;

/// Most records of one batch.
const BATCH: usize = 256;

/// Memory of the records of one batch, at which it is full.
const BATCH_MEMORY: u64 = 2 << 20;

/// The time for which the writer lets records gather. With the time of a write it is the age at
/// which a record is on the disk.
const GATHER: Duration = Duration::from_millis(100);

/// The longest time that the thread of a writer that was not closed takes to end.
const END: Duration = Duration::from_secs(2);

/// The pause after a failure.
const PAUSE: Duration = Duration::from_millis(500);

/// The interval of removing records beyond a tenant's limits.
const TRIM_INTERVAL: Duration = Duration::from_secs(1);

/// The interval of removing records that are too old, and names of calls.
const AGE_INTERVAL: Duration = Duration::from_secs(60);

/// The writer of a server's records.
#[derive(Debug)]
pub struct RecordWriter {
    recorder: Recorder,
    table: RecordTable,
    is_closing: Arc<AtomicBool>,
    ended: Mutex<Option<oneshot::Receiver<()>>>,
    /// Loses its sender when the thread ends.
    thread: Mutex<mpsc::Receiver<()>>,
}

impl RecordWriter {
    /// Starts the thread, on the runtime of the caller.
    ///
    /// # Errors
    ///
    /// The operating system refuses a thread.
    pub fn start(table: RecordTable, config: RecordsConfig, clock: Clock) -> io::Result<Self> {
        let recorder = Recorder::new(config);
        let is_closing = Arc::new(AtomicBool::new(false));
        let (end, ended) = oneshot::channel();
        let (running, thread) = mpsc::channel();
        let work = Work {
            shared: Arc::clone(&recorder.0),
            table: table.clone(),
            is_closing: Arc::clone(&is_closing),
            clock,
            is_failing: false,
        };
        let runtime = Handle::current();
        thread::Builder::new().name("records".to_owned()).spawn(move || {
            let _running: mpsc::Sender<()> = running;
            runtime.block_on(work.run());
            // The server may have stopped to wait for the end.
            end.send(()).ok();
        })?;
        let (ended, thread) = (Mutex::new(Some(ended)), Mutex::new(thread));
        Ok(Self { recorder, table, is_closing, ended, thread })
    }

    /// Takes records.
    #[must_use]
    pub const fn recorder(&self) -> &Recorder {
        &self.recorder
    }

    /// Writes what waits, for as long as `patience`, and closes the database. What is not written by
    /// then is counted as lost.
    pub async fn close(&self, patience: Duration) {
        self.is_closing.store(true, Ordering::Release);
        self.recorder.0.arrived.notify_one();
        let ended = self.ended.lock().take();
        if let Some(ended) = ended
            && timeout(patience, ended).await.is_err()
        {
            self.recorder.0.give_up("the server stopped before it could be written");
        }
        self.table.close().await;
    }
}

impl Drop for RecordWriter {
    /// Ends the thread of a writer that was not closed, because its server has not started: a thread
    /// that outlives its runtime panics.
    fn drop(&mut self) {
        if self.ended.get_mut().is_none() {
            return;
        }
        self.is_closing.store(true, Ordering::Release);
        self.recorder.0.arrived.notify_one();
        // Nothing is ever sent.
        self.thread.get_mut().recv_timeout(END).ok();
    }
}

struct Work {
    shared: Arc<QueueState>,
    table: RecordTable,
    is_closing: Arc<AtomicBool>,
    clock: Clock,
    is_failing: bool,
}

impl Work {
    async fn run(mut self) {
        let (mut trimmed, mut aged) = (Instant::now(), None::<Instant>);
        loop {
            let is_closing = self.is_closing.load(Ordering::Acquire);
            if is_closing && self.shared.end_if_empty() {
                return;
            }
            if !is_closing {
                self.wait(trimmed).await;
            }
            let batch = self.shared.take(BATCH, BATCH_MEMORY);
            if !batch.is_empty() && !self.write(batch).await {
                sleep(PAUSE).await;
                continue;
            }
            if self.is_closing.load(Ordering::Acquire) {
                continue;
            }
            if trimmed.elapsed() >= TRIM_INTERVAL {
                let is_due = aged.is_none_or(|at| at.elapsed() >= AGE_INTERVAL);
                let more = self.trim(is_due).await;
                if is_due && !more {
                    aged = Some(Instant::now());
                }
                if !more {
                    trimmed = Instant::now();
                }
            }
        }
    }

    /// Waits until records have gathered, or old ones are to be removed.
    async fn wait(&self, trimmed: Instant) {
        if self.shared.is_empty() {
            let until_trim = TRIM_INTERVAL.saturating_sub(trimmed.elapsed());
            // Either way there is something to look at.
            timeout(until_trim, self.shared.arrived.notified()).await.ok();
        }
        if !self.shared.is_empty() && !self.shared.holds(BATCH, BATCH_MEMORY) {
            sleep(GATHER).await;
        }
    }

    /// Writes a batch. On a failure it waits again, at the front.
    async fn write(&mut self, batch: Vec<WaitingRecord>) -> bool {
        let mut rows = Vec::with_capacity(batch.len());
        for waiting in &batch {
            match row(waiting) {
                Ok(row) => rows.push(row),
                Err(fault) => {
                    self.shared.lose(1, &format!("it cannot be written as JSON: {fault}"));
                }
            }
        }
        match self.table.insert(&rows, self.now_ms()).await {
            Ok(late) => {
                let all = u64::try_from(rows.len()).unwrap_or(u64::MAX);
                self.shared.note_written(all.saturating_sub(late));
                if late > 0 {
                    self.shared.note_late(late);
                    warn!(
                        late,
                        "another server had ended runs of this one, so their records are left out: {late}"
                    );
                }
                if std::mem::take(&mut self.is_failing) {
                    info!("records of runs can be written again");
                }
                true
            }
            Err(error) => {
                self.shared.put_back(batch);
                self.note_failure("written", &error);
                false
            }
        }
    }

    /// Removes some of the records that are too many or too old. Returns true if there are more.
    async fn trim(&mut self, by_age: bool) -> bool {
        match self.trimmed(by_age).await {
            Ok(Trimmed { records, logs, has_more }) => {
                if records > 0 || logs > 0 {
                    debug!(records, logs, "removed {records} old records of runs and {logs} logs");
                }
                has_more
            }
            Err(error) => {
                self.note_failure("removed", &error);
                false
            }
        }
    }

    async fn trimmed(&self, by_age: bool) -> Result<Trimmed, DatabaseError> {
        let config = &self.shared.config;
        let mut all = self.table.trim_to_limits(config).await?;
        if !by_age {
            return Ok(all);
        }
        let age = |age: Duration| u64::try_from(age.as_millis()).unwrap_or(u64::MAX);
        let bound = config.max_age.map(|most| self.now_ms().saturating_sub(age(most)));
        all.has_more |= self.table.trim_names(config.max_count, bound).await?;
        if let Some(bound) = bound {
            all.add(self.table.trim_to_age(bound).await?);
        }
        Ok(all)
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.clock.now().as_millis()).unwrap_or(u64::MAX)
    }

    fn note_failure(&mut self, what: &str, error: &DatabaseError) {
        if !std::mem::replace(&mut self.is_failing, true) {
            let causes = CauseChain(error).to_string();
            warn!("records of runs cannot be {what}; this is retried: {causes}");
        }
    }
}

/// The record as its tables hold it.
fn row(waiting: &WaitingRecord) -> Result<Row, serde_json::Error> {
    let record = &waiting.record;
    let pieces = match waiting.log.is_empty() {
        true => None,
        false => Some(serde_json::to_string(&waiting.log)?),
    };
    let (document, content) = (waiting.tail.document.clone(), waiting.tail.content.clone());
    let holder = waiting.tail.holder.clone();
    Ok(Row { document, content, holder, ..Row::of(record, pieces, waiting.tail.result.clone())? })
}
