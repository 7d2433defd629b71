//! The rows of cells: added, ended, found.

use sqlx::sqlite::SqliteExecutor;

use crate::database::numbers::number;
use crate::database::sqlite::connections::Writing;
use crate::database::sqlite::sessions::columns::{
    self, CheckpointColumns, PackColumns, pack_columns, pack_id, select_checkpoints, small,
};
use crate::database::sqlite::sessions::packs::{release, select_surplus};
use crate::database::sqlite::sessions::parts::{change_bytes, find_checkpoint, used_at};
use crate::database_error::DatabaseError;
use crate::sessions::rows::{
    CellEnd, CellState, NewCell, PackId, StoredCheckpoint, StoredPack, WaitingCell, cell_bytes,
};
use crate::sessions::store::{CellCommit, KEPT_NEWEST};
use wardian_vocabulary::ids::{CheckpointId, SessionId};

/// What is to be known of the session `$1` of the tenant `$2` before a cell of it begins.
pub(super) const BEFORE_CELL: &str = "SELECT state, expires_ms, cells, head, must_reseed, may_have_gone_back, \
     (SELECT number FROM session_cells AS cells \
      WHERE cells.session_id = $1 AND cells.state = 'waiting'), \
     EXISTS (SELECT 1 FROM session_cells AS cells \
      WHERE cells.session_id = $1 AND cells.state = 'running'), \
     COALESCE((SELECT totals.bytes FROM session_totals AS totals WHERE totals.tenant = $2), 0) \
     FROM sessions WHERE session_id = $1 AND tenant = $2";

/// State, end, number of the last cell, checkpoint, whether it must reseed, whether its caller is to be told
/// of a loss, the cell that waits, whether one is running, and the bytes of the tenant.
pub(super) type SessionBefore = (String, i64, i64, Option<String>, i64, i64, Option<i64>, i64, i64);

/// Adds the cell `$2` of the session `$1` of the tenant `$7`, which must reseed from now on and is used at
/// the time `$4`, and finds the checkpoint `$6` that it begins at, after the cell `$8`.
const ADD: &str = concat!(
    "INSERT INTO session_cells (session_id, number, source, state, began_ms, bytes, began_after) \
     VALUES ($1, $2, $3, 'running', $4, $5, $8); ",
    change_bytes!("$7", "$5"),
    "; UPDATE sessions SET cells = $2, must_reseed = 1, may_have_gone_back = 0, ",
    used_at!("$4"),
    " WHERE session_id = $1; ",
    select_checkpoints!(),
    "made.session_id = $1 AND made.checkpoint = $6"
);

/// The cell `$2` of the open session `$1` that has not ended, with what its end depends on.
const UNENDED: &str = "SELECT sessions.tenant, sessions.head, \
     COALESCE((SELECT totals.bytes FROM session_totals AS totals \
      WHERE totals.tenant = sessions.tenant), 0), \
     cells.state, cells.parked, LENGTH(CAST(COALESCE(cells.result, '') AS BLOB)) \
     + LENGTH(CAST(COALESCE(cells.asked, '') AS BLOB)) \
     FROM sessions JOIN session_cells AS cells ON cells.session_id = sessions.session_id \
     WHERE sessions.session_id = $1 AND sessions.state = 'open' \
     AND cells.number = $2 AND cells.state IN ('running', 'waiting')";

/// The columns of [`UNENDED`].
type UnendedColumns = (String, Option<String>, i64, String, Option<String>, i64);

/// Ends the cell `$2` of the session `$1`, or a part of it, with the result `$4` and the fuel `$5`. `$9` is
/// how many bytes more it has.
macro_rules! end {
    () => {
        "UPDATE session_cells SET state = $3, result = $4, \
         fuel = CASE WHEN $5 IS NULL THEN fuel ELSE COALESCE(fuel, 0) + $5 END, checkpoint = $6, \
         parked = $7, asked = $8, bytes = bytes + $9 WHERE session_id = $1 AND number = $2"
    };
}

/// Rolls a cell of the tenant `$10` back.
const ROLL_BACK: &str = concat!(end!(), "; ", change_bytes!("$10", "$9"));

