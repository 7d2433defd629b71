//! Sessions and their keys.

use std::collections::BTreeSet;

use async_trait::async_trait;
use sqlx::{QueryBuilder, Sqlite};

use crate::database::numbers::{count, number};
use crate::database::sqlite::connections::Writing;
use crate::database::sqlite::sessions::SqliteSessions;
use crate::database::sqlite::sessions::columns::{
    self, OPEN, SessionColumns, parsed, session_columns,
};
use crate::database::sqlite::sessions::packs::{parked_bytes, remove_all};
use crate::database::sqlite::sessions::parts::{add_bytes, bytes_of, change_bytes, count_open};
use crate::database_error::DatabaseError;
use crate::sessions::rows::{
    NewFork, NewSession, PackId, ParkedBytes, SessionPlace, SessionTotals, SessionUsage,
    StoredSession, WrappedKey,
};
use crate::sessions::store::{ForkRoom, Forked, MAX_EXPIRED, Removal, SessionRows};
use wardian_vocabulary::ids::{CheckpointId, Digest, SessionId, TenantId};

/// Adds a session that is the fork `$1` of another one, `$2`, after its cell `$3`, at the time `$4` and
/// the checkpoint `$5`, with the setup `$6` unless that is null, and the keys `$7`.
const FORK: &str = concat!(
    "INSERT INTO sessions (session_id, tenant, label, image, setup, state, created_ms, \
     used_ms, idle_ms, max_age_ms, expires_ms, cells, head, must_reseed, bytes, forked_session, \
     forked_checkpoint, may_have_gone_back) \
     SELECT $1, tenant, label, image, COALESCE($6, setup), state, $4, $4, idle_ms, max_age_ms, \
     $4 + MIN(idle_ms, max_age_ms), $3, $5, 1, bytes + LENGTH(CAST(COALESCE($6, setup) AS BLOB)) \
     - LENGTH(CAST(setup AS BLOB)), $2, $5, may_have_gone_back FROM sessions WHERE session_id = $2; \
     INSERT INTO session_checkpoints \
     (session_id, checkpoint, cell, parent, name, made_ms, origin) \
     SELECT $1, checkpoint, cell, NULL, NULL, $4, origin FROM session_checkpoints \
     WHERE session_id = $2 AND checkpoint = $5; \
     INSERT INTO session_keys (session_id, origin, wrapped) \
     SELECT $1, value ->> 0, value ->> 1 FROM json_each($7); ",
    change_bytes!(
        "(SELECT tenant FROM sessions WHERE session_id = $1)",
        "(SELECT bytes FROM sessions WHERE session_id = $1)"
    )
);

/// Gives the fork `$1` of a session, `$2`, the cells that have ended, up to number `$3`.
const FORK_CELLS: &str = "INSERT INTO session_cells (session_id, number, source, state, result, fuel, \
     checkpoint, began_ms, bytes, began_after) \
     SELECT $1, number, source, state, result, fuel, checkpoint, began_ms, bytes, began_after \
     FROM session_cells WHERE session_id = $2 AND number <= $3 AND state IN ('kept', 'rolled_back')";

/// Forgets the sessions of a tenant that have expired, except for the last ones.
const FORGET_SURPLUS: &str = "DELETE FROM sessions WHERE tenant = $1 AND state = 'expired' \
     AND session_id NOT IN (SELECT session_id FROM sessions \
      WHERE tenant = $1 AND state = 'expired' ORDER BY expires_ms DESC, session_id LIMIT $2)";

#[async_trait]
impl SessionRows for SqliteSessions {
    async fn create(&self, session: &NewSession, most: u64) -> Result<bool, DatabaseError> {
        let mut transaction = self.file.begin().await?;
        let open = count_open(&mut transaction, &session.tenant, session.created_ms).await?;
        if count(open) >= most {
            return Ok(false);
        }
        let kept_ms = session.idle_ms.min(session.max_age_ms);
        sqlx::query(
            "INSERT INTO sessions (session_id, tenant, label, image, setup, state, created_ms, \
             used_ms, idle_ms, max_age_ms, expires_ms, cells, head, must_reseed, bytes) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $7, $8, $9, $10, 0, NULL, 0, $11)",
        )
        .bind(session.id.to_string())
        .bind(session.tenant.to_string())
        .bind(session.label.clone())
        .bind(session.image.to_string())
        .bind(session.setup.clone())
        .bind(OPEN)
        .bind(number(session.created_ms))
        .bind(number(session.idle_ms))
        .bind(number(session.max_age_ms))
        .bind(number(session.created_ms.saturating_add(kept_ms)))
        .bind(number(session.bytes()))
        .execute(&mut *transaction)
        .await?;
        let key = WrappedKey { origin: session.id.clone(), wrapped: session.key.clone() };
        add_keys(&mut transaction, &session.id, &[key]).await?;
        add_bytes(&mut transaction, session.tenant.as_str(), number(session.bytes())).await?;
        transaction.commit().await?;
        Ok(true)
    }

