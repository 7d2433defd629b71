//! The key of a session, found while its cell runs.

use std::sync::Arc;

use crate::error::SessionsError;
use crate::keys::{PackKey, TenantKey};
use crate::sessions::Inner;
use wardian_stores::blobs::local::disk::Disk;
use wardian_vocabulary::ids::{SessionId, TenantId};

/// The key that a session seals its packs with; `None` if it is damaged.
pub(super) async fn own_key<D: Disk>(
    inner: Arc<Inner<D>>,
    tenant: TenantId,
    session: SessionId,
) -> Result<Option<PackKey>, SessionsError> {
    let wrapped = inner.store.keys(&session).await?;
    let Some(wrapped) = wrapped.iter().find(|key| key.origin == session) else {
        // Closing a session deletes its key first.
        return Err(SessionsError::NotFound { session });
    };
    let tenant_key = TenantKey::find(&inner.keys, &tenant).await?;
    Ok(tenant_key.and_then(|tenant_key| tenant_key.unwrap(&session, wrapped)))
}
