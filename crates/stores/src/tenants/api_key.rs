//! The description of a key: everything but its secret.

use std::time::Duration;

use crate::tenants::error::InvalidKey;
use crate::tenants::rights::Rights;
use crate::tenants::token::KeyPrefix;
use wardian_vocabulary::ids::{Digest, TenantId};

/// Longest name of a key, in characters.
const MAX_NAME: usize = 64;

/// The name of a key: for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyName(String);

impl KeyName {
    /// Checks `text`.
    ///
    /// # Errors
    ///
    /// An empty text, a long one, or one with characters that cannot be printed.
    pub fn parse(text: &str) -> Result<Self, InvalidKey> {
        let prints = |letter: char| {
            matches!(letter, '"' | '\'' | '\\') || letter.escape_debug().count() == 1
        };
        let is_short = (1..=MAX_NAME).contains(&text.chars().count());
        if is_short && text.chars().all(prints) && text.trim() == text {
            Ok(Self(text.to_owned()))
        } else {
            Err(InvalidKey::Name)
        }
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The order for a new key.
#[derive(Debug, Clone)]
pub struct KeyOrder {
    /// The tenant that its callers act for.
    pub tenant: TenantId,
    /// Its name.
    pub name: KeyName,
    /// The rights of its callers.
    pub rights: Rights,
    /// When it ends, since the Unix epoch; `None` if it does not.
    pub expires: Option<Duration>,
}

/// A key as it is listed. All times are since the Unix epoch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiKey {
    /// Names the key.
    pub prefix: KeyPrefix,
    /// The tenant that its callers act for.
    pub tenant: TenantId,
    /// Its name.
    pub name: String,
    /// The rights of its callers.
    pub rights: Rights,
    /// When it was made.
    pub created: Duration,
    /// When it ends; `None` if it does not.
    pub expires: Option<Duration>,
    /// When it was revoked, if it was.
    pub revoked: Option<Duration>,
    /// When it was last used, as far as it is written.
    pub last_used: Option<Duration>,
}

impl ApiKey {
    /// True if callers may use the key at this time.
    #[must_use]
    pub fn is_valid_at(&self, now: Duration) -> bool {
        self.revoked.is_none() && self.expires.is_none_or(|expires| now < expires)
    }
}

/// A key with what is stored of its secret.
#[derive(Debug, Clone)]
pub struct StoredKey {
    pub(crate) key: ApiKey,
    pub(crate) digest: Digest,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_can_be_printed() {
        for name in ["ci", "Ada's laptop", "éclair 2", &"x".repeat(64)] {
            assert!(KeyName::parse(name).is_ok(), "{name}");
        }
        for name in ["", " ", "a\n", "a\u{1b}[2J", "a\u{202e}b", "a\0", " a", &"x".repeat(65)] {
            assert_eq!(KeyName::parse(name), Err(InvalidKey::Name), "{name:?}");
        }
    }
}
