//! Digests of content.

use std::fmt;

use data_encoding::HEXLOWER;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::ids::InvalidId;

/// SHA-256 of some bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Digest([u8; 32]);

impl Digest {
    /// The digest of `bytes`.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// The digest of bytes that come in pieces.
    #[must_use]
    pub fn in_pieces() -> DigestInPieces {
        DigestInPieces(Sha256::new())
    }

    /// A given digest.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The 32 bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Parses 64 lowercase hexadecimal digits, as [`Display`](fmt::Display) prints them.
    ///
    /// # Errors
    ///
    /// Anything else.
    pub fn parse(text: &str) -> Result<Self, InvalidId> {
        let invalid = || InvalidId::new("digest", "must be 64 lowercase hexadecimal digits");
        let bytes = HEXLOWER.decode(text.as_bytes()).ok().ok_or_else(invalid)?;
        <[u8; 32]>::try_from(bytes).map(Self).ok().ok_or_else(invalid)
    }
}

/// The digest of bytes, piece by piece.
#[derive(Debug, Clone)]
pub struct DigestInPieces(Sha256);

impl DigestInPieces {
    /// Adds the next piece.
    pub fn add(&mut self, piece: &[u8]) {
        self.0.update(piece);
    }

    /// The digest of all pieces.
    #[must_use]
    pub fn finish(self) -> Digest {
        Digest(self.0.finalize().into())
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&HEXLOWER.encode(&self.0))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({self})")
    }
}

impl TryFrom<String> for Digest {
    type Error = InvalidId;
    fn try_from(text: String) -> Result<Self, InvalidId> {
        Self::parse(&text)
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> Self {
        digest.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_read_back_what_they_print() {
        let digest = Digest::of(b"wardian");
        assert_eq!(Digest::parse(&digest.to_string()), Ok(digest));
        assert!(Digest::parse("abc").is_err());
    }

    #[test]
    fn pieces_have_the_digest_of_the_whole() {
        let mut pieces = Digest::in_pieces();
        [&b"war"[..], b"", b"dian"].iter().for_each(|piece| pieces.add(piece));
        assert_eq!(pieces.finish(), Digest::of(b"wardian"));
    }
}
