//! The table of keys.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use crate::database_error::DatabaseError;
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

/// What keys need of a database: the statements, each of them one transaction, which is durable when it
/// returns. Each fails if the database does.
#[async_trait]
pub(crate) trait KeyStore: fmt::Debug + Send + Sync {
    /// Adds a key, which counts as a change.
    async fn add(&self, key: &KeyRow) -> Result<(), DatabaseError>;

    /// Revokes a key, which counts as a change unless it was revoked before.
    async fn revoke(&self, prefix: &str, now_ms: u64) -> Result<Revocation, DatabaseError>;

    /// The number of changes so far.
    async fn changes(&self) -> Result<i64, DatabaseError>;

    /// All keys, by tenant, creation and prefix.
    async fn all(&self) -> Result<Vec<KeyRow>, DatabaseError>;

    /// Records when keys were used, by prefix. Earlier times than those that are known change nothing.
    async fn note_uses(&self, uses: &[(String, u64)]) -> Result<(), DatabaseError>;

    /// Closes the database.
    async fn close(&self);
}

/// A key as a database holds it. Times are milliseconds since the Unix epoch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KeyRow {
    pub(crate) prefix: String,
    pub(crate) digest: String,
    pub(crate) tenant: String,
    pub(crate) name: String,
    /// Names of rights, separated by commas.
    pub(crate) scopes: String,
    pub(crate) created_ms: u64,
    pub(crate) expires_ms: Option<u64>,
    pub(crate) revoked_ms: Option<u64>,
    pub(crate) last_used_ms: Option<u64>,
}

/// The table of keys. Commands and servers use it at the same time. Clones share one database.
#[derive(Debug, Clone)]
pub struct KeyTable {
    store: Arc<dyn KeyStore>,
}

impl KeyTable {
    /// The table in this database.
    pub(crate) fn new(store: Arc<dyn KeyStore>) -> Self {
        Self { store }
    }

    /// Closes the database.
    pub async fn close(&self) {
        self.store.close().await;
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
        let token = ApiToken::generate().map_err(DatabaseError::failed)?;
        let row = KeyRow {
            prefix: token.prefix().as_str().to_owned(),
            digest: token.digest().to_string(),
            tenant: order.tenant.as_str().to_owned(),
            name: order.name.as_str().to_owned(),
            scopes: order.rights.names().join(","),
            created_ms: milliseconds(now),
            expires_ms: order.expires.map(milliseconds),
            revoked_ms: None,
            last_used_ms: None,
        };
        self.store.add(&row).await?;
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
        self.store.revoke(prefix.as_str(), milliseconds(now)).await
    }

    /// The number of changes so far. Keys are the same as long as it is.
    pub(crate) async fn changes(&self) -> Result<i64, DatabaseError> {
        self.store.changes().await
    }

    /// All keys, and the number of changes that led to them or to earlier ones: a change between
    /// the two statements leads to another loading.
    pub(crate) async fn load(&self) -> Result<(i64, Vec<StoredKey>), DatabaseError> {
        let changes = self.changes().await?;
        let rows = self.store.all().await?;
        let keys = rows.into_iter().map(stored).collect::<Result<_, _>>()?;
        Ok((changes, keys))
    }

    /// Records when keys were used, in one transaction. Earlier times change nothing.
    pub(crate) async fn note_uses(
        &self,
        uses: &[(KeyPrefix, Duration)],
    ) -> Result<(), DatabaseError> {
        let use_of = |(prefix, time): &(KeyPrefix, Duration)| {
            (prefix.as_str().to_owned(), milliseconds(*time))
        };
        self.store.note_uses(&uses.iter().map(use_of).collect::<Vec<_>>()).await
    }
}

fn stored(row: KeyRow) -> Result<StoredKey, DatabaseError> {
    let broken = |what: &str| {
        let fault = io::Error::new(io::ErrorKind::InvalidData, format!("a {what} is malformed"));
        DatabaseError::failed(fault)
    };
    // A scope of a later version gives no right here.
    let known = |name: &str| Right::ALL.into_iter().find(|right| right.name() == name);
    let rights = row.scopes.split(',').filter_map(known).fold(Rights::NONE, Rights::with);
    let key = ApiKey {
        prefix: KeyPrefix::parse(&row.prefix).map_err(|_invalid| broken("key's prefix"))?,
        tenant: TenantId::parse(&row.tenant).map_err(|_invalid| broken("key's tenant"))?,
        name: row.name,
        rights,
        created: Duration::from_millis(row.created_ms),
        expires: row.expires_ms.map(Duration::from_millis),
        revoked: row.revoked_ms.map(Duration::from_millis),
        last_used: row.last_used_ms.map(Duration::from_millis),
    };
    let digest = Digest::parse(&row.digest).map_err(|_invalid| broken("key's digest"))?;
    Ok(StoredKey { key, digest })
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
