//! The keys of tenants, under which the keys of their sessions are kept.
//!
//! INVARIANT(kept-session-keys): a key is durable before anything is wrapped with it, and is never
//! replaced, also if two servers make one at the same time. A key that does not fit its checksum is an
//! error.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use data_encoding::BASE64;
use zeroize::Zeroizing;

use crate::database_error::DatabaseError;
use wardian_vocabulary::crypto::fill_random;
use wardian_vocabulary::ids::{Digest, TenantId};

/// Bytes of a key.
pub const SESSION_KEY_LENGTH: usize = 32;

/// The prefix of the bytes whose hash is the checksum of a key.
const CHECKSUM_DOMAIN: &[u8] = b"wardian session key 1\0";

/// What the keys of tenants need of a database: the statements, each of them one transaction, which is
/// durable when it returns. Each fails if the database does.
#[async_trait]
pub(crate) trait TenantKeyStore: fmt::Debug + Send + Sync {
    /// The row of a tenant.
    async fn find(&self, tenant: &TenantId) -> Result<Option<TenantKeyRow>, DatabaseError>;

    /// Adds a row for a tenant unless it has one. Returns the row that it has.
    async fn keep(
        &self,
        tenant: &TenantId,
        row: &TenantKeyRow,
    ) -> Result<TenantKeyRow, DatabaseError>;
}

/// A key as a database holds it.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct TenantKeyRow {
    /// The key in base64.
    pub(crate) key: String,
    /// The checksum of the key.
    pub(crate) checksum: String,
}

/// Shows no key.
impl fmt::Debug for TenantKeyRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TenantKeyRow").finish_non_exhaustive()
    }
}

/// The table of the keys in a database. Clones share it.
#[derive(Debug, Clone)]
pub struct TenantSessionKeys {
    store: Arc<dyn TenantKeyStore>,
}

impl TenantSessionKeys {
    /// The table in this database.
    pub(crate) fn new(store: Arc<dyn TenantKeyStore>) -> Self {
        Self { store }
    }

    /// The key of a tenant; `None` if it has none yet.
    ///
    /// # Errors
    ///
    /// The database failed, or the key is damaged.
    pub async fn find(
        &self,
        tenant: &TenantId,
    ) -> Result<Option<Zeroizing<[u8; SESSION_KEY_LENGTH]>>, DatabaseError> {
        self.store.find(tenant).await?.map(|row| checked(&row)).transpose()
    }

    /// The key of a tenant, which is made if it has none.
    ///
    /// # Errors
    ///
    /// As [`find`](Self::find), and the operating system has no randomness.
    pub async fn ensure(
        &self,
        tenant: &TenantId,
    ) -> Result<Zeroizing<[u8; SESSION_KEY_LENGTH]>, DatabaseError> {
        if let Some(key) = self.find(tenant).await? {
            return Ok(key);
        }
        let mut key = Zeroizing::new([0; SESSION_KEY_LENGTH]);
        fill_random(key.as_mut_slice()).map_err(DatabaseError::failed)?;
        let row = TenantKeyRow {
            key: BASE64.encode(key.as_slice()),
            checksum: checksum_of(&key).to_string(),
        };
        checked(&self.store.keep(tenant, &row).await?)
    }
}

/// The key in a row, if it fits its checksum.
fn checked(row: &TenantKeyRow) -> Result<Zeroizing<[u8; SESSION_KEY_LENGTH]>, DatabaseError> {
    let bytes = BASE64.decode(row.key.as_bytes()).map(Zeroizing::new).ok();
    let key = bytes.and_then(|bytes| bytes.as_slice().try_into().ok()).map(Zeroizing::new);
    key.filter(|key| checksum_of(key).to_string() == row.checksum).ok_or_else(|| {
        DatabaseError::failed(
            "the key of a tenant's sessions is damaged in the database of keys; restore it from a \
             backup",
        )
    })
}

/// The checksum of a key.
fn checksum_of(key: &[u8; SESSION_KEY_LENGTH]) -> Digest {
    Digest::of(&Zeroizing::new([CHECKSUM_DOMAIN, key.as_slice()].concat()))
}

#[cfg(test)]
mod tests {
    use parking_lot::Mutex;
    use tokio::task::JoinSet;

    use super::*;
    use crate::database::open_key_database;
    use wardian_vocabulary::error::CauseChain;

    fn acme() -> TenantId {
        TenantId::parse("acme").unwrap()
    }

    #[tokio::test]
    async fn kept_session_keys_are_those_of_the_first_of_many_writers() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("wardian.db");
        let mut writers = JoinSet::new();
        for _ in 0..4 {
            let keys = open_key_database(&path).await.unwrap().sessions;
            writers.spawn(async move { keys.ensure(&acme()).await.unwrap().to_vec() });
        }
        let made = writers.join_all().await;
        assert!(made.iter().all(|key| *key == made[0] && key.iter().any(|byte| *byte != 0)));
        let keys = open_key_database(&path).await.unwrap().sessions;
        assert_eq!(keys.find(&acme()).await.unwrap().unwrap().as_slice(), made[0]);
        let beta = TenantId::parse("beta").unwrap();
        assert!(keys.find(&beta).await.unwrap().is_none());
        assert_ne!(keys.ensure(&beta).await.unwrap().as_slice(), made[0]);
    }

    /// A table of one row.
    #[derive(Debug, Default)]
    struct OneRow(Mutex<Option<TenantKeyRow>>);

    #[async_trait]
    impl TenantKeyStore for OneRow {
        async fn find(&self, _: &TenantId) -> Result<Option<TenantKeyRow>, DatabaseError> {
            Ok(self.0.lock().clone())
        }

        async fn keep(
            &self,
            _: &TenantId,
            row: &TenantKeyRow,
        ) -> Result<TenantKeyRow, DatabaseError> {
            Ok(self.0.lock().get_or_insert_with(|| row.clone()).clone())
        }
    }

    #[tokio::test]
    async fn a_damaged_key_is_an_error_and_is_not_replaced() {
        let store = Arc::new(OneRow::default());
        let keys = TenantSessionKeys::new(store.clone());
        let key = keys.ensure(&acme()).await.unwrap();
        let row = store.0.lock().clone().unwrap();
        for byte in 0..SESSION_KEY_LENGTH {
            let mut other = key.to_vec();
            other[byte] ^= 1;
            let damaged = TenantKeyRow { key: BASE64.encode(&other), ..row.clone() };
            *store.0.lock() = Some(damaged.clone());
            let fault = keys.ensure(&acme()).await.unwrap_err();
            assert!(CauseChain(&fault).to_string().contains("restore it from a backup"));
            assert_eq!(*store.0.lock(), Some(damaged));
        }
        for text in ["", "?", "AAAA"] {
            *store.0.lock() = Some(TenantKeyRow { key: text.to_owned(), ..row.clone() });
            assert!(keys.find(&acme()).await.is_err(), "{text}");
        }
        *store.0.lock() = Some(row);
        assert_eq!(keys.find(&acme()).await.unwrap(), Some(key));
    }
}
