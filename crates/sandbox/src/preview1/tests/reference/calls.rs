//! Calls of preview 1 as values, and strategies that make them up.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use crate::preview1::layout::rights;

/// Which descriptor a call is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Handle {
    /// The folder that both sides are given at the start.
    Base,
    /// One of the descriptors that the calls before have opened; closed if there is none.
    Open(usize),
    /// A number that is never open.
    Closed,
    Input,
    Output,
}

/// The event that a call of `poll_oneoff` waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Awaited {
    Clock { id: u32, timeout: u64, flags: u16 },
    Readable(Handle),
    Writable(Handle),
}

/// A folder and a path that starts there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Path {
    pub(super) at: Handle,
    pub(super) text: String,
}

/// How `path_open` is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Opening {
    pub(super) lookup: u32,
    pub(super) oflags: u32,
    pub(super) rights: u64,
    pub(super) fdflags: u32,
}

/// Times as `fd_filestat_set_times` takes them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct GivenTimes {
    pub(super) accessed: u64,
    pub(super) modified: u64,
    pub(super) flags: u32,
}

/// One call, or for `List` the few that a C library makes for `readdir`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Call {
    Open {
        path: Path,
        how: Opening,
    },
    Close(Handle),
    Renumber {
        from: Handle,
        to: Handle,
    },
    /// `fd_read`, or `fd_pread` with an offset.
    Read {
        fd: Handle,
        lengths: Vec<u32>,
        offset: Option<u64>,
    },
    /// `fd_write`, or `fd_pwrite` with an offset.
    Write {
        fd: Handle,
        parts: Vec<Vec<u8>>,
        offset: Option<u64>,
    },
    Seek {
        fd: Handle,
        delta: i64,
        whence: u32,
    },
    Tell(Handle),
    Sync(Handle),
    DataSync(Handle),
    Advise {
        fd: Handle,
        offset: u64,
        length: u64,
        advice: u32,
    },
    Allocate {
        fd: Handle,
        offset: u64,
        length: u64,
    },
    ReadDir {
        fd: Handle,
        length: u32,
        cookie: u64,
    },
    List {
        fd: Handle,
        length: u32,
    },
    DescriptorStat(Handle),
    SetFlags {
        fd: Handle,
        flags: u32,
    },
    SetRights {
        fd: Handle,
        rights: u64,
    },
    Stat(Handle),
    SetSize {
        fd: Handle,
        size: u64,
    },
    SetTimes {
        fd: Handle,
        times: GivenTimes,
    },
    Prestat(Handle),
    PrestatName {
        fd: Handle,
        length: u32,
    },
    MakeFolder(Path),
    RemoveFolder(Path),
    Unlink(Path),
    PathStat {
        path: Path,
        lookup: u32,
    },
    PathSetTimes {
        path: Path,
        lookup: u32,
        times: GivenTimes,
    },
    Link {
        from: Path,
        lookup: u32,
        to: Path,
    },
    Rename {
        from: Path,
        to: Path,
    },
    Symlink {
        target: String,
        path: Path,
    },
    ReadLink {
        path: Path,
        length: u32,
    },
    Poll(Vec<Awaited>),
    ClockResolution(u32),
    ClockTime(u32),
    Random(u32),
    Arguments,
    Environment,
    Yield,
    Raise(u32),
    Accept(Handle),
    Receive(Handle),
    Send(Handle),
    Shutdown(Handle),
    /// Any function with these arguments, which need not make sense.
    Raw(&'static str, &'static [u64]),
}

impl Call {
    /// The descriptor that the call is about.
    pub(super) fn fd(&self) -> Option<Handle> {
        Some(match self {
            Self::Close(fd)
            | Self::Tell(fd)
            | Self::Sync(fd)
            | Self::DataSync(fd)
            | Self::DescriptorStat(fd)
            | Self::Stat(fd)
            | Self::Prestat(fd)
            | Self::Accept(fd)
            | Self::Receive(fd)
            | Self::Send(fd)
            | Self::Shutdown(fd)
            | Self::Renumber { from: fd, .. }
            | Self::Read { fd, .. }
            | Self::Write { fd, .. }
            | Self::Seek { fd, .. }
            | Self::Advise { fd, .. }
            | Self::Allocate { fd, .. }
            | Self::ReadDir { fd, .. }
            | Self::List { fd, .. }
            | Self::SetFlags { fd, .. }
            | Self::SetRights { fd, .. }
            | Self::SetSize { fd, .. }
            | Self::SetTimes { fd, .. }
            | Self::PrestatName { fd, .. } => *fd,
            _ => return self.paths().first().map(|path| path.at),
        })
    }

