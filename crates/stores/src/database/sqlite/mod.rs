//! SQLite: the files in the data folder, and all statements on their tables.
//!
//! INVARIANT(committed-is-durable): a change that was committed survives a kill of any process that
//! has the file open. In the databases of keys and of sessions it survives a loss of power too; changes of
//! cells may do so up to a second later, as the order of sessions says.
//!
//! INVARIANT(newer-schema-is-refused): a file whose schema is newer than this program is refused
//! and not changed.
//!
//! # Why
//!
//! Commands such as `wardian keys revoke` change the file while a server has it open, so the file
//! has no lock of its own: SQLite's write-ahead log lets one process write while others read.

mod blob_id_keys;
mod connections;
mod error;
mod file;
mod keys;
mod numbers;
mod records;
mod schema;
mod sessions;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::blobs::BlobIdKeyTable;
use crate::database::sqlite::blob_id_keys::SqliteIdKeys;
use crate::database::sqlite::connections::SqliteFile;
use crate::database::sqlite::keys::SqliteKeys;
use crate::database::sqlite::records::SqliteRecords;
use crate::database::sqlite::sessions::SqliteSessions;
use crate::database::sqlite::sessions::tenant_keys::SqliteTenantKeys;
use crate::database_error::DatabaseError;
use crate::records::RecordTable;
use crate::sessions::{SessionStore, SessionSync, TenantSessionKeys};
use crate::tenants::KeyTable;
use wardian_vocabulary::clock::Clock;

/// The tables of the database of keys.
#[derive(Debug, Clone)]
pub struct KeyDatabase {
    /// The keys of callers. Closing them closes the database.
    pub keys: KeyTable,
    /// The keys of tenants' blob ids.
    pub blob_ids: BlobIdKeyTable,
    /// The keys of tenants, under which the keys of their sessions are kept.
    pub sessions: TenantSessionKeys,
}

/// Opens the database of keys at `path`, which is made if it does not exist.
///
/// # Errors
///
/// The file or its folder cannot be used, the file is damaged, or its schema is newer than this
/// program.
pub async fn open_key_database(path: &Path) -> Result<KeyDatabase, DatabaseError> {
    let file = SqliteFile::open(path, &schema::KEYS).await?;
    let keys = KeyTable::new(Arc::new(SqliteKeys::new(file.clone())));
    let blob_ids = BlobIdKeyTable::new(Arc::new(SqliteIdKeys::Open(file.clone())));
    let sessions = TenantSessionKeys::new(Arc::new(SqliteTenantKeys::new(file)));
    Ok(KeyDatabase { keys, blob_ids, sessions })
}

/// Opens the keys of callers at `path`: see [`open_key_database`].
///
/// # Errors
///
/// As [`open_key_database`].
pub async fn open_keys(path: &Path) -> Result<KeyTable, DatabaseError> {
    Ok(open_key_database(path).await?.keys)
}

/// The keys of tenants' blob ids at `path`, in a database that is opened when a key is needed, and
/// closed again: for commands, most of which need none.
#[must_use]
pub fn blob_id_keys_at(path: PathBuf) -> BlobIdKeyTable {
    BlobIdKeyTable::new(Arc::new(SqliteIdKeys::File(path)))
}

/// Opens the database of records at `path`, which is made if it does not exist.
///
/// # Errors
///
/// As [`open_key_database`].
pub async fn open_records(path: &Path) -> Result<RecordTable, DatabaseError> {
    let file = SqliteFile::open(path, &schema::RECORDS).await?;
    Ok(RecordTable::new(Arc::new(SqliteRecords::new(file, Clock::System))))
}

/// Opens the database of sessions at `path`, which is made if it does not exist. Ends of cells survive a
/// loss of power when `sync` says.
///
/// # Errors
///
/// As [`open_key_database`].
pub async fn open_sessions(
    path: &Path,
    sync: SessionSync,
) -> Result<Arc<dyn SessionStore>, DatabaseError> {
    Ok(Arc::new(SqliteSessions::open(path, sync).await?))
}

#[cfg(test)]
pub(in crate::database) mod testing;
#[cfg(test)]
mod tests;
