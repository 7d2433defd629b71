//! Errors that end a worker.

use std::io;

use crate::link::error::ChannelError;
use crate::lockdown::LockdownError;
use crate::runner::RunnerError;

/// Errors that end a worker.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    /// The engine cannot be loaded or started.
    #[error("the sandbox cannot start")]
    Start(#[source] RunnerError),
    /// The operating system refuses the guest's thread.
    #[error("the guest's thread cannot start")]
    Thread(#[source] io::Error),
    /// A template has more than one thread, so that it must not fork.
    #[error("a process with {threads} threads cannot be a template")]
    Threads {
        /// Their number.
        threads: usize,
    },
    /// The operating system refuses to fork a worker from its template.
    #[error("a worker cannot be forked")]
    Fork(#[source] io::Error),
    /// The process could not be locked down.
    #[error("the worker cannot be locked down")]
    Lockdown(#[from] LockdownError),
    /// The gateway cannot be reached, or its messages cannot be read.
    #[error("the gateway cannot be served")]
    Channel(#[from] ChannelError),
    /// A message that is not allowed at this point.
    #[error("the gateway sent an unexpected message")]
    Unexpected,
    /// The sandbox broke.
    #[error("the sandbox broke")]
    Sandbox(#[source] RunnerError),
    /// A panic; the place was written to stderr.
    #[error("the worker panicked")]
    Panic,
}
