//! Opens the blobs, and removes those that have expired.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tempfile::TempDir;
use tokio::time::MissedTickBehavior;
use tracing::{info, warn};

use crate::assembly::error::AssemblyError;
use crate::assembly::tenants::{blobs_place, keys_place, open_sessions_in};
use wardian_config::{Config, secret_variables};
use wardian_service::{Service, SessionObserver};
use wardian_sessions::SessionsConfig;
use wardian_sources::{STORE_VARIABLES, SourceError, StoreObjects, StoreSettings};
use wardian_stores::blobs::{
    BlobError, BlobIdKeyTable, BlobObjects, BlobStoreConfig, Blobs, LocalBlobStore, LocalBlobs,
    ObjectIdKeys, PlaceOwner, RemoteBlobs,
};
use wardian_stores::database::{self, blob_id_keys_at};
use wardian_vocabulary::clock::Clock;
use wardian_vocabulary::error::CauseChain;
use wardian_vocabulary::units::ByteCount;

/// The interval of removing expired blobs.
const SWEEP: Duration = Duration::from_secs(600);

/// The interval of trimming the copies of blobs that are in an object store.
const TRIM: Duration = Duration::from_secs(30);

/// The folder of those copies in the data folder.
const COPIES: &str = "blob-copies";

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

/// The blobs of a server.
#[derive(Debug, Clone)]
pub enum ServedBlobs {
    /// On this machine.
    Local(LocalBlobs),
    /// In an object store, with copies on this machine.
    Remote {
        /// The store.
        store: RemoteBlobs,
        /// Size to which the copies are trimmed.
        cache: ByteCount,
    },
}

impl ServedBlobs {
    /// The blobs on this machine: those of the server, or its copies.
    pub(super) fn local(&self) -> Arc<LocalBlobStore> {
        match self {
            Self::Local(local) => Arc::clone(local.store()),
            Self::Remote { store, .. } => Arc::clone(store.copies().store()),
        }
    }

    /// The interfaces of the store.
    pub(super) fn interfaces(&self) -> Blobs {
        match self {
            Self::Local(local) => local.clone().into(),
            Self::Remote { store, .. } => store.clone().into(),
        }
    }

    /// Counts the blobs before the first write, then removes expired ones at intervals, and copies for which there
    /// is no room.
    pub(super) async fn tend(self) {
        match self {
            Self::Local(local) => sweep(Arc::clone(local.store())).await,
            Self::Remote { store, cache } => tend_remote(&store, cache).await,
        }
    }

    /// Closes the database of blobs.
    pub async fn close(&self) {
        if let Self::Remote { store, .. } = self {
            store.close().await;
        }
    }
}

/// Opens the blobs of a server, with the keys of tenants' ids. An object store is proved to keep what is promised.
///
/// # Errors
///
/// The store cannot be used, or another process uses its folder.
pub async fn open_served_blobs(
    config: &Config,
    id_keys: BlobIdKeyTable,
) -> Result<ServedBlobs, AssemblyError> {
    if config.blobs.store.is_none() {
        return Ok(ServedBlobs::Local(LocalBlobs::new(open_blobs_with(config, id_keys)?)));
    }
    let store = open_remote_blobs(config, id_keys, &config.data_dir.join(COPIES)).await?;
    store.take_place(PlaceOwner::First).await.map_err(of_place(config))?;
    if holds_blobs(&config.blobs.folder) {
        let folder = config.blobs.folder.display();
        warn!(
            "blobs are kept in the object store of `blobs.store`; those in `{folder}`, from before, are not found: \
             `wardian migrate` moves them"
        );
    }
    Ok(ServedBlobs::Remote { store, cache: config.blobs.cache })
}

/// True if a folder of blobs has those of a tenant.
fn holds_blobs(folder: &Path) -> bool {
    let tenants = std::fs::read_dir(folder.join("tenants"));
    tenants.is_ok_and(|mut tenants| tenants.next().is_some())
}

