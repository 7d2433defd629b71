//! A cache of files that were verified and have not changed since.
//!
//! # Why
//!
//! Hashing 256 MiB takes a fifth of a second, which would be most of the time of a run that mounts
//! the blob. A file whose inode, size and times have not changed since it was hashed has the same
//! bytes, as far as the operating system can tell.

use std::collections::{HashMap, VecDeque};

use crate::blobs::content::trailer::StoredBlob;
use crate::blobs::local::disk::FileStamp;
use wardian_vocabulary::ids::{BlobId, TenantId};

/// Maximum number of files in the cache. Each takes a few hundred bytes.
const MOST: usize = 8_192;

type Key = (TenantId, BlobId);

/// A bounded cache of verified files. A missing entry only costs another hashing.
#[derive(Debug, Default)]
pub struct Verified {
    known: HashMap<Key, (FileStamp, StoredBlob)>,
    /// Keys in the order of insertion; some may have been removed.
    order: VecDeque<Key>,
}

impl Verified {
    /// Returns the blob, if its file has not changed since it was verified.
    pub fn find(&self, tenant: &TenantId, id: &BlobId, stamp: &FileStamp) -> Option<StoredBlob> {
        let (known, blob) = self.known.get(&(tenant.clone(), id.clone()))?;
        (known == stamp).then(|| blob.clone())
    }

    /// Adds a file that was verified in the state of this stamp.
    pub(crate) fn remember(&mut self, tenant: &TenantId, stamp: FileStamp, blob: StoredBlob) {
        let key = (tenant.clone(), blob.id.clone());
        if self.known.insert(key.clone(), (stamp, blob)).is_none() {
            self.order.push_back(key);
        }
        while self.order.len() > MOST {
            let oldest = self.order.pop_front();
            oldest.and_then(|key| self.known.remove(&key));
        }
    }

    /// Updates the stamp after the store itself changed a file's time of last use.
    pub(crate) fn restamp(
        &mut self,
        tenant: &TenantId,
        id: &BlobId,
        before: &FileStamp,
        after: FileStamp,
    ) {
        if let Some((known, _)) = self.known.get_mut(&(tenant.clone(), id.clone()))
            && known == before
            && before.place == after.place
            && before.size == after.size
        {
            *known = after;
        }
    }

    /// Removes a file.
    pub fn forget(&mut self, tenant: &TenantId, id: &BlobId) {
        self.known.remove(&(tenant.clone(), id.clone()));
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::blobs::content::blob_id::{IdScheme, id_of};
    use crate::blobs::content::kind::BlobKind;
    use wardian_vocabulary::units::ByteCount;

    fn blob(content: &[u8]) -> StoredBlob {
        let kind = BlobKind::parse("a/b").unwrap();
        let size = ByteCount::from(content.len());
        StoredBlob {
            id: id_of(&IdScheme::Content, &kind, content),
            kind,
            size,
            created: Duration::ZERO,
            name: None,
            other_names: Vec::new(),
        }
    }

    fn stamp(inode: u64) -> FileStamp {
        FileStamp { place: (1, inode), size: 3, used: Duration::ZERO, changed: (0, 0) }
    }

    #[test]
    fn only_the_same_file_is_known() {
        let (tenant, blob) = (TenantId::local(), blob(b"abc"));
        let mut verified = Verified::default();
        verified.remember(&tenant, stamp(1), blob.clone());
        assert_eq!(verified.find(&tenant, &blob.id, &stamp(1)), Some(blob.clone()));
        for other in [
            stamp(2),
            FileStamp { size: 4, ..stamp(1) },
            FileStamp { used: Duration::from_nanos(1), ..stamp(1) },
            FileStamp { changed: (0, 1), ..stamp(1) },
        ] {
            assert_eq!(verified.find(&tenant, &blob.id, &other), None, "{other:?}");
        }
        let neighbour = TenantId::parse("neighbour").unwrap();
        assert_eq!(verified.find(&neighbour, &blob.id, &stamp(1)), None);
        verified.forget(&tenant, &blob.id);
        assert_eq!(verified.find(&tenant, &blob.id, &stamp(1)), None);
    }

    #[test]
    fn a_new_time_of_use_is_no_new_content() {
        let (tenant, blob) = (TenantId::local(), blob(b"abc"));
        let used = FileStamp { used: Duration::from_secs(9), changed: (9, 9), ..stamp(1) };
        let mut verified = Verified::default();
        verified.remember(&tenant, stamp(1), blob.clone());
        verified.restamp(&tenant, &blob.id, &stamp(2), used);
        assert_eq!(verified.find(&tenant, &blob.id, &used), None, "another file was restamped");
        verified.restamp(&tenant, &blob.id, &stamp(1), used);
        assert_eq!(verified.find(&tenant, &blob.id, &used), Some(blob));
    }

    #[test]
    fn the_oldest_are_forgotten_first() {
        let tenant = TenantId::local();
        let mut verified = Verified::default();
        let blobs: Vec<_> = (0..MOST + 10).map(|n| blob(&n.to_le_bytes())).collect();
        for blob in &blobs {
            verified.remember(&tenant, stamp(1), blob.clone());
        }
        assert_eq!((verified.known.len(), verified.order.len()), (MOST, MOST));
        assert_eq!(verified.find(&tenant, &blobs[9].id, &stamp(1)), None);
        assert!(verified.find(&tenant, &blobs[10].id, &stamp(1)).is_some());
    }
}
