//! The connections to a database, and transactions.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sqlx::pool::PoolConnection;
use sqlx::postgres::{PgConnection, PgPool, PgPoolOptions, PgTransactionManager};
use sqlx::{Connection as _, Postgres, Row as _, SqlSafeStr as _};
use sqlx_core::transaction::TransactionManager as _;
use tokio::time::{sleep, timeout};

use crate::database::postgres::address::PostgresAddress;
use crate::database::postgres::run::{Done, StatementsKept, Wanted, run};
use crate::database::postgres::{error, schema};
use crate::database::schema::Schema;
use crate::database::statement::Statement;
use crate::database_error::DatabaseError;

/// Maximum number of connections for one part of what a server keeps. The writer of records and the notes of
/// runs in the background use most of them.
pub(super) const CONNECTIONS: u32 = 6;

/// How long a statement waits for a connection: a restart of PostgreSQL takes less.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long the start of a server waits for its first connection.
const PATIENCE_AT_START: Duration = Duration::from_secs(5);

/// How long the answer to a statement may take.
const ANSWER: Duration = Duration::from_secs(30);

/// How long the answer may take to a statement that does nothing.
const ANSWER_OF_NOTHING: Duration = Duration::from_secs(5);

/// The pause before another attempt.
const PAUSE: Duration = Duration::from_millis(100);

/// How long a connection is kept that nobody uses.
const IDLE: Duration = Duration::from_secs(600);

/// How old a connection may become, so that a failover by name or by a proxy is followed.
const LIFETIME: Duration = Duration::from_secs(1_800);

/// Begins a transaction. A server that only reads refuses it.
const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE";

/// The connections to a database. Clones share them.
#[derive(Debug, Clone)]
pub(in crate::database) struct PostgresPool {
    pool: PgPool,
    address: Arc<PostgresAddress>,
}

impl PostgresPool {
    /// Connects to the database whose URL is in the file at `path`, and brings this part of it up to date.
    pub(in crate::database) async fn open(
        path: &Path,
        schema: &Schema,
    ) -> Result<Self, DatabaseError> {
        let address = PostgresAddress::read(path)?;
        let place = address.to_string();
        let failed = |cause| error::of_place(&place, cause);
        // The pool would wait for a server that refuses connections, and hide why.
        let first = timeout(PATIENCE_AT_START, PgConnection::connect_with(&address.options));
        let mut first = first.await.map_err(|_late| failed(error::timed_out()))?.map_err(failed)?;
        let updated = schema::update(&mut first, schema).await.map_err(failed)?;
        first.close().await.map_err(failed)?;
        updated.into_result(&place, schema)?;
        let pool = pool_of(CONNECTIONS).connect_lazy_with(address.options.clone());
        Ok(Self { pool, address: Arc::new(address) })
    }

    /// Begins a transaction that writes. A connection that was lost meanwhile is replaced.
    pub(in crate::database) async fn begin(&self) -> Result<PostgresTransaction, DatabaseError> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let Some(mut connection) = self.acquire(deadline).await? else { continue };
            let begun = PgTransactionManager::begin(&mut connection, Some(BEGIN.into_sql_str()));
            let begun = timeout(ANSWER_OF_NOTHING, begun).await;
            match begun.unwrap_or_else(|_| Err(error::timed_out())) {
                Ok(()) => {
                    let preparation = self.address.preparation;
                    return Ok(PostgresTransaction { connection: Some(connection), preparation });
                }
                Err(cause) => self.replace(connection, cause, deadline).await?,
            }
        }
    }

    /// Executes a statement on its own.
    pub(in crate::database) async fn run(
        &self,
        statement: &Statement,
        wanted: Wanted,
    ) -> Result<Done, DatabaseError> {
        if self.address.preparation == StatementsKept::Unprepared {
            // Parsed and executed on one connection of the pooler.
            let mut transaction = self.begin().await?;
            let done = transaction.run(statement, wanted).await?;
            transaction.commit().await?;
            return Ok(done);
        }
        let deadline = Instant::now() + PATIENCE;
        loop {
            let Some(mut connection) = self.acquire(deadline).await? else { continue };
            let done = run(&mut connection, statement, wanted, StatementsKept::Prepared);
            match timeout(ANSWER, done).await.unwrap_or_else(|_| Err(error::timed_out())) {
                Ok(done) => return Ok(done),
                Err(cause) => self.replace(connection, cause, deadline).await?,
            }
        }
    }

    /// A connection. None if one was lost while it was made, so that another one is to be tried.
    async fn acquire(
        &self,
        deadline: Instant,
    ) -> Result<Option<PoolConnection<Postgres>>, DatabaseError> {
        match self.pool.acquire().await {
            Ok(connection) => Ok(Some(connection)),
            Err(cause) if error::is_lost(&cause) && Instant::now() < deadline => {
                sleep(PAUSE).await;
                Ok(None)
            }
            Err(cause) => Err(error::failed(cause)),
        }
    }

    /// Gives up a connection that is lost. Fails with its error if nothing else is to be tried.
    async fn replace(
        &self,
        connection: PoolConnection<Postgres>,
        cause: sqlx::Error,
        deadline: Instant,
    ) -> Result<(), DatabaseError> {
        if !error::is_lost(&cause) {
            return Err(error::failed(cause));
        }
        // Closed without a word: nobody may be there.
        drop(connection.detach());
        if Instant::now() >= deadline {
            return Err(error::failed(cause));
        }
        sleep(PAUSE).await;
        Ok(())
    }

    /// Closes all connections.
    pub(in crate::database) async fn close(&self) {
        self.pool.close().await;
    }
}

