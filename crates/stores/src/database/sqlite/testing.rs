//! What tests of databases need of SQLite beyond its doors.

use std::path::Path;
use std::sync::Arc;

use crate::database::sqlite::connections::SqliteFile;
use crate::database::sqlite::records::SqliteRecords;
use crate::database::sqlite::schema;
use crate::records::store::RecordStore;
use wardian_vocabulary::clock::Clock;

/// Opens the records at `path`, as one more process does. Leases end by this clock.
pub(in crate::database) async fn records_at(path: &Path, clock: Clock) -> Arc<dyn RecordStore> {
    let file = SqliteFile::open(path, &schema::RECORDS).await.unwrap();
    Arc::new(SqliteRecords::new(file, clock))
}

/// Executes a statement in the records at `path`, as another process could.
pub(in crate::database) async fn execute(path: &Path, statement: &'static str) {
    let file = SqliteFile::open(path, &schema::RECORDS).await.unwrap();
    sqlx::query(statement).execute(file.connections()).await.unwrap();
    file.close().await;
}

/// The number that a statement finds in the records at `path`.
pub(in crate::database) async fn number_of(path: &Path, statement: &'static str) -> i64 {
    let file = SqliteFile::open(path, &schema::RECORDS).await.unwrap();
    let found = sqlx::query_scalar(statement).fetch_one(file.connections()).await.unwrap();
    file.close().await;
    found
}

/// Changes a column of all keys of blob ids at `path`, as damage does.
pub(crate) async fn change_blob_id_keys(path: &Path, column: &str, text: &str) {
    let file = SqliteFile::open(path, &schema::KEYS).await.unwrap();
    let statement = match column {
        "id_key" => "UPDATE blob_id_keys SET id_key = $1",
        _ => "UPDATE blob_id_keys SET checksum = $1",
    };
    let changed = sqlx::query(statement).bind(text.to_owned());
    changed.execute(file.connections()).await.unwrap();
    file.close().await;
}
