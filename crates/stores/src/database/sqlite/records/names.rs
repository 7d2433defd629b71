//! The names that clients gave to calls.

use async_trait::async_trait;
use sqlx::sqlite::SqliteExecutor;

use crate::database::sqlite::numbers::number;
use crate::database::sqlite::records::SqliteRecords;
use crate::database_error::DatabaseError;
use crate::records::store::{CallNames, NamedCall, NamesOf, RequestKey};
use wardian_vocabulary::ids::{RunId, TenantId};

/// The statements on the names of one kind of call. The names of runs that are noted stay in any case.
struct Statements {
    /// Forgets names that are older than a time.
    old: &'static str,
    /// The tenants with more names than this.
    crowded: &'static str,
    /// Forgets the names of a tenant beyond its newest ones.
    surplus: &'static str,
}

const OF_RUNS: Statements = Statements {
    old: "DELETE FROM call_names WHERE (tenant, name) IN \
          (SELECT tenant, name FROM call_names AS names \
           WHERE noted_ms < $1 AND run_id IS NOT NULL AND NOT EXISTS \
           (SELECT 1 FROM detached_runs AS active \
            WHERE active.tenant = names.tenant AND active.run_id = names.run_id) LIMIT $2)",
    crowded: "SELECT tenant FROM call_names WHERE run_id IS NOT NULL \
              GROUP BY tenant HAVING COUNT(*) > $1",
    surplus: "DELETE FROM call_names WHERE tenant = $1 AND name IN \
              (SELECT name FROM call_names AS names \
               WHERE tenant = $1 AND run_id IS NOT NULL AND NOT EXISTS \
               (SELECT 1 FROM detached_runs AS active \
                WHERE active.tenant = names.tenant AND active.run_id = names.run_id) \
               ORDER BY noted_ms DESC LIMIT $2 OFFSET $3)",
};

const OF_BLOBS: Statements = Statements {
    old: "DELETE FROM call_names WHERE (tenant, name) IN \
          (SELECT tenant, name FROM call_names WHERE noted_ms < $1 AND run_id IS NULL LIMIT $2)",
    crowded: "SELECT tenant FROM call_names WHERE run_id IS NULL \
              GROUP BY tenant HAVING COUNT(*) > $1",
    surplus: "DELETE FROM call_names WHERE tenant = $1 AND name IN \
              (SELECT name FROM call_names WHERE tenant = $1 AND run_id IS NULL \
               ORDER BY noted_ms DESC LIMIT $2 OFFSET $3)",
};

const fn statements(of: NamesOf) -> &'static Statements {
    match of {
        NamesOf::Runs => &OF_RUNS,
        NamesOf::Blobs => &OF_BLOBS,
    }
}

/// Gives a name to a call, unless a call has it.
pub(super) const ADD_NAME: &str = "INSERT INTO call_names (tenant, name, run_id, call_digest, noted_ms) \
     VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING";

#[async_trait]
impl CallNames for SqliteRecords {
    async fn find_name(
        &self,
        tenant: &TenantId,
        name: &str,
    ) -> Result<Option<NamedCall>, DatabaseError> {
        Ok(find_name_in(self.file.connections(), tenant, name).await?)
    }

    async fn name_blob(
        &self,
        tenant: &TenantId,
        key: &RequestKey,
        now_ms: u64,
    ) -> Result<Option<NamedCall>, DatabaseError> {
        let mut transaction = self.begin().await?;
        sqlx::query(ADD_NAME)
            .bind(tenant.as_str().to_owned())
            .bind(key.name.clone())
            .bind(None::<String>)
            .bind(key.call.to_string())
            .bind(number(now_ms))
            .execute(&mut *transaction)
            .await?;
        // Within the transaction, so that nobody removes the name before it is read.
        let named = find_name_in(&mut *transaction, tenant, &key.name).await?;
        transaction.commit().await?;
        Ok(named)
    }

    async fn forget_name(&self, tenant: &TenantId, run: &RunId) -> Result<(), DatabaseError> {
        sqlx::query("DELETE FROM call_names WHERE tenant = $1 AND run_id = $2")
            .bind(tenant.as_str().to_owned())
            .bind(run.as_str().to_owned())
            .execute(self.file.connections())
            .await?;
        Ok(())
    }

    async fn forget_old_names(
        &self,
        of: NamesOf,
        oldest_ms: u64,
        most: u64,
    ) -> Result<u64, DatabaseError> {
        let forgotten = sqlx::query(statements(of).old)
            .bind(number(oldest_ms))
            .bind(number(most))
            .execute(self.file.connections())
            .await?;
        Ok(forgotten.rows_affected())
    }

    async fn tenants_with_names(
        &self,
        of: NamesOf,
        more_than: u64,
    ) -> Result<Vec<String>, DatabaseError> {
        let crowded = sqlx::query_scalar(statements(of).crowded).bind(number(more_than));
        Ok(crowded.fetch_all(self.file.connections()).await?)
    }

    async fn forget_surplus_names(
        &self,
        of: NamesOf,
        tenant: &str,
        keep: u64,
        most: u64,
    ) -> Result<u64, DatabaseError> {
        let forgotten = sqlx::query(statements(of).surplus)
            .bind(tenant.to_owned())
            .bind(number(most))
            .bind(number(keep))
            .execute(self.file.connections())
            .await?;
        Ok(forgotten.rows_affected())
    }
}

/// The call of a tenant that has this name.
pub(super) async fn find_name_in(
    connection: impl SqliteExecutor<'_>,
    tenant: &TenantId,
    name: &str,
) -> Result<Option<NamedCall>, sqlx::Error> {
    let found: Option<(Option<String>, String)> = sqlx::query_as(
        "SELECT run_id, call_digest FROM call_names WHERE tenant = $1 AND name = $2",
    )
    .bind(tenant.as_str().to_owned())
    .bind(name.to_owned())
    .fetch_optional(connection)
    .await?;
    Ok(found.map(|(run_id, digest)| NamedCall { run_id, digest }))
}
