//! Keys of callers.

use async_trait::async_trait;

use crate::database::engine::Database;
use crate::database::numbers::{count, number};
use crate::database::statement::statement;
use crate::database_error::DatabaseError;
use crate::tenants::Revocation;
use crate::tenants::key_table::{KeyRow, KeyStore};

/// The table of keys in a database.
#[derive(Debug, Clone)]
pub(in crate::database) struct CallerKeys {
    database: Database,
}

/// Prefix, digest, tenant, name, scopes, and the times of creation, end, revocation and last use.
type Columns = (String, String, String, String, String, i64, Option<i64>, Option<i64>, Option<i64>);

const ALL: &str = "SELECT prefix, digest, tenant, name, scopes, created_ms, expires_ms, \
                   revoked_ms, last_used_ms FROM api_keys ORDER BY tenant, created_ms, prefix";

const ADD: &str = "INSERT INTO api_keys (prefix, digest, tenant, name, scopes, created_ms, expires_ms, \
                   revoked_ms, last_used_ms) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)";

/// Of two that revoke a key at once, one finds it valid.
const REVOKE: &str = "UPDATE api_keys SET revoked_ms = $1 WHERE prefix = $2 AND revoked_ms IS NULL";

const USED: &str = "UPDATE api_keys SET last_used_ms = $1 \
                    WHERE prefix = $2 AND (last_used_ms IS NULL OR last_used_ms < $1)";

const COUNT_CHANGE: &str = "UPDATE key_changes SET changes = changes + 1";

impl CallerKeys {
    /// The table in this database.
    pub(in crate::database) const fn new(database: Database) -> Self {
        Self { database }
    }
}

#[async_trait]
impl KeyStore for CallerKeys {
    async fn add(&self, key: &KeyRow) -> Result<(), DatabaseError> {
        let mut transaction = self.database.begin().await?;
        let add = statement(ADD)
            .bind(key.prefix.as_str())
            .bind(key.digest.as_str())
            .bind(key.tenant.as_str())
            .bind(key.name.as_str())
            .bind(key.scopes.as_str())
            .bind(number(key.created_ms))
            .bind(key.expires_ms.map(number))
            .bind(key.revoked_ms.map(number))
            .bind(key.last_used_ms.map(number));
        transaction.execute(add).await?;
        transaction.execute(statement(COUNT_CHANGE)).await?;
        transaction.commit().await
    }

    async fn revoke(&self, prefix: &str, now_ms: u64) -> Result<Revocation, DatabaseError> {
        let mut transaction = self.database.begin().await?;
        let revoke = statement(REVOKE).bind(number(now_ms)).bind(prefix);
        if transaction.execute(revoke).await? > 0 {
            transaction.execute(statement(COUNT_CHANGE)).await?;
            transaction.commit().await?;
            return Ok(Revocation::Revoked);
        }
        let exists = statement("SELECT prefix FROM api_keys WHERE prefix = $1").bind(prefix);
        let exists: Option<(String,)> = transaction.fetch_optional(exists).await?;
        Ok(if exists.is_some() { Revocation::Already } else { Revocation::Unknown })
    }

    async fn changes(&self) -> Result<i64, DatabaseError> {
        let changes = statement("SELECT changes FROM key_changes");
        Ok(self.database.fetch_one::<(i64,)>(changes).await?.0)
    }

    async fn all(&self) -> Result<Vec<KeyRow>, DatabaseError> {
        let rows: Vec<Columns> = self.database.fetch_all(statement(ALL)).await?;
        Ok(rows.into_iter().map(row).collect())
    }

    async fn note_uses(&self, uses: &[(String, u64)]) -> Result<(), DatabaseError> {
        // In one order, so that servers that note the same keys wait for each other and do not block.
        let mut uses: Vec<&(String, u64)> = uses.iter().collect();
        uses.sort_unstable();
        let mut transaction = self.database.begin().await?;
        for (prefix, time_ms) in uses {
            let used = statement(USED).bind(number(*time_ms)).bind(prefix.as_str());
            transaction.execute(used).await?;
        }
        transaction.commit().await
    }

    async fn close(&self) {
        self.database.close().await;
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
