//! The beginning of a cell.

use std::sync::Arc;

use crate::error::SessionsError;
use crate::sessions::{Inner, Sessions, in_task};
use crate::turns::turn::{MAX_SOURCE, SessionTurn, TurnRequest, bounded};
use crate::turns::turn_table::TurnPermit;
use wardian_stores::blobs::local::disk::Disk;
use wardian_stores::sessions::{NewCell, RARE_USE_MS};
use wardian_vocabulary::ids::{SessionId, TenantId};

impl<D: Disk> Sessions<D> {
    /// Begins the next cell of a session.
    ///
    /// When this returns, it is noted that the state has been continued: whatever becomes of the cell, the
    /// next one that begins at the same state is told to reseed. So it is after a loss of power, in which
    /// the note may be lost: then all sessions reseed that were used shortly before.
    ///
    /// # Errors
    ///
    /// [`SessionsError::NotFound`], [`SessionsError::Expired`], [`SessionsError::Busy`] if another cell is
    /// running and does not end in time, [`SessionsError::Conflict`] if the session is not at the expected
    /// checkpoint, [`SessionsError::MayHaveGoneBack`] once after a loss of power if the caller expects none,
    /// [`SessionsError::Full`], or the store fails.
    pub async fn take_turn(
        &self,
        tenant: &TenantId,
        session: &SessionId,
        order: TurnRequest,
    ) -> Result<SessionTurn<D>, SessionsError> {
        let used_ms = self.find(tenant, session).await?.used_ms;
        let permit = self.0.turns.take(session, order.wait).await;
        let permit = permit.ok_or_else(|| SessionsError::Busy { session: session.clone() })?;
        let inner = Arc::clone(&self.0);
        begin(inner, (tenant, session), (order, used_ms), permit).await
    }
}

/// Begins the next cell of a session that was used last at `used_ms`, with its turn.
pub(super) async fn begin<D: Disk>(
    inner: Arc<Inner<D>>,
    (tenant, session): (&TenantId, &SessionId),
    (order, used_ms): (TurnRequest, u64),
    permit: TurnPermit,
) -> Result<SessionTurn<D>, SessionsError> {
    let cell = NewCell {
        tenant: tenant.clone(),
        session: session.clone(),
        source: bounded(order.source, MAX_SOURCE),
        if_checkpoint: order.if_checkpoint,
        is_settled: inner.now_ms().saturating_sub(used_ms) > RARE_USE_MS,
        now_ms: inner.now_ms(),
    };
    // A cell that has begun has a turn, which ends it, also if nobody waits for it any more.
    in_task(async move {
        let begun = inner.store.begin_cell(&cell, inner.config.max_parked.as_u64()).await?;
        inner.note_change(None, Vec::new()).await?;
        SessionTurn::of(inner, (cell.tenant, cell.session), begun, permit)
    })
    .await
}
