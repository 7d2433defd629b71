//! Forgets the names that clients gave to calls, of runs and of blobs alike: by their age, and of
//! each tenant the oldest beyond a number.
//!
//! INVARIANT(kept-names): the name of a run is kept for its time from the end of the run on, however
//! many other runs the tenant makes. So a repeated call is not executed again meanwhile.

use crate::database::DatabaseError;
use crate::records::table::{RecordTable, number};

/// Most names that are forgotten in one transaction.
const AT_ONCE: u64 = 500;

/// The statements on one table of names. The names of runs in progress stay in any case.
struct Statements {
    /// Forgets names that are older than a time.
    old: &'static str,
    /// The tenants with more names than this.
    crowded: &'static str,
    /// Forgets the names of a tenant beyond its newest ones.
    surplus: &'static str,
}

const OF_RUNS: Statements = Statements {
    old: "DELETE FROM run_keys WHERE (tenant, run_key) IN \
          (SELECT tenant, run_key FROM run_keys AS names WHERE noted_ms < $1 AND NOT EXISTS \
           (SELECT 1 FROM detached_runs AS active \
            WHERE active.tenant = names.tenant AND active.run_id = names.run_id) LIMIT $2)",
    crowded: "SELECT tenant FROM run_keys GROUP BY tenant HAVING COUNT(*) > $1",
    surplus: "DELETE FROM run_keys WHERE tenant = $1 AND run_key IN \
              (SELECT run_key FROM run_keys AS names WHERE tenant = $1 AND NOT EXISTS \
               (SELECT 1 FROM detached_runs AS active \
                WHERE active.tenant = names.tenant AND active.run_id = names.run_id) \
               ORDER BY noted_ms DESC LIMIT $2 OFFSET $3)",
};

const OF_BLOBS: Statements = Statements {
    old: "DELETE FROM blob_keys WHERE (tenant, blob_key) IN \
          (SELECT tenant, blob_key FROM blob_keys WHERE created_ms < $1 LIMIT $2)",
    crowded: "SELECT tenant FROM blob_keys GROUP BY tenant HAVING COUNT(*) > $1",
    surplus: "DELETE FROM blob_keys WHERE tenant = $1 AND blob_key IN \
              (SELECT blob_key FROM blob_keys WHERE tenant = $1 \
               ORDER BY created_ms DESC LIMIT $2 OFFSET $3)",
};

impl RecordTable {
    /// Forgets some of the names beyond the newest `most` of each tenant, and some of those from
    /// before this time, in milliseconds since the Unix epoch. Returns true if there may be more.
    pub(in crate::records) async fn trim_names(
        &self,
        most: u64,
        oldest_ms: Option<u64>,
    ) -> Result<bool, DatabaseError> {
        let mut has_more = false;
        for statements in [OF_RUNS, OF_BLOBS] {
            if let Some(oldest) = oldest_ms {
                has_more |= self.forget_old(&statements, oldest).await?;
            }
            let crowded: Vec<String> = sqlx::query_scalar(statements.crowded)
                .bind(number(most))
                .fetch_all(self.database.connections())
                .await?;
            for tenant in crowded {
                has_more |= self.forget_surplus(&statements, tenant, most).await?;
            }
        }
        Ok(has_more)
    }

    async fn forget_old(
        &self,
        statements: &Statements,
        oldest_ms: u64,
    ) -> Result<bool, DatabaseError> {
        let removed = sqlx::query(statements.old)
            .bind(number(oldest_ms))
            .bind(number(AT_ONCE))
            .execute(self.database.connections())
            .await?;
        Ok(removed.rows_affected() >= AT_ONCE)
    }

    async fn forget_surplus(
        &self,
        statements: &Statements,
        tenant: String,
        most: u64,
    ) -> Result<bool, DatabaseError> {
        let removed = sqlx::query(statements.surplus)
            .bind(tenant)
            .bind(number(AT_ONCE))
            .bind(number(most))
            .execute(self.database.connections())
            .await?;
        Ok(removed.rows_affected() >= AT_ONCE)
    }
}
