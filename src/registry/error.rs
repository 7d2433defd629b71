//! Errors of the registry.

use std::io;
use std::path::PathBuf;

use crate::error::ErrorKind;
use crate::ids::{SkillName, SkillVersion};
use crate::skill::similar::listed;
use crate::skill::text::quoted;

/// Errors of finding and listing skills, and of opening the registry.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
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
            Self::Root(_) | Self::BuiltIn { .. } => ErrorKind::Internal,
        }
    }
}

/// The operating system's error with its path: for logs and operators, never for callers.
#[derive(Debug, thiserror::Error)]
#[error("{}", path.display())]
pub struct AtPath {
    pub(crate) path: PathBuf,
    #[source]
    pub(crate) cause: io::Error,
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
