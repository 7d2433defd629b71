//! The rows of cells: added, ended, found.

use sqlx::sqlite::SqliteExecutor;

use crate::database::sqlite::connections::Writing;
use crate::database::sqlite::numbers::number;
use crate::database::sqlite::sessions::columns::{self, PackColumns, pack_columns, pack_id, small};
use crate::database::sqlite::sessions::packs::release;
use crate::database::sqlite::sessions::parts::{
    add_bytes, find_checkpoint, forget_loss, owner_and_head, use_session,
};
use crate::database_error::DatabaseError;
use crate::sessions::rows::{
    CellEnd, CellState, NewCell, PackId, StoredCheckpoint, StoredPack, WaitingCell, cell_bytes,
};
use crate::sessions::store::CellCommit;
use wardian_vocabulary::ids::{CheckpointId, SessionId, TenantId};

/// The state of the cell `$2` of a session that has not ended, the state in which it waits or has
/// waited, and the bytes of its texts other than the program.
const UNENDED: &str = "SELECT state, parked, LENGTH(CAST(COALESCE(result, '') AS BLOB)) \
     + LENGTH(CAST(COALESCE(asked, '') AS BLOB)) FROM session_cells \
     WHERE session_id = $1 AND number = $2 AND state IN ('running', 'waiting')";

/// Ends the cell `$2` of a session, or a part of it.
const END: &str = "UPDATE session_cells SET state = $3, result = $4, \
     fuel = CASE WHEN $5 IS NULL THEN fuel ELSE COALESCE(fuel, 0) + $5 END, checkpoint = $6, \
     parked = $7, asked = $8, bytes = bytes + $9 WHERE session_id = $1 AND number = $2";

/// Adds the next cell of a session, which must reseed from now on.
pub(super) async fn add_cell(
    transaction: &mut Writing,
    cell: &NewCell,
    next: u32,
) -> Result<(), DatabaseError> {
    give_up(transaction, &cell.session).await?;
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
    forget_loss(transaction, &cell.session).await?;
    use_session(transaction, &cell.session, cell.now_ms).await
}

/// How a cell ends, or a part of it.
pub(super) struct Ending<'a> {
    pub(super) state: CellState,
    pub(super) end: &'a CellEnd,
    /// The state that it leaves.
    pub(super) commit: Option<&'a CellCommit>,
    /// What it asks, if it waits in that state.
    pub(super) asked: Option<&'a str>,
    /// True if a cell that waits can end so, and not only one that is running.
    pub(super) is_waiting_too: bool,
}

impl<'a> Ending<'a> {
    pub(super) const fn of(state: CellState, end: &'a CellEnd) -> Self {
        Self { state, end, commit: None, asked: None, is_waiting_too: false }
    }
}

/// Ends a cell. Returns the state in which it has waited, which it needs no more, if it has; `None` if it
/// has ended before.
pub(super) async fn end_cell(
    transaction: &mut Writing,
    tenant: &TenantId,
    (session, number_of_cell): (&SessionId, u32),
    ending: &Ending<'_>,
) -> Result<Option<Option<PackId>>, DatabaseError> {
    let unended: Option<(String, Option<String>, i64)> = sqlx::query_as(UNENDED)
        .bind(session.to_string())
        .bind(i64::from(number_of_cell))
        .fetch_optional(&mut **transaction)
        .await?;
    let Some((state, parked, texts)) = unended else { return Ok(None) };
    if state == CellState::Waiting.name() && !ending.is_waiting_too {
        return Ok(None);
    }
    let Ending { end, commit, asked, .. } = ending;
    let name = commit.map(|commit| commit.checkpoint.to_string());
    let (checkpoint, waits) = if asked.is_some() { (None, name) } else { (name, None) };
    let length = |text: &str| i64::try_from(text.len()).unwrap_or(i64::MAX);
    let more = end.result.as_deref().map_or(0, length).saturating_add(asked.map_or(0, length));
    let change = more.saturating_sub(texts);
    sqlx::query(END)
        .bind(session.to_string())
        .bind(i64::from(number_of_cell))
        .bind(ending.state.name())
        .bind(end.result.clone())
        .bind(end.fuel.map(number))
        .bind(checkpoint)
        .bind(waits)
        .bind(asked.map(str::to_owned))
        .bind(change)
        .execute(&mut **transaction)
        .await?;
    add_bytes(transaction, tenant.as_str(), change).await?;
    let parked = parked.map(|parked| pack_id(session.as_str(), &parked)).transpose()?;
    Ok(Some(parked))
}

