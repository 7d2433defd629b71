//! The tables of keys: those of callers, and those that tenants have without knowing it.

mod blob_ids;
mod callers;
mod session_keys;

use std::sync::Arc;

use crate::blobs::BlobIdKeyTable;
use crate::database::engine::{Database, DatabasePlace};
use crate::database::keys::blob_ids::BlobIdKeys;
use crate::database::keys::callers::CallerKeys;
use crate::database::keys::session_keys::SessionTenantKeys;
use crate::database::schema;
use crate::database_error::DatabaseError;
use crate::sessions::TenantSessionKeys;
use crate::tenants::KeyTable;

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

/// Opens the database of keys at this place. A file is made if it does not exist.
///
/// # Errors
///
/// The database, or the file or its folder, cannot be used, the file is damaged, or its schema is newer than
/// this program.
pub async fn open_key_database(
    place: impl Into<DatabasePlace>,
) -> Result<KeyDatabase, DatabaseError> {
    let place = place.into();
    let database = Database::open(&place, &schema::KEYS).await?;
    let keys = KeyTable::new(Arc::new(CallerKeys::new(database.clone())));
    let blob_ids = blob_id_keys_at(place);
    let sessions = TenantSessionKeys::new(Arc::new(SessionTenantKeys::new(database)));
    Ok(KeyDatabase { keys, blob_ids, sessions })
}

/// Opens the keys of callers at this place: see [`open_key_database`].
///
/// # Errors
///
/// As [`open_key_database`].
pub async fn open_keys(place: impl Into<DatabasePlace>) -> Result<KeyTable, DatabaseError> {
    Ok(open_key_database(place).await?.keys)
}

/// The keys of tenants' blob ids at this place, in a database that is opened when a key is needed, and
/// closed again.
#[must_use]
pub fn blob_id_keys_at(place: impl Into<DatabasePlace>) -> BlobIdKeyTable {
    BlobIdKeyTable::new(Arc::new(BlobIdKeys::at(place.into())))
}
