//! Tests of the lock-down, in children of the test program, since it cannot be undone.

use std::os::fd::{AsRawFd as _, IntoRawFd as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Command, Output};
use std::{env, net, thread};

use landlock::{ABI, LandlockStatus, RulesetStatus};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use seccompiler::{SeccompAction, SeccompFilter};

use super::*;
use crate::landlock_rules::{NEWEST, landlock_gap, restrict};
use crate::link::channel::Channel;
use wardian_formats::job::message::{FromWorker, INLINE_MAX, Payload};
use wardian_formats::job::socket;
use wardian_sandbox::memory::PayloadBytes;

/// Locking down cannot be undone, so it happens in a child: this test binary, started to run
/// only the test `the_child_that_is_locked_down` with a task as a second name.
fn locked_down_child(task: &str) -> Output {
    let (_, module) = module_path!().split_once("::").unwrap();
    let child = format!("{module}::the_child_that_is_locked_down");
    Command::new(env::current_exe().unwrap())
        .args(["--exact", &child, task, "--nocapture", "--test-threads=1"])
        .env_clear()
        .output()
        .unwrap()
}

fn said(output: &Output) -> Vec<String> {
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines().filter_map(|line| line.strip_prefix("> ")).map(str::to_owned).collect()
}

#[test]
fn the_child_that_is_locked_down() {
    let task = env::args().find(|argument| argument.starts_with("task-"));
    let plan = LockdownPlan::default();
    let strict = LockdownPlan { missing_walls: MissingWalls::Refuse, ..plan };
    println!();
    match task.as_deref() {
        Some("task-probe") => probe(LockdownPlan {
            memory: Some(ByteCount::mebibytes(1 << 10)),
            addresses: Some(ByteCount::mebibytes(8 << 10)),
            ..plan
        }),
        Some("task-exhaust") => exhaust(plan),
        Some("task-template") => exhaust_template(plan),
        Some("task-abort") => {
            seal(&plan, isolate(&plan, &[]).unwrap(), -1, -1).unwrap();
            std::process::abort();
        }
        Some("task-without-landlock") => {
            refuse_system_call(libc::SYS_landlock_create_ruleset, libc::ENOSYS);
            println!("> {:?}", isolate(&plan, &[]).unwrap().missing);
        }
        Some(task) if task.starts_with("task-landlock-") => {
            let abi = ABI::from(task.trim_start_matches("task-landlock-").parse::<i32>().unwrap());
            rustix::thread::set_no_new_privs(true).unwrap();
            let status = restrict(abi).unwrap();
            match status.ruleset {
                RulesetStatus::NotEnforced => return println!("> not offered"),
                _ => println!("> {:?}", landlock_gap(status.landlock, abi)),
            }
            say("open", fs::File::open("/etc/passwd"));
            say("connect", net::TcpStream::connect("127.0.0.1:9"));
        }
        Some("task-without-seccomp") => {
            let report = isolate(&plan, &[]).unwrap();
            refuse_system_call(libc::SYS_seccomp, libc::EINVAL);
            println!("> {}", seal(&plan, report, -1, -1).unwrap_err());
        }
        Some("task-insist-on-landlock") => {
            refuse_system_call(libc::SYS_landlock_create_ruleset, libc::ENOSYS);
            println!("> {}", isolate(&strict, &[]).unwrap_err());
        }
        Some("task-stay-root") => {
            println!("> {}", drop_root(&LockdownPlan { uid: 0, ..plan }).unwrap_err());
            println!("> {}", drop_root(&LockdownPlan { gid: 0, ..plan }).unwrap_err());
            refuse_system_call(libc::SYS_setresuid, libc::EPERM);
            println!("> {}", isolate(&plan, &[]).unwrap_err());
        }
        _ => {}
    }
}

fn refuse_system_call(number: libc::c_long, errno: i32) {
    let refuse = SeccompAction::Errno(errno.unsigned_abs());
    let rules = [(number, Vec::new())].into();
    let processor = env::consts::ARCH.try_into().unwrap();
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refuse, processor).unwrap();
    let program: seccompiler::BpfProgram = filter.try_into().unwrap();
    seccompiler::apply_filter_all_threads(&program).unwrap();
}

