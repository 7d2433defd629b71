//! Removes blobs that have not been used for the store's time to live.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tracing::{debug, warn};

use crate::blobs::local::disk::{Disk, FolderEntry};
use crate::blobs::local::tenant_folder::{TenantFolder, blob_of, usage_of};
use crate::blobs::{BlobError, LocalBlobStore};
use wardian_vocabulary::ids::{BlobId, TenantId};
use wardian_vocabulary::units::ByteCount;

/// The shortest interval of recording a use, so that a blob that is read a thousand times a second
/// costs one write to the disk in an hour.
const NOTED_EVERY: Duration = Duration::from_secs(60 * 60);

/// The result of a sweep.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SweepReport {
    /// Blobs that were removed.
    pub expired: u64,
    /// Bytes of their content.
    pub freed: ByteCount,
    /// Blobs that should have been removed but could not be.
    pub failed: u64,
}

impl SweepReport {
    /// Notes a blob that was to be removed, with its size if it was.
    fn note(
        &mut self,
        (tenant_folder, id): (&TenantFolder, &BlobId),
        removed: io::Result<Option<u64>>,
    ) {
        match removed {
            Ok(Some(size)) => {
                self.expired = self.expired.saturating_add(1);
                self.freed = ByteCount::bytes(self.freed.as_u64().saturating_add(size));
            }
            Ok(None) => {}
            Err(cause) => {
                self.failed = self.failed.saturating_add(1);
                warn!(tenant.id = %tenant_folder.tenant, blob.id = %id, error = %cause, "could not be removed");
            }
        }
    }
}

impl<D: Disk> LocalBlobStore<D> {
    /// Counts the blobs of all tenants, so that the first write of each tenant need not wait. Other
    /// calls continue meanwhile; only writes of the tenant that is being counted wait.
    ///
    /// # Errors
    ///
    /// [`BlobError::Storage`] if the list of tenants cannot be read. A failure of one tenant is
    /// logged; its blobs are counted at its first write.
    pub fn count_all(&self) -> Result<(), BlobError> {
        for tenant_folder in self.folders_on_disk()? {
            if let Err(cause) = tenant_folder.count_ahead(&self.disk) {
                warn!(tenant.id = %tenant_folder.tenant, error = %cause, "could not be counted");
            }
        }
        Ok(())
    }

    pub(crate) fn folders_on_disk(&self) -> Result<Vec<Arc<TenantFolder>>, BlobError> {
        let folder = self.config.root.join("tenants");
        let entries = self.disk.list(&folder).map_err(BlobError::from_disk("read"))?;
        let tenants = entries.iter().filter(|entry| !entry.is_file);
        let tenants = tenants.filter_map(|entry| TenantId::parse(&entry.name).ok());
        Ok(tenants.map(|tenant| self.tenant_folder(&tenant)).collect())
    }

    /// Removes all blobs that were not used for the time to live before `now` (time since the
    /// Unix epoch). Pinned blobs are in use and stay. Other files in the folders are left alone.
    ///
    /// # Errors
    ///
    /// [`BlobError::Storage`] if the list of tenants cannot be read. A failure of one tenant or
    /// blob is logged and counted, and the sweep continues.
    pub fn sweep(&self, now: Duration) -> Result<SweepReport, BlobError> {
        let mut report = SweepReport::default();
        let Some(ttl) = self.config.ttl else {
            return Ok(report);
        };
        self.mark_pinned();
        for tenant_folder in self.folders_on_disk()? {
            match self.disk.list(&tenant_folder.folder) {
                Ok(entries) => self.sweep_folder(&tenant_folder, &entries, now, &mut report),
                Err(cause) => {
                    warn!(tenant.id = %tenant_folder.tenant, error = %cause, "could not be swept");
                }
            }
        }
        debug!(expired = report.expired, failed = report.failed, "swept the blob store of {ttl:?}");
        Ok(report)
    }

    /// Records that all pinned blobs are in use now, so that their time to live begins when they
    /// are released, within the interval of sweeps.
    fn mark_pinned(&self) {
        for (tenant, id) in self.pins.all() {
            let tenant_folder = self.tenant_folder(&tenant);
            let _names = tenant_folder.lock();
            // A pinned blob that its owner has removed no longer exists.
            if let Ok(file) = self.disk.open(&tenant_folder.path(&id)) {
                self.mark_used(&tenant_folder, &id, &file);
            }
        }
    }

