//! The rights that a caller may have.

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
}

impl Right {
    /// The name of the right in configurations and messages.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Discover => "discover",
            Self::Execute => "execute",
            Self::Code => "code",
            Self::Blobs => "blobs",
            Self::Admin => "admin",
        }
    }
}

/// A set of rights.
///
/// ```
/// use wardian::service::{Right, Rights};
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
