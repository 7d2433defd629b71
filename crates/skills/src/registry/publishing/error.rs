//! Reasons why a skill is not published.

use std::io;

use crate::registry::publishing::package::PackageError;
use wardian_vocabulary::error::ErrorKind;

/// The reason why a skill was not published.
#[derive(Debug, thiserror::Error)]
pub enum PublishError {
    /// The package is malformed.
    #[error("the package is refused: {0}")]
    Package(String),
    /// The skill has errors, or is another one than was said.
    #[error("the skill is refused: {0}")]
    Skill(String),
    /// This version has another content.
    #[error(
        "`{name}@{version}` was published with different content, and versions never change: give \
        the skill a new version"
    )]
    Taken {
        /// The skill.
        name: String,
        /// The version.
        version: String,
    },
    /// There is no such version among the published ones of the tenant.
    #[error("`{name}@{version}` was not published by this tenant")]
    Missing {
        /// The skill.
        name: String,
        /// The version.
        version: String,
    },
    /// The tenant has as much as it may have.
    #[error("the tenant has reached its limit of published skills: {0}")]
    Full(String),
    /// The operator has switched publishing off.
    #[error("this server accepts no skills: its operator has set `skills.publishing` to false")]
    Off,
    /// The disk failed.
    #[error("the skill could not be stored")]
    Disk(#[from] io::Error),
}

impl PublishError {
    /// The kind of the error.
    #[must_use]
    pub const fn kind(&self) -> ErrorKind {
        match self {
            Self::Package(_) | Self::Skill(_) | Self::Taken { .. } => ErrorKind::InvalidParams,
            Self::Missing { .. } => ErrorKind::VersionNotFound,
            Self::Full(_) => ErrorKind::QuotaExceeded,
            Self::Off => ErrorKind::Forbidden,
            Self::Disk(_) => ErrorKind::Internal,
        }
    }
}

impl PublishError {
    /// True if the version has another content.
    #[must_use]
    pub const fn is_conflict(&self) -> bool {
        matches!(self, Self::Taken { .. })
    }

    /// True if there is no such version.
    #[must_use]
    pub const fn is_missing(&self) -> bool {
        matches!(self, Self::Missing { .. })
    }
}

impl From<PackageError> for PublishError {
    fn from(error: PackageError) -> Self {
        match error {
            PackageError::Malformed(fault) => Self::Package(fault),
            PackageError::Disk(fault) => Self::Disk(fault),
        }
    }
}
