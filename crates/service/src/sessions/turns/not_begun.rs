//! Why the turn of a cell was not begun.

use crate::error::ServiceError;
use wardian_dispatch::DispatchError;
use wardian_vocabulary::ids::CheckpointId;

/// Why a cell was not begun.
pub(crate) struct NotBegun {
    pub(crate) error: ServiceError,
    /// True if it never can be. Otherwise a cell that has waited waits on.
    pub(crate) is_lost: bool,
}

impl From<ServiceError> for NotBegun {
    fn from(error: ServiceError) -> Self {
        Self { error, is_lost: false }
    }
}

/// The error for a turn that was not begun, perhaps because its guest could not be made of its checkpoint.
pub(crate) fn not_resumed(error: DispatchError, head: Option<&CheckpointId>) -> NotBegun {
    match (error, head) {
        (DispatchError::NotResumed { reason }, Some(checkpoint)) => {
            let checkpoint = checkpoint.clone();
            NotBegun { error: ServiceError::StateUnusable { checkpoint, reason }, is_lost: true }
        }
        (error, _) => ServiceError::from(error).into(),
    }
}
