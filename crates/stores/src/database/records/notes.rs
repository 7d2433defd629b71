//! Runs in the background that have no record yet.

use async_trait::async_trait;

use crate::database::numbers::{count, number};
use crate::database::records::StoredRecords;
use crate::database::records::names::add_name;
use crate::database::records::removal::remove_found;
use crate::database::records::write::insert_ended;
use crate::database::statement::{Dialect, Statement, statement};
use crate::database_error::DatabaseError;
use crate::records::named_call::RequestKey;
use crate::records::record::RunKind;
use crate::records::row::Row;
use crate::records::server_id::RunHolder;
use crate::records::store::{FoundNote, Noted, NotesOf, RunNote, RunNotes, StoredNote};
use wardian_vocabulary::ids::{RunId, TenantId};

/// Notes a run if the epoch of its server is not over.
const NOTE: &str = "INSERT INTO detached_runs (tenant, run_id, kind, record, server, epoch) \
     SELECT $1, $2, $3, $4, $5, $6 \
     WHERE EXISTS (SELECT 1 FROM servers WHERE server = $5 AND epoch = $6)";

/// The same, beside others who may end the epoch: they wait for the commit, or this waits for theirs.
const NOTE_BESIDE_OTHERS: &str = "INSERT INTO detached_runs (tenant, run_id, kind, record, server, epoch) \
     SELECT $1, $2, $3, $4, servers.server, servers.epoch FROM servers \
     WHERE server = $5 AND epoch = $6 FOR SHARE";

/// Runs that are noted for an epoch that is over.
const ABANDONED: &str = "SELECT tenant, run_id, record, server, epoch FROM detached_runs AS noted WHERE NOT EXISTS \
     (SELECT 1 FROM servers WHERE server = noted.server AND epoch = noted.epoch) LIMIT $1";

#[async_trait]
impl RunNotes for StoredRecords {
    async fn note_run(
        &self,
        note: &RunNote,
        key: Option<&RequestKey>,
    ) -> Result<Noted, DatabaseError> {
        // What is dropped before the commit changes nothing.
        let mut transaction = self.begin().await?;
        if let Some(key) = key {
            let call = (&note.tenant, Some(&note.run));
            if let Some(call) = add_name(&mut transaction, call, key, note.started_ms).await? {
                return Ok(Noted::Known(call));
            }
        }
        let noted = statement(match transaction.dialect() {
            Dialect::Sqlite => NOTE,
            Dialect::Postgres => NOTE_BESIDE_OTHERS,
        });
        let noted = noted
            .bind(note.tenant.as_str())
            .bind(note.run.as_str())
            .bind(note.kind.name())
            .bind(note.record.as_str())
            .bind(note.holder.server.to_string())
            .bind(number(note.holder.epoch));
        if transaction.execute(noted).await? == 0 {
            return Ok(Noted::EpochOver);
        }
        transaction.commit().await?;
        Ok(Noted::Done)
    }

    async fn forget_run(&self, tenant: &TenantId, run: &RunId) -> Result<(), DatabaseError> {
        let mut transaction = self.begin().await?;
        for text in [
            "DELETE FROM detached_runs WHERE tenant = $1 AND run_id = $2",
            "DELETE FROM call_names WHERE tenant = $1 AND run_id = $2",
        ] {
            let forget = statement(text).bind(tenant.as_str()).bind(run.as_str());
            transaction.execute(forget).await?;
        }
        transaction.commit().await
    }

    async fn find_note(
        &self,
        tenant: &TenantId,
        kind: Option<RunKind>,
        run: &RunId,
    ) -> Result<Option<FoundNote>, DatabaseError> {
        let mut find = Statement::building(
            self.database.dialect(),
            "SELECT record, server, epoch, EXISTS (SELECT 1 FROM servers \
             WHERE server = noted.server AND epoch = noted.epoch) \
             FROM detached_runs AS noted WHERE tenant = ",
        );
        find.push_value(tenant.as_str()).push(" AND run_id = ").push_value(run.as_str());
        if let Some(kind) = kind {
            find.push(" AND kind = ").push_value(kind.name());
        }
        let found: Option<(String, String, i64, bool)> = self.database.fetch_optional(find).await?;
        Ok(found.map(|(record, server, epoch, is_held)| FoundNote {
            record,
            server,
            epoch: count(epoch),
            is_held,
        }))
    }

    async fn count_notes(&self, tenant: &TenantId) -> Result<u64, DatabaseError> {
        let noted = statement("SELECT COUNT(*) FROM detached_runs WHERE tenant = $1");
        let (noted,): (i64,) = self.database.fetch_one(noted.bind(tenant.as_str())).await?;
        Ok(count(noted))
    }

    async fn notes_of(
        &self,
        tenant: &TenantId,
        holder: &RunHolder,
        limit: u64,
    ) -> Result<Vec<String>, DatabaseError> {
        const NOTED: &str = "SELECT run_id FROM detached_runs \
                             WHERE tenant = $1 AND server = $2 AND epoch = $3 LIMIT $4";
        let noted = statement(NOTED)
            .bind(tenant.as_str())
            .bind(holder.server.to_string())
            .bind(number(holder.epoch))
            .bind(number(limit));
        let noted: Vec<(String,)> = self.database.fetch_all(noted).await?;
        Ok(noted.into_iter().map(|(run,)| run).collect())
    }

    async fn abandoned_notes(&self, limit: u64) -> Result<Vec<StoredNote>, DatabaseError> {
        let abandoned = statement(ABANDONED).bind(number(limit));
        let found: Vec<(String, String, String, String, i64)> =
            self.database.fetch_all(abandoned).await?;
        let note = |(tenant, run_id, record, server, epoch)| {
            let epoch = count(epoch);
            StoredNote { tenant, run_id, record, server, epoch }
        };
        Ok(found.into_iter().map(note).collect())
    }

    async fn end_notes(
        &self,
        ends: &[(StoredNote, Option<Row>)],
        of: NotesOf,
        now_ms: u64,
    ) -> Result<u64, DatabaseError> {
        let mut transaction = self.begin().await?;
        let mut rows = Vec::with_capacity(ends.len());
        for (note, row) in ends {
            if remove_found(&mut transaction, note, of).await? {
                rows.extend(row);
            }
        }
        insert_ended(&mut transaction, &rows, now_ms).await?;
        transaction.commit().await?;
        Ok(u64::try_from(rows.len()).unwrap_or(u64::MAX))
    }
}
