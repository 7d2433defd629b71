//! The gateway's host of a run. A guest can reach blobs of its own tenant, and nothing else.

use std::collections::HashSet;
use std::sync::Arc;

use tokio::sync::mpsc::UnboundedSender;
use tokio::task::spawn_blocking;
use tracing::error;

use crate::blobs::content::kind::BlobKind;
use crate::blobs::{BlobError, BlobStore};
use crate::dispatch::{CheckedPayload, RunHost};
use crate::error::{CauseChain, ErrorKind};
use crate::ids::{BlobId, TenantId};
use crate::job::message::Refusal;
use crate::job::outcome::LogChunk;

/// The host of one run: it stores blobs for the run's tenant.
#[derive(Debug)]
pub(crate) struct TenantHost {
    blobs: Arc<dyn BlobStore>,
    tenant: TenantId,
    written: Vec<BlobId>,
    seen: HashSet<BlobId>,
    listener: Option<LogListener>,
}

/// Gets what a program prints as it comes.
pub type LogListener = UnboundedSender<LogChunk>;

impl TenantHost {
    pub(crate) fn new(
        blobs: Arc<dyn BlobStore>,
        tenant: TenantId,
        listener: Option<LogListener>,
    ) -> Self {
        Self { blobs, tenant, written: Vec::new(), seen: HashSet::new(), listener }
    }

    /// The blobs that were written, in order, each once.
    pub(crate) fn into_written(self) -> Vec<BlobId> {
        self.written
    }
}

impl RunHost for TenantHost {
    fn hear(&mut self, printed: LogChunk) {
        if let Some(listener) = &self.listener {
            // The listener may have gone away; ignore the error.
            listener.send(printed).ok();
        }
    }

    async fn write_blob(&mut self, kind: &str, content: CheckedPayload) -> Result<BlobId, Refusal> {
        let kind = BlobKind::parse(kind).map_err(|error| refusal("ValueError", &error))?;
        let (blobs, tenant) = (Arc::clone(&self.blobs), self.tenant.clone());
        let mut content = content;
        let stored = spawn_blocking(move || {
            let size = content.size();
            blobs.put_from(&tenant, &kind, size, &mut content)
        });
        let blob = match stored.await {
            Ok(Ok(blob)) => blob,
            Ok(Err(error)) => return Err(not_stored(&error)),
            Err(_) => return Err(unavailable()),
        };
        if self.seen.insert(blob.id.clone()) {
            self.written.push(blob.id.clone());
        }
        Ok(blob.id)
    }
}

/// The reason why a run's blob was not stored, in words for the run.
pub(crate) fn not_stored(error: &BlobError) -> Refusal {
    match error.kind() {
        ErrorKind::QuotaExceeded | ErrorKind::TooLarge => refusal("QuotaExceeded", error),
        ErrorKind::InvalidParams => refusal("ValueError", error),
        _ => {
            error!("a run's blob was not stored: {}", CauseChain(error));
            unavailable()
        }
    }
}

fn refusal(error_type: &str, error: &impl ToString) -> Refusal {
    Refusal { error_type: error_type.to_owned(), message: error.to_string() }
}

fn unavailable() -> Refusal {
    refusal("OSError", &"the blob could not be stored")
}
