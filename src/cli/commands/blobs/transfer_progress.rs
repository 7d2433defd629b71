//! Shows the progress of a long transfer on standard error.

use std::io::{self, IsTerminal as _};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use crate::cli::terminal::output::note;

/// Transfers that take less time show nothing.
const LONG: Duration = Duration::from_secs(2);

/// The interval of lines where standard error is not a terminal.
const LINE_INTERVAL: Duration = Duration::from_secs(10);

/// The progress of one transfer.
#[derive(Debug)]
pub(crate) struct TransferProgress {
    doing: &'static str,
    total: Option<u64>,
    done: u64,
    began: Instant,
    last_line: Option<Instant>,
    bar: Option<ProgressBar>,
}

impl TransferProgress {
    /// Begins a transfer of `total` bytes. `doing` is the beginning of a line about it.
    pub(crate) fn begin(doing: &'static str, total: Option<u64>) -> Self {
        Self { doing, total, done: 0, began: Instant::now(), last_line: None, bar: None }
    }

    /// Notes that some more bytes were transferred.
    pub(crate) fn advance(&mut self, bytes: usize) {
        self.done = self.done.saturating_add(u64::try_from(bytes).unwrap_or(u64::MAX));
        if self.began.elapsed() < LONG {
            return;
        }
        if io::stderr().is_terminal() {
            let bar = self.bar.get_or_insert_with(|| bar(self.doing, self.total));
            bar.set_position(self.done);
        } else if self.last_line.is_none_or(|last| last.elapsed() >= LINE_INTERVAL) {
            self.last_line = Some(Instant::now());
            note(&line(self.doing, self.done, self.total));
        }
    }
}

impl Drop for TransferProgress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// The progress of work on the rows of tables, as lines.
#[derive(Debug)]
pub(crate) struct RowProgress {
    doing: &'static str,
    last_line: Instant,
}

impl RowProgress {
    /// Begins work. `doing` is the beginning of a line about it.
    pub(crate) fn begin(doing: &'static str) -> Self {
        Self { doing, last_line: Instant::now() }
    }

    /// Notes that so many rows of a table are done.
    pub(crate) fn show(&mut self, table: &str, rows: u64) {
        if self.last_line.elapsed() >= LONG {
            self.last_line = Instant::now();
            note(&format!("{} {table}: {rows} rows", self.doing));
        }
    }
}

fn bar(doing: &'static str, total: Option<u64>) -> ProgressBar {
    let bar = total.map_or_else(ProgressBar::no_length, ProgressBar::new);
    let template = match total {
        Some(_) => {
            "{spinner} {msg} {wide_bar} {binary_bytes}/{binary_total_bytes} {binary_bytes_per_sec}"
        }
        None => "{spinner} {msg} {binary_bytes} {binary_bytes_per_sec}",
    };
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar.set_message(doing);
    bar
}

fn line(doing: &str, done: u64, total: Option<u64>) -> String {
    let done = readable(done);
    match total {
        Some(total) => format!("{doing}: {done} of {}", readable(total)),
        None => format!("{doing}: {done}"),
    }
}

/// A size for people, such as `1.5 GiB`.
pub(crate) fn readable(bytes: u64) -> String {
    let units = [(1_u64 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    match units.iter().find(|(size, _)| bytes >= *size) {
        Some((size, name)) => {
            let tenths = u128::from(bytes).saturating_mul(10) / u128::from(*size);
            format!("{}.{} {name}", tenths / 10, tenths % 10)
        }
        None => format!("{bytes} B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_readable() {
        for (bytes, text) in [
            (0, "0 B"),
            (1_023, "1023 B"),
            (1_024, "1.0 KiB"),
            (1_610_612_736, "1.5 GiB"),
            (700_000, "683.5 KiB"),
            (u64::MAX, "17179869183.9 GiB"),
        ] {
            assert_eq!(readable(bytes), text);
        }
        assert_eq!(line("storing", 1 << 20, Some(1 << 30)), "storing: 1.0 MiB of 1.0 GiB");
        assert_eq!(line("storing", 5, None), "storing: 5 B");
    }
}
