//! The kernel's notifications of changes in folders (inotify).
//!
//! A watch is set through an open handle, never through a path, so a link that takes the place of a
//! folder leads nowhere.

use std::ffi::{OsStr, OsString};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::io::Errno;

use crate::registry::folders::handle::Dir;

/// Size of the buffer of one read, in bytes: some two thousand notices.
const BUFFER: usize = 64 << 10;

/// The id of the watch of one folder.
pub(crate) type WatchId = i32;

/// One notice of the kernel.
#[derive(Debug)]
pub(crate) enum Notice {
    /// An entry of a folder changed, or the folder itself if there is no name.
    Changed(WatchId, Option<OsString>),
    /// The watch has ended: its folder was removed or unmounted, or the watch was removed.
    Ended(WatchId),
    /// The kernel's queue overflowed, so any folder may have changed.
    Overflow,
}

/// A queue of notices.
#[derive(Debug)]
pub(crate) struct Notices(OwnedFd);

impl Notices {
    pub(crate) fn open() -> io::Result<Self> {
        Ok(Self(inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?))
    }

    /// Watches the entries of this folder. Returns the existing watch if there is one.
    pub(crate) fn watch(&self, folder: &Dir) -> io::Result<WatchId> {
        let wanted = WatchFlags::CREATE
            | WatchFlags::DELETE
            | WatchFlags::MODIFY
            | WatchFlags::ATTRIB
            | WatchFlags::MOVE
            | WatchFlags::MOVE_SELF
            | WatchFlags::DELETE_SELF
            | WatchFlags::EXCL_UNLINK
            | WatchFlags::ONLYDIR;
        let path = format!("/proc/self/fd/{}", folder.as_fd().as_raw_fd());
        Ok(inotify::add_watch(&self.0, path, wanted)?)
    }

    pub(crate) fn unwatch(&self, watch: WatchId) {
        // The kernel removes the watch of a removed folder, so an error is expected.
        inotify::remove_watch(&self.0, watch).ok();
    }

    /// Reads pending notices, at most one buffer of them. Returns true if there were any.
    pub(crate) fn take(&self, mut each: impl FnMut(Notice)) -> io::Result<bool> {
        let mut buffer = [MaybeUninit::<u8>::uninit(); BUFFER];
        let mut reader = Reader::new(&self.0, &mut buffer);
        let mut has_any = false;
        loop {
            let event = match reader.next() {
                Ok(event) => event,
                Err(Errno::AGAIN) => return Ok(has_any),
                Err(Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
            };
            has_any = true;
            if event.events().contains(ReadFlags::QUEUE_OVERFLOW) {
                each(Notice::Overflow);
            } else if event.events().contains(ReadFlags::IGNORED) {
                each(Notice::Ended(event.wd()));
            } else {
                let name = event.file_name().map(|name| OsStr::from_bytes(name.to_bytes()));
                each(Notice::Changed(event.wd(), name.map(OsStr::to_owned)));
            }
            if reader.is_buffer_empty() {
                return Ok(true);
            }
        }
    }
}

impl AsFd for Notices {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// True if other machines may change files of this folder. The kernel sends no notices of them.
pub(crate) fn is_remote(folder: &Dir) -> bool {
    // Numbers of `statfs(2)`: NFS, SMB, SMB2, CIFS, FUSE, 9p, Ceph, AFS, Coda, Lustre, GPFS,
    // VirtualBox.
    const REMOTE: [u32; 12] = [
        0x6969,
        0x517b,
        0xfe53_4d42,
        0xff53_4d42,
        0x6573_5546,
        0x0102_1997,
        0x00c3_6400,
        0x5346_414f,
        0x7375_7245,
        0x0bd0_0bd0,
        0x4750_4653,
        0x786f_4256,
    ];
    // A file system that cannot be identified may be of any type.
    let Ok(found) = rustix::fs::fstatfs(folder) else { return true };
    REMOTE.iter().any(|kind| i128::from(*kind) == i128::from(found.f_type) & 0xffff_ffff)
}
