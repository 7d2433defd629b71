//! The kinds of files that a registry offers for a package.

use std::fmt;

/// The kind of a file that a registry offers for a package.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WheelKind {
    /// A wheel of pure Python.
    Pure,
    /// A wheel with native code, or for one system or interpreter.
    Native,
    /// A source distribution, which would have to be built.
    Source,
    /// Something else.
    Other,
}

impl WheelKind {
    /// The kind of the file called `name`.
    #[must_use]
    pub fn of(name: &str) -> Self {
        if [".tar.gz", ".zip", ".tar.bz2", ".tgz"].iter().any(|end| name.ends_with(end)) {
            return Self::Source;
        }
        let Some(stem) = name.strip_suffix(".whl") else { return Self::Other };
        let parts: Vec<&str> = stem.split('-').collect();
        let ([_, _, python, abi, platform] | [_, _, _, python, abi, platform]) = parts.as_slice()
        else {
            return Self::Other;
        };
        let is_python_3 = python.split('.').any(|tag| tag == "py3" || tag.starts_with("py3"));
        if is_python_3 && *abi == "none" && *platform == "any" { Self::Pure } else { Self::Native }
    }
}

impl fmt::Display for WheelKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pure => "is a pure-Python wheel",
            Self::Native => "has native code, or is for another Python",
            Self::Source => "is a source distribution, which would have to be built",
            Self::Other => "is not a wheel",
        })
    }
}
