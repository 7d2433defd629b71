//! Runs in the background: noted before they begin, so that a kill of the server loses none of them.
//!
//! INVARIANT(no-run-stays-in-progress): a run that was noted has a record in the end. If the server
//! ends before the run does, its next start writes the record, with the outcome `interrupted`. If the
//! record of the end is lost, the next run that the tenant begins in the background writes it.

use sqlx::sqlite::SqliteExecutor;
use sqlx::{QueryBuilder, Sqlite};

use crate::database::DatabaseError;
use crate::records::record::{RunKind, RunRecord};
use crate::records::table::write::{Row, remove_note};
use crate::records::table::{RecordTable, count, number};
use wardian_vocabulary::clock::Clock;
use wardian_vocabulary::ids::{Digest, RunId, TenantId};

/// Maximum number of runs that are read at one time.
const AT_ONCE: i64 = 256;

/// Most notes of a tenant that are looked through for runs that are over.
const MOST_NOTED: i64 = 10_000;

/// The reason why a run whose record was lost did not complete, as far as is known.
const LOST_END: &str = "the server could not record the outcome of the run";

/// The name that a client gave to a call, and what it called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestKey {
    /// The name.
    pub name: String,
    /// Digest of the call, by which another call with the same name is distinguished.
    pub call: Digest,
}

/// The call that has a name already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KnownKey {
    /// The same call has begun this run.
    Run(RunId),
    /// The same call has stored its blob.
    SameBlob,
    /// Another call has the name.
    OtherCall,
}

impl RecordTable {
    /// Finds the call of a tenant that has this name.
    ///
    /// # Errors
    ///
    /// The database failed.
    pub async fn find_key(
        &self,
        tenant: &TenantId,
        key: &RequestKey,
    ) -> Result<Option<KnownKey>, DatabaseError> {
        Ok(find_key_in(self.database.connections(), tenant, key).await?)
    }

    /// Notes a run that is about to wait for a worker. `record` is its record if the server ends
    /// before the run does. Notes nothing, and returns the run that has the name, if one has.
    ///
    /// # Errors
    ///
    /// The database failed, or the record cannot be written as JSON.
    pub async fn note_detached(
        &self,
        record: &RunRecord,
        key: Option<&RequestKey>,
    ) -> Result<Option<KnownKey>, DatabaseError> {
        let text =
            serde_json::to_string(record).map_err(|fault| sqlx::Error::Encode(fault.into()))?;
        let mut transaction = self.database.begin().await?;
        if let Some(key) = key {
            let written = sqlx::query(
                "INSERT INTO run_keys (tenant, run_key, run_id, call_digest, noted_ms) \
                 SELECT $1, $2, $3, $4, $5 WHERE NOT EXISTS \
                 (SELECT 1 FROM blob_keys WHERE tenant = $1 AND blob_key = $2) \
                 ON CONFLICT DO NOTHING",
            )
            .bind(record.tenant.to_string())
            .bind(key.name.clone())
            .bind(record.run_id.to_string())
            .bind(key.call.to_string())
            .bind(number(record.started_ms))
            .execute(&mut *transaction)
            .await?;
            if written.rows_affected() == 0 {
                // Within the transaction, so that nobody removes the name before it is read.
                let known = find_key_in(&mut *transaction, &record.tenant, key).await?;
                transaction.rollback().await?;
                return Ok(Some(known.unwrap_or(KnownKey::OtherCall)));
            }
        }
        sqlx::query(
            "INSERT INTO detached_runs (tenant, run_id, kind, record) VALUES ($1, $2, $3, $4)",
        )
        .bind(record.tenant.to_string())
        .bind(record.run_id.to_string())
        .bind(record.kind.name())
        .bind(text)
        .execute(&mut *transaction)
        .await?;
        transaction.commit().await?;
        Ok(None)
    }

    /// Forgets a run that was noted and then refused.
    ///
    /// # Errors
    ///
    /// The database failed.
    pub async fn forget_detached(
        &self,
        tenant: &TenantId,
        run: &RunId,
    ) -> Result<(), DatabaseError> {
        let mut transaction = self.database.begin().await?;
        for statement in [
            "DELETE FROM detached_runs WHERE tenant = $1 AND run_id = $2",
            "DELETE FROM run_keys WHERE tenant = $1 AND run_id = $2",
        ] {
            sqlx::query(statement)
                .bind(tenant.as_str().to_owned())
                .bind(run.as_str().to_owned())
                .execute(&mut *transaction)
                .await?;
        }
        transaction.commit().await?;
        Ok(())
    }

    /// Forgets the name of a run in which nothing was executed, so that its call can come again.
    ///
    /// # Errors
    ///
    /// The database failed.
    pub async fn forget_key(&self, tenant: &TenantId, run: &RunId) -> Result<(), DatabaseError> {
        sqlx::query("DELETE FROM run_keys WHERE tenant = $1 AND run_id = $2")
            .bind(tenant.as_str().to_owned())
            .bind(run.as_str().to_owned())
            .execute(self.database.connections())
            .await?;
        Ok(())
    }

