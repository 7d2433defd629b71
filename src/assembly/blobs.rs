//! Opens the blobs, and removes those that have expired.

use std::sync::Arc;
use std::time::Duration;

use tracing::{info, warn};

use crate::assembly::error::AssemblyError;
use crate::blobs::{BlobStore, LocalBlobStore};
use crate::clock::Clock;
use crate::config::Config;
use crate::error::CauseChain;

/// The interval of removing expired blobs.
const SWEEP: Duration = Duration::from_secs(600);

/// Opens the blob store, which belongs to one process at a time.
///
/// # Errors
///
/// Another process uses it, or the folder cannot be used.
pub fn open_blobs(config: &Config) -> Result<LocalBlobStore, AssemblyError> {
    let settings = crate::blobs::BlobStoreConfig {
        blob_max: config.blobs.max_size,
        tenant_bytes: config.blobs.quota,
        ttl: config.blobs.ttl,
        ..crate::blobs::BlobStoreConfig::at(config.blobs.folder.clone())
    };
    Ok(LocalBlobStore::open(settings, Clock::System)?)
}

/// Counts the blobs before the first write, then removes expired ones at intervals.
pub(super) async fn sweep(blobs: Arc<dyn BlobStore>) {
    let counted = Arc::clone(&blobs);
    let counted = tokio::task::spawn_blocking(move || counted.count_all()).await;
    if let Ok(Err(error)) = counted {
        warn!("blobs could not be counted: {}", CauseChain(&error));
    }
    let mut clock = tokio::time::interval(SWEEP);
    loop {
        clock.tick().await;
        let blobs = Arc::clone(&blobs);
        let swept = tokio::task::spawn_blocking(move || blobs.sweep(Clock::System.now())).await;
        match swept {
            Ok(Ok(report)) if report.expired > 0 => {
                info!(expired = report.expired, "removed {} expired blobs", report.expired);
            }
            Ok(Ok(_)) | Err(_) => {}
            Ok(Err(error)) => warn!("blobs could not be swept: {}", CauseChain(&error)),
        }
    }
}
