//! The reasons why a checkpoint cannot be made or a guest cannot be resumed.

use crate::vfs::Errno;
use wardian_formats::job::session::checkpoint::ChainError;
use wardian_vocabulary::units::ByteCount;

/// The reason why a guest cannot be parked, or not be resumed from these packs. It is no fault of the
/// sandbox: other guests may run in this process afterwards.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PackError {
    /// The packs make no chain for the guest's image.
    #[error(transparent)]
    Chain(#[from] ChainError),
    /// The bytes of a pack are not those of a pack.
    #[error("a pack is damaged: {what}")]
    Damaged {
        /// What is wrong with it.
        what: &'static str,
    },
    /// The guest was made by another order: other mounts, another tenant, another kind of clocks.
    #[error("a pack belongs to a guest that was made by another order")]
    OtherGuest,
    /// The guest has more memory than the order allows.
    #[error("the guest has {length} of memory, more than its limit of {limit}")]
    TooMuchMemory {
        /// Its memory.
        length: ByteCount,
        /// The limit.
        limit: ByteCount,
    },
    /// The guest's files cannot be rebuilt within the limits of the order.
    #[error("the files of a pack cannot be rebuilt")]
    Files(#[source] Errno),
    /// The resumed state is not the one that was parked.
    #[error("the resumed state differs from the one that was parked")]
    OtherState,
    /// The guest has something that no pack can hold.
    #[error("the guest has {what}, which cannot be parked")]
    Unparkable {
        /// The thing.
        what: &'static str,
    },
}

impl PackError {
    /// A fault in the bytes of a pack.
    pub(crate) const fn damaged(what: &'static str) -> Self {
        Self::Damaged { what }
    }
}
