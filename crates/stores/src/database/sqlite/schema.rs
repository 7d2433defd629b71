//! Brings the schema of a file up to date.

use sqlx::SqlitePool;

use crate::database::schema::Schema;

/// Begins a transaction that writes. SQLite then waits for other writers at the beginning, where
/// waiting is safe, and not in the middle.
pub(super) const BEGIN: &str = "BEGIN IMMEDIATE";

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
