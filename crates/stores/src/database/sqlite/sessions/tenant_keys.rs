//! Keys of tenants' sessions in SQLite.

use async_trait::async_trait;

use crate::database::sqlite::connections::SqliteFile;
use crate::database_error::DatabaseError;
use crate::sessions::tenant_key::{TenantKeyRow, TenantKeyStore};
use wardian_vocabulary::ids::TenantId;

/// The table in the file of keys.
#[derive(Debug, Clone)]
pub(crate) struct SqliteTenantKeys {
    file: SqliteFile,
}

impl SqliteTenantKeys {
    /// The table in this file.
    pub(crate) const fn new(file: SqliteFile) -> Self {
        Self { file }
    }
}

#[async_trait]
impl TenantKeyStore for SqliteTenantKeys {
    async fn find(&self, tenant: &TenantId) -> Result<Option<TenantKeyRow>, DatabaseError> {
        let find = "SELECT tenant_key, checksum FROM session_tenant_keys WHERE tenant = $1";
        let found: Option<(String, String)> = sqlx::query_as(find)
            .bind(tenant.as_str().to_owned())
            .fetch_optional(self.file.connections())
            .await?;
        Ok(found.map(|(key, checksum)| TenantKeyRow { key, checksum }))
    }

    async fn keep(
        &self,
        tenant: &TenantId,
        row: &TenantKeyRow,
    ) -> Result<TenantKeyRow, DatabaseError> {
        sqlx::query(
            "INSERT INTO session_tenant_keys (tenant, tenant_key, checksum) VALUES ($1, $2, $3) \
             ON CONFLICT DO NOTHING",
        )
        .bind(tenant.as_str().to_owned())
        .bind(row.key.clone())
        .bind(row.checksum.clone())
        .execute(self.file.connections())
        .await?;
        self.find(tenant).await?.ok_or_else(|| sqlx::Error::RowNotFound.into())
    }
}
