//! The servers that have runs in progress, and their leases.

use std::time::Duration;

use async_trait::async_trait;

use crate::database::sqlite::numbers::{count, number};
use crate::database::sqlite::records::SqliteRecords;
use crate::database_error::DatabaseError;
use crate::records::server_id::{RunHolder, ServerId};
use crate::records::store::{Renewed, ServerLeases};

const JOIN: &str = "INSERT INTO servers (server, epoch, lease_ms) VALUES ($1, 1, $2) \
     ON CONFLICT (server) DO UPDATE SET epoch = servers.epoch + 1, lease_ms = excluded.lease_ms \
     RETURNING epoch";

const END_EXPIRED: &str = "UPDATE servers SET epoch = epoch + 1 WHERE server <> $1 AND lease_ms <= $2 AND EXISTS \
     (SELECT 1 FROM detached_runs AS noted \
      WHERE noted.server = servers.server AND noted.epoch = servers.epoch)";

impl SqliteRecords {
    /// The time so long after now, in milliseconds since the Unix epoch. All servers of a file are on
    /// one machine, so they share its clock.
    fn after(&self, time: Duration) -> i64 {
        let end = self.clock.now().saturating_add(time);
        number(u64::try_from(end.as_millis()).unwrap_or(u64::MAX))
    }
}

#[async_trait]
impl ServerLeases for SqliteRecords {
    async fn join(&self, server: &ServerId, lease: Duration) -> Result<u64, DatabaseError> {
        let epoch: i64 = sqlx::query_scalar(JOIN)
            .bind(server.to_string())
            .bind(self.after(lease))
            .fetch_one(self.file.connections())
            .await?;
        Ok(count(epoch))
    }

    async fn renew(&self, holder: &RunHolder, lease: Duration) -> Result<Renewed, DatabaseError> {
        let mut transaction = self.begin().await?;
        let found: Option<i64> =
            sqlx::query_scalar("SELECT lease_ms FROM servers WHERE server = $1 AND epoch = $2")
                .bind(holder.server.to_string())
                .bind(number(holder.epoch))
                .fetch_optional(&mut *transaction)
                .await?;
        let Some(end) = found else { return Ok(Renewed::EpochOver) };
        let was_late = end <= self.after(Duration::ZERO);
        sqlx::query("UPDATE servers SET lease_ms = $3 WHERE server = $1 AND epoch = $2")
            .bind(holder.server.to_string())
            .bind(number(holder.epoch))
            .bind(self.after(lease))
            .execute(&mut *transaction)
            .await?;
        transaction.commit().await?;
        Ok(if was_late { Renewed::Late } else { Renewed::InTime })
    }

    async fn end_expired(&self, but: &ServerId) -> Result<u64, DatabaseError> {
        let ended = sqlx::query(END_EXPIRED)
            .bind(but.to_string())
            .bind(self.after(Duration::ZERO))
            .execute(self.file.connections())
            .await?;
        Ok(ended.rows_affected())
    }
}
