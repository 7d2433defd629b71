//! Keys of tenants' blob ids.

use async_trait::async_trait;

use crate::blobs::id_key_table::{IdKeyRow, IdKeyStore};
use crate::database::engine::{Database, DatabasePlace};
use crate::database::schema;
use crate::database::statement::statement;
use crate::database_error::DatabaseError;
use wardian_vocabulary::ids::TenantId;

/// The table in the database of keys at a place, which is opened for each call. A store of blobs asks once for
/// each tenant, from a runtime of its own, and what a runtime has connected to, or was about to give back, ends
/// with it: the connections of the server would.
#[derive(Debug, Clone)]
pub(in crate::database) struct BlobIdKeys {
    place: DatabasePlace,
}

impl BlobIdKeys {
    /// The table at this place.
    pub(in crate::database) const fn at(place: DatabasePlace) -> Self {
        Self { place }
    }

    async fn open(&self) -> Result<Database, DatabaseError> {
        Database::open(&self.place, &schema::KEYS).await
    }
}

#[async_trait]
impl IdKeyStore for BlobIdKeys {
    async fn find(&self, tenant: &TenantId) -> Result<Option<IdKeyRow>, DatabaseError> {
        let database = self.open().await?;
        let found = find_in(&database, tenant).await;
        database.close().await;
        found
    }

    async fn keep(&self, tenant: &TenantId, row: &IdKeyRow) -> Result<IdKeyRow, DatabaseError> {
        let database = self.open().await?;
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
