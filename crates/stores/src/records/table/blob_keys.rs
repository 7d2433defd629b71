//! The names that clients gave to calls that store a blob. What a call stores has the same id each
//! time, so only the call is kept, to tell another call with the same name apart.

use crate::database::DatabaseError;
use crate::records::table::detached::{KnownKey, RequestKey};
use crate::records::table::{RecordTable, number};
use wardian_vocabulary::ids::TenantId;

impl RecordTable {
    /// Notes that a call of this name has stored its blob, at this time in milliseconds since the Unix
    /// epoch. Returns false, and notes nothing, if another call has the name.
    ///
    /// # Errors
    ///
    /// The database failed.
    pub async fn note_blob_key(
        &self,
        tenant: &TenantId,
        key: &RequestKey,
        now_ms: u64,
    ) -> Result<bool, DatabaseError> {
        sqlx::query(
            "INSERT INTO blob_keys (tenant, blob_key, call_digest, created_ms) \
             SELECT $1, $2, $3, $4 WHERE NOT EXISTS \
             (SELECT 1 FROM run_keys WHERE tenant = $1 AND run_key = $2) \
             ON CONFLICT DO NOTHING",
        )
        .bind(tenant.as_str().to_owned())
        .bind(key.name.clone())
        .bind(key.call.to_string())
        .bind(number(now_ms))
        .execute(self.database.connections())
        .await?;
        Ok(self.find_key(tenant, key).await? == Some(KnownKey::SameBlob))
    }
}
