//! Takes events, and writes their lines on a separate thread, so that no call waits for a disk.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::time::{Duration, Instant};
use std::{io, thread};

use parking_lot::Mutex;
use tracing::{error, info};

use crate::audit::event::AuditEvent;
use crate::audit::file::AuditFile;
use crate::audit::repeats::Repeats;
use wardian_vocabulary::clock::Clock;

/// Lines that may wait to be written. Each is shorter than 10 KiB, and a usual one than 300 bytes.
const WAITING: usize = 1_024;

/// The interval of looking for events whose time is over.
const TICK: Duration = Duration::from_secs(1);

/// The interval of saying in the log that lines are lost.
const TOLD_INTERVAL: Duration = Duration::from_secs(10);

/// The settings of the audit log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditConfig {
    /// The file; without it there is no audit log. Default none.
    pub file: Option<PathBuf>,
    /// Whether events that repeat are written each time. Default false.
    pub every_event: bool,
}

/// The audit log. Clones share one file; without a file events are dropped.
#[derive(Debug, Clone, Default)]
pub struct AuditLog(Option<Arc<OpenLog>>);

#[derive(Debug)]
struct OpenLog {
    repeats: Option<Mutex<Repeats>>,
    started: Instant,
    orders: SyncSender<Order>,
    lost: Arc<Lost>,
}

/// What the thread is to do.
#[derive(Debug)]
enum Order {
    Write(String),
    Reopen,
    /// Write what was counted, then answer.
    Close(SyncSender<()>),
}

/// Lines that were lost.
#[derive(Debug, Default)]
struct Lost {
    count: AtomicU64,
    told: Mutex<Option<Instant>>,
}

impl AuditLog {
    /// Opens the file, if there is one in the settings.
    ///
    /// # Errors
    ///
    /// The file cannot be opened, or the operating system refuses a thread.
    pub fn open(config: &AuditConfig) -> io::Result<Self> {
        let Some(path) = &config.file else { return Ok(Self(None)) };
        let file = AuditFile::open(path)?;
        let (orders, received) = sync_channel(WAITING);
        let lost = Arc::new(Lost::default());
        let repeats = (!config.every_event).then(Mutex::default);
        let started = Instant::now();
        let shared = Arc::new(OpenLog { repeats, started, orders, lost: Arc::clone(&lost) });
        let watched = Arc::downgrade(&shared);
        thread::Builder::new().name("audit".to_owned()).spawn(move || {
            let mut writing = Writing { file, lost };
            // The thread ends when the last clone of the log is gone.
            while writing.next(&received) {
                let lines = watched.upgrade().map(|shared| shared.forget(false));
                lines.unwrap_or_default().iter().for_each(|line| writing.write(line));
            }
        })?;
        Ok(Self(Some(shared)))
    }

    /// Notes an event. Never waits.
    pub fn note(&self, event: &AuditEvent<'_>) {
        let Some(shared) = &self.0 else { return };
        if let Some(repeats) = &shared.repeats
            && !repeats.lock().is_first(event, shared.started.elapsed())
        {
            return;
        }
        match event.line(Clock::System.now()) {
            Ok(line) => shared.send(Order::Write(line)),
            Err(fault) => shared.lost.add(&format!("it cannot be written as JSON: {fault}")),
        }
    }

    /// True if events are written.
    #[must_use]
    pub const fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Opens the path of the file again, as programs that rotate logs ask for.
    pub fn reopen(&self) {
        if let Some(shared) = &self.0 {
            shared.send(Order::Reopen);
        }
    }

    /// Lines that were lost since the start.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.0.as_ref().map_or(0, |shared| shared.lost.count.load(Ordering::Relaxed))
    }

    /// Writes what was counted and what waits, for as long as `patience`.
    pub fn close(&self, patience: Duration) {
        let Some(shared) = &self.0 else { return };
        shared.forget(true).into_iter().for_each(|line| shared.send(Order::Write(line)));
        let (done, is_done) = sync_channel(1);
        let is_closed = shared.orders.try_send(Order::Close(done)).is_ok();
        if !is_closed || is_done.recv_timeout(patience).is_err() {
            shared.lost.add("the server stopped before it could be written");
        }
    }
}

