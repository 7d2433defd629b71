//! Errors of the registry.

use std::fmt;
use std::io;
use std::path::PathBuf;

use wardian_formats::skill::similar::listed;
use wardian_formats::skill::text::quoted;
use wardian_vocabulary::error::ErrorKind;
use wardian_vocabulary::ids::{SkillName, SkillVersion, TenantId};

/// Errors of finding and listing skills, and of opening the registry.
#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    /// No skill of that name.
    #[error("no skill is called `{name}`{}", suggestion(near))]
    SkillNotFound {
        /// As requested.
        name: SkillName,
        /// Similar names.
        near: Vec<String>,
    },
    /// The skill exists, but not in this version.
    #[error("`{name}` has no version {version}; it has {}", versions(existing))]
    VersionNotFound {
        /// The skill.
        name: SkillName,
        /// As requested.
        version: String,
        /// The highest existing versions.
        existing: Vec<SkillVersion>,
    },
    /// The skill exists in this version, with another content.
    #[error("{skill} has the digest {found}, not {expected}")]
    OtherContent {
        /// Name and version of the skill.
        skill: String,
        /// The digest as requested.
        expected: String,
        /// The digest of the skill.
        found: String,
    },
    /// The skill has no such file.
    #[error("`{skill}` has no file {}{}", quoted(path), suggestion(near))]
    FileNotFound {
        /// The skill.
        skill: SkillName,
        /// As requested.
        path: String,
        /// Similar paths.
        near: Vec<String>,
    },
    /// A parameter has a wrong value.
    #[error("`{parameter}` {problem}")]
    InvalidParameter {
        /// Its name.
        parameter: &'static str,
        /// The expectation.
        problem: String,
    },
    /// A folder of skills that the settings name cannot be read.
    #[error("a folder of skills cannot be read")]
    Root(#[source] AtPath),
    /// A folder of a tenant's own skills cannot be read.
    #[error("a folder of skills of the tenant `{tenant}` cannot be read")]
    TenantRoot {
        /// The tenant.
        tenant: TenantId,
        /// The folder.
        #[source]
        cause: AtPath,
    },
    /// A folder of a tenant's own skills has skills of others in it, or is among them.
    #[error(
        "the folder {} with skills of the tenant `{tenant}` equals, contains or lies inside {}, \
        which is {of}: separate them",
        path.display(),
        other.display()
    )]
    TenantRootInCommon {
        /// The tenant.
        tenant: TenantId,
        /// Its folder.
        path: PathBuf,
        /// The other folder.
        other: PathBuf,
        /// The others.
        of: RootOwner,
    },
    /// A skill that is part of the program is invalid.
    #[error("the built-in skill `{name}` is invalid")]
    BuiltIn {
        /// Its name.
        name: &'static str,
        /// The problems.
        #[source]
        cause: Faults,
    },
}

impl RegistryError {
    /// The kind of the error, as callers branch on it.
    #[must_use]
    pub const fn kind(&self) -> ErrorKind {
        match self {
            Self::SkillNotFound { .. } => ErrorKind::SkillNotFound,
            Self::VersionNotFound { .. } | Self::OtherContent { .. } => ErrorKind::VersionNotFound,
            Self::FileNotFound { .. } => ErrorKind::FileNotFound,
            Self::InvalidParameter { .. } => ErrorKind::InvalidParams,
            Self::Root(_)
            | Self::TenantRoot { .. }
            | Self::TenantRootInCommon { .. }
            | Self::BuiltIn { .. } => ErrorKind::Internal,
        }
    }
}

/// Those who see the skills of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RootOwner {
    /// All tenants.
    Everyone,
    /// One tenant, and perhaps others that name the same folder.
    Tenant(TenantId),
}

impl fmt::Display for RootOwner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Everyone => f.write_str("a folder of `skills.roots` for all tenants"),
            Self::Tenant(tenant) => write!(f, "a folder of the tenant `{tenant}`"),
        }
    }
}

/// The operating system's error with its path: for logs and operators, never for callers.
#[derive(Debug, thiserror::Error)]
#[error("{}", path.display())]
pub struct AtPath {
    /// The path.
    pub path: PathBuf,
    /// The system's error.
    #[source]
    pub cause: io::Error,
}

/// The problems of a skill, in one line.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Faults(pub(crate) String);

fn suggestion(near: &[String]) -> String {
    if near.is_empty() { String::new() } else { format!("; did you mean {}?", listed(near, "or")) }
}

fn versions(existing: &[SkillVersion]) -> String {
    let texts: Vec<&str> = existing.iter().map(SkillVersion::as_str).collect();
    listed(&texts, "and")
}
