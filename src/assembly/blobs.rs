//! Opens the blobs, and removes those that have expired.

use std::sync::Arc;
use std::time::Duration;

use tempfile::TempDir;
use tracing::{info, warn};

use crate::assembly::error::AssemblyError;
use crate::assembly::tenants::{keys_place, open_sessions_in};
use wardian_config::Config;
use wardian_service::{Service, SessionObserver};
use wardian_sessions::SessionsConfig;
use wardian_stores::blobs::{BlobIdKeyTable, BlobStoreConfig, LocalBlobStore, LocalBlobs};
use wardian_stores::database::blob_id_keys_at;
use wardian_vocabulary::clock::Clock;
use wardian_vocabulary::error::CauseChain;
use wardian_vocabulary::units::ByteCount;

/// The interval of removing expired blobs.
const SWEEP: Duration = Duration::from_secs(600);

/// Opens the blob store, which belongs to one process at a time. The database with the keys of
/// tenants' ids is opened when one is needed.
///
/// # Errors
///
/// Another process uses it, or the folder cannot be used.
pub fn open_blobs(config: &Config) -> Result<LocalBlobStore, AssemblyError> {
    open_blobs_with(config, blob_id_keys_at(keys_place(config)))
}

/// As [`open_blobs`], with the keys of tenants' ids.
pub(super) fn open_blobs_with(
    config: &Config,
    id_keys: BlobIdKeyTable,
) -> Result<LocalBlobStore, AssemblyError> {
    let store = LocalBlobStore::open(settings(config), Clock::System)?;
    Ok(store.with_id_keys(Arc::new(id_keys)))
}

/// Opens the blob store while a server uses it, for reading only.
#[must_use]
pub fn open_blobs_beside(config: &Config) -> LocalBlobStore {
    let id_keys = Arc::new(blob_id_keys_at(keys_place(config)));
    LocalBlobStore::open_beside(settings(config), Clock::System).with_id_keys(id_keys)
}

/// A service whose runs have their own blobs, in a folder that is removed with it.
#[derive(Debug)]
pub struct OwnBlobs {
    /// The service.
    pub service: Arc<Service>,
    /// Its blobs.
    pub blobs: Arc<LocalBlobStore>,
    sessions: SessionsConfig,
    folder: TempDir,
}

impl OwnBlobs {
    /// Lets the service have sessions, in the same folder.
    ///
    /// # Errors
    ///
    /// Their database cannot be made.
    pub async fn open_sessions(&self) -> Result<(), AssemblyError> {
        let sessions = open_sessions_in(self.sessions.clone(), self.folder.path()).await?;
        self.service.discovery().sessions().open(sessions, SessionObserver::default());
        Ok(())
    }
}

/// Makes a service like `service` whose runs have their own blobs.
pub(super) fn own_blobs(
    service: &Service,
    (settings, sessions): (&BlobStoreConfig, &SessionsConfig),
    room: ByteCount,
) -> Result<OwnBlobs, AssemblyError> {
    let failed = |cause| AssemblyError::System { what: "create a temporary folder", cause };
    let folder = TempDir::new().map_err(failed)?;
    let root = folder.path().join("blobs");
    let quota = settings.tenant_bytes.as_u64().saturating_add(room.as_u64());
    let settings =
        BlobStoreConfig { root, tenant_bytes: ByteCount::bytes(quota), ..settings.clone() };
    let local = LocalBlobs::new(LocalBlobStore::open(settings, Clock::System)?);
    let blobs = Arc::clone(local.store());
    let service = service.with_blobs(local.into(), 1);
    Ok(OwnBlobs { service, blobs, sessions: sessions.clone(), folder })
}

pub(super) fn settings(config: &Config) -> BlobStoreConfig {
    BlobStoreConfig {
        blob_max: config.blobs.max_size,
        tenant_bytes: config.blobs.quota,
        ttl: config.blobs.ttl,
        ..BlobStoreConfig::at(config.blobs.folder.clone())
    }
}

/// Counts the blobs before the first write, then removes expired ones at intervals.
pub(super) async fn sweep(blobs: Arc<LocalBlobStore>) {
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
