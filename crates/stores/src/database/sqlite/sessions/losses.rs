//! Sessions after a loss of power.

use std::collections::BTreeSet;

use async_trait::async_trait;
use tokio::task::spawn_blocking;

use crate::database::numbers::number;
use crate::database::sqlite::connections::Writing;
use crate::database::sqlite::file::sync_log;
use crate::database::sqlite::sessions::SqliteSessions;
use crate::database::sqlite::sessions::cell_rows::{find_unended, roll_back};
use crate::database::sqlite::sessions::columns::{
    self, PackColumns, pack_columns, pack_id, parsed, small,
};
use crate::database::sqlite::sessions::packs::release;
use crate::database::sqlite::sessions::parts::head_of_open;
use crate::database_error::DatabaseError;
use crate::sessions::losses::{RARE_USE_MS, ServerLife, SessionLosses, SessionSync};
use crate::sessions::rows::{CellEnd, PackId, StoredPack};
use wardian_vocabulary::ids::{SessionId, TenantId};

/// Marks the sessions of which a loss of power may have undone something: `$1` if that are ends of cells,
/// `$2` is the longest time between their last use and that of any session.
const MARK: &str = "UPDATE sessions SET must_reseed = 1, \
     may_have_gone_back = MAX(may_have_gone_back, $1) WHERE state = 'open' AND used_ms >= \
     (SELECT MAX(used_ms) FROM sessions WHERE state = 'open') - $2";

/// A pack, and those that continue it, the last ones first.
const LOST: &str = "WITH RECURSIVE lost (origin, checkpoint, length) AS ( \
      SELECT origin, checkpoint, 0 FROM session_packs WHERE origin = $1 AND checkpoint = $2 \
      UNION SELECT packs.origin, packs.checkpoint, lost.length + 1 FROM lost \
       JOIN session_packs AS packs \
       ON packs.base_origin = lost.origin AND packs.base_checkpoint = lost.checkpoint \
       WHERE lost.length < 1000) \
     SELECT origin, checkpoint FROM lost ORDER BY length DESC";

/// The session `$1` is at the checkpoint `$2` now.
const GO_BACK: &str = "UPDATE sessions SET head = $2, must_reseed = 1, may_have_gone_back = 1 \
     WHERE session_id = $1";

/// Unsettled packs that are noted as settled in one statement.
const AT_ONCE: usize = 500;

#[async_trait]
impl SessionLosses for SqliteSessions {
    async fn begin_life(&self, life: &ServerLife) -> Result<bool, DatabaseError> {
        let mut transaction = self.file.begin().await?;
        let former: Option<(Option<String>, i64)> =
            sqlx::query_as("SELECT boot, may_lose FROM session_lives")
                .fetch_optional(&mut *transaction)
                .await?;
        // Without a name of the machine's life, a server that did not end counts as one that lost its power.
        let lost = former.filter(|(boot, _)| boot.is_none() || *boot != life.boot);
        if let Some((_, may_lose)) = &lost {
            sqlx::query(MARK)
                .bind(*may_lose)
                .bind(number(RARE_USE_MS.saturating_mul(2)))
                .execute(&mut *transaction)
                .await?;
        }
        sqlx::query("DELETE FROM session_lives").execute(&mut *transaction).await?;
        sqlx::query("INSERT INTO session_lives (boot, may_lose) VALUES ($1, $2)")
            .bind(life.boot.clone())
            .bind(i64::from(life.sync == SessionSync::Second))
            .execute(&mut *transaction)
            .await?;
        transaction.commit().await?;
        Ok(lost.is_some())
    }

    async fn end_life(&self) -> Result<(), DatabaseError> {
        let ended = sqlx::query("DELETE FROM session_lives");
        ended.execute(self.file.connections()).await?;
        Ok(())
    }

    async fn sync(&self) -> Result<(), DatabaseError> {
        let log = self.log.clone();
        let synced = spawn_blocking(move || sync_log(&log)).await;
        synced.map_err(DatabaseError::failed)?.map_err(DatabaseError::failed)
    }

    async fn unsettled_packs(&self) -> Result<Vec<(TenantId, StoredPack)>, DatabaseError> {
        let found: Vec<(String, String, String)> = sqlx::query_as(
            "SELECT tenant, origin, checkpoint FROM session_packs WHERE is_settled = 0 \
             ORDER BY origin, checkpoint",
        )
        .fetch_all(self.file.connections())
        .await?;
        let mut unsettled = Vec::with_capacity(found.len());
        for (tenant, origin, checkpoint) in found {
            let pack: PackColumns = sqlx::query_as(concat!(
                "SELECT ",
                pack_columns!(),
                " FROM session_packs AS packs WHERE origin = $1 AND checkpoint = $2"
            ))
            .bind(origin)
            .bind(checkpoint)
            .fetch_one(self.file.connections())
            .await?;
            unsettled.push((parsed(TenantId::parse(&tenant))?, columns::pack(pack)?));
        }
        Ok(unsettled)
    }

    async fn settle_packs(&self, packs: &[PackId]) -> Result<(), DatabaseError> {
        for packs in packs.chunks(AT_ONCE) {
            let mut transaction = self.unsynced.begin().await?;
            for pack in packs {
                let settled = "UPDATE session_packs SET is_settled = 1 \
                               WHERE origin = $1 AND checkpoint = $2";
                sqlx::query(settled)
                    .bind(pack.origin.to_string())
                    .bind(pack.checkpoint.to_string())
                    .execute(&mut *transaction)
                    .await?;
            }
            transaction.commit().await?;
        }
        Ok(())
    }

