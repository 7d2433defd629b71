//! The trailer after the content in a blob's file.
//!
//! # Why
//!
//! Content and metadata in one file appear by one rename, so there is no partial state to recover
//! from. The metadata follow the content, so the content starts at offset 0 and a descriptor of the
//! file can be mapped or read directly, up to the content's size.
//!
//! ```text
//! 16  "wardian blob 1\0\n"
//!  1  length of the kind
//! 127 the kind, then zeros
//!  8  size of the content, little-endian
//!  8  creation, milliseconds since the Unix epoch, little-endian
//! 32  SHA-256 of the blob's id and everything above
//! ```

use std::time::Duration;

use sha2::{Digest as _, Sha256};

use crate::blobs::content::kind::{BlobKind, MAX_KIND};
use wardian_vocabulary::ids::{BlobId, BlobName};
use wardian_vocabulary::units::ByteCount;

const MAGIC: [u8; 16] = *b"wardian blob 1\0\n";
const CHECKED: usize = MAGIC.len() + 1 + MAX_KIND + 8 + 8;

/// Length of a trailer.
pub(crate) const TRAILER: usize = CHECKED + 32;

/// A stored blob.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredBlob {
    /// The id: the hash over kind and content.
    pub id: BlobId,
    /// MIME type.
    pub kind: BlobKind,
    /// Length of the content.
    pub size: ByteCount,
    /// The time at which it was first stored, since the Unix epoch.
    pub created: Duration,
    /// The name that its owner gave it last. It is not in the trailer: see
    /// [`names`](crate::blobs::local::names).
    pub name: Option<BlobName>,
    /// The other names that its owner gave it, the latest first: fewer than
    /// [`MAX_NAMES_OF_BLOB`](wardian_vocabulary::ids::MAX_NAMES_OF_BLOB). Lists leave them out.
    pub other_names: Vec<BlobName>,
}

impl StoredBlob {
    /// The trailer of this blob's file.
    pub fn encode(&self) -> Vec<u8> {
        let kind = self.kind.as_str().as_bytes();
        let created = u64::try_from(self.created.as_millis()).unwrap_or(u64::MAX);
        let mut bytes = Vec::with_capacity(TRAILER);
        bytes.extend_from_slice(&MAGIC);
        bytes.push(u8::try_from(kind.len()).unwrap_or(u8::MAX));
        bytes.extend_from_slice(kind);
        bytes.resize(MAGIC.len() + 1 + MAX_KIND, 0);
        bytes.extend_from_slice(&self.size.as_u64().to_le_bytes());
        bytes.extend_from_slice(&created.to_le_bytes());
        let checksum = checksum(&self.id, &bytes);
        bytes.extend_from_slice(&checksum);
        bytes
    }

    /// Reads the trailer of the file of `id`. Returns `None` if the trailer is damaged or belongs
    /// to another blob.
    pub fn decode(id: &BlobId, bytes: &[u8; TRAILER]) -> Option<Self> {
        let (checked, sum) = bytes.split_at_checked(CHECKED)?;
        if checksum(id, checked) != sum {
            return None;
        }
        let rest = checked.strip_prefix(&MAGIC)?;
        let (length, rest) = rest.split_first()?;
        let (kind, rest) = rest.split_at_checked(MAX_KIND)?;
        let (size, created) = rest.split_first_chunk::<8>()?;
        let kind = kind.get(..usize::from(*length))?;
        Some(Self {
            id: id.clone(),
            kind: BlobKind::parse(std::str::from_utf8(kind).ok()?).ok()?,
            size: ByteCount::bytes(u64::from_le_bytes(*size)),
            created: Duration::from_millis(u64::from_le_bytes(created.try_into().ok()?)),
            name: None,
            other_names: Vec::new(),
        })
    }
}

fn checksum(id: &BlobId, checked: &[u8]) -> [u8; 32] {
    Sha256::new().chain_update(id.as_str()).chain_update(checked).finalize().into()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::blobs::content::blob_id::{IdScheme, id_of};

    fn blob() -> StoredBlob {
        let kind = BlobKind::parse("text/plain; charset=utf-8").unwrap();
        StoredBlob {
            id: id_of(&IdScheme::Content, &kind, b"abc"),
            kind,
            size: ByteCount::bytes(3),
            created: Duration::from_millis(1_790_000_000_123),
            name: None,
            other_names: Vec::new(),
        }
    }

    #[test]
    fn a_trailer_reads_back() {
        let bytes: [u8; TRAILER] = blob().encode().try_into().unwrap();
        assert_eq!(StoredBlob::decode(&blob().id, &bytes), Some(blob()));
    }

    #[test]
    fn a_trailer_belongs_to_one_blob() {
        let bytes: [u8; TRAILER] = blob().encode().try_into().unwrap();
        let other = id_of(&IdScheme::Content, &blob().kind, b"abd");
        assert_eq!(StoredBlob::decode(&other, &bytes), None);
    }

    proptest! {
        #[test]
        fn any_changed_bit_is_noticed(at in 0..TRAILER, bit in 0u8..8) {
            let mut bytes: [u8; TRAILER] = blob().encode().try_into().unwrap();
            bytes[at] ^= 1 << bit;
            prop_assert_eq!(StoredBlob::decode(&blob().id, &bytes), None);
        }

        #[test]
        fn any_bytes_are_no_trailer_at_most(bytes in proptest::collection::vec(any::<u8>(), TRAILER)) {
            prop_assert_eq!(StoredBlob::decode(&blob().id, &bytes.try_into().unwrap()), None);
        }
    }
}
