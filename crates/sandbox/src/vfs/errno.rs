//! The error numbers that a guest can see, as WASI preview 1 numbers them.

use std::fmt;

/// The reason why a call of the guest failed. The variants are the errors that Wardian uses; each
/// is the POSIX error with this number in `wasi_snapshot_preview1`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u16)]
pub enum Errno {
    /// `EBADF`: no such descriptor, or not open for this.
    BadDescriptor = 8,
    /// `EBUSY`: a folder that is in use as a root.
    Busy = 10,
    /// `EEXIST`: the name is taken.
    Exists = 20,
    /// `EFAULT`: a pointer or length lies outside of the guest's memory.
    Fault = 21,
    /// `EFBIG`: larger than any file may be.
    FileTooBig = 22,
    /// `EILSEQ`: a path that is no UTF-8.
    IllegalSequence = 25,
    /// `EINVAL`: an argument that makes no sense.
    Invalid = 28,
    /// `EIO`: the content of a mount could not be read.
    InputOutput = 29,
    /// `EISDIR`: a folder where a file is wanted.
    IsFolder = 31,
    /// `ELOOP`: too many symbolic links, or one where none is allowed.
    LinkLoop = 32,
    /// `EMFILE`: too many open files.
    TooManyOpenFiles = 33,
    /// `ENAMETOOLONG`: a name, a path or a nesting of folders that is too long.
    NameTooLong = 37,
    /// `ENOENT`: no such file or folder.
    NotFound = 44,
    /// `ENOSPC`: the quota of the workspace is used up.
    NoSpace = 51,
    /// `ENOTDIR`: something else where a folder is wanted.
    NotFolder = 54,
    /// `ENOTEMPTY`: the folder has entries.
    NotEmpty = 55,
    /// `ENOTSOCK`: there are no sockets.
    NotSocket = 57,
    /// `ENOTSUP`: not offered here.
    NotSupported = 58,
    /// `EOVERFLOW`: a number does not fit its type.
    Overflow = 61,
    /// `EPERM`: never allowed.
    NotPermitted = 63,
    /// `EROFS`: outside of the workspace nothing can be changed.
    ReadOnly = 69,
    /// `ESPIPE`: a stream has no position.
    NotSeekable = 70,
    /// `EXDEV`: a name cannot move between the workspace and the rest.
    CrossDevice = 75,
}

impl Errno {
    /// The number that preview 1 gives it.
    #[must_use]
    pub const fn number(self) -> u16 {
        self as u16
    }

    /// The name that C gives it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::BadDescriptor => "EBADF",
            Self::Busy => "EBUSY",
            Self::Exists => "EEXIST",
            Self::Fault => "EFAULT",
            Self::FileTooBig => "EFBIG",
            Self::IllegalSequence => "EILSEQ",
            Self::Invalid => "EINVAL",
            Self::InputOutput => "EIO",
            Self::IsFolder => "EISDIR",
            Self::LinkLoop => "ELOOP",
            Self::TooManyOpenFiles => "EMFILE",
            Self::NameTooLong => "ENAMETOOLONG",
            Self::NotFound => "ENOENT",
            Self::NoSpace => "ENOSPC",
            Self::NotFolder => "ENOTDIR",
            Self::NotEmpty => "ENOTEMPTY",
            Self::NotSocket => "ENOTSOCK",
            Self::NotSupported => "ENOTSUP",
            Self::Overflow => "EOVERFLOW",
            Self::NotPermitted => "EPERM",
            Self::ReadOnly => "EROFS",
            Self::NotSeekable => "ESPIPE",
            Self::CrossDevice => "EXDEV",
        }
    }
}

impl fmt::Display for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl std::error::Error for Errno {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_preview_1() {
        for (errno, number) in [
            (Errno::BadDescriptor, 8),
            (Errno::Fault, 21),
            (Errno::Invalid, 28),
            (Errno::TooManyOpenFiles, 33),
            (Errno::NotFound, 44),
            (Errno::NoSpace, 51),
            (Errno::NotSupported, 58),
            (Errno::ReadOnly, 69),
            (Errno::CrossDevice, 75),
        ] {
            assert_eq!(errno.number(), number, "{errno}");
        }
    }
}
