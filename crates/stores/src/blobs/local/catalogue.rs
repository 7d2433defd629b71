//! Lists, verifies and removes blobs, for their owner and for operators.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use crate::blobs::content::trailer::StoredBlob;
use crate::blobs::local::disk::{Disk, FileStamp};
use crate::blobs::local::tenant_folder::{TenantFolder, usage_of};
use crate::blobs::{
    BlobError, BlobOrder, BlobPage, BlobPlace, BlobVerdict, ListedBlob, LocalBlobStore,
    MAX_ORDERED, OnDamage,
};
use wardian_vocabulary::ids::{BlobId, TenantId};
use wardian_vocabulary::units::ByteCount;

impl<D: Disk> LocalBlobStore<D> {
    /// The tenants that have a folder.
    ///
    /// # Errors
    ///
    /// [`BlobError::Storage`] if the list of tenants cannot be read.
    pub fn tenants(&self) -> Result<Vec<TenantId>, BlobError> {
        let folders = match self.folders_on_disk() {
            // A store that was never used has no tenants.
            Err(BlobError::Storage { cause, .. }) if cause.kind() == io::ErrorKind::NotFound => {
                Vec::new()
            }
            folders => folders?,
        };
        Ok(folders.iter().map(|tenant_folder| tenant_folder.tenant.clone()).collect())
    }

