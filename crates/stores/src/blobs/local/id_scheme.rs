//! The way in which a tenant's blob ids are made: by a key of its own, which is in the database.
//!
//! The tenant `local` has none: the ids of a server without tenants follow from the content alone,
//! as they always did. Every other tenant gets a random key before its first blob.
//!
//! INVARIANT(keys-are-kept): a tenant with blobs and without a key is an error: with another key all
//! its blobs would seem damaged.

use std::io;
use std::panic::resume_unwind;
use std::thread;

use tokio::runtime::Builder;

use crate::blobs::content::blob_id::{BlobIdKey, IdScheme};
use crate::blobs::local::disk::Disk;
use crate::blobs::local::tenant_folder::TenantFolder;
use crate::blobs::{BlobError, BlobFuture, LocalBlobStore};
use wardian_vocabulary::ids::TenantId;

impl<D: Disk> LocalBlobStore<D> {
    /// The scheme of a tenant that may have blobs.
    pub(crate) fn id_scheme(&self, tenant_folder: &TenantFolder) -> Result<IdScheme, BlobError> {
        self.scheme_or(tenant_folder, |_| Err(missing()))
    }

    /// The scheme of a tenant that is about to get a blob. Makes its key if it has none.
    pub(crate) fn ensure_id_scheme(
        &self,
        tenant_folder: &TenantFolder,
    ) -> Result<IdScheme, BlobError> {
        self.scheme_or(tenant_folder, |store| store.make_key(tenant_folder))
    }

    /// The scheme of a tenant. Without a key it is what `make` makes.
    fn scheme_or(
        &self,
        tenant_folder: &TenantFolder,
        make: impl FnOnce(&Self) -> Result<BlobIdKey, BlobError>,
    ) -> Result<IdScheme, BlobError> {
        if tenant_folder.tenant == TenantId::local() {
            return Ok(IdScheme::Content);
        }
        // Held until the key is known, so that two writers ask for one key.
        let mut known = tenant_folder.id_scheme();
        if let Some(known) = known.as_ref() {
            return Ok(known.clone());
        }
        let key = match wait_for(self.id_keys.find(&tenant_folder.tenant))? {
            Some(key) => key,
            None => make(self)?,
        };
        Ok(known.insert(IdScheme::Keyed(key)).clone())
    }

    /// Makes a tenant's key, unless another server makes it now.
    fn make_key(&self, tenant_folder: &TenantFolder) -> Result<BlobIdKey, BlobError> {
        let usage = tenant_folder.usage(&self.disk).map_err(BlobError::from_disk("read"))?;
        if usage.blobs > 0 {
            return Err(missing());
        }
        let key = BlobIdKey::generate().map_err(BlobError::from_disk("write to"))?;
        wait_for(self.id_keys.keep(&tenant_folder.tenant, key))
    }
}

/// Waits for the keys, on a thread of its own: the caller's may be one on which a runtime polls its
/// tasks, and which must not be blocked by another runtime. A tenant's key is asked for once.
fn wait_for<T: Send>(future: BlobFuture<'_, T>) -> Result<T, BlobError> {
    let wait = || -> Result<T, BlobError> {
        let runtime = Builder::new_current_thread().enable_all().build();
        runtime.map_err(BlobError::from_disk("use"))?.block_on(future)
    };
    thread::scope(|scope| {
        let waiting = thread::Builder::new().name("blob-id-keys".to_owned());
        let waiting = waiting.spawn_scoped(scope, wait).map_err(BlobError::from_disk("use"))?;
        waiting.join().unwrap_or_else(|panic| resume_unwind(panic))
    })
}

