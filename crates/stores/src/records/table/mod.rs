//! The tables of records in their database. All statements on them are here.

pub(crate) mod blob_keys;
pub(super) mod detached;
mod names;
pub(super) mod read;
mod retention;
mod titles;
mod write;

use std::path::Path;

use crate::database::{Database, DatabaseError, Durability, Schema};
use wardian_vocabulary::ids::RunId;

pub(super) use crate::records::table::retention::Trimmed;
pub(super) use crate::records::table::write::Row;

/// The database of records. A loss of power can cost the records of its last moments; a kill of the
/// server costs none that was written.
pub(super) const SCHEMA: Schema = Schema {
    scripts: &[
        include_str!("schema/1_runs.sql"),
        include_str!("schema/2_detached.sql"),
        include_str!("schema/3_blob_keys.sql"),
        include_str!("schema/4_documents.sql"),
        include_str!("schema/5_names.sql"),
        include_str!("schema/6_titles.sql"),
    ],
    content: "records of runs",
    durability: Durability::SurvivesKill,
};

/// The tables of records.
#[derive(Debug, Clone)]
pub struct RecordTable {
    database: Database,
}

/// The log of a run, as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredLog {
    /// Bytes of its text.
    pub bytes: u64,
    /// Bytes of its JSON and of the result next to it; `None` if they are not kept any more.
    pub size: Option<u64>,
}

impl RecordTable {
    /// Opens the database at `path`, which is made if it does not exist.
    ///
    /// # Errors
    ///
    /// The file cannot be used, is damaged, or was written by a later version.
    pub async fn open(path: &Path) -> Result<Self, DatabaseError> {
        Ok(Self { database: Database::open_with(path, &SCHEMA).await? })
    }

    /// Closes the database.
    pub async fn close(&self) {
        self.database.close().await;
    }
}

/// The least text that sorts behind the ids of all runs that began at or before this time, in
/// milliseconds since the Unix epoch: an id begins with its time.
fn bound_at(time_ms: u64) -> String {
    format!("run_{:012x}", time_ms.min((1 << 48) - 1))
}

/// Sorts behind all ids.
const BEHIND_ALL: &str = "run_g";

fn number(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

fn count(value: i64) -> u64 {
    u64::try_from(value).unwrap_or(0)
}

fn before(cursor: Option<&RunId>) -> String {
    cursor.map_or(BEHIND_ALL, RunId::as_str).to_owned()
}
