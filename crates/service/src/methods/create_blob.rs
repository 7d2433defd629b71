//! `create_blob`: stores content and returns its id.

use std::sync::Arc;

use crate::caller::Caller;
use crate::error::ServiceError;
use crate::run::background::detach::needs_records;
use crate::start::Discovery;
use wardian_formats::protocol::methods::blobs::{CreateBlobParams, CreateBlobResult, Encoding};
use wardian_formats::protocol::params_error::ParamsError;
use wardian_stores::blobs::StoredBlob;
use wardian_stores::blobs::content::kind::{BlobKind, Nature};
use wardian_stores::records::{KnownKey, RequestKey};
use wardian_vocabulary::clock::Clock;
use wardian_vocabulary::ids::{BlobName, Digest};

impl Discovery {
    /// Stores content for the caller's tenant and returns its id.
    ///
    /// # Errors
    ///
    /// A malformed kind, name or base64, ambiguous content without an `encoding`, an exceeded size limit
    /// or quota, or a failed disk.
    pub async fn create_blob(
        &self,
        caller: &Caller,
        params: CreateBlobParams,
    ) -> Result<CreateBlobResult, ServiceError> {
        let kind = BlobKind::parse(&params.kind)?;
        let name = params.name.as_deref().map(parse_name).transpose()?;
        let usual = match kind.nature() {
            Nature::Text => Some(Encoding::Utf8),
            Nature::Binary => Some(Encoding::Base64),
            Nature::Unknown => None,
        };
        let (key, params) = self.key_of_blob(caller, params).await?;
        let (blobs, tenant) = (Arc::clone(&self.blobs.store), caller.tenant.clone());
        let decoded = caller.memory.on_thread(move || params.into_bytes(usual)).await;
        let content = decoded.map_err(ServiceError::Interrupted)??;
        let stored = caller.memory.on_task(async move {
            let stored = blobs.put(&tenant, &kind, content).await?;
            let Some(name) = name else { return Ok(stored) };
            blobs.set_names(&tenant, &[(stored.id.clone(), name.clone())]).await?;
            Ok::<_, ServiceError>(StoredBlob { name: Some(name), ..stored })
        });
        let blob = stored.await.map_err(ServiceError::Interrupted)??;
        if let Some(key) = key {
            let now = u64::try_from(Clock::System.now().as_millis()).unwrap_or(u64::MAX);
            let _turn = self.runs.turn_to_note().await;
            if !self.runs.table()?.note_blob_key(&caller.tenant, &key, now).await? {
                return Err(ServiceError::KeyOfOtherCall);
            }
        }
        Ok(CreateBlobResult { blob_id: blob.id, size_bytes: blob.size.as_u64(), name: blob.name })
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
    let CreateBlobParams { content, kind, encoding, name, .. } = params;
    let content = Digest::of(content.as_bytes());
    let mut call = format!("create_blob {encoding:?} {} {kind} {content}", kind.len());
    if let Some(name) = name {
        // Calls without a name have the digest that they always had.
        call.push(' ');
        call.push_str(name);
    }
    Digest::of(call.as_bytes())
}

/// Parses the name of a blob in a call.
fn parse_name(text: &str) -> Result<BlobName, ParamsError> {
    BlobName::parse(text).map_err(|_invalid| {
        let expected = "a file name of 1 to 255 bytes, such as `report.xlsx`, without `/`, `\\` \
                        and control characters";
        ParamsError::wrong("name", expected, "something else")
    })
}
