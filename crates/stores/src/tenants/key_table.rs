//! The table of keys in the database. The only statements on it.

use std::io;
use std::time::Duration;

use crate::database::{Database, DatabaseError};
use crate::tenants::api_key::{ApiKey, KeyOrder, StoredKey};
use crate::tenants::rights::{Right, Rights};
use crate::tenants::token::{ApiToken, KeyPrefix};
use wardian_vocabulary::ids::{Digest, TenantId};

/// The result of a revocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Revocation {
    /// The key was valid until now.
    Revoked,
    /// It was already revoked.
    Already,
    /// There is no such key.
    Unknown,
}

/// The table of keys. Commands and servers use it at the same time.
#[derive(Debug, Clone)]
pub struct KeyTable {
    database: Database,
}

/// A row: prefix, digest, tenant, name, scopes, and the times of creation, end, revocation and last
/// use.
type Row = (String, String, String, String, String, i64, Option<i64>, Option<i64>, Option<i64>);

const ALL: &str = "SELECT prefix, digest, tenant, name, scopes, created_ms, expires_ms, \
                   revoked_ms, last_used_ms FROM api_keys ORDER BY tenant, created_ms, prefix";

impl KeyTable {
    /// The table in this database.
    #[must_use]
    pub const fn new(database: Database) -> Self {
        Self { database }
    }

    /// Closes the database.
    pub async fn close(&self) {
        self.database.close().await;
    }

    /// Makes a key and stores its digest. When this returns, the key is durable.
    ///
    /// # Errors
    ///
    /// The database failed, or the operating system has no randomness.
    pub async fn create(
        &self,
        order: &KeyOrder,
        now: Duration,
    ) -> Result<(ApiToken, ApiKey), DatabaseError> {
        let token = ApiToken::generate().map_err(sqlx::Error::Io)?;
        let mut transaction = self.database.begin().await?;
        sqlx::query(
            "INSERT INTO api_keys (prefix, digest, tenant, name, scopes, created_ms, expires_ms) \
             VALUES ($1, $2, $3, $4, $5, $6, $7)",
        )
        .bind(token.prefix().as_str().to_owned())
        .bind(token.digest().to_string())
        .bind(order.tenant.as_str().to_owned())
        .bind(order.name.as_str().to_owned())
        .bind(order.rights.names().join(","))
        .bind(milliseconds(now))
        .bind(order.expires.map(milliseconds))
        .execute(&mut *transaction)
        .await?;
        sqlx::query("UPDATE key_changes SET changes = changes + 1")
            .execute(&mut *transaction)
            .await?;
        transaction.commit().await?;
        let key = ApiKey {
            prefix: token.prefix(),
            tenant: order.tenant.clone(),
            name: order.name.as_str().to_owned(),
            rights: order.rights,
            created: now,
            expires: order.expires,
            revoked: None,
            last_used: None,
        };
        Ok((token, key))
    }

    /// Lists all keys, those that ended and were revoked included.
    ///
    /// # Errors
    ///
    /// The database failed.
    pub async fn list(&self) -> Result<Vec<ApiKey>, DatabaseError> {
        Ok(self.load().await?.1.into_iter().map(|stored| stored.key).collect())
    }

    /// Revokes a key. When this returns, the revocation is durable.
    ///
    /// # Errors
    ///
    /// The database failed.
    pub async fn revoke(
        &self,
        prefix: &KeyPrefix,
        now: Duration,
    ) -> Result<Revocation, DatabaseError> {
        let mut transaction = self.database.begin().await?;
        let found: Option<Option<i64>> =
            sqlx::query_scalar("SELECT revoked_ms FROM api_keys WHERE prefix = $1")
                .bind(prefix.as_str().to_owned())
                .fetch_optional(&mut *transaction)
                .await?;
        match found {
            None => return Ok(Revocation::Unknown),
            Some(Some(_)) => return Ok(Revocation::Already),
            Some(None) => {}
        }
        sqlx::query("UPDATE api_keys SET revoked_ms = $1 WHERE prefix = $2")
            .bind(milliseconds(now))
            .bind(prefix.as_str().to_owned())
            .execute(&mut *transaction)
            .await?;
        sqlx::query("UPDATE key_changes SET changes = changes + 1")
            .execute(&mut *transaction)
            .await?;
        transaction.commit().await?;
        Ok(Revocation::Revoked)
    }

    /// The number of changes so far. Keys are the same as long as it is.
    pub(crate) async fn changes(&self) -> Result<i64, DatabaseError> {
        let changes = sqlx::query_scalar("SELECT changes FROM key_changes");
        Ok(changes.fetch_one(self.database.connections()).await?)
    }

    /// All keys, and the number of changes that led to them or to earlier ones: a change between
    /// the two statements leads to another loading.
    pub(crate) async fn load(&self) -> Result<(i64, Vec<StoredKey>), DatabaseError> {
        let changes = self.changes().await?;
        let rows: Vec<Row> = sqlx::query_as(ALL).fetch_all(self.database.connections()).await?;
        let keys = rows.into_iter().map(stored).collect::<Result<_, _>>()?;
        Ok((changes, keys))
    }

    /// Records when keys were used, in one transaction. Earlier times change nothing.
    pub(crate) async fn note_uses(
        &self,
        uses: &[(KeyPrefix, Duration)],
    ) -> Result<(), DatabaseError> {
        let mut transaction = self.database.begin().await?;
        for (prefix, time) in uses {
            sqlx::query(
                "UPDATE api_keys SET last_used_ms = $1 \
                 WHERE prefix = $2 AND (last_used_ms IS NULL OR last_used_ms < $1)",
            )
            .bind(milliseconds(*time))
            .bind(prefix.as_str().to_owned())
            .execute(&mut *transaction)
            .await?;
        }
        Ok(transaction.commit().await?)
    }
}

fn stored(row: Row) -> Result<StoredKey, DatabaseError> {
    let (prefix, digest, tenant, name, scopes, created, expires, revoked, used) = row;
    let broken = |what: &str| {
        let fault = io::Error::new(io::ErrorKind::InvalidData, format!("a {what} is malformed"));
        DatabaseError::Failed(sqlx::Error::Decode(fault.into()))
    };
    // A scope of a later version gives no right here.
    let known = |name: &str| Right::ALL.into_iter().find(|right| right.name() == name);
    let rights = scopes.split(',').filter_map(known).fold(Rights::NONE, Rights::with);
    let key = ApiKey {
        prefix: KeyPrefix::parse(&prefix).map_err(|_invalid| broken("key's prefix"))?,
        tenant: TenantId::parse(&tenant).map_err(|_invalid| broken("key's tenant"))?,
        name,
        rights,
        created: time(created),
        expires: expires.map(time),
        revoked: revoked.map(time),
        last_used: used.map(time),
    };
    let digest = Digest::parse(&digest).map_err(|_invalid| broken("key's digest"))?;
    Ok(StoredKey { key, digest })
}

fn milliseconds(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

fn time(milliseconds: i64) -> Duration {
    Duration::from_millis(u64::try_from(milliseconds).unwrap_or(0))
}