    async fn fork(
        &self,
        tenant: &TenantId,
        from: (&SessionId, &CheckpointId),
        forks: &[NewFork],
        now_ms: u64,
        ForkRoom { sessions: most, bytes }: ForkRoom,
    ) -> Result<Forked, DatabaseError> {
        let (session, checkpoint) = from;
        let mut transaction = self.file.begin().await?;
        let is_open = "SELECT 1 FROM sessions WHERE session_id = $1 AND tenant = $2 \
                       AND state = 'open' AND expires_ms > $3";
        let is_open: Option<i64> = sqlx::query_scalar(is_open)
            .bind(session.to_string())
            .bind(tenant.to_string())
            .bind(number(now_ms))
            .fetch_optional(&mut *transaction)
            .await?;
        if is_open.is_none() {
            return Ok(Forked::NoSession);
        }
        let room = most.saturating_sub(count(count_open(&mut transaction, tenant, now_ms).await?));
        let room = usize::try_from(room).unwrap_or(usize::MAX).min(forks.len());
        let has_checkpoint =
            "SELECT 1 FROM session_checkpoints WHERE session_id = $1 AND checkpoint = $2";
        let has_checkpoint: Option<i64> = sqlx::query_scalar(has_checkpoint)
            .bind(session.to_string())
            .bind(checkpoint.to_string())
            .fetch_optional(&mut *transaction)
            .await?;
        if has_checkpoint.is_none() {
            return Ok(Forked::NoCheckpoint);
        }
        let cells = match forks.iter().any(|fork| fork.own.has_cells) {
            true => bytes_of_cells(&mut transaction, from).await?,
            false => 0,
        };
        let mut made = 0;
        for fork in forks.iter().take(room) {
            if fork.own.has_cells {
                let used = bytes_of(&mut transaction, tenant.as_str()).await?;
                if used.saturating_add(cells) > number(bytes) {
                    transaction.commit().await?;
                    return Ok(Forked::Full(made));
                }
            }
            add_fork(&mut transaction, tenant, from, fork, now_ms).await?;
            made = made.saturating_add(1);
        }
        transaction.commit().await?;
        Ok(Forked::Done(made))
    }

    async fn find(
        &self,
        tenant: &TenantId,
        session: &SessionId,
    ) -> Result<Option<StoredSession>, DatabaseError> {
        let found: Option<SessionColumns> = sqlx::query_as(concat!(
            "SELECT ",
            session_columns!(),
            " FROM sessions WHERE session_id = $1 AND tenant = $2"
        ))
        .bind(session.to_string())
        .bind(tenant.to_string())
        .fetch_optional(self.file.connections())
        .await?;
        found.map(columns::session).transpose()
    }

    async fn list(
        &self,
        tenant: &TenantId,
        behind: Option<&SessionPlace>,
        now_ms: u64,
        limit: u64,
    ) -> Result<Vec<StoredSession>, DatabaseError> {
        let mut statement: QueryBuilder<Sqlite> = QueryBuilder::new(concat!(
            "SELECT ",
            session_columns!(),
            " FROM sessions WHERE state = 'open' AND tenant = "
        ));
        statement.push_bind(tenant.to_string());
        statement.push(" AND expires_ms > ").push_bind(number(now_ms));
        if let Some(place) = behind {
            statement.push(" AND (created_ms, session_id) < (").push_bind(number(place.created_ms));
            statement.push(", ").push_bind(place.id.to_string()).push(")");
        }
        statement.push(" ORDER BY created_ms DESC, session_id DESC LIMIT ");
        let rows = statement.push_bind(number(limit)).build_query_as::<SessionColumns>();
        let rows = rows.fetch_all(self.file.connections()).await?;
        rows.into_iter().map(columns::session).collect()
    }

