//! The cgroup of one process: its limits, and what it tells of the end of the process.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::cgroup::place::Controller;
use crate::units::ByteCount;

/// The limits of a cgroup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CgroupLimits {
    /// The memory of its processes, kernel memory and cached files included. There is no swap beyond
    /// it.
    pub memory: ByteCount,
    /// Processes and threads.
    pub processes: u32,
    /// The share of the processors, relative to cgroups next to it: 100 is usual.
    pub weight: u32,
}

/// The shortage of memory for which the kernel has ended a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoryShortage {
    /// The process took more than its own cgroup may.
    OwnLimit,
    /// Something above was short of memory: the service, or the whole machine.
    System,
}

/// The cgroup of one process. It is removed by [`remove`](Self::remove).
#[derive(Debug)]
pub struct ProcessCgroup {
    folder: PathBuf,
    has_ended: AtomicBool,
    shortage: OnceLock<MemoryShortage>,
}

impl ProcessCgroup {
    /// Makes the cgroup. `controllers` are those that its parent has for it.
    pub(super) fn make(
        folder: PathBuf,
        limits: &CgroupLimits,
        controllers: &[Controller],
    ) -> io::Result<Self> {
        fs::create_dir(&folder)?;
        let made = Self { folder, has_ended: AtomicBool::new(false), shortage: OnceLock::new() };
        match made.limit(limits, controllers) {
            Ok(()) => Ok(made),
            Err(error) => {
                fs::remove_dir(&made.folder)?;
                Err(error)
            }
        }
    }

    fn limit(&self, limits: &CgroupLimits, controllers: &[Controller]) -> io::Result<()> {
        if controllers.contains(&Controller::Memory) {
            self.write("memory.max", limits.memory.as_u64())?;
            // A system that does not account for swap has no such file.
            ignore_missing(self.write("memory.swap.max", 0))?;
            // All threads and processes of a worker go at once, or none.
            self.write("memory.oom.group", 1)?;
        }
        if controllers.contains(&Controller::Pids) {
            self.write("pids.max", u64::from(limits.processes))?;
        }
        if controllers.contains(&Controller::Cpu) {
            self.write("cpu.weight", u64::from(limits.weight))?;
        }
        Ok(())
    }

    /// Moves a process here, with all of its threads.
    ///
    /// # Errors
    ///
    /// The system refuses it. A process that has ended meanwhile is not an error.
    pub fn enter(&self, process: u32) -> io::Result<()> {
        match self.write("cgroup.procs", u64::from(process)) {
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => Ok(()),
            moved => moved,
        }
    }

    /// The shortage of memory for which the kernel has ended a process here, if it has. The kernel
    /// counts it before the process ends.
    #[must_use]
    pub fn shortage(&self) -> Option<MemoryShortage> {
        self.note_shortage();
        self.shortage.get().copied()
    }

    fn note_shortage(&self) {
        if self.shortage.get().is_some() {
            return;
        }
        // Without the controller the file does not exist. Once the cgroup is removed there is none
        // either, and what it said was noted before.
        let events = fs::read_to_string(self.folder.join("memory.events"));
        if let Some(found) = events.ok().and_then(|events| shortage_in(&events)) {
            self.shortage.set(found).ok();
        }
    }

    /// Notes that its process has ended, so that it can be removed.
    pub fn note_end(&self) {
        self.note_shortage();
        self.has_ended.store(true, Ordering::Release);
    }

    /// True once its process has ended.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.has_ended.load(Ordering::Acquire)
    }

    /// Ends whatever is in it, and removes it.
    ///
    /// # Errors
    ///
    /// The system refuses it. While a killed process is still ending it does, for a moment.
    pub fn remove(&self) -> io::Result<()> {
        remove(&self.folder)
    }

    /// Its folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    fn write(&self, name: &str, value: u64) -> io::Result<()> {
        write(&self.folder.join(name), &value.to_string())
    }
}

/// Ends the processes of a cgroup, and removes it if it is empty then.
pub(super) fn remove(folder: &Path) -> io::Result<()> {
    // Linux has this file since 5.14. Without it, what is still alive prevents the removal.
    ignore_missing(write(&folder.join("cgroup.kill"), "1"))?;
    ignore_missing(fs::remove_dir(folder))
}

/// Writes to a file of the kernel, which is never made here.
pub(super) fn write(path: &Path, text: &str) -> io::Result<()> {
    File::options().write(true).open(path)?.write_all(text.as_bytes())
}

fn ignore_missing(done: io::Result<()>) -> io::Result<()> {
    match done {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

/// Reads `memory.events`: `oom_kill` counts processes here that were ended for lack of memory,
/// `oom` how often this cgroup itself had none left.
fn shortage_in(events: &str) -> Option<MemoryShortage> {
    let count = |name: &str| {
        let line = events.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.and_then(|number| number.trim().parse::<u64>().ok()).unwrap_or(0)
    };
    match (count("oom_kill"), count("oom")) {
        (0, _) => None,
        (_, 0) => Some(MemoryShortage::System),
        _ => Some(MemoryShortage::OwnLimit),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_kernel_s_counts_tell_whose_memory_was_short() {
        for (events, expected) in [
            ("low 0\nhigh 0\nmax 0\noom 0\noom_kill 0\noom_group_kill 0\n", None),
            ("max 30\noom 2\noom_kill 0\n", None),
            ("max 9\noom 1\noom_kill 1\noom_group_kill 1\n", Some(MemoryShortage::OwnLimit)),
            ("max 0\noom 0\noom_kill 1\n", Some(MemoryShortage::System)),
            ("oom_kill -1\n", None),
            ("", None),
        ] {
            assert_eq!(shortage_in(events), expected, "{events}");
        }
    }

    #[test]
    fn what_was_short_is_known_after_the_cgroup_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let limits = CgroupLimits { memory: ByteCount::mebibytes(1), processes: 1, weight: 100 };
        let cgroup = ProcessCgroup::make(folder.path().join("worker-1"), &limits, &[]).unwrap();
        assert_eq!((cgroup.shortage(), cgroup.has_ended()), (None, false));
        let events = cgroup.folder().join("memory.events");
        fs::write(&events, "oom 1\noom_kill 1\n").unwrap();
        cgroup.note_end();
        fs::remove_file(events).unwrap();
        cgroup.remove().unwrap();
        cgroup.remove().unwrap();
        assert!(!cgroup.folder().try_exists().unwrap());
        assert_eq!(cgroup.shortage(), Some(MemoryShortage::OwnLimit));
    }

    #[test]
    fn a_limit_that_cannot_be_set_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let limits = CgroupLimits { memory: ByteCount::mebibytes(1), processes: 1, weight: 100 };
        let own = folder.path().join("worker-1");
        // A plain folder has no files of the kernel.
        ProcessCgroup::make(own.clone(), &limits, &[Controller::Pids]).unwrap_err();
        assert!(!own.try_exists().unwrap());
    }

    proptest! {
        #[test]
        fn no_count_is_a_panic(text in "([a-z_]{0,9}[ -]{0,2}[0-9]{0,25}\n){0,6}") {
            shortage_in(&text);
        }
    }
}
