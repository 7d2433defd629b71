//! The packs that lead to a state, read as a whole.

use std::sync::Arc;

use tracing::warn;

use crate::error::SessionsError;
use crate::pack_folder::ReadFault;
use crate::sessions::{Inner, on_thread};
use wardian_stores::blobs::local::disk::Disk;
use wardian_stores::sessions::{PackDescription, StoredPack};
use wardian_vocabulary::budget::CallMemory;
use wardian_vocabulary::ids::{CheckpointId, SessionId, TenantId};
use wardian_vocabulary::units::ByteCount;

/// Maximum number of packs in a chain.
pub const MAX_CHAIN: u32 = 32;

/// A pack as it was stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnsealedPack {
    /// Its facts.
    pub description: PackDescription,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

impl<D: Disk> Inner<D> {
    /// The packs that lead to a state of a session, from the whole one on. `memory` is charged for them
    /// before they are read. Damage is logged: it is the operator's disk.
    pub(super) async fn packs_of(
        &self,
        owner: (&TenantId, &SessionId),
        head: &CheckpointId,
        memory: &CallMemory,
    ) -> Result<Vec<UnsealedPack>, SessionsError> {
        let read = self.read_chain(owner, head, memory).await;
        if let Err(SessionsError::Damaged { checkpoint }) = &read {
            warn!(
                session.id = %owner.1,
                "checkpoint {checkpoint} is damaged: a file that it needs is missing or was changed"
            );
        }
        read
    }

    async fn read_chain(
        &self,
        (tenant, session): (&TenantId, &SessionId),
        head: &CheckpointId,
        memory: &CallMemory,
    ) -> Result<Vec<UnsealedPack>, SessionsError> {
        let chain = self.store.chain(session, head).await?;
        if !is_whole(&chain, head) {
            return Err(SessionsError::Damaged { checkpoint: head.clone() });
        }
        let sizes = chain.iter().map(|pack| pack.stored_bytes);
        memory.reserve(ByteCount::bytes(sizes.fold(0, u64::saturating_add)))?;
        let keys = self.keys_of_chain(tenant, session, head, &chain).await?;
        let (folder, head) = (Arc::clone(&self.folder), head.clone());
        on_thread(move || {
            let mut packs = Vec::with_capacity(chain.len());
            for pack in chain {
                let damaged = || SessionsError::Damaged { checkpoint: head.clone() };
                let key = keys.get(&pack.id.origin).ok_or_else(damaged)?;
                let bytes = folder.read(&pack, key).map_err(|fault| match fault {
                    ReadFault::Damaged => damaged(),
                    ReadFault::Failed(cause) => SessionsError::from_disk("read")(cause),
                })?;
                packs.push(UnsealedPack { description: pack.description, bytes });
            }
            Ok(packs)
        })
        .await
    }
}

/// True if these packs lead from a whole one to the checkpoint, without a gap.
fn is_whole(chain: &[StoredPack], checkpoint: &CheckpointId) -> bool {
    let mut base = None;
    for (pack, sequence) in chain.iter().zip(0..MAX_CHAIN) {
        if pack.description.sequence != sequence || pack.description.base != base {
            return false;
        }
        base = Some(pack.description.digest);
    }
    let is_short = u32::try_from(chain.len()).is_ok_and(|length| length <= MAX_CHAIN);
    is_short && chain.last().is_some_and(|last| last.id.checkpoint == *checkpoint)
}
