//! The connections to a file.

use std::path::Path;
use std::time::{Duration, Instant};

use sqlx::sqlite::{
    SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous,
    SqliteTransactionManager,
};
use sqlx::{ConnectOptions as _, Connection as _, Sqlite, SqliteConnection, Transaction};
use sqlx_core::transaction::TransactionManager as _;

use crate::database::schema::{Durability, Schema};
use crate::database::sqlite::{error, file, schema};
use crate::database_error::DatabaseError;

/// How long a statement waits while another process writes.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// The pause before another attempt to open a file that another process is opening.
const BUSY_PAUSE: Duration = Duration::from_millis(10);

/// The size in bytes to which the write-ahead log is cut once it was folded into the file.
const MAX_LOG: &str = "67108864";

/// Maximum number of connections of one process. SQLite has one writer at a time, and reads are
/// short.
pub(super) const CONNECTIONS: u32 = 4;

/// Attempts to fold a log into its file that the last connection has left. Others may use the file.
const FOLDS: u32 = 2;

/// A transaction that writes.
pub(super) type Writing = Transaction<'static, Sqlite>;

/// An open file. Clones share its connections.
#[derive(Debug, Clone)]
pub(in crate::database) struct SqliteFile {
    pool: SqlitePool,
}

impl SqliteFile {
    /// Opens the file, which is created if it does not exist, and brings its schema up to date.
    pub(in crate::database) async fn open(
        path: &Path,
        schema: &Schema,
    ) -> Result<Self, DatabaseError> {
        let unusable = |cause| DatabaseError::Unusable { path: path.to_owned(), cause };
        file::prepare(path).map_err(unusable)?;
        let options = options(path, schema, schema.durability);
        let failed = |cause| error::of_file(path, schema.content, cause);
        let (file, found) = connect(options, schema).await.map_err(failed)?;
        if found > schema.version() {
            let (place, known) = (path.display().to_string(), schema.version());
            return Err(DatabaseError::NewerSchema { place, found, known });
        }
        Ok(file)
    }

    /// One more connection to a file that is open, for changes that survive a loss of power later: with the
    /// next change that another connection makes, or once the log is synced.
    pub(super) async fn open_unsynced(path: &Path, schema: &Schema) -> Result<Self, DatabaseError> {
        let options = options(path, schema, Durability::SurvivesKill);
        let pool = pool_of(1).connect_with(options).await;
        Ok(Self { pool: pool.map_err(|cause| error::of_file(path, schema.content, cause))? })
    }

    /// Opens all connections, by taking them all at one time.
    async fn open_all(&self) -> Result<(), sqlx::Error> {
        let mut taken = Vec::new();
        for _ in 0..CONNECTIONS {
            taken.push(self.pool.acquire().await?);
        }
        Ok(())
    }

    /// The connections, for statements that only read, and for single ones that write.
    pub(in crate::database) const fn connections(&self) -> &SqlitePool {
        &self.pool
    }

    /// Begins a transaction that writes. Dropped before its commit, it changes nothing.
    pub(in crate::database) async fn begin(
        &self,
    ) -> Result<Transaction<'static, Sqlite>, sqlx::Error> {
        self.pool.begin_with(schema::BEGIN).await
    }

    /// Closes all connections. The last process that closes the file folds its log into it.
    ///
    /// Two connections that are closed at the same moment each see the other one, and none of them does that. So while
    /// there is a log, one more is opened, and closed alone.
    pub(in crate::database) async fn close(&self) {
        self.pool.close().await;
        let options = self.pool.connect_options();
        let log = file::log_of(options.get_filename());
        for _ in 0..FOLDS {
            if !log.try_exists().unwrap_or(false) {
                return;
            }
            // What cannot be opened any more is left as it is: the next start says why.
            let Ok(connection) = options.connect().await else { return };
            connection.close().await.ok();
        }
    }
}

/// Connects to the file and brings its schema up to date, or finds a newer one, which is returned with
/// the file.
///
/// SQLite does not wait for every other process: a file that becomes one with a write-ahead log at
/// this moment is refused as locked at once. Each attempt is whole, so it is made again until the time
/// is over that a statement would wait.
async fn connect(
    options: SqliteConnectOptions,
    schema: &Schema,
) -> Result<(SqliteFile, i64), sqlx::Error> {
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
) -> Result<(SqliteFile, i64), sqlx::Error> {
    let file = SqliteFile { pool: pool_of(CONNECTIONS).connect_with(options).await? };
    let found = schema::update(&file.pool, schema).await?;
    if found <= schema.version() {
        file.open_all().await?;
    }
    Ok((file, found))
}

/// How connections to this file are opened, and how durable their changes are.
fn options(path: &Path, schema: &Schema, durability: Durability) -> SqliteConnectOptions {
    // Keys are among what is deleted where changes survive a loss of power: they are overwritten.
    let secure_delete = match schema.durability {
        Durability::SurvivesKill => "OFF",
        Durability::SurvivesPowerLoss => "ON",
    };
    SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(false)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(match durability {
            Durability::SurvivesKill => SqliteSynchronous::Normal,
            Durability::SurvivesPowerLoss => SqliteSynchronous::Full,
        })
        .pragma("journal_size_limit", MAX_LOG)
        .pragma("secure_delete", secure_delete)
        .busy_timeout(BUSY_TIMEOUT)
        .disable_statement_logging()
}

/// All connections are opened at once and kept, so that a server holds the same number of files and threads
/// from its start to its end.
fn pool_of(connections: u32) -> SqlitePoolOptions {
    SqlitePoolOptions::new()
        .max_connections(connections)
        .idle_timeout(None)
        .max_lifetime(None)
        // A file in this process does not go away, and each test is a way to another thread and back.
        .test_before_acquire(false)
        .after_release(|connection, _| Box::pin(settle(connection)))
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
