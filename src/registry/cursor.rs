//! Cursors: the end of a page of a list, as a text that only this server can make.
//!
//! A cursor holds the last name of its page and the filter of its list, so the server keeps no
//! state. Skills may come and go between two pages: the next page begins with the first name after
//! the one in the cursor.
//!
//! INVARIANT(sealed-cursor): a cursor that was changed, forged or made for another filter is
//! refused before its content is used.

use std::fmt;
use std::io;

use data_encoding::BASE64URL_NOPAD;
use sha2::{Digest as _, Sha256};

use crate::ids::SkillName;

/// Longest cursor that is decoded, in bytes. The longest valid cursor has 366.
const MAX_CURSOR: usize = 512;

/// First byte of every cursor: the version of its layout.
const LAYOUT: u8 = 1;

/// Bytes of a seal. 128 bits cannot be guessed.
const SEAL: usize = 16;

/// The secret that cursors are sealed with. Servers behind one address need the same.
#[derive(Clone)]
pub struct CursorKey([u8; 32]);

impl CursorKey {
    /// A given key.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// A random key.
    ///
    /// # Errors
    ///
    /// The operating system has no randomness.
    pub fn generate() -> io::Result<Self> {
        let mut bytes = [0; 32];
        let got =
            rustix::rand::getrandom(bytes.as_mut_slice(), rustix::rand::GetRandomFlags::empty())?;
        if got == 32 { Ok(Self(bytes)) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
    }

    /// Makes the cursor for the page after `last` in the list with this `namespace` filter.
    #[must_use]
    pub fn seal(&self, namespace: Option<&str>, last: &SkillName) -> String {
        let content = content(namespace, last.as_str());
        let seal = hmac(&self.0, &content);
        let sealed = [seal.get(..SEAL).unwrap_or_default(), &content].concat();
        BASE64URL_NOPAD.encode(&sealed)
    }

    /// Returns the name after which the next page begins.
    ///
    /// # Errors
    ///
    /// The problem, as the end of a sentence that begins with the parameter.
    pub fn open(&self, namespace: Option<&str>, cursor: &str) -> Result<SkillName, &'static str> {
        const INVALID: &str = "must be a `next_cursor` that this server returned";
        if cursor.len() > MAX_CURSOR {
            return Err(INVALID);
        }
        let sealed = BASE64URL_NOPAD.decode(cursor.as_bytes()).ok().ok_or(INVALID)?;
        let (seal, inside) = sealed.split_at_checked(SEAL).ok_or(INVALID)?;
        if !is_equal(seal, &hmac(&self.0, inside)) {
            return Err(INVALID);
        }
        let name = inside.rsplit(|byte| *byte == 0).next().unwrap_or_default();
        let name = std::str::from_utf8(name).ok().and_then(|name| SkillName::parse(name).ok());
        let name = name.ok_or(INVALID)?;
        if content(namespace, name.as_str()) != inside {
            return Err("belongs to a list with another `namespace`");
        }
        Ok(name)
    }
}

impl fmt::Debug for CursorKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CursorKey(..)")
    }
}

/// The content of a cursor. Neither a namespace nor a name can contain the separating zero byte.
fn content(namespace: Option<&str>, name: &str) -> Vec<u8> {
    [&[LAYOUT], namespace.unwrap_or_default().as_bytes(), &[0], name.as_bytes()].concat()
}

/// Compares in constant time.
fn is_equal(seal: &[u8], computed: &[u8]) -> bool {
    seal.iter().zip(computed).fold(0, |all, (one, other)| all | (one ^ other)) == 0
}

/// HMAC-SHA-256 of RFC 2104, for keys of 32 bytes.
fn hmac(key: &[u8; 32], message: &[u8]) -> [u8; 32] {
    let padded = |with: u8| {
        let mut block = [with; 64];
        block.iter_mut().zip(key).for_each(|(byte, key)| *byte ^= key);
        block
    };
    let inner = Sha256::new_with_prefix(padded(0x36)).chain_update(message).finalize();
    Sha256::new_with_prefix(padded(0x5c)).chain_update(inner).finalize().into()
}

#[cfg(test)]
mod tests {
    use data_encoding::HEXLOWER;
    use proptest::prelude::*;

    use super::*;

    fn key() -> CursorKey {
        CursorKey::from_bytes([7; 32])
    }

    fn name(text: &str) -> SkillName {
        SkillName::parse(text).unwrap()
    }

    /// Keys shorter than a block are padded with zeros, so RFC 4231's first case fits 32 bytes.
    #[test]
    fn hmac_agrees_with_rfc_4231() {
        let mut short = [0; 32];
        short[..20].fill(0x0b);
        let expected = "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7";
        assert_eq!(HEXLOWER.encode(&hmac(&short, b"Hi There")), expected);
        let mut jefe = [0; 32];
        jefe[..4].copy_from_slice(b"Jefe");
        let expected = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
        assert_eq!(HEXLOWER.encode(&hmac(&jefe, b"what do ya want for nothing?")), expected);
    }

    #[test]
    fn sealed_cursor_is_read_by_its_own_list_only() {
        let cursor = key().seal(Some("acme"), &name("acme.b"));
        assert_eq!(key().open(Some("acme"), &cursor), Ok(name("acme.b")));
        assert!(key().open(None, &cursor).unwrap_err().contains("another `namespace`"));
        assert!(key().open(Some("acme.b"), &cursor).unwrap_err().contains("another `namespace`"));
        let other = CursorKey::generate().unwrap();
        assert!(other.open(Some("acme"), &cursor).unwrap_err().contains("this server"));
    }

    #[test]
    fn sealed_cursor_notices_every_flipped_bit() {
        let cursor = key().seal(None, &name("acme.sales.report"));
        let bytes = BASE64URL_NOPAD.decode(cursor.as_bytes()).unwrap();
        for at in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[at / 8] ^= 1 << (at % 8);
            assert!(key().open(None, &BASE64URL_NOPAD.encode(&flipped)).is_err(), "bit {at}");
        }
    }

    #[test]
    fn the_longest_cursor_is_not_refused_for_its_length() {
        let longest = "a".repeat(crate::ids::MAX_SKILL_NAME);
        let cursor = key().seal(Some(&longest), &name(&longest));
        assert_eq!(cursor.len(), 366);
        assert!(key().open(Some(&longest), &cursor).is_ok());
    }

    #[test]
    fn no_made_up_cursor_is_accepted() {
        let megabyte = "A".repeat(1 << 20);
        for text in
            ["", "A", "null", "-1", "../../", "' OR 1=1 --", "(a+)+$", "é", "====", &megabyte]
        {
            assert!(key().open(None, text).is_err(), "{text:.40}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[A-Za-z0-9_-]{0,100}") {
            prop_assert!(key().open(None, &text).is_err());
        }
    }
}
