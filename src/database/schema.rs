//! The schema: one script for each version, applied in their order.

use crate::database::Database;

/// Scripts that lead from one version to the next. A script that was released never changes; what
/// is new is appended.
pub(super) const SCRIPTS: [&str; 1] = [include_str!("schema/1_keys.sql")];

/// The version that this program works with: the number of scripts.
pub(super) const VERSION: i64 = 1;

/// Brings the schema up to date. Returns the version of the schema, which stays as it is if it is
/// later than [`VERSION`].
///
/// All scripts are one transaction, so a version is applied as a whole or not at all, and two
/// processes that start at once apply it once.
pub(super) async fn update(database: &Database) -> Result<i64, sqlx::Error> {
    let mut transaction = database.begin().await?;
    sqlx::query("CREATE TABLE IF NOT EXISTS schema_version (version BIGINT NOT NULL)")
        .execute(&mut *transaction)
        .await?;
    let found: Option<i64> = sqlx::query_scalar("SELECT MAX(version) FROM schema_version")
        .fetch_one(&mut *transaction)
        .await?;
    let found = found.unwrap_or(0);
    if found >= VERSION {
        transaction.rollback().await?;
        return Ok(found);
    }
    for script in SCRIPTS.iter().skip(usize::try_from(found).unwrap_or(0)) {
        sqlx::raw_sql(*script).execute(&mut *transaction).await?;
    }
    sqlx::query("DELETE FROM schema_version").execute(&mut *transaction).await?;
    sqlx::query("INSERT INTO schema_version (version) VALUES ($1)")
        .bind(VERSION)
        .execute(&mut *transaction)
        .await?;
    transaction.commit().await?;
    Ok(VERSION)
}