    fn sweep_folder(
        &self,
        tenant_folder: &TenantFolder,
        entries: &[FolderEntry],
        now: Duration,
        report: &mut SweepReport,
    ) {
        self.remove_stray_names(tenant_folder, entries);
        for entry in entries.iter().filter(|entry| self.has_expired(entry.used, now)) {
            let Some(id) = blob_of(entry) else { continue };
            let removed =
                self.remove_unused(tenant_folder, &id, |used| self.has_expired(used, now));
            report.note((tenant_folder, &id), removed);
        }
    }

    /// Removes blobs that were used longest ago until the others have at most `most` bytes. Pinned blobs stay, and
    /// so does what was used meanwhile: for a store that holds copies.
    ///
    /// # Errors
    ///
    /// As [`sweep`](Self::sweep).
    pub fn trim(&self, most: ByteCount) -> Result<SweepReport, BlobError> {
        let mut blobs = Vec::new();
        let mut bytes = 0_u64;
        for tenant_folder in self.folders_on_disk()? {
            let entries = match self.disk.list(&tenant_folder.folder) {
                Ok(entries) => entries,
                Err(cause) => {
                    warn!(tenant.id = %tenant_folder.tenant, error = %cause, "could not be listed");
                    continue;
                }
            };
            for entry in entries {
                let Some(id) = blob_of(&entry) else { continue };
                bytes = bytes.saturating_add(usage_of(entry.size).bytes);
                blobs.push((entry.used, Arc::clone(&tenant_folder), id));
            }
        }
        blobs.sort_by_key(|(used, _, _)| *used);
        let mut report = SweepReport::default();
        for (listed, tenant_folder, id) in blobs {
            if bytes.saturating_sub(report.freed.as_u64()) <= most.as_u64() {
                break;
            }
            let removed = self.remove_unused(&tenant_folder, &id, |used| used <= listed);
            report.note((&tenant_folder, &id), removed);
        }
        Ok(report)
    }

    fn has_expired(&self, used: Duration, now: Duration) -> bool {
        self.config.ttl.is_some_and(|ttl| used.saturating_add(ttl) <= now)
    }

    /// Removes a blob that is not in use, if the time of its last use is such. Returns its size if it was removed.
    fn remove_unused(
        &self,
        tenant_folder: &TenantFolder,
        id: &BlobId,
        is_unused: impl Fn(Duration) -> bool,
    ) -> io::Result<Option<u64>> {
        let mut names = tenant_folder.lock();
        let path = tenant_folder.path(id);
        let file = match self.disk.open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let stamp = self.disk.stamp(&file)?;
        if !is_unused(stamp.used) || self.pins.holds(&tenant_folder.tenant, id) {
            return Ok(None);
        }
        self.disk.remove(&path).inspect_err(|_| names.forget())?;
        let usage = usage_of(stamp.size);
        names.subtract(usage);
        self.remove_name(tenant_folder, id);
        self.verified.lock().forget(&tenant_folder.tenant, id);
        Ok(Some(usage.bytes))
    }

