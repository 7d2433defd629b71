//! Numbers and memory layouts of `wasi_snapshot_preview1`.

use crate::vfs::{DescriptorStat, Errno, FileKind, FileStat, ListedEntry, SetTimes, Timestamp};

/// Rights of a descriptor, one bit each.
pub(super) mod rights {
    pub(crate) const FD_DATASYNC: u64 = 1 << 0;
    pub(crate) const FD_READ: u64 = 1 << 1;
    pub(crate) const FD_SEEK: u64 = 1 << 2;
    pub(crate) const FD_FDSTAT_SET_FLAGS: u64 = 1 << 3;
    pub(crate) const FD_SYNC: u64 = 1 << 4;
    pub(crate) const FD_TELL: u64 = 1 << 5;
    pub(crate) const FD_WRITE: u64 = 1 << 6;
    pub(crate) const FD_ADVISE: u64 = 1 << 7;
    pub(crate) const FD_ALLOCATE: u64 = 1 << 8;
    #[cfg(test)]
    pub(crate) const FD_READDIR: u64 = 1 << 14;
    pub(crate) const FD_FILESTAT_GET: u64 = 1 << 21;
    pub(crate) const FD_FILESTAT_SET_SIZE: u64 = 1 << 22;
    pub(crate) const FD_FILESTAT_SET_TIMES: u64 = 1 << 23;
    pub(crate) const POLL_FD_READWRITE: u64 = 1 << 27;

    /// All rights of preview 1.
    pub(crate) const ALL: u64 = (1 << 30) - 1;

    /// The rights of every open file.
    pub(crate) const OPEN: u64 = FD_SEEK
        | FD_TELL
        | FD_FDSTAT_SET_FLAGS
        | FD_SYNC
        | FD_ADVISE
        | FD_FILESTAT_GET
        | FD_FILESTAT_SET_TIMES
        | POLL_FD_READWRITE;

    /// The further rights of an open file that can be written.
    pub(crate) const CHANGES: u64 = FD_WRITE | INTENDS_CHANGES;

    /// The rights that the C library requests, besides `FD_WRITE`, when it opens a file for
    /// writing.
    pub(crate) const INTENDS_CHANGES: u64 = FD_DATASYNC | FD_ALLOCATE | FD_FILESTAT_SET_SIZE;
}

/// Flags of an open file.
pub(crate) mod fdflags {
    pub(crate) const APPEND: u16 = 1 << 0;
    pub(crate) const NONBLOCK: u16 = 1 << 2;
    pub(crate) const ALL: u16 = (1 << 5) - 1;
}

/// Flags for opening.
pub(crate) mod oflags {
    pub(crate) const CREAT: u16 = 1 << 0;
    pub(crate) const DIRECTORY: u16 = 1 << 1;
    pub(crate) const EXCL: u16 = 1 << 2;
    pub(crate) const TRUNC: u16 = 1 << 3;
    pub(crate) const ALL: u16 = (1 << 4) - 1;
}

/// Flag of a look-up: follow a symbolic link at the end of the path.
pub(crate) const SYMLINK_FOLLOW: u32 = 1 << 0;

/// Flags for setting times.
pub(crate) mod fstflags {
    pub(crate) const ATIM: u16 = 1 << 0;
    pub(crate) const ATIM_NOW: u16 = 1 << 1;
    pub(crate) const MTIM: u16 = 1 << 2;
    pub(crate) const MTIM_NOW: u16 = 1 << 3;
    pub(crate) const ALL: u16 = (1 << 4) - 1;
}

/// Clocks.
pub(crate) mod clockid {
    pub(crate) const REALTIME: u32 = 0;
    pub(crate) const MONOTONIC: u32 = 1;
    pub(crate) const PROCESS_CPUTIME: u32 = 2;
    pub(crate) const THREAD_CPUTIME: u32 = 3;
}

/// Kinds of events.
pub(crate) mod eventtype {
    pub(crate) const CLOCK: u8 = 0;
    pub(crate) const FD_READ: u8 = 1;
    pub(crate) const FD_WRITE: u8 = 2;
}

/// Size of `filestat` in memory.
pub(crate) const FILESTAT_SIZE: u32 = 64;

/// Size of `fdstat` in memory.
pub(crate) const FDSTAT_SIZE: u32 = 24;

/// Size of `subscription` in memory.
pub(crate) const SUBSCRIPTION_SIZE: u32 = 48;

/// Size of `event` in memory.
pub(crate) const EVENT_SIZE: u32 = 32;

/// A structure with values at their offsets. The gaps are zero.
struct Fields<const N: usize>([u8; N]);

impl<const N: usize> Fields<N> {
    const fn new() -> Self {
        Self([0; N])
    }

    fn put<const M: usize>(mut self, offset: usize, value: [u8; M]) -> Self {
        let field = self.0.get_mut(offset..).and_then(<[u8]>::first_chunk_mut);
        if let Some(field) = field {
            *field = value;
        }
        self
    }
}

/// `filetype`: streams count as character devices.
pub(crate) const fn filetype(kind: FileKind) -> u8 {
    match kind {
        FileKind::Device => 2,
        FileKind::Folder => 3,
        FileKind::File => 4,
        FileKind::Link => 7,
    }
}

