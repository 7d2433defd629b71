//! A worker process that was just started or forked.

use std::os::fd::OwnedFd;

use crate::worker::process::Process;

/// A process that was just started or forked.
#[derive(Debug)]
pub(crate) struct Spawned {
    /// The gateway's end of its socket.
    pub socket: OwnedFd,
    /// The reading end of its standard error.
    pub stderr: Option<OwnedFd>,
    pub process: Process,
}

impl Spawned {
    /// Ends the process.
    pub(crate) fn discard(self) {
        self.process.kill();
        // The process was killed, so this returns soon; without it a zombie would stay.
        self.process.reap().ok();
        if let Some(cgroup) = &self.process.cgroup {
            cgroup.note_end();
        }
    }
}
