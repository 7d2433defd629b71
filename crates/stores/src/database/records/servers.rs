//! The servers that have runs in progress, and their leases.

use std::time::Duration;

use async_trait::async_trait;

use crate::database::engine::{Writing, milliseconds};
use crate::database::numbers::{count, number};
use crate::database::records::StoredRecords;
use crate::database::statement::{Dialect, statement};
use crate::database_error::DatabaseError;
use crate::records::server_id::{RunHolder, ServerId};
use crate::records::store::{Renewed, ServerLeases};

const JOIN: &str = "INSERT INTO servers (server, epoch, lease_ms) VALUES ($1, 1, $2) \
     ON CONFLICT (server) DO UPDATE SET epoch = servers.epoch + 1, lease_ms = excluded.lease_ms \
     RETURNING epoch";

const END_EXPIRED: &str = "UPDATE servers SET epoch = epoch + 1 WHERE server <> $1 AND lease_ms <= $2 AND (EXISTS \
     (SELECT 1 FROM detached_runs AS noted \
      WHERE noted.server = servers.server AND noted.epoch = servers.epoch) OR EXISTS \
     (SELECT 1 FROM queued_runs AS claimed \
      WHERE claimed.server = servers.server AND claimed.epoch = servers.epoch))";

/// The lease of a server in this epoch.
const LEASE: &str = "SELECT lease_ms FROM servers WHERE server = $1 AND epoch = $2";

/// The same, and nobody else ends the epoch before the end of the transaction.
const LEASE_BESIDE_OTHERS: &str =
    "SELECT lease_ms FROM servers WHERE server = $1 AND epoch = $2 FOR UPDATE";

/// The server in its epoch, which nobody ends before the end of the transaction.
const PRESENT: &str = "SELECT epoch FROM servers WHERE server = $1 AND epoch = $2";
const PRESENT_BESIDE_OTHERS: &str =
    "SELECT epoch FROM servers WHERE server = $1 AND epoch = $2 FOR SHARE";

#[async_trait]
impl ServerLeases for StoredRecords {
    async fn join(&self, server: &ServerId, lease: Duration) -> Result<u64, DatabaseError> {
        let end = self.after(lease).await?;
        let join = statement(JOIN).bind(server.to_string()).bind(end);
        let (epoch,): (i64,) = self.database.fetch_one(join).await?;
        Ok(count(epoch))
    }

    async fn renew(&self, holder: &RunHolder, lease: Duration) -> Result<Renewed, DatabaseError> {
        const RENEW: &str = "UPDATE servers SET lease_ms = $3 WHERE server = $1 AND epoch = $2";
        let now = self.after(Duration::ZERO).await?;
        let mut transaction = self.begin().await?;
        let (server, epoch) = (holder.server.to_string(), number(holder.epoch));
        let found = statement(match transaction.dialect() {
            Dialect::Sqlite => LEASE,
            Dialect::Postgres => LEASE_BESIDE_OTHERS,
        });
        let found = found.bind(server.as_str()).bind(epoch);
        let found: Option<(i64,)> = transaction.fetch_optional(found).await?;
        let Some((end,)) = found else { return Ok(Renewed::EpochOver) };
        let renew = statement(RENEW).bind(server).bind(epoch);
        let renew = renew.bind(now.saturating_add(milliseconds(lease)));
        transaction.execute(renew).await?;
        transaction.commit().await?;
        Ok(if end <= now { Renewed::Late } else { Renewed::InTime })
    }

    async fn end_expired(&self, but: &ServerId) -> Result<u64, DatabaseError> {
        let now = self.after(Duration::ZERO).await?;
        self.database.execute(statement(END_EXPIRED).bind(but.to_string()).bind(now)).await
    }
}

impl StoredRecords {
    /// The time by the clock of leases, in milliseconds since the Unix epoch.
    pub(super) async fn now_ms(&self) -> Result<i64, DatabaseError> {
        self.clock.now_ms(&self.database).await
    }

    /// The time so long after now, in milliseconds since the Unix epoch.
    async fn after(&self, time: Duration) -> Result<i64, DatabaseError> {
        Ok(self.now_ms().await?.saturating_add(milliseconds(time)))
    }
}

/// True if the epoch of a server is not over, and is not before the end of the transaction.
pub(super) async fn is_present(
    transaction: &mut Writing,
    holder: &RunHolder,
) -> Result<bool, DatabaseError> {
    let present = statement(match transaction.dialect() {
        Dialect::Sqlite => PRESENT,
        Dialect::Postgres => PRESENT_BESIDE_OTHERS,
    });
    let found: Option<(i64,)> = transaction
        .fetch_optional(present.bind(holder.server.as_str()).bind(number(holder.epoch)))
        .await?;
    Ok(found.is_some())
}
