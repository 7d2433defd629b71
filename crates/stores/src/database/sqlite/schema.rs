//! The schema of a file: one script for each version, applied in their order.

use sqlx::SqlitePool;

/// Begins a transaction that writes. SQLite then waits for other writers at the beginning, where
/// waiting is safe, and not in the middle.
pub(super) const BEGIN: &str = "BEGIN IMMEDIATE";

/// The schema of one kind of file, and how durable its changes are.
#[derive(Debug, Clone, Copy)]
pub(super) struct Schema {
    /// Scripts that lead from one version to the next. A script that was released never changes;
    /// what is new is appended.
    pub(super) scripts: &'static [&'static str],
    /// The content of the file, for messages.
    pub(super) content: &'static str,
    /// How durable a committed change is.
    pub(super) durability: Durability,
}

/// The events that a committed change survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Durability {
    /// A kill of the process. A loss of power may undo the last changes; it damages nothing.
    SurvivesKill,
    /// A kill of the process, and a loss of power.
    SurvivesPowerLoss,
}

/// The schema of the database of keys.
pub(super) const KEYS: Schema = Schema {
    scripts: &[
        include_str!("keys.sql"),
        include_str!("sessions/tenant_keys.sql"),
        include_str!("keys_2.sql"),
    ],
    content: "keys",
    durability: Durability::SurvivesPowerLoss,
};

/// The schema of the database of records. A loss of power can lose the records of its last moments; a
/// kill of the server costs none that was written.
pub(super) const RECORDS: Schema = Schema {
    scripts: &[include_str!("records/schema.sql")],
    content: "records of runs",
    durability: Durability::SurvivesKill,
};

/// The schema of the database of sessions. Its cells may be written through a connection that waits for
/// the disk later.
pub(super) const SESSIONS: Schema = Schema {
    scripts: &[include_str!("sessions/schema.sql"), include_str!("sessions/schema_2.sql")],
    content: "sessions",
    durability: Durability::SurvivesPowerLoss,
};

impl Schema {
    /// The version that this program works with: the number of scripts.
    #[must_use]
    pub(super) fn version(&self) -> i64 {
        i64::try_from(self.scripts.len()).unwrap_or(i64::MAX)
    }
}

/// Brings the schema up to date. Returns the version of the schema, which stays as it is if it is
/// later than that of `schema`.
///
/// All scripts are one transaction, so a version is applied as a whole or not at all, and two
/// processes that start at once apply it once.
pub(super) async fn update(pool: &SqlitePool, schema: &Schema) -> Result<i64, sqlx::Error> {
    let version = schema.version();
    let mut transaction = pool.begin_with(BEGIN).await?;
    sqlx::query("CREATE TABLE IF NOT EXISTS schema_version (version BIGINT NOT NULL)")
        .execute(&mut *transaction)
        .await?;
    let found: Option<i64> = sqlx::query_scalar("SELECT MAX(version) FROM schema_version")
        .fetch_one(&mut *transaction)
        .await?;
    let found = found.unwrap_or(0);
    if found >= version {
        transaction.rollback().await?;
        return Ok(found);
    }
    for script in schema.scripts.iter().skip(usize::try_from(found).unwrap_or(0)) {
        sqlx::raw_sql(*script).execute(&mut *transaction).await?;
    }
    sqlx::query("DELETE FROM schema_version").execute(&mut *transaction).await?;
    sqlx::query("INSERT INTO schema_version (version) VALUES ($1)")
        .bind(version)
        .execute(&mut *transaction)
        .await?;
    transaction.commit().await?;
    Ok(version)
}
