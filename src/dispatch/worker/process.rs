//! The process of a worker, to be killed.

use std::io;
use std::os::fd::OwnedFd;
use std::process::Child;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// A process that can be killed. Refers to the process itself, not to its number, which another
/// process could have by now.
#[derive(Debug)]
pub(crate) struct Process {
    handle: OwnedFd,
    pub(crate) id: u32,
}

impl Process {
    /// `child` must not have been waited for.
    pub(crate) fn of(child: &Child) -> io::Result<Self> {
        let id = child.id();
        let raw = i32::try_from(id).ok().and_then(Pid::from_raw);
        let handle = pidfd_open(raw.ok_or(io::ErrorKind::InvalidInput)?, PidfdFlags::empty())?;
        Ok(Self { handle, id })
    }

    /// Ends the process at once. One that has ended already is no error.
    pub(crate) fn kill(&self) {
        // The only other error would be a lack of rights over our own child.
        pidfd_send_signal(&self.handle, Signal::KILL).ok();
    }
}
