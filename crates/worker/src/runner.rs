//! The interface between the worker's main loop and a sandbox.

use std::error::Error;
use std::os::fd::RawFd;
use std::sync::Arc;

use crate::host::ChannelHost;
use wardian_formats::job::attachment::{Attachment, AttachmentKey};
use wardian_formats::job::message::Payload;
use wardian_formats::job::session::files::FilesOrder;
use wardian_formats::job::{Setup, Turn};
use wardian_sandbox::{Pack, PackError, Stopwatch, TurnEnd};

/// The reason why a sandbox cannot continue. The worker ends with it, and the gateway starts
/// another one.
pub(crate) type RunnerError = Box<dyn Error + Send + Sync>;

/// A loaded engine that runs one guest at a time, and keeps others between their turns.
///
/// A guest that misbehaves is an outcome. After an `Err` or a panic this process is no longer
/// trusted: it ends, and the run in progress with it.
pub trait Runner: Send {
    /// A guest between its opening and its closing. Dropping one instead of closing it cleans up as
    /// well, and reports nothing.
    type Guest: 'static;

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

    /// Makes a guest. A guest that cannot be made within its limits is no error: its first turn ends
    /// with the reason.
    ///
    /// # Errors
    ///
    /// The worker ends with it.
    fn open(&mut self, setup: Arc<Setup>) -> Result<Self::Guest, RunnerError>;

    /// Makes a guest in the state that a chain of packs ends with, the oldest pack first. `setup` is as
    /// that of the guest that was parked, up to its limits and environment.
    ///
    /// The inner error says why these packs are refused. Other guests can be made afterwards.
    ///
    /// # Errors
    ///
    /// The worker ends with it.
    fn resume(
        &mut self,
        setup: Arc<Setup>,
        packs: Vec<Payload>,
    ) -> Result<Result<Self::Guest, PackError>, RunnerError>;

    /// Makes a checkpoint of a guest whose last turn has left it whole. The guest can go on. A pack
    /// continues the one before, so it is of use only if all since the last whole one have arrived.
    ///
    /// The inner error says why the guest cannot be parked.
    ///
    /// # Errors
    ///
    /// The worker ends with it.
    fn checkpoint(
        &mut self,
        guest: &mut Self::Guest,
    ) -> Result<Result<Pack, PackError>, RunnerError>;

    /// Runs one program in a guest, to its end. Its time began with `watch`.
    ///
    /// # Errors
    ///
    /// The worker ends with it.
    fn turn(
        &mut self,
        guest: &mut Self::Guest,
        turn: &Turn,
        host: ChannelHost,
        watch: Stopwatch,
    ) -> Result<TurnEnd, RunnerError>;

    /// Does something with the files of a guest, as a turn without a program. The payload is the content of
    /// a file that is written. A change that is refused leaves a guest that cannot go on.
    ///
    /// # Errors
    ///
    /// The worker ends with it.
    fn files(
        &mut self,
        guest: &mut Self::Guest,
        order: (&FilesOrder, Payload),
        host: ChannelHost,
        watch: Stopwatch,
    ) -> Result<TurnEnd, RunnerError>;

    /// Ends a guest and cleans up after it, so that another one may be opened. Called before the next
    /// message is received.
    ///
    /// # Errors
    ///
    /// The worker ends with it. A run that the gateway has sent meanwhile was not begun.
    fn close(&mut self, guest: Self::Guest) -> Result<(), RunnerError>;
}

/// The abilities of a [`Runner`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Abilities {
    /// Variants of the engine's code that it has, such as `timed`.
    pub code: Vec<String>,
    /// The way in which dirty pages are found, such as `pagemap-scan`.
    pub reset: String,
}
