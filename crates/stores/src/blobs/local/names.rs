//! The names of blobs, in one file for each blob next to the blob's own.
//!
//! Files of equal content are one blob, so a blob has a name for each of them: those that it was
//! given last. They are given after their blob is stored, so they are not in the blob's file, which
//! never changes. A store without names, or with names that are damaged, is read as ever.
//!
//! ```text
//! 20  "wardian blob name 1\n", or "wardian blob name 2\n" if there are several names
//!  n  the names, the latest first, with "\n" between them
//! 32  SHA-256 of the blob's id and everything above
//! ```
//!
//! INVARIANT(names-of-one-tenant): a name is found by the tenant that set it, and only there.
//!
//! INVARIANT(name-or-none): after a crash or damage a blob has its old names, its new names or none.
//!
//! INVARIANT(no-name-lost): names that are given at the same time are all kept, up to the bound.

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
use wardian_vocabulary::ids::{BlobId, BlobName, MAX_BLOB_NAME, MAX_NAMES_OF_BLOB, TenantId};
use wardian_vocabulary::units::ByteCount;

/// The beginning of a file of one name. A blob with one name is as in stores of earlier versions.
const ONE: &[u8; 20] = b"wardian blob name 1\n";

/// The beginning of a file of several names.
const SEVERAL: &[u8; 20] = b"wardian blob name 2\n";

/// The byte between names. No name has a control character.
const BETWEEN: u8 = b'\n';

