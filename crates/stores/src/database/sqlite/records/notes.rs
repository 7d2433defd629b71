//! Runs in the background that have no record yet.

use async_trait::async_trait;
use sqlx::{QueryBuilder, Sqlite};

use crate::database::sqlite::connections::Writing;
use crate::database::sqlite::numbers::{count, number};
use crate::database::sqlite::records::SqliteRecords;
use crate::database::sqlite::records::names::{ADD_NAME, find_name_in};
use crate::database_error::DatabaseError;
use crate::records::record::RunKind;
use crate::records::server_id::RunHolder;
use crate::records::store::{
    FoundNote, NamedCall, Noted, RequestKey, RunNote, RunNotes, StoredNote,
};
use wardian_vocabulary::ids::{RunId, TenantId};

/// Notes a run if the epoch of its server is not over.
const NOTE: &str = "INSERT INTO detached_runs (tenant, run_id, kind, record, server, epoch) \
     SELECT $1, $2, $3, $4, $5, $6 \
     WHERE EXISTS (SELECT 1 FROM servers WHERE server = $5 AND epoch = $6)";

/// Runs that are noted for an epoch that is over.
const ABANDONED: &str = "SELECT tenant, run_id, record FROM detached_runs AS noted WHERE NOT EXISTS \
     (SELECT 1 FROM servers WHERE server = noted.server AND epoch = noted.epoch) LIMIT $1";

#[async_trait]
impl RunNotes for SqliteRecords {
    async fn note_run(
        &self,
        note: &RunNote,
        key: Option<&RequestKey>,
    ) -> Result<Noted, DatabaseError> {
        // What is dropped before the commit changes nothing.
        let mut transaction = self.begin().await?;
        if let Some(key) = key
            && let Some(call) = add_name(&mut transaction, note, key).await?
        {
            return Ok(Noted::Known(call));
        }
        let noted = sqlx::query(NOTE)
            .bind(note.tenant.to_string())
            .bind(note.run.to_string())
            .bind(note.kind.name())
            .bind(note.record.clone())
            .bind(note.holder.server.to_string())
            .bind(number(note.holder.epoch))
            .execute(&mut *transaction)
            .await?;
        if noted.rows_affected() == 0 {
            return Ok(Noted::EpochOver);
        }
        transaction.commit().await?;
        Ok(Noted::Done)
    }

    async fn forget_run(&self, tenant: &TenantId, run: &RunId) -> Result<(), DatabaseError> {
        let mut transaction = self.begin().await?;
        for statement in [
            "DELETE FROM detached_runs WHERE tenant = $1 AND run_id = $2",
            "DELETE FROM call_names WHERE tenant = $1 AND run_id = $2",
        ] {
            sqlx::query(statement)
                .bind(tenant.as_str().to_owned())
                .bind(run.as_str().to_owned())
                .execute(&mut *transaction)
                .await?;
        }
        Ok(transaction.commit().await?)
    }

    async fn find_note(
        &self,
        tenant: &TenantId,
        kind: Option<RunKind>,
        run: &RunId,
    ) -> Result<Option<FoundNote>, DatabaseError> {
        let mut statement: QueryBuilder<Sqlite> = QueryBuilder::new(
            "SELECT record, server, epoch, EXISTS (SELECT 1 FROM servers \
             WHERE server = noted.server AND epoch = noted.epoch) \
             FROM detached_runs AS noted WHERE tenant = ",
        );
        statement.push_bind(tenant.as_str().to_owned());
        statement.push(" AND run_id = ").push_bind(run.as_str().to_owned());
        if let Some(kind) = kind {
            statement.push(" AND kind = ").push_bind(kind.name());
        }
        let found: Option<(String, String, i64, bool)> =
            statement.build_query_as().fetch_optional(self.file.connections()).await?;
        Ok(found.map(|(record, server, epoch, is_held)| FoundNote {
            record,
            server,
            epoch: count(epoch),
            is_held,
        }))
    }

    async fn count_notes(&self, tenant: &TenantId) -> Result<u64, DatabaseError> {
        let noted = sqlx::query_scalar("SELECT COUNT(*) FROM detached_runs WHERE tenant = $1");
        let noted: i64 =
            noted.bind(tenant.as_str().to_owned()).fetch_one(self.file.connections()).await?;
        Ok(count(noted))
    }

    async fn notes_of(
        &self,
        tenant: &TenantId,
        holder: &RunHolder,
        limit: u64,
    ) -> Result<Vec<String>, DatabaseError> {
        let noted = sqlx::query_scalar(
            "SELECT run_id FROM detached_runs \
             WHERE tenant = $1 AND server = $2 AND epoch = $3 LIMIT $4",
        );
        let noted = noted
            .bind(tenant.as_str().to_owned())
            .bind(holder.server.to_string())
            .bind(number(holder.epoch))
            .bind(number(limit));
        Ok(noted.fetch_all(self.file.connections()).await?)
    }

    async fn abandoned_notes(&self, limit: u64) -> Result<Vec<StoredNote>, DatabaseError> {
        let found: Vec<(String, String, String)> = sqlx::query_as(ABANDONED)
            .bind(number(limit))
            .fetch_all(self.file.connections())
            .await?;
        let note = |(tenant, run_id, record)| StoredNote { tenant, run_id, record };
        Ok(found.into_iter().map(note).collect())
    }

    async fn remove_notes(&self, notes: &[StoredNote]) -> Result<(), DatabaseError> {
        let mut transaction = self.begin().await?;
        for note in notes {
            remove_note(&mut transaction, &note.tenant, &note.run_id).await?;
        }
        Ok(transaction.commit().await?)
    }
}

/// Gives a name to a run. Returns the call that has it already, if one has.
async fn add_name(
    transaction: &mut Writing,
    note: &RunNote,
    key: &RequestKey,
) -> Result<Option<NamedCall>, sqlx::Error> {
    let written = sqlx::query(ADD_NAME)
        .bind(note.tenant.to_string())
        .bind(key.name.clone())
        .bind(Some(note.run.to_string()))
        .bind(key.call.to_string())
        .bind(number(note.started_ms))
        .execute(&mut **transaction)
        .await?;
    if written.rows_affected() > 0 {
        return Ok(None);
    }
    // Within the transaction, so that nobody removes the name before it is read.
    find_name_in(&mut **transaction, &note.tenant, &key.name).await
}

/// Removes the note of a run whose record is written.
pub(super) async fn remove_note(
    transaction: &mut Writing,
    tenant: &str,
    run_id: &str,
) -> Result<(), sqlx::Error> {
    sqlx::query("DELETE FROM detached_runs WHERE tenant = $1 AND run_id = $2")
        .bind(tenant.to_owned())
        .bind(run_id.to_owned())
        .execute(&mut **transaction)
        .await
        .map(drop)
}