/// Ends a cell of the tenant `$10`, or a part of it, with the pack of the state `$11` that it leaves at the
/// time `$20`. Together they have `$21` bytes more than before.
macro_rules! end_with_pack {
    () => {
        concat!(
            end!(),
            "; INSERT INTO session_packs (origin, checkpoint, tenant, base_origin, base_checkpoint, \
             sequence, base_digest, digest, size, stored, is_settled) \
             VALUES ($1, $11, $10, $12, $13, $14, $15, $16, $17, $18, $19); ",
            change_bytes!("$10", "$21"),
            "; UPDATE sessions SET ",
            used_at!("$20"),
            " WHERE session_id = $1"
        )
    };
}

/// Lets a cell wait.
const PARK: &str = end_with_pack!();

/// Ends a cell with a checkpoint, whose parent is `$22`: its session is there, and reseeds as `$23` says.
/// Finds the checkpoints that are too many now, beyond `$24`.
const COMMIT: &str = concat!(
    end_with_pack!(),
    "; INSERT INTO session_checkpoints \
     (session_id, checkpoint, cell, parent, name, made_ms, origin) \
     VALUES ($1, $11, $2, $22, NULL, $20, $1); \
     UPDATE sessions SET head = $11, must_reseed = $23 WHERE session_id = $1; ",
    select_surplus!("$11", "$24")
);

/// Adds the next cell of a session, which must reseed from now on. Returns the checkpoint that the session
/// is at.
pub(super) async fn add_cell(
    transaction: &mut Writing,
    cell: &NewCell,
    next: u32,
    head: Option<&CheckpointId>,
) -> Result<Option<StoredCheckpoint>, DatabaseError> {
    let found: Vec<CheckpointColumns> = sqlx::query_as(ADD)
        .bind(cell.session.to_string())
        .bind(i64::from(next))
        .bind(cell.source.clone())
        .bind(number(cell.now_ms))
        .bind(number(cell_bytes(cell.source.as_deref(), None)))
        .bind(head.map(ToString::to_string))
        .bind(cell.tenant.to_string())
        .bind(head.map_or(0, |head| i64::from(head.cell())))
        .fetch_all(&mut **transaction)
        .await?;
    let found = found.into_iter().next().map(columns::checkpoint).transpose()?;
    if head.is_some() && found.is_none() { Err(missing_head()) } else { Ok(found) }
}

/// A cell that has not ended.
pub(super) struct UnendedCell {
    /// The owner of its session.
    pub(super) tenant: String,
    /// The checkpoint that its session is at.
    pub(super) head: Option<String>,
    /// Its state.
    pub(super) state: String,
    /// The bytes of its tenant.
    bytes: i64,
    /// The state in which it waits or has waited.
    parked: Option<String>,
    /// The bytes of its texts other than the program.
    texts: i64,
}

impl UnendedCell {
    /// The state in which the cell has waited, if it has. It needs that no more once it has ended.
    pub(super) fn parked(&self, session: &SessionId) -> Result<Option<PackId>, DatabaseError> {
        self.parked.as_deref().map(|parked| pack_id(session.as_str(), parked)).transpose()
    }

    /// The bytes of the tenant once the cell has ended so, if nothing else is removed.
    pub(super) fn bytes_with(&self, commit: &CellCommit, asked: Option<&str>) -> i64 {
        let more = self.more(&commit.end, asked).saturating_add(number(commit.stored_bytes));
        self.bytes.saturating_add(more)
    }

    /// How many bytes more the cell has with this end.
    fn more(&self, end: &CellEnd, asked: Option<&str>) -> i64 {
        let length = |text: &str| i64::try_from(text.len()).unwrap_or(i64::MAX);
        let texts = end.result.as_deref().map_or(0, length);
        texts.saturating_add(asked.map_or(0, length)).saturating_sub(self.texts)
    }
}

/// The cell of an open session, unless it has ended.
pub(super) async fn find_unended(
    transaction: &mut Writing,
    (session, number_of_cell): (&SessionId, u32),
) -> Result<Option<UnendedCell>, DatabaseError> {
    let found: Option<UnendedColumns> = sqlx::query_as(UNENDED)
        .bind(session.to_string())
        .bind(i64::from(number_of_cell))
        .fetch_optional(&mut **transaction)
        .await?;
    Ok(found.map(|(tenant, head, bytes, state, parked, texts)| UnendedCell {
        tenant,
        head,
        state,
        bytes,
        parked,
        texts,
    }))
}

