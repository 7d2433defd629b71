//! The known differences between the answers of Wardian and `wasmtime-wasi`, each with its reason.

use crate::preview1::layout::rights;
use crate::preview1::tests::reference::calls::{
    Awaited, BOTH, CREATE, Call, DIRECTORY, EXCLUSIVE, GivenTimes, Handle, Opening, Path, READS,
    TRUNCATE, WRITES, base, open, read, write,
};
use crate::preview1::tests::reference::pair::{Kind, Step};
use crate::preview1::tests::reference::session::{TRAP, Value, Vectors};

/// Error numbers of preview 1.
pub(super) mod errno {
    pub(crate) const NONE: u32 = 0;
    pub(crate) const BADF: u32 = 8;
    pub(crate) const BUSY: u32 = 10;
    pub(crate) const EXIST: u32 = 20;
    pub(crate) const FAULT: u32 = 21;
    pub(crate) const FBIG: u32 = 22;
    pub(crate) const INVAL: u32 = 28;
    pub(crate) const ISDIR: u32 = 31;
    pub(crate) const LOOP: u32 = 32;
    pub(crate) const NAMETOOLONG: u32 = 37;
    pub(crate) const NOENT: u32 = 44;
    pub(crate) const NOTDIR: u32 = 54;
    pub(crate) const NOTEMPTY: u32 = 55;
    pub(crate) const NOTSOCK: u32 = 57;
    pub(crate) const NOTSUP: u32 = 58;
    pub(crate) const PERM: u32 = 63;
    pub(crate) const SPIPE: u32 = 70;
}

/// The effect of a difference on the two sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Then {
    /// Nothing: they are as alike as before.
    GoOn,
    /// They may hold different files now, so there is nothing more to compare.
    Stop,
}

/// Something that both answer, but differently.
pub(super) struct Difference {
    pub(super) name: &'static str,
    /// The reason for Wardian's answer.
    pub(super) reason: &'static str,
    pub(super) then: Then,
    /// How the witness hands vectors to the reference.
    pub(super) vectors: Vectors,
    /// True if a difference in this field of the answers is the one that the row is about.
    pub(super) accepts: fn(&Step<'_>, &str) -> bool,
    /// Calls of which the last shows the difference.
    pub(super) witness: fn() -> Vec<Call>,
}

impl Step<'_> {
    /// The error numbers of Wardian and of the reference.
    fn errnos(&self) -> (u32, u32) {
        (self.ours.errno, self.theirs.errno)
    }

    /// True if the reference answers with this error and Wardian with another one or none.
    fn only_they_say(&self, errno: u32) -> bool {
        self.theirs.errno == errno && self.ours.errno != errno
    }

    /// True if both refuse with different errors, and Wardian with one of these.
    fn only_fails_otherwise(&self, ours: &[u32]) -> bool {
        ours.contains(&self.ours.errno) && ![errno::NONE, TRAP].contains(&self.theirs.errno)
    }

    fn is_about_folder(&self) -> bool {
        self.ours.number("type") == Some(3)
    }

    fn opened_with(&self, oflags: u32) -> bool {
        self.opened.is_some_and(|how| how.oflags & oflags != 0)
    }

    fn opened_for(&self, rights: u64) -> bool {
        self.opened.is_some_and(|how| how.rights & rights == rights)
    }
}

fn opening(text: &str, how: Opening) -> Call {
    Call::Open { path: base(text), how }
}

/// True if a flag, kind or clock of the call is none that preview 1 knows.
fn has_unknown_number(call: &Call) -> bool {
    match call {
        Call::Open { how, .. } => how.lookup > 1 || how.oflags > 15 || how.fdflags > 31,
        Call::Seek { whence, .. } => *whence > 2,
        Call::Advise { advice, .. } => *advice > 5,
        Call::SetFlags { flags, .. } => *flags > 31,
        Call::SetTimes { times, .. } => times.flags > 15,
        Call::PathSetTimes { lookup, times, .. } => *lookup > 1 || times.flags > 15,
        Call::PathStat { lookup, .. } | Call::Link { lookup, .. } => *lookup > 1,
        Call::ClockTime(id) | Call::ClockResolution(id) => *id > 3,
        Call::Poll(awaited) => {
            awaited.iter().any(|awaited| matches!(awaited, Awaited::Clock { id: 4.., .. }))
        }
        _ => false,
    }
}

const FIRST: Handle = Handle::Open(0);

