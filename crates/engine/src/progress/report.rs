//! How far a step is: in per cent, and with the time that is left at the speed so far.

use std::fmt;
use std::io::Write;
use std::process;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use crate::progress::{Progress, Step, StepEnd};

/// The time after which the speed of a step is known well enough.
const MEASURED: Duration = Duration::from_secs(3);

/// The shortest time between two messages to another process.
const PAUSE: Duration = Duration::from_millis(300);

/// How far a step is. Processes send this to each other as one line of JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepReport {
    /// The step.
    pub step: Step,
    /// The process that does the work.
    pub process: u32,
    /// True if that is another process than the one that reports it, which waits for the work.
    #[serde(default)]
    pub is_elsewhere: bool,
    /// Bytes or functions that are done.
    pub done: u64,
    /// Bytes or functions of the whole step, if that is known.
    pub total: Option<u64>,
    /// Milliseconds that are left at the speed so far, once that was measured.
    pub remaining_ms: Option<u64>,
}

impl StepReport {
    /// The report of a step of this process that has been going on for `elapsed`.
    #[must_use]
    pub fn new(step: Step, total: Option<u64>, done: u64, elapsed: Duration) -> Self {
        let remaining_ms = total.and_then(|total| remaining(total, done, elapsed));
        Self { step, process: process::id(), is_elsewhere: false, done, total, remaining_ms }
    }

    /// The share that is done, from 0 to 99: a step that is over is not reported.
    #[must_use]
    pub fn percent(&self) -> Option<u8> {
        let total = self.total?.max(1);
        let percent = self.done.saturating_mul(100).checked_div(total)?.min(99);
        u8::try_from(percent).ok()
    }

    /// The time that is left at the speed so far.
    #[must_use]
    pub fn remaining(&self) -> Option<Duration> {
        self.remaining_ms.map(Duration::from_millis)
    }
}

/// The milliseconds that the rest of a step takes at the same speed.
fn remaining(total: u64, done: u64, elapsed: Duration) -> Option<u64> {
    let left = total.saturating_sub(done);
    if elapsed < MEASURED || done == 0 {
        return None;
    }
    let elapsed = elapsed.as_millis();
    let left = elapsed.saturating_mul(u128::from(left)).checked_div(u128::from(done))?;
    u64::try_from(left).ok()
}

/// `compiling the engine: 40 %, about 2 minutes left`.
impl fmt::Display for StepReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.is_elsewhere {
            true => write!(f, "another process is {}", self.step.doing())?,
            false => f.write_str(self.step.doing())?,
        }
        if let Some(percent) = self.percent() {
            write!(f, ": {percent} %")?;
        }
        match self.remaining() {
            Some(left) => write!(f, ", {} left", TimeLeft(left)),
            None => Ok(()),
        }
    }
}

/// A time that was estimated, in words as coarse as it is.
pub(super) struct TimeLeft(pub(super) Duration);

impl fmt::Display for TimeLeft {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_secs() {
            0..=9 => f.write_str("a few seconds"),
            seconds @ 10..=89 => write!(f, "about {} s", seconds.div_ceil(5).saturating_mul(5)),
            seconds => write!(f, "about {} minutes", seconds.div_ceil(60)),
        }
    }
}

/// Writes each report as a line of JSON: for the process that started this one.
#[derive(Debug)]
pub struct Reports<W>(Mutex<(W, Option<Instant>)>);

impl<W: Write + Send> Reports<W> {
    /// Writes to `out`.
    pub const fn new(out: W) -> Self {
        Self(Mutex::new((out, None)))
    }

    fn send(&self, report: &StepReport) {
        let Ok(line) = serde_json::to_string(report) else { return };
        let (out, last) = &mut *self.0.lock();
        *last = Some(Instant::now());
        // The reader may have gone away; the work continues.
        writeln!(out, "{line}").and_then(|()| out.flush()).ok();
    }
}

impl<W: Write + Send> Progress for Reports<W> {
    fn begin(&self, report: &StepReport) {
        self.send(report);
    }

    fn advance(&self, report: &StepReport) {
        if self.0.lock().1.is_none_or(|last| last.elapsed() >= PAUSE) {
            self.send(report);
        }
    }

    fn end(&self, _step: Step, _ending: StepEnd) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::instrumentation::Variant;

    const COMPILE: Step = Step::Compile(Variant::Timed);

    fn told(done: u64, elapsed: u64) -> String {
        StepReport::new(COMPILE, Some(1000), done, Duration::from_secs(elapsed)).to_string()
    }

    #[test]
    fn the_time_that_is_left_follows_from_the_speed_so_far() {
        assert_eq!(told(0, 0), "compiling the engine: 0 %");
        assert_eq!(told(10, 2), "compiling the engine: 1 %");
        assert_eq!(told(100, 31), "compiling the engine: 10 %, about 5 minutes left");
        assert_eq!(told(400, 124), "compiling the engine: 40 %, about 4 minutes left");
        assert_eq!(told(800, 248), "compiling the engine: 80 %, about 65 s left");
        assert_eq!(told(990, 300), "compiling the engine: 99 %, a few seconds left");
        assert_eq!(told(1000, 310), "compiling the engine: 99 %, a few seconds left");
        assert_eq!(told(2000, 310), "compiling the engine: 99 %, a few seconds left");
        let unknown = StepReport::new(Step::Fetch, None, 0, Duration::from_secs(9));
        assert_eq!(unknown.to_string(), "fetching the engine");
        let nothing = StepReport::new(Step::Unpack, Some(0), 0, Duration::from_secs(9));
        assert_eq!(nothing.to_string(), "unpacking the engine: 0 %");
    }

    #[test]
    fn a_report_survives_the_way_to_another_process() {
        let reports = Reports::new(Vec::new());
        let sent = StepReport::new(COMPILE, Some(1000), 400, Duration::from_secs(124));
        reports.begin(&sent);
        // Too soon after the last one.
        reports.advance(&sent);
        let text = String::from_utf8(reports.0.into_inner().0).unwrap();
        assert_eq!(text.lines().count(), 1, "{text}");
        let read: StepReport = serde_json::from_str(&text).unwrap();
        assert_eq!(read, sent);
        let elsewhere = StepReport { is_elsewhere: true, process: 7, ..read };
        assert_eq!(
            elsewhere.to_string(),
            "another process is compiling the engine: 40 %, about 4 minutes left"
        );
    }
}
