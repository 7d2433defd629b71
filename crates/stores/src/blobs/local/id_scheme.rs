//! The keys of tenants' blob ids, one file each.
//!
//! The tenant `local` has none: the ids of a server without tenants follow from the content alone,
//! as they always did. Every other tenant gets a random key before its first blob.
//!
//! INVARIANT(keys-are-kept): a key is durable before an id that was made with it, and is never
//! replaced. A tenant with blobs and without a key is an error: with another key all its blobs would
//! seem damaged. So is a key that does not fit the checksum in its file.

use std::io;

use zeroize::Zeroizing;

use crate::blobs::content::blob_id::{BlobIdKey, IdScheme};
use crate::blobs::local::disk::Disk;
use crate::blobs::local::store::KEYS;
use crate::blobs::local::tenant_folder::{KnownScheme, TenantFolder};
use crate::blobs::local::write::BlobDraft;
use crate::blobs::{BlobError, LocalBlobStore};
use wardian_vocabulary::ids::{Digest, TenantId};

/// The prefix of the bytes whose hash is the checksum of a key.
const CHECKSUM_DOMAIN: &[u8] = b"wardian blob id key 1\0";

/// Bytes of a key's file: the key and its checksum. Files of earlier versions have the key alone.
const LENGTH: usize = BlobIdKey::LENGTH + 32;

/// A key as it was read.
struct FoundKey {
    scheme: IdScheme,
    /// True if its file has no checksum.
    is_bare: bool,
}

impl<D: Disk> LocalBlobStore<D> {
    /// The scheme of a tenant that may have blobs.
    pub(crate) fn id_scheme(&self, tenant_folder: &TenantFolder) -> Result<IdScheme, BlobError> {
        let mut known = tenant_folder.id_scheme();
        if let Some(known) = known.as_ref() {
            return Ok(known.scheme.clone());
        }
        let scheme = self.load_scheme(&tenant_folder.tenant)?.ok_or_else(missing)?.scheme;
        *known = Some(KnownScheme { scheme: scheme.clone(), is_durable: false });
        Ok(scheme)
    }

    /// The scheme of a tenant that is about to get a blob. Makes its key if it has none.
    pub(crate) fn ensure_id_scheme(
        &self,
        tenant_folder: &TenantFolder,
    ) -> Result<IdScheme, BlobError> {
        // Held until the key is durable, so that two writers make one key.
        let mut known = tenant_folder.id_scheme();
        if let Some(known) = known.as_ref().filter(|known| known.is_durable) {
            return Ok(known.scheme.clone());
        }
        let tenant = &tenant_folder.tenant;
        let scheme = match self.load_scheme(tenant)? {
            Some(FoundKey { scheme: IdScheme::Keyed(key), is_bare: true }) => {
                self.write_key(tenant, &key)?
            }
            Some(found) => found.scheme,
            None => self.make_key(tenant_folder)?,
        };
        // Also for a key that was found: the process that made it may have failed before this.
        if *tenant != TenantId::local() {
            self.sync_or_seal(&self.config.root.join(KEYS), tenant)?;
        }
        *known = Some(KnownScheme { scheme: scheme.clone(), is_durable: true });
        Ok(scheme)
    }

    /// Reads a tenant's key; `None` if it has none.
    fn load_scheme(&self, tenant: &TenantId) -> Result<Option<FoundKey>, BlobError> {
        if *tenant == TenantId::local() {
            return Ok(Some(FoundKey { scheme: IdScheme::Content, is_bare: false }));
        }
        let path = self.config.root.join(KEYS).join(tenant.as_str());
        let file = match self.disk.open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(BlobError::from_disk("read")(error)),
        };
        let size = self.disk.stamp(&file).map_err(BlobError::from_disk("read"))?.size;
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        if size != LENGTH && size != BlobIdKey::LENGTH {
            return Err(damaged());
        }
        let mut bytes = Zeroizing::new(vec![0; size]);
        self.read_exact(&file, &mut bytes, 0).map_err(BlobError::from_disk("read"))?;
        let (key, checksum) = bytes.split_first_chunk().ok_or_else(damaged)?;
        let is_bare = checksum.is_empty();
        if !is_bare && checksum_of(key).as_bytes().as_slice() != checksum {
            return Err(damaged());
        }
        let scheme = IdScheme::Keyed(BlobIdKey::from_bytes(key));
        Ok(Some(FoundKey { scheme, is_bare }))
    }

    /// Makes a tenant's key. Its name is not durable yet.
    fn make_key(&self, tenant_folder: &TenantFolder) -> Result<IdScheme, BlobError> {
        let usage = tenant_folder.usage(&self.disk).map_err(BlobError::from_disk("read"))?;
        if usage.blobs > 0 {
            return Err(missing());
        }
        let key = BlobIdKey::generate().map_err(BlobError::from_disk("write to"))?;
        self.write_key(&tenant_folder.tenant, &key)
    }

    /// Writes the file of a key, whose name is not durable yet.
    fn write_key(&self, tenant: &TenantId, key: &BlobIdKey) -> Result<IdScheme, BlobError> {
        let written = BlobError::from_disk;
        let mut draft = BlobDraft::create(self).map_err(written("write to"))?;
        draft.write(key.as_bytes()).map_err(written("write to"))?;
        draft.write(checksum_of(key.as_bytes()).as_bytes()).map_err(written("write to"))?;
        self.disk.sync_file(&draft.file).map_err(written("write to"))?;
        let path = self.config.root.join(KEYS).join(tenant.as_str());
        self.disk.rename(&draft.path, &path).map_err(written("write to"))?;
        draft.is_kept = true;
        Ok(IdScheme::Keyed(key.clone()))
    }
}

