//! Packs, and which of them nothing needs any more.

use crate::database::sqlite::connections::Writing;
use crate::database::sqlite::numbers::number;
use crate::database::sqlite::sessions::columns::pack_id;
use crate::database::sqlite::sessions::parts::add_bytes;
use crate::database_error::DatabaseError;
use crate::sessions::rows::PackId;
use crate::sessions::store::KEPT_NEWEST;
use wardian_vocabulary::ids::{CheckpointId, SessionId};

/// Removes a pack that neither a checkpoint nor a cell that waits nor a delta needs.
const RELEASE: &str = "DELETE FROM session_packs AS packs WHERE origin = $1 AND checkpoint = $2 \
     AND NOT EXISTS (SELECT 1 FROM session_checkpoints AS made \
      WHERE made.origin = packs.origin AND made.checkpoint = packs.checkpoint) \
     AND NOT EXISTS (SELECT 1 FROM session_cells AS cells \
      WHERE cells.session_id = packs.origin AND cells.parked = packs.checkpoint) \
     AND NOT EXISTS (SELECT 1 FROM session_packs AS deltas \
      WHERE deltas.base_origin = packs.origin AND deltas.base_checkpoint = packs.checkpoint) \
     RETURNING checkpoint, tenant, stored, base_origin, base_checkpoint";

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

/// The checkpoints of a session that are thinned out.
const TO_THIN: &str = "SELECT checkpoint, origin FROM session_checkpoints \
     WHERE session_id = $1 AND name IS NULL AND cell % 10 <> 0 AND checkpoint <> $2 AND cell < \
     (SELECT cell FROM session_checkpoints WHERE session_id = $1 \
      ORDER BY cell DESC LIMIT 1 OFFSET $3)";

/// Checkpoint, tenant and size of a pack that was removed, and its base.
type Released = (String, String, i64, Option<String>, Option<String>);

/// Removes the pack of a checkpoint or of a cell that is gone, and those before it in its chain, as far as
/// nothing else needs them. Adds them to `removed`.
pub(super) async fn release(
    transaction: &mut Writing,
    first: PackId,
    removed: &mut Vec<PackId>,
) -> Result<(), DatabaseError> {
    let mut next = Some(first);
    while let Some(pack) = next {
        let released: Option<Released> = sqlx::query_as(RELEASE)
            .bind(pack.origin.to_string())
            .bind(pack.checkpoint.to_string())
            .fetch_optional(&mut **transaction)
            .await?;
        let Some((_, tenant, stored, origin, checkpoint)) = released else { return Ok(()) };
        add_bytes(transaction, &tenant, -stored).await?;
        sqlx::query(DROP_KEYS).bind(pack.origin.to_string()).execute(&mut **transaction).await?;
        removed.push(pack);
        next = origin.zip(checkpoint).map(|(of, at)| pack_id(&of, &at)).transpose()?;
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
    sqlx::query("DELETE FROM session_checkpoints WHERE session_id = $1 AND checkpoint = $2")
        .bind(session.to_string())
        .bind(pack.checkpoint.to_string())
        .execute(&mut **transaction)
        .await?;
    release(transaction, pack, removed).await
}

/// Thins out the checkpoints of a session that is at `head`. Returns the packs that are gone.
pub(super) async fn thin_out(
    transaction: &mut Writing,
    session: &SessionId,
    head: &CheckpointId,
) -> Result<Vec<PackId>, DatabaseError> {
    let surplus: Vec<(String, String)> = sqlx::query_as(TO_THIN)
        .bind(session.to_string())
        .bind(head.to_string())
        .bind(number(KEPT_NEWEST.saturating_sub(1)))
        .fetch_all(&mut **transaction)
        .await?;
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