fn say<T>(what: &str, result: io::Result<T>) {
    match result {
        Ok(_) => println!("> {what}: done"),
        Err(error) => println!("> {what}: errno {}", error.raw_os_error().unwrap_or(-1)),
    }
}

fn probe(plan: LockdownPlan) {
    let (near, far) =
        socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::empty(), None).unwrap();
    let kept = fs::File::open("/dev/null").unwrap();
    let stray = fs::File::open("/dev/null").unwrap().into_raw_fd();
    let shared = socket::share(&[7; 5000]).unwrap();
    let keep = [near.as_raw_fd(), far.as_raw_fd(), kept.as_raw_fd(), shared.as_raw_fd()];
    let was_root = is_root();

    let report = isolate(&plan, &keep).unwrap();
    assert!(!was_root || rustix::process::getuid().as_raw() == plan.uid);
    say("after the first step, open", fs::File::open("/etc/passwd"));
    say("after the first step, connect", net::TcpStream::connect("127.0.0.1:9"));
    let dumpable = rustix::process::dumpable_behavior().unwrap();
    assert_eq!(dumpable, DumpableBehavior::NotDumpable);
    let signal = rustix::process::parent_process_death_signal().unwrap();
    assert_eq!(signal, Some(Signal::KILL));
    assert!(rustix::thread::transparent_huge_pages_are_disabled().unwrap());
    assert!(report.has_small_pages);
    assert_eq!(rustix::process::getrlimit(Resource::Core).current, Some(0));
    assert!(become_user(0, 0).is_err());
    assert!(rustix::thread::capabilities(None).unwrap().permitted.is_empty());

    let (done, may_end) = std::sync::mpsc::channel::<()>();
    let bystander = thread::spawn(move || {
        may_end.recv().ok();
        say("open on another thread", fs::File::open("/etc/passwd"));
    });
    let mut channel = Channel::new(near);
    let outbox = channel.outbox_descriptor().unwrap();
    let report = seal(&plan, report, channel.raw_descriptor(), outbox).unwrap();
    println!("> missing: {:?}", report.missing);

    drop(done);
    bystander.join().unwrap();
    refused(&far);
    say("use a stray descriptor", system_call(libc::SYS_lseek, [stray.into(), 0, 1]));
    say("use a kept descriptor", system_call(libc::SYS_lseek, [kept.as_raw_fd().into(), 0, 1]));
    let large = vec![7; INLINE_MAX + 1];
    for _ in 0..3 {
        let sent = channel.send(&FromWorker::WriteBlob { kind: "x".into() }, &large);
        assert!(sent.is_ok(), "{sent:?}");
    }
    println!("> the channel works");
    let payload = PayloadBytes::open(Payload::Shared(shared, ByteCount::bytes(5000)));
    println!("> bytes of a payload: {}", payload.unwrap().as_ref().len());
    take_memory(plan, outbox);
}

/// Tries to hold more memory than the plan gives.
fn take_memory(plan: LockdownPlan, outbox: RawFd) {
    let private = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    let memory = plan.memory.unwrap().as_usize();
    let addresses = plan.addresses.unwrap().as_usize();
    let write = libc::PROT_READ | libc::PROT_WRITE;
    say("map half of the memory", map_at(memory / 2, write, private, -1));
    say("map more than the memory", map_at(memory / 2 + 4096, write, private, -1));
    say("map more than the addresses", map_at(addresses, libc::PROT_NONE, private, -1));
    let shared = libc::MAP_SHARED | libc::MAP_ANONYMOUS;
    say("map shared memory", map_at(4096, write, shared, -1));
    // One memory file after another under every number that there is.
    let flags = rustix::fs::MemfdFlags::ALLOW_SEALING;
    let files: Vec<_> = std::iter::from_fn(|| rustix::fs::memfd_create(c"x", flags).ok()).collect();
    assert!(files.len() > 100, "{}", files.len());
    let filled = files.iter().filter(|file| rustix::io::write(file, &[1; 4096]).is_ok());
    println!("> memory files filled: {}", filled.count());
    let sized = files.iter().filter(|file| rustix::fs::ftruncate(file, 4096).is_ok());
    println!("> memory files sized: {}", sized.count());
    println!("> in the outbox: {:?}", write_to(outbox).is_ok());
    say("map the outbox", map_at(4096, libc::PROT_READ, libc::MAP_PRIVATE, outbox));
    for command in [libc::F_DUPFD, libc::F_DUPFD_CLOEXEC] {
        let copied = system_call(libc::SYS_fcntl, [outbox.into(), command.into(), 3]);
        say("duplicate the outbox", copied);
    }
}