    /// The record of a run that was noted and has no other: how it ended is not known.
    ///
    /// # Errors
    ///
    /// The database failed.
    pub async fn find_detached(
        &self,
        tenant: &TenantId,
        kind: Option<RunKind>,
        run: &RunId,
    ) -> Result<Option<String>, DatabaseError> {
        let mut statement: QueryBuilder<Sqlite> =
            QueryBuilder::new("SELECT record FROM detached_runs WHERE tenant = ");
        statement.push_bind(tenant.as_str().to_owned());
        statement.push(" AND run_id = ").push_bind(run.as_str().to_owned());
        if let Some(kind) = kind {
            statement.push(" AND kind = ").push_bind(kind.name());
        }
        let found = statement.build_query_scalar();
        Ok(found.fetch_optional(self.database.connections()).await?)
    }

    /// The number of a tenant's runs that are noted.
    ///
    /// # Errors
    ///
    /// The database failed.
    pub async fn count_noted(&self, tenant: &TenantId) -> Result<u64, DatabaseError> {
        let noted = "SELECT COUNT(*) FROM detached_runs WHERE tenant = $1";
        let noted: i64 = sqlx::query_scalar(noted)
            .bind(tenant.as_str().to_owned())
            .fetch_one(self.database.connections())
            .await?;
        Ok(count(noted))
    }

    /// Writes the records of those runs of a tenant that were noted, are over, and have none, because
    /// the records of their ends were lost. From then on they are removed like all others. Returns
    /// their number.
    ///
    /// # Errors
    ///
    /// The database failed.
    pub async fn end_lost(
        &self,
        tenant: &TenantId,
        goes_on: impl Fn(&RunId) -> bool,
    ) -> Result<u64, DatabaseError> {
        let noted: Vec<String> =
            sqlx::query_scalar("SELECT run_id FROM detached_runs WHERE tenant = $1 LIMIT $2")
                .bind(tenant.as_str().to_owned())
                .bind(MOST_NOTED)
                .fetch_all(self.database.connections())
                .await?;
        let is_lost = |text: &String| RunId::parse(text).is_ok_and(|run| !goes_on(&run));
        let mut count = 0_u64;
        for run_id in noted.into_iter().filter(is_lost) {
            // A record that was written meanwhile has removed the note.
            let note: Option<String> = sqlx::query_scalar(
                "SELECT record FROM detached_runs WHERE tenant = $1 AND run_id = $2",
            )
            .bind(tenant.as_str().to_owned())
            .bind(run_id.clone())
            .fetch_optional(self.database.connections())
            .await?;
            let Some(note) = note else { continue };
            let (tenant, lost) = (tenant.to_string(), LOST_END);
            self.end_noted(&[(tenant, run_id, note)], Some(lost)).await?;
            count = count.saturating_add(1);
        }
        Ok(count)
    }

    /// Writes the records of all runs that were noted and have none. Only for a server that begins:
    /// no run may be in progress. Returns their number.
    ///
    /// # Errors
    ///
    /// The database failed.
    pub async fn end_interrupted(&self) -> Result<u64, DatabaseError> {
        let mut count = 0_u64;
        loop {
            let found: Vec<(String, String, String)> =
                sqlx::query_as("SELECT tenant, run_id, record FROM detached_runs LIMIT $1")
                    .bind(AT_ONCE)
                    .fetch_all(self.database.connections())
                    .await?;
            if found.is_empty() {
                return Ok(count);
            }
            count = count.saturating_add(self.end_noted(&found, None).await?);
        }
    }

    /// Writes the records of runs as they were noted, with this reason if one is given, and removes
    /// the notes. Returns the number of records.
    async fn end_noted(
        &self,
        found: &[(String, String, String)],
        reason: Option<&str>,
    ) -> Result<u64, DatabaseError> {
        let read = |text: &String| {
            let mut record = serde_json::from_str::<RunRecord>(text).ok()?;
            if let (Some(error), Some(reason)) = (&mut record.error, reason) {
                reason.clone_into(&mut error.message);
            }
            Row::of(&record, None, None).ok()
        };
        let rows: Vec<Row> = found.iter().filter_map(|(_, _, text)| read(text)).collect();
        let now = u64::try_from(Clock::System.now().as_millis()).unwrap_or(u64::MAX);
        self.insert(&rows, now).await?;
        // What cannot be read, which only a damaged file has, is not looked at again.
        let mut transaction = self.database.begin().await?;
        for (tenant, run_id, _) in found {
            remove_note(&mut transaction, tenant, run_id).await?;
        }
        transaction.commit().await?;
        Ok(u64::try_from(rows.len()).unwrap_or(u64::MAX))
    }
}

/// The call of a tenant that has this name.
async fn find_key_in(
    connection: impl SqliteExecutor<'_>,
    tenant: &TenantId,
    key: &RequestKey,
) -> Result<Option<KnownKey>, sqlx::Error> {
    let found: Option<(Option<String>, String)> = sqlx::query_as(
        "SELECT run_id, call_digest FROM run_keys WHERE tenant = $1 AND run_key = $2 \
         UNION ALL \
         SELECT NULL, call_digest FROM blob_keys WHERE tenant = $1 AND blob_key = $2",
    )
    .bind(tenant.as_str().to_owned())
    .bind(key.name.clone())
    .fetch_optional(connection)
    .await?;
    Ok(found.map(|(run_id, call)| known(run_id.as_deref(), &call, key)))
}

fn known(run_id: Option<&str>, call: &str, key: &RequestKey) -> KnownKey {
    if call != key.call.to_string() {
        return KnownKey::OtherCall;
    }
    match run_id.map(RunId::parse) {
        None => KnownKey::SameBlob,
        Some(Ok(run)) => KnownKey::Run(run),
        Some(Err(_)) => KnownKey::OtherCall,
    }
}
