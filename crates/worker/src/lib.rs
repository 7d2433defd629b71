//! The process around a sandbox: it loads an engine, locks itself down, and then runs the programs
//! that the gateway sends, one guest at a time.
//!
//! Knows nothing of wasm: its interface to a sandbox is the trait [`Runner`]. It has no access to
//! files, network or tenants' secrets, except for the content of the present run.
//!
//! INVARIANT(fail-stop): after an error or a panic the process ends. It never runs another guest in
//! an unknown state; the gateway starts a fresh worker instead.
//! INVARIANT(one-guest): a worker has at most one guest: a second is not opened before the first is
//! closed.
//! INVARIANT(ends-with-gateway): an idle or busy worker ends when its gateway is gone.
//!
//! # Why one thread does everything
//!
//! The thread that runs the guest also reads and writes the socket. A second thread for the socket
//! would add two wake-ups to every run and every host call. The sandbox's watchdog thread wakes up
//! periodically during a long run and calls
//! [`Host::is_cancelled`](wardian_formats::job::host::Host::is_cancelled), which looks at the socket. If a
//! guest is not stopped in this way, the gateway kills the process.

mod attend;
mod error;
pub mod host;
mod landlock_rules;
pub mod link;
pub mod lockdown;
mod panics;
pub mod python;
pub mod runner;
#[cfg(any(test, feature = "testing"))]
pub mod scripted;
mod serve;
mod syscalls;
pub mod template;

pub use crate::attend::attend;
pub use crate::error::WorkerError;
pub use crate::link::channel::Channel;
pub use crate::lockdown::{LockdownPlan, MissingWalls};
pub use crate::runner::Runner;
pub use crate::serve::{serve, serve_forks, socket_from_standard_input};
pub use wardian_sandbox::GUEST_STACK;