/// A row without the fields that are mostly the same.
const ROW: Difference = Difference {
    name: "",
    reason: "",
    then: Then::GoOn,
    vectors: Vectors::OneByOne,
    accepts: |_, _| false,
    witness: Vec::new,
};

/// The table.
pub(super) const DIFFERENCES: &[Difference] = &[
    Difference {
        name: "paths out of the folder",
        reason: "the reference guards files of a host, so what is absolute or leads up is refused; \
                 here no path leads to the host, and `..` goes to the parent as on Linux",
        then: Then::Stop,
        accepts: |step, field| {
            field == "errno" && step.only_they_say(errno::PERM) && step.may_lead_out
        },
        witness: || vec![Call::PathStat { path: base("../"), lookup: 1 }],
        ..ROW
    },
    Difference {
        name: "pointers outside of memory",
        reason: "Linux answers EFAULT; the reference ends the guest",
        accepts: |step, _| step.errnos() == (errno::FAULT, TRAP),
        witness: || vec![Call::Raw("clock_time_get", &[0, 0, 0xffff_fff0])],
        ..ROW
    },
    Difference {
        name: "unaligned pointers",
        reason: "Linux takes them; the reference ends the guest",
        accepts: |step, _| step.errnos() == (errno::NONE, TRAP),
        witness: || vec![Call::Raw("clock_time_get", &[0, 0, 0x4001])],
        ..ROW
    },
    Difference {
        name: "numbers without a meaning",
        reason: "Linux answers EINVAL to flags and kinds that there are not; the reference ends \
                 the guest",
        accepts: |step, _| step.theirs.errno == TRAP && has_unknown_number(step.call),
        witness: || vec![Call::ClockTime(4)],
        ..ROW
    },
    Difference {
        name: "several vectors",
        reason: "Linux fills all vectors; the reference transfers the first that is not empty",
        then: Then::Stop,
        vectors: Vectors::Whole,
        accepts: |step, field| {
            step.vectors == Vectors::Whole && ["count", "bytes"].contains(&field)
        },
        witness: || {
            let parts = vec![b"ab".to_vec(), b"cd".to_vec()];
            vec![open("a", CREATE, BOTH), Call::Write { fd: FIRST, parts, offset: None }]
        },
    },
    Difference {
        name: "flags for writing through",
        reason: "files are in memory, so O_SYNC and O_DSYNC hold by themselves; the reference \
                 refuses what it cannot promise",
        then: Then::Stop,
        accepts: |step, _| match step.call {
            Call::Open { how, .. } => how.fdflags & 0x1a != 0 && step.only_they_say(errno::NOTSUP),
            Call::SetFlags { flags, .. } => flags & 0x1a != 0 && step.only_they_say(errno::INVAL),
            _ => false,
        },
        witness: || {
            let how = Opening { lookup: 1, oflags: CREATE, rights: BOTH, fdflags: 0x10 };
            vec![opening("a", how)]
        },
        ..ROW
    },
    Difference {
        name: "files opened for nothing",
        reason: "what was opened neither to read nor to write is not read, as with O_PATH; the \
                 reference reads it",
        then: Then::Stop,
        accepts: |step, field| {
            let nothing = step.opened.is_some_and(|how| how.rights & (0b10 | 1 << 6) == 0);
            nothing
                && match step.call {
                    Call::Read { .. } => step.errnos().0 == errno::BADF,
                    Call::DescriptorStat(_) => field == "reads",
                    _ => false,
                }
        },
        witness: || vec![open("a", CREATE, BOTH), open("a", 0, 0), read(1, 1)],
        ..ROW
    },
    Difference {
        name: "files that were made or cut without the right to write",
        reason: "O_CREAT and O_TRUNC do not make a descriptor writable on Linux; in the reference \
                 they do",
        then: Then::Stop,
        accepts: |step, field| {
            step.opened_with(CREATE | TRUNCATE)
                && !step.opened_for(rights::FD_WRITE)
                && match step.call {
                    Call::Write { .. } | Call::SetSize { .. } => field == "errno",
                    Call::DescriptorStat(_) => field == "writes",
                    _ => false,
                }
        },
        witness: || vec![open("a", CREATE, READS), write(0, b"x")],
        ..ROW
    },
    Difference {
        name: "the rights that go with writing",
        reason: "C libraries ask for what a folder hands down, and read-only folders do not hand \
                 down FD_WRITE; the rights beside it show that a file is opened to write",
        then: Then::Stop,
        accepts: |step, _| match step.call {
            Call::Open { how, .. } => {
                how.rights & WRITES & !rights::OPEN == rights::INTENDS_CHANGES
                    && step.errnos() == (errno::ISDIR, errno::NONE)
            }
            Call::Write { .. } | Call::SetSize { .. } | Call::DescriptorStat(_) => {
                step.opened_for(rights::INTENDS_CHANGES) && !step.opened_for(rights::FD_WRITE)
            }
            Call::Read { .. } => {
                step.opened_for(rights::INTENDS_CHANGES)
                    && !step.opened_for(rights::FD_WRITE)
                    && !step.opened_for(rights::FD_READ)
                    && step.errnos().0 == errno::BADF
            }
            _ => false,
        },
        witness: || {
            let intends = READS | rights::INTENDS_CHANGES;
            vec![open("a", CREATE, BOTH), open("a", 0, intends), write(1, b"x")]
        },
        ..ROW
    },
    Difference {
        name: "opening a folder and cutting it or making it anew",
        reason: "O_DIRECTORY with O_TRUNC is EISDIR or ENOTDIR on Linux, and O_EXCL without \
                 O_CREAT means nothing; the reference answers EINVAL",
        accepts: |step, _| match step.call {
            Call::Open { how, .. } => {
                how.oflags & DIRECTORY != 0
                    && how.oflags & (EXCLUSIVE | TRUNCATE) != 0
                    && step.only_they_say(errno::INVAL)
            }
            _ => false,
        },
        witness: || vec![open(".", DIRECTORY | TRUNCATE, READS)],
        ..ROW
    },
    Difference {
        name: "opening a link as a folder",
        reason: "O_DIRECTORY with O_NOFOLLOW is ENOTDIR on Linux; the reference looks for the \
                 folder after it has opened",
        accepts: |step, _| match step.call {
            Call::Open { how, .. } => {
                how.oflags & DIRECTORY != 0 && step.errnos() == (errno::NOTDIR, errno::LOOP)
            }
            _ => false,
        },
        witness: || {
            let how = Opening { lookup: 0, oflags: DIRECTORY, rights: READS, fdflags: 0 };
            let target = "b".to_owned();
            vec![Call::Symlink { target, path: base("a") }, opening("a", how)]
        },
        ..ROW
    },
    Difference {
        name: "hard links to what a link leads to",
        reason: "`linkat` with AT_SYMLINK_FOLLOW works on Linux; the reference answers EINVAL",
        then: Then::Stop,
        accepts: |step, _| match step.call {
            Call::Link { lookup, .. } => lookup & 1 != 0 && step.only_they_say(errno::INVAL),
            _ => false,
        },
        witness: || {
            let (from, to) = (base("a"), base("b"));
            vec![open("a", CREATE, BOTH), Call::Link { from, lookup: 1, to }]
        },
        ..ROW
    },
    Difference {
        name: "a slash after a link or a file",
        reason: "on Linux the slash asks for a folder; the reference stops at what stands before it",
        then: Then::Stop,
        accepts: |step, _| match step.call {
            Call::PathStat { path, lookup: 0 } | Call::PathSetTimes { path, lookup: 0, .. } => {
                let asks_for_folder = path.text.ends_with('/') || path.text.ends_with("/.");
                asks_for_folder && step.theirs.errno == errno::NONE
            }
            _ => false,
        },
        witness: || {
            let target = ".".to_owned();
            let symlink = Call::Symlink { target, path: base("a") };
            vec![symlink, Call::PathStat { path: base("a/"), lookup: 0 }]
        },
        ..ROW
    },
    Difference {
        name: "a slash after a name that is taken",
        reason: "Linux answers EEXIST; the reference looks for a folder of that name",
        accepts: |step, _| match step.call {
            Call::Symlink { path, .. } | Call::Link { to: path, .. } => {
                path.text.ends_with('/')
                    && step.ours.errno == errno::EXIST
                    && [errno::NOENT, errno::NOTDIR, errno::LOOP].contains(&step.theirs.errno)
            }
            _ => false,
        },
        witness: || {
            let target = "x".to_owned();
            vec![open("a", CREATE, BOTH), Call::Symlink { target, path: base("a/") }]
        },
        ..ROW
    },
    Difference {
        name: "removing a parent",
        reason: "`rmdir` of a path that ends with `..` is ENOTEMPTY on Linux; the reference answers \
                 EINVAL",
        accepts: |step, _| match step.call {
            Call::RemoveFolder(path) => {
                path.text.trim_end_matches('/').ends_with("..") && step.only_they_say(errno::INVAL)
            }
            _ => false,
        },
        witness: || {
            let make = |text| Call::MakeFolder(base(text));
            vec![make("a"), make("a/b"), Call::RemoveFolder(base("a/b/.."))]
        },
        ..ROW
    },
    Difference {
        name: "removing a folder by a path with a slash",
        reason: "`rmdir` takes a slash at the end on Linux; the reference answers EINVAL",
        then: Then::Stop,
        accepts: |step, _| match step.call {
            Call::RemoveFolder(path) => {
                path.text.ends_with('/') && step.only_they_say(errno::INVAL)
            }
            _ => false,
        },
        witness: || vec![Call::MakeFolder(base("a")), Call::RemoveFolder(base("a/"))],
        ..ROW
    },
    Difference {
        name: "removing a link by a path with a slash",
        reason: "`unlink` and `rmdir` of a link and a slash are ENOTDIR on Linux; the reference \
                 follows the link",
        accepts: |step, _| match step.call {
            Call::Unlink(path) | Call::RemoveFolder(path) => {
                path.text.ends_with('/')
                    && step.ours.errno == errno::NOTDIR
                    && [errno::ISDIR, errno::LOOP, errno::NOENT].contains(&step.theirs.errno)
            }
            _ => false,
        },
        witness: || {
            let target = ".".to_owned();
            let symlink = Call::Symlink { target, path: base("a") };
            vec![symlink, Call::Unlink(base("a/"))]
        },
        ..ROW
    },
    Difference {
        name: "setting no time at all",
        reason: "`utimensat` with UTIME_OMIT twice does not look at the path on Linux; the \
                 reference looks when it follows links",
        accepts: |step, _| match step.call {
            Call::PathSetTimes { times, .. } => times.flags == 0 && step.ours.errno == errno::NONE,
            _ => false,
        },
        witness: || {
            let times = GivenTimes { accessed: 0, modified: 0, flags: 0 };
            vec![Call::PathSetTimes { path: base("a"), lookup: 1, times }]
        },
        ..ROW
    },
    Difference {
        name: "long paths",
        reason: "Linux refuses a path of 4,096 bytes before it looks at it; the reference takes it \
                 apart first",
        accepts: |step, _| {
            let is_long = |text: &str| text.len() >= 4096;
            let target = matches!(step.call, Call::Symlink { target, .. } if is_long(target));
            step.only_fails_otherwise(&[errno::NAMETOOLONG])
                && (target || step.call.paths().iter().any(|path| is_long(&path.text)))
        },
        witness: || vec![Call::MakeFolder(base(&"a/".repeat(2048)))],
        ..ROW
    },
    Difference {
        name: "the order of two paths",
        reason: "when both paths of a call are wrong, either error may be reported",
        accepts: |step, _| {
            let path_errors =
                [errno::NOENT, errno::NOTDIR, errno::LOOP, errno::NAMETOOLONG, errno::INVAL];
            let two =
                matches!(step.call, Call::Link { .. } | Call::Rename { .. } | Call::Symlink { .. });
            let theirs = step.theirs.errno;
            two && step.only_fails_otherwise(&path_errors)
                && (path_errors.contains(&theirs) || theirs == errno::BUSY)
        },
        witness: || {
            let (from, to) = (base("a"), base("a\0b"));
            vec![Call::Link { from, lookup: 0, to }]
        },
        ..ROW
    },
    Difference {
        name: "the order of checks",
        reason: "when two things are wrong, it is free which one is told: a path or flags that \
                 contradict each other, or a descriptor that is closed or no folder",
        accepts: |step, _| {
            step.kind != Kind::Folder
                && step.only_fails_otherwise(&[errno::INVAL, errno::NAMETOOLONG])
                && [errno::BADF, errno::NOTDIR, errno::SPIPE].contains(&step.theirs.errno)
        },
        witness: || {
            let path = Path { at: Handle::Closed, text: "a".to_owned() };
            let oflags = CREATE | DIRECTORY;
            vec![Call::Open { path, how: Opening { lookup: 1, oflags, rights: BOTH, fdflags: 0 } }]
        },
        ..ROW
    },
    Difference {
        name: "rights of folders",
        reason: "a folder is listed, not read, so it does not have the right to be read",
        accepts: |step, field| step.kind == Kind::Folder && ["reads", "writes"].contains(&field),
        witness: || vec![open(".", DIRECTORY, READS), Call::DescriptorStat(FIRST)],
        ..ROW
    },
    Difference {
        name: "waiting for processor time",
        reason: "processor time stands still while a program waits, so this is EINVAL; the \
                 reference waits on another clock",
        accepts: |step, field| match step.call {
            Call::Poll(awaited) => {
                let is_processor =
                    |awaited: &Awaited| matches!(awaited, Awaited::Clock { id: 2 | 3, .. });
                field == "events" && awaited.iter().any(is_processor)
            }
            _ => false,
        },
        witness: || vec![Call::Poll(vec![Awaited::Clock { id: 2, timeout: 0, flags: 0 }])],
        ..ROW
    },
    Difference {
        name: "descriptors of the wrong kind",
        reason: "Linux says what is wrong (ENOTDIR, EISDIR, ESPIPE, EINVAL) or does it (fsync of a \
                 folder); the reference answers EBADF",
        accepts: |step, _| {
            let takes_folder = !step.call.paths().is_empty()
                || matches!(step.call, Call::ReadDir { .. } | Call::List { .. });
            let wrong = match step.call {
                _ if takes_folder => step.kind != Kind::Folder || step.second_kind != Kind::Folder,
                Call::Stat(_) | Call::DescriptorStat(_) => false,
                Call::SetTimes { .. } => step.kind == Kind::Stream,
                _ => step.kind != Kind::File,
            };
            wrong
                && step.kind != Kind::Closed
                && step.only_they_say(errno::BADF)
                && !matches!(step.call, Call::Poll(_))
        },
        witness: || vec![Call::Sync(Handle::Base)],
        ..ROW
    },
    Difference {
        name: "times of folders of the start",
        reason: "a folder that is open can be given times on Linux; the reference has opened its \
                 own in a way that does not allow it",
        then: Then::Stop,
        accepts: |step, _| {
            matches!(step.call, Call::SetTimes { .. })
                && step.kind == Kind::Folder
                && step.errnos() == (errno::NONE, errno::BADF)
        },
        witness: || {
            let times = GivenTimes { accessed: 0, modified: 0, flags: 4 };
            vec![Call::SetTimes { fd: Handle::Base, times }]
        },
        ..ROW
    },
    Difference {
        name: "flags of folders and streams",
        reason: "Linux keeps the flags that F_SETFL has set, whatever the descriptor leads to",
        accepts: |step, field| field == "flags" && step.kind != Kind::File,
        witness: || {
            vec![Call::SetFlags { fd: Handle::Base, flags: 4 }, Call::DescriptorStat(Handle::Base)]
        },
        ..ROW
    },
    Difference {
        name: "metadata of streams",
        reason: "streams are character devices without positions here; in the reference they are \
                 of no type, and everything is 0",
        accepts: |step, field| step.kind == Kind::Stream && field != "errno",
        witness: || vec![Call::Stat(Handle::Output)],
        ..ROW
    },
    Difference {
        name: "files beyond the workspace",
        reason: "a file that could never fit into the workspace is EFBIG; the host has more room",
        then: Then::Stop,
        accepts: |step, _| step.errnos() == (errno::FBIG, errno::NONE),
        witness: || vec![open("a", CREATE, BOTH), Call::SetSize { fd: FIRST, size: 1 << 32 }],
        ..ROW
    },
    Difference {
        name: "positions beyond 2^63",
        reason: "Linux answers EINVAL; the reference counts on, and does not look at the position \
                 when it appends",
        then: Then::Stop,
        accepts: |step, _| {
            let moves =
                matches!(step.call, Call::Seek { .. } | Call::Write { offset: Some(_), .. });
            moves && step.errnos() == (errno::INVAL, errno::NONE)
        },
        witness: || {
            let seek = |delta| Call::Seek { fd: FIRST, delta, whence: 1 };
            vec![open("a", CREATE, BOTH), seek(i64::MAX), seek(1)]
        },
        ..ROW
    },
    Difference {
        name: "size and links of folders",
        reason: "both belong to the file system: folders have size 0 and one link here, as on \
                 several of Linux",
        accepts: |step, field| ["size", "links"].contains(&field) && step.is_about_folder(),
        witness: || vec![Call::Stat(Handle::Base)],
        ..ROW
    },
    Difference {
        name: "times of access",
        reason: "reading leaves no trace, as on a file system that is mounted with noatime",
        accepts: |step, field| {
            let time = |fields: &[(&str, Value)]| {
                fields.iter().find(|(name, _)| *name == "accessed").map(|(_, time)| time.clone())
            };
            field == "accessed"
                && matches!(time(&step.ours.fields), Some(Value::Number(_)))
                && time(&step.theirs.fields) == Some(Value::Now)
        },
        witness: || {
            let times = GivenTimes { accessed: 0, modified: 0, flags: 5 };
            let stat = Call::Stat(FIRST);
            let set = Call::SetTimes { fd: FIRST, times };
            vec![
                open("a", CREATE, BOTH),
                write(0, b"x"),
                set,
                read(0, 1),
                write(0, b"x"),
                Call::Read { fd: FIRST, lengths: vec![1], offset: Some(0) },
                stat,
            ]
        },
        ..ROW
    },
    Difference {
        name: "moving the folders of the start",
        reason: "the C library of the guest remembers their numbers, so these stay; the reference \
                 moves them",
        then: Then::Stop,
        accepts: |step, _| {
            matches!(step.call, Call::Renumber { .. })
                && step.errnos() == (errno::NOTSUP, errno::NONE)
        },
        witness: || vec![open("a", CREATE, BOTH), Call::Renumber { from: FIRST, to: Handle::Base }],
        ..ROW
    },
    Difference {
        name: "errors of single subscriptions",
        reason: "`poll` on Linux reports the descriptor that is not open and waits for the others; \
                 the reference fails as a whole",
        accepts: |step, _| {
            let (ours, theirs) = step.errnos();
            matches!(step.call, Call::Poll(_))
                && ours == errno::NONE
                && [errno::BADF, errno::INVAL, errno::ISDIR].contains(&theirs)
        },
        witness: || vec![Call::Poll(vec![Awaited::Readable(Handle::Closed)])],
        ..ROW
    },
    Difference {
        name: "files that are not ready yet",
        reason: "a file on Linux can always be read and written; the reference reports some of the \
                 files that were asked for",
        accepts: |step, field| {
            let events = |fields: &[(&str, Value)]| match fields.first() {
                Some(("events", Value::Bytes(events))) => events.clone(),
                _ => Vec::new(),
            };
            let (ours, theirs) = (events(&step.ours.fields), events(&step.theirs.fields));
            let mut all = ours.chunks(11);
            field == "events" && theirs.chunks(11).all(|event| all.any(|ours| ours == event))
        },
        witness: || {
            let awaited = vec![Awaited::Readable(FIRST), Awaited::Writable(FIRST)];
            vec![open("a", CREATE, BOTH), Call::Poll(awaited)]
        },
        ..ROW
    },
    Difference {
        name: "sizes and flags of events",
        reason: "events say how much there is to read, and a file never hangs up; the reference \
                 always says 1, and that a file has hung up at its end",
        accepts: |_, field| ["event sizes", "event flags"].contains(&field),
        witness: || {
            let poll = Call::Poll(vec![Awaited::Readable(FIRST)]);
            vec![open("a", CREATE, BOTH), poll]
        },
        ..ROW
    },
    Difference {
        name: "clocks of processor time",
        reason: "Linux has them; the guest is alone on its thread, so they show the time since its \
                 start",
        accepts: |step, _| match step.call {
            Call::ClockResolution(id) | Call::ClockTime(id) => {
                [2, 3].contains(id) && step.errnos() == (errno::NONE, errno::BADF)
            }
            _ => false,
        },
        witness: || vec![Call::ClockTime(2)],
        ..ROW
    },
    Difference {
        name: "steps of clocks",
        reason: "clocks have steps of a millisecond, so that they say little about caches that \
                 guests share",
        accepts: |_, field| field == "resolution",
        witness: || vec![Call::ClockResolution(1)],
        ..ROW
    },
    Difference {
        name: "names of what was not given at the start",
        reason: "both functions answer EBADF when there is nothing to tell; in the reference the \
                 second answers ENOTDIR",
        accepts: |step, _| {
            matches!(step.call, Call::PrestatName { .. })
                && step.errnos() == (errno::BADF, errno::NOTDIR)
        },
        witness: || vec![Call::PrestatName { fd: Handle::Output, length: 9 }],
        ..ROW
    },
];