pub(crate) fn filestat(stat: &FileStat) -> [u8; 64] {
    Fields::new()
        .put(0, stat.device.to_le_bytes())
        .put(8, stat.inode.to_le_bytes())
        .put(16, [filetype(stat.kind)])
        .put(24, stat.links.to_le_bytes())
        .put(32, stat.size.to_le_bytes())
        .put(40, stat.times.accessed.to_le_bytes())
        .put(48, stat.times.modified.to_le_bytes())
        .put(56, stat.times.changed.to_le_bytes())
        .0
}

/// `fdstat`, with the rights that a C library evaluates:
///
/// - The C library takes a character device without positions as a terminal, and Python writes to
///   terminals line by line. So streams claim to have positions; asking for one fails.
/// - `access` evaluates the inheriting rights of a folder. Read-only folders have no inheriting
///   `FD_WRITE`. They have all other inheriting rights, so that opening a file there for writing is
///   still recognised as such and refused.
pub(crate) fn fdstat(stat: &DescriptorStat) -> [u8; 24] {
    let appends = if stat.appends { fdflags::APPEND } else { 0 };
    let flags = appends | if stat.nonblocking { fdflags::NONBLOCK } else { 0 };
    let (base, inheriting) = if stat.kind == FileKind::Folder {
        let changes = if stat.in_workspace { 0 } else { rights::FD_WRITE };
        let no_files = rights::FD_READ | rights::FD_WRITE | rights::FD_SEEK | rights::FD_TELL;
        (rights::ALL & !no_files, rights::ALL & !changes)
    } else {
        let read = if stat.access.read { rights::FD_READ } else { 0 };
        let write = if stat.access.write { rights::CHANGES } else { 0 };
        (rights::OPEN | read | write, 0)
    };
    Fields::new()
        .put(0, [filetype(stat.kind)])
        .put(2, flags.to_le_bytes())
        .put(8, base.to_le_bytes())
        .put(16, inheriting.to_le_bytes())
        .0
}

/// The head of a `dirent`; the name follows.
pub(crate) fn dirent(entry: &ListedEntry<'_>) -> [u8; 24] {
    let name_length = u32::try_from(entry.name.len()).unwrap_or(u32::MAX);
    Fields::new()
        .put(0, entry.next_cookie.to_le_bytes())
        .put(8, entry.inode.to_le_bytes())
        .put(16, name_length.to_le_bytes())
        .put(20, [filetype(entry.kind)])
        .0
}

/// `prestat` of a folder whose path has that length.
pub(crate) fn prestat(path_length: u32) -> [u8; 8] {
    Fields::new().put(4, path_length.to_le_bytes()).0
}

/// The event that a subscription waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Awaited {
    Clock { id: u32, timeout: Timestamp, absolute: bool },
    Readable(u32),
    Writable(u32),
}

/// A `subscription`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Subscription {
    pub(crate) userdata: [u8; 8],
    pub awaited: Awaited,
}

impl Subscription {
    /// Parses a subscription; `EINVAL` for an unknown kind of event.
    pub(super) fn parse(bytes: &[u8; 48]) -> Result<Self, Errno> {
        let (userdata, rest) = bytes.split_first_chunk().ok_or(Errno::Fault)?;
        let at = |offset: usize| rest.get(offset..).unwrap_or_default();
        let number = |offset| at(offset).first_chunk().copied().map_or(0, u32::from_le_bytes);
        let awaited = match rest.first().copied() {
            Some(eventtype::CLOCK) => Awaited::Clock {
                id: number(8),
                timeout: at(16).first_chunk().copied().map_or(0, u64::from_le_bytes),
                absolute: number(32) & 1 != 0,
            },
            Some(eventtype::FD_READ) => Awaited::Readable(number(8)),
            Some(eventtype::FD_WRITE) => Awaited::Writable(number(8)),
            _ => return Err(Errno::Invalid),
        };
        Ok(Self { userdata: *userdata, awaited })
    }
}

/// An `event`: an awaited condition holds, or can never hold.
pub(super) fn event(
    subscription: &Subscription,
    error: Option<Errno>,
    readable_bytes: u64,
) -> [u8; 32] {
    let kind = match subscription.awaited {
        Awaited::Clock { .. } => eventtype::CLOCK,
        Awaited::Readable(_) => eventtype::FD_READ,
        Awaited::Writable(_) => eventtype::FD_WRITE,
    };
    Fields::new()
        .put(0, subscription.userdata)
        .put(8, error.map_or(0, Errno::number).to_le_bytes())
        .put(10, [kind])
        .put(16, readable_bytes.to_le_bytes())
        .0
}

/// The times to set, from the arguments and the present time.
pub(crate) fn set_times(
    accessed: Timestamp,
    modified: Timestamp,
    flags: u16,
    now: Timestamp,
) -> Result<SetTimes, Errno> {
    if flags & !fstflags::ALL != 0 {
        return Err(Errno::Invalid);
    }
    let choose = |given: u16, current: u16, time| match (flags & given != 0, flags & current != 0) {
        (true, true) => Err(Errno::Invalid),
        (true, false) => Ok(Some(time)),
        (false, true) => Ok(Some(now)),
        (false, false) => Ok(None),
    };
    Ok(SetTimes {
        accessed: choose(fstflags::ATIM, fstflags::ATIM_NOW, accessed)?,
        modified: choose(fstflags::MTIM, fstflags::MTIM_NOW, modified)?,
    })
}
