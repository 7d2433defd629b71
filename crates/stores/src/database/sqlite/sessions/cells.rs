//! The cells of sessions.

use async_trait::async_trait;

use crate::database::sqlite::numbers::{count, number};
use crate::database::sqlite::sessions::SqliteSessions;
use crate::database::sqlite::sessions::cell_rows::{
    Ending, add_cell, add_checkpoint, add_pack, end_cell, find_head, find_parked, find_waiting,
    give_up,
};
use crate::database::sqlite::sessions::columns::{
    self, CellColumns, OPEN, checkpoint_id, parsed, small,
};
use crate::database::sqlite::sessions::packs::{release, thin_out};
use crate::database::sqlite::sessions::parts::{
    bytes_of, forget_loss, owner_and_head, use_session,
};
use crate::database_error::DatabaseError;
use crate::sessions::rows::{
    AnsweredCell, CellEnd, CellState, NewCell, PackId, StoredCell, WaitingCell,
};
use crate::sessions::store::{Begun, BegunCell, CellCommit, Committed, SessionCells};
use wardian_vocabulary::ids::SessionId;

#[async_trait]
impl SessionCells for SqliteSessions {
    async fn begin_cell(&self, cell: &NewCell, max_bytes: u64) -> Result<Begun, DatabaseError> {
        let file = if cell.is_settled { &self.file } else { &self.unsynced };
        let mut transaction = file.begin().await?;
        let found: Option<(String, i64, i64, Option<String>, i64, i64)> = sqlx::query_as(
            "SELECT state, expires_ms, cells, head, must_reseed, may_have_gone_back FROM sessions \
             WHERE session_id = $1 AND tenant = $2",
        )
        .bind(cell.session.to_string())
        .bind(cell.tenant.to_string())
        .fetch_optional(&mut *transaction)
        .await?;
        let Some((state, expires, cells, head, must_reseed, has_gone_back)) = found else {
            return Ok(Begun::NotFound);
        };
        if state != OPEN || expires <= number(cell.now_ms) {
            return Ok(Begun::Expired { at_ms: count(expires) });
        }
        if let Some(waiting) = find_waiting(&mut *transaction, &cell.session).await? {
            return Ok(Begun::Waits { cell: waiting.number });
        }
        let head = checkpoint_id(head.as_deref())?;
        if cell.if_checkpoint.is_some() && cell.if_checkpoint != head {
            return Ok(Begun::Conflict { head });
        }
        if has_gone_back != 0 && cell.if_checkpoint.is_none() {
            forget_loss(&mut transaction, &cell.session).await?;
            transaction.commit().await?;
            return Ok(Begun::MayHaveGoneBack { head });
        }
        if bytes_of(&mut transaction, cell.tenant.as_str()).await? > number(max_bytes) {
            return Ok(Begun::Full);
        }
        let next = small(cells.saturating_add(1))?;
        add_cell(&mut transaction, cell, next).await?;
        let head = find_head(&mut transaction, &cell.session, head.as_ref()).await?;
        transaction.commit().await?;
        let must_reseed = must_reseed != 0 && head.is_some();
        Ok(Begun::Cell(Box::new(BegunCell { number: next, head, must_reseed, parked: None })))
    }

    async fn commit_cell(
        &self,
        commit: &CellCommit,
        max_bytes: u64,
    ) -> Result<Committed, DatabaseError> {
        // What is dropped before the commit changes nothing.
        let mut transaction = self.for_ends().begin().await?;
        let Some((tenant, head)) = owner_and_head(&mut transaction, &commit.session).await? else {
            return Ok(Committed::Gone);
        };
        if checkpoint_id(head.as_deref())? != commit.head {
            return Ok(Committed::Gone);
        }
        let ending = Ending { commit: Some(commit), ..Ending::of(CellState::Kept, &commit.end) };
        let cell = (&commit.session, commit.number);
        let Some(parked) = end_cell(&mut transaction, &tenant, cell, &ending).await? else {
            return Ok(Committed::Gone);
        };
        let session = &commit.session;
        add_pack(&mut transaction, tenant.as_str(), commit).await?;
        add_checkpoint(&mut transaction, commit).await?;
        sqlx::query("UPDATE sessions SET head = $2, must_reseed = $3 WHERE session_id = $1")
            .bind(session.to_string())
            .bind(commit.checkpoint.to_string())
            .bind(i64::from(commit.must_reseed))
            .execute(&mut *transaction)
            .await?;
        use_session(&mut transaction, session, commit.now_ms).await?;
        let mut removed = thin_out(&mut transaction, session, &commit.checkpoint).await?;
        if let Some(parked) = parked {
            release(&mut transaction, parked, &mut removed).await?;
        }
        if bytes_of(&mut transaction, tenant.as_str()).await? > number(max_bytes) {
            return Ok(Committed::Full);
        }
        transaction.commit().await?;
        Ok(Committed::Done(removed))
    }