    async fn usage(&self, tenant: &TenantId, now_ms: u64) -> Result<SessionUsage, DatabaseError> {
        let (sessions, bytes): (i64, i64) = sqlx::query_as(
            "SELECT (SELECT COUNT(*) FROM sessions \
             WHERE tenant = $1 AND state = 'open' AND expires_ms > $2), \
             COALESCE((SELECT bytes FROM session_totals WHERE tenant = $1), 0)",
        )
        .bind(tenant.to_string())
        .bind(number(now_ms))
        .fetch_one(self.file.connections())
        .await?;
        Ok(SessionUsage { sessions: count(sessions), bytes: count(bytes) })
    }

    async fn totals(&self, now_ms: u64) -> Result<SessionTotals, DatabaseError> {
        let (sessions, waiting, bytes): (i64, i64, i64) = sqlx::query_as(
            "SELECT (SELECT COUNT(*) FROM sessions WHERE state = 'open' AND expires_ms > $1), \
             (SELECT COUNT(*) FROM session_cells WHERE state = 'waiting'), \
             COALESCE((SELECT SUM(bytes) FROM session_totals), 0)",
        )
        .bind(number(now_ms))
        .fetch_one(self.file.connections())
        .await?;
        let (sessions, waiting, bytes) = (count(sessions), count(waiting), count(bytes));
        Ok(SessionTotals { sessions, waiting, bytes })
    }

    async fn parked_bytes(
        &self,
        sessions: &[SessionId],
    ) -> Result<Vec<ParkedBytes>, DatabaseError> {
        parked_bytes(self.file.connections(), sessions).await
    }

    async fn keys(&self, session: &SessionId) -> Result<Vec<WrappedKey>, DatabaseError> {
        let keys: Vec<(String, String)> = sqlx::query_as(
            "SELECT origin, wrapped FROM session_keys WHERE session_id = $1 ORDER BY origin",
        )
        .bind(session.to_string())
        .fetch_all(self.file.connections())
        .await?;
        let key = |(origin, wrapped): (String, String)| {
            Ok(WrappedKey { origin: parsed(SessionId::parse(&origin))?, wrapped })
        };
        keys.into_iter().map(key).collect()
    }

    async fn remove(
        &self,
        tenant: &TenantId,
        session: &SessionId,
        removal: Removal,
    ) -> Result<Option<Vec<PackId>>, DatabaseError> {
        let mut transaction = self.file.begin().await?;
        let bytes = "SELECT bytes + COALESCE((SELECT SUM(bytes) FROM session_cells \
                     WHERE session_id = $1), 0) FROM sessions WHERE session_id = $1 \
                     AND tenant = $2 AND state = 'open' AND expires_ms <= $3";
        let due_ms = match removal {
            Removal::Closed => i64::MAX,
            Removal::Expired { now_ms } => number(now_ms),
        };
        let bytes: Option<i64> = sqlx::query_scalar(bytes)
            .bind(session.to_string())
            .bind(tenant.to_string())
            .bind(due_ms)
            .fetch_optional(&mut *transaction)
            .await?;
        let Some(bytes) = bytes else { return Ok(None) };
        add_bytes(&mut transaction, tenant.as_str(), -bytes).await?;
        let end = match removal {
            Removal::Closed => "DELETE FROM sessions WHERE session_id = $1",
            Removal::Expired { .. } => {
                "UPDATE sessions SET state = 'expired', label = NULL, setup = '', head = NULL, \
                 bytes = 0 WHERE session_id = $1"
            }
        };
        for statement in [
            "DELETE FROM session_keys WHERE session_id = $1",
            "DELETE FROM session_cells WHERE session_id = $1",
            end,
        ] {
            sqlx::query(statement).bind(session.to_string()).execute(&mut *transaction).await?;
        }
        sqlx::query(FORGET_SURPLUS)
            .bind(tenant.to_string())
            .bind(number(MAX_EXPIRED))
            .execute(&mut *transaction)
            .await?;
        let removed = remove_all(&mut transaction, session).await?;
        transaction.commit().await?;
        Ok(Some(removed))
    }

