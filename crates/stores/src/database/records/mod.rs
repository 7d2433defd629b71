//! The statements on records: one file that implements each trait of `records/store.rs`.

mod names;
mod notes;
mod overview;
mod read;
mod removal;
mod retention;
mod servers;
mod titles;
mod waiting;
mod write;

use std::sync::Arc;

use async_trait::async_trait;

use crate::database::engine::{Database, DatabasePlace, LeaseClock, Writing};
use crate::database::schema;
use crate::database::statement::statement;
use crate::database_error::DatabaseError;
use crate::records::RecordTable;
use crate::records::filter::{RunFilter, WhoseRuns};
use crate::records::record::RunKind;
use crate::records::row::Row;
use crate::records::store::{ListedRow, RecordPart, RecordRows, RecordStore, StoredLog, Window};
use wardian_vocabulary::ids::{RunId, TenantId};

/// Opens the database of records at this place. A file is made if it does not exist.
///
/// # Errors
///
/// As [`crate::database::open_key_database`].
pub async fn open_records(place: impl Into<DatabasePlace>) -> Result<RecordTable, DatabaseError> {
    let database = Database::open(&place.into(), &schema::RECORDS).await?;
    let clock = LeaseClock::of(&database);
    Ok(RecordTable::new(Arc::new(StoredRecords::new(database, clock))))
}

/// The tables of records in a database.
#[derive(Debug, Clone)]
pub(in crate::database) struct StoredRecords {
    database: Database,
    /// The clock of leases.
    clock: LeaseClock,
}

impl StoredRecords {
    /// The tables in this database.
    pub(in crate::database) const fn new(database: Database, clock: LeaseClock) -> Self {
        Self { database, clock }
    }

    /// Begins a transaction that writes.
    async fn begin(&self) -> Result<Writing, DatabaseError> {
        self.database.begin().await
    }
}

#[async_trait]
impl RecordStore for StoredRecords {
    async fn close(&self) {
        self.database.close().await;
    }
}

#[async_trait]
impl RecordRows for StoredRecords {
    async fn insert(&self, rows: &[Row], now_ms: u64) -> Result<u64, DatabaseError> {
        self.insert_all(rows, now_ms).await
    }

    async fn list(
        &self,
        whose: &WhoseRuns,
        filter: &RunFilter,
        window: &Window,
        limit: u64,
    ) -> Result<Vec<ListedRow>, DatabaseError> {
        self.list_window(whose, filter, window, limit).await
    }

    async fn run_at(
        &self,
        whose: &WhoseRuns,
        window: &Window,
        place: u64,
    ) -> Result<Option<String>, DatabaseError> {
        self.run_in_window(whose, window, place).await
    }

    async fn next_tenant(&self, after: &str) -> Result<Option<String>, DatabaseError> {
        let next = statement("SELECT MIN(tenant) FROM runs WHERE tenant > $1").bind(after);
        Ok(self.database.fetch_one::<(Option<String>,)>(next).await?.0)
    }

    async fn find(
        &self,
        tenant: &TenantId,
        kind: Option<RunKind>,
        run: &RunId,
    ) -> Result<Option<String>, DatabaseError> {
        self.find_record(tenant, kind, run).await
    }

    async fn find_log(
        &self,
        tenant: &TenantId,
        kind: Option<RunKind>,
        run: &RunId,
    ) -> Result<Option<StoredLog>, DatabaseError> {
        self.find_sizes(tenant, kind, run).await
    }

    async fn find_result(
        &self,
        tenant: &TenantId,
        run: &RunId,
    ) -> Result<Option<u64>, DatabaseError> {
        self.find_result_size(tenant, run).await
    }

    async fn read(
        &self,
        tenant: &TenantId,
        run: &RunId,
        part: RecordPart,
    ) -> Result<Option<String>, DatabaseError> {
        self.read_part(tenant, run, part).await
    }
}
