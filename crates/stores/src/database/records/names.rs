//! The names that clients gave to calls.

use async_trait::async_trait;

use crate::database::engine::Writing;
use crate::database::numbers::number;
use crate::database::records::StoredRecords;
use crate::database::statement::{Statement, statement};
use crate::database_error::DatabaseError;
use crate::records::named_call::{NamedCall, RequestKey};
use crate::records::store::{CallNames, NamesOf};
use wardian_vocabulary::ids::{RunId, TenantId};

/// The statements on the names of one kind of call. The names of runs that are noted stay in any case.
struct Statements {
    /// Forgets names that are older than a time. Said twice: one that is renewed meanwhile stays.
    old: &'static str,
    /// The tenants with more names than this.
    crowded: &'static str,
    /// Forgets the names of a tenant beyond its newest ones.
    surplus: &'static str,
}

const OF_RUNS: Statements = Statements {
    old: "DELETE FROM call_names WHERE noted_ms < $1 AND (tenant, name) IN \
          (SELECT tenant, name FROM call_names AS names \
           WHERE noted_ms < $1 AND run_id IS NOT NULL AND NOT EXISTS \
           (SELECT 1 FROM detached_runs AS active \
            WHERE active.tenant = names.tenant AND active.run_id = names.run_id) AND NOT EXISTS \
           (SELECT 1 FROM queued_runs AS waiting \
            WHERE waiting.tenant = names.tenant AND waiting.run_id = names.run_id) LIMIT $2)",
    crowded: "SELECT tenant FROM call_names WHERE run_id IS NOT NULL \
              GROUP BY tenant HAVING COUNT(*) > $1",
    surplus: "DELETE FROM call_names WHERE tenant = $1 AND name IN \
              (SELECT name FROM call_names AS names \
               WHERE tenant = $1 AND run_id IS NOT NULL AND NOT EXISTS \
               (SELECT 1 FROM detached_runs AS active \
                WHERE active.tenant = names.tenant AND active.run_id = names.run_id) AND NOT EXISTS \
               (SELECT 1 FROM queued_runs AS waiting \
                WHERE waiting.tenant = names.tenant AND waiting.run_id = names.run_id) \
               ORDER BY noted_ms DESC LIMIT $2 OFFSET $3)",
};

const OF_BLOBS: Statements = Statements {
    old: "DELETE FROM call_names WHERE noted_ms < $1 AND (tenant, name) IN \
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
const ADD_NAME: &str = "INSERT INTO call_names (tenant, name, run_id, call_digest, noted_ms) \
     VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING";

#[async_trait]
impl CallNames for StoredRecords {
    async fn find_name(
        &self,
        tenant: &TenantId,
        name: &str,
    ) -> Result<Option<NamedCall>, DatabaseError> {
        let found = self.database.fetch_optional(find_name(tenant, name)).await?;
        Ok(found.map(named))
    }

    async fn name_blob(
        &self,
        tenant: &TenantId,
        key: &RequestKey,
        now_ms: u64,
    ) -> Result<Option<NamedCall>, DatabaseError> {
        let mut transaction = self.begin().await?;
        let named = add_name(&mut transaction, (tenant, None), key, now_ms).await?;
        transaction.commit().await?;
        // Whoever has named it: this call, or the one that has the name.
        Ok(Some(named.unwrap_or_else(|| NamedCall { run_id: None, digest: key.call.to_string() })))
    }

    async fn forget_name(&self, tenant: &TenantId, run: &RunId) -> Result<(), DatabaseError> {
        let forget = statement("DELETE FROM call_names WHERE tenant = $1 AND run_id = $2");
        self.database.execute(forget.bind(tenant.as_str()).bind(run.as_str())).await?;
        Ok(())
    }

    async fn forget_old_names(
        &self,
        of: NamesOf,
        oldest_ms: u64,
        most: u64,
    ) -> Result<u64, DatabaseError> {
        let old = statement(statements(of).old).bind(number(oldest_ms)).bind(number(most));
        self.database.execute(old).await
    }

    async fn tenants_with_names(
        &self,
        of: NamesOf,
        more_than: u64,
    ) -> Result<Vec<String>, DatabaseError> {
        let crowded = statement(statements(of).crowded).bind(number(more_than));
        let crowded: Vec<(String,)> = self.database.fetch_all(crowded).await?;
        Ok(crowded.into_iter().map(|(tenant,)| tenant).collect())
    }

    async fn forget_surplus_names(
        &self,
        of: NamesOf,
        tenant: &str,
        keep: u64,
        most: u64,
    ) -> Result<u64, DatabaseError> {
        let surplus = statement(statements(of).surplus).bind(tenant);
        self.database.execute(surplus.bind(number(most)).bind(number(keep))).await
    }
}

/// Attempts to name a call. Each after the first needs somebody who forgot the name in that moment.
const ATTEMPTS: usize = 8;

/// Gives a name to a call that has begun a run, or stored a blob. Returns the call that has it already, if one
/// has.
pub(super) async fn add_name(
    transaction: &mut Writing,
    (tenant, run): (&TenantId, Option<&RunId>),
    key: &RequestKey,
    now_ms: u64,
) -> Result<Option<NamedCall>, DatabaseError> {
    for _ in 0..ATTEMPTS {
        // Waits for another one that gives the same name at this moment.
        let add = statement(ADD_NAME)
            .bind(tenant.as_str())
            .bind(key.name.as_str())
            .bind(run.map(RunId::as_str))
            .bind(key.call.to_string())
            .bind(number(now_ms));
        if transaction.execute(add).await? > 0 {
            return Ok(None);
        }
        let found = transaction.fetch_optional(find_name(tenant, &key.name)).await?;
        if let Some(found) = found {
            return Ok(Some(named(found)));
        }
    }
    Err(DatabaseError::failed("a name is given and forgotten again and again"))
}

/// The call of a tenant that has this name, as a transaction sees it.
pub(super) async fn find_name_in(
    transaction: &mut Writing,
    tenant: &TenantId,
    name: &str,
) -> Result<Option<NamedCall>, DatabaseError> {
    Ok(transaction.fetch_optional(find_name(tenant, name)).await?.map(named))
}

/// Finds the call of a tenant that has this name.
fn find_name(tenant: &TenantId, name: &str) -> Statement {
    statement("SELECT run_id, call_digest FROM call_names WHERE tenant = $1 AND name = $2")
        .bind(tenant.as_str())
        .bind(name)
}

fn named((run_id, digest): (Option<String>, String)) -> NamedCall {
    NamedCall { run_id, digest }
}
