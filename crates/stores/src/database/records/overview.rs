//! The fleet as operators see it.

use async_trait::async_trait;

use crate::database::numbers::{count, number};
use crate::database::records::StoredRecords;
use crate::database::statement::statement;
use crate::database_error::DatabaseError;
use crate::records::server_id::RunHolder;
use crate::records::waiting::overview::FleetOverview;
use crate::records::waiting::{FleetServer, ServerFacts, TenantQueue};

const DESCRIBE: &str = "UPDATE servers SET host = $3, version = $4, settings = $5 \
     WHERE server = $1 AND epoch = $2";

const SERVERS: &str = "SELECT server, host, version, settings, epoch, lease_ms, \
     (SELECT COUNT(*) FROM queued_runs AS claimed \
      WHERE claimed.server = servers.server AND claimed.epoch = servers.epoch), \
     (SELECT COUNT(*) FROM detached_runs AS begun \
      WHERE begun.server = servers.server AND begun.epoch = servers.epoch) \
     FROM servers ORDER BY server LIMIT $1";

const QUEUES: &str = "SELECT tenant, CAST(SUM(waiting) AS BIGINT), CAST(SUM(claimed) AS BIGINT), \
     CAST(SUM(begun) AS BIGINT), MIN(queued_us) FROM \
     (SELECT tenant, CASE WHEN server IS NULL THEN 1 ELSE 0 END AS waiting, \
      CASE WHEN server IS NULL THEN 0 ELSE 1 END AS claimed, 0 AS begun, queued_us FROM queued_runs \
      UNION ALL SELECT tenant, 0, 0, 1, NULL FROM detached_runs) AS unrecorded \
     GROUP BY tenant ORDER BY tenant LIMIT $1";

/// A row of [`SERVERS`].
type ServerRow = (String, Option<String>, Option<String>, Option<String>, i64, i64, i64, i64);

#[async_trait]
impl FleetOverview for StoredRecords {
    async fn describe(&self, holder: &RunHolder, facts: &ServerFacts) -> Result<(), DatabaseError> {
        let describe = statement(DESCRIBE)
            .bind(holder.server.as_str())
            .bind(number(holder.epoch))
            .bind(facts.host.as_str())
            .bind(facts.version.as_str())
            .bind(facts.settings.as_str());
        self.database.execute(describe).await.map(drop)
    }

    async fn servers(&self, most: u64) -> Result<Vec<FleetServer>, DatabaseError> {
        let now = self.now_ms().await?;
        let found: Vec<ServerRow> =
            self.database.fetch_all(statement(SERVERS).bind(number(most))).await?;
        let server =
            |(server, host, version, settings, epoch, lease, claimed, begun)| FleetServer {
                server,
                host,
                version,
                settings,
                epoch: count(epoch),
                lease_ms: count(i64::saturating_sub(lease, now)),
                claimed: count(claimed),
                begun: count(begun),
            };
        Ok(found.into_iter().map(server).collect())
    }

    async fn queues(&self, most: u64) -> Result<Vec<TenantQueue>, DatabaseError> {
        let now = self.now_ms().await?;
        let found: Vec<(String, i64, i64, i64, Option<i64>)> =
            self.database.fetch_all(statement(QUEUES).bind(number(most))).await?;
        let queue =
            |(tenant, waiting, claimed, begun, oldest): (_, _, _, _, Option<i64>)| TenantQueue {
                tenant,
                waiting: count(waiting),
                claimed: count(claimed),
                begun: count(begun),
                oldest_ms: oldest.map_or(0, |us| count(now.saturating_sub(us / 1_000))),
            };
        Ok(found.into_iter().map(queue).collect())
    }
}
