//! The reasons why packages of a run are missing.

use wardian_skills::packages::{NeedsError, StoreError};
use wardian_vocabulary::error::ErrorKind;
use wardian_vocabulary::ids::SkillName;

/// The reason why packages of a run are missing.
#[derive(Debug, thiserror::Error)]
pub enum PackagesError {
    /// The packages of a skill are not known.
    #[error("the packages of skill `{skill}` are not known: {problem}")]
    Unknown {
        /// The skill.
        skill: SkillName,
        /// The reason, with the command to type.
        problem: NeedsError,
    },
    /// The packages of a skill are not on this machine.
    #[error(
        "the packages of skill `{skill}` are not installed on this server: `wardian skills deps \
        sync` fetches them ({packages})"
    )]
    NotSynced {
        /// The skill.
        skill: SkillName,
        /// The first packages.
        packages: String,
    },
    /// The batteries are not on this machine, and a skill needs one.
    #[error(
        "skill `{skill}` needs packages of the batteries, which are not installed on this server: \
        `wardian engine install` fetches them"
    )]
    NoBatteries {
        /// The skill.
        skill: SkillName,
    },
    /// The batteries are being fetched, and a reproducible run has to have them.
    #[error(
        "the batteries, which reproducible runs need, are being fetched: try again in a minute"
    )]
    BatteriesOnTheirWay,
    /// The batteries are not on this machine, and a reproducible run has to have them.
    #[error(
        "reproducible runs need the batteries, which are not installed on this server: `wardian \
        engine install` fetches them"
    )]
    NotReproducible,
    /// Two skills of one run cannot have their packages side by side.
    #[error(
        "skills `{one}` and `{other}` need different versions of package `{package}`, so no run \
         can mount both"
    )]
    Conflict {
        /// A skill.
        one: SkillName,
        /// Another skill.
        other: SkillName,
        /// The package.
        package: String,
    },
    /// A session began with packages that are not on this machine any more.
    #[error(
        "the session began with packages that this server no longer has; restore them, or begin a new \
        session"
    )]
    OfSession,
    /// The layers cannot be read.
    #[error("packages cannot be read")]
    Store(#[from] StoreError),
}

impl PackagesError {
    /// The kind of the error, as callers branch on it.
    #[must_use]
    pub const fn kind(&self) -> ErrorKind {
        match self {
            Self::Unknown { .. }
            | Self::NotSynced { .. }
            | Self::NoBatteries { .. }
            | Self::NotReproducible
            | Self::OfSession => ErrorKind::PackagesMissing,
            Self::BatteriesOnTheirWay => ErrorKind::Overloaded,
            Self::Conflict { .. } => ErrorKind::InvalidParams,
            Self::Store(_) => ErrorKind::Internal,
        }
    }
}
