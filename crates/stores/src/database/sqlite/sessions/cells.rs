//! The cells of sessions.

use async_trait::async_trait;

use crate::database::sqlite::connections::Writing;
use crate::database::sqlite::numbers::{count, number};
use crate::database::sqlite::sessions::SqliteSessions;
use crate::database::sqlite::sessions::columns::{self, CellColumns, OPEN, checkpoint_id, small};
use crate::database::sqlite::sessions::packs::thin_out;
use crate::database::sqlite::sessions::parts::{
    add_bytes, bytes_of, find_checkpoint, owner_and_head, use_session,
};
use crate::database_error::DatabaseError;
use crate::sessions::rows::{CellEnd, CellState, NewCell, StoredCell, cell_bytes};
use crate::sessions::store::{Begun, BegunCell, CellCommit, Committed, SessionCells};
use wardian_vocabulary::ids::SessionId;

/// Ends the cell `$2` of a session that is running.
const END: &str = "UPDATE session_cells SET state = $3, result = $4, fuel = $5, checkpoint = $6, \
     bytes = bytes + $7 WHERE session_id = $1 AND number = $2 AND state = 'running'";

#[async_trait]
impl SessionCells for SqliteSessions {
    async fn begin_cell(&self, cell: &NewCell, max_bytes: u64) -> Result<Begun, DatabaseError> {
        let mut transaction = self.file.begin().await?;
        let found: Option<(String, i64, i64, Option<String>, i64)> = sqlx::query_as(
            "SELECT state, expires_ms, cells, head, must_reseed FROM sessions \
             WHERE session_id = $1 AND tenant = $2",
        )
        .bind(cell.session.to_string())
        .bind(cell.tenant.to_string())
        .fetch_optional(&mut *transaction)
        .await?;
        let Some((state, expires, cells, head, must_reseed)) = found else {
            return Ok(Begun::NotFound);
        };
        if state != OPEN || expires <= number(cell.now_ms) {
            return Ok(Begun::Expired { at_ms: count(expires) });
        }
        let head = checkpoint_id(head.as_deref())?;
        if cell.if_checkpoint.is_some() && cell.if_checkpoint != head {
            return Ok(Begun::Conflict { head });
        }
        if bytes_of(&mut transaction, cell.tenant.as_str()).await? > number(max_bytes) {
            return Ok(Begun::Full);
        }
        let next = small(cells.saturating_add(1))?;
        add_cell(&mut transaction, cell, next).await?;
        let head = match head {
            Some(head) => Some(
                // A checkpoint without a row or a pack is damage.
                find_checkpoint(&mut *transaction, &cell.session, &head).await?.ok_or_else(
                    || DatabaseError::failed("the checkpoint that a session is at is missing"),
                )?,
            ),
            None => None,
        };
        transaction.commit().await?;
        let must_reseed = must_reseed != 0 && head.is_some();
        Ok(Begun::Cell(Box::new(BegunCell { number: next, head, must_reseed })))
    }

    async fn commit_cell(
        &self,
        commit: &CellCommit,
        max_bytes: u64,
    ) -> Result<Committed, DatabaseError> {
        // What is dropped before the commit changes nothing.
        let mut transaction = self.file.begin().await?;
        let Some((tenant, head)) = owner_and_head(&mut transaction, &commit.session).await? else {
            return Ok(Committed::Gone);
        };
        let checkpoint = Some(commit.checkpoint.as_str());
        let (session, of, end) = (&commit.session, commit.number, &commit.end);
        if checkpoint_id(head.as_deref())? != commit.head
            || !end_cell(&mut transaction, session, of, CellState::Kept, end, checkpoint).await?
        {
            return Ok(Committed::Gone);
        }
        add_checkpoint(&mut transaction, tenant.as_str(), commit).await?;
        let text = end.result.as_deref().map_or(0, str::len);
        let bytes = number(commit.stored_bytes).saturating_add(i64::try_from(text).unwrap_or(0));
        add_bytes(&mut transaction, tenant.as_str(), bytes).await?;
        sqlx::query("UPDATE sessions SET head = $2, must_reseed = 0 WHERE session_id = $1")
            .bind(session.to_string())
            .bind(commit.checkpoint.to_string())
            .execute(&mut *transaction)
            .await?;
        use_session(&mut transaction, session, commit.now_ms).await?;
        let removed = thin_out(&mut transaction, session, &commit.checkpoint).await?;
        if bytes_of(&mut transaction, tenant.as_str()).await? > number(max_bytes) {
            return Ok(Committed::Full);
        }
        transaction.commit().await?;
        Ok(Committed::Done(removed))
    }

