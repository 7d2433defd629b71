//! SQLite: the files in the data folder, and all statements on their tables.
//!
//! INVARIANT(committed-is-durable): a change that was committed survives a kill of any process that
//! has the file open. In the database of keys it survives a loss of power too.
//!
//! INVARIANT(newer-schema-is-refused): a file whose schema is newer than this program is refused
//! and not changed.
//!
//! # Why
//!
//! Commands such as `wardian keys revoke` change the file while a server has it open, so the file
//! has no lock of its own: SQLite's write-ahead log lets one process write while others read.

mod connections;
mod error;
mod file;
mod keys;
mod numbers;
mod records;
mod schema;

use std::path::Path;
use std::sync::Arc;

use crate::database::sqlite::connections::SqliteFile;
use crate::database::sqlite::keys::SqliteKeys;
use crate::database::sqlite::records::SqliteRecords;
use crate::database_error::DatabaseError;
use crate::records::RecordTable;
use crate::tenants::KeyTable;
use wardian_vocabulary::clock::Clock;

/// Opens the database of keys at `path`, which is made if it does not exist.
///
/// # Errors
///
/// The file or its folder cannot be used, the file is damaged, or its schema is newer than this
/// program.
pub async fn open_keys(path: &Path) -> Result<KeyTable, DatabaseError> {
    let file = SqliteFile::open(path, &schema::KEYS).await?;
    Ok(KeyTable::new(Arc::new(SqliteKeys::new(file))))
}

/// Opens the database of records at `path`, which is made if it does not exist.
///
/// # Errors
///
/// As [`open_keys`].
pub async fn open_records(path: &Path) -> Result<RecordTable, DatabaseError> {
    let file = SqliteFile::open(path, &schema::RECORDS).await?;
    Ok(RecordTable::new(Arc::new(SqliteRecords::new(file, Clock::System))))
}

#[cfg(test)]
pub(in crate::database) mod testing;
#[cfg(test)]
mod tests;
