//! Sessions in SQLite: one file that implements each trait of `sessions/store.rs`.
//!
//! # Why
//!
//! Whether a change waits for the disk belongs to the connection. One more connection writes what need not
//! wait: one is enough, since SQLite has one writer at a time. The others keep their level, and each change
//! of theirs makes all earlier ones durable, because there is one log.

mod cell_rows;
mod cells;
mod checkpoints;
mod columns;
mod losses;
mod packs;
mod parts;
mod rows;

use std::path::{Path, PathBuf};

use async_trait::async_trait;

use crate::database::schema;
use crate::database::sqlite::connections::SqliteFile;
use crate::database::sqlite::file::log_of;
use crate::database_error::DatabaseError;
use crate::sessions::losses::SessionSync;
use crate::sessions::store::SessionStore;

/// The tables of sessions in a file.
#[derive(Debug, Clone)]
pub(super) struct SqliteSessions {
    file: SqliteFile,
    /// For changes that survive a loss of power later.
    unsynced: SqliteFile,
    sync: SessionSync,
    log: PathBuf,
}

impl SqliteSessions {
    /// Opens the tables in the file at `path`.
    pub(super) async fn open(path: &Path, sync: SessionSync) -> Result<Self, DatabaseError> {
        let file = SqliteFile::open(path, &schema::SESSIONS).await?;
        let unsynced = SqliteFile::open_unsynced(path, &schema::SESSIONS).await?;
        Ok(Self { file, unsynced, sync, log: log_of(path) })
    }

    /// The connections for the ends of cells.
    const fn for_ends(&self) -> &SqliteFile {
        match self.sync {
            SessionSync::Second => &self.unsynced,
            SessionSync::Always => &self.file,
        }
    }
}

#[async_trait]
impl SessionStore for SqliteSessions {
    async fn close(&self) {
        self.unsynced.close().await;
        self.file.close().await;
    }
}
