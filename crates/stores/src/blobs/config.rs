//! The settings of the store.

use std::path::PathBuf;
use std::time::Duration;

use wardian_vocabulary::units::ByteCount;

/// The settings of the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlobStoreConfig {
    /// Folder of the store. It is created if it does not exist.
    pub root: PathBuf,
    /// Largest content of one blob.
    pub blob_max: ByteCount,
    /// Maximum number of bytes of content of one tenant.
    pub tenant_bytes: ByteCount,
    /// Maximum number of blobs of one tenant.
    pub tenant_blobs: u64,
    /// Time for which a blob is kept after its last use; `None` keeps it forever.
    pub ttl: Option<Duration>,
}

impl BlobStoreConfig {
    /// The defaults for a store in this folder: 256 MiB for a blob, 10 GiB and 100,000 blobs for a
    /// tenant, and seven days after the last use.
    #[must_use]
    pub const fn at(root: PathBuf) -> Self {
        Self {
            root,
            blob_max: ByteCount::mebibytes(256),
            tenant_bytes: ByteCount::mebibytes(10 << 10),
            tenant_blobs: 100_000,
            ttl: Some(Duration::from_secs(7 * 24 * 60 * 60)),
        }
    }
}
