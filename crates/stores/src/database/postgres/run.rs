//! Executes statements that are the same for all databases.

use std::borrow::Cow;

use sqlx::postgres::{PgArguments, PgConnection, PgRow};
use sqlx::{Arguments as _, AssertSqlSafe, FromRow};

use crate::database::postgres::error;
use crate::database::statement::{Statement, Value};
use crate::database_error::DatabaseError;

/// In the place of a NUL, which PostgreSQL has in no text: one in a record would stop its batch.
const NUL: &str = "\u{2400}";

/// What is wanted of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::database) enum Wanted {
    /// The number of rows that it has changed.
    Changes,
    /// The rows that it finds.
    Rows,
}

/// What a statement has done.
pub(in crate::database) struct Done {
    pub(in crate::database) changes: u64,
    rows: Vec<PgRow>,
}

/// Whether statements are kept prepared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StatementsKept {
    /// Yes, by their names.
    Prepared,
    /// No: a pooler may give each transaction another connection.
    Unprepared,
}

/// Executes a statement.
pub(super) async fn run(
    connection: &mut PgConnection,
    statement: &Statement,
    wanted: Wanted,
    preparation: StatementsKept,
) -> Result<Done, sqlx::Error> {
    let arguments = arguments(statement.values())?;
    let query = match statement.text() {
        Cow::Borrowed(text) => sqlx::query_with(*text, arguments),
        // Its parts are those of statements, and values are never among them.
        Cow::Owned(text) => sqlx::query_with(AssertSqlSafe(text.clone()), arguments),
    };
    let query =
        query.persistent(preparation == StatementsKept::Prepared && statement.is_prepared());
    match wanted {
        Wanted::Changes => {
            let changes = query.execute(connection).await?.rows_affected();
            Ok(Done { changes, rows: Vec::new() })
        }
        Wanted::Rows => Ok(Done { changes: 0, rows: query.fetch_all(connection).await? }),
    }
}

/// The columns of the rows that were found.
pub(in crate::database) fn columns_of<C>(done: &Done) -> Result<Vec<C>, DatabaseError>
where
    C: for<'row> FromRow<'row, PgRow>,
{
    done.rows.iter().map(|row| C::from_row(row).map_err(error::failed)).collect()
}

fn arguments(values: &[Value]) -> Result<PgArguments, sqlx::Error> {
    let mut arguments = PgArguments::default();
    for value in values {
        match value {
            Value::Text(text) => arguments.add(text.as_deref().map(without_nul)),
            Value::Number(number) => arguments.add(*number),
        }
        .map_err(sqlx::Error::Encode)?;
    }
    Ok(arguments)
}

/// A text as PostgreSQL keeps it.
pub(in crate::database) fn without_nul(text: &str) -> Cow<'_, str> {
    match text.contains('\0') {
        true => Cow::Owned(text.replace('\0', NUL)),
        false => Cow::Borrowed(text),
    }
}