    async fn due(
        &self,
        now_ms: u64,
        limit: u64,
    ) -> Result<Vec<(TenantId, SessionId)>, DatabaseError> {
        let due: Vec<(String, String)> = sqlx::query_as(
            "SELECT tenant, session_id FROM sessions WHERE state = 'open' AND expires_ms <= $1 \
             ORDER BY expires_ms, session_id LIMIT $2",
        )
        .bind(number(now_ms))
        .bind(number(limit))
        .fetch_all(self.file.connections())
        .await?;
        let due = due.into_iter().map(|(tenant, session)| {
            Ok((parsed(TenantId::parse(&tenant))?, parsed(SessionId::parse(&session))?))
        });
        due.collect()
    }

    async fn images(&self) -> Result<BTreeSet<Digest>, DatabaseError> {
        let images = "SELECT DISTINCT image FROM sessions WHERE state = 'open'";
        let images: Vec<String> =
            sqlx::query_scalar(images).fetch_all(self.file.connections()).await?;
        images.iter().map(|image| parsed(Digest::parse(image))).collect()
    }

    async fn forget_expired(&self, before_ms: u64) -> Result<u64, DatabaseError> {
        let forget = "DELETE FROM sessions WHERE state = 'expired' AND expires_ms < $1";
        let forget = sqlx::query(forget).bind(number(before_ms));
        Ok(forget.execute(self.file.connections()).await?.rows_affected())
    }
}

async fn add_fork(
    transaction: &mut Writing,
    tenant: &TenantId,
    (session, checkpoint): (&SessionId, &CheckpointId),
    fork: &NewFork,
    now_ms: u64,
) -> Result<(), DatabaseError> {
    let keys: Vec<[&str; 2]> =
        fork.keys.iter().map(|key| [key.origin.as_str(), key.wrapped.as_str()]).collect();
    let keys = serde_json::to_string(&keys).map_err(DatabaseError::failed)?;
    sqlx::query(FORK)
        .bind(fork.id.to_string())
        .bind(session.to_string())
        .bind(i64::from(checkpoint.cell()))
        .bind(number(now_ms))
        .bind(checkpoint.to_string())
        .bind(fork.own.setup.clone())
        .bind(keys)
        .execute(&mut **transaction)
        .await?;
    if fork.own.has_cells {
        let cells = add_cells_of_fork(transaction, (session, checkpoint), &fork.id).await?;
        add_bytes(transaction, tenant.as_str(), cells).await?;
    }
    Ok(())
}

/// The bytes of the cells that a fork at this checkpoint would have.
async fn bytes_of_cells(
    transaction: &mut Writing,
    (session, checkpoint): (&SessionId, &CheckpointId),
) -> Result<i64, DatabaseError> {
    let bytes = "SELECT COALESCE(SUM(bytes), 0) FROM session_cells \
                 WHERE session_id = $1 AND number <= $2 AND state IN ('kept', 'rolled_back')";
    let bytes = sqlx::query_scalar(bytes).bind(session.to_string());
    Ok(bytes.bind(i64::from(checkpoint.cell())).fetch_one(&mut **transaction).await?)
}

/// Copies the cells before the checkpoint of a fork. Returns their bytes.
async fn add_cells_of_fork(
    transaction: &mut Writing,
    (session, checkpoint): (&SessionId, &CheckpointId),
    fork: &SessionId,
) -> Result<i64, DatabaseError> {
    sqlx::query(FORK_CELLS)
        .bind(fork.to_string())
        .bind(session.to_string())
        .bind(i64::from(checkpoint.cell()))
        .execute(&mut **transaction)
        .await?;
    let bytes = "SELECT COALESCE(SUM(bytes), 0) FROM session_cells WHERE session_id = $1";
    Ok(sqlx::query_scalar(bytes).bind(fork.to_string()).fetch_one(&mut **transaction).await?)
}

async fn add_keys(
    transaction: &mut Writing,
    session: &SessionId,
    keys: &[WrappedKey],
) -> Result<(), DatabaseError> {
    for key in keys {
        sqlx::query("INSERT INTO session_keys (session_id, origin, wrapped) VALUES ($1, $2, $3)")
            .bind(session.to_string())
            .bind(key.origin.to_string())
            .bind(key.wrapped.clone())
            .execute(&mut **transaction)
            .await?;
    }
    Ok(())
}
