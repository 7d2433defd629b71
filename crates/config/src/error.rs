//! Errors of the configuration.

use std::path::PathBuf;
use std::{fmt, io};

/// The reason why there is no configuration. Shown to the operator, who knows the paths.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("the configuration file {} cannot be read", path.display())]
    Unreadable {
        /// The name.
        path: PathBuf,
        /// The reason.
        #[source]
        cause: io::Error,
    },
    /// The file is not TOML. The line itself is not shown: it may hold a password.
    #[error(
        "the configuration file {} is not TOML: line {line}, column {column}: {reason}",
        path.display()
    )]
    NotToml {
        /// The name.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The character of the line, from 1.
        column: usize,
        /// What is wrong there, without control characters.
        reason: String,
    },
    /// Settings are wrong.
    #[error("the configuration is wrong:\n{}", Lines(problems))]
    Settings {
        /// One sentence each.
        problems: Vec<String>,
    },
}

/// Prints each sentence on a separate line.
struct Lines<'a>(&'a [String]);

impl fmt::Display for Lines<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = self.0.iter().map(|line| format!("  {line}")).collect();
        f.write_str(&lines.join("\n"))
    }
}
