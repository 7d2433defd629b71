//! `create_blob`: stores content and returns its id.

use std::sync::Arc;

use crate::blobs::content::kind::{BlobKind, Nature};
use crate::clock::Clock;
use crate::ids::Digest;
use crate::protocol::methods::blobs::{CreateBlobParams, CreateBlobResult, Encoding};
use crate::records::{KnownKey, RequestKey};
use crate::service::caller::Caller;
use crate::service::error::ServiceError;
use crate::service::run::detach::needs_records;
use crate::service::start::Discovery;

impl Discovery {
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
        let (key, params) = self.key_of_blob(caller, params).await?;
        let (blobs, tenant) = (Arc::clone(&self.blobs), caller.tenant.clone());
        let stored = caller.memory.on_thread(move || -> Result<_, ServiceError> {
            let content = params.into_bytes(usual)?;
            Ok(blobs.put(&tenant, &kind, &content)?)
        });
        let blob = stored.await.map_err(ServiceError::Interrupted)??;
        if let Some(key) = key {
            let now = u64::try_from(Clock::System.now().as_millis()).unwrap_or(u64::MAX);
            let _turn = self.runs.turn_to_note().await;
            if !self.runs.table()?.note_blob_key(&caller.tenant, &key, now).await? {
                return Err(ServiceError::KeyOfOtherCall);
            }
        }
        Ok(CreateBlobResult { blob_id: blob.id, size_bytes: blob.size.as_u64() })
    }

    /// The key of a call, with a digest of the call. The name of another call is refused here, before
    /// anything is stored.
    async fn key_of_blob(
        &self,
        caller: &Caller,
        mut params: CreateBlobParams,
    ) -> Result<(Option<RequestKey>, CreateBlobParams), ServiceError> {
        let Some(name) = params.idempotency_key.take() else { return Ok((None, params)) };
        let table = self.runs.table().map_err(|_none| needs_records("idempotency_key"))?;
        let hashed = caller.memory.on_thread(move || (digest_of(&params), params));
        let (call, params) = hashed.await.map_err(ServiceError::Interrupted)?;
        let key = RequestKey { name, call };
        match table.find_key(&caller.tenant, &key).await? {
            None | Some(KnownKey::SameBlob) => Ok((Some(key), params)),
            Some(KnownKey::Run(_) | KnownKey::OtherCall) => Err(ServiceError::KeyOfOtherCall),
        }
    }
}

/// A digest of a call.
fn digest_of(params: &CreateBlobParams) -> Digest {
    let CreateBlobParams { content, kind, encoding, .. } = params;
    let content = Digest::of(content.as_bytes());
    Digest::of(format!("create_blob {encoding:?} {} {kind} {content}", kind.len()).as_bytes())
}