    /// Lists at most `most` blobs in the order of their ids, from the first one behind `after`.
    ///
    /// The memory for it depends on `most` alone: of the names in the folder only the smallest are
    /// kept.
    ///
    /// # Errors
    ///
    /// [`BlobError::Storage`] if the folder cannot be read.
    pub fn list(
        &self,
        tenant: &TenantId,
        after: Option<&BlobId>,
        most: usize,
    ) -> Result<BlobPage, BlobError> {
        let tenant_folder = self.tenant_folder(tenant);
        let mut smallest: BTreeSet<BlobId> = BTreeSet::new();
        let named = self.disk.for_each_name(&tenant_folder.folder, &mut |name| {
            let Ok(id) = BlobId::parse(&format!("blob:{name}")) else { return };
            if after.is_none_or(|after| id > *after) {
                smallest.insert(id);
                if smallest.len() > most.saturating_add(1) {
                    smallest.pop_last();
                }
            }
        });
        match named {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BlobPage::default()),
            named => named.map_err(BlobError::from_disk("read"))?,
        }
        let has_more = smallest.len() > most;
        let mut blobs = Vec::with_capacity(smallest.len().min(most));
        for id in smallest.into_iter().take(most) {
            blobs.extend(self.listed(&tenant_folder, id)?);
        }
        Ok(BlobPage { blobs, has_more })
    }

    /// Lists at most `most` blobs in another order, from the first one behind `after`. `None` if there
    /// are more than [`MAX_ORDERED`].
    ///
    /// Each page reads the descriptions of all blobs, and keeps those that it has: the memory for it
    /// depends on `most` alone.
    ///
    /// # Errors
    ///
    /// [`BlobError::Storage`] if the folder or a blob cannot be read.
    pub fn list_in_order(
        &self,
        tenant: &TenantId,
        order: BlobOrder,
        after: Option<&BlobPlace>,
        most: usize,
    ) -> Result<Option<BlobPage>, BlobError> {
        let tenant_folder = self.tenant_folder(tenant);
        let (mut first, mut count, mut failed) = (BTreeMap::new(), 0_usize, None);
        let named = self.disk.for_each_name(&tenant_folder.folder, &mut |name| {
            let Ok(id) = BlobId::parse(&format!("blob:{name}")) else { return };
            count = count.saturating_add(1);
            if count > MAX_ORDERED || failed.is_some() {
                return;
            }
            let found = match self.listed(&tenant_folder, id) {
                Ok(found) => found.map(|blob| (blob.place(order), blob)),
                Err(error) => {
                    failed = Some(error);
                    None
                }
            };
            first.extend(found.filter(|(place, _)| after.is_none_or(|after| place > after)));
            if first.len() > most.saturating_add(1) {
                first.pop_last();
            }
        });
        match named {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Some(BlobPage::default()));
            }
            named => named.map_err(BlobError::from_disk("read"))?,
        }
        if let Some(error) = failed {
            return Err(error);
        }
        if count > MAX_ORDERED {
            return Ok(None);
        }
        let has_more = first.len() > most;
        Ok(Some(BlobPage { blobs: first.into_values().take(most).collect(), has_more }))
    }

    /// Describes a blob; `None` if it is gone or not a regular file.
    fn listed(
        &self,
        tenant_folder: &TenantFolder,
        id: BlobId,
    ) -> Result<Option<ListedBlob>, BlobError> {
        let failed = BlobError::from_disk;
        let file = match self.disk.open(&tenant_folder.path(&id)) {
            Ok(file) => file,
            Err(error) if error.raw_os_error().is_none() => return Ok(None),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed("read")(error)),
        };
        let stamp = self.disk.stamp(&file).map_err(failed("read"))?;
        let described = self.trailer(&id, &file, stamp.size).map_err(failed("read"))?;
        let described = described.map(|blob| {
            let named = self.named(tenant_folder, blob);
            // A page has room for one name of each blob.
            StoredBlob { other_names: Vec::new(), ..named }
        });
        let size = ByteCount::bytes(usage_of(stamp.size).bytes);
        Ok(Some(ListedBlob { id, size, used: stamp.used, described }))
    }

    /// Removes a blob. Open files stay readable. When this returns, the removal is durable.
    ///
    /// # Errors
    ///
    /// [`BlobError::NotFound`] also when the blob belongs to another tenant;
    /// [`BlobError::Sealed`] or [`BlobError::Storage`].
    pub fn remove(&self, tenant: &TenantId, id: &BlobId) -> Result<(), BlobError> {
        self.remove_file(tenant, id, |_| true)
    }

    /// Removes a blob whose file is one that `is_wanted`.
    fn remove_file(
        &self,
        tenant: &TenantId,
        id: &BlobId,
        is_wanted: impl Fn(&FileStamp) -> bool,
    ) -> Result<(), BlobError> {
        if self.is_sealed() {
            return Err(BlobError::Sealed);
        }
        let tenant_folder = self.tenant_folder(tenant);
        {
            let mut names = tenant_folder.lock();
            let path = tenant_folder.path(id);
            let file = self.disk.open(&path).map_err(|error| missing_or_failed(error, id))?;
            let stamp = self.disk.stamp(&file).map_err(BlobError::from_disk("read"))?;
            if !is_wanted(&stamp) {
                return Ok(());
            }
            self.disk
                .remove(&path)
                .inspect_err(|_| names.forget())
                .map_err(BlobError::from_disk("write to"))?;
            names.subtract(usage_of(stamp.size));
            self.remove_name(&tenant_folder, id);
        }
        self.verified.lock().forget(tenant, id);
        self.sync_tenant_folder(&tenant_folder)
    }

    /// Re-hashes a whole blob, bypassing the cache of verified ones. Does not count as a use.
    ///
    /// # Errors
    ///
    /// [`BlobError::NotFound`], or [`BlobError::Storage`] if the blob cannot be read to its end.
    pub fn verify(
        &self,
        tenant: &TenantId,
        id: &BlobId,
        damaged: OnDamage,
    ) -> Result<BlobVerdict, BlobError> {
        let tenant_folder = self.tenant_folder(tenant);
        let file = {
            let _names = tenant_folder.lock();
            let opened = self.disk.open(&tenant_folder.path(id));
            opened.map_err(|error| missing_or_failed(error, id))?
        };
        let stamp = self.disk.stamp(&file).map_err(BlobError::from_disk("read"))?;
        let examined = self.examine(&self.id_scheme(&tenant_folder)?, id, &file, stamp.size);
        let examined = examined.map_err(BlobError::from_disk("read"))?;
        if let Some(blob) = examined {
            return Ok(BlobVerdict::Intact(blob));
        }
        // The next reader verifies it too, and refuses it.
        self.verified.lock().forget(tenant, id);
        match damaged {
            OnDamage::Keep => {}
            OnDamage::Quarantine if self.is_sealed() => return Err(BlobError::Sealed),
            OnDamage::Quarantine => drop(self.set_aside(&tenant_folder, id, &stamp)),
            OnDamage::Remove => {
                // An intact copy may have replaced the file since it was opened.
                self.remove_file(tenant, id, |found| found.place == stamp.place)?;
            }
        }
        Ok(BlobVerdict::Damaged(ByteCount::bytes(stamp.size)))
    }
}

