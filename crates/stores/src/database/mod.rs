//! The embedded databases of a server: SQLite files in the data folder.
//!
//! This module opens the file, brings its schema up to date and says what is wrong with a file that
//! cannot be used. The statements on a table are in the module that owns the table, and are portable SQL.
//!
//! INVARIANT(committed-is-durable): a change that was committed survives a kill of any process that
//! has the file open. In the database of keys it survives a loss of power too.
//!
//! INVARIANT(newer-schema-is-refused): a file whose schema is newer than this program is refused
//! and not changed.
//!
//! # Why
//!
//! Commands such as `wardian keys revoke` change the file while a server has it open, so the file
//! has no lock of its own: SQLite's write-ahead log lets one process write while others read.

mod error;
mod file;
mod schema;

use std::path::Path;
use std::time::{Duration, Instant};

use sqlx::sqlite::{
    SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous,
    SqliteTransactionManager,
};
use sqlx::{ConnectOptions as _, Connection as _, Sqlite, SqliteConnection, Transaction};
use sqlx_core::transaction::TransactionManager as _;

pub use crate::database::error::DatabaseError;
pub(crate) use crate::database::schema::{Durability, Schema};

/// How long a statement waits while another process writes.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// The pause before another attempt to open a file that another process is opening.
const BUSY_PAUSE: Duration = Duration::from_millis(10);

/// The size in bytes to which the write-ahead log is cut once it was folded into the file.
const MAX_LOG: &str = "67108864";

/// Maximum number of connections of one process. SQLite has one writer at a time, and reads are
/// short.
const CONNECTIONS: u32 = 4;

/// Begins a transaction that writes. SQLite then waits for other writers at the beginning, where
/// waiting is safe, and not in the middle.
const BEGIN: &str = "BEGIN IMMEDIATE";

/// An open database. Clones share its connections.
#[derive(Debug, Clone)]
pub struct Database {
    pool: SqlitePool,
}

impl Database {
    /// Opens the database of keys: see [`Self::open_with`].
    ///
    /// # Errors
    ///
    /// As [`Self::open_with`].
    pub async fn open(path: &Path) -> Result<Self, DatabaseError> {
        Self::open_with(path, &schema::KEYS).await
    }

    /// Opens the file, which is created if it does not exist, and brings its schema up to date.
    ///
    /// # Errors
    ///
    /// The file or its folder cannot be used, the file is damaged, or its schema is newer than this
    /// program.
    pub(crate) async fn open_with(path: &Path, schema: &Schema) -> Result<Self, DatabaseError> {
        let unusable = |cause| DatabaseError::Unusable { path: path.to_owned(), cause };
        file::prepare(path).map_err(unusable)?;
        let options = SqliteConnectOptions::new()
            .filename(path)
            .create_if_missing(false)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(match schema.durability {
                Durability::SurvivesKill => SqliteSynchronous::Normal,
                Durability::SurvivesPowerLoss => SqliteSynchronous::Full,
            })
            .pragma("journal_size_limit", MAX_LOG)
            .busy_timeout(BUSY_TIMEOUT)
            .disable_statement_logging();
        let failed = |cause| DatabaseError::of_file(path, schema.content, cause);
        let (database, found) = connect(options, schema).await.map_err(failed)?;
        if found > schema.version() {
            let (path, known) = (path.to_owned(), schema.version());
            return Err(DatabaseError::NewerSchema { path, found, known });
        }
        Ok(database)
    }

    /// Opens all connections, by taking them all at one time.
    async fn open_all(&self) -> Result<(), sqlx::Error> {
        let mut taken = Vec::new();
        for _ in 0..CONNECTIONS {
            taken.push(self.pool.acquire().await?);
        }
        Ok(())
    }

    /// The connections, for statements that only read.
    pub const fn connections(&self) -> &SqlitePool {
        &self.pool
    }

    /// Begins a transaction that writes. Dropped before its commit, it changes nothing.
    pub(crate) async fn begin(&self) -> Result<Transaction<'static, Sqlite>, sqlx::Error> {
        self.pool.begin_with(BEGIN).await
    }

    /// Closes all connections. The last process that closes the file folds its log into it.
    pub async fn close(&self) {
        self.pool.close().await;
    }
}

/// Connects to the file and brings its schema up to date, or finds a newer one, which is returned with
/// the database.
///
/// SQLite does not wait for every other process: a file that becomes one with a write-ahead log at
/// this moment is refused as locked at once. Each attempt is whole, so it is made again until the time
/// is over that a statement would wait.
async fn connect(
    options: SqliteConnectOptions,
    schema: &Schema,
) -> Result<(Database, i64), sqlx::Error> {
    let deadline = Instant::now() + BUSY_TIMEOUT;
    loop {
        match connect_once(options.clone(), schema).await {
            Err(cause) if error::is_busy(&cause) && Instant::now() < deadline => {
                tokio::time::sleep(BUSY_PAUSE).await;
            }
            outcome => return outcome,
        }
    }
}

/// One attempt of [`connect`].
async fn connect_once(
    options: SqliteConnectOptions,
    schema: &Schema,
) -> Result<(Database, i64), sqlx::Error> {
    // All connections are opened now and kept, so that a server holds the same number of files and
    // threads from its start to its end.
    let pool = SqlitePoolOptions::new()
        .max_connections(CONNECTIONS)
        .idle_timeout(None)
        .max_lifetime(None)
        .after_release(|connection, _| Box::pin(settle(connection)));
    let database = Database { pool: pool.connect_with(options).await? };
    let found = schema::update(&database, schema).await?;
    if found <= schema.version() {
        database.open_all().await?;
    }
    Ok((database, found))
}

/// Makes a connection usable after a failed write. SQLite ends a transaction by itself when the
/// disk is full or fails, and the connection continues to count it and could begin no other one. A
/// transaction that writes nothing ends the count, also on a full disk, on which no other
/// connection could be opened.
async fn settle(connection: &mut SqliteConnection) -> Result<bool, sqlx::Error> {
    // A connection works in order: the rollback of a dropped transaction is done before the answer.
    connection.ping().await?;
    if connection.is_in_transaction() {
        sqlx::query("BEGIN").execute(&mut *connection).await?;
        SqliteTransactionManager::rollback(connection).await?;
    }
    Ok(!connection.is_in_transaction())
}

#[cfg(test)]
mod tests;