/// The checksum of a key. It says no more about the key than an id does.
fn checksum_of(key: &[u8]) -> Digest {
    let bytes = Zeroizing::new([CHECKSUM_DOMAIN, key].concat());
    Digest::of(&bytes)
}

fn damaged() -> BlobError {
    let text = "the key of a tenant's blob ids is damaged in the folder `keys`; restore it from a \
                backup";
    BlobError::Storage { what: "read", cause: io::Error::new(io::ErrorKind::InvalidData, text) }
}

fn missing() -> BlobError {
    let text = "the key of a tenant's blob ids is missing from the folder `keys`; restore it from \
                a backup";
    BlobError::Storage { what: "read", cause: io::Error::new(io::ErrorKind::NotFound, text) }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

    use super::*;
    use crate::blobs::content::blob_id::id_of;
    use crate::blobs::local::faulty_disk::{Fault, FaultyDisk};
    use crate::blobs::local::testing::{START, TestStore, plain, tenant};
    use crate::blobs::{BlobStoreConfig, BlobVerdict, OnDamage};
    use wardian_vocabulary::clock::Clock;
    use wardian_vocabulary::error::ErrorKind;
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
        let key = again.config.root.join("keys/acme");
        assert_eq!(fs::metadata(&key).unwrap().mode() & 0o777, 0o400);
        assert_eq!(again.files("keys"), ["acme", "beta"]);
    }

    #[test]
    fn keys_are_kept_or_the_tenant_stops() {
        let test = TestStore::new();
        let acme = tenant("acme");
        let id = test.store.put(&acme, &plain(), b"abc").unwrap().id;
        let test = test.reopened_at(START);
        let key = test.config.root.join("keys/acme");
        let bytes = fs::read(&key).unwrap();
        fs::remove_file(&key).unwrap();
        assert_eq!(test.store.put(&acme, &plain(), b"x").unwrap_err().kind(), ErrorKind::Internal);
        assert_eq!(test.content(&acme, &id).unwrap_err().kind(), ErrorKind::Internal);
        assert!(test.files("quarantine").is_empty(), "a good blob was set aside");
        assert!(test.files("keys").is_empty(), "a new key was made");
        fs::write(&key, &bytes[1..]).unwrap();
        assert_eq!(test.content(&acme, &id).unwrap_err().kind(), ErrorKind::Internal);
        fs::write(&key, &bytes).unwrap();
        assert_eq!(test.content(&acme, &id).unwrap(), b"abc");
        fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
    }

    #[test]
    fn a_damaged_key_is_an_error_and_damages_no_blob() {
        let test = TestStore::new();
        let acme = tenant("acme");
        let id = test.store.put(&acme, &plain(), b"abc").unwrap().id;
        let test = test.reopened_at(START);
        let key = test.config.root.join("keys/acme");
        let bytes = fs::read(&key).unwrap();
        fs::remove_file(&key).unwrap();
        let mut wrong: Vec<Vec<u8>> = (0..bytes.len() * 8)
            .map(|bit| {
                let mut flipped = bytes.clone();
                flipped[bit / 8] ^= 1 << (bit % 8);
                flipped
            })
            .collect();
        wrong.extend((0..bytes.len()).filter(|at| *at != 32).map(|at| bytes[..at].to_vec()));
        wrong.push([&bytes[..], b"\0"].concat());
        for wrong in wrong {
            fs::write(&key, &wrong).unwrap();
            let verdict = test.store.verify(&acme, &id, OnDamage::Remove);
            let message = wardian_vocabulary::error::CauseChain(&verdict.unwrap_err()).to_string();
            assert!(message.contains("restore it from a backup"), "{message}");
            let refused = test.store.put(&acme, &plain(), b"x").unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::Internal);
            assert_eq!(fs::read(&key).unwrap(), wrong, "it was replaced");
        }
        assert!(test.files("quarantine").is_empty());
        fs::write(&key, &bytes).unwrap();
        assert_eq!(test.content(&acme, &id).unwrap(), b"abc");
    }

    #[test]
    fn a_key_of_an_earlier_version_gets_its_checksum_with_the_next_blob() {
        let test = TestStore::new();
        let acme = tenant("acme");
        let id = test.store.put(&acme, &plain(), b"abc").unwrap().id;
        let key = test.config.root.join("keys/acme");
        let bytes = fs::read(&key).unwrap();
        fs::remove_file(&key).unwrap();
        fs::write(&key, &bytes[..32]).unwrap();
        let test = test.reopened_at(START);
        assert_eq!(test.content(&acme, &id).unwrap(), b"abc");
        assert_eq!(fs::read(&key).unwrap(), bytes[..32], "reading changes nothing");
        assert_eq!(test.store.put(&acme, &plain(), b"abc").unwrap().id, id);
        assert_eq!(fs::read(&key).unwrap(), bytes);
        assert_eq!(fs::metadata(&key).unwrap().mode() & 0o777, 0o400);
    }

    /// Stores a tenant's first blob on a disk that fails at its `at`-th call, then loses power. What
    /// was acknowledged has the id that the content has afterwards.
    fn check_first_blob(fault: Fault, at: u64, lost: usize) {
        let open = |disk: &FaultyDisk| {
            let config = BlobStoreConfig::at("/blobs".into());
            LocalBlobStore::open_on(disk.clone(), config, Clock::Fixed(START)).unwrap()
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
    fn a_key_is_durable_before_its_first_blob() {
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
