//! The reasons why a wheel is refused.

use crate::packages::wheel::kind::WheelKind;

/// The reason why a wheel is refused. Names in it come from the wheel, shortened and escaped.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WheelError {
    /// The file's name is not that of a wheel of pure Python.
    #[error("`{file}` {kind}: guests can use only pure-Python packages (`py3-none-any`)")]
    Kind {
        /// The name.
        file: String,
        /// What it is.
        kind: WheelKind,
    },
    /// The archive cannot be read.
    #[error("`{file}` is not a valid archive: {problem}")]
    Archive {
        /// The name of the wheel.
        file: String,
        /// The problem.
        problem: String,
    },
    /// The archive is larger than any wheel should be.
    #[error("`{file}` {problem}")]
    TooLarge {
        /// The name of the wheel.
        file: String,
        /// The limit.
        problem: &'static str,
    },
    /// An entry may not be in a layer.
    #[error("`{file}` contains `{entry}`, {problem}")]
    Entry {
        /// The name of the wheel.
        file: String,
        /// The name of the entry.
        entry: String,
        /// The reason.
        problem: &'static str,
    },
    /// Its metadata are missing, or are those of something else.
    #[error("`{file}` {problem}")]
    Metadata {
        /// The name of the wheel.
        file: String,
        /// The problem.
        problem: String,
    },
}

/// A name from a wheel, for a message.
pub(super) fn shown(name: &str) -> String {
    let text: String = name.chars().take(120).collect();
    let cut = if text.len() < name.len() { "…" } else { "" };
    format!("{}{cut}", text.escape_debug())
}
