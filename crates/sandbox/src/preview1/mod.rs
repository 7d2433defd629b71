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
    /// The run's WASI state.
    fn wasi(&mut self) -> &mut Wasi;

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

/// Everything that WASI functions of one run can reach.
pub(crate) struct Wasi {
    /// The guest's files.
    pub files: FileSystem,
    /// The guest's output.
    pub(crate) capture: Capture,
    /// Its clocks and its randomness.
    pub clock_and_random: ClockAndRandom,
    /// The end of its time.
    pub deadline: Deadline,
    /// `argv`, the program's name first.
    pub arguments: StringTable,
    /// Environment variables, as `NAME=value`.
    pub environment: StringTable,
    file_clock: FileClock,
    calls: u64,
    /// The fuel that the present function costs.
    cost: u64,
}

impl Wasi {
    /// The state of a run without arguments and environment.
    #[must_use]
    pub(crate) fn new(
        files: FileSystem,
        capture: Capture,
        clock_and_random: ClockAndRandom,
        deadline: Deadline,
    ) -> Self {
        let (arguments, environment) = (StringTable::default(), StringTable::default());
        let file_clock = FileClock::default();
        Self {
            files,
            capture,
            clock_and_random,
            deadline,
            arguments,
            environment,
            file_clock,
            calls: 0,
            cost: 0,
        }
    }

    /// The number of functions that the guest has called.
    #[cfg(test)]
    pub(crate) const fn calls(&self) -> u64 {
        self.calls
    }

    /// The time of a change of the file system, later than that of the change before.
    pub(crate) fn now(&mut self) -> Timestamp {
        let step = timestamp(self.clock_and_random.resolution());
        self.file_clock.next(timestamp(self.clock_and_random.realtime()), step)
    }
}

/// Prints sizes only: arguments, environment, output and files belong to a tenant.
impl fmt::Debug for Wasi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wasi")
            .field("files", &self.files)
            .field("capture", &self.capture)
            .field("deadline", &self.deadline)
            .field("calls", &self.calls)
            .finish_non_exhaustive()
    }
}

/// One call of the guest: its memory and the run's state.
pub(crate) struct WasiCall<'a> {
    pub memory: GuestMemory<'a>,
    pub wasi: &'a mut Wasi,
}