fn missing() -> BlobError {
    let text = "the key of a tenant's blob ids is missing from the database of keys; restore it \
                from a backup";
    BlobError::Storage { what: "read", cause: io::Error::new(io::ErrorKind::NotFound, text) }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::blobs::content::blob_id::id_of;
    use crate::blobs::local::faulty_disk::{Fault, FaultyDisk};
    use crate::blobs::local::testing::{START, TestStore, plain, tenant};
    use crate::blobs::testing::MemoryIdKeys;
    use crate::blobs::{BlobStoreConfig, BlobVerdict, OnDamage};
    use wardian_vocabulary::clock::Clock;
    use wardian_vocabulary::error::{CauseChain, ErrorKind};
    use wardian_vocabulary::ids::BlobId;

    #[test]
    fn tenants_have_ids_of_their_own_for_one_content() {
        let test = TestStore::new();
        let put = |name: &str| test.store.put(&tenant(name), &plain(), b"known").unwrap().id;
        let content = id_of(&IdScheme::Content, &plain(), b"known");
        assert_eq!(put("local"), content);
        assert_ne!(put("acme"), content);
        assert_ne!(put("acme"), put("beta"));
        assert_eq!(put("acme"), put("acme"), "one content, one id");
        let (acme, beta) = (put("acme"), put("beta"));
        let again = test.reopened_at(START);
        assert_eq!(again.content(&tenant("acme"), &acme).unwrap(), b"known");
        for id in [&beta, &content] {
            let missing = again.content(&tenant("acme"), id).unwrap_err();
            assert_eq!(missing.kind(), ErrorKind::BlobNotFound);
        }
        let verdict = again.store.verify(&tenant("beta"), &beta, OnDamage::Keep).unwrap();
        assert!(matches!(verdict, BlobVerdict::Intact(_)));
        assert_ne!(again.keys.bytes_of("acme"), again.keys.bytes_of("beta"));
        assert_eq!(again.keys.bytes_of("local"), None);
    }

    #[test]
    fn keys_are_kept_or_the_tenant_stops() {
        let test = TestStore::new();
        let acme = tenant("acme");
        let id = test.store.put(&acme, &plain(), b"abc").unwrap().id;
        let test = test.reopened_at(START);
        let key = test.keys.take("acme").unwrap();
        assert_eq!(test.store.put(&acme, &plain(), b"x").unwrap_err().kind(), ErrorKind::Internal);
        let unreadable = test.content(&acme, &id).unwrap_err();
        assert!(CauseChain(&unreadable).to_string().contains("restore it from a backup"));
        assert!(test.files("quarantine").is_empty(), "a good blob was set aside");
        assert_eq!(test.keys.bytes_of("acme"), None, "a new key was made");
        test.keys.set("acme", key);
        assert_eq!(test.content(&acme, &id).unwrap(), b"abc");
        assert_eq!(test.store.put(&acme, &plain(), b"abc").unwrap().id, id);
    }

    /// A task of a runtime asks as well as a thread of nobody does.
    #[tokio::test]
    async fn a_key_is_found_on_the_thread_of_a_runtime() {
        let test = TestStore::new();
        let put = || test.store.put(&tenant("acme"), &plain(), b"abc").unwrap().id;
        let id = put();
        let again = test.reopened_at(START);
        assert_eq!(again.content(&tenant("acme"), &id).unwrap(), b"abc");
    }

    /// Another server makes the key of the tenant first.
    #[test]
    fn the_key_of_another_server_is_used() {
        let (one, two) = (TestStore::new(), TestStore::new());
        let acme = tenant("acme");
        let keys = Arc::clone(&one.keys);
        let second = two.store.with_id_keys(keys);
        let id = one.store.put(&acme, &plain(), b"abc").unwrap().id;
        assert_eq!(second.put(&acme, &plain(), b"abc").unwrap().id, id);
    }

    #[test]
    fn without_a_place_for_keys_only_the_local_tenant_has_blobs() {
        let folder = tempfile::tempdir().unwrap();
        let config = BlobStoreConfig::at(folder.path().join("blobs"));
        let store = LocalBlobStore::open(config, Clock::Fixed(START)).unwrap();
        assert!(store.put(&TenantId::local(), &plain(), b"abc").is_ok());
        let refused = store.put(&tenant("acme"), &plain(), b"abc").unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Internal);
        assert_eq!(store.usage(&tenant("acme")).unwrap().blobs, 0);
    }

    /// Stores a tenant's first blob on a disk that fails at its `at`-th call, then loses power. What
    /// was acknowledged has the id that the content has afterwards.
    fn check_first_blob(fault: Fault, at: u64, lost: usize) {
        let keys = Arc::new(MemoryIdKeys::default());
        let open = |disk: &FaultyDisk| {
            let config = BlobStoreConfig::at("/blobs".into());
            let store = LocalBlobStore::open_on(disk.clone(), config, Clock::Fixed(START));
            store.unwrap().with_id_keys(keys.clone())
        };
        let disk = FaultyDisk::default();
        let store = open(&disk);
        disk.fail_at(at, fault);
        let mut stored = store.put(&tenant("acme"), &plain(), b"abc");
        disk.heal();
        if fault != Fault::PowerCut {
            stored = store.put(&tenant("acme"), &plain(), b"abc");
        }
        drop(store);
        let mut turn = 0;
        let disk = disk.after_power_loss(|choices| {
            turn += 1;
            (turn * lost + lost) % choices
        });
        let again = open(&disk).put(&tenant("acme"), &plain(), b"abc").unwrap();
        if let Ok(stored) = stored {
            assert_eq!(stored.id, again.id, "{fault:?} at {at}: the key was lost");
        }
    }

    #[test]
    fn keys_are_kept_before_the_first_blob_whatever_the_disk_does() {
        for fault in [Fault::Once(libc::EIO), Fault::OnceAfterEffect(libc::EIO), Fault::PowerCut] {
            for (at, lost) in (0..60).flat_map(|at| (0..3).map(move |lost| (at, lost))) {
                check_first_blob(fault, at, lost);
            }
        }
    }

    /// Looking for another tenant's blob takes the same calls of the disk as looking for none.
    #[test]
    fn a_blob_of_another_tenant_costs_the_same_work_as_none() {
        type Look<'a> = &'a dyn Fn(&TenantId, &BlobId) -> ErrorKind;
        let disk = FaultyDisk::default();
        let config = BlobStoreConfig::at("/blobs".into());
        let store = LocalBlobStore::open_on(disk.clone(), config, Clock::Fixed(START)).unwrap();
        let store = store.with_id_keys(Arc::new(MemoryIdKeys::default()));
        let (acme, beta) = (tenant("acme"), tenant("beta"));
        let theirs = store.put(&beta, &plain(), b"theirs").unwrap().id;
        store.put(&acme, &plain(), b"ours").unwrap();
        let nobodys = id_of(&IdScheme::Content, &plain(), b"nobodys");
        let calls = |look: &dyn Fn(&TenantId) -> ErrorKind| {
            let before = disk.calls();
            let kind = look(&acme);
            (disk.calls() - before, kind)
        };
        let looks: [Look<'_>; 5] = [
            &|at: &TenantId, id: &BlobId| store.stat(at, id).unwrap_err().kind(),
            &|at: &TenantId, id: &BlobId| store.open_content(at, id).unwrap_err().kind(),
            &|at: &TenantId, id: &BlobId| store.pin(at, id).unwrap_err().kind(),
            &|at: &TenantId, id: &BlobId| store.remove(at, id).unwrap_err().kind(),
            &|at: &TenantId, id: &BlobId| {
                store.verify(at, id, OnDamage::Remove).unwrap_err().kind()
            },
        ];
        for look in looks {
            let foreign = calls(&|at| look(at, &theirs));
            assert_eq!(foreign, calls(&|at| look(at, &nobodys)));
            assert_eq!(foreign.1, ErrorKind::BlobNotFound);
        }
        assert!(store.stat(&beta, &theirs).is_ok(), "it was removed");
    }
}
