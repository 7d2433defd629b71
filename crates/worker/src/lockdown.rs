//! The lock-down of a worker: the rights that it gives up before it runs its first guest.
//!
//! The first wall is WebAssembly. A guest that escapes from it is in a process without files,
//! network, children, privileges, or a way to make new machine code. Only the socket to the gateway
//! is left, and the gateway checks everything that it receives there.
//!
//! There are two steps. [`isolate`] runs while the process has one thread and all its files are
//! open; later threads inherit its changes. [`seal`] runs when all threads exist, and filters the
//! system calls of all of them at once.
//!
//! INVARIANT(never-root): after [`isolate`] the process is not root and cannot become root.
//!
//! # Why some walls may be missing
//!
//! Kernels and containers differ. A wall that cannot be built is reported to the operator with its
//! reason, or is an error if the plan requires all walls. Running as root is always an error, and
//! so is running without the filter on system calls, which every supported kernel has.
//!
//! INVARIANT(always-filtered): no guest runs in a process without the filter, in any configuration.

use std::fmt;
use std::os::fd::RawFd;
use std::{fs, io};

use rustix::process::{DumpableBehavior, Resource, Rlimit, Signal};
use rustix::thread::{CapabilitySet, CapabilitySets};

use crate::landlock_rules::{close_file_system, leave_own_processes};
use crate::syscalls;
use wardian_vocabulary::units::ByteCount;

/// Uid and gid of `nobody` on nearly all systems.
const NOBODY: u32 = 65_534;

/// Open files. A run needs at most 384 for its attachments: 64 skills with their bytecode and 256
/// blobs, or one skill with its bytecode and 320 blobs; and at most 130 for the layers of 64 skills
/// with their bytecode and the batteries. Guests that are kept between their turns use at most 256 more. The
/// rest is for images and the channel. The filter on system calls bounds memory files independently of this
/// limit.
const OPEN_FILES: u64 = 896;

/// The reaction to a wall that this machine does not offer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MissingWalls {
    /// Report it and continue.
    #[default]
    Report,
    /// Do not run guests.
    Refuse,
}

/// The plan of a worker's lock-down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LockdownPlan {
    /// User to become if started as root. Default 65534 (`nobody`).
    pub uid: u32,
    /// Group to become if started as root. Default 65534.
    pub gid: u32,
    /// Private memory of the whole process, images, guest and the
    /// [guest's stack](crate::GUEST_STACK) included: beyond it the guest sees
    /// `MemoryError`. Default none.
    pub memory: Option<ByteCount>,
    /// Address space of the whole process, most of which is not backed by memory. It bounds the
    /// memory of a compromised worker even if that changes the protection of mappings. Default
    /// none.
    pub addresses: Option<ByteCount>,
    /// Largest memory file that the worker can make. Default 1 GiB, as for any payload.
    pub file_size: ByteCount,
    /// The reaction to a wall that cannot be built. Default: report it.
    pub missing_walls: MissingWalls,
}

impl Default for LockdownPlan {
    fn default() -> Self {
        Self {
            uid: NOBODY,
            gid: NOBODY,
            memory: None,
            addresses: None,
            file_size: wardian_formats::job::message::PAYLOAD_MAX,
            missing_walls: MissingWalls::Report,
        }
    }
}

/// One part of the lock-down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wall {
    /// Only the needed descriptors are open.
    Descriptors,
    /// The kernel ends this process before others when memory is short.
    FirstToGo,
    /// No core files, few open files, bounded memory and memory files.
    ResourceLimits,
    /// Not root, no groups, and no capabilities.
    Unprivileged,
    /// No other process of this user can read its memory.
    NotDumpable,
    /// The kernel kills it when the thread that started it ends.
    DiesWithParent,
    /// Executing a program cannot give it privileges.
    NoNewPrivileges,
    /// No file system, no TCP, no signals to others.
    Landlock,
    /// No new processes or threads.
    NoChildren,
    /// Only the system calls of [`syscalls`] are allowed.
    SystemCalls,
}

impl fmt::Display for Wall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Descriptors => "closed-descriptors",
            Self::FirstToGo => "first-to-go",
            Self::ResourceLimits => "resource-limits",
            Self::Unprivileged => "unprivileged",
            Self::NotDumpable => "not-dumpable",
            Self::DiesWithParent => "dies-with-parent",
            Self::NoNewPrivileges => "no-new-privileges",
            Self::Landlock => "landlock",
            Self::NoChildren => "no-children",
            Self::SystemCalls => "seccomp",
        })
    }
}

/// The walls that stand.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct LockdownReport {
    /// Walls that stand.
    pub active: Vec<Wall>,
    /// Walls that could not be built, each with the reason.
    pub missing: Vec<(Wall, String)>,
    /// Walls that stand and have a gap, each with its description. Another wall covers each gap.
    pub partial: Vec<(Wall, String)>,
    /// True if huge pages are disabled for this process.
    pub(crate) has_small_pages: bool,
}

