//! Sessions in SQLite: one file that implements each trait of `sessions/store.rs`.

mod cell_rows;
mod cells;
mod checkpoints;
mod columns;
mod packs;
mod parts;
mod rows;
pub(super) mod tenant_keys;

use async_trait::async_trait;

use crate::database::sqlite::connections::SqliteFile;
use crate::sessions::store::SessionStore;

/// The tables of sessions in a file.
#[derive(Debug, Clone)]
pub(super) struct SqliteSessions {
    file: SqliteFile,
}

impl SqliteSessions {
    /// The tables in this file.
    pub(super) const fn new(file: SqliteFile) -> Self {
        Self { file }
    }
}

#[async_trait]
impl SessionStore for SqliteSessions {
    async fn close(&self) {
        self.file.close().await;
    }
}
