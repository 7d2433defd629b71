//! `create_blob`: stores content and returns its id.

use std::sync::Arc;

use crate::blobs::content::kind::{BlobKind, Nature};
use crate::protocol::methods::blobs::{CreateBlobParams, CreateBlobResult, Encoding};
use crate::service::caller::Caller;
use crate::service::error::ServiceError;
use crate::service::parts::Service;

impl Service {
    /// Stores content for the caller's tenant and returns its id.
    ///
    /// # Errors
    ///
    /// A malformed kind or base64, ambiguous content without an `encoding`, an exceeded size limit
    /// or quota, or a failed disk.
    pub async fn create_blob(
        &self,
        caller: &Caller,
        params: CreateBlobParams,
    ) -> Result<CreateBlobResult, ServiceError> {
        let kind = BlobKind::parse(&params.kind)?;
        let usual = match kind.nature() {
            Nature::Text => Some(Encoding::Utf8),
            Nature::Binary => Some(Encoding::Base64),
            Nature::Unknown => None,
        };
        let (blobs, tenant) = (Arc::clone(&self.blobs), caller.tenant.clone());
        let stored = caller.memory.on_thread(move || -> Result<_, ServiceError> {
            let content = params.into_bytes(usual)?;
            Ok(blobs.put(&tenant, &kind, &content)?)
        });
        let blob = stored.await.map_err(ServiceError::Interrupted)??;
        Ok(CreateBlobResult { blob_id: blob.id, size_bytes: blob.size.as_u64() })
    }
}
