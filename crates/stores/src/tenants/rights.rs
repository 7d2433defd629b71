//! The rights that a caller may have: the scopes of its key.

use crate::tenants::error::InvalidKey;

/// A part of the service that a caller may be allowed to use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Right {
    /// List, describe and read skills.
    Discover = 1,
    /// Run skills.
    Execute = 2,
    /// Run code that comes with the call.
    Code = 4,
    /// Store and read blobs.
    Blobs = 8,
    /// Operate the server.
    Admin = 16,
    /// Publish skills for one's tenant.
    Publish = 32,
    /// Approve calls of tools that need it.
    Approve = 64,
}

impl Right {
    /// All rights, in the order of the documentation.
    pub const ALL: [Self; 7] = [
        Self::Discover,
        Self::Execute,
        Self::Code,
        Self::Blobs,
        Self::Approve,
        Self::Publish,
        Self::Admin,
    ];

    /// The name of the right in configurations and messages.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Discover => "discover",
            Self::Execute => "execute",
            Self::Code => "code",
            Self::Blobs => "blobs",
            Self::Approve => "approve",
            Self::Publish => "publish",
            Self::Admin => "admin",
        }
    }
}

/// A set of rights.
///
/// ```
/// use wardian_stores::tenants::{Right, Rights};
///
/// let rights = Rights::NONE.with(Right::Discover).with(Right::Execute);
/// assert!(rights.contains(Right::Execute) && !rights.contains(Right::Code));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rights(u8);

impl Rights {
    /// No right.
    pub const NONE: Self = Self(0);
    /// All rights: the local user has them.
    pub const ALL: Self = Self(u8::MAX);

    /// The rights of a key that was made without naming scopes: all but
    /// publishing and the operation of the server.
    pub const USUAL: Self = Self::NONE
        .with(Right::Discover)
        .with(Right::Execute)
        .with(Right::Code)
        .with(Right::Blobs)
        .with(Right::Approve);

    /// Reads names of rights, separated by commas.
    ///
    /// # Errors
    ///
    /// An unknown name, or no name at all.
    pub fn parse(text: &str) -> Result<Self, InvalidKey> {
        let mut rights = Self::NONE;
        for name in text.split(',').map(str::trim) {
            let right = Right::ALL.into_iter().find(|right| right.name() == name);
            rights = rights.with(right.ok_or_else(|| InvalidKey::Scope(name.to_owned()))?);
        }
        Ok(rights)
    }

    /// The names of the rights.
    #[must_use]
    pub fn names(self) -> Vec<&'static str> {
        let has = Right::ALL.into_iter().filter(|right| self.contains(*right));
        has.map(Right::name).collect()
    }

    /// These rights and one more.
    #[must_use]
    pub const fn with(self, right: Right) -> Self {
        Self(self.0 | right as u8)
    }

    /// True if the set contains `right`.
    #[must_use]
    pub const fn contains(self, right: Right) -> bool {
        self.0 & right as u8 != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rights_read_back_what_they_print() {
        for rights in [Rights::NONE.with(Right::Code), Rights::USUAL, Rights::ALL] {
            let again = Rights::parse(&rights.names().join(",")).unwrap();
            assert_eq!(again.names(), rights.names());
        }
        assert_eq!(Rights::parse("blobs, code,blobs").unwrap().names(), ["code", "blobs"]);
        assert!(!Rights::USUAL.contains(Right::Admin) && !Rights::USUAL.contains(Right::Publish));
        for wrong in ["", ",", "code,", "all", "Code", "code blobs", "*"] {
            assert!(matches!(Rights::parse(wrong), Err(InvalidKey::Scope(_))), "{wrong}");
        }
    }
}
