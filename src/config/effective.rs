//! The value of a setting that applies, and its source.

use std::fmt;

/// The source of a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SettingOrigin {
    /// It was not set.
    Default,
    /// The file.
    File,
    /// An environment variable.
    Environment,
    /// The command line.
    Flag,
}

impl fmt::Display for SettingOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Default => "default",
            Self::File => "file",
            Self::Environment => "environment",
            Self::Flag => "command line",
        })
    }
}

/// One setting as it applies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EffectiveSetting {
    /// Its key, such as `http.max_body`.
    pub key: &'static str,
    /// Its value as a file would have it; none if there is no value.
    pub value: Option<String>,
    /// The source of the value.
    pub origin: SettingOrigin,
}
