//! Executes statements that are the same for all databases.

use std::borrow::Cow;

use sqlx::query::QueryAs;
use sqlx::sqlite::{SqliteArguments, SqliteExecutor, SqliteRow};
use sqlx::{Arguments as _, AssertSqlSafe, FromRow, Sqlite};

use crate::database::statement::{Statement, Value};

/// Executes a statement. Returns the number of rows that it has changed.
pub(in crate::database) async fn execute(
    connection: impl SqliteExecutor<'_>,
    statement: Statement,
) -> Result<u64, sqlx::Error> {
    let is_prepared = statement.is_prepared();
    let (text, values) = statement.into_parts();
    let arguments = arguments(values)?;
    let query = match text {
        Cow::Borrowed(text) => sqlx::query_with(text, arguments),
        // Its parts are those of statements, and values are never among them.
        Cow::Owned(text) => sqlx::query_with(AssertSqlSafe(text), arguments),
    };
    Ok(query.persistent(is_prepared).execute(connection).await?.rows_affected())
}

/// The rows that a statement finds.
pub(in crate::database) async fn fetch_all<C>(
    connection: impl SqliteExecutor<'_>,
    statement: Statement,
) -> Result<Vec<C>, sqlx::Error>
where
    C: Send + Unpin + for<'row> FromRow<'row, SqliteRow>,
{
    let is_prepared = statement.is_prepared();
    let (text, values) = statement.into_parts();
    let arguments = arguments(values)?;
    let query: QueryAs<'_, Sqlite, C, SqliteArguments> = match text {
        Cow::Borrowed(text) => sqlx::query_as_with(text, arguments),
        Cow::Owned(text) => sqlx::query_as_with(AssertSqlSafe(text), arguments),
    };
    query.persistent(is_prepared).fetch_all(connection).await
}

fn arguments(values: Vec<Value>) -> Result<SqliteArguments, sqlx::Error> {
    let mut arguments = SqliteArguments::default();
    for value in values {
        match value {
            Value::Text(text) => arguments.add(text),
            Value::Number(number) => arguments.add(number),
        }
        .map_err(sqlx::Error::Encode)?;
    }
    Ok(arguments)
}
