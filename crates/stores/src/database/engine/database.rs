//! A database, wherever it is.

use std::path::{Path, PathBuf};

use crate::database::engine::writing::{Columns, Writing};
use crate::database::postgres::{PostgresPool, Wanted, columns_of};
use crate::database::schema::Schema;
use crate::database::sqlite::connections::SqliteFile;
use crate::database::sqlite::run;
use crate::database::statement::{Dialect, Statement};
use crate::database_error::DatabaseError;

/// Where a database is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DatabasePlace {
    /// A file of SQLite, which is made if it does not exist.
    File(PathBuf),
    /// The database of PostgreSQL whose URL is in this file.
    UrlFile(PathBuf),
}

impl From<&Path> for DatabasePlace {
    fn from(path: &Path) -> Self {
        Self::File(path.to_owned())
    }
}

impl From<&PathBuf> for DatabasePlace {
    fn from(path: &PathBuf) -> Self {
        Self::File(path.clone())
    }
}

impl From<PathBuf> for DatabasePlace {
    fn from(path: PathBuf) -> Self {
        Self::File(path)
    }
}

/// An open database. Clones share its connections.
#[derive(Debug, Clone)]
pub(in crate::database) enum Database {
    /// A file of SQLite.
    Sqlite(SqliteFile),
    /// A database of PostgreSQL.
    Postgres(PostgresPool),
}

impl Database {
    /// Opens a database, and brings this part of it up to date.
    pub(in crate::database) async fn open(
        place: &DatabasePlace,
        schema: &Schema,
    ) -> Result<Self, DatabaseError> {
        Ok(match place {
            DatabasePlace::File(path) => Self::Sqlite(SqliteFile::open(path, schema).await?),
            DatabasePlace::UrlFile(path) => Self::Postgres(PostgresPool::open(path, schema).await?),
        })
    }

    /// The names of values in statements that are built.
    pub(in crate::database) const fn dialect(&self) -> Dialect {
        match self {
            Self::Sqlite(_) => Dialect::Sqlite,
            Self::Postgres(_) => Dialect::Postgres,
        }
    }

    /// Begins a transaction that writes.
    pub(in crate::database) async fn begin(&self) -> Result<Writing, DatabaseError> {
        Ok(match self {
            Self::Sqlite(file) => Writing::Sqlite(file.begin().await?),
            Self::Postgres(pool) => Writing::Postgres(pool.begin().await?),
        })
    }

    /// Executes a statement on its own. Returns the number of rows that it has changed.
    pub(in crate::database) async fn execute(
        &self,
        statement: Statement,
    ) -> Result<u64, DatabaseError> {
        match self {
            Self::Sqlite(file) => Ok(run::execute(file.connections(), statement).await?),
            Self::Postgres(pool) => Ok(pool.run(&statement, Wanted::Changes).await?.changes),
        }
    }

    /// The rows that a statement finds.
    pub(in crate::database) async fn fetch_all<C: Columns>(
        &self,
        statement: Statement,
    ) -> Result<Vec<C>, DatabaseError> {
        match self {
            Self::Sqlite(file) => Ok(run::fetch_all(file.connections(), statement).await?),
            Self::Postgres(pool) => columns_of(&pool.run(&statement, Wanted::Rows).await?),
        }
    }

    /// The only row that a statement finds, if it finds one.
    pub(in crate::database) async fn fetch_optional<C: Columns>(
        &self,
        statement: Statement,
    ) -> Result<Option<C>, DatabaseError> {
        Ok(self.fetch_all(statement).await?.into_iter().next())
    }

    /// The only row that a statement finds.
    pub(in crate::database) async fn fetch_one<C: Columns>(
        &self,
        statement: Statement,
    ) -> Result<C, DatabaseError> {
        let found = self.fetch_optional(statement).await?;
        found.ok_or_else(|| DatabaseError::failed("a statement found no row"))
    }

    /// Closes all connections.
    pub(in crate::database) async fn close(&self) {
        match self {
            Self::Sqlite(file) => file.close().await,
            Self::Postgres(pool) => pool.close().await,
        }
    }
}
