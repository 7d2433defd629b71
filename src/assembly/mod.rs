//! Builds the parts of the program from a configuration. No other module builds engines.

mod blobs;
mod engine;
mod error;
mod fleet;
mod metrics;
mod packages;
mod provision;
mod runtime;
mod settings;
mod skills;
mod tenants;
mod tools;
mod worker;

pub use crate::assembly::blobs::{
    OwnBlobs, ServedBlobs, check_object_store, open_blobs, open_blobs_beside, open_remote_blobs,
    open_served_blobs,
};
pub use crate::assembly::engine::{
    MeteredCode, has_images_of_tenants, images_made, install_engine, install_images_with_batteries,
    lock_natives, open_engine,
};
pub use crate::assembly::error::{AssemblyError, ProvisionError};
pub use crate::assembly::fleet::{fleet_key, fleet_parts, server_facts};
pub use crate::assembly::metrics::{JournalState, SessionsState, TokenKeysState};
pub use crate::assembly::packages::{
    BatteriesReport, batteries, batteries_are_compiled, clean_layers, guest_of, install_batteries,
    layer_store, layers_of, wheel_source,
};
pub use crate::assembly::provision::Provision;
pub use crate::assembly::runtime::{ReadStores, Runtime, Stores};
pub use crate::assembly::settings::check_settings;
pub use crate::assembly::skills::{SkillsRead, is_bundled, open_registry, open_trust};
pub use crate::assembly::tenants::{
    check_database, database_path, keys_place, open_authentication, open_key_database, open_keys,
    open_own_sessions, open_records, open_sessions, own_databases, records_place,
};
pub use crate::assembly::tools::open_tools;
pub use crate::assembly::worker::{PoolProcess, WorkerBounds, work};