/// Maximum number of bytes of a file.
const MAX_FILE: usize = ONE.len() + MAX_NAMES_OF_BLOB * (MAX_BLOB_NAME + 1) + 32;

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

    /// Makes a name the latest of a blob, and returns true if the names have changed. They are not
    /// durable yet.
    fn set_name(
        &self,
        tenant_folder: &TenantFolder,
        id: &BlobId,
        name: &BlobName,
    ) -> Result<bool, BlobError> {
        let failed = BlobError::from_disk;
        loop {
            let found = self.names_to_extend(tenant_folder, id)?;
            if found.first() == Some(name) {
                return Ok(false);
            }
            let mut draft = BlobDraft::create(self).map_err(failed("write to"))?;
            draft.write(&encode(id, &with_latest(name, &found))).map_err(failed("write to"))?;
            self.disk.sync_file(&draft.file).map_err(failed("write to"))?;
            let _names = tenant_folder.lock();
            match self.disk.open(&tenant_folder.path(id)) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
                Err(error) => return Err(failed("read")(error)),
            }
            // The disk is not waited for under the lock. Who was overtaken begins again: another
            // name has been set then.
            if self.names_to_extend(tenant_folder, id)? != found {
                continue;
            }
            let path = path_of(tenant_folder, id);
            self.disk.rename(&draft.path, &path).map_err(failed("write to"))?;
            draft.is_kept = true;
            return Ok(true);
        }
    }

    /// The names of a blob that gets another one. Damaged names are none; names that the disk does
    /// not hand out now must not be lost.
    fn names_to_extend(
        &self,
        tenant_folder: &TenantFolder,
        id: &BlobId,
    ) -> Result<Vec<BlobName>, BlobError> {
        match self.read_names(tenant_folder, id) {
            Err(damaged) if damaged.kind() == io::ErrorKind::InvalidData => Ok(Vec::new()),
            read => read.map_err(BlobError::from_disk("read")),
        }
    }

    /// The blob with its names.
    pub fn named(&self, tenant_folder: &TenantFolder, blob: StoredBlob) -> StoredBlob {
        let mut names = self.find_names(tenant_folder, &blob.id).into_iter();
        StoredBlob { name: names.next(), other_names: names.collect(), ..blob }
    }

    /// The names of a blob. Names that cannot be read are none: the content matters more.
    fn find_names(&self, tenant_folder: &TenantFolder, id: &BlobId) -> Vec<BlobName> {
        let read = self.read_names(tenant_folder, id);
        read.unwrap_or_else(|cause| {
            warn!(tenant.id = %tenant_folder.tenant, blob.id = %id, error = %cause, "a blob's names cannot be read");
            Vec::new()
        })
    }

    fn read_names(&self, tenant_folder: &TenantFolder, id: &BlobId) -> io::Result<Vec<BlobName>> {
        let file = match self.disk.open(&path_of(tenant_folder, id)) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let size = ByteCount::bytes(self.disk.stamp(&file)?.size).as_usize();
        let damaged = || io::Error::new(io::ErrorKind::InvalidData, "its file is damaged");
        if size > MAX_FILE {
            return Err(damaged());
        }
        let mut bytes = vec![0; size];
        self.read_exact(&file, &mut bytes, 0)?;
        decode(id, &bytes).ok_or_else(damaged)
    }

    /// Removes the names of a blob that was removed. Called under the folder's lock. What stays is
    /// removed by a sweep.
    pub(crate) fn remove_name(&self, tenant_folder: &TenantFolder, id: &BlobId) {
        match self.disk.remove(&path_of(tenant_folder, id)) {
            Err(cause) if cause.kind() != io::ErrorKind::NotFound => {
                warn!(tenant.id = %tenant_folder.tenant, blob.id = %id, error = %cause, "a blob's names could not be removed");
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

/// The names of a blob that got `name`.
fn with_latest(name: &BlobName, earlier: &[BlobName]) -> Vec<BlobName> {
    let others = earlier.iter().filter(|other| *other != name);
    std::iter::once(name).chain(others).take(MAX_NAMES_OF_BLOB).cloned().collect()
}

fn encode(id: &BlobId, names: &[BlobName]) -> Vec<u8> {
    let magic = if names.len() > 1 { SEVERAL } else { ONE };
    let texts: Vec<&[u8]> = names.iter().map(|name| name.as_str().as_bytes()).collect();
    let mut bytes = [magic.as_slice(), &texts.join(&BETWEEN)].concat();
    let checksum = checksum(id, &bytes);
    bytes.extend_from_slice(&checksum);
    bytes
}

fn decode(id: &BlobId, bytes: &[u8]) -> Option<Vec<BlobName>> {
    let (checked, sum) = bytes.split_last_chunk::<32>()?;
    if checksum(id, checked) != *sum {
        return None;
    }
    let (magic, names) = checked.split_first_chunk::<20>()?;
    let names: Option<Vec<BlobName>> = names
        .split(|byte| *byte == BETWEEN)
        .map(|name| BlobName::parse(std::str::from_utf8(name).ok()?).ok())
        .collect();
    let fits = |count: usize| match magic {
        ONE => count == 1,
        SEVERAL => (2..=MAX_NAMES_OF_BLOB).contains(&count),
        _ => false,
    };
    names.filter(|names| fits(names.len()))
}

fn checksum(id: &BlobId, checked: &[u8]) -> [u8; 32] {
    Sha256::new().chain_update(id.as_str()).chain_update(checked).finalize().into()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::*;
    use crate::blobs::local::faulty_disk::{Fault, FaultyDisk};
    use crate::blobs::local::testing::{HOUR, START, TestStore, plain, tenant};
    use crate::blobs::testing::DerivedIdKeys;
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

    fn names_of<D: Disk>(store: &LocalBlobStore<D>, id: &BlobId) -> Vec<String> {
        let blob = store.stat(&TenantId::local(), id).unwrap();
        blob.name.iter().chain(&blob.other_names).map(BlobName::to_string).collect()
    }

    #[test]
    fn a_blob_keeps_its_last_names_the_latest_first() {
        let test = TestStore::new();
        let local = TenantId::local();
        let id = test.store.put(&local, &plain(), b"abc").unwrap().id;
        let give = |text: &str| test.store.set_names(&local, &[(id.clone(), name(text))]).unwrap();
        ["january.csv", "february.csv", "january.csv", "march.csv"].into_iter().for_each(give);
        assert_eq!(names_of(&test.store, &id), ["march.csv", "january.csv", "february.csv"]);
        let test = test.reopened_at(START);
        assert_eq!(names_of(&test.store, &id), ["march.csv", "january.csv", "february.csv"]);
        let opened = test.store.open_content(&local, &id).unwrap().blob;
        assert_eq!(opened.other_names, [name("january.csv"), name("february.csv")]);
        let listed = test.store.list(&local, None, 9).unwrap().blobs.remove(0).described.unwrap();
        assert_eq!((listed.name, listed.other_names), (Some(name("march.csv")), Vec::new()));
        let longest = |n: usize| format!("{n:0>255}");
        let given: Vec<_> = (0..40).map(|n| (id.clone(), name(&longest(n)))).collect();
        test.store.set_names(&local, &given).unwrap();
        let kept: Vec<String> = (24..40).rev().map(longest).collect();
        assert_eq!(names_of(&test.store, &id), kept);
    }

    #[test]
    fn a_file_of_an_earlier_version_is_read_and_one_name_is_written_like_it() {
        let test = TestStore::new();
        let local = TenantId::local();
        let id = test.store.put(&local, &plain(), b"abc").unwrap().id;
        let path = test.config.root.join(format!("tenants/local/{}.name", id.letters()));
        let checked = b"wardian blob name 1\nold.csv";
        let sum = Sha256::new().chain_update(id.as_str()).chain_update(checked).finalize();
        let file = [&checked[..], &sum].concat();
        fs::write(&path, &file).unwrap();
        assert_eq!(names_of(&test.store, &id), ["old.csv"]);
        test.store.set_names(&local, &[(id.clone(), name("new.csv"))]).unwrap();
        assert_eq!(names_of(&test.store, &id), ["new.csv", "old.csv"]);
        fs::remove_file(&path).unwrap();
        test.store.set_names(&local, &[(id.clone(), name("old.csv"))]).unwrap();
        assert_eq!(fs::read(&path).unwrap(), file);
    }

    #[test]
    fn no_name_lost_of_those_given_at_the_same_time() {
        let test = TestStore::new();
        let local = TenantId::local();
        let id = test.store.put(&local, &plain(), b"abc").unwrap().id;
        let texts: Vec<String> = (0..MAX_NAMES_OF_BLOB).map(|n| format!("{n:02}.csv")).collect();
        std::thread::scope(|scope| {
            for texts in texts.chunks(4) {
                let (store, local, id) = (&test.store, &local, &id);
                let give = move |text: &String| {
                    store.set_names(local, &[(id.clone(), name(text))]).unwrap();
                };
                scope.spawn(move || texts.iter().for_each(give));
            }
        });
        let mut found = names_of(&test.store, &id);
        found.sort();
        assert_eq!(found, texts);
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
        for text in ["z.csv", "a.csv"] {
            test.store.set_names(&local, &[(id.clone(), name(text))]).unwrap();
        }
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
            let store = LocalBlobStore::open_on(disk.clone(), config, Clock::Fixed(START));
            store.unwrap().with_id_keys(Arc::new(DerivedIdKeys))
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
        let found = open(&disk).stat(&acme, &id).unwrap();
        let found: Vec<&str> =
            found.name.iter().chain(&found.other_names).map(BlobName::as_str).collect();
        let is_new = found == ["new", "old"];
        match set {
            Ok(()) => assert!(is_new, "{fault:?} at {at}: it was lost: {found:?}"),
            Err(_) => assert!(is_new || found == ["old"], "{fault:?} at {at}: {found:?}"),
        }
    }

    #[test]
    fn an_acknowledged_name_is_durable() {
        for fault in [Fault::Once(libc::EIO), Fault::OnceAfterEffect(libc::EIO), Fault::PowerCut] {
            for (at, lost) in (0..24).flat_map(|at| (0..3).map(move |lost| (at, lost))) {
                check_fault(fault, at, lost);
            }
        }
    }

    proptest! {
        #[test]
        fn names_read_back(texts in proptest::collection::vec("\\PC{1,60}", 1..20)) {
            let id = BlobId::of_digest(&Digest::of(b"x"));
            let names = texts.iter().filter_map(|text| BlobName::parse(text).ok());
            let names = names.fold(Vec::new(), |names, name| with_latest(&name, &names));
            if !names.is_empty() {
                prop_assert_eq!(decode(&id, &encode(&id, &names)), Some(names));
            }
        }

        #[test]
        fn any_bytes_are_a_name_or_none(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let id = BlobId::of_digest(&Digest::of(b"x"));
            prop_assert_eq!(decode(&id, &bytes), None);
        }
    }
}
