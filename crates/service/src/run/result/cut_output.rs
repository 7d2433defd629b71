//! Outputs that are too large for a result: they become blobs, and results show their beginning.

use std::sync::Arc;

use serde_json::value::RawValue;
use tokio::sync::OwnedSemaphorePermit;

use crate::caller::Caller;
use crate::error::ServiceError;
use crate::run::execute::host::not_stored;
use crate::run::result::output::head;
use wardian_formats::job::message::Refusal;
use wardian_formats::protocol::methods::execution::{RunError, TruncatedOutput};
use wardian_stores::blobs::BlobStore;
use wardian_stores::blobs::content::kind::BlobKind;
use wardian_vocabulary::ids::BlobId;

/// Bytes of a large output that its result shows.
const OUTPUT_PREVIEW: usize = 512;

/// A large output in its blob.
pub(super) struct CutOutput {
    /// The JSON that a result has in place of the output.
    pub(super) stand_in: Box<RawValue>,
    /// The blob of the whole output.
    pub(super) blob: BlobId,
}

/// Stores an output as a blob. `permit` reserves its memory and is held until it is stored. The inner
/// error is that of the run: it fails if its output cannot be stored.
pub(super) async fn cut_output(
    blobs: &Arc<dyn BlobStore>,
    caller: &Caller,
    value: Box<RawValue>,
    permit: Option<OwnedSemaphorePermit>,
) -> Result<Result<CutOutput, RunError>, ServiceError> {
    let preview = head(value.get(), OUTPUT_PREVIEW).to_owned();
    let (blobs, tenant) = (Arc::clone(blobs), caller.tenant.clone());
    let kind = BlobKind::parse("application/json")?;
    let store = async move {
        let content = String::from(Box::<str>::from(value)).into_bytes();
        let stored = blobs.put(&tenant, &kind, content).await;
        drop(permit);
        stored
    };
    let stored = caller.memory.on_task(store).await;
    let blob = match stored.map_err(ServiceError::Interrupted)? {
        Ok(blob) => blob,
        Err(error) => {
            let Refusal { error_type, message } = not_stored(&error);
            let message = format!("the output could not be stored: {message}");
            return Ok(Err(RunError { error_type, message, traceback: None }));
        }
    };
    let (id, size_bytes) = (blob.id.clone(), blob.size.as_u64());
    let stand_in = TruncatedOutput { truncated: true, blob_id: id, size_bytes, preview };
    let stand_in = serde_json::value::to_raw_value(&stand_in);
    let stand_in = stand_in.map_err(ServiceError::Unserialisable)?;
    Ok(Ok(CutOutput { stand_in, blob: blob.id }))
}
