//! Progress that other processes read: those that wait for the lock of a cache entry.
//!
//! The file lies next to the lock, and means something only while the lock is held. It is
//! overwritten in place with one call, so a reader that meets a half-written line ignores it and
//! looks again.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::progress::{Progress, Step, StepEnd, StepReport};

/// Name of the file.
const FILE: &str = ".progress";

/// Bytes of the file: a report, and spaces behind it.
const SIZE: usize = 512;

/// The shortest time between two reports.
const PAUSE: Duration = Duration::from_millis(500);

/// Shows progress, and writes it for other processes too.
pub(crate) struct SharedProgress<'a> {
    progress: &'a dyn Progress,
    /// Missing if the folder cannot be written to: then others see nothing of it.
    file: Option<File>,
    last: Mutex<Option<Instant>>,
}

impl<'a> SharedProgress<'a> {
    /// Shares the progress of the process that holds the lock in `folder`.
    pub(crate) fn beside_lock(progress: &'a dyn Progress, folder: &Path) -> Self {
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o600);
        let file = options.open(folder.join(FILE)).ok();
        Self { progress, file, last: Mutex::new(None) }
    }

    fn write(&self, report: &StepReport) {
        let (Some(file), Ok(mut line)) = (&self.file, serde_json::to_vec(report)) else { return };
        if line.len() < SIZE {
            line.resize(SIZE, b' ');
            // A full disk hides the progress from others. The work reports it if it matters.
            file.write_all_at(&line, 0).ok();
        }
        *self.last.lock() = Some(Instant::now());
    }
}

impl Progress for SharedProgress<'_> {
    fn begin(&self, report: &StepReport) {
        self.write(report);
        self.progress.begin(report);
    }

    fn advance(&self, report: &StepReport) {
        if self.last.lock().is_none_or(|last| last.elapsed() >= PAUSE) {
            self.write(report);
        }
        self.progress.advance(report);
    }

    fn end(&self, step: Step, ending: StepEnd) {
        self.progress.end(step, ending);
    }
}

impl Drop for SharedProgress<'_> {
    fn drop(&mut self) {
        // As above.
        self.file.iter().for_each(|file| drop(file.set_len(0)));
    }
}

/// How far the process is that holds the lock in `folder`, if it says so.
pub(crate) fn read_shared(folder: &Path) -> Option<StepReport> {
    let mut line = [0; SIZE];
    let size = File::open(folder.join(FILE)).ok()?.read_at(&mut line, 0).ok()?;
    let report: StepReport = serde_json::from_slice(line.get(..size)?).ok()?;
    Some(StepReport { is_elsewhere: true, ..report })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::{Running, Silent};

    #[test]
    fn others_see_how_far_the_work_is_until_it_is_over() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(read_shared(folder.path()), None);
        let shared = SharedProgress::beside_lock(&Silent, folder.path());
        let running = Running::begin(&shared, Step::Unpack, Some(100));
        let seen = read_shared(folder.path()).unwrap();
        assert_eq!((seen.step, seen.done, seen.total), (Step::Unpack, 0, Some(100)));
        assert!(seen.is_elsewhere && seen.process == std::process::id());
        running.finish();
        drop(shared);
        assert_eq!(read_shared(folder.path()), None);
    }

    #[test]
    fn nonsense_in_the_file_is_no_progress() {
        let folder = tempfile::tempdir().unwrap();
        for nonsense in ["", "{", "[]", "{\"step\": \"dance\"}", "\u{0}\u{0}"] {
            std::fs::write(folder.path().join(FILE), nonsense).unwrap();
            assert_eq!(read_shared(folder.path()), None, "{nonsense:?}");
        }
        std::fs::write(folder.path().join(FILE), "x".repeat(1 << 20)).unwrap();
        assert_eq!(read_shared(folder.path()), None);
    }
}
