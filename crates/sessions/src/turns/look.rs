//! The turn of a session for something that changes nothing of it.
//!
//! INVARIANT(untouched): a look leaves no row, and a state that it was at is not said to be continued, unless
//! it becomes a change.

use std::sync::Arc;
use std::time::Duration;

use crate::error::SessionsError;
use crate::sessions::{Inner, Sessions};
use crate::turns::chain::UnsealedPack;
use crate::turns::turn::{SessionTurn, TurnRequest};
use crate::turns::turn_table::TurnPermit;
use wardian_stores::blobs::local::disk::{Disk, LocalDisk};
use wardian_vocabulary::budget::CallMemory;
use wardian_vocabulary::ids::{CheckpointId, SessionId, TenantId};

/// The turn of a session between two cells. No cell begins while it exists.
#[derive(Debug)]
pub struct SessionLook<D: Disk = LocalDisk> {
    inner: Arc<Inner<D>>,
    tenant: TenantId,
    session: SessionId,
    head: Option<CheckpointId>,
    /// When the session was last used.
    used_ms: u64,
    permit: TurnPermit,
}

impl<D: Disk> Sessions<D> {
    /// Takes the turn of a session without beginning a cell, for something that changes nothing of it: its
    /// state stays as it is, and is not said to be continued.
    ///
    /// # Errors
    ///
    /// [`SessionsError::NotFound`], [`SessionsError::Expired`], [`SessionsError::Busy`] if a cell is running
    /// and does not end in time, [`SessionsError::Waiting`] if one waits for its caller, or the store fails.
    pub async fn look(
        &self,
        tenant: &TenantId,
        session: &SessionId,
        wait: Duration,
    ) -> Result<SessionLook<D>, SessionsError> {
        self.find(tenant, session).await?;
        let permit = self.0.turns.take(session, wait).await;
        let permit = permit.ok_or_else(|| SessionsError::Busy { session: session.clone() })?;
        if let Some(waiting) = self.0.store.waiting_cell(session).await? {
            return Err(SessionsError::Waiting { session: session.clone(), cell: waiting.number });
        }
        // What it was before the wait is no more.
        let found = self.find(tenant, session).await?;
        Ok(SessionLook {
            inner: Arc::clone(&self.0),
            tenant: tenant.clone(),
            session: session.clone(),
            head: found.head,
            used_ms: found.used_ms,
            permit,
        })
    }
}

impl<D: Disk> SessionLook<D> {
    /// The session.
    #[must_use]
    pub const fn session(&self) -> &SessionId {
        &self.session
    }

    /// The checkpoint that the session is at; `None` before its first one.
    #[must_use]
    pub const fn head(&self) -> Option<&CheckpointId> {
        self.head.as_ref()
    }

    /// The packs that lead to that checkpoint, from the whole one on; none for a new guest. `memory` is
    /// charged for them before they are read.
    ///
    /// # Errors
    ///
    /// As for [a turn](crate::SessionTurn::packs).
    pub async fn packs(&self, memory: &CallMemory) -> Result<Vec<UnsealedPack>, SessionsError> {
        match &self.head {
            None => Ok(Vec::new()),
            Some(head) => self.inner.packs_of((&self.tenant, &self.session), head, memory).await,
        }
    }

    /// Begins a cell in this turn, for a state that something else than a program has changed. It ends with
    /// [`commit_change`](SessionTurn::commit_change). Nothing is waited for.
    ///
    /// # Errors
    ///
    /// As [`Sessions::take_turn`], except that no other cell is running.
    pub async fn begin_change(self, order: TurnRequest) -> Result<SessionTurn<D>, SessionsError> {
        let Self { inner, tenant, session, used_ms, permit, .. } = self;
        SessionTurn::begin(inner, (tenant, session), order, (used_ms, permit)).await
    }
}