    /// The paths that the call names.
    pub(super) fn paths(&self) -> Vec<&Path> {
        match self {
            Self::Open { path, .. }
            | Self::MakeFolder(path)
            | Self::RemoveFolder(path)
            | Self::Unlink(path)
            | Self::PathStat { path, .. }
            | Self::PathSetTimes { path, .. }
            | Self::Symlink { path, .. }
            | Self::ReadLink { path, .. } => vec![path],
            Self::Link { from, to, .. } | Self::Rename { from, to } => vec![from, to],
            _ => vec![],
        }
    }
}

/// The rights with which a C library opens a file for reading, for writing and for both.
pub(super) const READS: u64 = rights::OPEN | rights::FD_READ | rights::FD_READDIR;
pub(super) const WRITES: u64 = rights::OPEN | rights::CHANGES;
pub(super) const BOTH: u64 = READS | WRITES;

fn handle() -> BoxedStrategy<Handle> {
    prop_oneof![
        30 => (0..8_usize).prop_map(Handle::Open),
        3 => Just(Handle::Base),
        1 => Just(Handle::Closed),
        1 => Just(Handle::Input),
        1 => Just(Handle::Output),
    ]
    .boxed()
}

/// A descriptor that may be closed or moved. Neither the base, which everything starts from, nor
/// streams, whose numbers Wardian would give to the next file and the reference to none.
fn closable() -> BoxedStrategy<Handle> {
    prop_oneof![30 => (0..8_usize).prop_map(Handle::Open), 1 => Just(Handle::Closed)].boxed()
}

/// A descriptor whose number may go to another file.
fn replaceable() -> BoxedStrategy<Handle> {
    prop_oneof![12 => closable(), 1 => select(vec![Handle::Input, Handle::Output])].boxed()
}

/// A descriptor that is most likely a folder.
fn folder() -> BoxedStrategy<Handle> {
    prop_oneof![
        20 => Just(Handle::Base),
        3 => (0..8_usize).prop_map(Handle::Open),
        1 => select(vec![Handle::Closed, Handle::Input, Handle::Output]),
    ]
    .boxed()
}

/// Paths of few names, so that calls meet the same files; with dots, slashes and invalid paths.
pub(super) fn text() -> BoxedStrategy<String> {
    let name = prop_oneof![
        40 => select(vec!["a", "b", "c", "d"]).prop_map(str::to_owned),
        3 => Just("..".to_owned()),
        2 => Just(".".to_owned()),
        1 => Just("é\u{2028}".to_owned()),
    ];
    let segments = prop_oneof![
        5 => vec(name.clone(), 1..2),
        4 => vec(name.clone(), 2..3),
        1 => vec(name, 3..6),
    ];
    let before = prop_oneof![40 => Just(""), 2 => Just("./"), 1 => Just("/")];
    let between = prop_oneof![20 => Just("/"), 1 => Just("//"), 1 => Just("/./")];
    let after = prop_oneof![20 => Just(""), 3 => Just("/"), 1 => Just("/."), 1 => Just("//")];
    let path = (before, segments, between, after).prop_map(|(before, names, between, after)| {
        before.to_owned() + &names.join(between) + after
    });
    prop_oneof![
        60 => path,
        1 => select(vec![
            String::new(),
            "a\0b".to_owned(),
            "x".repeat(255),
            "x".repeat(256),
            "a/".repeat(2047) + "a",
            "a/".repeat(2048),
            ".".to_owned(),
            "..".to_owned(),
            "../a".to_owned(),
        ]),
    ]
    .boxed()
}

fn path() -> BoxedStrategy<Path> {
    (folder(), text()).prop_map(|(at, text)| Path { at, text }).boxed()
}

fn lookup() -> BoxedStrategy<u32> {
    prop_oneof![10 => Just(1_u32), 10 => Just(0), 1 => 2..4_u32].boxed()
}

