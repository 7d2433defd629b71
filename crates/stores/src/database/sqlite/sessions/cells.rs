//! The cells of sessions.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use async_trait::async_trait;

use crate::database::numbers::{count, number};
use crate::database::sqlite::sessions::SqliteSessions;
use crate::database::sqlite::sessions::cell_rows::{
    BEFORE_CELL, SessionBefore, add_cell, end_cell, find_head, find_parked, find_unended,
    find_waiting, give_up, roll_back,
};
use crate::database::sqlite::sessions::columns::{
    self, CellColumns, OPEN, checkpoint_id, parsed, small,
};
use crate::database::sqlite::sessions::packs::{release, remove_surplus};
use crate::database::sqlite::sessions::parts::{
    add_bytes, bytes_of, forget_loss, head_of_open, use_session,
};
use crate::database_error::DatabaseError;
use crate::sessions::rows::{
    AnsweredCell, CellEnd, CellState, NewCell, PackId, StoredCell, WaitingCell,
};
use crate::sessions::store::{Begun, BegunCell, CellCommit, Committed, SessionCells};
use wardian_vocabulary::ids::{SessionId, TenantId};

#[async_trait]
impl SessionCells for SqliteSessions {
    async fn begin_cell(&self, cell: &NewCell, max_bytes: u64) -> Result<Begun, DatabaseError> {
        let file = if cell.is_settled { &self.file } else { &self.unsynced };
        let mut transaction = file.begin().await?;
        let found: Option<SessionBefore> = sqlx::query_as(BEFORE_CELL)
            .bind(cell.session.to_string())
            .bind(cell.tenant.to_string())
            .fetch_optional(&mut *transaction)
            .await?;
        let Some(found) = found else { return Ok(Begun::NotFound) };
        let (state, expires, cells, head, must_reseed, has_gone_back, waiting, runs, bytes) = found;
        if state != OPEN || expires <= number(cell.now_ms) {
            return Ok(Begun::Expired { at_ms: count(expires) });
        }
        if let Some(waiting) = waiting {
            return Ok(Begun::Waits { cell: small(waiting)? });
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
        if bytes > number(max_bytes) {
            return Ok(Begun::Full);
        }
        if runs != 0 {
            give_up(&mut transaction, &cell.session).await?;
        }
        let next = small(cells.saturating_add(1))?;
        let head = add_cell(&mut transaction, cell, next, head.as_ref()).await?;
        transaction.commit().await?;
        let must_reseed = must_reseed != 0 && head.is_some();
        Ok(Begun::Cell(Box::new(BegunCell { number: next, head, must_reseed, parked: None })))
    }

    async fn commit_cell(
        &self,
        commit: &CellCommit,
        max_bytes: u64,
    ) -> Result<Committed, DatabaseError> {
        self.end_with_state(commit, None, max_bytes).await
    }

    async fn park_cell(
        &self,
        commit: &CellCommit,
        asked: &str,
        max_bytes: u64,
    ) -> Result<Committed, DatabaseError> {
        self.end_with_state(commit, Some(asked), max_bytes).await
    }

    async fn waiting_cell(
        &self,
        session: &SessionId,
    ) -> Result<Option<WaitingCell>, DatabaseError> {
        find_waiting(self.file.connections(), session).await
    }

    async fn ask_anew(
        &self,
        (tenant, session): (&TenantId, &SessionId),
        WaitingCell { number: cell, asked: before, .. }: &WaitingCell,
        asked: &str,
    ) -> Result<bool, DatabaseError> {
        let mut transaction = self.for_ends().begin().await?;
        let more = length(asked).saturating_sub(length(before));
        let changed = "UPDATE session_cells SET asked = $4, bytes = bytes + $5 \
                       WHERE session_id = $1 AND number = $2 AND state = 'waiting' AND asked = $3";
        let changed = sqlx::query(changed)
            .bind(session.to_string())
            .bind(i64::from(*cell))
            .bind(before.clone())
            .bind(asked.to_owned())
            .bind(more)
            .execute(&mut *transaction)
            .await?;
        if changed.rows_affected() != 1 {
            return Ok(false);
        }
        add_bytes(&mut transaction, tenant.as_str(), more).await?;
        transaction.commit().await?;
        Ok(true)
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
        if head_of_open(&mut transaction, session).await?.is_some() {
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
        let cell = (session, number_of_cell);
        let Some(unended) = find_unended(&mut transaction, cell).await? else { return Ok(None) };
        let parked = roll_back(&mut transaction, unended, cell, end).await?;
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
            "SELECT number, source, state, result, fuel, checkpoint, began_ms, began_after \
             FROM session_cells WHERE session_id = $1 AND number > $2 ORDER BY number LIMIT $3",
        )
        .bind(session.to_string())
        .bind(i64::from(after))
        .bind(number(limit))
        .fetch_all(self.file.connections())
        .await?;
        cells.into_iter().map(columns::cell).collect()
    }

    async fn cells_up_to(
        &self,
        session: &SessionId,
        last: u32,
        among: RangeInclusive<u32>,
    ) -> Result<BTreeSet<u32>, DatabaseError> {
        let cells: Vec<i64> = sqlx::query_scalar(
            "WITH RECURSIVE path (number, began_after) AS ( \
             SELECT number, began_after FROM session_cells WHERE session_id = $1 AND number = $2 \
             UNION ALL SELECT cells.number, cells.began_after FROM path JOIN session_cells AS cells \
             ON cells.session_id = $1 AND cells.number = path.began_after \
             AND cells.number < path.number WHERE cells.number >= $3) \
             SELECT number FROM path WHERE number BETWEEN $3 AND $4",
        )
        .bind(session.to_string())
        .bind(i64::from(last))
        .bind(i64::from(*among.start()))
        .bind(i64::from(*among.end()))
        .fetch_all(self.file.connections())
        .await?;
        cells.into_iter().map(small).collect()
    }
}

impl SqliteSessions {
    /// Ends a cell with the state after it, or lets it wait in that state if it has `asked` something.
    async fn end_with_state(
        &self,
        commit: &CellCommit,
        asked: Option<&str>,
        max_bytes: u64,
    ) -> Result<Committed, DatabaseError> {
        // What is dropped before the commit changes nothing.
        let mut transaction = self.for_ends().begin().await?;
        let cell = (&commit.session, commit.number);
        let Some(unended) = find_unended(&mut transaction, cell).await? else {
            return Ok(Committed::Gone);
        };
        let is_waiting = unended.state == CellState::Waiting.name();
        if is_waiting || checkpoint_id(unended.head.as_deref())? != commit.head {
            return Ok(Committed::Gone);
        }
        let surplus = end_cell(&mut transaction, &unended, commit, asked).await?;
        let mut removed = remove_surplus(&mut transaction, &commit.session, surplus).await?;
        if let Some(parked) = unended.parked(&commit.session)? {
            release(&mut transaction, parked, &mut removed).await?;
        }
        // What was removed counts no more.
        let most = number(max_bytes);
        if unended.bytes_with(commit, asked) > most
            && bytes_of(&mut transaction, &unended.tenant).await? > most
        {
            return Ok(Committed::Full);
        }
        transaction.commit().await?;
        Ok(Committed::Done(removed))
    }
}

/// The bytes of a text.
fn length(text: &str) -> i64 {
    i64::try_from(text.len()).unwrap_or(i64::MAX)
}
