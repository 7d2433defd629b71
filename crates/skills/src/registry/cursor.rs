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

use wardian_vocabulary::crypto::{fill_random, hmac, is_equal};
use wardian_vocabulary::ids::{SkillName, TenantId};

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
        fill_random(&mut bytes)?;
        Ok(Self(bytes))
    }

    /// The key for the lists of a tenant with its own skills. Its cursors hold names of them, so
    /// no other list accepts them.
    #[must_use]
    pub fn of_tenant(&self, tenant: &TenantId) -> Self {
        Self(hmac(&self.0, &[b"tenant ", tenant.as_str().as_bytes()].concat()))
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
        let expected = hmac(&self.0, inside);
        if !is_equal(seal, expected.get(..SEAL).unwrap_or_default()) {
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn key() -> CursorKey {
        CursorKey::from_bytes([7; 32])
    }

    fn name(text: &str) -> SkillName {
        SkillName::parse(text).unwrap()
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
    fn sealed_cursor_of_a_tenant_is_read_by_no_other() {
        let [acme, beta] = ["acme", "beta"].map(|name| TenantId::parse(name).unwrap());
        let cursor = key().of_tenant(&acme).seal(None, &name("acme.b"));
        assert_eq!(key().of_tenant(&acme).open(None, &cursor), Ok(name("acme.b")));
        let unknown = key().open(None, "AAAA").unwrap_err();
        for other in [key(), key().of_tenant(&beta)] {
            assert_eq!(other.open(None, &cursor), Err(unknown));
            assert_eq!(
                key().of_tenant(&acme).open(None, &other.seal(None, &name("a"))),
                Err(unknown)
            );
        }
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
        let longest = "a".repeat(wardian_vocabulary::ids::MAX_SKILL_NAME);
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
