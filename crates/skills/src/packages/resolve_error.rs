//! The reasons why no versions of packages can be chosen.

use std::io;

use crate::packages::guest::PackageVersion;
use crate::packages::pip::{PythonError, RegistryFault};
use crate::packages::wheel::WheelError;

/// The reason why no versions could be chosen.
#[derive(Debug, thiserror::Error)]
pub enum ResolveError {
    /// A requirement excludes the version that the engine contains.
    #[error(
        "`{requirement}` excludes the engine's {package}, which cannot be replaced: require a \
        range that includes it, or just `{}`", .package.name
    )]
    ExcludesEngine {
        /// The requirement.
        requirement: String,
        /// The engine's package.
        package: PackageVersion,
    },
    /// A package requires another version than the engine contains.
    #[error("a package requires a version of {packages} other than the engine's:\n{said}")]
    EngineConflict {
        /// The engine's packages in question, with their versions.
        packages: String,
        /// The words of pip.
        said: String,
    },
    /// The requirements contradict each other.
    #[error("the requirements contradict each other; loosen one of them:\n{said}")]
    Conflict {
        /// The words of pip.
        said: String,
    },
    /// A package has no wheel for guests.
    #[error("package `{requirement}`{} {problem}", required_by(.by.as_deref()))]
    NoWheel {
        /// The requirement.
        requirement: String,
        /// The package that has it; `None` if the list has it.
        by: Option<String>,
        /// The reason.
        problem: String,
    },
    /// A registry cannot be asked.
    #[error(transparent)]
    Registry(#[from] RegistryFault),
    /// A package requires another one that was not chosen.
    #[error(
        "pip chose no `{requirement}`, which `{by}` requires in guests: this pip cannot resolve \
         for another platform"
    )]
    Incomplete {
        /// The requirement.
        requirement: String,
        /// The package that has it.
        by: String,
    },
    /// The chosen wheel cannot be used.
    #[error(transparent)]
    Wheel(#[from] WheelError),
    /// Python or pip failed.
    #[error(transparent)]
    Python(#[from] PythonError),
    /// pip's report cannot be read.
    #[error("pip's report cannot be read: {0}")]
    Report(String),
    /// A temporary file cannot be written or read.
    #[error("a temporary file cannot be used")]
    File(#[from] io::Error),
}

impl ResolveError {
    /// True if the packages are the reason, and not pip, a registry or the machine.
    #[must_use]
    pub const fn is_about_packages(&self) -> bool {
        match self {
            Self::ExcludesEngine { .. }
            | Self::EngineConflict { .. }
            | Self::Conflict { .. }
            | Self::NoWheel { .. }
            | Self::Incomplete { .. }
            | Self::Wheel(_) => true,
            Self::Registry(_) | Self::Python(_) | Self::Report(_) | Self::File(_) => false,
        }
    }
}

/// The package that has a requirement, as a part of a sentence.
fn required_by(by: Option<&str>) -> String {
    by.map_or_else(String::new, |by| format!(", which {by} requires,"))
}
