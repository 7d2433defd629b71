//! Keys of tenants' blob ids.

use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::blobs::id_key_table::{IdKeyRow, IdKeyStore};
use crate::database::engine::{Database, DatabasePlace};
use crate::database::schema;
use crate::database::statement::statement;
use crate::database_error::DatabaseError;
use wardian_vocabulary::ids::TenantId;

/// The calls that have the database open at the same time. After a start many tenants can ask at once.
const AT_ONCE: usize = 4;

/// The table in the database of keys at a place, which is opened for each call.
///
/// A store of blobs asks once for each tenant, on a runtime that ends with the call. A connection of the server
/// that was used there would not come back to its pool, because its way back ends with the runtime too.
#[derive(Debug, Clone)]
pub(in crate::database) struct BlobIdKeys {
    place: DatabasePlace,
    turns: Arc<Semaphore>,
}

impl BlobIdKeys {
    /// The table at this place.
    pub(in crate::database) fn at(place: DatabasePlace) -> Self {
        Self { place, turns: Arc::new(Semaphore::new(AT_ONCE)) }
    }

    /// Opens the database, when it is the turn of this call.
    async fn open(&self) -> Result<(Database, SemaphorePermit<'_>), DatabaseError> {
        let turn = self.turns.acquire().await.map_err(DatabaseError::failed)?;
        Ok((Database::open(&self.place, &schema::KEYS).await?, turn))
    }
}

#[async_trait]
impl IdKeyStore for BlobIdKeys {
    async fn find(&self, tenant: &TenantId) -> Result<Option<IdKeyRow>, DatabaseError> {
        let (database, _turn) = self.open().await?;
        let found = find_in(&database, tenant).await;
        database.close().await;
        found
    }

    async fn keep(&self, tenant: &TenantId, row: &IdKeyRow) -> Result<IdKeyRow, DatabaseError> {
        let (database, _turn) = self.open().await?;
        let kept = keep_in(&database, tenant, row).await;
        database.close().await;
        kept
    }
}

async fn find_in(
    database: &Database,
    tenant: &TenantId,
) -> Result<Option<IdKeyRow>, DatabaseError> {
    let find = statement("SELECT id_key, checksum FROM blob_id_keys WHERE tenant = $1");
    let found = database.fetch_optional(find.bind(tenant.as_str())).await?;
    Ok(found.map(|(id_key, checksum): (String, String)| IdKeyRow { id_key, checksum }))
}

async fn keep_in(
    database: &Database,
    tenant: &TenantId,
    row: &IdKeyRow,
) -> Result<IdKeyRow, DatabaseError> {
    const KEEP: &str = "INSERT INTO blob_id_keys (tenant, id_key, checksum) VALUES ($1, $2, $3) \
                        ON CONFLICT DO NOTHING";
    let keep = statement(KEEP).bind(tenant.as_str()).bind(row.id_key.as_str());
    database.execute(keep.bind(row.checksum.as_str())).await?;
    let missing = || DatabaseError::failed("a key that was written is missing");
    find_in(database, tenant).await?.ok_or_else(missing)
}
