//! Computes the ids of blobs: the hash over kind and content.

use std::fmt;
use std::io;

use sha2::{Digest as _, Sha256};
use zeroize::Zeroizing;

use crate::blobs::content::kind::BlobKind;
use wardian_vocabulary::crypto::{Hmac, fill_random};
use wardian_vocabulary::ids::{BlobId, Digest};

/// The prefix of all hashed bytes, so that a blob's hash is never the hash of anything else. The
/// number is the version of the scheme.
const DOMAIN: &[u8] = b"wardian blob 1\0";

/// The secret of a tenant's ids. On the heap, so that moving it leaves no copies.
#[derive(Clone)]
pub struct BlobIdKey(Zeroizing<Vec<u8>>);

impl BlobIdKey {
    /// Bytes of a key.
    pub const LENGTH: usize = 32;

    /// A random key.
    ///
    /// # Errors
    ///
    /// The operating system has no randomness.
    pub fn generate() -> io::Result<Self> {
        let mut bytes = Zeroizing::new(vec![0; Self::LENGTH]);
        fill_random(&mut bytes)?;
        Ok(Self(bytes))
    }

    /// A given key.
    #[must_use]
    pub fn from_bytes(bytes: &[u8; Self::LENGTH]) -> Self {
        Self(Zeroizing::new(bytes.to_vec()))
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_slice()
    }
}

/// Shows no key.
impl fmt::Debug for BlobIdKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BlobIdKey")
    }
}

/// The way in which the ids of a tenant's blobs follow from their content.
#[derive(Debug, Clone)]
pub enum IdScheme {
    /// By the content alone: whoever has the content can compute the id.
    Content,
    /// By the content and a key: only the store can compute the id. So an id that was seen does not
    /// tell whether a blob has a known content.
    Keyed(BlobIdKey),
}

/// Computes the id of a blob incrementally.
///
/// INVARIANT(one-blob-one-id): the hash covers the domain, the kind's length as one byte, the kind
/// and the content, so different pairs of kind and content never give the same bytes.
///
/// INVARIANT(keyed-ids): under [`IdScheme::Keyed`] the id is an HMAC-SHA-256 over the same bytes.
#[derive(Debug, Clone)]
pub enum BlobHasher {
    /// Of blobs that are named by their content.
    Plain(Sha256),
    /// Of blobs that are named by their content and a key.
    Keyed(Hmac),
}

impl BlobHasher {
    /// The hasher of blobs that are named by their content.
    pub fn new(kind: &BlobKind) -> Self {
        Self::with(&IdScheme::Content, kind)
    }

    pub(crate) fn with(scheme: &IdScheme, kind: &BlobKind) -> Self {
        let mut hasher = match scheme {
            IdScheme::Content => Self::Plain(Sha256::new()),
            IdScheme::Keyed(key) => Self::Keyed(Hmac::new(key.as_bytes())),
        };
        let kind = kind.as_str().as_bytes();
        hasher.update(DOMAIN);
        // A kind has at most 127 bytes.
        hasher.update(&[u8::try_from(kind.len()).unwrap_or(u8::MAX)]);
        hasher.update(kind);
        hasher
    }

    /// Adds a part of the content.
    pub fn update(&mut self, content: &[u8]) {
        match self {
            Self::Plain(hash) => hash.update(content),
            Self::Keyed(hmac) => hmac.update(content),
        }
    }

    /// The id of the whole content.
    pub fn finish(self) -> BlobId {
        let digest = match self {
            Self::Plain(hash) => hash.finalize().into(),
            Self::Keyed(hmac) => hmac.finish(),
        };
        BlobId::of_digest(&Digest::from_bytes(digest))
    }
}

/// Computes the id of a blob whose whole content is in memory.
pub fn id_of(scheme: &IdScheme, kind: &BlobKind, content: &[u8]) -> BlobId {
    let mut hasher = BlobHasher::with(scheme, kind);
    hasher.update(content);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(kind: &str, content: &[u8]) -> BlobId {
        id_of(&IdScheme::Content, &BlobKind::parse(kind).unwrap(), content)
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

    #[test]
    fn keyed_ids_depend_on_the_key_and_on_all_that_others_depend_on() {
        let keyed = |key: u8, kind: &str, content: &[u8]| {
            let scheme = IdScheme::Keyed(BlobIdKey::from_bytes(&[key; 32]));
            id_of(&scheme, &BlobKind::parse(kind).unwrap(), content)
        };
        let one = keyed(1, "text/plain", b"abc");
        assert_eq!(one, keyed(1, "Text/Plain", b"abc"));
        for other in [
            keyed(2, "text/plain", b"abc"),
            keyed(1, "text/csv", b"abc"),
            keyed(1, "text/plain", b"abd"),
            keyed(1, "text/plai", b"nabc"),
            id("text/plain", b"abc"),
        ] {
            assert_ne!(one, other);
        }
        assert_eq!(format!("{:?}", BlobIdKey::from_bytes(&[7; 32])), "BlobIdKey");
    }
}
