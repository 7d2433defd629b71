//! A transaction that writes.

use sqlx::postgres::PgRow;
use sqlx::sqlite::SqliteRow;
use sqlx::{FromRow, Sqlite, Transaction};

use crate::database::postgres::{PostgresTransaction, Wanted, columns_of};
use crate::database::sqlite::run;
use crate::database::statement::{Dialect, Statement};
use crate::database_error::DatabaseError;

/// The columns of a row, which each database can read.
pub(in crate::database) trait Columns:
    Send + Unpin + for<'row> FromRow<'row, SqliteRow> + for<'row> FromRow<'row, PgRow>
{
}

impl<T> Columns for T where
    T: Send + Unpin + for<'row> FromRow<'row, SqliteRow> + for<'row> FromRow<'row, PgRow>
{
}

/// A transaction that writes. Dropped before its commit, it changes nothing.
///
/// In PostgreSQL a statement sees what other transactions have committed before it, and a statement that
/// failed ends the transaction.
pub(in crate::database) enum Writing {
    /// In a file of SQLite, which has one at a time.
    Sqlite(Transaction<'static, Sqlite>),
    /// In PostgreSQL, beside others.
    Postgres(PostgresTransaction),
}

impl Writing {
    /// The names of values in statements that are built.
    pub(in crate::database) const fn dialect(&self) -> Dialect {
        match self {
            Self::Sqlite(_) => Dialect::Sqlite,
            Self::Postgres(_) => Dialect::Postgres,
        }
    }

    /// Executes a statement. Returns the number of rows that it has changed.
    pub(in crate::database) async fn execute(
        &mut self,
        statement: Statement,
    ) -> Result<u64, DatabaseError> {
        match self {
            Self::Sqlite(transaction) => Ok(run::execute(&mut **transaction, statement).await?),
            Self::Postgres(transaction) => {
                Ok(transaction.run(&statement, Wanted::Changes).await?.changes)
            }
        }
    }

    /// The rows that a statement finds.
    pub(in crate::database) async fn fetch_all<C: Columns>(
        &mut self,
        statement: Statement,
    ) -> Result<Vec<C>, DatabaseError> {
        match self {
            Self::Sqlite(transaction) => Ok(run::fetch_all(&mut **transaction, statement).await?),
            Self::Postgres(transaction) => {
                columns_of(&transaction.run(&statement, Wanted::Rows).await?)
            }
        }
    }

    /// The only row that a statement finds, if it finds one.
    pub(in crate::database) async fn fetch_optional<C: Columns>(
        &mut self,
        statement: Statement,
    ) -> Result<Option<C>, DatabaseError> {
        Ok(self.fetch_all(statement).await?.into_iter().next())
    }

    /// Keeps what was changed.
    pub(in crate::database) async fn commit(self) -> Result<(), DatabaseError> {
        match self {
            Self::Sqlite(transaction) => Ok(transaction.commit().await?),
            Self::Postgres(transaction) => transaction.commit().await,
        }
    }
}
