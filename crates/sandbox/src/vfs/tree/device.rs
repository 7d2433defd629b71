//! The devices in `/dev`: virtual nodes, none of which leads to a device of the host.

use crate::vfs::errno::Errno;
use wardian_formats::job::outcome::Stream;

/// A device that a guest can open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Device {
    /// `/dev/null`: empty, and takes everything.
    Null,
    /// `/dev/zero`: zeroes without end.
    Zero,
    /// `/dev/random` and `/dev/urandom`: random bytes without end.
    Random,
    /// `/dev/full`: zeroes without end, and no room for a byte.
    Full,
    /// `/dev/stdin`.
    Input,
    /// `/dev/stdout` and `/dev/stderr`.
    Output(Stream),
}

impl Device {
    /// Reads. Returns the number of bytes. The caller fills in random bytes itself.
    pub fn read(self, into: &mut [u8]) -> usize {
        match self {
            Self::Null | Self::Input | Self::Output(_) => 0,
            Self::Zero | Self::Random | Self::Full => {
                into.fill(0);
                into.len()
            }
        }
    }

    /// Writes. Returns the number of accepted bytes.
    pub const fn write(self, from: &[u8]) -> Result<usize, Errno> {
        match self {
            Self::Full if !from.is_empty() => Err(Errno::NoSpace),
            _ => Ok(from.len()),
        }
    }
}