impl OpenLog {
    fn send(&self, order: Order) {
        match self.orders.try_send(order) {
            Ok(()) => {}
            Err(TrySendError::Full(_)) => self.lost.add("too many lines are waiting"),
            Err(TrySendError::Disconnected(_)) => self.lost.add("its thread has ended"),
        }
    }

    /// The lines of events whose time is over, or of all of them at the end.
    fn forget(&self, is_end: bool) -> Vec<String> {
        let Some(repeats) = &self.repeats else { return Vec::new() };
        let (now, mut lines) = (Clock::System.now(), Vec::new());
        let elapsed = self.started.elapsed();
        repeats.lock().forget(elapsed, is_end, &mut |event| lines.extend(event.line(now)));
        lines
    }
}

struct Writing {
    file: AuditFile,
    lost: Arc<Lost>,
}

impl Writing {
    /// Executes the next order, or none if none comes. Returns false at the end.
    fn next(&mut self, received: &Receiver<Order>) -> bool {
        match received.recv_timeout(TICK) {
            Ok(Order::Write(line)) => self.write(&line),
            Ok(Order::Reopen) => match self.file.reopen() {
                Ok(()) => info!("the audit log file was reopened"),
                Err(fault) => error!("the audit log file cannot be reopened: {fault}"),
            },
            Ok(Order::Close(done)) => {
                // The server may have stopped to wait.
                done.send(()).ok();
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return false,
        }
        true
    }

    fn write(&mut self, line: &str) {
        if let Err(fault) = self.file.write(line) {
            self.lost.add(&fault.to_string());
        }
    }
}

impl Lost {
    fn add(&self, why: &str) {
        let count = self.count.fetch_add(1, Ordering::Relaxed).saturating_add(1);
        let mut told = self.told.lock();
        if told.is_none_or(|told| told.elapsed() >= TOLD_INTERVAL) {
            *told = Some(Instant::now());
            error!(
                audit.lost = count,
                "a line of the audit log was lost: {why}; {count} lines were lost since the start"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::audit::AuditKind;

    const PATIENCE: Duration = Duration::from_secs(30);

    fn opened(path: PathBuf, every_event: bool) -> AuditLog {
        AuditLog::open(&AuditConfig { file: Some(path), every_event }).unwrap()
    }

    #[test]
    fn what_repeats_is_counted_at_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.log");
        for (every_event, lines) in [(false, 2), (true, 5)] {
            let log = opened(path.clone(), every_event);
            for _ in 0..5 {
                log.note(&AuditEvent::new(AuditKind::Forbidden).about("code"));
            }
            log.close(PATIENCE);
            let text = fs::read_to_string(&path).unwrap();
            assert_eq!(text.lines().count(), lines, "{text}");
            assert_eq!(text.contains("\"repeats\":4"), !every_event, "{text}");
            fs::remove_file(&path).unwrap();
        }
    }

    #[test]
    fn audit_loss_is_told_and_counted() {
        let log = opened("/dev/full".into(), true);
        for _ in 0..7 {
            log.note(&AuditEvent::new(AuditKind::Forbidden));
        }
        log.close(PATIENCE);
        assert_eq!(log.lost(), 7);
    }

    #[test]
    fn without_a_file_nothing_is_noted() {
        let log = AuditLog::open(&AuditConfig::default()).unwrap();
        log.note(&AuditEvent::new(AuditKind::Forbidden));
        log.reopen();
        log.close(PATIENCE);
        assert!(!log.is_on() && log.lost() == 0);
    }

    #[test]
    fn a_renamed_file_is_left_after_a_reopening() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.log");
        let log = opened(path.clone(), true);
        log.note(&AuditEvent::new(AuditKind::KeyUsed));
        log.close(PATIENCE);
        fs::rename(&path, folder.path().join("old")).unwrap();
        log.reopen();
        log.note(&AuditEvent::new(AuditKind::Forbidden));
        log.close(PATIENCE);
        assert!(fs::read_to_string(folder.path().join("old")).unwrap().contains("key_used"));
        assert!(fs::read_to_string(&path).unwrap().contains("forbidden"));
    }
}
