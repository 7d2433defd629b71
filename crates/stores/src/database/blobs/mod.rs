//! The table of blobs whose content is in an object store.

mod blob_rows;

use std::sync::Arc;

use crate::blobs::remote::rows::BlobRowStore;
use crate::blobs::{BlobObjects, BlobStoreConfig, LocalBlobs, RemoteBlobs};
use crate::database::blobs::blob_rows::BlobRows;
use crate::database::engine::{Database, DatabasePlace};
use crate::database::schema;
use crate::database_error::DatabaseError;
use wardian_vocabulary::clock::Clock;

/// Opens the store of the blobs below a prefix of an object store.
///
/// Its table is at this place. The copies must have no limits of their own: the limits are those of `config`, whose
/// folder is not used.
///
/// # Errors
///
/// As [`crate::database::open_key_database`].
pub async fn open_remote_blobs(
    place: impl Into<DatabasePlace>,
    objects: (Arc<dyn BlobObjects>, &str),
    copies: LocalBlobs,
    (config, clock): (BlobStoreConfig, Clock),
) -> Result<RemoteBlobs, DatabaseError> {
    let rows = open_blob_rows(place).await?;
    Ok(RemoteBlobs::new(objects, rows, copies, (config, clock)))
}

/// Opens the database of blobs at this place. A file is made if it does not exist.
pub(crate) async fn open_blob_rows(
    place: impl Into<DatabasePlace>,
) -> Result<Arc<dyn BlobRowStore>, DatabaseError> {
    let database = Database::open(&place.into(), &schema::BLOBS).await?;
    Ok(Arc::new(BlobRows::new(database)))
}
