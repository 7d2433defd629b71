//! Errors of calls in a fleet.

use wardian_vocabulary::error::ErrorKind;

/// Errors of calls in a fleet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FleetError {
    /// A call was not submitted, as far as is known.
    #[error(
        "the database of the fleet does not answer, so it is not known whether the run was accepted; repeat \
         the call with an `idempotency_key`"
    )]
    NotSubmitted,
    /// An order cannot be opened or read here.
    #[error("this server cannot read the order of the run")]
    Unreadable,
    /// This server has something else than the server that took the call.
    #[error("this server has other {what} than the one that took the call")]
    OtherHere {
        /// What is different.
        what: &'static str,
    },
}

impl FleetError {
    /// The kind of the error, as callers branch on it.
    #[must_use]
    pub const fn kind(self) -> ErrorKind {
        match self {
            Self::NotSubmitted | Self::Unreadable | Self::OtherHere { .. } => ErrorKind::Internal,
        }
    }
}
