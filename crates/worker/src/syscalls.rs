//! The system calls that a locked-down worker may still make.
//!
//! This is an allow-list: every other call fails with `EPERM`. That is as secure as killing the
//! process, and a C library that tries a new system call can fall back to an old one.
//!
//! INVARIANT(no-new-code): memory can neither be mapped nor made executable, so that an attacker
//! who escapes from the sandbox cannot add machine code.
//! INVARIANT(one-memory-file): at most one memory file can hold bytes of this process at a time.
//! Files can be written under one descriptor only, the [outbox](crate::link::outbox), and
//! the file there can be neither duplicated nor mapped. Mapped memory is never shared, so the
//! limits on private memory cover all of it.

use std::collections::BTreeMap;
use std::os::fd::RawFd;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};

/// Calls that are harmless with any arguments: they reach only resources that the process has.
const ALLOWED: &[libc::c_long] = &[
    // open descriptors: images, attached content, the log pipe
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_pread64,
    libc::SYS_lseek,
    libc::SYS_fstat,
    libc::SYS_close,
    libc::SYS_ppoll,
    // memory
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_madvise,
    libc::SYS_brk,
    libc::SYS_memfd_create,
    // threads: those that exist, and the first steps of one that was just being started
    libc::SYS_futex,
    libc::SYS_rseq,
    libc::SYS_set_robust_list,
    libc::SYS_sched_getaffinity,
    libc::SYS_sched_yield,
    // time
    libc::SYS_clock_gettime,
    libc::SYS_clock_getres,
    libc::SYS_clock_nanosleep,
    libc::SYS_nanosleep,
    libc::SYS_gettimeofday,
    libc::SYS_restart_syscall,
    libc::SYS_getpid,
    libc::SYS_gettid,
    libc::SYS_getrandom,
    // signals that this process receives: faults of the guest become traps
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sigaltstack,
    // the end
    libc::SYS_exit,
    libc::SYS_exit_group,
];

/// Calls that a template may make beyond those of its workers, with any arguments: the first steps
/// of a worker. A worker cannot make them any more when it runs its first guest.
const ALLOWED_TO_TEMPLATES: &[libc::c_long] = &[
    // files of `/proc`; Landlock allows no others
    libc::SYS_openat,
    libc::SYS_getdents64,
    libc::SYS_newfstatat,
    libc::SYS_statx,
    libc::SYS_close_range,
    libc::SYS_fcntl,
    libc::SYS_ioctl,
    libc::SYS_dup3,
    libc::SYS_write,
    libc::SYS_writev,
    libc::SYS_sendmsg,
    libc::SYS_recvmsg,
    // memory, the guest's thread and its stack
    libc::SYS_mmap,
    libc::SYS_mprotect,
    libc::SYS_set_tid_address,
    libc::SYS_tgkill,
    // the lock-down
    libc::SYS_prctl,
    libc::SYS_capget,
    libc::SYS_capset,
    libc::SYS_prlimit64,
    libc::SYS_getuid,
    libc::SYS_geteuid,
    libc::SYS_getgid,
    libc::SYS_getegid,
    libc::SYS_landlock_create_ruleset,
    libc::SYS_landlock_add_rule,
    libc::SYS_landlock_restrict_self,
    libc::SYS_seccomp,
];

/// Flags of `clone` that would give a child another view of the system.
const NAMESPACES: libc::c_int = libc::CLONE_NEWNS
    | libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET;

/// Filters the system calls of a template, and so of all of its workers, which add the stricter
/// filter of their own.
pub(super) fn restrict_template() -> Result<(), seccompiler::Error> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
        ALLOWED.iter().chain(ALLOWED_TO_TEMPLATES).map(|call| (*call, Vec::new())).collect();
    #[cfg(target_arch = "x86_64")]
    rules.extend([libc::SYS_poll, libc::SYS_dup2].map(|call| (call, Vec::new())));
    let same_view = SeccompRule::new(vec![without_bits(0, NAMESPACES)?])?;
    rules.insert(libc::SYS_clone, vec![same_view]);
    // The filter below answers first. glibc starts threads with `clone` instead.
    rules.insert(libc::SYS_clone3, Vec::new());
    let refuse = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    let filter = SeccompFilter::new(rules, refuse, SeccompAction::Allow, processor()?)?;
    let filter: BpfProgram = filter.try_into()?;

    let unknown = SeccompAction::Errno(libc::ENOSYS.unsigned_abs());
    let clone3 = BTreeMap::from([(libc::SYS_clone3, Vec::new())]);
    let no_clone3 = SeccompFilter::new(clone3, SeccompAction::Allow, unknown, processor()?)?;
    let no_clone3: BpfProgram = no_clone3.try_into()?;
    seccompiler::apply_filter(&no_clone3)?;
    seccompiler::apply_filter(&filter)
}

