//! The devices in `/dev`: virtual nodes, none of which leads to a device of the host.

use std::sync::{Arc, LazyLock};

use crate::job::outcome::Stream;
use crate::sandbox::vfs::FileSystem;
use crate::sandbox::vfs::descriptor::{Descriptor, Fd};
use crate::sandbox::vfs::errno::Errno;
use crate::sandbox::vfs::immutable::ImmutableTree;

/// A device that a guest can open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Device {
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

/// The folder `/dev`, made once for all runs: mounting it costs a run one reference.
pub(crate) static DEVICES: LazyLock<Arc<ImmutableTree>> = LazyLock::new(|| {
    Arc::new(ImmutableTree::of_devices(&[
        ("full", Device::Full),
        ("null", Device::Null),
        ("random", Device::Random),
        ("stderr", Device::Output(Stream::Stderr)),
        ("stdin", Device::Input),
        ("stdout", Device::Output(Stream::Stdout)),
        ("urandom", Device::Random),
        ("zero", Device::Zero),
    ]))
});

impl Device {
    /// What an open file of this device is.
    pub(crate) const fn descriptor(self) -> Descriptor {
        match self {
            Self::Input => Descriptor::Input,
            Self::Output(stream) => Descriptor::Output(stream),
            Self::Null | Self::Zero | Self::Random | Self::Full => Descriptor::Device(self),
        }
    }

    /// Reads; returns how many bytes were read. The caller fills in what is random.
    pub(crate) fn read(self, into: &mut [u8]) -> usize {
        match self {
            Self::Null | Self::Input | Self::Output(_) => 0,
            Self::Zero | Self::Random | Self::Full => {
                into.fill(0);
                into.len()
            }
        }
    }

    /// Writes; returns how many bytes were taken.
    pub(crate) const fn write(self, from: &[u8]) -> Result<usize, Errno> {
        match self {
            Self::Full if !from.is_empty() => Err(Errno::NoSpace),
            _ => Ok(from.len()),
        }
    }
}

impl FileSystem {
    /// True if a descriptor gives random bytes, which the caller has.
    ///
    /// # Errors
    ///
    /// `EBADF`.
    pub fn is_random(&self, fd: Fd) -> Result<bool, Errno> {
        Ok(matches!(self.descriptors.find(fd)?, Descriptor::Device(Device::Random)))
    }
}