    async fn roll_back_cell(
        &self,
        session: &SessionId,
        number_of_cell: u32,
        end: &CellEnd,
    ) -> Result<bool, DatabaseError> {
        let mut transaction = self.file.begin().await?;
        let Some((tenant, _)) = owner_and_head(&mut transaction, session).await? else {
            return Ok(false);
        };
        let state = CellState::RolledBack;
        if !end_cell(&mut transaction, session, number_of_cell, state, end, None).await? {
            return Ok(false);
        }
        let text = end.result.as_deref().map_or(0, str::len);
        let text = i64::try_from(text).unwrap_or(0);
        add_bytes(&mut transaction, tenant.as_str(), text).await?;
        transaction.commit().await?;
        Ok(true)
    }

    async fn roll_back_running(&self) -> Result<u64, DatabaseError> {
        let ended = "UPDATE session_cells SET state = 'rolled_back' WHERE state = 'running'";
        Ok(sqlx::query(ended).execute(self.file.connections()).await?.rows_affected())
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

/// Adds the next cell of a session, which must reseed from now on.
async fn add_cell(
    transaction: &mut Writing,
    cell: &NewCell,
    next: u32,
) -> Result<(), DatabaseError> {
    let given_up = "UPDATE session_cells SET state = 'rolled_back' \
                    WHERE session_id = $1 AND state = 'running'";
    sqlx::query(given_up).bind(cell.session.to_string()).execute(&mut **transaction).await?;
    let bytes = number(cell_bytes(cell.source.as_deref(), None));
    sqlx::query(
        "INSERT INTO session_cells (session_id, number, source, state, began_ms, bytes) \
         VALUES ($1, $2, $3, 'running', $4, $5)",
    )
    .bind(cell.session.to_string())
    .bind(i64::from(next))
    .bind(cell.source.clone())
    .bind(number(cell.now_ms))
    .bind(bytes)
    .execute(&mut **transaction)
    .await?;
    add_bytes(transaction, cell.tenant.as_str(), bytes).await?;
    sqlx::query("UPDATE sessions SET cells = $2, must_reseed = 1 WHERE session_id = $1")
        .bind(cell.session.to_string())
        .bind(i64::from(next))
        .execute(&mut **transaction)
        .await?;
    use_session(transaction, &cell.session, cell.now_ms).await
}

/// Ends a cell. Returns false if it is not running.
async fn end_cell(
    transaction: &mut Writing,
    session: &SessionId,
    number_of_cell: u32,
    state: CellState,
    end: &CellEnd,
    checkpoint: Option<&str>,
) -> Result<bool, DatabaseError> {
    let text = end.result.as_deref().map_or(0, str::len);
    let ended = sqlx::query(END)
        .bind(session.to_string())
        .bind(i64::from(number_of_cell))
        .bind(state.name())
        .bind(end.result.clone())
        .bind(end.fuel.map(number))
        .bind(checkpoint.map(str::to_owned))
        .bind(i64::try_from(text).unwrap_or(0))
        .execute(&mut **transaction)
        .await?;
    Ok(ended.rows_affected() == 1)
}

/// Adds the checkpoint of a cell, and its pack.
async fn add_checkpoint(
    transaction: &mut Writing,
    tenant: &str,
    commit: &CellCommit,
) -> Result<(), DatabaseError> {
    sqlx::query(
        "INSERT INTO session_packs (origin, checkpoint, tenant, base_origin, base_checkpoint, \
         sequence, base_digest, digest, size, stored) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
    )
    .bind(commit.session.to_string())
    .bind(commit.checkpoint.to_string())
    .bind(tenant.to_owned())
    .bind(commit.base.as_ref().map(|base| base.origin.to_string()))
    .bind(commit.base.as_ref().map(|base| base.checkpoint.to_string()))
    .bind(i64::from(commit.description.sequence))
    .bind(commit.description.base.map(|digest| digest.to_string()))
    .bind(commit.description.digest.to_string())
    .bind(number(commit.description.size.as_u64()))
    .bind(number(commit.stored_bytes))
    .execute(&mut **transaction)
    .await?;
    sqlx::query(
        "INSERT INTO session_checkpoints \
         (session_id, checkpoint, cell, parent, name, made_ms, origin) \
         VALUES ($1, $2, $3, $4, NULL, $5, $1)",
    )
    .bind(commit.session.to_string())
    .bind(commit.checkpoint.to_string())
    .bind(i64::from(commit.checkpoint.cell()))
    .bind(commit.head.as_ref().map(ToString::to_string))
    .bind(number(commit.now_ms))
    .execute(&mut **transaction)
    .await?;
    Ok(())
}