fn write_to(descriptor: RawFd) -> io::Result<i64> {
    let bytes = [1_u8; 64];
    let address = i64::try_from(bytes.as_ptr().addr()).unwrap();
    system_call(libc::SYS_write, [descriptor.into(), address, 64])
}

fn refused(other_socket: &std::os::fd::OwnedFd) {
    say("open", fs::File::open("/etc/passwd"));
    say("create", fs::File::create("/tmp/wardian-escaped"));
    say("look up", fs::metadata("/etc/passwd"));
    say("list", fs::read_dir("/"));
    say("socket", net::UdpSocket::bind("127.0.0.1:0"));
    say("fork", Command::new("/bin/true").spawn());
    say::<()>("exec", Err(Command::new("/bin/true").exec()));
    say("thread", thread::Builder::new().spawn(|| ()));
    say(
        "signal",
        rustix::process::test_kill_process(rustix::process::getpid()).map_err(Into::into),
    );
    let mut control = rustix::net::SendAncillaryBuffer::default();
    let flags = rustix::net::SendFlags::empty();
    let slices = [io::IoSlice::new(b"x")];
    let sent = rustix::net::sendmsg(other_socket, &slices, &mut control, flags);
    say("send elsewhere", sent.map_err(Into::into));
    let (write, execute) = (libc::PROT_READ | libc::PROT_WRITE, libc::PROT_EXEC);
    let flags = rustix::fs::OFlags::APPEND;
    say("change flags", rustix::fs::fcntl_setfl(other_socket, flags).map_err(Into::into));
    say("map code", map(write | execute));
    let page = map(write);
    let address = page.as_ref().copied().unwrap_or_default();
    say("map memory", page);
    let protect = |rights: i32| system_call(libc::SYS_mprotect, [address, 4096, rights.into()]);
    say("make code", protect(libc::PROT_READ | execute));
    say("protect memory", protect(libc::PROT_READ));
}

fn map(rights: i32) -> io::Result<i64> {
    map_at(4096, rights, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1)
}

#[expect(unsafe_code, reason = "the test makes calls that no library would make")]
fn map_at(length: usize, rights: i32, flags: i32, file: RawFd) -> io::Result<i64> {
    // SAFETY: new memory at a place that the kernel chooses.
    match unsafe { libc::mmap(std::ptr::null_mut(), length, rights, flags, file, 0) } {
        libc::MAP_FAILED => Err(io::Error::last_os_error()),
        address => Ok(i64::try_from(address.addr()).unwrap()),
    }
}

#[expect(unsafe_code, reason = "the test makes calls that no library would make")]
fn system_call(number: libc::c_long, [a, b, c]: [i64; 3]) -> io::Result<i64> {
    // SAFETY: callers pass numbers, or memory that they made for it.
    match unsafe { libc::syscall(number, a, b, c, 0, 0, 0) } {
        -1 => Err(io::Error::last_os_error()),
        result => Ok(result),
    }
}

/// Makes every system call there is, except for those that are allowed with any argument.
fn exhaust(plan: LockdownPlan) {
    seal(&plan, isolate(&plan, &[]).unwrap(), 9, 10).unwrap();
    // The kernel's own trampolines: calling them raises SIGILL.
    let trampolines = if cfg!(target_arch = "x86_64") { 335..=336 } else { 600..=600 };
    let refused = |call: &i64| !syscalls::is_allowed(*call) && !trampolines.contains(call);
    for number in (0..600).filter(refused) {
        // All bits are set in the protection, so that `mmap` and `mprotect` are refused too.
        let result = system_call(number, [-1, -1, libc::PROT_EXEC.into()]);
        if !matches!(&result, Err(error) if error.raw_os_error() == Some(libc::EPERM)) {
            println!("> system call {number} was made: {result:?}");
        }
    }
    println!("> done");
}

