//! The table of the keys of tenants' blob ids.
//!
//! INVARIANT(kept-keys): a key is durable before an id that was made with it, and is never replaced,
//! also if two servers make one at the same time. A key that does not fit its checksum is an error.

use std::fmt;
use std::io;
use std::sync::Arc;

use async_trait::async_trait;
use data_encoding::BASE64;
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::blobs::content::blob_id::BlobIdKey;
use crate::blobs::error::BlobError;
use crate::blobs::id_keys::BlobIdKeys;
use crate::blobs::store::BlobFuture;
use crate::database_error::DatabaseError;
use wardian_vocabulary::ids::{Digest, TenantId};

/// The prefix of the bytes whose hash is the checksum of a key.
const CHECKSUM_DOMAIN: &[u8] = b"wardian blob id key 1\0";

/// What the keys of blob ids need of a database: the statements, each of them one transaction, which is
/// durable when it returns. Each fails if the database does.
#[async_trait]
pub(crate) trait IdKeyStore: fmt::Debug + Send + Sync {
    /// The row of a tenant.
    async fn find(&self, tenant: &TenantId) -> Result<Option<IdKeyRow>, DatabaseError>;

    /// Adds a row for a tenant unless it has one. Returns the row that it has.
    async fn keep(&self, tenant: &TenantId, row: &IdKeyRow) -> Result<IdKeyRow, DatabaseError>;
}

/// A key as a database holds it, and an object store.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct IdKeyRow {
    /// The key in base64.
    pub(crate) id_key: String,
    /// The checksum of the key.
    pub(crate) checksum: String,
}

impl IdKeyRow {
    /// A key with its checksum.
    pub(crate) fn of(key: &BlobIdKey) -> Self {
        let (id_key, checksum) = (BASE64.encode(key.as_bytes()), checksum_of(key.as_bytes()));
        Self { id_key, checksum: checksum.to_string() }
    }

    /// The key, if it fits its checksum.
    pub(crate) fn checked(&self) -> Result<BlobIdKey, BlobError> {
        let bytes =
            BASE64.decode(self.id_key.as_bytes()).map(Zeroizing::new).map_err(|_none| damaged())?;
        let bytes =
            <&[u8; BlobIdKey::LENGTH]>::try_from(bytes.as_slice()).map_err(|_other| damaged())?;
        if checksum_of(bytes).to_string() != self.checksum {
            return Err(damaged());
        }
        Ok(BlobIdKey::from_bytes(bytes))
    }
}

/// Shows no key.
impl fmt::Debug for IdKeyRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IdKeyRow").finish_non_exhaustive()
    }
}

/// The table of keys in a database. Clones share it.
#[derive(Debug, Clone)]
pub struct BlobIdKeyTable {
    store: Arc<dyn IdKeyStore>,
}

impl BlobIdKeyTable {
    /// The table in this database.
    pub(crate) fn new(store: Arc<dyn IdKeyStore>) -> Self {
        Self { store }
    }
}

impl BlobIdKeys for BlobIdKeyTable {
    fn find<'a>(&'a self, tenant: &'a TenantId) -> BlobFuture<'a, Option<BlobIdKey>> {
        Box::pin(async move {
            let found = self.store.find(tenant).await.map_err(BlobError::from_database("read"))?;
            found.map(|row| row.checked()).transpose()
        })
    }

    fn keep<'a>(&'a self, tenant: &'a TenantId, key: BlobIdKey) -> BlobFuture<'a, BlobIdKey> {
        Box::pin(async move {
            let kept = self.store.keep(tenant, &IdKeyRow::of(&key)).await;
            kept.map_err(BlobError::from_database("write to"))?.checked()
        })
    }
}

/// The checksum of a key. It says no more about the key than an id does.
fn checksum_of(key: &[u8]) -> Digest {
    let bytes = Zeroizing::new([CHECKSUM_DOMAIN, key].concat());
    Digest::of(&bytes)
}

