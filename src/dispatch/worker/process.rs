//! The process of a worker, which can be killed.

use std::io;
use std::os::fd::OwnedFd;
use std::process::Child;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// A process that can be killed. Refers to the process itself and not to its number, which the
/// system may have given to another process.
#[derive(Debug)]
pub(crate) struct Process {
    handle: OwnedFd,
    pub(crate) id: u32,
}

impl Process {
    /// The process of `child`, which must not have been waited for.
    pub(crate) fn of(child: &Child) -> io::Result<Self> {
        let id = child.id();
        let raw = i32::try_from(id).ok().and_then(Pid::from_raw);
        let handle = pidfd_open(raw.ok_or(io::ErrorKind::InvalidInput)?, PidfdFlags::empty())?;
        Ok(Self { handle, id })
    }

    /// Kills the process. Does nothing if it has ended.
    pub(crate) fn kill(&self) {
        // The only other error, missing permission, cannot occur for a child of this process.
        pidfd_send_signal(&self.handle, Signal::KILL).ok();
    }
}
