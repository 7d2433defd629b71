//! Computes the ids of blobs: the hash over kind and content.

use std::fmt;
use std::io;

use rustix::rand::{GetRandomFlags, getrandom};
use sha2::{Digest as _, Sha256};
use zeroize::Zeroizing;

use crate::blobs::content::kind::BlobKind;
use crate::ids::{BlobId, Digest};

/// The prefix of all hashed bytes, so that a blob's hash is never the hash of anything else. The
/// number is the version of the scheme.
const DOMAIN: &[u8] = b"wardian blob 1\0";

/// Bytes that SHA-256 takes at a time.
const BLOCK: usize = 64;

/// The secret of a tenant's ids.
#[derive(Clone)]
pub(crate) struct BlobIdKey(Zeroizing<[u8; BlobIdKey::LENGTH]>);

impl BlobIdKey {
    /// Bytes of a key.
    pub(crate) const LENGTH: usize = 32;

    /// A random key.
    ///
    /// # Errors
    ///
    /// The operating system has no randomness.
    pub(crate) fn generate() -> io::Result<Self> {
        let mut bytes = Zeroizing::new([0; Self::LENGTH]);
        // The kernel fills up to 256 bytes at once.
        if getrandom(bytes.as_mut_slice(), GetRandomFlags::empty())? == Self::LENGTH {
            Ok(Self(bytes))
        } else {
            Err(io::ErrorKind::UnexpectedEof.into())
        }
    }

    /// A given key.
    #[must_use]
    pub(crate) fn from_bytes(bytes: [u8; Self::LENGTH]) -> Self {
        Self(Zeroizing::new(bytes))
    }

    /// The bytes.
    pub(crate) fn as_bytes(&self) -> &[u8] {
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
pub(crate) enum IdScheme {
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
pub(crate) struct BlobHasher {
    inner: Sha256,
    /// The outer hash of HMAC, with a key.
    outer: Option<Sha256>,
}

impl BlobHasher {
    /// The hasher of blobs that are named by their content.
    pub(crate) fn new(kind: &BlobKind) -> Self {
        Self::with(&IdScheme::Content, kind)
    }

    pub(crate) fn with(scheme: &IdScheme, kind: &BlobKind) -> Self {
        let mut hasher = match scheme {
            IdScheme::Content => Self { inner: Sha256::new(), outer: None },
            IdScheme::Keyed(key) => Self::keyed(key.as_bytes()),
        };
        let kind = kind.as_str().as_bytes();
        hasher.update(DOMAIN);
        // A kind has at most 127 bytes.
        hasher.update(&[u8::try_from(kind.len()).unwrap_or(u8::MAX)]);
        hasher.update(kind);
        hasher
    }

    /// Begins an HMAC (RFC 2104) with a key of at most one block.
    fn keyed(key: &[u8]) -> Self {
        let padded = |pad: u8| {
            let mut block = Zeroizing::new([pad; BLOCK]);
            block.iter_mut().zip(key).for_each(|(byte, key)| *byte ^= key);
            Sha256::new_with_prefix(block.as_slice())
        };
        Self { inner: padded(0x36), outer: Some(padded(0x5c)) }
    }

    pub(crate) fn update(&mut self, content: &[u8]) {
        self.inner.update(content);
    }

    pub(crate) fn finish(self) -> BlobId {
        BlobId::of_digest(&Digest::from_bytes(self.digest()))
    }

    fn digest(self) -> [u8; 32] {
        let inner = self.inner.finalize();
        match self.outer {
            None => inner.into(),
            Some(outer) => outer.chain_update(inner).finalize().into(),
        }
    }
}

/// Computes the id of a blob whose whole content is in memory.
pub(crate) fn id_of(scheme: &IdScheme, kind: &BlobKind, content: &[u8]) -> BlobId {
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

    /// RFC 4231, test cases 1, 2 and 4.
    #[test]
    fn a_keyed_hash_is_hmac() {
        for (key, message, expected) in [
            (
                &[0x0b; 20][..],
                &b"Hi There"[..],
                "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
            ),
            (
                b"Jefe",
                b"what do ya want for nothing?",
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
            ),
            (
                &(1..=25).collect::<Vec<u8>>(),
                &[0xcd; 50],
                "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b",
            ),
        ] {
            let mut hasher = BlobHasher::keyed(key);
            hasher.update(message);
            assert_eq!(Digest::from_bytes(hasher.digest()).to_string(), expected);
        }
    }

    #[test]
    fn keyed_ids_depend_on_the_key_and_on_all_that_others_depend_on() {
        let keyed = |key: u8, kind: &str, content: &[u8]| {
            let scheme = IdScheme::Keyed(BlobIdKey::from_bytes([key; 32]));
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
        assert_eq!(format!("{:?}", BlobIdKey::from_bytes([7; 32])), "BlobIdKey");
    }
}
