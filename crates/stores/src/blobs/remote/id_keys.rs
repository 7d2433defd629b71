//! The keys of tenants' blob ids, beside the blobs.
//!
//! An object `<prefix>/keys/<tenant>` has the key of a tenant, so the store is complete without the database:
//! content has another id under another key. The key in the database is the first one that an object gets, which
//! keeps the ids of a server that begins to use an object store. From then on the object decides.

use std::fs::File;
use std::io::{self, Write as _};
use std::sync::Arc;

use rustix::fs::{MemfdFlags, memfd_create};
use zeroize::Zeroizing;

use crate::blobs::content::blob_id::BlobIdKey;
use crate::blobs::error::BlobError;
use crate::blobs::id_key_table::{BlobIdKeyTable, IdKeyRow};
use crate::blobs::id_keys::BlobIdKeys;
use crate::blobs::remote::objects::{BlobObjects, ObjectContent, Overwrite};
use crate::blobs::remote::place::ObjectPlace;
use crate::blobs::store::BlobFuture;
use wardian_vocabulary::ids::TenantId;
use wardian_vocabulary::units::ByteCount;

/// Longest object with a key that is read, in bytes.
const MAX_KEY: usize = 4 << 10;

/// The keys beside the blobs of an object store, made from those of a database.
#[derive(Debug)]
pub struct ObjectIdKeys {
    place: ObjectPlace,
    table: BlobIdKeyTable,
}

impl ObjectIdKeys {
    /// The keys below `prefix`, of which the database has the first ones.
    #[must_use]
    pub fn new(objects: Arc<dyn BlobObjects>, prefix: &str, table: BlobIdKeyTable) -> Self {
        Self { place: ObjectPlace::new(objects, prefix), table }
    }

    fn key_of(&self, tenant: &TenantId) -> String {
        self.place.key("keys", tenant.as_str())
    }

    /// The key in the object of a tenant, if there is one.
    async fn read(&self, tenant: &TenantId) -> Result<Option<BlobIdKey>, BlobError> {
        let object = self.place.objects.read(&self.key_of(tenant)).await;
        let Some(mut object) = object.map_err(BlobError::Unreachable)? else {
            return Ok(None);
        };
        let mut text = Zeroizing::new(Vec::new());
        while let Some(piece) = object.next().await.map_err(BlobError::Unreachable)? {
            text.extend_from_slice(&Zeroizing::new(piece));
            if text.len() > MAX_KEY {
                return Err(damaged());
            }
        }
        let row: IdKeyRow = serde_json::from_slice(&text).map_err(|_cause| damaged())?;
        row.checked().map(Some).map_err(|_of_database| damaged())
    }

    /// Gives a tenant this key, unless it has one, and returns the one that it has.
    async fn write(&self, tenant: &TenantId, key: &BlobIdKey) -> Result<BlobIdKey, BlobError> {
        let failed = BlobError::Unreachable;
        let content = content_of(&IdKeyRow::of(key)).map_err(failed)?;
        let name = self.key_of(tenant);
        let written = self.place.objects.write(&name, content, Overwrite::Never).await;
        written.map_err(BlobError::Unreachable)?;
        self.read(tenant).await?.ok_or_else(damaged)
    }
}

impl BlobIdKeys for ObjectIdKeys {
    fn find<'a>(&'a self, tenant: &'a TenantId) -> BlobFuture<'a, Option<BlobIdKey>> {
        Box::pin(async move {
            if let Some(key) = self.read(tenant).await? {
                return Ok(Some(key));
            }
            match self.table.find(tenant).await? {
                Some(key) => self.write(tenant, &key).await.map(Some),
                None => Ok(None),
            }
        })
    }

    fn keep<'a>(&'a self, tenant: &'a TenantId, key: BlobIdKey) -> BlobFuture<'a, BlobIdKey> {
        Box::pin(async move {
            let key = self.table.keep(tenant, key).await?;
            self.write(tenant, &key).await
        })
    }
}

/// A key as the content of an object.
fn content_of(row: &IdKeyRow) -> io::Result<ObjectContent> {
    let text = Zeroizing::new(serde_json::to_vec(row)?);
    // No disk sees the key.
    let mut file = File::from(memfd_create(c"key", MemfdFlags::CLOEXEC)?);
    file.write_all(&text)?;
    let (size, kind) = (ByteCount::from(text.len()), "application/json".to_owned());
    Ok(ObjectContent { file, size, kind })
}

fn damaged() -> BlobError {
    let text = "the key of a tenant's blob ids is damaged in the object store; restore its object below `keys`";
    BlobError::Storage { what: "read", cause: io::Error::new(io::ErrorKind::InvalidData, text) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blobs::local::testing::tenant;
    use crate::blobs::testing::MemoryObjects;
    use crate::database::open_key_database;
    use wardian_vocabulary::error::{CauseChain, ErrorKind};

    async fn table(folder: &tempfile::TempDir, name: &str) -> BlobIdKeyTable {
        open_key_database(&folder.path().join(name)).await.unwrap().blob_ids
    }

    fn keys(objects: &MemoryObjects, table: BlobIdKeyTable) -> ObjectIdKeys {
        ObjectIdKeys::new(Arc::new(objects.clone()), "team/a", table)
    }

    #[tokio::test]
    async fn kept_keys_beside_the_blobs_are_those_of_all_servers_and_outlive_the_databases() {
        let folder = tempfile::tempdir().unwrap();
        let objects = MemoryObjects::default();
        let acme = tenant("acme");
        // Two servers with databases of their own, at the same time.
        let one = keys(&objects, table(&folder, "one.db").await);
        let two = keys(&objects, table(&folder, "two.db").await);
        let (first, second) = tokio::join!(
            one.keep(&acme, BlobIdKey::from_bytes(&[1; 32])),
            two.keep(&acme, BlobIdKey::from_bytes(&[2; 32])),
        );
        let kept = first.unwrap().as_bytes().to_vec();
        assert_eq!(second.unwrap().as_bytes(), kept);
        assert_eq!(objects.keys("team/a/"), ["team/a/keys/acme"]);
        let after = keys(&objects, table(&folder, "new.db").await);
        assert_eq!(after.find(&acme).await.unwrap().unwrap().as_bytes(), kept);
        assert!(after.find(&tenant("beta")).await.unwrap().is_none());
    }

    #[tokio::test]
    async fn a_key_that_the_database_has_is_the_first_of_the_store() {
        let folder = tempfile::tempdir().unwrap();
        let (objects, acme) = (MemoryObjects::default(), tenant("acme"));
        let table = table(&folder, "keys.db").await;
        table.keep(&acme, BlobIdKey::from_bytes(&[7; 32])).await.unwrap();
        let found = keys(&objects, table).find(&acme).await.unwrap().unwrap();
        assert_eq!(found.as_bytes(), [7; 32]);
        assert_eq!(objects.keys("").len(), 1);
    }

    #[tokio::test]
    async fn a_damaged_key_is_an_error_and_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let (objects, acme) = (MemoryObjects::default(), tenant("acme"));
        let of_server = keys(&objects, table(&folder, "keys.db").await);
        of_server.keep(&acme, BlobIdKey::from_bytes(&[7; 32])).await.unwrap();
        objects.damage("team/a/keys/acme");
        for _ in 0..2 {
            let refused = of_server.find(&acme).await.unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::Internal);
            let told = CauseChain(&refused).to_string();
            assert!(told.contains("below `keys`"), "{told}");
        }
        assert!(of_server.keep(&acme, BlobIdKey::from_bytes(&[8; 32])).await.is_err());
    }
}