/// Makes every system call that a template must not make, and tries what it can reach.
fn exhaust_template(plan: LockdownPlan) {
    isolate_template(&plan, &[]).unwrap();
    assert!(!is_root() && rustix::thread::capabilities(None).unwrap().permitted.is_empty());
    let trampolines = if cfg!(target_arch = "x86_64") { 335..=336 } else { 600..=600 };
    let listed = syscalls::is_allowed_to_templates;
    for number in (0..600).filter(|call| !listed(*call) && !trampolines.contains(call)) {
        let result = system_call(number, [-1, -1, -1]);
        if !matches!(&result, Err(error) if error.raw_os_error() == Some(libc::EPERM)) {
            println!("> system call {number} was made: {result:?}");
        }
    }
    let child = i64::from(libc::SIGCHLD);
    let other_view = i64::from(libc::CLONE_NEWUSER) | child;
    say("clone into another view", system_call(libc::SYS_clone, [other_view, 0, 0]));
    say("clone3", system_call(libc::SYS_clone3, [0, 0, 0]));
    say("open", fs::File::open("/etc/passwd"));
    say("socket", net::UdpSocket::bind("127.0.0.1:0"));
    say::<()>("exec", Err(Command::new("/bin/true").exec()));
    set_dumpable();
    say("own page table", fs::File::open("/proc/self/pagemap"));
    say("thread", thread::Builder::new().spawn(|| ()));
}

fn set_dumpable() {
    rustix::process::set_dumpable_behavior(DumpableBehavior::Dumpable).unwrap();
}

#[test]
fn every_system_call_of_a_template_is_listed() {
    let output = locked_down_child("task-template");
    let said = said(&output);
    let (refused, unknown) = (libc::EPERM, libc::ENOSYS);
    let expected = [
        format!("clone into another view: errno {refused}"),
        format!("clone3: errno {unknown}"),
        format!("open: errno {}", libc::EACCES),
        format!("socket: errno {refused}"),
        format!("exec: errno {refused}"),
        "own page table: done".to_owned(),
        "thread: done".to_owned(),
    ];
    assert_eq!(said, expected, "{output:?}");
}