/// Checks the object store that a server is to use, if it is to use one. Changes nothing but an object of its own,
/// which is removed.
///
/// # Errors
///
/// It cannot be used.
pub async fn check_object_store(config: &Config) -> Result<(), AssemblyError> {
    let Some(place) = &config.blobs.store else { return Ok(()) };
    let (objects, prefix) = open_objects(config, place)?;
    let proved = objects.prove(prefix).await;
    proved.map_err(|cause| AssemblyError::ObjectStore(cause.to_string()))
}

/// Opens the blobs in the object store of the settings, with copies in this folder. The caller takes the place.
///
/// # Errors
///
/// The settings name none, or it cannot be used.
pub async fn open_remote_blobs(
    config: &Config,
    id_keys: BlobIdKeyTable,
    copies: &Path,
) -> Result<RemoteBlobs, AssemblyError> {
    let place = config.blobs.store.as_deref().unwrap_or_default();
    let (objects, prefix) = open_objects(config, place)?;
    let objects: Arc<dyn BlobObjects> = Arc::new(objects);
    let keys = ObjectIdKeys::new(Arc::clone(&objects), prefix, id_keys);
    let unlimited = BlobStoreConfig {
        root: copies.to_owned(),
        tenant_bytes: ByteCount::bytes(u64::MAX),
        tenant_blobs: u64::MAX,
        ttl: None,
        ..settings(config)
    };
    let copies = LocalBlobStore::open(unlimited, Clock::System)?.with_id_keys(Arc::new(keys));
    let (copies, limits) = (LocalBlobs::new(copies), (settings(config), Clock::System));
    let opened =
        database::open_remote_blobs(blobs_place(config), (objects, prefix), copies, limits);
    Ok(opened.await?)
}

/// The objects of a place in an object store, and the prefix of their keys.
fn open_objects<'p>(
    config: &Config,
    place: &'p str,
) -> Result<(StoreObjects, &'p str), AssemblyError> {
    let failed = |fault: SourceError| AssemblyError::ObjectStore(CauseChain(&fault).to_string());
    let settings = StoreSettings::new(secret_variables(&STORE_VARIABLES));
    let settings = settings.with_credentials_file().map_err(failed)?;
    let network = &config.network.egress;
    StoreObjects::open(place, &settings, network, config.blobs.max_size).map_err(failed)
}

/// The failure of a place in an object store.
fn of_place(config: &Config) -> impl FnOnce(BlobError) -> AssemblyError {
    let place = config.blobs.store.clone().unwrap_or_default();
    move |fault| AssemblyError::ObjectStore(format!("{place}: {}", CauseChain(&fault)))
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

/// Removes expired blobs of an object store at intervals, and copies for which there is no room.
async fn tend_remote(store: &RemoteBlobs, cache: ByteCount) {
    let trims = u32::try_from(SWEEP.as_secs() / TRIM.as_secs()).unwrap_or(u32::MAX);
    let mut clock = tokio::time::interval(TRIM);
    clock.set_missed_tick_behavior(MissedTickBehavior::Delay);
    for round in (0..trims).cycle() {
        clock.tick().await;
        if round == 0 {
            match store.sweep(Clock::System.now()).await {
                Ok(report) if report.expired > 0 => {
                    info!(expired = report.expired, "removed {} expired blobs", report.expired);
                }
                Ok(_) => {}
                Err(error) => warn!("blobs could not be swept: {}", CauseChain(&error)),
            }
        }
        let copies = Arc::clone(store.copies().store());
        let trimmed = tokio::task::spawn_blocking(move || copies.trim(cache)).await;
        if let Ok(Err(error)) = trimmed {
            warn!("copies of blobs could not be trimmed: {}", CauseChain(&error));
        }
    }
}

/// Counts the blobs before the first write, then removes expired ones at intervals.
async fn sweep(blobs: Arc<LocalBlobStore>) {
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
