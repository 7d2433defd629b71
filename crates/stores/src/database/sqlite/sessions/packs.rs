//! Packs, and which of them nothing needs any more.

use sqlx::{QueryBuilder, Sqlite, SqlitePool};

use crate::database::numbers::count;
use crate::database::sqlite::connections::Writing;
use crate::database::sqlite::sessions::columns::{pack_id, parsed};
use crate::database::sqlite::sessions::parts::add_bytes;
use crate::database_error::DatabaseError;
use crate::sessions::rows::{PackId, ParkedBytes};
use wardian_vocabulary::ids::SessionId;

/// Removes the pack `$2` of `$1` that neither a checkpoint nor a cell that waits nor a delta needs.
macro_rules! release {
    () => {
        "DELETE FROM session_packs AS packs WHERE origin = $1 AND checkpoint = $2 \
         AND NOT EXISTS (SELECT 1 FROM session_checkpoints AS made \
          WHERE made.origin = packs.origin AND made.checkpoint = packs.checkpoint) \
         AND NOT EXISTS (SELECT 1 FROM session_cells AS cells \
          WHERE cells.session_id = packs.origin AND cells.parked = packs.checkpoint) \
         AND NOT EXISTS (SELECT 1 FROM session_packs AS deltas \
          WHERE deltas.base_origin = packs.origin AND deltas.base_checkpoint = packs.checkpoint) \
         RETURNING checkpoint, tenant, stored, base_origin, base_checkpoint"
    };
}

const RELEASE: &str = release!();

/// Removes the checkpoint `$2` of the session `$3`, and its pack of `$1` if nothing else needs it.
const REMOVE_CHECKPOINT: &str = concat!(
    "DELETE FROM session_checkpoints WHERE session_id = $3 AND checkpoint = $2; ",
    release!()
);

/// Removes the packs of a session that no checkpoint and no pack of another one needs. Its own
/// checkpoints are gone.
const RELEASE_ALL: &str = "WITH RECURSIVE needed (origin, checkpoint) AS ( \
      SELECT origin, checkpoint FROM session_checkpoints WHERE origin = $1 \
      UNION SELECT base_origin, base_checkpoint FROM session_packs \
       WHERE base_origin = $1 AND origin <> $1 \
      UNION SELECT packs.base_origin, packs.base_checkpoint FROM needed JOIN session_packs AS packs \
       ON packs.origin = needed.origin AND packs.checkpoint = needed.checkpoint \
       WHERE packs.base_origin IS NOT NULL) \
     DELETE FROM session_packs WHERE origin = $1 AND (origin, checkpoint) NOT IN needed \
     RETURNING checkpoint, tenant, stored, base_origin, base_checkpoint";

/// Forgets what other sessions have of the key of a session without packs.
const DROP_KEYS: &str = "DELETE FROM session_keys WHERE origin = $1 AND session_id <> $1 \
     AND NOT EXISTS (SELECT 1 FROM session_packs WHERE origin = $1)";

/// Reads the checkpoints of the session `$1`, which is at `$head`, that are thinned out, and the origins of
/// their packs. All but these `$newest` may be.
macro_rules! select_surplus {
    ($head:literal, $newest:literal) => {
        concat!(
            "SELECT checkpoint, origin FROM session_checkpoints \
             WHERE session_id = $1 AND name IS NULL AND cell % 10 <> 0 AND checkpoint <> ",
            $head,
            " AND cell < (SELECT cell FROM session_checkpoints WHERE session_id = $1 \
             ORDER BY cell DESC LIMIT 1 OFFSET ",
            $newest,
            ")"
        )
    };
}

pub(super) use select_surplus;

/// The packs that sessions need, with those of all sessions that have a key of the same packs: no others
/// can need them. The list of sessions follows, and [`PARKED`].
const NEEDED: &str = "WITH RECURSIVE related (session_id) AS ( \
      SELECT DISTINCT others.session_id FROM session_keys AS own \
       JOIN session_keys AS others ON others.origin = own.origin WHERE own.session_id IN ";

/// The bytes of each of these packs count for its session alone, or for several. The list of sessions
/// follows, and [`BY_SESSION`].
const PARKED: &str = "), needed (session_id, origin, checkpoint) AS ( \
      SELECT made.session_id, made.origin, made.checkpoint FROM session_checkpoints AS made \
       JOIN related ON related.session_id = made.session_id \
      UNION SELECT cells.session_id, cells.session_id, cells.parked FROM session_cells AS cells \
       JOIN related ON related.session_id = cells.session_id WHERE cells.parked IS NOT NULL \
      UNION SELECT needed.session_id, packs.base_origin, packs.base_checkpoint FROM needed \
       JOIN session_packs AS packs \
       ON packs.origin = needed.origin AND packs.checkpoint = needed.checkpoint \
       WHERE packs.base_origin IS NOT NULL), \
     users (origin, checkpoint, number) AS ( \
      SELECT origin, checkpoint, COUNT(*) FROM needed GROUP BY origin, checkpoint) \
     SELECT needed.session_id, \
      SUM(CASE WHEN users.number = 1 THEN packs.stored ELSE 0 END), \
      SUM(CASE WHEN users.number > 1 THEN packs.stored ELSE 0 END) \
     FROM needed JOIN session_packs AS packs \
      ON packs.origin = needed.origin AND packs.checkpoint = needed.checkpoint \
     JOIN users ON users.origin = needed.origin AND users.checkpoint = needed.checkpoint \
     WHERE needed.session_id IN ";