fn opening() -> BoxedStrategy<Opening> {
    let oflags = prop_oneof![
        4 => Just(0_u32),
        5 => Just(1),
        2 => Just(2),
        4 => 0..16_u32,
        1 => Just(16),
    ];
    let rights = prop_oneof![
        6 => Just(BOTH),
        3 => Just(READS),
        3 => Just(WRITES),
        2 => select(vec![0, rights::FD_READ, rights::FD_WRITE, rights::FD_READDIR]),
        1 => 0..=rights::ALL,
    ];
    let fdflags = prop_oneof![12 => Just(0_u32), 4 => select(vec![1, 4, 5]), 1 => 0..64_u32];
    (lookup(), oflags, rights, fdflags)
        .prop_map(|(lookup, oflags, rights, fdflags)| Opening { lookup, oflags, rights, fdflags })
        .boxed()
}

fn times() -> BoxedStrategy<GivenTimes> {
    let time = select(vec![0, 1, 1_000_000_000, 1_500_000_000_123_456_789]);
    let flags = prop_oneof![8 => 0..16_u32, 1 => 16..32_u32];
    (time.clone(), time, flags)
        .prop_map(|(accessed, modified, flags)| GivenTimes { accessed, modified, flags })
        .boxed()
}

/// Lengths and positions: mostly small, sometimes beyond all bounds.
fn offset() -> BoxedStrategy<u64> {
    prop_oneof![
        30 => 0..40_u64,
        4 => 4000..9000_u64,
        1 => select(vec![1 << 32, 1 << 62, u64::MAX >> 1, 1 << 63, u64::MAX]),
    ]
    .boxed()
}

fn file_call() -> BoxedStrategy<Call> {
    let lengths = prop_oneof![
        4 => vec(0..20_u32, 1..2),
        2 => vec(0..20_u32, 0..4),
        1 => vec(4000..6000_u32, 1..3)
    ];
    let part = prop_oneof![8 => vec(any::<u8>(), 0..12), 1 => vec(any::<u8>(), 3000..5000)];
    let parts = prop_oneof![4 => vec(part.clone(), 1..2), 2 => vec(part, 0..4)];
    let at = || prop_oneof![3 => Just(None), 2 => offset().prop_map(Some)];
    let delta = prop_oneof![
        20 => -30..40_i64,
        1 => select(vec![i64::MIN, i64::MAX, 1 << 40]),
    ];
    let whence = prop_oneof![20 => 0..3_u32, 1 => 3..5_u32];
    let advice = prop_oneof![8 => 0..6_u32, 1 => 6..8_u32];
    prop_oneof![
        6 => (handle(), lengths, at())
            .prop_map(|(fd, lengths, offset)| Call::Read { fd, lengths, offset }),
        6 => (handle(), parts, at())
            .prop_map(|(fd, parts, offset)| Call::Write { fd, parts, offset }),
        4 => (handle(), delta, whence)
            .prop_map(|(fd, delta, whence)| Call::Seek { fd, delta, whence }),
        2 => handle().prop_map(Call::Tell),
        1 => handle().prop_map(Call::Sync),
        1 => handle().prop_map(Call::DataSync),
        1 => (handle(), offset(), offset(), advice).prop_map(|(fd, offset, length, advice)| {
            Call::Advise { fd, offset, length, advice }
        }),
        1 => (handle(), offset(), offset())
            .prop_map(|(fd, offset, length)| Call::Allocate { fd, offset, length }),
        3 => (handle(), offset()).prop_map(|(fd, size)| Call::SetSize { fd, size }),
        3 => handle().prop_map(Call::Stat),
    ]
    .boxed()
}

fn descriptor_call() -> BoxedStrategy<Call> {
    let cookie = prop_oneof![3 => 0..3_u64, 1 => select(vec![1 << 40, u64::MAX])];
    let flags = prop_oneof![12 => select(vec![0_u32, 1, 4, 5]), 1 => 0..64_u32];
    let listed = || prop_oneof![2 => Just(Handle::Base), 3 => handle()];
    prop_oneof![
        6 => closable().prop_map(Call::Close),
        3 => (closable(), replaceable()).prop_map(|(from, to)| Call::Renumber { from, to }),
        2 => (listed(), 0..120_u32, cookie)
            .prop_map(|(fd, length, cookie)| Call::ReadDir { fd, length, cookie }),
        4 => (listed(), 1..150_u32).prop_map(|(fd, length)| Call::List { fd, length }),
        3 => handle().prop_map(Call::DescriptorStat),
        3 => (handle(), flags).prop_map(|(fd, flags)| Call::SetFlags { fd, flags }),
        1 => (handle(), 0..=rights::ALL).prop_map(|(fd, rights)| Call::SetRights { fd, rights }),
        2 => (handle(), times()).prop_map(|(fd, times)| Call::SetTimes { fd, times }),
        1 => handle().prop_map(Call::Prestat),
        1 => (handle(), 0..20_u32).prop_map(|(fd, length)| Call::PrestatName { fd, length }),
    ]
    .boxed()
}

