//! The table of the keys of tenants' blob ids. The only statements on it.
//!
//! INVARIANT(kept-keys): a key is durable before an id that was made with it, and is never replaced,
//! also if two servers make one at the same time. A key that does not fit its checksum is an error.

use std::io;
use std::path::PathBuf;

use data_encoding::BASE64;
use zeroize::Zeroizing;

use crate::blobs::content::blob_id::BlobIdKey;
use crate::blobs::error::BlobError;
use crate::blobs::id_keys::BlobIdKeys;
use crate::blobs::store::BlobFuture;
use crate::database::{Database, DatabaseError};
use wardian_vocabulary::ids::{Digest, TenantId};

/// The prefix of the bytes whose hash is the checksum of a key.
const CHECKSUM_DOMAIN: &[u8] = b"wardian blob id key 1\0";

/// The table of keys in the database of keys.
#[derive(Debug, Clone)]
pub struct BlobIdKeyTable {
    place: Place,
}

#[derive(Debug, Clone)]
enum Place {
    Open(Database),
    /// Opened for each call.
    File(PathBuf),
}

impl BlobIdKeyTable {
    /// The table in an open database.
    #[must_use]
    pub const fn new(database: Database) -> Self {
        Self { place: Place::Open(database) }
    }

    /// The table in a database that is opened when a key is needed, and closed again: for commands,
    /// most of which need none.
    #[must_use]
    pub const fn at(path: PathBuf) -> Self {
        Self { place: Place::File(path) }
    }

    async fn database(&self) -> Result<Database, DatabaseError> {
        match &self.place {
            Place::Open(database) => Ok(database.clone()),
            Place::File(path) => Database::open(path).await,
        }
    }

    async fn release(&self, database: Database) {
        if matches!(self.place, Place::File(_)) {
            database.close().await;
        }
    }
}

impl BlobIdKeys for BlobIdKeyTable {
    fn find<'a>(&'a self, tenant: &'a TenantId) -> BlobFuture<'a, Option<BlobIdKey>> {
        Box::pin(async move {
            let database = self.database().await.map_err(failed("read"))?;
            let found = find(&database, tenant).await;
            self.release(database).await;
            found.map_err(failed("read"))?.map(|row| checked(&row)).transpose()
        })
    }

    fn keep<'a>(&'a self, tenant: &'a TenantId, key: BlobIdKey) -> BlobFuture<'a, BlobIdKey> {
        Box::pin(async move {
            let database = self.database().await.map_err(failed("write to"))?;
            let kept = keep(&database, tenant, &key).await;
            self.release(database).await;
            checked(&kept.map_err(failed("write to"))?)
        })
    }
}

/// A row: the key and its checksum.
type Row = (String, String);

async fn find(database: &Database, tenant: &TenantId) -> Result<Option<Row>, DatabaseError> {
    let found = sqlx::query_as("SELECT id_key, checksum FROM blob_id_keys WHERE tenant = $1")
        .bind(tenant.as_str().to_owned());
    Ok(found.fetch_optional(database.connections()).await?)
}

async fn keep(
    database: &Database,
    tenant: &TenantId,
    key: &BlobIdKey,
) -> Result<Row, DatabaseError> {
    sqlx::query(
        "INSERT INTO blob_id_keys (tenant, id_key, checksum) VALUES ($1, $2, $3) \
         ON CONFLICT DO NOTHING",
    )
    .bind(tenant.as_str().to_owned())
    .bind(BASE64.encode(key.as_bytes()))
    .bind(checksum_of(key.as_bytes()).to_string())
    .execute(database.connections())
    .await?;
    let kept = find(database, tenant).await?;
    Ok(kept.ok_or(sqlx::Error::RowNotFound)?)
}

/// The key in a row, if it fits its checksum.
fn checked((key, checksum): &Row) -> Result<BlobIdKey, BlobError> {
    let bytes = BASE64.decode(key.as_bytes()).map(Zeroizing::new).map_err(|_none| damaged())?;
    let bytes =
        <&[u8; BlobIdKey::LENGTH]>::try_from(bytes.as_slice()).map_err(|_other| damaged())?;
    if checksum_of(bytes).to_string() != *checksum {
        return Err(damaged());
    }
    Ok(BlobIdKey::from_bytes(bytes))
}

