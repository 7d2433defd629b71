//! The interface between the worker's main loop and a sandbox.

use std::any::Any;
use std::error::Error;
use std::fmt;
use std::os::fd::RawFd;

use crate::host::ChannelHost;
use wardian_formats::job::RunSpec;
use wardian_formats::job::attachment::{Attachment, AttachmentKey};
use wardian_formats::job::message::Payload;
use wardian_formats::job::outcome::RunOutcome;

/// The reason why a sandbox cannot continue. The worker ends with it, and the gateway starts
/// another one.
pub(crate) type RunnerError = Box<dyn Error + Send + Sync>;

/// A loaded engine that runs one guest at a time.
///
/// A guest that misbehaves is an outcome. After an `Err` or a panic this process is no longer
/// trusted: it ends, and the run in progress with it.
pub trait Runner: Send {
    /// Its abilities, for the gateway's report.
    fn abilities(&self) -> Abilities;

    /// The descriptors it needs for the rest of its life. All others are closed.
    fn kept_descriptors(&self) -> Vec<RawFd>;

    /// Opens the files that belong to one process. Called in a process that was forked from the one
    /// in which this runner was loaded, before its lock-down.
    fn enter_process(&mut self);

    /// Starts its threads and warms up. Called once, on the thread that will run the guests, after
    /// the first step of the lock-down and before the filter on system calls. Later, no thread can
    /// be started; a thread that is started earlier would not be covered by Landlock.
    ///
    /// # Errors
    ///
    /// The worker ends with it.
    fn start(&mut self) -> Result<(), RunnerError>;

    /// Keeps an attachment. The files of a skill lie within `content`.
    ///
    /// # Errors
    ///
    /// The worker ends with it.
    fn attach(&mut self, attachment: Attachment, content: Payload) -> Result<(), RunnerError>;

    /// Drops an attachment. Does nothing if it is not attached.
    fn detach(&mut self, key: &AttachmentKey);

    /// Checks that another guest may run here. Called after everything of the last guest was
    /// dropped, and before the next message is received.
    ///
    /// # Errors
    ///
    /// The worker ends with it. A run that the gateway has sent meanwhile was not begun.
    fn check(&mut self) -> Result<(), RunnerError>;

    /// Runs one program to its end and cleans up after it.
    ///
    /// # Errors
    ///
    /// The worker ends with it.
    fn run(&mut self, spec: &RunSpec, host: ChannelHost) -> Result<Ended, RunnerError>;
}

/// The abilities of a [`Runner`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Abilities {
    /// Variants of the engine's code that it has, such as `timed`.
    pub code: Vec<String>,
    /// The way in which dirty pages are found, such as `pagemap-scan`.
    pub reset: String,
}

/// The end of one run, with the value that the guest returned.
pub struct Ended {
    /// The outcome.
    pub outcome: RunOutcome,
    /// JSON text of the returned value, if the guest completed.
    pub output: Option<Vec<u8>>,
    /// The rest of the run. It is dropped, and so cleaned up, after the gateway has its answer.
    pub remains: Box<dyn Any>,
}

impl fmt::Debug for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ended").field("end", &self.outcome.end).finish_non_exhaustive()
    }
}
