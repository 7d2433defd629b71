//! Computes the ids of blobs: the hash over kind and content.

use sha2::{Digest as _, Sha256};

use crate::blobs::content::kind::BlobKind;
use crate::ids::{BlobId, Digest};

/// The prefix of all hashed bytes, so that a blob's hash is never the hash of anything else. The
/// number is the version of the scheme.
const DOMAIN: &[u8] = b"wardian blob 1\0";

/// Computes the id of a blob incrementally.
///
/// INVARIANT(one-blob-one-id): the hash covers the domain, the kind's length as one byte, the kind
/// and the content, so different pairs of kind and content never give the same bytes.
#[derive(Debug, Clone)]
pub(crate) struct BlobHasher(Sha256);

impl BlobHasher {
    pub(crate) fn new(kind: &BlobKind) -> Self {
        let kind = kind.as_str().as_bytes();
        let mut hasher = Sha256::new_with_prefix(DOMAIN);
        // A kind has at most 127 bytes.
        hasher.update([u8::try_from(kind.len()).unwrap_or(u8::MAX)]);
        hasher.update(kind);
        Self(hasher)
    }

    pub(crate) fn update(&mut self, content: &[u8]) {
        self.0.update(content);
    }

    pub(crate) fn finish(self) -> BlobId {
        BlobId::of_digest(&Digest::from_bytes(self.0.finalize().into()))
    }
}

/// Computes the id of a blob whose whole content is in memory.
pub(crate) fn id_of(kind: &BlobKind, content: &[u8]) -> BlobId {
    let mut hasher = BlobHasher::new(kind);
    hasher.update(content);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(kind: &str, content: &[u8]) -> BlobId {
        id_of(&BlobKind::parse(kind).unwrap(), content)
    }

    #[test]
    fn one_blob_one_id() {
        assert_eq!(id("text/plain", b"abc"), id("Text/Plain", b"abc"));
        assert_ne!(id("text/plain", b"abc"), id("text/csv", b"abc"));
        assert_ne!(id("text/plain", b"abc"), id("text/plai", b"nabc"));
        assert_ne!(id("text/plain", b""), id("text/plain", b"\0"));
        assert_ne!(id("text/plain", b"abc"), BlobId::of_digest(&Digest::of(b"abc")));
    }

    #[test]
    fn ids_do_not_change_between_releases() {
        assert_eq!(
            id("text/plain", b"abc").as_str(),
            "blob:io6srgec2jwtmyfmbhhtiogu4i2y4pwzd3pagcc434vkhuenhn7q"
        );
    }

    #[test]
    fn content_may_be_hashed_in_pieces() {
        let mut hasher = BlobHasher::new(&BlobKind::parse("a/b").unwrap());
        hasher.update(b"ab");
        hasher.update(b"");
        hasher.update(b"c");
        assert_eq!(hasher.finish(), id("a/b", b"abc"));
    }
}