    /// Records that a blob is used now. Called under the folder's lock. A failure is logged and
    /// does not prevent the read.
    pub(crate) fn mark_used(&self, tenant_folder: &TenantFolder, id: &BlobId, file: &D::File) {
        let now = self.clock.now();
        let often = self.config.ttl.map_or(NOTED_EVERY, |ttl| NOTED_EVERY.min(ttl / 8));
        let noted = self.disk.stamp(file).and_then(|before| {
            // A time in the future comes from a wrong clock. It is replaced, because it would keep
            // the blob too long.
            if before.used.abs_diff(now) <= often {
                return Ok(());
            }
            self.disk.set_used(file, now)?;
            let after = self.disk.stamp(file)?;
            self.verified.lock().restamp(&tenant_folder.tenant, id, &before, after);
            Ok(())
        });
        if let Err(cause) = noted {
            warn!(tenant.id = %tenant_folder.tenant, blob.id = %id, error = %cause, "a use could \
                not be recorded");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::Duration;

    use super::*;
    use crate::blobs::local::testing::{HOUR, START, TestStore, plain, tenant};
    use crate::blobs::{BlobError, TenantUsage};
    use wardian_vocabulary::clock::Clock;
    use wardian_vocabulary::ids::Digest;

    const WEEK: Duration = Duration::from_secs(7 * 24 * 60 * 60);

    #[test]
    fn a_blob_is_removed_when_it_was_not_used_for_its_time_to_live() {
        let test = TestStore::new();
        let local = TenantId::local();
        let blob = test.store.put(&local, &plain(), b"abc").unwrap();
        let early = test.store.sweep(START + WEEK - Duration::from_nanos(1)).unwrap();
        assert_eq!(early, SweepReport::default());
        let report = test.store.sweep(START + WEEK).unwrap();
        assert_eq!(report, SweepReport { expired: 1, freed: ByteCount::bytes(3), failed: 0 });
        assert!(matches!(test.content(&local, &blob.id), Err(BlobError::NotFound { .. })));
        assert_eq!(test.store.usage(&local).unwrap(), TenantUsage::default());
        assert_eq!(test.store.put(&local, &plain(), b"abc").unwrap().id, blob.id);
    }

    #[test]
    fn every_use_counts() {
        let uses: [fn(&TestStore, &BlobId); 5] = [
            |test, id| assert!(test.store.stat(&TenantId::local(), id).is_ok()),
            |test, id| assert!(test.content(&TenantId::local(), id).is_ok()),
            |test, id| assert!(test.store.open_content(&TenantId::local(), id).is_ok()),
            |test, _| assert!(test.store.put(&TenantId::local(), &plain(), b"abc").is_ok()),
            |test, _| {
                let size = ByteCount::bytes(3);
                let put = test.store.put_from(&TenantId::local(), &plain(), size, &mut &b"abc"[..]);
                assert!(put.is_ok());
            },
        ];
        for used in uses {
            let test = TestStore::new();
            let id = test.store.put(&TenantId::local(), &plain(), b"abc").unwrap().id;
            let test = test.reopened_at(START + WEEK - HOUR);
            used(&test, &id);
            assert_eq!(test.store.sweep(START + WEEK).unwrap().expired, 0);
            assert_eq!(test.store.sweep(START + WEEK * 2 - HOUR).unwrap().expired, 1);
        }
    }

    #[test]
    fn a_use_after_the_list_was_made_counts() {
        let test = TestStore::new();
        let local = TenantId::local();
        let id = test.store.put(&local, &plain(), b"abc").unwrap().id;
        let tenant_folder = test.store.tenant_folder(&local);
        let has_expired = |used| test.store.has_expired(used, START + HOUR);
        let removed = test.store.remove_unused(&tenant_folder, &id, has_expired).unwrap();
        assert_eq!(removed, None);
        assert!(test.content(&local, &id).is_ok());
    }

    #[test]
    fn a_use_by_another_tenant_does_not_count() {
        let test = TestStore::new();
        let (one, two) = (tenant("one"), tenant("two"));
        let id = test.store.put(&one, &plain(), b"abc").unwrap().id;
        let test = test.reopened_at(START + WEEK - HOUR);
        let theirs = test.store.put(&two, &plain(), b"abc").unwrap().id;
        assert!(test.content(&two, &id).is_err());
        assert_eq!(test.store.sweep(START + WEEK).unwrap().expired, 1);
        assert!(test.content(&one, &id).is_err());
        assert!(test.content(&two, &theirs).is_ok());
    }

    #[test]
    fn trimming_removes_what_was_used_longest_ago_and_is_not_held() {
        let mut test = TestStore::new();
        let mut ids = Vec::new();
        for number in 0..6_u8 {
            test = test.reopened_at(START + HOUR * u32::from(number));
            let owner = tenant(if number % 2 == 0 { "acme" } else { "beta" });
            let id = test.store.put(&owner, &plain(), &[number; 10]).unwrap().id;
            ids.push((owner, id));
        }
        let is_there = |test: &TestStore| -> Vec<bool> {
            ids.iter().map(|(owner, id)| test.content(owner, id).is_ok()).collect()
        };
        let all = test.store.trim(ByteCount::bytes(60)).unwrap();
        assert_eq!(all, SweepReport::default());
        let pin = test.store.pin(&ids[1].0, &ids[1].1).unwrap();
        let report = test.store.trim(ByteCount::bytes(35)).unwrap();
        assert_eq!(report, SweepReport { expired: 3, freed: ByteCount::bytes(30), failed: 0 });
        assert_eq!(is_there(&test), [false, true, false, false, true, true]);
        drop(pin);
        assert_eq!(test.store.trim(ByteCount::bytes(0)).unwrap().expired, 3);
        assert_eq!(test.store.usage(&tenant("acme")).unwrap(), TenantUsage::default());
    }

    #[test]
    fn without_a_time_to_live_no_blob_is_removed() {
        let test = TestStore::with(|config| config.ttl = None);
        test.store.put(&TenantId::local(), &plain(), b"abc").unwrap();
        assert_eq!(test.store.sweep(Duration::MAX).unwrap(), SweepReport::default());
    }

    #[test]
    fn an_open_blob_does_not_expire_and_a_removed_one_stays_readable() {
        let test = TestStore::new();
        let local = TenantId::local();
        let id = test.store.put(&local, &plain(), b"abc").unwrap().id;
        let open = test.store.open_content(&local, &id).unwrap();
        assert_eq!(test.store.sweep(START + WEEK).unwrap().expired, 0);
        test.store.remove(&local, &id).unwrap();
        assert!(test.store.remove(&local, &id).is_err());
        let mut content = [0; 3];
        std::os::unix::fs::FileExt::read_exact_at(&open.file, &mut content, 0).unwrap();
        assert_eq!(&content, b"abc");
    }

    #[test]
    fn a_wrong_clock_neither_removes_early_nor_keeps_forever() {
        let year = WEEK * 52;
        let test = TestStore::new().reopened_at(START + year);
        let local = TenantId::local();
        let id = test.store.put(&local, &plain(), b"abc").unwrap().id;
        let test = test.reopened_at(START);
        assert_eq!(test.store.sweep(START).unwrap().expired, 0);
        assert!(test.content(&local, &id).is_ok());
        assert_eq!(test.store.sweep(START + WEEK).unwrap().expired, 1);
    }

    #[test]
    fn other_files_are_left_alone() {
        let test = TestStore::new();
        test.store.put(&TenantId::local(), &plain(), b"abc").unwrap();
        let root = &test.config.root;
        let letters = "a".repeat(52);
        fs::write(root.join("tenants/local/README"), "x").unwrap();
        fs::write(root.join("tenants/README"), "x").unwrap();
        fs::create_dir_all(root.join("tenants/Not A Tenant").join(&letters)).unwrap();
        fs::create_dir(root.join("tenants/local").join(&letters)).unwrap();
        assert_eq!(test.store.sweep(START * 2).unwrap().expired, 1);
        assert_eq!(test.files("tenants"), ["Not A Tenant", "README", "local"]);
        assert_eq!(test.files("tenants/local"), ["README", &letters]);
    }

    #[test]
    fn recording_a_use_does_not_cost_another_hashing() {
        let mut test = TestStore::new();
        let local = TenantId::local();
        let id = test.store.put(&local, &plain(), b"abc").unwrap().id;
        test.store.clock = Clock::Fixed(START + HOUR * 3);
        let tenant_folder = test.store.tenant_folder(&local);
        let (file, _) = test.store.open_used(&tenant_folder, &id).unwrap().unwrap();
        let stamp = test.store.disk.stamp(&file).unwrap();
        assert_eq!(stamp.used, START + HOUR * 3, "the use was not noted");
        assert!(test.store.verified.lock().find(&local, &id, &stamp).is_some());
    }

    #[test]
    fn blobs_are_counted_before_the_first_write() {
        let test = TestStore::new();
        let (local, other) = (TenantId::local(), tenant("other"));
        test.store.put(&local, &plain(), b"abc").unwrap();
        test.store.put(&other, &plain(), b"abcde").unwrap();
        let test = test.reopened_at(START);
        test.store.count_all().unwrap();
        // The folder is not read again: a file that another program puts there is not counted.
        fs::write(test.path(&local, &BlobId::of_digest(&Digest::of(b"x"))), "x").unwrap();
        assert_eq!(test.store.usage(&local).unwrap(), TenantUsage { blobs: 1, bytes: 3 });
        test.store.put(&local, &plain(), b"12345678").unwrap();
        assert_eq!(test.store.usage(&local).unwrap(), TenantUsage { blobs: 2, bytes: 11 });
        assert_eq!(test.store.usage(&other).unwrap(), TenantUsage { blobs: 1, bytes: 5 });
    }

    #[test]
    fn a_count_beside_writers_and_sweeps_loses_nothing() {
        let mut test = TestStore::with(|config| config.tenant_blobs = 60);
        let local = TenantId::local();
        for number in 0..50_u8 {
            test.store.put(&local, &plain(), &[number]).unwrap();
        }
        for _ in 0..20 {
            test = test.reopened_at(START);
            std::thread::scope(|scope| {
                scope.spawn(|| test.store.count_all().unwrap());
                scope.spawn(|| test.store.put(&local, &plain(), b"more").unwrap());
                scope.spawn(|| test.store.sweep(START).unwrap());
            });
            assert_eq!(test.store.usage(&local).unwrap().blobs, 51);
        }
    }
}
