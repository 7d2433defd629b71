//! Cells that wait for their caller: found, answered, abandoned.
//!
//! The state of such a cell is one of the cell alone. Its session is where it was before the cell, until
//! the cell has ended, and no other cell begins meanwhile.

use std::sync::Arc;
use std::time::Duration;

use crate::error::SessionsError;
use crate::sessions::{Sessions, in_task};
use crate::turns::cell_ends::bounded_end;
use crate::turns::turn::SessionTurn;
use crate::turns::turn_table::TurnPermit;
use wardian_stores::blobs::local::disk::Disk;
use wardian_stores::sessions::{AnsweredCell, CellEnd, WaitingCell};
use wardian_vocabulary::ids::{SessionId, TenantId};

impl<D: Disk> Sessions<D> {
    /// The cell of a session that waits for its caller, and what it has asked.
    ///
    /// # Errors
    ///
    /// [`SessionsError::NotFound`], [`SessionsError::Expired`], [`SessionsError::NotWaiting`] if none waits,
    /// or the store fails.
    pub async fn waiting(
        &self,
        tenant: &TenantId,
        session: &SessionId,
    ) -> Result<WaitingCell, SessionsError> {
        self.find(tenant, session).await?;
        let waiting = match self.0.store.waiting_cell(session).await? {
            // A turn that was dropped may let its cell wait on.
            None if self.0.turns.await_ending(session).await => {
                self.0.store.waiting_cell(session).await?
            }
            waiting => waiting,
        };
        waiting.ok_or_else(|| SessionsError::NotWaiting { session: session.clone() })
    }

    /// Changes what a cell that waits has asked: some of it needs no answer of its caller any more.
    ///
    /// # Errors
    ///
    /// As [`waiting`](Self::waiting), also if the cell has asked something else by now, or was answered.
    pub async fn ask_anew(
        &self,
        tenant: &TenantId,
        session: &SessionId,
        (cell, asked): (&WaitingCell, &str),
    ) -> Result<(), SessionsError> {
        self.find(tenant, session).await?;
        if self.0.store.ask_anew((tenant, session), cell, asked).await? {
            return Ok(());
        }
        Err(SessionsError::NotWaiting { session: session.clone() })
    }

    /// Lets a cell go on that waits, in the state that it was left in. That state is continued once: the
    /// turn ends with the cell, or with another wait.
    ///
    /// # Errors
    ///
    /// As [`waiting`](Self::waiting), also if the cell has asked something else by now, and
    /// [`SessionsError::Busy`] if somebody else has answered it.
    pub async fn resume_turn(
        &self,
        tenant: &TenantId,
        session: &SessionId,
        cell: WaitingCell,
    ) -> Result<SessionTurn<D>, SessionsError> {
        self.find(tenant, session).await?;
        let permit = self.permit(session).await?;
        let inner = Arc::clone(&self.0);
        let (tenant, session, now_ms) = (tenant.clone(), session.clone(), inner.now_ms());
        let answered = AnsweredCell { tenant, session, cell, now_ms };
        in_task(async move {
            let begun = inner.store.resume_cell(&answered).await?;
            SessionTurn::of(inner, (answered.tenant, answered.session), begun, permit)
        })
        .await
    }

    /// Rolls back a cell that waits, with this end. Its session can be used again.
    ///
    /// # Errors
    ///
    /// As [`waiting`](Self::waiting), and [`SessionsError::Busy`] while the cell is running.
    pub async fn abandon(
        &self,
        tenant: &TenantId,
        session: &SessionId,
        end: CellEnd,
    ) -> Result<WaitingCell, SessionsError> {
        self.find(tenant, session).await?;
        let permit = self.permit(session).await?;
        let (inner, session, end) = (Arc::clone(&self.0), session.clone(), bounded_end(end, 0));
        in_task(async move {
            let waiting = inner.store.waiting_cell(&session).await?;
            let waiting =
                waiting.ok_or_else(|| SessionsError::NotWaiting { session: session.clone() })?;
            let removed = inner.store.roll_back_cell(&session, waiting.number, &end).await?;
            drop(permit);
            inner.note_change(None, removed.unwrap_or_default()).await?;
            Ok(waiting)
        })
        .await
    }

    /// The turn of a session, if it is free.
    async fn permit(&self, session: &SessionId) -> Result<TurnPermit, SessionsError> {
        let permit = self.0.turns.take(session, Duration::ZERO).await;
        permit.ok_or_else(|| SessionsError::Busy { session: session.clone() })
    }
}
