//! SQLite: the files in the data folder, and the statements on sessions, which no other database has.
//!
//! INVARIANT(committed-is-durable): a change that was committed survives a kill of any process that
//! has the file open. In the databases of keys and of sessions it survives a loss of power too; changes of
//! cells may do so up to a second later, as the order of sessions says.
//!
//! INVARIANT(newer-schema-is-refused): a file whose schema is newer than this program is refused
//! and not changed.
//!
//! # Why
//!
//! Commands such as `wardian keys revoke` change the file while a server has it open, so the file
//! has no lock of its own: SQLite's write-ahead log lets one process write while others read.

pub(in crate::database) mod connections;
mod error;
mod file;
pub(in crate::database) mod run;
mod schema;
mod sessions;

use std::path::Path;
use std::sync::Arc;

use crate::database::sqlite::sessions::SqliteSessions;
use crate::database_error::DatabaseError;
use crate::sessions::{SessionStore, SessionSync};

/// Opens the database of sessions at `path`, which is made if it does not exist. Ends of cells survive a
/// loss of power when `sync` says.
///
/// # Errors
///
/// The file or its folder cannot be used, the file is damaged, or its schema is newer than this
/// program.
pub async fn open_sessions(
    path: &Path,
    sync: SessionSync,
) -> Result<Arc<dyn SessionStore>, DatabaseError> {
    Ok(Arc::new(SqliteSessions::open(path, sync).await?))
}

#[cfg(test)]
pub(in crate::database) mod testing;
#[cfg(test)]
mod tests;