    async fn lose_pack(&self, pack: &PackId) -> Result<bool, DatabaseError> {
        let mut transaction = self.file.begin().await?;
        let lost: Vec<(String, String)> = sqlx::query_as(LOST)
            .bind(pack.origin.to_string())
            .bind(pack.checkpoint.to_string())
            .fetch_all(&mut *transaction)
            .await?;
        let lost: Result<Vec<PackId>, _> =
            lost.iter().map(|(origin, checkpoint)| pack_id(origin, checkpoint)).collect();
        let lost = lost?;
        let lost_ones: BTreeSet<&PackId> = lost.iter().collect();
        for session in sessions_with(&mut transaction, &lost).await? {
            let Some(head) = head_of_open(&mut transaction, &session).await? else { continue };
            let Some(head) = way_back(&mut transaction, &session, head, &lost_ones).await? else {
                return Ok(false);
            };
            sqlx::query(GO_BACK)
                .bind(session.to_string())
                .bind(head)
                .execute(&mut *transaction)
                .await?;
            remove_lost(&mut transaction, &session, &lost).await?;
        }
        for pack in lost {
            // The next start removes the files.
            release(&mut transaction, pack, &mut Vec::new()).await?;
        }
        transaction.commit().await?;
        Ok(true)
    }
}

/// The sessions that have a checkpoint or a cell in one of these states.
async fn sessions_with(
    transaction: &mut Writing,
    packs: &[PackId],
) -> Result<BTreeSet<SessionId>, DatabaseError> {
    let mut sessions = BTreeSet::new();
    for pack in packs {
        let found: Vec<String> = sqlx::query_scalar(
            "SELECT session_id FROM session_checkpoints WHERE origin = $1 AND checkpoint = $2 \
             UNION SELECT session_id FROM session_cells WHERE session_id = $1 AND parked = $2",
        )
        .bind(pack.origin.to_string())
        .bind(pack.checkpoint.to_string())
        .fetch_all(&mut **transaction)
        .await?;
        for session in found {
            sessions.insert(parsed(SessionId::parse(&session))?);
        }
    }
    Ok(sessions)
}

/// The checkpoint to which a session goes back that is at `head`: the last one before it that is not lost,
/// or its beginning. If that was thinned out, the newest one that it has. `None` if there is none.
async fn way_back(
    transaction: &mut Writing,
    session: &SessionId,
    head: Option<String>,
    lost: &BTreeSet<&PackId>,
) -> Result<Option<Option<String>>, DatabaseError> {
    let mut made: Vec<(String, String, Option<String>)> = sqlx::query_as(
        "SELECT checkpoint, origin, parent FROM session_checkpoints WHERE session_id = $1 \
         ORDER BY cell DESC",
    )
    .bind(session.to_string())
    .fetch_all(&mut **transaction)
    .await?;
    let mut at = head;
    // Each checkpoint is looked at once, so a circle, which only damage makes, ends.
    while let Some(id) = &at {
        let Some(place) = made.iter().position(|(checkpoint, _, _)| checkpoint == id) else {
            break;
        };
        let (checkpoint, origin, parent) = made.remove(place);
        if !lost.contains(&pack_id(&origin, &checkpoint)?) {
            return Ok(Some(Some(checkpoint)));
        }
        if parent.is_none() && origin != session.as_str() {
            return Ok(None);
        }
        at = parent;
    }
    if at.is_none() {
        return Ok(Some(None));
    }
    for (checkpoint, origin, _) in made {
        if !lost.contains(&pack_id(&origin, &checkpoint)?) {
            return Ok(Some(Some(checkpoint)));
        }
    }
    Ok(None)
}

/// Removes the checkpoints of a session that have one of these packs. Their cells, and one that waits in such
/// a state, have left no trace.
async fn remove_lost(
    transaction: &mut Writing,
    session: &SessionId,
    lost: &[PackId],
) -> Result<(), DatabaseError> {
    for pack in lost {
        let made = "DELETE FROM session_checkpoints \
                    WHERE session_id = $1 AND origin = $2 AND checkpoint = $3";
        let made = sqlx::query(made)
            .bind(session.to_string())
            .bind(pack.origin.to_string())
            .bind(pack.checkpoint.to_string());
        made.execute(&mut **transaction).await?;
        if pack.origin != *session {
            continue;
        }
        let ended = "UPDATE session_cells SET state = 'rolled_back', checkpoint = NULL \
                     WHERE session_id = $1 AND checkpoint = $2";
        let ended = sqlx::query(ended).bind(session.to_string()).bind(pack.checkpoint.to_string());
        ended.execute(&mut **transaction).await?;
        let waiting = "SELECT number FROM session_cells WHERE session_id = $1 AND parked = $2";
        let waiting: Vec<i64> = sqlx::query_scalar(waiting)
            .bind(session.to_string())
            .bind(pack.checkpoint.to_string())
            .fetch_all(&mut **transaction)
            .await?;
        for number_of_cell in waiting {
            let end = CellEnd::default();
            let cell = (session, small(number_of_cell)?);
            if let Some(unended) = find_unended(transaction, cell).await? {
                roll_back(transaction, unended, cell, &end).await?;
            }
        }
    }
    Ok(())
}