impl LockdownReport {
    fn note(&mut self, wall: Wall, built: Result<(), impl fmt::Display>) {
        match built {
            Ok(()) => self.active.push(wall),
            Err(reason) => self.missing.push((wall, reason.to_string())),
        }
    }

    fn ensure_allowed_by(&self, plan: &LockdownPlan) -> Result<(), LockdownError> {
        let is_filter = |(wall, _): &&(Wall, String)| *wall == Wall::SystemCalls;
        if let Some((wall, reason)) = self.missing.iter().find(is_filter) {
            return Err(LockdownError::Missing { wall: *wall, reason: reason.clone() });
        }
        match (plan.missing_walls, self.missing.first()) {
            (MissingWalls::Refuse, Some((wall, reason))) => {
                Err(LockdownError::Missing { wall: *wall, reason: reason.clone() })
            }
            _ => Ok(()),
        }
    }
}

/// The reason why this process must not run guests.
#[derive(Debug, thiserror::Error)]
pub enum LockdownError {
    /// Guests never run as root.
    #[error("a worker must not run guests as root and cannot become user {uid}")]
    Root {
        /// The user it should have become.
        uid: u32,
        /// The reason why it could not.
        #[source]
        cause: io::Error,
    },
    /// The plan asks for root.
    #[error("a worker must not run guests as root: choose a user and group other than 0")]
    RootWanted,
    /// A wall is missing, and the plan demands all of them.
    #[error("`{wall}` is missing: {reason}")]
    Missing {
        /// The name of the wall.
        wall: Wall,
        /// The reason.
        reason: String,
    },
}

/// First step: all walls that later threads inherit.
///
/// Call it from the only thread, when every file is open. Descriptors that are not in `keep` are
/// closed, except for standard output and standard error.
///
/// # Errors
///
/// The process would stay root, or the plan demands a wall that cannot be built.
pub(crate) fn isolate(
    plan: &LockdownPlan,
    keep: &[RawFd],
) -> Result<LockdownReport, LockdownError> {
    let mut report = LockdownReport::default();
    report.note(Wall::Descriptors, close_all_but(keep));
    report.note(Wall::FirstToGo, go_first());
    report.note(Wall::ResourceLimits, limit_resources(plan));
    drop_root(plan)?;
    report.note(Wall::Unprivileged, drop_capabilities());
    // After the change of user, which resets both.
    report.note(
        Wall::NotDumpable,
        rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable),
    );
    report.note(
        Wall::DiesWithParent,
        rustix::process::set_parent_process_death_signal(Some(Signal::KILL)),
    );
    report.note(Wall::NoNewPrivileges, rustix::thread::set_no_new_privs(true));
    match close_file_system() {
        Ok(gap) => {
            report.active.push(Wall::Landlock);
            report.partial.extend(gap.map(|gap| (Wall::Landlock, gap)));
        }
        Err(reason) => report.missing.push((Wall::Landlock, reason)),
    }
    // Not a wall: a reset is correct with huge pages too, only slower.
    report.has_small_pages = rustix::thread::disable_transparent_huge_pages(true).is_ok();
    report.ensure_allowed_by(plan)?;
    Ok(report)
}

/// The lock-down of a template: everything but what its workers need for their own first steps,
/// which are files of `/proc`, threads, and processes like itself.
///
/// Call it as [`isolate`].
///
/// # Errors
///
/// The process would stay root, or a wall cannot be built. A template is never needed, so it has
/// all of its walls or is none.
pub(crate) fn isolate_template(plan: &LockdownPlan, keep: &[RawFd]) -> Result<(), LockdownError> {
    let mut report = LockdownReport::default();
    report.note(Wall::Descriptors, close_all_but(keep));
    report.note(Wall::ResourceLimits, limit_resources(plan));
    drop_root(plan)?;
    report.note(Wall::Unprivileged, drop_capabilities());
    let not_dumpable = DumpableBehavior::NotDumpable;
    report.note(Wall::NotDumpable, rustix::process::set_dumpable_behavior(not_dumpable));
    let killed = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
    report.note(Wall::DiesWithParent, killed);
    report.note(Wall::NoNewPrivileges, rustix::thread::set_no_new_privs(true));
    // Without Landlock its workers would not have it either, and say so.
    if let Err(reason) = leave_own_processes() {
        report.partial.push((Wall::Landlock, reason));
    }
    report.note(Wall::SystemCalls, syscalls::restrict_template());
    match report.missing.into_iter().next() {
        Some((wall, reason)) => Err(LockdownError::Missing { wall, reason }),
        None => Ok(()),
    }
}

/// Second step: the filter on system calls, for all threads. `channel` is the descriptor of the
/// socket, `outbox` the only descriptor under which memory files can be written.
///
/// # Errors
///
/// The plan demands a wall that cannot be built.
pub(crate) fn seal(
    plan: &LockdownPlan,
    mut report: LockdownReport,
    channel: RawFd,
    outbox: RawFd,
) -> Result<LockdownReport, LockdownError> {
    report.note(Wall::NoChildren, set_limit(Resource::Nproc, 0));
    report.note(Wall::SystemCalls, filter_system_calls(channel, outbox));
    report.ensure_allowed_by(plan)?;
    Ok(report)
}

