//! The process of a worker or a template: a child of this process, which can be killed and waited
//! for.

use std::fs;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, ExitStatus};
use std::sync::Arc;

use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, WaitIdStatus, pidfd_open, pidfd_send_signal,
    waitid,
};

use wardian_vocabulary::cgroup::{MemoryShortage, ProcessCgroup};

/// Bytes of a page, in which the kernel counts memory. Machines with others cannot run guests.
const PAGE: u64 = 4096;

/// A child of this process. Refers to the process itself and not to its number, which the system
/// may give to another process after it was waited for.
#[derive(Debug)]
pub(crate) struct Process {
    handle: OwnedFd,
    pub id: u32,
    /// True if it was forked from a template.
    pub(crate) is_forked: bool,
    /// Its cgroup, if it has one of its own.
    pub cgroup: Option<Arc<ProcessCgroup>>,
}

impl Process {
    /// The process of `child`, which must not have been waited for.
    pub(crate) fn of(child: &Child) -> io::Result<Self> {
        let raw = i32::try_from(child.id()).ok();
        Self::open(raw.ok_or(io::ErrorKind::InvalidInput)?, false)
    }

    /// The process of this number, which a template has forked as a child of this process.
    pub(crate) fn forked(id: i32) -> io::Result<Self> {
        Self::open(id, true)
    }

    fn open(id: i32, is_forked: bool) -> io::Result<Self> {
        let pid = Pid::from_raw(id).filter(|_| id > 0).ok_or(io::ErrorKind::InvalidInput)?;
        let handle = pidfd_open(pid, PidfdFlags::empty())?;
        let process = Self { handle, id: id.unsigned_abs(), is_forked, cgroup: None };
        // Fails if it is not a child of this process.
        process.wait(WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT)?;
        Ok(process)
    }

    /// Kills the process. Does nothing if it has ended.
    pub(crate) fn kill(&self) {
        // The only other error, missing permission, cannot occur for a child of this process.
        pidfd_send_signal(&self.handle, Signal::KILL).ok();
    }

    /// The memory that the process takes and shares with no other one, as the kernel counts it; none if
    /// that is not shown. The kernel is asked, because a worker that was taken over would tell what it likes.
    pub(crate) fn private_memory(&self) -> Option<u64> {
        let text = fs::read_to_string(format!("/proc/{}/statm", self.id)).ok()?;
        let mut fields = text.split_ascii_whitespace().skip(1).map(str::parse::<u64>);
        let (resident, shared) = (fields.next()?.ok()?, fields.next()?.ok()?);
        resident.checked_sub(shared)?.checked_mul(PAGE)
    }

    /// The shortage of memory for which the kernel has ended the process, if it is known to have.
    pub(crate) fn memory_shortage(&self) -> Option<MemoryShortage> {
        self.cgroup.as_ref()?.shortage()
    }

    /// Waits for the end of the process, which blocks this thread, and returns its status.
    pub(crate) fn reap(&self) -> io::Result<ExitStatus> {
        let status = self.wait(WaitIdOptions::empty())?;
        Ok(status.unwrap_or_else(|| ExitStatus::from_raw(0)))
    }

    /// The status of the process if it has ended. It is returned once.
    pub(crate) fn try_reap(&self) -> io::Result<Option<ExitStatus>> {
        self.wait(WaitIdOptions::NOHANG)
    }

    fn wait(&self, options: WaitIdOptions) -> io::Result<Option<ExitStatus>> {
        let id = WaitId::PidFd(self.handle.as_fd());
        let status =
            rustix::io::retry_on_intr(|| waitid(id.clone(), options | WaitIdOptions::EXITED))?;
        Ok(status.as_ref().map(exit_status))
    }
}

/// The status as `wait` encodes it.
fn exit_status(status: &WaitIdStatus) -> ExitStatus {
    const CORE: i32 = 0x80;
    let core = if status.dumped() { CORE } else { 0 };
    let raw = match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => code << 8,
        (None, signal) => signal.unwrap_or_default() | core,
    };
    ExitStatus::from_raw(raw)
}
