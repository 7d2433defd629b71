//! Copies the standard error of workers to the gateway's log.
//!
//! INVARIANT(bounded-log): whatever a worker writes, its lines in the log are short, few, and free
//! of control characters. Further lines are only counted. So a compromised worker can neither fill
//! the disk with logs nor forge log entries of others.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe::Receiver;
use tokio::time::Instant;
use tracing::warn;

use crate::worker::id::WorkerId;

/// Bytes of a line that are kept.
const LINE: usize = 512;

/// Lines that are logged in each [`PERIOD`].
const LINES: u32 = 20;

const PERIOD: Duration = Duration::from_secs(10);

/// The reading end of one worker's standard error.
#[derive(Debug)]
pub(crate) struct StderrLog {
    worker: WorkerId,
    pipe: Option<Receiver>,
    lines: Lines,
}

impl StderrLog {
    pub(crate) fn new(worker: WorkerId, stderr: Option<OwnedFd>) -> io::Result<Self> {
        let pipe = stderr.map(Receiver::from_owned_fd).transpose()?;
        Ok(Self { worker, pipe, lines: Lines::new(Instant::now()) })
    }

    /// Logs every line until the worker closes its end, and never returns. Cancellation loses
    /// nothing.
    pub(crate) async fn copy(&mut self) {
        while self.copy_some().await {}
        std::future::pending::<()>().await;
    }

    /// Logs the lines that have arrived, without waiting, and the beginning of an unfinished line.
    pub(crate) fn finish(&mut self) {
        if let Some(pipe) = self.pipe.take() {
            let mut chunk = [0; 4096];
            // At most the content of one pipe: the process is gone.
            while let Ok(count @ 1..) = pipe.try_read(&mut chunk) {
                self.log(chunk.get(..count).unwrap_or_default());
            }
        }
        self.log(b"\n");
    }

    async fn copy_some(&mut self) -> bool {
        let Some(pipe) = &mut self.pipe else { return false };
        let mut chunk = [0; 4096];
        match pipe.read(&mut chunk).await {
            Ok(0) | Err(_) => {
                self.pipe = None;
                false
            }
            Ok(count) => {
                self.log(chunk.get(..count).unwrap_or_default());
                true
            }
        }
    }

    fn log(&mut self, bytes: &[u8]) {
        for line in self.lines.take(bytes, Instant::now()) {
            warn!(worker.id = %self.worker, "worker {}: {line}", self.worker);
        }
    }
}

/// Cuts bytes into bounded lines of text for a log.
#[derive(Debug)]
struct Lines {
    line: Vec<u8>,
    period_start: Instant,
    logged: u32,
    dropped: u64,
}

impl Lines {
    const fn new(now: Instant) -> Self {
        Self { line: Vec::new(), period_start: now, logged: 0, dropped: 0 }
    }

    fn take(&mut self, bytes: &[u8], now: Instant) -> Vec<String> {
        let mut lines = Vec::new();
        if now.duration_since(self.period_start) >= PERIOD {
            (self.period_start, self.logged) = (now, 0);
            if self.dropped > 0 {
                lines.push(format!("({} more lines were dropped)", self.dropped));
                self.dropped = 0;
            }
        }
        for byte in bytes {
            if *byte != b'\n' {
                if self.line.len() < LINE {
                    self.line.push(*byte);
                }
            } else if !self.line.is_empty() {
                if self.logged < LINES {
                    self.logged = self.logged.saturating_add(1);
                    lines.push(printable(&self.line));
                } else {
                    self.dropped = self.dropped.saturating_add(1);
                }
                self.line.clear();
            }
        }
        lines
    }
}

/// Text in which every character that is not printable is escaped.
fn printable(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for character in String::from_utf8_lossy(bytes).chars() {
        match character {
            '"' | '\'' => text.push(character),
            _ => text.extend(character.escape_debug()),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bounded_log_keeps_the_first_lines_and_counts_the_rest() {
        let now = Instant::now();
        let mut lines = Lines::new(now);
        let kept = lines.take("noise\n".repeat(1000).as_bytes(), now);
        assert_eq!(kept.len(), 20);
        assert!(lines.take(b"more\n", now).is_empty());
        let later = lines.take(b"news\n", now + PERIOD);
        assert_eq!(later, ["(981 more lines were dropped)", "news"]);
    }

    #[test]
    fn a_bounded_log_has_short_lines() {
        let mut lines = Lines::new(Instant::now());
        for _ in 0..100 {
            assert!(lines.take(&[b'x'; 1 << 16], Instant::now()).is_empty());
            assert!(lines.line.len() <= LINE);
        }
        assert_eq!(lines.take(b"\n", Instant::now()), ["x".repeat(LINE)]);
    }

    #[test]
    fn a_bounded_log_has_no_control_characters() {
        let mut lines = Lines::new(Instant::now());
        let hostile =
            b"a\r2026-01-01 ERROR forged\x1b[2J\x00\xff\xe2\x80\xae \"quoted\" caf\xc3\xa9\n";
        let kept = lines.take(hostile, Instant::now());
        let plain = r#"a\r2026-01-01 ERROR forged\u{1b}[2J\0"#.to_owned();
        assert_eq!(kept, [plain + "\u{fffd}" + r#"\u{202e} "quoted" café"#]);
    }

    #[test]
    fn lines_that_come_in_pieces_are_put_together() {
        let mut lines = Lines::new(Instant::now());
        assert!(lines.take(b"one ", Instant::now()).is_empty());
        assert_eq!(lines.take(b"line\nnext", Instant::now()), ["one line"]);
        assert_eq!(lines.take(b"\n\n\n", Instant::now()), ["next"]);
    }
}
