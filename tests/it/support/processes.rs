//! Observes processes: children, memory, and their end.

use std::fs;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// A process that cannot be mistaken for another, even when its number is used again.
#[derive(Debug)]
pub(crate) struct Watched {
    pub(crate) id: u32,
    handle: OwnedFd,
}

impl Watched {
    /// The process of this number; nothing if it has ended and is forgotten.
    pub(crate) fn of(id: u32) -> Option<Self> {
        let pid = Pid::from_raw(i32::try_from(id).unwrap())?;
        let handle = pidfd_open(pid, PidfdFlags::empty()).ok()?;
        Some(Self { id, handle })
    }

    /// The processes that this one has started and that are still there.
    pub(crate) fn children(&self) -> Vec<Self> {
        let processes = fs::read_dir("/proc").unwrap().filter_map(|entry| {
            entry.unwrap().file_name().to_str().and_then(|name| name.parse::<u32>().ok())
        });
        processes.filter(|id| parent_of(*id) == Some(self.id)).filter_map(Self::of).collect()
    }

    /// A figure of `/proc/PID/status` such as `VmRSS`, in bytes.
    pub(crate) fn memory(&self, name: &str) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.id)).unwrap();
        let line = status.lines().find(|line| line.split(':').next() == Some(name)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() << 10
    }

    /// Waits until the process ends, or until there is no more patience.
    pub(crate) fn ends_within(&self, patience: Duration) -> bool {
        let mut events = [PollFd::new(&self.handle, PollFlags::IN)];
        let timeout = Timespec::try_from(patience).unwrap();
        poll(&mut events, Some(&timeout)).unwrap() > 0
    }

    /// Asks the process to end.
    pub(crate) fn terminate(&self) {
        self.signal(Signal::TERM);
    }

    /// Interrupts the process, as Ctrl-C in a terminal does.
    pub(crate) fn interrupt(&self) {
        self.signal(Signal::INT);
    }

    /// Asks the process to read its configuration again.
    pub(crate) fn hang_up(&self) {
        self.signal(Signal::HUP);
    }

    /// Ends the process without asking.
    pub(crate) fn kill(&self) {
        self.signal(Signal::KILL);
    }

    fn signal(&self, signal: Signal) {
        // One that has ended already needs no signal.
        pidfd_send_signal(&self.handle, signal).ok();
    }
}

/// The fourth field of `stat`, behind the name, which may hold anything.
fn parent_of(id: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    let behind_name = stat.rsplit_once(')')?.1;
    behind_name.split_whitespace().nth(1)?.parse().ok()
}
