//! Keys of tenants, under which the keys of their sessions are kept.

use async_trait::async_trait;

use crate::database::engine::Database;
use crate::database::statement::statement;
use crate::database_error::DatabaseError;
use crate::sessions::tenant_key::{TenantKeyRow, TenantKeyStore};
use wardian_vocabulary::ids::TenantId;

/// The table in the database of keys.
#[derive(Debug, Clone)]
pub(in crate::database) struct SessionTenantKeys {
    database: Database,
}

impl SessionTenantKeys {
    /// The table in this database.
    pub(in crate::database) const fn new(database: Database) -> Self {
        Self { database }
    }
}

#[async_trait]
impl TenantKeyStore for SessionTenantKeys {
    async fn find(&self, tenant: &TenantId) -> Result<Option<TenantKeyRow>, DatabaseError> {
        let find = "SELECT tenant_key, checksum FROM session_tenant_keys WHERE tenant = $1";
        let found = self.database.fetch_optional(statement(find).bind(tenant.as_str())).await?;
        Ok(found.map(|(key, checksum): (String, String)| TenantKeyRow { key, checksum }))
    }

    async fn keep(
        &self,
        tenant: &TenantId,
        row: &TenantKeyRow,
    ) -> Result<TenantKeyRow, DatabaseError> {
        const KEEP: &str = "INSERT INTO session_tenant_keys (tenant, tenant_key, checksum) \
                            VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";
        let keep = statement(KEEP).bind(tenant.as_str()).bind(row.key.as_str());
        self.database.execute(keep.bind(row.checksum.as_str())).await?;
        let missing = || DatabaseError::failed("a key that was written is missing");
        self.find(tenant).await?.ok_or_else(missing)
    }
}
