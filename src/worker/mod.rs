//! The process around a sandbox: it loads an engine, locks itself down, and then runs what
//! the gateway sends, one guest at a time.
//!
//! Knows nothing of wasm: what it needs from a sandbox is the trait [`Runner`]. Nor does it
//! know files, network or tenants' secrets, beyond what one run brings along.
//!
//! INVARIANT(fail-stop): after an error or a panic the process ends. It never runs another guest
//! in an unforeseen state; the gateway starts a fresh worker instead.
//! INVARIANT(ends-with-gateway): a worker whose gateway is gone ends, idle or busy.
//!
//! # Why one thread does everything
//!
//! The thread that runs the guest also reads and writes the socket. A thread of its own for the
//! socket would add two wake-ups to every run and every host call. The sandbox has a thread that
//! stops endless loops, which wakes up now and then during a long run and asks
//! [`Host::is_cancelled`](crate::job::host::Host::is_cancelled), which looks at the socket. A guest
//! that is not stopped in this way is stopped by the gateway, which kills the process.

mod attend;
mod error;
pub mod host;
mod landlock_rules;
pub mod link;
pub mod lockdown;
mod panics;
pub mod python;
pub mod runner;
#[cfg(test)]
pub(crate) mod scripted;
mod serve;
mod syscalls;

pub use crate::worker::attend::attend;
pub use crate::worker::error::WorkerError;
pub use crate::worker::host::ChannelHost;
pub use crate::worker::link::channel::Channel;
pub use crate::worker::link::error::ChannelError;
pub use crate::worker::lockdown::{LockdownError, LockdownPlan, LockdownReport, MissingWalls};
pub use crate::worker::runner::{Abilities, Ended, Runner, RunnerError};
pub use crate::worker::serve::{GUEST_STACK, serve, socket_from_standard_input};
