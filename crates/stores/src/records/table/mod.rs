//! The tables of records, in whatever database they are.
//!
//! INVARIANT(own-records-only): whoever reads names a tenant, so another tenant's run looks like one
//! that does not exist. The one exception is the list of an operator
//! ([`WhoseRuns::Operator`](crate::records::WhoseRuns::Operator)), which has nothing that a program or
//! its caller wrote.

pub(super) mod detached;
pub(super) mod idempotency_keys;
pub(crate) mod read;
mod retention;

use std::sync::Arc;

use crate::database_error::DatabaseError;
use crate::records::row::Row;
use crate::records::store::RecordStore;
use crate::records::waiting::{FleetServer, TenantQueue};
use wardian_vocabulary::ids::RunId;

pub(crate) use crate::records::table::retention::Trimmed;

/// The tables of records. Clones share one database.
#[derive(Debug, Clone)]
pub struct RecordTable {
    store: Arc<dyn RecordStore>,
}

impl RecordTable {
    /// The tables in this database.
    pub(crate) fn new(store: Arc<dyn RecordStore>) -> Self {
        Self { store }
    }

    /// The database, for what belongs to one server.
    pub(super) fn store(&self) -> &dyn RecordStore {
        &*self.store
    }

    /// Writes all of these records or none. Records that exist already stay as they are, so a batch can
    /// be written again after an error that may have come too late. The names of their runs are kept
    /// from `now_ms` on, in milliseconds since the Unix epoch.
    ///
    /// The record of a run that a server holds is written only if the server still does. Returns the number of those
    /// that came too late, and were left out.
    pub(crate) async fn insert(&self, rows: &[Row], now_ms: u64) -> Result<u64, DatabaseError> {
        self.store.insert(rows, now_ms).await
    }

    /// The servers on this database, by their ids, at most `most`.
    ///
    /// # Errors
    ///
    /// The database failed.
    pub async fn fleet_servers(&self, most: u64) -> Result<Vec<FleetServer>, DatabaseError> {
        self.store.servers(most).await
    }

    /// The tenants with runs in the background that have no record yet, at most `most`.
    ///
    /// # Errors
    ///
    /// The database failed.
    pub async fn fleet_queues(&self, most: u64) -> Result<Vec<TenantQueue>, DatabaseError> {
        self.store.queues(most).await
    }

    /// Closes the database.
    pub async fn close(&self) {
        self.store.close().await;
    }
}

/// The least text that sorts behind the ids of all runs that began at or before this time, in
/// milliseconds since the Unix epoch: an id begins with its time.
fn bound_at(time_ms: u64) -> String {
    format!("run_{:012x}", time_ms.min((1 << 48) - 1))
}

/// Sorts behind all ids.
const BEHIND_ALL: &str = "run_g";

fn before(cursor: Option<&RunId>) -> String {
    cursor.map_or(BEHIND_ALL, RunId::as_str).to_owned()
}
