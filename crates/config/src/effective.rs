//! The effective value of a setting, and its source.

use std::fmt;

/// The source of a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SettingOrigin {
    /// The default: the setting is not set.
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

/// The effective value of one setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EffectiveSetting {
    /// Its key, such as `http.max_body`.
    pub key: &'static str,
    /// The value in the form of a configuration file; `None` if it is not set.
    pub value: Option<String>,
    /// The source of the value.
    pub origin: SettingOrigin,
}
