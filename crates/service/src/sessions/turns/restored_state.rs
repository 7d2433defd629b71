//! The packs of a state that a guest is about to be made of, and the memory that they take until it is.

use std::any::Any;
use std::io;
use std::sync::Arc;

use crate::caller::Caller;
use crate::error::ServiceError;
use crate::sessions::turns::tenant_shares::TenantShares;
use wardian_dispatch::PackContent;
use wardian_sessions::{SessionLook, SessionTurn, SessionsError, UnsealedPack};
use wardian_vocabulary::budget::CallMemory;
use wardian_vocabulary::units::ByteCount;

/// The place in a session at which a guest is made of its state.
#[derive(Debug, Clone, Copy)]
pub(crate) enum StateOf<'a> {
    Turn(&'a SessionTurn),
    Look(&'a SessionLook),
}

impl StateOf<'_> {
    fn is_new(self) -> bool {
        match self {
            Self::Turn(turn) => turn.state().is_none(),
            Self::Look(look) => look.head().is_none(),
        }
    }

    async fn chain_bytes(self) -> Result<u64, SessionsError> {
        match self {
            Self::Turn(turn) => turn.chain_bytes().await,
            Self::Look(look) => look.chain_bytes().await,
        }
    }

    async fn packs(self, memory: &CallMemory) -> Result<Vec<UnsealedPack>, SessionsError> {
        match self {
            Self::Turn(turn) => turn.packs(memory).await,
            Self::Look(look) => look.packs(memory).await,
        }
    }
}

/// The packs of a state; none for a new guest. Their memory is charged until a worker has made the guest of
/// them, and not to its end. Waits while other states of the tenant take its part of the memory.
pub(crate) async fn packs_of(
    shares: &TenantShares,
    caller: &Caller,
    state: StateOf<'_>,
) -> Result<Vec<PackContent>, ServiceError> {
    if state.is_new() {
        return Ok(Vec::new());
    }
    let bytes = ByteCount::bytes(state.chain_bytes().await?);
    let restoring = shares.begin_restoring(&caller.tenant, &caller.memory, bytes).await?;
    let packs = state.packs(restoring.memory()).await?;
    let charge: Arc<dyn Any + Send + Sync> = Arc::new(restoring);
    // Large packs are copied to memory files.
    let contents = caller.memory.on_thread(move || {
        let content = |pack: UnsealedPack| {
            PackContent::new(pack.bytes).map(|content| content.with_charge(Arc::clone(&charge)))
        };
        packs.into_iter().map(content).collect::<io::Result<Vec<_>>>()
    });
    let contents = contents.await.map_err(ServiceError::Interrupted)?;
    contents.map_err(ServiceError::Unreadable)
}
