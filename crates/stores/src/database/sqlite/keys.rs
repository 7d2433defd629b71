//! Keys in SQLite.

use async_trait::async_trait;

use crate::database::sqlite::connections::SqliteFile;
use crate::database::sqlite::numbers::{count, number};
use crate::database_error::DatabaseError;
use crate::tenants::Revocation;
use crate::tenants::key_table::{KeyRow, KeyStore};

/// The table of keys in a file.
#[derive(Debug, Clone)]
pub(super) struct SqliteKeys {
    file: SqliteFile,
}

/// Prefix, digest, tenant, name, scopes, and the times of creation, end, revocation and last use.
type Columns = (String, String, String, String, String, i64, Option<i64>, Option<i64>, Option<i64>);

const ALL: &str = "SELECT prefix, digest, tenant, name, scopes, created_ms, expires_ms, \
                   revoked_ms, last_used_ms FROM api_keys ORDER BY tenant, created_ms, prefix";

const COUNT_CHANGE: &str = "UPDATE key_changes SET changes = changes + 1";

impl SqliteKeys {
    /// The table in this file.
    pub(super) const fn new(file: SqliteFile) -> Self {
        Self { file }
    }
}

#[async_trait]
impl KeyStore for SqliteKeys {
    async fn add(&self, key: &KeyRow) -> Result<(), DatabaseError> {
        let mut transaction = self.file.begin().await?;
        sqlx::query(
            "INSERT INTO api_keys (prefix, digest, tenant, name, scopes, created_ms, expires_ms, \
             revoked_ms, last_used_ms) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
        )
        .bind(key.prefix.clone())
        .bind(key.digest.clone())
        .bind(key.tenant.clone())
        .bind(key.name.clone())
        .bind(key.scopes.clone())
        .bind(number(key.created_ms))
        .bind(key.expires_ms.map(number))
        .bind(key.revoked_ms.map(number))
        .bind(key.last_used_ms.map(number))
        .execute(&mut *transaction)
        .await?;
        sqlx::query(COUNT_CHANGE).execute(&mut *transaction).await?;
        Ok(transaction.commit().await?)
    }

    async fn revoke(&self, prefix: &str, now_ms: u64) -> Result<Revocation, DatabaseError> {
        let mut transaction = self.file.begin().await?;
        let found: Option<(Option<i64>,)> =
            sqlx::query_as("SELECT revoked_ms FROM api_keys WHERE prefix = $1")
                .bind(prefix.to_owned())
                .fetch_optional(&mut *transaction)
                .await?;
        match found {
            None => return Ok(Revocation::Unknown),
            Some((Some(_),)) => return Ok(Revocation::Already),
            Some((None,)) => {}
        }
        sqlx::query("UPDATE api_keys SET revoked_ms = $1 WHERE prefix = $2")
            .bind(number(now_ms))
            .bind(prefix.to_owned())
            .execute(&mut *transaction)
            .await?;
        sqlx::query(COUNT_CHANGE).execute(&mut *transaction).await?;
        transaction.commit().await?;
        Ok(Revocation::Revoked)
    }

    async fn changes(&self) -> Result<i64, DatabaseError> {
        let changes = sqlx::query_scalar("SELECT changes FROM key_changes");
        Ok(changes.fetch_one(self.file.connections()).await?)
    }

    async fn all(&self) -> Result<Vec<KeyRow>, DatabaseError> {
        let rows: Vec<Columns> = sqlx::query_as(ALL).fetch_all(self.file.connections()).await?;
        Ok(rows.into_iter().map(row).collect())
    }

    async fn note_uses(&self, uses: &[(String, u64)]) -> Result<(), DatabaseError> {
        let mut transaction = self.file.begin().await?;
        for (prefix, time_ms) in uses {
            sqlx::query(
                "UPDATE api_keys SET last_used_ms = $1 \
                 WHERE prefix = $2 AND (last_used_ms IS NULL OR last_used_ms < $1)",
            )
            .bind(number(*time_ms))
            .bind(prefix.clone())
            .execute(&mut *transaction)
            .await?;
        }
        Ok(transaction.commit().await?)
    }

    async fn close(&self) {
        self.file.close().await;
    }
}

fn row(columns: Columns) -> KeyRow {
    let (prefix, digest, tenant, name, scopes, created, expires, revoked, used) = columns;
    KeyRow {
        prefix,
        digest,
        tenant,
        name,
        scopes,
        created_ms: count(created),
        expires_ms: expires.map(count),
        revoked_ms: revoked.map(count),
        last_used_ms: used.map(count),
    }
}
