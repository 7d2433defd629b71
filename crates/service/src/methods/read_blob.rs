//! `read_blob`: returns a bounded part of a blob's content.

use std::sync::Arc;

use crate::caller::Caller;
use crate::error::ServiceError;
use crate::start::Discovery;
use wardian_formats::protocol::methods::blobs::{
    Encoding, ReadBlobParams, ReadBlobResult, SampleMode,
};
use wardian_stores::blobs::BlobPart;
use wardian_stores::blobs::content::preview::{Preview, TextEncoding};
use wardian_vocabulary::ids::BlobId;
use wardian_vocabulary::units::ByteCount;

impl Discovery {
    /// Returns the beginning, the end or all of a blob, up to the limit of the call.
    ///
    /// # Errors
    ///
    /// The caller's tenant has no such blob.
    pub async fn read_blob(
        &self,
        caller: &Caller,
        params: ReadBlobParams,
    ) -> Result<ReadBlobResult, ServiceError> {
        let Ok(id) = BlobId::parse(&params.blob_id) else {
            return Err(ServiceError::NoSuchBlob { id: params.blob_id });
        };
        let part = match params.mode {
            SampleMode::SampleHead | SampleMode::Full => BlobPart::Head,
            SampleMode::SampleTail => BlobPart::Tail,
        };
        let limit = params.limit();
        // The bytes, and the text or base64 that they become.
        caller.memory.reserve(ByteCount::bytes(limit.as_u64().saturating_mul(5) / 2))?;
        let (blobs, tenant) = (Arc::clone(&self.blobs.store), caller.tenant.clone());
        let reading = async move { blobs.read(&tenant, &id, part, limit).await };
        let read = caller.memory.on_task(reading).await;
        let window = read.map_err(ServiceError::Interrupted)??;
        let Preview { content, encoding, is_truncated } = Preview::of(&window);
        Ok(ReadBlobResult {
            content,
            truncated: is_truncated,
            name: window.blob.name.clone(),
            kind: window.blob.kind.as_str().to_owned(),
            size_bytes: window.blob.size.as_u64(),
            encoding: match encoding {
                TextEncoding::Utf8 => Encoding::Utf8,
                TextEncoding::Base64 => Encoding::Base64,
            },
        })
    }
}
