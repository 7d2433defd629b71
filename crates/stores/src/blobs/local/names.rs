//! The names of blobs, one file each beside the blob's own.
//!
//! A name is set after its blob is stored and may change later, so it is not in the blob's file,
//! which never changes. A store without names, or with names that are damaged, is read as ever.
//!
//! ```text
//! 20  "wardian blob name 1\n"
//!  n  the name
//! 32  SHA-256 of the blob's id and everything above
//! ```
//!
//! INVARIANT(names-of-one-tenant): a name is found by the tenant that set it, and only there.
//!
//! INVARIANT(name-or-none): after a crash or damage a blob has its old name, its new name or none.

use std::collections::HashSet;
use std::io;
use std::path::PathBuf;

use sha2::{Digest as _, Sha256};
use tracing::warn;

use crate::blobs::content::trailer::StoredBlob;
use crate::blobs::local::disk::{Disk, FolderEntry};
use crate::blobs::local::tenant_folder::TenantFolder;
use crate::blobs::local::write::BlobDraft;
use crate::blobs::{BlobError, LocalBlobStore};
use wardian_vocabulary::ids::{BlobId, BlobName, MAX_BLOB_NAME, TenantId};
use wardian_vocabulary::units::ByteCount;

const MAGIC: &[u8; 20] = b"wardian blob name 1\n";

/// Bytes of a file beside the name.
const FRAME: usize = MAGIC.len() + 32;

/// The ending of the files of names. No blob's file has one.
const ENDING: &str = ".name";

impl<D: Disk> LocalBlobStore<D> {
    /// Names blobs of a tenant: see [`BlobStore::set_names`](crate::blobs::BlobStore::set_names).
    ///
    /// # Errors
    ///
    /// As there.
    pub fn set_names(
        &self,
        tenant: &TenantId,
        names: &[(BlobId, BlobName)],
    ) -> Result<(), BlobError> {
        if self.is_sealed() {
            return Err(BlobError::Sealed);
        }
        let tenant_folder = self.tenant_folder(tenant);
        let mut has_changed = false;
        for (id, name) in names {
            has_changed |= self.set_name(&tenant_folder, id, name)?;
        }
        if has_changed { self.sync_tenant_folder(&tenant_folder) } else { Ok(()) }
    }

    /// Names a blob, and returns true if its name has changed. The name is not durable yet.
    fn set_name(
        &self,
        tenant_folder: &TenantFolder,
        id: &BlobId,
        name: &BlobName,
    ) -> Result<bool, BlobError> {
        let failed = BlobError::from_disk;
        if self.find_name(tenant_folder, id).as_ref() == Some(name) {
            return Ok(false);
        }
        let mut draft = BlobDraft::create(self).map_err(failed("write to"))?;
        draft.write(&encode(id, name)).map_err(failed("write to"))?;
        self.disk.sync_file(&draft.file).map_err(failed("write to"))?;
        let _names = tenant_folder.lock();
        match self.disk.open(&tenant_folder.path(id)) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(failed("read")(error)),
        }
        let path = path_of(tenant_folder, id);
        self.disk.rename(&draft.path, &path).map_err(failed("write to"))?;
        draft.is_kept = true;
        Ok(true)
    }

    /// The blob with its name.
    pub fn named(&self, tenant_folder: &TenantFolder, blob: StoredBlob) -> StoredBlob {
        let name = self.find_name(tenant_folder, &blob.id);
        StoredBlob { name, ..blob }
    }

    /// The name of a blob. A name that cannot be read is none: the content matters more.
    fn find_name(&self, tenant_folder: &TenantFolder, id: &BlobId) -> Option<BlobName> {
        let read = self.read_name(tenant_folder, id);
        read.unwrap_or_else(|cause| {
            warn!(tenant.id = %tenant_folder.tenant, blob.id = %id, error = %cause, "a blob's name cannot be read");
            None
        })
    }

    fn read_name(&self, tenant_folder: &TenantFolder, id: &BlobId) -> io::Result<Option<BlobName>> {
        let file = match self.disk.open(&path_of(tenant_folder, id)) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let size = ByteCount::bytes(self.disk.stamp(&file)?.size).as_usize();
        let damaged = || io::Error::new(io::ErrorKind::InvalidData, "its file is damaged");
        if size > FRAME.saturating_add(MAX_BLOB_NAME) {
            return Err(damaged());
        }
        let mut bytes = vec![0; size];
        self.read_exact(&file, &mut bytes, 0)?;
        decode(id, &bytes).map(Some).ok_or_else(damaged)
    }

    /// Removes the name of a blob that was removed. Called under the folder's lock. One that stays
    /// is removed by a sweep.
    pub(crate) fn remove_name(&self, tenant_folder: &TenantFolder, id: &BlobId) {
        match self.disk.remove(&path_of(tenant_folder, id)) {
            Err(cause) if cause.kind() != io::ErrorKind::NotFound => {
                warn!(tenant.id = %tenant_folder.tenant, blob.id = %id, error = %cause, "a blob's name could not be removed");
            }
            _ => {}
        }
    }

    /// Removes the names of blobs that are gone: a crash may have come between the two.
    pub(crate) fn remove_stray_names(&self, tenant_folder: &TenantFolder, entries: &[FolderEntry]) {
        let id_of = |entry: &FolderEntry| {
            let letters = entry.name.strip_suffix(ENDING)?;
            BlobId::parse(&format!("blob:{letters}")).ok()
        };
        let named: Vec<BlobId> = entries.iter().filter_map(id_of).collect();
        if named.is_empty() {
            return;
        }
        let listed: HashSet<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
        for id in named.iter().filter(|id| !listed.contains(id.letters())) {
            let _names = tenant_folder.lock();
            // It may have been stored since the folder was listed.
            let found = self.disk.open(&tenant_folder.path(id));
            if found.is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
                self.remove_name(tenant_folder, id);
            }
        }
    }
}