    async fn park_cell(
        &self,
        commit: &CellCommit,
        asked: &str,
        max_bytes: u64,
    ) -> Result<Committed, DatabaseError> {
        let mut transaction = self.for_ends().begin().await?;
        let Some((tenant, head)) = owner_and_head(&mut transaction, &commit.session).await? else {
            return Ok(Committed::Gone);
        };
        if checkpoint_id(head.as_deref())? != commit.head {
            return Ok(Committed::Gone);
        }
        let ending = Ending {
            commit: Some(commit),
            asked: Some(asked),
            ..Ending::of(CellState::Waiting, &commit.end)
        };
        let cell = (&commit.session, commit.number);
        let Some(parked) = end_cell(&mut transaction, &tenant, cell, &ending).await? else {
            return Ok(Committed::Gone);
        };
        add_pack(&mut transaction, tenant.as_str(), commit).await?;
        use_session(&mut transaction, &commit.session, commit.now_ms).await?;
        let mut removed = Vec::new();
        if let Some(parked) = parked {
            release(&mut transaction, parked, &mut removed).await?;
        }
        if bytes_of(&mut transaction, tenant.as_str()).await? > number(max_bytes) {
            return Ok(Committed::Full);
        }
        transaction.commit().await?;
        Ok(Committed::Done(removed))
    }

    async fn waiting_cell(
        &self,
        session: &SessionId,
    ) -> Result<Option<WaitingCell>, DatabaseError> {
        find_waiting(self.file.connections(), session).await
    }

    async fn resume_cell(&self, answered: &AnsweredCell) -> Result<Begun, DatabaseError> {
        let mut transaction = self.file.begin().await?;
        let AnsweredCell { tenant, session, cell, now_ms } = answered;
        let found: Option<(String, i64, Option<String>)> = sqlx::query_as(
            "SELECT state, expires_ms, head FROM sessions WHERE session_id = $1 AND tenant = $2",
        )
        .bind(session.to_string())
        .bind(tenant.to_string())
        .fetch_optional(&mut *transaction)
        .await?;
        let Some((state, expires, head)) = found else { return Ok(Begun::NotFound) };
        if state != OPEN || expires <= number(*now_ms) {
            return Ok(Begun::Expired { at_ms: count(expires) });
        }
        if find_waiting(&mut *transaction, session).await?.as_ref() != Some(cell) {
            return Ok(Begun::NotWaiting);
        }
        sqlx::query(
            "UPDATE session_cells SET state = 'running' WHERE session_id = $1 AND number = $2",
        )
        .bind(session.to_string())
        .bind(i64::from(cell.number))
        .execute(&mut *transaction)
        .await?;
        use_session(&mut transaction, session, *now_ms).await?;
        forget_loss(&mut transaction, session).await?;
        let head = checkpoint_id(head.as_deref())?;
        let head = find_head(&mut transaction, session, head.as_ref()).await?;
        let parked = find_parked(&mut transaction, session, cell.number).await?;
        transaction.commit().await?;
        let parked = Some(parked);
        Ok(Begun::Cell(Box::new(BegunCell {
            number: cell.number,
            head,
            must_reseed: false,
            parked,
        })))
    }

    async fn suspend_cell(
        &self,
        session: &SessionId,
        number_of_cell: u32,
    ) -> Result<bool, DatabaseError> {
        let suspended = "UPDATE session_cells SET state = 'waiting' WHERE session_id = $1 \
                         AND number = $2 AND state = 'running' AND parked IS NOT NULL";
        let suspended = sqlx::query(suspended)
            .bind(session.to_string())
            .bind(i64::from(number_of_cell))
            .execute(self.for_ends().connections())
            .await?;
        Ok(suspended.rows_affected() == 1)
    }

    async fn use_session(&self, session: &SessionId, now_ms: u64) -> Result<(), DatabaseError> {
        let mut transaction = self.for_ends().begin().await?;
        if owner_and_head(&mut transaction, session).await?.is_some() {
            use_session(&mut transaction, session, now_ms).await?;
            transaction.commit().await?;
        }
        Ok(())
    }

    async fn roll_back_cell(
        &self,
        session: &SessionId,
        number_of_cell: u32,
        end: &CellEnd,
    ) -> Result<Option<Vec<PackId>>, DatabaseError> {
        let mut transaction = self.for_ends().begin().await?;
        let Some((tenant, _)) = owner_and_head(&mut transaction, session).await? else {
            return Ok(None);
        };
        let ending = Ending { is_waiting_too: true, ..Ending::of(CellState::RolledBack, end) };
        let cell = (session, number_of_cell);
        let Some(parked) = end_cell(&mut transaction, &tenant, cell, &ending).await? else {
            return Ok(None);
        };
        let mut removed = Vec::new();
        if let Some(parked) = parked {
            release(&mut transaction, parked, &mut removed).await?;
        }
        transaction.commit().await?;
        Ok(Some(removed))
    }

    async fn roll_back_running(&self) -> Result<u64, DatabaseError> {
        let mut transaction = self.file.begin().await?;
        let running = "SELECT session_id FROM session_cells WHERE state = 'running'";
        let running: Vec<String> = sqlx::query_scalar(running).fetch_all(&mut *transaction).await?;
        let mut ended = 0_u64;
        for session in running {
            let session = parsed(SessionId::parse(&session))?;
            ended = ended.saturating_add(give_up(&mut transaction, &session).await?);
        }
        transaction.commit().await?;
        Ok(ended)
    }

    async fn cells(
        &self,
        session: &SessionId,
        after: u32,
        limit: u64,
    ) -> Result<Vec<StoredCell>, DatabaseError> {
        let cells: Vec<CellColumns> = sqlx::query_as(
            "SELECT number, source, state, result, fuel, checkpoint, began_ms FROM session_cells \
             WHERE session_id = $1 AND number > $2 ORDER BY number LIMIT $3",
        )
        .bind(session.to_string())
        .bind(i64::from(after))
        .bind(number(limit))
        .fetch_all(self.file.connections())
        .await?;
        cells.into_iter().map(columns::cell).collect()
    }
}