/// Rolls a cell back. Returns the state in which it has waited, if it has.
pub(super) async fn roll_back(
    transaction: &mut Writing,
    unended: UnendedCell,
    (session, number_of_cell): (&SessionId, u32),
    end: &CellEnd,
) -> Result<Option<PackId>, DatabaseError> {
    let nothing: Option<String> = None;
    sqlx::query(ROLL_BACK)
        .bind(session.to_string())
        .bind(i64::from(number_of_cell))
        .bind(CellState::RolledBack.name())
        .bind(end.result.clone())
        .bind(end.fuel.map(number))
        .bind(nothing.clone())
        .bind(nothing.clone())
        .bind(nothing)
        .bind(unended.more(end, None))
        .bind(unended.tenant.clone())
        .execute(&mut **transaction)
        .await?;
    unended.parked(session)
}

/// Ends a cell with its state, or lets it wait in that state if it has `asked` something. Returns the
/// checkpoints that the session has too many of then, with the origins of their packs.
pub(super) async fn end_cell(
    transaction: &mut Writing,
    unended: &UnendedCell,
    commit: &CellCommit,
    asked: Option<&str>,
) -> Result<Vec<(String, String)>, DatabaseError> {
    let name = commit.checkpoint.to_string();
    let (statements, state, checkpoint, parked) = match asked {
        None => (COMMIT, CellState::Kept, Some(name.clone()), None),
        Some(_) => (PARK, CellState::Waiting, None, Some(name.clone())),
    };
    let more = unended.more(&commit.end, asked);
    let (base, facts) = (commit.base.as_ref(), &commit.description);
    let surplus = sqlx::query_as(statements)
        .bind(commit.session.to_string())
        .bind(i64::from(commit.number))
        .bind(state.name())
        .bind(commit.end.result.clone())
        .bind(commit.end.fuel.map(number))
        .bind(checkpoint)
        .bind(parked)
        .bind(asked.map(str::to_owned))
        .bind(more)
        .bind(unended.tenant.clone())
        .bind(name)
        .bind(base.map(|base| base.origin.to_string()))
        .bind(base.map(|base| base.checkpoint.to_string()))
        .bind(i64::from(facts.sequence))
        .bind(facts.base.map(|digest| digest.to_string()))
        .bind(facts.digest.to_string())
        .bind(number(facts.size.as_u64()))
        .bind(number(commit.stored_bytes))
        .bind(i64::from(commit.is_settled))
        .bind(number(commit.now_ms))
        .bind(more.saturating_add(number(commit.stored_bytes)))
        .bind(commit.head.as_ref().map(ToString::to_string))
        .bind(i64::from(commit.must_reseed))
        .bind(number(KEPT_NEWEST.saturating_sub(1)))
        .fetch_all(&mut **transaction)
        .await?;
    Ok(surplus)
}

/// Rolls back what is running in a session and was given up. Returns the number of these cells.
pub(super) async fn give_up(
    transaction: &mut Writing,
    session: &SessionId,
) -> Result<u64, DatabaseError> {
    let running = "SELECT number FROM session_cells WHERE session_id = $1 AND state = 'running'";
    let running: Vec<i64> =
        sqlx::query_scalar(running).bind(session.to_string()).fetch_all(&mut **transaction).await?;
    let (end, mut ended) = (CellEnd::default(), 0_u64);
    for number_of_cell in running {
        let cell = (session, small(number_of_cell)?);
        let Some(unended) = find_unended(transaction, cell).await? else { continue };
        ended = ended.saturating_add(1);
        if let Some(parked) = roll_back(transaction, unended, cell, &end).await? {
            // The next start removes the files.
            release(transaction, parked, &mut Vec::new()).await?;
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
    find_checkpoint(&mut **transaction, session, head).await?.ok_or_else(missing_head).map(Some)
}

fn missing_head() -> DatabaseError {
    DatabaseError::failed("the checkpoint that a session is at is missing")
}