const BY_SESSION: &str = " GROUP BY needed.session_id ORDER BY needed.session_id";

/// Checkpoint, tenant and size of a pack that was removed, and its base.
type Released = (String, String, i64, Option<String>, Option<String>);

/// Removes the pack of a checkpoint or of a cell that is gone, and those before it in its chain, as far as
/// nothing else needs them. Adds them to `removed`.
pub(super) async fn release(
    transaction: &mut Writing,
    pack: PackId,
    removed: &mut Vec<PackId>,
) -> Result<(), DatabaseError> {
    let released: Option<Released> = sqlx::query_as(RELEASE)
        .bind(pack.origin.to_string())
        .bind(pack.checkpoint.to_string())
        .fetch_optional(&mut **transaction)
        .await?;
    note_released(transaction, pack, released, removed).await
}

/// Counts a pack no more that was removed, and goes on with the one before it.
async fn note_released(
    transaction: &mut Writing,
    mut pack: PackId,
    mut released: Option<Released>,
    removed: &mut Vec<PackId>,
) -> Result<(), DatabaseError> {
    while let Some((_, tenant, stored, origin, checkpoint)) = released {
        add_bytes(transaction, &tenant, -stored).await?;
        sqlx::query(DROP_KEYS).bind(pack.origin.to_string()).execute(&mut **transaction).await?;
        removed.push(pack);
        let Some((of, at)) = origin.zip(checkpoint) else { return Ok(()) };
        pack = pack_id(&of, &at)?;
        released =
            sqlx::query_as(RELEASE).bind(of).bind(at).fetch_optional(&mut **transaction).await?;
    }
    Ok(())
}

/// Removes a checkpoint, and the packs that only it needs. Adds them to `removed`.
pub(super) async fn remove_checkpoint(
    transaction: &mut Writing,
    session: &SessionId,
    pack: PackId,
    removed: &mut Vec<PackId>,
) -> Result<(), DatabaseError> {
    let released: Vec<Released> = sqlx::query_as(REMOVE_CHECKPOINT)
        .bind(pack.origin.to_string())
        .bind(pack.checkpoint.to_string())
        .bind(session.to_string())
        .fetch_all(&mut **transaction)
        .await?;
    note_released(transaction, pack, released.into_iter().next(), removed).await
}

/// Removes these checkpoints of a session, with the origins of their packs. Returns the packs that are gone.
pub(super) async fn remove_surplus(
    transaction: &mut Writing,
    session: &SessionId,
    surplus: Vec<(String, String)>,
) -> Result<Vec<PackId>, DatabaseError> {
    let mut removed = Vec::new();
    for (checkpoint, origin) in surplus {
        let pack = pack_id(&origin, &checkpoint)?;
        remove_checkpoint(transaction, session, pack, &mut removed).await?;
    }
    Ok(removed)
}

/// Removes all checkpoints of a session. Returns the packs that are gone.
pub(super) async fn remove_all(
    transaction: &mut Writing,
    session: &SessionId,
) -> Result<Vec<PackId>, DatabaseError> {
    // The packs of others: that of the checkpoint that it was forked from, and what its own continue.
    let inherited = "DELETE FROM session_checkpoints WHERE session_id = $1 \
                     RETURNING origin, checkpoint";
    let mut inherited: Vec<(String, String)> =
        sqlx::query_as(inherited).bind(session.to_string()).fetch_all(&mut **transaction).await?;
    let own: Vec<Released> =
        sqlx::query_as(RELEASE_ALL).bind(session.to_string()).fetch_all(&mut **transaction).await?;
    let mut removed = Vec::new();
    for (checkpoint, tenant, stored, base_origin, base_checkpoint) in own {
        removed.push(pack_id(session.as_str(), &checkpoint)?);
        add_bytes(transaction, &tenant, -stored).await?;
        inherited.extend(base_origin.zip(base_checkpoint));
    }
    if !removed.is_empty() {
        sqlx::query(DROP_KEYS).bind(session.to_string()).execute(&mut **transaction).await?;
    }
    for (origin, checkpoint) in inherited {
        if origin != session.as_str() {
            release(transaction, pack_id(&origin, &checkpoint)?, &mut removed).await?;
        }
    }
    Ok(removed)
}

/// The bytes of the packs of each of these sessions that needs any, in the order of their ids.
pub(super) async fn parked_bytes(
    connections: &SqlitePool,
    sessions: &[SessionId],
) -> Result<Vec<ParkedBytes>, DatabaseError> {
    if sessions.is_empty() {
        return Ok(Vec::new());
    }
    let mut statement: QueryBuilder<Sqlite> = QueryBuilder::new(NEEDED);
    push_list(&mut statement, sessions);
    statement.push(PARKED);
    push_list(&mut statement, sessions);
    let rows = statement.push(BY_SESSION).build_query_as::<(String, i64, i64)>();
    let rows = rows.fetch_all(connections).await?.into_iter();
    let parked = rows.map(|(session, own, shared)| {
        let session = parsed(SessionId::parse(&session))?;
        Ok(ParkedBytes { session, own: count(own), shared: count(shared) })
    });
    parked.collect()
}

fn push_list(statement: &mut QueryBuilder<Sqlite>, sessions: &[SessionId]) {
    let mut list = statement.push("(").separated(", ");
    for session in sessions {
        list.push_bind(session.to_string());
    }
    statement.push(")");
}
