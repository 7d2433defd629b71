//! Brings a part of a database up to date, or finds why it cannot be used.

use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Connection as _};

use crate::database::postgres::error::{STANDBY, refusal};
use crate::database::schema::Schema;
use crate::database_error::DatabaseError;

/// The first version of PostgreSQL that is known to work, as `server_version_num` has it.
const OLDEST: i64 = 150_000;

/// The lock under which servers that start at once change the schema one after the other. Any number, as long
/// as nobody else has it.
const LOCK: i64 = 0x7761_7264_6961_6e31;

const FACTS: &str = "SELECT CAST(current_setting('server_version_num') AS BIGINT), \
     pg_is_in_recovery() OR current_setting('transaction_read_only') = 'on', \
     current_setting('synchronous_commit'), current_setting('server_encoding')";

const VERSIONS: &str = "CREATE TABLE IF NOT EXISTS wardian_schema \
     (part TEXT COLLATE \"C\" NOT NULL PRIMARY KEY, version BIGINT NOT NULL)";

/// What became of the schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Updated {
    /// It is up to date.
    Done,
    /// A later version of Wardian made or changed it.
    Newer(i64),
    /// PostgreSQL itself is too old.
    TooOld,
    /// The server only reads.
    ReadsOnly,
    /// A commit could be lost that was answered.
    Unsynced,
    /// Texts are not kept as UTF-8.
    NotUtf8,
    /// The user may read the tables and not change them.
    NoRights,
}

impl Updated {
    /// The error of a database that cannot be used.
    pub(super) fn into_result(self, place: &str, schema: &Schema) -> Result<(), DatabaseError> {
        let refused = |advice| Err(refusal(place, advice, None));
        match self {
            Self::Done => Ok(()),
            Self::Newer(found) => Err(DatabaseError::NewerSchema {
                place: format!("{place} ({})", schema.content),
                found,
                known: schema.version(),
            }),
            Self::TooOld => refused("it is older than PostgreSQL 15: use 15 to 18"),
            Self::ReadsOnly => refused(STANDBY),
            Self::Unsynced => refused(
                "its `synchronous_commit` is off, so it could lose what was acknowledged: set it to \
                 `on` for this user (`ALTER ROLE … SET synchronous_commit = on`)",
            ),
            Self::NotUtf8 => refused("its encoding is not UTF8: create it with `ENCODING 'UTF8'`"),
            Self::NoRights => refused(
                "this user may read its tables and not change them: make it the owner of the \
                 database",
            ),
        }
    }
}

/// Brings a part up to date. All scripts are one transaction, so a version is applied as a whole or not at
/// all, and servers that start at once apply it once.
pub(super) async fn update(
    connection: &mut PgConnection,
    schema: &Schema,
) -> Result<Updated, sqlx::Error> {
    // What is dropped before the commit changes nothing.
    let mut transaction = connection.begin().await?;
    let facts = sqlx::query_as(FACTS).persistent(false);
    let (version, only_reads, commits, encoding): (i64, bool, String, String) =
        facts.fetch_one(&mut *transaction).await?;
    if let Some(fault) = fault_of(version, only_reads, &commits, &encoding) {
        return Ok(fault);
    }
    let lock = sqlx::query("SELECT pg_advisory_xact_lock($1)").bind(LOCK).persistent(false);
    lock.execute(&mut *transaction).await?;
    let exists = "SELECT to_regclass('wardian_schema') IS NOT NULL";
    let exists = sqlx::query_scalar(exists).persistent(false);
    if !exists.fetch_one(&mut *transaction).await? {
        sqlx::raw_sql(VERSIONS).execute(&mut *transaction).await?;
    }
    let found = "SELECT MAX(version) FROM wardian_schema WHERE part = $1";
    let found = sqlx::query_scalar(found).bind(schema.part).persistent(false);
    let found: Option<i64> = found.fetch_one(&mut *transaction).await?;
    let (found, known) = (found.unwrap_or(0), schema.version());
    if found > known {
        return Ok(Updated::Newer(found));
    }
    if found == known {
        let may = "SELECT has_table_privilege('wardian_schema', 'UPDATE')";
        let may = sqlx::query_scalar(may).persistent(false).fetch_one(&mut *transaction).await?;
        return Ok(if may { Updated::Done } else { Updated::NoRights });
    }
    for script in schema.scripts.iter().skip(usize::try_from(found).unwrap_or(0)) {
        sqlx::raw_sql(AssertSqlSafe(in_order_of_bytes(script))).execute(&mut *transaction).await?;
    }
    sqlx::query(
        "INSERT INTO wardian_schema (part, version) VALUES ($1, $2) \
         ON CONFLICT (part) DO UPDATE SET version = excluded.version",
    )
    .bind(schema.part)
    .bind(known)
    .persistent(false)
    .execute(&mut *transaction)
    .await?;
    transaction.commit().await?;
    Ok(Updated::Done)
}

/// Texts sort by their bytes, as they do in SQLite and in the program: ids of runs, and names of tenants.
fn in_order_of_bytes(script: &str) -> String {
    script.replace("TEXT", "TEXT COLLATE \"C\"")
}

fn fault_of(version: i64, only_reads: bool, commits: &str, encoding: &str) -> Option<Updated> {
    if version < OLDEST {
        return Some(Updated::TooOld);
    }
    if only_reads {
        return Some(Updated::ReadsOnly);
    }
    if commits == "off" {
        return Some(Updated::Unsynced);
    }
    (encoding != "UTF8").then_some(Updated::NotUtf8)
}
