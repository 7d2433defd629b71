//! What a process writes on standard error, line by line.

use std::mem;
use std::process::ChildStderr;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex, MutexGuard};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::{ioctl_fionread, read, retry_on_intr};

use super::server::START;

/// How long the text that the process has written may take to be read.
const READ: Duration = Duration::from_secs(20);

/// The standard error of a process.
#[derive(Debug, Clone)]
pub(super) struct Log(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    stream: ChildStderr,
    read: Mutex<LogText>,
    /// The text has changed, or what holds it.
    changed: Condvar,
}

#[derive(Debug, Default)]
struct LogText {
    text: String,
    is_complete: bool,
    /// Nothing is read behind a line with this text.
    held_behind: Option<String>,
}

impl Log {
    pub(super) fn of(stream: ChildStderr) -> Self {
        let (read, changed) = (Mutex::default(), Condvar::new());
        let log = Self(Arc::new(Shared { stream, read, changed }));
        let reader = log.clone();
        thread::spawn(move || reader.read());
        log
    }

    /// Reads until the process has closed the stream.
    fn read(&self) {
        let (mut bytes, mut pending) = (vec![0; 1 << 16], Vec::new());
        loop {
            retry_on_intr(|| poll(&mut [PollFd::new(&self.0.stream, PollFlags::IN)], None))
                .unwrap();
            // What is taken from the pipe is in the text before the lock is given back: see `text`.
            let mut log = self.0.read.lock();
            let count = retry_on_intr(|| read(&self.0.stream, &mut bytes)).unwrap();
            pending.extend_from_slice(&bytes[..count]);
            while let Some(end) = pending.iter().position(|byte| *byte == b'\n') {
                let line = String::from_utf8(pending.drain(..=end).collect()).unwrap();
                self.push(&mut log, &line);
            }
            if count == 0 {
                self.push(&mut log, &String::from_utf8(mem::take(&mut pending)).unwrap());
                log.is_complete = true;
            }
            self.0.changed.notify_all();
            if log.is_complete {
                return;
            }
        }
    }

    /// Adds a line, and waits behind it if it is one to wait behind.
    fn push(&self, log: &mut MutexGuard<'_, LogText>, line: &str) {
        log.text.push_str(line);
        self.0.changed.notify_all();
        let is_held =
            |log: &mut LogText| log.held_behind.as_ref().is_some_and(|text| line.contains(text));
        self.0.changed.wait_while(log, is_held);
    }

    /// All that the process has written until now, or until the line behind which nothing is read.
    pub(super) fn text(&self) -> String {
        let deadline = Instant::now() + READ;
        let mut log = self.0.read.lock();
        while log.held_behind.is_none()
            && !log.is_complete
            && ioctl_fionread(&self.0.stream).unwrap() > 0
        {
            let waited = self.0.changed.wait_until(&mut log, deadline);
            assert!(!waited.timed_out(), "what was logged is not read:\n{}", log.text);
        }
        log.text.clone()
    }

    pub(super) fn hold(&self, behind: Option<String>) {
        self.0.read.lock().held_behind = behind;
        self.0.changed.notify_all();
    }

    /// The first line with this text.
    pub(super) fn wait_for(&self, wanted: &str) -> String {
        let found =
            |log: &LogText| log.text.lines().find(|l| l.contains(wanted)).map(str::to_owned);
        let goes_on = |log: &mut LogText| found(log).is_none() && !log.is_complete;
        let mut log = self.0.read.lock();
        self.0.changed.wait_while_for(&mut log, goes_on, START);
        found(&log).unwrap_or_else(|| panic!("never logged `{wanted}`:\n{}", log.text))
    }
}
