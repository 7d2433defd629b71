//! What tests of databases need of SQLite beyond its doors.

use std::path::Path;

use crate::database::schema;
use crate::database::sqlite::connections::SqliteFile;

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
