//! The checkpoints of sessions, and the chains of their packs.

use async_trait::async_trait;
use sqlx::{QueryBuilder, Sqlite};

use crate::database::numbers::number;
use crate::database::sqlite::sessions::SqliteSessions;
use crate::database::sqlite::sessions::columns::{
    self, CheckpointColumns, PackColumns, pack_columns, pack_id, select_checkpoints,
};
use crate::database::sqlite::sessions::packs::remove_checkpoint;
use crate::database::sqlite::sessions::parts::{find_checkpoint, head_of_open, use_session};
use crate::database_error::DatabaseError;
use crate::sessions::rows::{PackId, StoredCheckpoint, StoredPack};
use crate::sessions::store::{CheckpointNaming, Forgotten, SessionCheckpoints};
use wardian_vocabulary::ids::{CheckpointId, SessionId};

/// The packs that lead to a checkpoint, or to the state in which a cell waits. Each row is taken once, so a
/// circle, which only damage makes, ends.
const CHAIN: &str = concat!(
    "WITH RECURSIVE chain (origin, checkpoint) AS ( \
      SELECT origin, checkpoint FROM session_checkpoints WHERE session_id = $1 AND checkpoint = $2 \
      UNION SELECT session_id, parked FROM session_cells WHERE session_id = $1 AND parked = $2 \
      UNION SELECT packs.base_origin, packs.base_checkpoint FROM chain \
       JOIN session_packs AS packs \
       ON packs.origin = chain.origin AND packs.checkpoint = chain.checkpoint \
       WHERE packs.base_origin IS NOT NULL) SELECT ",
    pack_columns!(),
    " FROM chain JOIN session_packs AS packs \
     ON packs.origin = chain.origin AND packs.checkpoint = chain.checkpoint ORDER BY packs.sequence"
);

#[async_trait]
impl SessionCheckpoints for SqliteSessions {
    async fn checkpoint(
        &self,
        session: &SessionId,
        checkpoint: &CheckpointId,
    ) -> Result<Option<StoredCheckpoint>, DatabaseError> {
        find_checkpoint(self.file.connections(), session, checkpoint).await
    }

    async fn checkpoints(
        &self,
        session: &SessionId,
        after: u32,
        limit: u64,
    ) -> Result<Vec<StoredCheckpoint>, DatabaseError> {
        let found: Vec<CheckpointColumns> = sqlx::query_as(concat!(
            select_checkpoints!(),
            "made.session_id = $1 AND made.cell > $2 ORDER BY made.cell LIMIT $3"
        ))
        .bind(session.to_string())
        .bind(i64::from(after))
        .bind(number(limit))
        .fetch_all(self.file.connections())
        .await?;
        found.into_iter().map(columns::checkpoint).collect()
    }

    async fn chain(
        &self,
        session: &SessionId,
        checkpoint: &CheckpointId,
    ) -> Result<Vec<StoredPack>, DatabaseError> {
        let chain: Vec<PackColumns> = sqlx::query_as(CHAIN)
            .bind(session.to_string())
            .bind(checkpoint.to_string())
            .fetch_all(self.file.connections())
            .await?;
        chain.into_iter().map(columns::pack).collect()
    }

    async fn name_checkpoint(
        &self,
        session: &SessionId,
        checkpoint: &CheckpointId,
        name: Option<&str>,
    ) -> Result<CheckpointNaming, DatabaseError> {
        // One statement, so that of two that give the same name at once, one finds it taken.
        let named = "UPDATE session_checkpoints SET name = $3 \
                     WHERE session_id = $1 AND checkpoint = $2 AND NOT EXISTS \
                     (SELECT 1 FROM session_checkpoints AS others WHERE others.session_id = $1 \
                      AND others.name = $3 AND others.checkpoint <> $2)";
        let named = sqlx::query(named)
            .bind(session.to_string())
            .bind(checkpoint.to_string())
            .bind(name.map(str::to_owned));
        if named.execute(self.file.connections()).await?.rows_affected() == 1 {
            return Ok(CheckpointNaming::Done);
        }
        if self.checkpoint(session, checkpoint).await?.is_none() {
            return Ok(CheckpointNaming::NotFound);
        }
        let taken = match name {
            Some(name) => self.named_checkpoint(session, name).await?,
            None => None,
        };
        Ok(taken.map_or(CheckpointNaming::NotFound, CheckpointNaming::Taken))
    }

