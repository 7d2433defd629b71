//! A row of any table, as it is copied from one database to another one.

use sqlx::postgres::PgRow;
use sqlx::sqlite::SqliteRow;
use sqlx::{Column as _, ColumnIndex, Decode, FromRow, Row, Type, TypeInfo as _};

use crate::database::postgres::without_nul;
use crate::database::statement::Value;

/// A row of any table: the names of its columns, and their values.
#[derive(Debug)]
pub(in crate::database) struct AnyRow(Vec<(String, Value)>);

impl AnyRow {
    /// The names of its columns.
    pub(in crate::database) fn names(&self) -> Vec<&str> {
        self.0.iter().map(|(name, _)| name.as_str()).collect()
    }

    /// Its values, in the order of the names.
    pub(in crate::database) fn values(&self) -> impl Iterator<Item = &Value> {
        self.0.iter().map(|(_, value)| value)
    }

    /// The values of some columns.
    pub(in crate::database) fn values_of(&self, columns: &[&str]) -> Vec<Value> {
        let value = |name: &&str| self.0.iter().find(|(other, _)| other == name);
        columns.iter().filter_map(value).map(|(_, value)| value.clone()).collect()
    }

    /// True if another database keeps this row as that one.
    pub(in crate::database) fn is_like(&self, other: &Self) -> bool {
        let value = |row: &Self, name: &str| {
            row.0.iter().find(|(other, _)| other == name).map(|(_, value)| value.clone())
        };
        self.0.len() == other.0.len()
            && self.0.iter().all(|(name, one)| match (one, value(other, name)) {
                (Value::Number(one), Some(Value::Number(other))) => *one == other,
                (Value::Text(Some(one)), Some(Value::Text(Some(other)))) => {
                    without_nul(one) == without_nul(&other)
                }
                (Value::Text(one), Some(Value::Text(other))) => one.is_none() && other.is_none(),
                _ => false,
            })
    }

    /// Reads a row whose columns are texts and whole numbers, by their declared types.
    fn read<'r, R: Row>(row: &'r R) -> Result<Self, sqlx::Error>
    where
        usize: ColumnIndex<R>,
        Option<String>: Decode<'r, R::Database> + Type<R::Database>,
        Option<i64>: Decode<'r, R::Database> + Type<R::Database>,
    {
        let read = |column: &<R::Database as sqlx::Database>::Column| {
            let value = match column.type_info().name() {
                "TEXT" => Value::Text(row.try_get(column.ordinal())?),
                _ => Value::Number(row.try_get(column.ordinal())?),
            };
            Ok((column.name().to_owned(), value))
        };
        row.columns().iter().map(read).collect::<Result<_, _>>().map(Self)
    }
}

impl<'r> FromRow<'r, SqliteRow> for AnyRow {
    fn from_row(row: &'r SqliteRow) -> Result<Self, sqlx::Error> {
        Self::read(row)
    }
}

impl<'r> FromRow<'r, PgRow> for AnyRow {
    fn from_row(row: &'r PgRow) -> Result<Self, sqlx::Error> {
        Self::read(row)
    }
}