#[test]
fn no_new_code_and_no_way_out_of_a_worker() {
    let output = locked_down_child("task-probe");
    let said = said(&output);
    for what in [
        "open",
        "create",
        "look up",
        "list",
        "socket",
        "fork",
        "exec",
        "thread",
        "signal",
        "send elsewhere",
        "change flags",
        "map code",
        "make code",
        "open on another thread",
    ] {
        assert!(said.contains(&format!("{what}: errno {}", libc::EPERM)), "{what}: {output:?}");
    }
    for what in ["map memory", "protect memory", "use a kept descriptor"] {
        assert!(said.contains(&format!("{what}: done")), "{what}: {output:?}");
    }
    let stray = format!("use a stray descriptor: errno {}", libc::EBADF);
    assert!(said.contains(&stray), "{output:?}");
    assert!(said.contains(&"the channel works".to_owned()), "{output:?}");
    assert!(said.contains(&"bytes of a payload: 5000".to_owned()), "{output:?}");
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn one_memory_file_and_no_more_memory_than_the_plan_gives() {
    let output = locked_down_child("task-probe");
    let said = said(&output);
    for (what, errno) in [
        ("map more than the memory", libc::ENOMEM),
        ("map more than the addresses", libc::ENOMEM),
        ("map shared memory", libc::EPERM),
        ("map the outbox", libc::EPERM),
        ("duplicate the outbox", libc::EPERM),
    ] {
        assert!(said.contains(&format!("{what}: errno {errno}")), "{what}: {output:?}");
        assert!(!said.contains(&format!("{what}: done")), "{what}: {output:?}");
    }
    for line in [
        "map half of the memory: done",
        "memory files filled: 0",
        "memory files sized: 0",
        "in the outbox: true",
    ] {
        assert!(said.contains(&line.to_owned()), "{line}: {output:?}");
    }
}

#[test]
fn landlock_is_active_before_the_filter() {
    let output = locked_down_child("task-probe");
    let said = said(&output);
    if said.iter().any(|line| line.contains("Landlock, \"the kernel does not support it")) {
        return;
    }
    for what in ["open", "connect"] {
        let line = format!("after the first step, {what}: errno {}", libc::EACCES);
        assert!(said.contains(&line), "{what}: {output:?}");
    }
}

#[test]
fn every_system_call_that_is_not_listed_is_refused() {
    let output = locked_down_child("task-exhaust");
    assert_eq!(said(&output), ["done"], "{output:?}");
}

#[test]
fn a_locked_down_worker_can_still_abort() {
    let output = locked_down_child("task-abort");
    assert_eq!(output.status.signal(), Some(libc::SIGABRT), "{output:?}");
    assert!(!output.status.core_dumped());
}

#[test]
fn a_missing_wall_is_reported_or_refused() {
    let output = locked_down_child("task-without-landlock");
    let reported = r#"[(Landlock, "the kernel does not support it")]"#;
    assert_eq!(said(&output), [reported], "{output:?}");
    let output = locked_down_child("task-insist-on-landlock");
    let refused = "`landlock` is missing: the kernel does not support it";
    assert_eq!(said(&output), [refused], "{output:?}");
}

#[test]
fn always_filtered_or_no_guest_runs() {
    let output = locked_down_child("task-without-seccomp");
    let said = said(&output);
    assert!(said.len() == 1 && said[0].starts_with("`seccomp` is missing: "), "{output:?}");
}

#[test]
fn the_gaps_of_old_landlocks_are_named() {
    let gap = |effective_abi| {
        landlock_gap(LandlockStatus::Available { effective_abi, kernel_abi: None }, NEWEST)
    };
    assert_eq!(
        gap(ABI::V4).unwrap(),
        "ABI 4 has no rules for commands to devices, abstract sockets and signals; seccomp has"
    );
    assert!(gap(ABI::V1).unwrap().contains("TCP"));
    assert_eq!((gap(ABI::V6), gap(NEWEST)), (None, None));
}

/// Applies the rules of each ABI on the present kernel: each ABI refuses the accesses that it
/// knows, and the report names the others.
#[test]
fn every_landlock_version_is_applied_and_its_gaps_are_named() {
    let newest = match said(&locked_down_child("task-landlock-7")).first().map(String::as_str) {
        Some("None") => 7,
        // Only the kernel's own version can be tried.
        Some(told) if told.starts_with("Some(\"ABI ") => {
            told.split(' ').nth(1).unwrap().parse().unwrap()
        }
        Some("not offered") => return println!("not tried: this kernel has no Landlock"),
        told => panic!("{told:?}"),
    };
    for abi in 1..=newest {
        let output = locked_down_child(&format!("task-landlock-{abi}"));
        let said = said(&output);
        let gap = said.first().unwrap();
        assert_eq!(gap == "None", abi >= 6, "ABI {abi}: {gap}");
        for (since, what) in [(2, "moving"), (3, "truncating"), (4, "TCP"), (5, "devices")] {
            assert_eq!(gap.contains(what), abi < since, "ABI {abi}: {gap}");
        }
        let refused = |errno| format!("errno {errno}");
        assert_eq!(said[1], format!("open: {}", refused(libc::EACCES)), "ABI {abi}");
        let is_shut = said[2] == format!("connect: {}", refused(libc::EACCES));
        assert_eq!(is_shut, abi >= 4, "ABI {abi}: {}", said[2]);
    }
}

#[test]
fn a_worker_is_never_root() {
    if !is_root() {
        return println!("not tried: only root can try to stay root");
    }
    let output = locked_down_child("task-stay-root");
    let wanted = "a worker must not run guests as root: choose a user and group other than 0";
    let stays = "a worker must not run guests as root and cannot become user 65534";
    assert_eq!(said(&output), [wanted, wanted, stays], "{output:?}");
}

#[test]
fn a_worker_goes_before_its_server_wherever_that_stands() {
    for (server, worker) in [
        (-1_000, Some(500)),
        (0, Some(500)),
        (499, Some(500)),
        (500, Some(1_000)),
        (999, Some(1_000)),
    ] {
        assert_eq!(before(server), worker, "{server}");
    }
    assert_eq!(before(1_000), None, "nobody goes before one that goes first");
}