    async fn named_checkpoint(
        &self,
        session: &SessionId,
        name: &str,
    ) -> Result<Option<CheckpointId>, DatabaseError> {
        let named = "SELECT checkpoint FROM session_checkpoints \
                     WHERE session_id = $1 AND name = $2 ORDER BY cell DESC LIMIT 1";
        let named = sqlx::query_scalar(named).bind(session.to_string()).bind(name.to_owned());
        let named: Option<String> = named.fetch_optional(self.file.connections()).await?;
        columns::checkpoint_id(named.as_deref())
    }

    async fn forget_checkpoint(
        &self,
        session: &SessionId,
        checkpoint: &CheckpointId,
    ) -> Result<Forgotten, DatabaseError> {
        let mut transaction = self.file.begin().await?;
        let origin = "SELECT origin FROM session_checkpoints \
                      WHERE session_id = $1 AND checkpoint = $2";
        let origin: Option<String> = sqlx::query_scalar(origin)
            .bind(session.to_string())
            .bind(checkpoint.to_string())
            .fetch_optional(&mut *transaction)
            .await?;
        let Some(origin) = origin else { return Ok(Forgotten::NotFound) };
        let head = head_of_open(&mut transaction, session).await?.flatten();
        if head.as_deref() == Some(checkpoint.as_str()) {
            return Ok(Forgotten::IsHead);
        }
        let (pack, mut removed) = (pack_id(&origin, checkpoint.as_str())?, Vec::new());
        remove_checkpoint(&mut transaction, session, pack, &mut removed).await?;
        transaction.commit().await?;
        Ok(Forgotten::Done(removed))
    }

    async fn restore(
        &self,
        session: &SessionId,
        checkpoint: &CheckpointId,
        now_ms: u64,
    ) -> Result<bool, DatabaseError> {
        let mut transaction = self.file.begin().await?;
        let restored = "UPDATE sessions SET head = $2, must_reseed = 1, may_have_gone_back = 0 \
                        WHERE session_id = $1 AND state = 'open' AND EXISTS \
                        (SELECT 1 FROM session_checkpoints \
                         WHERE session_id = $1 AND checkpoint = $2)";
        let restored = sqlx::query(restored).bind(session.to_string()).bind(checkpoint.to_string());
        if restored.execute(&mut *transaction).await?.rows_affected() == 0 {
            return Ok(false);
        }
        use_session(&mut transaction, session, now_ms).await?;
        transaction.commit().await?;
        Ok(true)
    }

    async fn known_packs(&self, packs: &[PackId]) -> Result<Vec<PackId>, DatabaseError> {
        let mut statement: QueryBuilder<Sqlite> = QueryBuilder::new(
            "SELECT origin, checkpoint FROM session_packs WHERE (origin, checkpoint) IN ",
        );
        statement.push_tuples(packs, |mut values, pack| {
            values.push_bind(pack.origin.to_string()).push_bind(pack.checkpoint.to_string());
        });
        let known: Vec<(String, String)> =
            statement.build_query_as().fetch_all(self.file.connections()).await?;
        known.iter().map(|(origin, checkpoint)| pack_id(origin, checkpoint)).collect()
    }

    async fn has_had_sessions(&self) -> Result<bool, DatabaseError> {
        // The totals of a tenant stay when its last session has ended.
        let had = sqlx::query_scalar("SELECT EXISTS (SELECT 1 FROM session_totals)");
        Ok(had.fetch_one(self.file.connections()).await?)
    }
}