fn damaged() -> BlobError {
    let text = "the key of a tenant's blob ids is damaged in the database of keys; restore it from \
                a backup";
    BlobError::Storage { what: "read", cause: io::Error::new(io::ErrorKind::InvalidData, text) }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use tokio::task::JoinSet;

    use super::*;
    use crate::blobs::local::testing::{START, names, plain, tenant};
    use crate::blobs::{
        BlobFiles as _, BlobStore as _, BlobStoreConfig, LocalBlobStore, LocalBlobs, OnDamage,
    };
    use crate::database::{blob_id_keys_at, change_blob_id_keys, open_key_database};
    use wardian_vocabulary::clock::Clock;
    use wardian_vocabulary::error::{CauseChain, ErrorKind};

    #[tokio::test]
    async fn kept_keys_are_those_of_the_first_of_many_writers() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("wardian.db");
        let acme = tenant("acme");
        let mut writers = JoinSet::new();
        let shared = open_key_database(&path).await.unwrap().blob_ids;
        for number in 0..8_u8 {
            let (acme, path) = (acme.clone(), path.clone());
            let table = if number % 2 == 0 { shared.clone() } else { blob_id_keys_at(path) };
            writers.spawn(async move {
                let key = BlobIdKey::from_bytes(&[number; 32]);
                table.keep(&acme, key).await.unwrap().as_bytes().to_vec()
            });
        }
        let kept = writers.join_all().await;
        assert!(kept.iter().all(|key| *key == kept[0]), "{kept:?}");
        for table in [shared, blob_id_keys_at(path)] {
            assert_eq!(table.find(&acme).await.unwrap().unwrap().as_bytes(), kept[0]);
            assert!(table.find(&tenant("beta")).await.unwrap().is_none());
        }
    }

    /// The log of a file is removed with the last connection to it.
    #[tokio::test]
    async fn asking_for_keys_costs_the_server_none_of_its_connections() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("wardian.db");
        let database = open_key_database(&path).await.unwrap();
        let config = BlobStoreConfig::at(folder.path().join("blobs"));
        let store = LocalBlobStore::open(config, Clock::Fixed(START)).unwrap();
        let store = store.with_id_keys(Arc::new(database.blob_ids.clone()));
        for number in 0..8 {
            store.put(&tenant(&format!("t{number}")), &plain(), b"abc").unwrap();
        }
        assert!(path.with_file_name("wardian.db-wal").try_exists().unwrap());
        database.keys.close().await;
        // The last connection to be closed takes its log along; those of the ids are closed beside this.
        for _ in 0..1_000 {
            if !path.with_file_name("wardian.db-wal").try_exists().unwrap() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("a connection of the ids stays open");
    }

    /// After a start all tenants ask.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn many_tenants_that_ask_at_once_open_few_connections() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("wardian.db");
        let table = blob_id_keys_at(path.clone());
        let mut asking = JoinSet::new();
        for number in 0..96_u8 {
            let table = table.clone();
            asking.spawn(async move {
                let key = BlobIdKey::from_bytes(&[number; 32]);
                table.keep(&tenant(&format!("t{number}")), key).await.unwrap();
            });
        }
        let open_files = || {
            let files = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
            files
                .filter_map(|file| std::fs::read_link(file.path()).ok())
                .filter(|link| *link == path)
                .count()
        };
        let mut most = 0;
        while asking.try_join_next().is_some() || !asking.is_empty() {
            most = most.max(open_files());
            tokio::task::yield_now().await;
        }
        // Four calls at once, each with four connections and a look at the file itself.
        assert!((1..=24).contains(&most), "{most} open files at once");
        assert!(table.find(&tenant("t95")).await.unwrap().is_some());
    }

    #[tokio::test]
    async fn a_damaged_key_is_an_error_and_damages_no_blob() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("wardian.db");
        let database = open_key_database(&path).await.unwrap();
        let config = BlobStoreConfig::at(folder.path().join("blobs"));
        let open = || {
            let store = LocalBlobStore::open(config.clone(), Clock::Fixed(START)).unwrap();
            let keys = Arc::new(database.blob_ids.clone());
            LocalBlobs::new(store.with_id_keys(keys))
        };
        let acme = tenant("acme");
        let id = open().put(&acme, &plain(), b"abc".to_vec()).await.unwrap().id;
        let row = database.blob_ids.store.find(&acme).await.unwrap().unwrap();
        let IdKeyRow { id_key: key, checksum } = row;
        let flipped = |at: usize| {
            let mut bytes = BASE64.decode(key.as_bytes()).unwrap();
            bytes[at] ^= 1;
            BASE64.encode(&bytes)
        };
        let mut wrong: Vec<(&str, String)> =
            (0..BlobIdKey::LENGTH).map(|at| ("id_key", flipped(at))).collect();
        wrong.extend([("id_key", BASE64.encode(&[7; 30])), ("id_key", "?".to_owned())]);
        wrong.extend([("id_key", String::new()), ("checksum", String::new())]);
        for (column, wrong) in wrong {
            change_blob_id_keys(&path, column, &wrong).await;
            let blobs = open();
            let verdict = blobs.verify(&acme, &id, OnDamage::Remove).await;
            let message = CauseChain(&verdict.unwrap_err()).to_string();
            assert!(message.contains("restore it from a backup"), "{message}");
            let refused = blobs.put(&acme, &plain(), b"x".to_vec()).await.unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::Internal);
            change_blob_id_keys(&path, "id_key", &key).await;
            change_blob_id_keys(&path, "checksum", &checksum).await;
        }
        assert_eq!(names(&config.root.join("quarantine")), Vec::<String>::new());
        assert_eq!(open().open(&acme, &id).await.unwrap().blob.id, id);
    }
}
