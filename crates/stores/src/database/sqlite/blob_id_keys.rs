//! Keys of tenants' blob ids in SQLite.

use std::path::PathBuf;

use async_trait::async_trait;

use crate::blobs::id_key_table::{IdKeyRow, IdKeyStore};
use crate::database::sqlite::connections::SqliteFile;
use crate::database::sqlite::schema;
use crate::database_error::DatabaseError;
use wardian_vocabulary::ids::TenantId;

/// The table in the file of keys.
#[derive(Debug, Clone)]
pub(super) enum SqliteIdKeys {
    /// In an open file.
    Open(SqliteFile),
    /// In a file that is opened for each call.
    File(PathBuf),
}

impl SqliteIdKeys {
    async fn open(&self) -> Result<SqliteFile, DatabaseError> {
        match self {
            Self::Open(file) => Ok(file.clone()),
            Self::File(path) => SqliteFile::open(path, &schema::KEYS).await,
        }
    }

    async fn release(&self, file: SqliteFile) {
        if matches!(self, Self::File(_)) {
            file.close().await;
        }
    }
}

#[async_trait]
impl IdKeyStore for SqliteIdKeys {
    async fn find(&self, tenant: &TenantId) -> Result<Option<IdKeyRow>, DatabaseError> {
        let file = self.open().await?;
        let found = find_in(&file, tenant).await;
        self.release(file).await;
        Ok(found?)
    }

    async fn keep(&self, tenant: &TenantId, row: &IdKeyRow) -> Result<IdKeyRow, DatabaseError> {
        let file = self.open().await?;
        let kept = keep_in(&file, tenant, row).await;
        self.release(file).await;
        Ok(kept?)
    }
}

async fn find_in(file: &SqliteFile, tenant: &TenantId) -> Result<Option<IdKeyRow>, sqlx::Error> {
    let found: Option<(String, String)> =
        sqlx::query_as("SELECT id_key, checksum FROM blob_id_keys WHERE tenant = $1")
            .bind(tenant.as_str().to_owned())
            .fetch_optional(file.connections())
            .await?;
    Ok(found.map(|(id_key, checksum)| IdKeyRow { id_key, checksum }))
}

async fn keep_in(
    file: &SqliteFile,
    tenant: &TenantId,
    row: &IdKeyRow,
) -> Result<IdKeyRow, sqlx::Error> {
    sqlx::query(
        "INSERT INTO blob_id_keys (tenant, id_key, checksum) VALUES ($1, $2, $3) \
         ON CONFLICT DO NOTHING",
    )
    .bind(tenant.as_str().to_owned())
    .bind(row.id_key.clone())
    .bind(row.checksum.clone())
    .execute(file.connections())
    .await?;
    find_in(file, tenant).await?.ok_or(sqlx::Error::RowNotFound)
}
