//! Errors of the store.

use std::io;

use crate::database_error::DatabaseError;
use wardian_vocabulary::error::ErrorKind;
use wardian_vocabulary::ids::BlobId;
use wardian_vocabulary::units::ByteCount;

/// Errors of the store.
#[derive(Debug, thiserror::Error)]
pub enum BlobError {
    /// The tenant has no such blob.
    #[error("the blob `{id}` does not exist; it may have expired")]
    NotFound {
        /// The requested id.
        id: BlobId,
    },
    /// The content is larger than a blob may be.
    #[error("a blob may have at most {limit}, this content has {size}")]
    TooLarge {
        /// The content.
        size: ByteCount,
        /// The limit.
        limit: ByteCount,
    },
    /// The tenant's quota is used up.
    #[error("this tenant may store {bytes} in {blobs} blobs, and its quota is used up")]
    QuotaExceeded {
        /// Maximum number of bytes.
        bytes: ByteCount,
        /// Maximum number of blobs.
        blobs: u64,
    },
    /// The disk is full. Nothing was changed.
    #[error("the blob store is full")]
    DiskFull(#[source] io::Error),
    /// A blob's file was found damaged and set aside.
    #[error("blob `{id}` is damaged")]
    Damaged {
        /// The id that was asked for.
        id: BlobId,
    },
    /// The content to store could not be read to its end.
    #[error("could not read the content to store")]
    Content(#[source] io::Error),
    /// The content does not have the digest that was announced. Nothing was stored.
    #[error("the content does not match the digest that was sent with it; nothing was stored")]
    WrongDigest,
    /// A folder could not be synced earlier, so durability can no longer be promised.
    #[error("the blob store accepts no more writes until the server is restarted")]
    Sealed,
    /// Another server has locked the store.
    #[error("the blob store is in use by another server")]
    InUse,
    /// The object store does not answer as it should. What was not acknowledged may or may not be stored.
    #[error("the object store of the blobs cannot be used now; try again later")]
    Unreachable(#[source] io::Error),
    /// The place in an object store belongs to another database.
    #[error("its place belongs to another database, whose servers keep their blobs there")]
    OtherDatabase,
    /// The disk failed. `what` is safe to show; the cause is for the log.
    #[error("could not {what} the blob store")]
    Storage {
        /// Verb, such as "read" or "write to".
        what: &'static str,
        /// The operating system's error.
        #[source]
        cause: io::Error,
    },
}

impl BlobError {
    /// The kind of the error, as callers branch on it.
    #[must_use]
    pub const fn kind(&self) -> ErrorKind {
        match self {
            Self::NotFound { .. } => ErrorKind::BlobNotFound,
            Self::TooLarge { .. } => ErrorKind::TooLarge,
            Self::QuotaExceeded { .. } => ErrorKind::QuotaExceeded,
            Self::DiskFull(_) | Self::Unreachable(_) => ErrorKind::Overloaded,
            Self::WrongDigest => ErrorKind::InvalidParams,
            Self::Damaged { .. }
            | Self::Content(_)
            | Self::Sealed
            | Self::InUse
            | Self::OtherDatabase
            | Self::Storage { .. } => ErrorKind::Internal,
        }
    }

    /// Converts an error of a database into an error about the operation `what`.
    pub(crate) fn from_database(what: &'static str) -> impl FnOnce(DatabaseError) -> Self {
        move |error| match error {
            DatabaseError::Full(_) => Self::DiskFull(io::Error::other(error)),
            error => Self::Storage { what, cause: io::Error::other(error) },
        }
    }

    /// Converts an error of the operating system into an error about the operation `what`.
    pub(crate) fn from_disk(what: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |cause| match cause.kind() {
            io::ErrorKind::StorageFull
            | io::ErrorKind::QuotaExceeded
            | io::ErrorKind::FileTooLarge => Self::DiskFull(cause),
            _ => Self::Storage { what, cause },
        }
    }
}