fn missing_or_failed(error: io::Error, id: &BlobId) -> BlobError {
    match error.kind() {
        io::ErrorKind::NotFound => BlobError::NotFound { id: id.clone() },
        _ => BlobError::from_disk("read")(error),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;
    use crate::blobs::local::testing::{HOUR, START, TestStore, plain, tenant};
    use crate::blobs::{LocalBlobStore, NewBlob, TenantUsage};
    use wardian_vocabulary::clock::Clock;
    use wardian_vocabulary::ids::BlobName;

    fn damage(test: &TestStore, id: &BlobId) {
        let path = test.path(&TenantId::local(), id);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        let mut bytes = fs::read(&path).unwrap();
        bytes[0] ^= 1;
        fs::write(&path, bytes).unwrap();
    }

    fn ids_of(page: &BlobPage) -> Vec<BlobId> {
        page.blobs.iter().map(|listed| listed.id.clone()).collect()
    }

    #[test]
    fn pages_have_each_blob_once_whatever_changes_between_them() {
        let test = TestStore::new();
        let local = TenantId::local();
        let mut ids: Vec<BlobId> =
            (0..25_u8).map(|n| test.store.put(&local, &plain(), &[n]).unwrap().id).collect();
        ids.sort();
        fs::write(test.config.root.join("tenants/local/README"), "x").unwrap();
        assert_eq!(test.store.list(&tenant("other"), None, 9).unwrap(), BlobPage::default());
        let all = test.store.list(&local, None, 25).unwrap();
        assert_eq!((ids_of(&all), all.has_more), (ids.clone(), false));
        let first = test.store.list(&local, None, 10).unwrap();
        assert_eq!((ids_of(&first), first.has_more), (ids[..10].to_vec(), true));
        let listed = &first.blobs[0];
        assert_eq!((listed.size, listed.used), (ByteCount::bytes(1), START));
        assert_eq!(listed.described.as_ref().unwrap().kind, plain());
        // The last blob of a page may be gone when the next one is asked for.
        test.store.remove(&local, &ids[9]).unwrap();
        let second = test.store.list(&local, Some(&ids[9]), 15).unwrap();
        assert_eq!((ids_of(&second), second.has_more), (ids[10..].to_vec(), false));
        assert_eq!(test.store.list(&local, Some(&ids[24]), 5).unwrap(), BlobPage::default());
    }

    #[test]
    fn pages_in_another_order_have_each_blob_once_and_in_order() {
        let test = TestStore::new();
        let local = TenantId::local();
        let mut test = test;
        let mut made = Vec::new();
        for n in 0..23_u8 {
            test = test.reopened_at(START + HOUR * u32::from(n % 7));
            let content = vec![n; usize::from(n % 5) + 1];
            let id = test.store.put(&local, &plain(), &content).unwrap().id;
            if n % 3 > 0 {
                let name = BlobName::parse(&format!(
                    "{}{}.txt",
                    ["b", "A", "ä"][usize::from(n % 3)],
                    n % 4
                ));
                test.store.set_names(&local, &[(id.clone(), name.unwrap())]).unwrap();
            }
            made.push(id);
        }
        damage(&test, &made[0]);
        for order in [BlobOrder::Newest, BlobOrder::Name, BlobOrder::Largest] {
            let list = |after: Option<&BlobPlace>, most| {
                test.store.list_in_order(&local, order, after, most).unwrap().unwrap()
            };
            let all = list(None, 100);
            assert_eq!((all.blobs.len(), all.has_more), (23, false));
            let places: Vec<BlobPlace> = all.blobs.iter().map(|blob| blob.place(order)).collect();
            assert!(places.is_sorted());
            let (mut paged, mut after) = (Vec::new(), None);
            loop {
                let page = list(after.as_ref(), 4);
                after = page.blobs.last().map(|blob| blob.place(order));
                paged.extend(ids_of(&page));
                if !page.has_more {
                    break;
                }
            }
            assert_eq!(paged, ids_of(&all), "{order:?}");
        }
        let list =
            |order| test.store.list_in_order(&local, order, None, 100).unwrap().unwrap().blobs;
        let created = |blob: &ListedBlob| blob.described.as_ref().map(|blob| blob.created);
        assert_eq!(created(&list(BlobOrder::Newest)[0]), Some(START + HOUR * 6));
        let name = |blob: &ListedBlob| Some(blob.described.as_ref()?.name.as_ref()?.to_string());
        let names: Vec<Option<String>> = list(BlobOrder::Name).iter().map(name).collect();
        assert_eq!(names[0].as_deref(), Some("A0.txt"));
        assert!(names[names.len() - 8..].iter().all(Option::is_none), "{names:?}");
        assert_eq!(list(BlobOrder::Largest)[0].size.as_u64(), 5);
        let other = test.store.list_in_order(&tenant("other"), BlobOrder::Name, None, 9).unwrap();
        assert_eq!(other, Some(BlobPage::default()));
    }

    #[test]
    fn a_tenant_with_too_many_blobs_has_them_in_the_order_of_their_ids_only() {
        let test = TestStore::new();
        let local = TenantId::local();
        test.store.put(&local, &plain(), b"x").unwrap();
        let folder = test.config.root.join("tenants/local");
        let letters =
            |n: usize| BlobId::of_digest(&wardian_vocabulary::ids::Digest::of(&n.to_le_bytes()));
        for n in 1..MAX_ORDERED {
            fs::write(folder.join(letters(n).letters()), "").unwrap();
        }
        let list = || test.store.list_in_order(&local, BlobOrder::Newest, None, 3).unwrap();
        assert_eq!(list().unwrap().blobs.len(), 3);
        fs::write(folder.join(letters(0).letters()), "").unwrap();
        assert_eq!(list(), None);
    }

    #[test]
    fn listing_and_verifying_are_no_uses() {
        let test = TestStore::new();
        let local = TenantId::local();
        let id = test.store.put(&local, &plain(), b"abc").unwrap().id;
        let week = HOUR * 24 * 7;
        let test = test.reopened_at(START + week - HOUR);
        test.store.list(&local, None, 5).unwrap();
        test.store.verify(&local, &id, OnDamage::Keep).unwrap();
        assert_eq!(test.store.sweep(START + week).unwrap().expired, 1);
    }

    #[test]
    fn a_removed_blob_is_gone_and_its_room_is_free() {
        let test = TestStore::with(|config| config.tenant_bytes = ByteCount::bytes(3));
        let local = TenantId::local();
        let id = test.store.put(&local, &plain(), b"abc").unwrap().id;
        assert!(test.store.put(&local, &plain(), b"abd").is_err());
        let other = test.store.remove(&tenant("other"), &id).unwrap_err();
        assert!(matches!(other, BlobError::NotFound { .. }), "of another tenant");
        test.store.remove(&local, &id).unwrap();
        assert!(matches!(test.store.remove(&local, &id), Err(BlobError::NotFound { .. })));
        assert!(test.content(&local, &id).is_err());
        assert_eq!(test.store.usage(&local).unwrap(), TenantUsage::default());
        test.store.put(&local, &plain(), b"abd").unwrap();
    }

    #[test]
    fn verifying_finds_damage_that_the_cache_hides() {
        for (on_damage, is_listed, quarantined) in
            [(OnDamage::Keep, 2, 0), (OnDamage::Quarantine, 1, 1), (OnDamage::Remove, 1, 0)]
        {
            let test = TestStore::new();
            let local = TenantId::local();
            let id = test.store.put(&local, &plain(), b"abc").unwrap().id;
            let good = test.store.put(&local, &plain(), b"good").unwrap();
            damage(&test, &id);
            let found = test.store.verify(&local, &id, on_damage).unwrap();
            assert_eq!(found, BlobVerdict::Damaged(ByteCount::bytes(3 + 192)));
            let intact = test.store.verify(&local, &good.id, on_damage).unwrap();
            assert_eq!(intact, BlobVerdict::Intact(good));
            assert_eq!(test.store.list(&local, None, 9).unwrap().blobs.len(), is_listed);
            assert_eq!(test.files("quarantine").len(), quarantined);
        }
    }

    #[test]
    fn beside_a_server_the_store_is_read_and_never_changed() {
        let test = TestStore::new();
        let local = TenantId::local();
        let ids =
            [b"abc", b"abd"].map(|content| test.store.put(&local, &plain(), content).unwrap().id);
        damage(&test, &ids[0]);
        let beside = LocalBlobStore::open_beside(test.config.clone(), Clock::System);
        assert_eq!(beside.tenants().unwrap(), std::slice::from_ref(&local));
        assert_eq!(beside.list(&local, None, 9).unwrap().blobs.len(), 2);
        assert!(matches!(
            beside.verify(&local, &ids[0], OnDamage::Keep),
            Ok(BlobVerdict::Damaged(_))
        ));
        for on_damage in [OnDamage::Quarantine, OnDamage::Remove] {
            let refused = beside.verify(&local, &ids[0], on_damage);
            assert!(matches!(refused, Err(BlobError::Sealed)));
        }
        assert!(beside.open_content(&local, &ids[0]).is_err());
        assert!(beside.put(&local, &plain(), b"new").is_err());
        assert!(beside.remove(&local, &ids[1]).is_err());
        assert_eq!(test.files("tenants/local").len(), 2);
        assert_eq!(test.files("quarantine").len(), 0);
        let missing = BlobStoreConfigAt(test.config.root.join("nowhere"));
        assert!(missing.open().tenants().unwrap().is_empty());
    }

    struct BlobStoreConfigAt(std::path::PathBuf);

    impl BlobStoreConfigAt {
        fn open(self) -> LocalBlobStore {
            LocalBlobStore::open_beside(crate::blobs::BlobStoreConfig::at(self.0), Clock::System)
        }
    }

    #[test]
    fn content_in_pieces_is_the_content() {
        let test = TestStore::with(|config| config.blob_max = ByteCount::bytes(5));
        let local = TenantId::local();
        let TestStore { store, config, .. } = &test;
        let config =
            crate::blobs::BlobStoreConfig { root: config.root.join("second"), ..config.clone() };
        let second = Arc::new(LocalBlobStore::open(config, Clock::Fixed(START)).unwrap());
        let new = NewBlob { kind: plain(), announced: None, digest: None };
        let begin = || second.begin(&local, &new).unwrap();
        let mut writer = begin();
        writer.append(b"ab").unwrap();
        writer.append(b"c").unwrap();
        let written = writer.finish().unwrap();
        assert!(written.is_new);
        assert_eq!(written.blob, store.put(&local, &plain(), b"abc").unwrap());
        let mut writer = begin();
        writer.append(b"abc").unwrap();
        assert!(!writer.finish().unwrap().is_new);
        let mut writer = begin();
        writer.append(b"12345").unwrap();
        assert!(matches!(writer.append(b"6"), Err(BlobError::TooLarge { .. })));
        drop(writer);
        let empty = begin().finish().unwrap();
        assert_eq!(empty.blob.size, ByteCount::bytes(0));
        assert_eq!(test.files("second/drafts"), Vec::<String>::new());
    }

    /// Stores a blob and uses it; false if a sweep removed it before it was opened.
    fn use_blob(store: &LocalBlobStore, tenant: &TenantId, turn: u8, round: u32) -> bool {
        let content = [turn % 2, (round % 3) as u8];
        let id = store.put(tenant, &plain(), &content).unwrap().id;
        let Ok(open) = store.open_content(tenant, &id) else { return false };
        for _ in 0..3 {
            store.stat(tenant, &id).unwrap();
            std::thread::yield_now();
        }
        assert!(store.pin(tenant, &id).is_ok());
        drop(open);
        true
    }

    /// Writers, readers and sweeps of few blobs at one time. The clock of the sweeps is a year ahead,
    /// so only pins keep a blob.
    #[test]
    fn in_use_is_kept_by_sweeps_at_any_moment() {
        let test = TestStore::new();
        let local = TenantId::local();
        let is_over = AtomicBool::new(false);
        let far = START + HOUR * 24 * 365;
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Acquire) {
                    test.store.sweep(far).unwrap();
                }
            });
            let users: Vec<_> = (0..3_u8)
                .map(|turn| {
                    let (store, local) = (&test.store, &local);
                    scope.spawn(move || {
                        (0..400).filter(|n| use_blob(store, local, turn, *n)).count()
                    })
                })
                .collect();
            let opened: usize = users.into_iter().map(|user| user.join().unwrap()).sum();
            is_over.store(true, Ordering::Release);
            assert!(opened > 0);
        });
        test.store.sweep(far).unwrap();
        assert_eq!(test.store.usage(&local).unwrap(), TenantUsage::default());
        assert!(test.store.pins.all().is_empty());
    }
}