fn path_of(tenant_folder: &TenantFolder, id: &BlobId) -> PathBuf {
    tenant_folder.folder.join(format!("{}{ENDING}", id.letters()))
}

fn encode(id: &BlobId, name: &BlobName) -> Vec<u8> {
    let mut bytes = [MAGIC.as_slice(), name.as_str().as_bytes()].concat();
    let checksum = checksum(id, &bytes);
    bytes.extend_from_slice(&checksum);
    bytes
}

fn decode(id: &BlobId, bytes: &[u8]) -> Option<BlobName> {
    let (checked, sum) = bytes.split_last_chunk::<32>()?;
    if checksum(id, checked) != *sum {
        return None;
    }
    let name = checked.strip_prefix(MAGIC)?;
    BlobName::parse(std::str::from_utf8(name).ok()?).ok()
}

fn checksum(id: &BlobId, checked: &[u8]) -> [u8; 32] {
    Sha256::new().chain_update(id.as_str()).chain_update(checked).finalize().into()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use proptest::prelude::*;

    use super::*;
    use crate::blobs::local::faulty_disk::{Fault, FaultyDisk};
    use crate::blobs::local::testing::{HOUR, START, TestStore, plain, tenant};
    use crate::blobs::{BlobStoreConfig, OnDamage, TenantUsage};
    use wardian_vocabulary::clock::Clock;
    use wardian_vocabulary::ids::Digest;

    fn name(text: &str) -> BlobName {
        BlobName::parse(text).unwrap()
    }

    fn name_of<D: Disk>(
        store: &LocalBlobStore<D>,
        tenant: &TenantId,
        id: &BlobId,
    ) -> Option<String> {
        store.stat(tenant, id).unwrap().name.map(|name| name.to_string())
    }

    #[test]
    fn the_last_name_is_shown_everywhere_and_survives_a_restart() {
        let test = TestStore::new();
        let local = TenantId::local();
        let id = test.store.put(&local, &plain(), b"abc").unwrap().id;
        assert_eq!(name_of(&test.store, &local, &id), None);
        for text in ["first.csv", "täglich 2.csv"] {
            test.store.set_names(&local, &[(id.clone(), name(text))]).unwrap();
        }
        let test = test.reopened_at(START);
        let expected = Some(name("täglich 2.csv"));
        assert_eq!(test.store.stat(&local, &id).unwrap().name, expected);
        assert_eq!(test.store.open_content(&local, &id).unwrap().blob.name, expected);
        assert_eq!(test.store.stat(&local, &id).unwrap().name, expected, "after it was verified");
        assert_eq!(test.store.put(&local, &plain(), b"abc").unwrap().name, expected);
        let listed = test.store.list(&local, None, 9).unwrap().blobs;
        assert_eq!(listed.len(), 1, "a name is no blob");
        assert_eq!(listed[0].described.as_ref().unwrap().name, expected);
        assert_eq!(test.store.usage(&local).unwrap(), TenantUsage { blobs: 1, bytes: 3 });
        assert_eq!(test.files("drafts"), Vec::<String>::new());
    }

    #[test]
    fn names_of_one_tenant_are_not_seen_by_others() {
        let test = TestStore::new();
        let [local, acme, beta] = ["local", "acme", "beta"].map(tenant);
        for owner in [&local, &acme] {
            let id = test.store.put(owner, &plain(), b"known").unwrap().id;
            test.store.set_names(owner, &[(id, name(&format!("{owner}.txt")))]).unwrap();
        }
        for (owner, expected) in
            [(&local, Some("local.txt")), (&acme, Some("acme.txt")), (&beta, None)]
        {
            let id = test.store.put(owner, &plain(), b"known").unwrap().id;
            assert_eq!(name_of(&test.store, owner, &id).as_deref(), expected, "{owner}");
        }
        let theirs = test.store.put(&acme, &plain(), b"known").unwrap().id;
        test.store.set_names(&beta, &[(theirs.clone(), name("stolen"))]).unwrap();
        assert_eq!(name_of(&test.store, &acme, &theirs).as_deref(), Some("acme.txt"));
    }

    #[test]
    fn a_name_goes_with_its_blob() {
        let test = TestStore::new();
        let local = TenantId::local();
        let ids = [b"abc", b"abd"].map(|content| {
            let id = test.store.put(&local, &plain(), content).unwrap().id;
            test.store.set_names(&local, &[(id.clone(), name("a"))]).unwrap();
            id
        });
        test.store.remove(&local, &ids[0]).unwrap();
        assert_eq!(test.files("tenants/local").len(), 2);
        test.store.put(&local, &plain(), b"abc").unwrap();
        assert_eq!(name_of(&test.store, &local, &ids[0]), None, "it came back");
        assert_eq!(test.store.sweep(START + HOUR * 24 * 8).unwrap().expired, 2);
        assert_eq!(test.files("tenants/local"), Vec::<String>::new());
        // What is not there gets no name.
        test.store.set_names(&local, &[(ids[1].clone(), name("a"))]).unwrap();
        assert_eq!(test.files("tenants/local"), Vec::<String>::new());
        assert_eq!(test.files("drafts"), Vec::<String>::new());
    }

    #[test]
    fn a_stray_name_is_swept_and_others_stay() {
        let test = TestStore::new();
        let local = TenantId::local();
        let blob = test.store.put(&local, &plain(), b"abc").unwrap();
        test.store.set_names(&local, &[(blob.id.clone(), name("a"))]).unwrap();
        let gone = BlobId::of_digest(&Digest::of(b"gone"));
        let folder = test.config.root.join("tenants/local");
        fs::write(folder.join(format!("{}.name", gone.letters())), "x").unwrap();
        fs::write(folder.join("README.name"), "x").unwrap();
        test.store.sweep(START).unwrap();
        assert_eq!(test.files("tenants/local").len(), 3);
        assert_eq!(name_of(&test.store, &local, &blob.id).as_deref(), Some("a"));
    }

    #[test]
    fn name_or_none_whatever_is_damaged() {
        let test = TestStore::new();
        let local = TenantId::local();
        let id = test.store.put(&local, &plain(), b"abc").unwrap().id;
        test.store.set_names(&local, &[(id.clone(), name("a.csv"))]).unwrap();
        let path = test.config.root.join(format!("tenants/local/{}.name", id.letters()));
        let bytes = fs::read(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        let mut wrong: Vec<Vec<u8>> = (0..bytes.len()).map(|at| bytes[..at].to_vec()).collect();
        wrong.push([&bytes[..], b"x"].concat());
        wrong.push(vec![b'x'; 1 << 20]);
        wrong.extend((0..bytes.len() * 8).map(|bit| {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            flipped
        }));
        for wrong in wrong {
            fs::write(&path, wrong).unwrap();
            assert_eq!(name_of(&test.store, &local, &id), None);
            assert_eq!(test.content(&local, &id).unwrap(), b"abc");
        }
        test.store.verify(&local, &id, OnDamage::Remove).unwrap();
        test.store.set_names(&local, &[(id.clone(), name("b.csv"))]).unwrap();
        assert_eq!(name_of(&test.store, &local, &id).as_deref(), Some("b.csv"));
    }

    /// A name is set on a disk that fails at its `at`-th call, then loses power.
    fn check_fault(fault: Fault, at: u64, lost: usize) {
        let open = |disk: &FaultyDisk| {
            let config = BlobStoreConfig::at("/blobs".into());
            LocalBlobStore::open_on(disk.clone(), config, Clock::Fixed(START)).unwrap()
        };
        let (disk, acme) = (FaultyDisk::default(), tenant("acme"));
        let store = open(&disk);
        let id = store.put(&acme, &plain(), b"abc").unwrap().id;
        store.set_names(&acme, &[(id.clone(), name("old"))]).unwrap();
        disk.fail_at(at, fault);
        let set = store.set_names(&acme, &[(id.clone(), name("new"))]);
        disk.heal();
        drop(store);
        let mut turn = 0;
        let disk = disk.after_power_loss(|choices| {
            turn += 1;
            (turn * lost + lost) % choices
        });
        let found = name_of(&open(&disk), &acme, &id);
        match set {
            Ok(()) => assert_eq!(found.as_deref(), Some("new"), "{fault:?} at {at}: it was lost"),
            Err(_) => assert!(
                matches!(found.as_deref(), Some("old" | "new")),
                "{fault:?} at {at}: {found:?}"
            ),
        }
    }

    #[test]
    fn an_acknowledged_name_is_durable() {
        for fault in [Fault::Once(libc::EIO), Fault::OnceAfterEffect(libc::EIO), Fault::PowerCut] {
            for (at, lost) in (0..16).flat_map(|at| (0..3).map(move |lost| (at, lost))) {
                check_fault(fault, at, lost);
            }
        }
    }

    proptest! {
        #[test]
        fn names_read_back(text in "\\PC{1,60}") {
            let id = BlobId::of_digest(&Digest::of(b"x"));
            if let Ok(name) = BlobName::parse(&text) {
                prop_assert_eq!(decode(&id, &encode(&id, &name)), Some(name));
            }
        }

        #[test]
        fn any_bytes_are_a_name_or_none(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let id = BlobId::of_digest(&Digest::of(b"x"));
            prop_assert_eq!(decode(&id, &bytes), None);
        }
    }
}