/// A transaction that writes. Dropped before its commit, it changes nothing.
pub(in crate::database) struct PostgresTransaction {
    /// None once it is lost.
    connection: Option<PoolConnection<Postgres>>,
    preparation: StatementsKept,
}

impl PostgresTransaction {
    /// Executes a statement.
    pub(in crate::database) async fn run(
        &mut self,
        statement: &Statement,
        wanted: Wanted,
    ) -> Result<Done, DatabaseError> {
        let connection = self.connection.as_mut().ok_or_else(lost)?;
        let done = run(connection, statement, wanted, self.preparation);
        let done = timeout(ANSWER, done).await.unwrap_or_else(|_| Err(error::timed_out()));
        done.map_err(|cause| self.note(cause))
    }

    /// Keeps what was changed. If this fails because the connection is lost, it may have been kept.
    pub(in crate::database) async fn commit(mut self) -> Result<(), DatabaseError> {
        let connection = self.connection.as_mut().ok_or_else(lost)?;
        let done = timeout(ANSWER, PgTransactionManager::commit(connection)).await;
        done.unwrap_or_else(|_| Err(error::timed_out())).map_err(|cause| self.note(cause))
    }

    /// Gives up the connection if it is lost.
    fn note(&mut self, cause: sqlx::Error) -> DatabaseError {
        if error::is_lost(&cause) {
            drop(self.connection.take().map(PoolConnection::detach));
        }
        error::failed(cause)
    }
}

impl Drop for PostgresTransaction {
    fn drop(&mut self) {
        if let Some(connection) = &mut self.connection {
            PgTransactionManager::start_rollback(connection);
        }
    }
}

fn lost() -> DatabaseError {
    DatabaseError::failed("the connection of a transaction was lost")
}

/// Refuses a server that only reads, to which a name or a proxy may lead during a failover.
async fn ensure_primary(connection: &mut PgConnection) -> Result<(), sqlx::Error> {
    // One message: outside of a transaction a pooler may give the second one to another connection.
    let only_reads = sqlx::raw_sql("SELECT pg_is_in_recovery()").fetch_one(connection).await?;
    match only_reads.try_get(0)? {
        true => Err(sqlx::Error::Configuration("the server only reads, as a standby does".into())),
        false => Ok(()),
    }
}

fn pool_of(connections: u32) -> PgPoolOptions {
    PgPoolOptions::new()
        .max_connections(connections)
        .acquire_timeout(PATIENCE)
        .idle_timeout(IDLE)
        .max_lifetime(LIFETIME)
        // Each test is a way to another machine and back. What is lost is replaced at the first statement.
        .test_before_acquire(false)
        // What a standby knows may be old.
        .after_connect(|connection, _| Box::pin(ensure_primary(connection)))
        .after_release(|connection, _| {
            Box::pin(async move {
                // A rollback that waits is sent, and a dead connection holds no place for longer.
                let answer = timeout(ANSWER_OF_NOTHING, connection.ping()).await;
                answer.unwrap_or_else(|_| Err(error::timed_out())).map(|()| true)
            })
        })
}