/// The allowed operations of `fcntl`: none that sends signals, takes locks or changes the status
/// flags of a file that other processes have open too.
const FCNTL: &[libc::c_int] =
    &[libc::F_GETFD, libc::F_SETFD, libc::F_GETFL, libc::F_ADD_SEALS, libc::F_GET_SEALS];

/// `ioctl` to ask `/proc/self/pagemap` which pages are dirty: `_IOWR('f', 16, struct pm_scan_arg)`.
const PAGEMAP_SCAN: u64 = 0xc060_6610;

/// Builds the filter for a process `pid` that speaks over `channel` and writes files as `outbox`.
///
/// # Errors
///
/// The filter cannot be built for this processor.
pub(super) fn filter(
    pid: u32,
    channel: RawFd,
    outbox: RawFd,
) -> Result<BpfProgram, seccompiler::BackendError> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
        ALLOWED.iter().map(|call| (*call, Vec::new())).collect();
    // Absent on newer processors, which have only `ppoll`.
    #[cfg(target_arch = "x86_64")]
    rules.insert(libc::SYS_poll, Vec::new());

    let not_executable = |argument| without_bits(argument, libc::PROT_EXEC);
    let not_shared = without_bits(3, libc::MAP_SHARED)?;
    let not_outbox = condition(4, SeccompCmpOp::Ne, bits(outbox))?;
    let mapped = SeccompRule::new(vec![not_executable(2)?, not_shared, not_outbox])?;
    rules.insert(libc::SYS_mmap, vec![mapped]);
    rules.insert(libc::SYS_mprotect, vec![SeccompRule::new(vec![not_executable(2)?])?]);
    // The log, and the file on its way to the gateway.
    for call in [libc::SYS_write, libc::SYS_writev] {
        let open = [libc::STDOUT_FILENO, libc::STDERR_FILENO, outbox];
        let rule = |fd: &RawFd| equal(0, bits(*fd));
        rules.insert(call, open.iter().map(rule).collect::<Result<_, _>>()?);
    }
    rules.insert(libc::SYS_prctl, vec![equal(0, bits(libc::PR_SET_NAME))?]);
    rules.insert(libc::SYS_ioctl, vec![equal(1, PAGEMAP_SCAN)?]);
    let fcntl: Result<Vec<_>, _> = FCNTL.iter().map(|command| equal(1, bits(*command))).collect();
    rules.insert(libc::SYS_fcntl, fcntl?);
    // Descriptors can travel over the channel and nowhere else.
    rules.insert(libc::SYS_sendmsg, vec![equal(0, bits(channel))?]);
    rules.insert(libc::SYS_recvmsg, vec![equal(0, bits(channel))?]);
    // `abort` signals its own process; no other process can be signalled.
    rules.insert(libc::SYS_tgkill, vec![equal(0, u64::from(pid))?]);

    let refuse = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    SeccompFilter::new(rules, refuse, SeccompAction::Allow, processor()?)?.try_into()
}

fn processor() -> Result<TargetArch, seccompiler::BackendError> {
    if cfg!(target_arch = "x86_64") {
        Ok(TargetArch::x86_64)
    } else if cfg!(target_arch = "aarch64") {
        Ok(TargetArch::aarch64)
    } else {
        TargetArch::try_from("this processor")
    }
}

fn equal(argument: u8, value: u64) -> Result<SeccompRule, seccompiler::BackendError> {
    SeccompRule::new(vec![condition(argument, SeccompCmpOp::Eq, value)?])
}

fn without_bits(
    argument: u8,
    mask: libc::c_int,
) -> Result<SeccompCondition, seccompiler::BackendError> {
    condition(argument, SeccompCmpOp::MaskedEq(bits(mask)), 0)
}

/// Arguments of the filtered calls are 32 bits wide; the kernel ignores the upper bits.
fn condition(
    argument: u8,
    operator: SeccompCmpOp,
    value: u64,
) -> Result<SeccompCondition, seccompiler::BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value)
}

/// The bits of a C `int`, as the filter sees them.
fn bits(value: libc::c_int) -> u64 {
    u64::from(value.cast_unsigned())
}

/// True for calls that the filter lets through with any arguments.
#[cfg(test)]
pub(super) fn is_allowed(call: libc::c_long) -> bool {
    ALLOWED.contains(&call) || cfg!(target_arch = "x86_64") && call == 7
}

/// True for calls that the filter of templates lets through with any arguments, and for those that
/// start threads and processes.
#[cfg(test)]
pub(super) fn is_allowed_to_templates(call: libc::c_long) -> bool {
    let on_this_processor = cfg!(target_arch = "x86_64") && [7, 33].contains(&call);
    let starts = [libc::SYS_clone, libc::SYS_clone3].contains(&call);
    is_allowed(call) || ALLOWED_TO_TEMPLATES.contains(&call) || on_this_processor || starts
}
