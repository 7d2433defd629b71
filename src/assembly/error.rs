//! Errors of starting the program.

use std::error::Error;
use std::io;
use std::path::PathBuf;

use wardian_dispatch::DispatchError;
use wardian_egress::EgressError;
use wardian_engine::EngineError;
use wardian_image_builder::ImageError;
use wardian_images::ImageFault;
use wardian_sessions::SessionsError;
use wardian_skills::packages::StoreError;
use wardian_skills::packages::fetch::FetchError;
use wardian_skills::packages::guest::UnknownPython;
use wardian_skills::packages::lock::LockError;
use wardian_skills::registry::RegistryError;
use wardian_stores::blobs::BlobError;
use wardian_stores::database::DatabaseError;
use wardian_stores::tenants::KeySourceError;
use wardian_telemetry::traces::TraceError;
use wardian_worker::WorkerError;

/// The reason why background work failed.
pub type ProvisionError = Box<dyn Error + Send + Sync>;

/// Errors of starting the program.
#[derive(Debug, thiserror::Error)]
pub enum AssemblyError {
    /// The engine cannot be made ready.
    #[error("the engine cannot be prepared")]
    Engine(#[from] EngineError),
    /// A memory image cannot be made.
    #[error("the engine's memory image cannot be built")]
    Image(#[from] ImageError),
    /// The images on the disk cannot be read.
    #[error("the engine's memory images cannot be listed")]
    ImageCache(#[source] ImageFault),
    /// Blobs cannot be kept.
    #[error("the blob store cannot be opened")]
    Blobs(#[from] BlobError),
    /// The object store of blobs cannot be used, and what to do.
    #[error("the object store of `blobs.store` cannot be used: {0}")]
    ObjectStore(String),
    /// The database cannot be opened.
    #[error(transparent)]
    Database(#[from] DatabaseError),
    /// The key of the fleet cannot be used.
    #[error("{}: {why} (`fleet.key_file`)", path.display())]
    FleetKey {
        /// The file with the key.
        path: PathBuf,
        /// The reason.
        why: String,
    },
    /// Sessions cannot be kept.
    #[error("the store of sessions cannot be opened")]
    Sessions(#[from] SessionsError),
    /// The keys of tokens cannot be used.
    #[error("tokens cannot be verified")]
    TokenKeys(#[from] KeySourceError),
    /// Spans of traces cannot be sent as it is configured.
    #[error("tracing cannot be started")]
    Traces(#[from] TraceError),
    /// A key that is trusted to sign skills cannot be read.
    #[error("{}: {why} (`skills.trusted_keys`)", path.display())]
    TrustedKey {
        /// The file with the key.
        path: PathBuf,
        /// The reason.
        why: String,
    },
    /// Skills cannot be read.
    #[error("the skills cannot be opened")]
    Registry(#[from] RegistryError),
    /// Workers cannot be started.
    #[error("the workers cannot be started")]
    Workers(#[from] DispatchError),
    /// This process is a worker and failed.
    #[error("the worker failed")]
    Worker(#[from] WorkerError),
    /// The setup of a worker is malformed: it was not started by its gateway.
    #[error("a worker's setup cannot be read; workers are started by `wardian serve`, not by hand")]
    Setup(#[source] serde_json::Error),
    /// The engine's list of contents names no Python.
    #[error("the packages of guests cannot be set up")]
    Guest(#[from] UnknownPython),
    /// The lock of the batteries is malformed.
    #[error("the lock of the batteries cannot be read")]
    Batteries(#[from] LockError),
    /// The batteries cannot be fetched.
    #[error("the batteries cannot be fetched")]
    FetchBatteries(#[from] FetchError),
    /// Layers of packages cannot be stored.
    #[error("packages cannot be stored")]
    Layers(#[from] StoreError),
    /// Guests cannot have a network as it is configured.
    #[error("the network for guests cannot be set up")]
    Network(#[from] EgressError),
    /// The operating system refused something.
    #[error("the operating system refused to {what}")]
    System {
        /// The request, as the end of a sentence.
        what: &'static str,
        /// The error of the operating system.
        #[source]
        cause: io::Error,
    },
}