/// Closes everything but `keep`, standard output and standard error.
fn close_all_but(keep: &[RawFd]) -> io::Result<()> {
    let mut kept: Vec<u32> = keep.iter().filter_map(|fd| u32::try_from(*fd).ok()).collect();
    kept.extend([1, 2]);
    kept.sort_unstable();
    kept.dedup();
    let mut first = 0;
    for open in kept {
        if first < open {
            close_range(first, open.saturating_sub(1))?;
        }
        first = open.saturating_add(1);
    }
    close_range(first, u32::MAX)
}

/// Lets the kernel end this process before the gateway, whose inclination to be ended it has inherited.
fn go_first() -> io::Result<()> {
    const PLACE: &str = "/proc/self/oom_score_adj";
    let own = fs::read_to_string(PLACE)?.trim().parse().unwrap_or_default();
    let Some(wanted) = before(own) else {
        let message = format!("the server goes first as well: its `oom_score_adj` is {own}");
        return Err(io::Error::other(message));
    };
    fs::write(PLACE, wanted.to_string())
}

/// An inclination above this one; `None` if there is none.
const fn before(own: i32) -> Option<i32> {
    const USUAL: i32 = 500;
    const MOST: i32 = 1_000;
    match own {
        MOST.. => None,
        USUAL..MOST => Some(MOST),
        _ => Some(USUAL),
    }
}

#[expect(unsafe_code, reason = "no safe wrapper exists, because closing breaks others' ownership")]
fn close_range(first: u32, last: u32) -> io::Result<()> {
    // SAFETY: the arguments are plain numbers. The owner of a closed descriptor loses it; this is
    // the purpose and is documented at `isolate`.
    let result = unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn limit_resources(plan: &LockdownPlan) -> io::Result<()> {
    set_limit(Resource::Core, 0)?;
    set_limit(Resource::Nofile, OPEN_FILES)?;
    set_limit(Resource::Fsize, plan.file_size.as_u64())?;
    if let Some(memory) = plan.memory {
        set_limit(Resource::Data, memory.as_u64())?;
    }
    if let Some(addresses) = plan.addresses {
        set_limit(Resource::As, addresses.as_u64())?;
    }
    Ok(())
}

/// Lowers a limit permanently. A lower present limit stays.
fn set_limit(resource: Resource, most: u64) -> io::Result<()> {
    let now = rustix::process::getrlimit(resource);
    let most = now.maximum.map_or(most, |maximum| maximum.min(most));
    rustix::process::setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })?;
    Ok(())
}

/// Becomes the plan's user if this is root.
fn drop_root(plan: &LockdownPlan) -> Result<(), LockdownError> {
    if !is_root() {
        return Ok(());
    }
    if plan.uid == 0 || plan.gid == 0 {
        return Err(LockdownError::RootWanted);
    }
    let refused = |cause| LockdownError::Root { uid: plan.uid, cause };
    become_user(plan.uid, plan.gid).map_err(refused)?;
    if is_root() {
        return Err(refused(io::Error::from(io::ErrorKind::PermissionDenied)));
    }
    Ok(())
}

fn is_root() -> bool {
    use rustix::process::{getegid, geteuid, getgid, getuid};
    getuid().is_root() || geteuid().is_root() || getgid().is_root() || getegid().is_root()
}

/// Changes user and group permanently. The C library's functions change them for all threads; the
/// bare system calls would change only this thread.
#[expect(unsafe_code, reason = "safe wrappers exist only for one thread")]
fn become_user(uid: u32, gid: u32) -> io::Result<()> {
    let done = |result: libc::c_int| {
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    };
    // SAFETY: an empty list is read from nowhere.
    done(unsafe { libc::setgroups(0, std::ptr::null()) })?;
    // SAFETY: the arguments are plain numbers.
    done(unsafe { libc::setresgid(gid, gid, gid) })?;
    // SAFETY: the arguments are plain numbers.
    done(unsafe { libc::setresuid(uid, uid, uid) })
}

fn drop_capabilities() -> io::Result<()> {
    let none = CapabilitySet::empty();
    rustix::thread::clear_ambient_capability_set()?;
    let sets = CapabilitySets { effective: none, permitted: none, inheritable: none };
    rustix::thread::set_capabilities(None, sets)?;
    Ok(())
}

/// The number of threads of this process.
pub(super) fn count_threads() -> io::Result<usize> {
    Ok(fs::read_dir("/proc/self/task")?.count())
}

fn filter_system_calls(channel: RawFd, outbox: RawFd) -> Result<(), seccompiler::Error> {
    let filter = syscalls::filter(std::process::id(), channel, outbox)?;
    seccompiler::apply_filter_all_threads(&filter)
}

#[cfg(test)]
#[path = "lockdown_tests.rs"]
mod tests;
