//! Copies what one database has into another one, and compares both.
//!
//! Rows are copied in lots, each of them one transaction, in the order of their keys. A row whose key exists already
//! stays as it is, so a copy that was interrupted is repeated as a whole. Afterwards both are read side by side.

use crate::database::engine::{AnyRow, Database, DatabasePlace};
use crate::database::schema::{self, Schema};
use crate::database::statement::{Dialect, Statement, Value, statement};
use crate::database_error::DatabaseError;

/// Rows of a lot. Some have the whole log of a run.
const LOT: i64 = 32;

/// A part of what a server keeps in a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DatabasePart {
    /// Keys of callers, of tenants' blob ids, and of their sessions.
    Keys,
    /// Records of runs, and names of calls.
    Records,
}

/// A table, by the columns of its key.
#[derive(Debug, Clone, Copy)]
pub(super) struct Table {
    pub(super) name: &'static str,
    key: &'static [&'static str],
}

const KEY_TABLES: [Table; 3] = [
    Table { name: "api_keys", key: &["prefix"] },
    Table { name: "blob_id_keys", key: &["tenant"] },
    Table { name: "session_tenant_keys", key: &["tenant"] },
];

const RECORD_TABLES: [Table; 9] = [
    Table { name: "runs", key: &["tenant", "run_id"] },
    Table { name: "run_logs", key: &["tenant", "run_id"] },
    Table { name: "run_totals", key: &["tenant"] },
    Table { name: "run_titles", key: &["tenant", "run_id"] },
    Table { name: "run_blobs", key: &["tenant", "blob_id", "run_id"] },
    Table { name: "servers", key: &["server"] },
    Table { name: "detached_runs", key: &["tenant", "run_id"] },
    Table { name: "queued_runs", key: &["tenant", "run_id"] },
    Table { name: "call_names", key: &["tenant", "name"] },
];

/// What happened to a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TableProgress {
    /// Its name.
    pub table: &'static str,
    /// Rows that were looked at so far.
    pub rows: u64,
}

/// Two databases, of which the second one is to have what the first one has.
#[derive(Debug)]
pub struct DatabaseCopy {
    from: Database,
    to: Database,
    part: DatabasePart,
}

impl DatabasePart {
    pub(super) const fn schema(self) -> &'static Schema {
        match self {
            Self::Keys => &schema::KEYS,
            Self::Records => &schema::RECORDS,
        }
    }

    pub(super) const fn tables(self) -> &'static [Table] {
        match self {
            Self::Keys => &KEY_TABLES,
            Self::Records => &RECORD_TABLES,
        }
    }
}

impl DatabaseCopy {
    /// Opens both, and brings both up to date.
    ///
    /// # Errors
    ///
    /// One of them cannot be used.
    pub async fn open(
        from: &DatabasePlace,
        to: &DatabasePlace,
        part: DatabasePart,
    ) -> Result<Self, DatabaseError> {
        let from = Database::open(from, part.schema()).await?;
        let to = Database::open(to, part.schema()).await?;
        Ok(Self { from, to, part })
    }

    /// The first table in which the second database has a row that the first one has not; `None` if there is none.
    /// Nothing is changed.
    ///
    /// # Errors
    ///
    /// A database failed.
    pub async fn first_surplus(&self) -> Result<Option<&'static str>, DatabaseError> {
        for table in self.part.tables() {
            if self.count(&self.to, table).await? > self.count(&self.from, table).await? {
                return Ok(Some(table.name));
            }
        }
        Ok(None)
    }

    /// Copies all rows that the second database does not have.
    ///
    /// # Errors
    ///
    /// A database failed. What was told is copied.
    pub async fn copy(
        &self,
        told: &mut (dyn FnMut(TableProgress) + Send),
    ) -> Result<(), DatabaseError> {
        for table in self.part.tables() {
            let (mut after, mut rows) = (None, 0_u64);
            loop {
                let lot = self.lot(&self.from, table, after.as_ref()).await?;
                let Some(last) = lot.last() else { break };
                after = Some(last.values_of(table.key));
                rows = rows.saturating_add(u64::try_from(lot.len()).unwrap_or(u64::MAX));
                let mut writing = self.to.begin().await?;
                writing.execute(insertion(writing.dialect(), table, &lot)).await?;
                writing.commit().await?;
                told(TableProgress { table: table.name, rows });
            }
        }
        if self.part == DatabasePart::Keys {
            // Servers that follow the keys notice a change by this number.
            self.to.execute(statement("UPDATE key_changes SET changes = changes + 1")).await?;
        }
        Ok(())
    }

    /// Reads both side by side, and returns the first table in which they differ; `None` if they are equal.
    ///
    /// # Errors
    ///
    /// A database failed.
    pub async fn first_difference(
        &self,
        told: &mut (dyn FnMut(TableProgress) + Send),
    ) -> Result<Option<&'static str>, DatabaseError> {
        for table in self.part.tables() {
            let (mut after, mut rows) = (None, 0_u64);
            loop {
                let one = self.lot(&self.from, table, after.as_ref()).await?;
                let other = self.lot(&self.to, table, after.as_ref()).await?;
                let are_equal = one.len() == other.len()
                    && one.iter().zip(&other).all(|(one, other)| one.is_like(other));
                if !are_equal {
                    return Ok(Some(table.name));
                }
                let Some(last) = one.last() else { break };
                after = Some(last.values_of(table.key));
                rows = rows.saturating_add(u64::try_from(one.len()).unwrap_or(u64::MAX));
                told(TableProgress { table: table.name, rows });
            }
        }
        Ok(None)
    }

    /// Closes both.
    pub async fn close(&self) {
        self.from.close().await;
        self.to.close().await;
    }

    async fn count(&self, of: &Database, table: &Table) -> Result<i64, DatabaseError> {
        let text = format!("SELECT COUNT(*) FROM {}", table.name);
        let (count,): (i64,) = of.fetch_one(Statement::building(of.dialect(), &text)).await?;
        Ok(count)
    }

    /// The rows of a table from the first one behind this key.
    async fn lot(
        &self,
        of: &Database,
        table: &Table,
        after: Option<&Vec<Value>>,
    ) -> Result<Vec<AnyRow>, DatabaseError> {
        let (name, key) = (table.name, table.key.join(", "));
        let mut lot = Statement::building(of.dialect(), &format!("SELECT * FROM {name}"));
        if let Some(after) = after {
            lot.push(&format!(" WHERE ({key}) > ("));
            push_values(&mut lot, after.iter().cloned());
            lot.push(")");
        }
        lot.push(&format!(" ORDER BY {key} LIMIT ")).push_value(LOT);
        of.fetch_all(lot).await
    }
}

fn push_values(into: &mut Statement, values: impl Iterator<Item = Value>) {
    for (place, value) in values.enumerate() {
        if place > 0 {
            into.push(", ");
        }
        into.push_value(value);
    }
}

/// The statement that adds rows, except those whose keys exist.
fn insertion(dialect: Dialect, table: &Table, rows: &[AnyRow]) -> Statement {
    let names = rows.first().map(|row| row.names().join(", ")).unwrap_or_default();
    let mut insertion =
        Statement::building(dialect, &format!("INSERT INTO {} ({names}) VALUES ", table.name));
    for (at, row) in rows.iter().enumerate() {
        insertion.push(if at == 0 { "(" } else { ", (" });
        push_values(&mut insertion, row.values().cloned());
        insertion.push(")");
    }
    insertion.push(" ON CONFLICT DO NOTHING");
    insertion
}
