//! Records in SQLite: one file that implements each trait of `records/store.rs`.

mod names;
mod notes;
mod read;
mod retention;
mod servers;
mod titles;
mod write;

use async_trait::async_trait;

use crate::database::sqlite::connections::{SqliteFile, Writing};
use crate::database_error::DatabaseError;
use crate::records::filter::{RunFilter, WhoseRuns};
use crate::records::record::RunKind;
use crate::records::row::Row;
use crate::records::store::{ListedRow, RecordPart, RecordRows, RecordStore, StoredLog, Window};
use wardian_vocabulary::clock::Clock;
use wardian_vocabulary::ids::{RunId, TenantId};

/// The tables of records in a file.
#[derive(Debug, Clone)]
pub(super) struct SqliteRecords {
    file: SqliteFile,
    /// The clock of leases.
    clock: Clock,
}

impl SqliteRecords {
    /// The tables in this file.
    pub(super) const fn new(file: SqliteFile, clock: Clock) -> Self {
        Self { file, clock }
    }

    /// Begins a transaction that writes.
    async fn begin(&self) -> Result<Writing, sqlx::Error> {
        self.file.begin().await
    }
}

#[async_trait]
impl RecordStore for SqliteRecords {
    async fn close(&self) {
        self.file.close().await;
    }
}

#[async_trait]
impl RecordRows for SqliteRecords {
    async fn insert(&self, rows: &[Row], now_ms: u64) -> Result<(), DatabaseError> {
        Ok(self.insert_all(rows, now_ms).await?)
    }

    async fn list(
        &self,
        whose: &WhoseRuns,
        filter: &RunFilter,
        window: &Window,
        limit: u64,
    ) -> Result<Vec<ListedRow>, DatabaseError> {
        Ok(self.list_window(whose, filter, window, limit).await?)
    }

    async fn run_at(
        &self,
        whose: &WhoseRuns,
        window: &Window,
        place: u64,
    ) -> Result<Option<String>, DatabaseError> {
        Ok(self.run_in_window(whose, window, place).await?)
    }

    async fn next_tenant(&self, after: &str) -> Result<Option<String>, DatabaseError> {
        let next = sqlx::query_scalar("SELECT MIN(tenant) FROM runs WHERE tenant > $1");
        Ok(next.bind(after.to_owned()).fetch_one(self.file.connections()).await?)
    }

    async fn find(
        &self,
        tenant: &TenantId,
        kind: Option<RunKind>,
        run: &RunId,
    ) -> Result<Option<String>, DatabaseError> {
        Ok(self.find_column("record", tenant, kind, run).await?)
    }

    async fn find_log(
        &self,
        tenant: &TenantId,
        kind: Option<RunKind>,
        run: &RunId,
    ) -> Result<Option<StoredLog>, DatabaseError> {
        Ok(self.find_sizes(tenant, kind, run).await?)
    }

    async fn find_result(
        &self,
        tenant: &TenantId,
        run: &RunId,
    ) -> Result<Option<u64>, DatabaseError> {
        Ok(self.find_result_size(tenant, run).await?)
    }

    async fn read(
        &self,
        tenant: &TenantId,
        run: &RunId,
        part: RecordPart,
    ) -> Result<Option<String>, DatabaseError> {
        Ok(self.read_part(tenant, run, part).await?)
    }
}
