//! Opens the databases of the data folder: that of keys, and that of records.

use std::path::PathBuf;
use std::sync::Arc;

use tracing::warn;

use crate::assembly::error::AssemblyError;
use wardian_config::{AuthMode, Config};
use wardian_service::Authentication;
use wardian_stores::database::Database;
use wardian_stores::records::RecordTable;
use wardian_stores::tenants::{KeyRing, KeyTable, TokenVerifier};
use wardian_vocabulary::clock::Clock;

/// The file of the database in the data folder.
const FILE: &str = "wardian.db";

/// The file of the records in the data folder.
const RECORDS_FILE: &str = "records.db";

/// The path of the database.
#[must_use]
pub fn database_path(config: &Config) -> PathBuf {
    config.data_dir.join(FILE)
}

/// Opens the database, even while a server uses it.
///
/// # Errors
///
/// It cannot be opened, is damaged, or was written by a later version.
pub async fn open_database(config: &Config) -> Result<Database, AssemblyError> {
    Ok(Database::open(&database_path(config)).await?)
}

/// The path of the database of records.
#[must_use]
pub fn records_path(config: &Config) -> PathBuf {
    config.data_dir.join(RECORDS_FILE)
}

/// The records of runs, even while a server writes them.
///
/// # Errors
///
/// As [`open_database`].
pub async fn open_records(config: &Config) -> Result<RecordTable, AssemblyError> {
    Ok(RecordTable::open(&records_path(config)).await?)
}

/// The table of keys, even while a server uses it.
///
/// # Errors
///
/// As [`open_database`].
pub async fn open_keys(config: &Config) -> Result<KeyTable, AssemblyError> {
    Ok(KeyTable::new(open_database(config).await?))
}

/// The callers of a server, as the configuration says how they are known.
///
/// # Errors
///
/// The keys cannot be read, or those of tokens cannot be used.
pub async fn open_authentication(
    config: &Config,
    database: &Database,
) -> Result<Authentication, AssemblyError> {
    match (config.auth.mode, &config.auth.jwt) {
        (AuthMode::Jwt, Some(jwt)) => {
            let keys = match jwt.accepts_keys {
                true => Some(Arc::new(load_keys(database).await?)),
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
            let keys = load_keys(database).await?;
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

async fn load_keys(database: &Database) -> Result<KeyRing, AssemblyError> {
    Ok(KeyRing::load(KeyTable::new(database.clone()), Clock::System).await?)
}
