//! Keys of tenants' blob ids.

use async_trait::async_trait;

use crate::blobs::id_key_table::{IdKeyRow, IdKeyStore};
use crate::database::engine::{Database, DatabasePlace};
use crate::database::schema;
use crate::database::statement::statement;
use crate::database_error::DatabaseError;
use wardian_vocabulary::ids::TenantId;

/// The table in the database of keys.
#[derive(Debug, Clone)]
pub(in crate::database) enum BlobIdKeys {
    /// In an open database.
    Open(Database),
    /// In a database that is opened for each call.
    At(DatabasePlace),
}

impl BlobIdKeys {
    async fn open(&self) -> Result<Database, DatabaseError> {
        match self {
            Self::Open(database) => Ok(database.clone()),
            Self::At(place) => Database::open(place, &schema::KEYS).await,
        }
    }

    async fn release(&self, database: Database) {
        if matches!(self, Self::At(_)) {
            database.close().await;
        }
    }
}

#[async_trait]
impl IdKeyStore for BlobIdKeys {
    async fn find(&self, tenant: &TenantId) -> Result<Option<IdKeyRow>, DatabaseError> {
        let database = self.open().await?;
        let found = find_in(&database, tenant).await;
        self.release(database).await;
        found
    }

    async fn keep(&self, tenant: &TenantId, row: &IdKeyRow) -> Result<IdKeyRow, DatabaseError> {
        let database = self.open().await?;
        let kept = keep_in(&database, tenant, row).await;
        self.release(database).await;
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
