//! The host's side of WASI preview 1, over Wardian's own file system.
//!
//! Knows nothing of Python, jobs or host calls. Each function returns an error number for any
//! arguments. Only `proc_exit` and a sleep past the deadline end the guest, by the typed errors
//! [`Exited`] and [`Stopped`](crate::run::deadline::Stopped).
//!
//! INVARIANT(guest-memory-only): a pointer or length that leaves the guest's memory is `EFAULT`;
//! nothing outside is read or written.
//!
//! INVARIANT(bounded-call): no call holds the thread for long: transfers, random bytes, vectors
//! and subscriptions are capped, and every other cost is bounded by a quota.

mod file_clock;
mod files;
mod layout;
mod link;
mod memory;
mod paths;
mod poll;
mod process;

#[cfg(test)]
mod tests;

use std::fmt;

use wasmtime::{Caller, Memory};

use crate::clock_and_random::ClockAndRandom;
use crate::preview1::file_clock::FileClock;
use crate::preview1::memory::GuestMemory;
use crate::run::capture::Capture;
use crate::run::deadline::Deadline;
use crate::vfs::{FileSystem, Timestamp, timestamp};

pub(crate) use crate::preview1::link::link;
#[cfg(test)]
pub(crate) use crate::preview1::process::NulInText;
pub(crate) use crate::preview1::process::StringTable;

/// The state of a store that runs guests.
pub(crate) trait Preview1: 'static {
    /// The process, and the turn that it has; no turn before the first one and after the last.
    fn parts(&mut self) -> (&mut GuestProcess, Option<&mut TurnIo>);

    /// The guest's memory, looked up once when the guest was instantiated; without it every call
    /// answers `EFAULT`.
    fn memory(&self) -> Option<Memory>;

    /// Ends a guest that calls the host although it has used more fuel than it had.
    ///
    /// # Errors
    ///
    /// It has: the trap that ends it.
    fn check_fuel(&self) -> wasmtime::Result<()> {
        Ok(())
    }

    /// Takes fuel for the work of a function, if it is counted.
    ///
    /// # Errors
    ///
    /// The guest has less: the trap that ends it. It has none left then.
    fn charge_fuel(&mut self, _cost: u64) -> wasmtime::Result<()> {
        Ok(())
    }

    /// The fuel that the guest has left, if it is counted.
    fn fuel_left(_caller: &mut Caller<'_, Self>) -> Option<u64>
    where
        Self: Sized,
    {
        None
    }
}

/// The guest ended itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the guest exited with code {code}")]
pub(crate) struct Exited {
    /// The guest's exit code.
    pub code: u32,
}

/// The lasting half of what the functions can reach: the guest as a process. One turn leaves it to
/// the next.
pub(crate) struct GuestProcess {
    /// The guest's files and its open descriptors.
    pub files: FileSystem,
    /// Its clocks and its randomness.
    pub clock_and_random: ClockAndRandom,
    /// `argv`, the program's name first.
    pub arguments: StringTable,
    /// Environment variables, as `NAME=value`.
    pub environment: StringTable,
    file_clock: FileClock,
}

impl GuestProcess {
    /// A process without arguments and environment.
    #[must_use]
    pub(crate) fn new(files: FileSystem, clock_and_random: ClockAndRandom) -> Self {
        let (arguments, environment) = (StringTable::default(), StringTable::default());
        Self { files, clock_and_random, arguments, environment, file_clock: FileClock::default() }
    }

    /// The time of the last change of the file system.
    pub(crate) const fn last_change(&self) -> Timestamp {
        self.file_clock.last()
    }

    /// Sets the time of the last change of the file system.
    pub(crate) const fn go_on_after_change(&mut self, last: Timestamp) {
        self.file_clock = FileClock::after(last);
    }

    /// The time of a change of the file system, later than that of the change before.
    pub(crate) fn now(&mut self) -> Timestamp {
        let step = timestamp(self.clock_and_random.resolution());
        self.file_clock.next(timestamp(self.clock_and_random.realtime()), step)
    }
}

/// Prints sizes only: arguments, environment and files belong to a tenant.
impl fmt::Debug for GuestProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GuestProcess").field("files", &self.files).finish_non_exhaustive()
    }
}

/// The passing half of what the functions can reach: it begins and ends with a turn.
#[derive(Debug)]
pub(crate) struct TurnIo {
    /// The output of the turn.
    pub(crate) capture: Capture,
    /// The end of its time.
    pub deadline: Deadline,
    calls: u64,
    /// The fuel that the present function costs.
    cost: u64,
}

impl TurnIo {
    /// A turn that has done nothing yet.
    #[must_use]
    pub(crate) const fn new(capture: Capture, deadline: Deadline) -> Self {
        Self { capture, deadline, calls: 0, cost: 0 }
    }

    /// The number of functions that the guest has called.
    #[cfg(test)]
    pub(crate) const fn calls(&self) -> u64 {
        self.calls
    }
}

/// One call of the guest: its memory, and both halves of its state.
pub(crate) struct WasiCall<'a> {
    pub memory: GuestMemory<'a>,
    pub process: &'a mut GuestProcess,
    pub turn: &'a mut TurnIo,
}