fn path_call() -> BoxedStrategy<Call> {
    let target = prop_oneof![30 => text(), 1 => Just("/a".to_owned())];
    let length = prop_oneof![1 => 0..4_u32, 2 => Just(5000)];
    prop_oneof![
        12 => path().prop_map(Call::MakeFolder),
        6 => path().prop_map(Call::RemoveFolder),
        6 => path().prop_map(Call::Unlink),
        6 => (path(), lookup()).prop_map(|(path, lookup)| Call::PathStat { path, lookup }),
        3 => (path(), lookup(), times())
            .prop_map(|(path, lookup, times)| Call::PathSetTimes { path, lookup, times }),
        6 => (path(), prop_oneof![8 => Just(0), 1 => lookup()], path())
            .prop_map(|(from, lookup, to)| Call::Link { from, lookup, to }),
        12 => (path(), path()).prop_map(|(from, to)| Call::Rename { from, to }),
        6 => (target, path()).prop_map(|(target, path)| Call::Symlink { target, path }),
        3 => (path(), length).prop_map(|(path, length)| Call::ReadLink { path, length }),
    ]
    .boxed()
}

fn process_call() -> BoxedStrategy<Call> {
    let clock = || prop_oneof![8 => 0..4_u32, 1 => 4..6_u32];
    let awaited =
        prop_oneof![handle().prop_map(Awaited::Readable), handle().prop_map(Awaited::Writable),];
    let clocks = (clock(), select(vec![0_u64, 1, 1000]), 0..2_u16)
        .prop_map(|(id, timeout, flags)| Awaited::Clock { id, timeout, flags });
    prop_oneof![
        4 => (vec(awaited, 0..4), proptest::option::of(clocks)).prop_map(|(mut awaited, clock)| {
            awaited.extend(clock);
            Call::Poll(awaited)
        }),
        1 => clock().prop_map(Call::ClockResolution),
        1 => clock().prop_map(Call::ClockTime),
        1 => (0..300_u32).prop_map(Call::Random),
        1 => select(vec![Call::Arguments, Call::Environment, Call::Yield, Call::Raise(6)]),
        1 => handle().prop_flat_map(|fd| select(vec![
            Call::Accept(fd), Call::Receive(fd), Call::Send(fd), Call::Shutdown(fd),
        ])),
    ]
    .boxed()
}

/// Any call: mostly about files, since they can go wrong in most ways.
pub(super) fn call() -> BoxedStrategy<Call> {
    prop_oneof![
        8 => (path(), opening()).prop_map(|(path, how)| Call::Open { path, how }),
        12 => file_call(),
        7 => descriptor_call(),
        14 => path_call(),
        1 => process_call(),
    ]
    .boxed()
}

/// A path that starts in the base folder.
pub(super) fn base(text: &str) -> Path {
    Path { at: Handle::Base, text: text.to_owned() }
}

/// Opens `text` in the base folder; links are followed.
pub(super) fn open(text: &str, oflags: u32, rights: u64) -> Call {
    Call::Open { path: base(text), how: Opening { lookup: 1, oflags, rights, fdflags: 0 } }
}

pub(super) fn write(number: usize, bytes: &[u8]) -> Call {
    Call::Write { fd: Handle::Open(number), parts: vec![bytes.to_vec()], offset: None }
}

pub(super) fn read(number: usize, length: u32) -> Call {
    Call::Read { fd: Handle::Open(number), lengths: vec![length], offset: None }
}

pub(super) const CREATE: u32 = 1;
pub(super) const DIRECTORY: u32 = 2;
pub(super) const EXCLUSIVE: u32 = 4;
pub(super) const TRUNCATE: u32 = 8;