/// The checksum of a key. It says no more about the key than an id does.
fn checksum_of(key: &[u8]) -> Digest {
    let bytes = Zeroizing::new([CHECKSUM_DOMAIN, key].concat());
    Digest::of(&bytes)
}

fn failed(what: &'static str) -> impl FnOnce(DatabaseError) -> BlobError {
    move |error| match error.is_full() {
        true => BlobError::DiskFull(io::Error::other(error)),
        false => BlobError::Storage { what, cause: io::Error::other(error) },
    }
}

fn damaged() -> BlobError {
    let text = "the key of a tenant's blob ids is damaged in the database of keys; restore it from \
                a backup";
    BlobError::Storage { what: "read", cause: io::Error::new(io::ErrorKind::InvalidData, text) }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::task::JoinSet;

    use super::*;
    use crate::blobs::local::testing::{START, names, plain, tenant};
    use crate::blobs::{
        BlobFiles as _, BlobStore as _, BlobStoreConfig, LocalBlobStore, LocalBlobs, OnDamage,
    };
    use wardian_vocabulary::clock::Clock;
    use wardian_vocabulary::error::{CauseChain, ErrorKind};

    async fn change(database: &Database, column: &str, text: &str) {
        let statement = match column {
            "id_key" => "UPDATE blob_id_keys SET id_key = $1",
            _ => "UPDATE blob_id_keys SET checksum = $1",
        };
        let changed = sqlx::query(statement).bind(text.to_owned());
        changed.execute(database.connections()).await.unwrap();
    }

    #[tokio::test]
    async fn kept_keys_are_those_of_the_first_of_many_writers() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("wardian.db");
        let acme = tenant("acme");
        let mut writers = JoinSet::new();
        let shared = BlobIdKeyTable::new(Database::open(&path).await.unwrap());
        for number in 0..8_u8 {
            let (acme, path) = (acme.clone(), path.clone());
            let table = if number % 2 == 0 { shared.clone() } else { BlobIdKeyTable::at(path) };
            writers.spawn(async move {
                let key = BlobIdKey::from_bytes(&[number; 32]);
                table.keep(&acme, key).await.unwrap().as_bytes().to_vec()
            });
        }
        let kept = writers.join_all().await;
        assert!(kept.iter().all(|key| *key == kept[0]), "{kept:?}");
        for table in [shared, BlobIdKeyTable::at(path)] {
            assert_eq!(table.find(&acme).await.unwrap().unwrap().as_bytes(), kept[0]);
            assert!(table.find(&tenant("beta")).await.unwrap().is_none());
        }
    }

    #[tokio::test]
    async fn a_damaged_key_is_an_error_and_damages_no_blob() {
        let folder = tempfile::tempdir().unwrap();
        let database = Database::open(&folder.path().join("wardian.db")).await.unwrap();
        let config = BlobStoreConfig::at(folder.path().join("blobs"));
        let open = || {
            let store = LocalBlobStore::open(config.clone(), Clock::Fixed(START)).unwrap();
            let keys = Arc::new(BlobIdKeyTable::new(database.clone()));
            LocalBlobs::new(store.with_id_keys(keys))
        };
        let acme = tenant("acme");
        let id = open().put(&acme, &plain(), b"abc".to_vec()).await.unwrap().id;
        let (key, checksum) = find(&database, &acme).await.unwrap().unwrap();
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
            change(&database, column, &wrong).await;
            let blobs = open();
            let verdict = blobs.verify(&acme, &id, OnDamage::Remove).await;
            let message = CauseChain(&verdict.unwrap_err()).to_string();
            assert!(message.contains("restore it from a backup"), "{message}");
            let refused = blobs.put(&acme, &plain(), b"x".to_vec()).await.unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::Internal);
            change(&database, "id_key", &key).await;
            change(&database, "checksum", &checksum).await;
        }
        assert_eq!(names(&config.root.join("quarantine")), Vec::<String>::new());
        assert_eq!(open().open(&acme, &id).await.unwrap().blob.id, id);
    }
}