/// Rolls back what is running in a session and was given up. Returns the number of these cells.
pub(super) async fn give_up(
    transaction: &mut Writing,
    session: &SessionId,
) -> Result<u64, DatabaseError> {
    let running = "SELECT number FROM session_cells WHERE session_id = $1 AND state = 'running'";
    let running: Vec<i64> =
        sqlx::query_scalar(running).bind(session.to_string()).fetch_all(&mut **transaction).await?;
    let Some((tenant, _)) = owner_and_head(transaction, session).await? else { return Ok(0) };
    let (end, mut ended) = (CellEnd::default(), 0_u64);
    for number_of_cell in running {
        let cell = (session, small(number_of_cell)?);
        let ending = Ending::of(CellState::RolledBack, &end);
        if let Some(parked) = end_cell(transaction, &tenant, cell, &ending).await? {
            ended = ended.saturating_add(1);
            if let Some(parked) = parked {
                // The next start removes the files.
                release(transaction, parked, &mut Vec::new()).await?;
            }
        }
    }
    Ok(ended)
}

/// The cell of a session that waits.
pub(super) async fn find_waiting(
    connection: impl SqliteExecutor<'_>,
    session: &SessionId,
) -> Result<Option<WaitingCell>, DatabaseError> {
    let found: Option<(i64, Option<String>, Option<String>)> = sqlx::query_as(
        "SELECT number, asked, result FROM session_cells \
         WHERE session_id = $1 AND state = 'waiting'",
    )
    .bind(session.to_string())
    .fetch_optional(connection)
    .await?;
    found
        .map(|(number, asked, result)| {
            let asked = asked.unwrap_or_default();
            Ok(WaitingCell { number: small(number)?, asked, result })
        })
        .transpose()
}

/// The pack of the state in which a cell has waited. One without a row is damage.
pub(super) async fn find_parked(
    transaction: &mut Writing,
    session: &SessionId,
    number_of_cell: u32,
) -> Result<StoredPack, DatabaseError> {
    let found: Option<PackColumns> = sqlx::query_as(concat!(
        "SELECT ",
        pack_columns!(),
        " FROM session_cells AS cells JOIN session_packs AS packs \
         ON packs.origin = cells.session_id AND packs.checkpoint = cells.parked \
         WHERE cells.session_id = $1 AND cells.number = $2"
    ))
    .bind(session.to_string())
    .bind(i64::from(number_of_cell))
    .fetch_optional(&mut **transaction)
    .await?;
    let missing = || DatabaseError::failed("the state in which a cell waits is missing");
    columns::pack(found.ok_or_else(missing)?)
}

/// The checkpoint that a session is at. One without a row or a pack is damage.
pub(super) async fn find_head(
    transaction: &mut Writing,
    session: &SessionId,
    head: Option<&CheckpointId>,
) -> Result<Option<StoredCheckpoint>, DatabaseError> {
    let Some(head) = head else { return Ok(None) };
    let missing = || DatabaseError::failed("the checkpoint that a session is at is missing");
    find_checkpoint(&mut **transaction, session, head).await?.ok_or_else(missing).map(Some)
}

/// Adds the pack of a state, whose file counts in the quota of the tenant.
pub(super) async fn add_pack(
    transaction: &mut Writing,
    tenant: &str,
    commit: &CellCommit,
) -> Result<(), DatabaseError> {
    sqlx::query(
        "INSERT INTO session_packs (origin, checkpoint, tenant, base_origin, base_checkpoint, \
         sequence, base_digest, digest, size, stored, is_settled) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
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
    .bind(i64::from(commit.is_settled))
    .execute(&mut **transaction)
    .await?;
    add_bytes(transaction, tenant, number(commit.stored_bytes)).await
}

/// Adds the checkpoint of a cell.
pub(super) async fn add_checkpoint(
    transaction: &mut Writing,
    commit: &CellCommit,
) -> Result<(), DatabaseError> {
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
