//! Opens the databases of the data folder: that of keys, and that of records.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tracing::warn;

use crate::assembly::error::AssemblyError;
use wardian_config::{AuthMode, Config};
use wardian_service::Authentication;
use wardian_sessions::{SessionSync, Sessions, SessionsConfig};
use wardian_stores::database::{self, DatabasePlace, KeyDatabase};
use wardian_stores::records::RecordTable;
use wardian_stores::sessions::TenantSessionKeys;
use wardian_stores::tenants::{KeyRing, KeyTable, TokenVerifier};
use wardian_vocabulary::clock::Clock;

/// The file of the database in the data folder.
const FILE: &str = "wardian.db";

/// The file of the records in the data folder.
const RECORDS_FILE: &str = "records.db";

/// The file of the rows of blobs in the data folder.
const BLOBS_FILE: &str = "blobs.db";

/// The file of the rows of sessions in the data folder.
const SESSIONS_FILE: &str = "sessions.db";

/// The file of the keys in the data folder, which is not used if there is a database elsewhere.
#[must_use]
pub fn database_path(config: &Config) -> PathBuf {
    config.data_dir.join(FILE)
}

/// The files in the data folder that are not used if there is a database elsewhere.
#[must_use]
pub fn own_databases(config: &Config) -> [PathBuf; 2] {
    [FILE, RECORDS_FILE].map(|file| config.data_dir.join(file))
}

/// The place of the database of keys.
#[must_use]
pub fn keys_place(config: &Config) -> DatabasePlace {
    place(config, FILE)
}

/// The place of the database of records.
#[must_use]
pub fn records_place(config: &Config) -> DatabasePlace {
    place(config, RECORDS_FILE)
}

/// The place of the database of blobs that are in an object store.
#[must_use]
pub(super) fn blobs_place(config: &Config) -> DatabasePlace {
    place(config, BLOBS_FILE)
}

fn place(config: &Config, file: &str) -> DatabasePlace {
    match &config.database.url_file {
        Some(url_file) => DatabasePlace::UrlFile(url_file.clone()),
        None => DatabasePlace::File(config.data_dir.join(file)),
    }
}

/// Checks that a database elsewhere can be used, and brings it up to date, before a server changes anything
/// of its own.
///
/// # Errors
///
/// It cannot be used.
pub async fn check_database(config: &Config) -> Result<(), AssemblyError> {
    if config.database.url_file.is_some() {
        open_keys(config).await?.close().await;
        open_records(config).await?.close().await;
    }
    Ok(())
}

/// The records of runs, even while a server writes them.
///
/// # Errors
///
/// As [`open_keys`].
pub async fn open_records(config: &Config) -> Result<RecordTable, AssemblyError> {
    Ok(database::open_records(records_place(config)).await?)
}

/// The sessions of a server, if it keeps any.
///
/// # Errors
///
/// Their database or their folder cannot be used.
pub async fn open_sessions(
    config: &Config,
    keys: TenantSessionKeys,
) -> Result<Option<Sessions>, AssemblyError> {
    if !config.sessions.is_enabled {
        return Ok(None);
    }
    let settings = config.sessions.store.clone();
    let file = config.data_dir.join(SESSIONS_FILE);
    let rows = database::open_sessions(&file, settings.sync).await?;
    Ok(Some(Sessions::open(settings, rows, keys, Clock::System).await?))
}

/// The sessions of a process that keeps them in a folder of its own, and no longer than it runs.
///
/// # Errors
///
/// As [`open_sessions`].
pub async fn open_own_sessions(
    config: &Config,
    folder: &Path,
) -> Result<Option<Sessions>, AssemblyError> {
    if !config.sessions.is_enabled {
        return Ok(None);
    }
    Ok(Some(open_sessions_in(config.sessions.store.clone(), folder).await?))
}

/// Sessions in a folder of their own.
///
/// # Errors
///
/// As [`open_sessions`].
pub(super) async fn open_sessions_in(
    settings: SessionsConfig,
    folder: &Path,
) -> Result<Sessions, AssemblyError> {
    let keys = database::open_key_database(&folder.join(FILE)).await?.sessions;
    // Nothing of it outlives a loss of power.
    let sync = SessionSync::Second;
    let settings = SessionsConfig { root: folder.join("sessions"), sync, ..settings };
    let rows = database::open_sessions(&folder.join(SESSIONS_FILE), sync).await?;
    Ok(Sessions::open(settings, rows, keys, Clock::System).await?)
}

/// The table of keys, even while a server uses it.
///
/// # Errors
///
/// It cannot be opened, is damaged, or was written by a later version.
pub async fn open_keys(config: &Config) -> Result<KeyTable, AssemblyError> {
    Ok(database::open_keys(keys_place(config)).await?)
}

/// All tables of the database of keys, for a server.
///
/// # Errors
///
/// As [`open_keys`].
pub async fn open_key_database(config: &Config) -> Result<KeyDatabase, AssemblyError> {
    Ok(database::open_key_database(keys_place(config)).await?)
}

/// The callers of a server, as the configuration says how they are known.
///
/// # Errors
///
/// The keys cannot be read, or those of tokens cannot be used.
pub async fn open_authentication(
    config: &Config,
    table: &KeyTable,
) -> Result<Authentication, AssemblyError> {
    match (config.auth.mode, &config.auth.jwt) {
        (AuthMode::Jwt, Some(jwt)) => {
            let keys = match jwt.accepts_keys {
                true => Some(Arc::new(load_keys(table).await?)),
                false => None,
            };
            let tokens = Arc::new(TokenVerifier::open(jwt.clone(), Clock::System)?);
            tokens
                .keys()
                .follow()
                .map_err(|cause| AssemblyError::System { what: "start a thread", cause })?;
            Ok(Authentication::Tokens { tokens, keys })
        }
        // Settings of tokens are there with that mode; without them nobody is let in by one.
        (AuthMode::Keys | AuthMode::Jwt, _) => {
            let keys = load_keys(table).await?;
            if keys.is_empty() {
                warn!(
                    "there is no valid key, so every call is refused: create one with \
                     `wardian keys create --tenant TENANT --name NAME`"
                );
            }
            Ok(Authentication::Keys(Arc::new(keys)))
        }
        (AuthMode::Open | AuthMode::Proxy, _) => Ok(Authentication::Open),
    }
}

async fn load_keys(table: &KeyTable) -> Result<KeyRing, AssemblyError> {
    Ok(KeyRing::load(table.clone(), Clock::System).await?)
}
