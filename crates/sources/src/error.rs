//! Why a source gives no skills: one line for whoever typed the command.

use std::io;

use wardian_egress::EgressError;
use wardian_egress::error::NetworkError;

/// The reason why a source cannot be read. No text has credentials or the control characters of a stranger.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SourceError {
    /// The text names no source.
    #[error("{0}")]
    NotASource(String),
    /// The network cannot be set up as the configuration says.
    #[error(transparent)]
    Egress(#[from] EgressError),
    /// A request failed, or is not allowed.
    #[error("{url}: {cause}")]
    Network {
        /// The place, without credentials.
        url: String,
        /// The failure.
        cause: NetworkError,
    },
    /// A server answered, and not with what was asked for.
    #[error("{url}: {problem}")]
    Server {
        /// The place, without credentials.
        url: String,
        /// The problem.
        problem: String,
    },
    /// A bound was reached.
    #[error("the source is too large: {0}")]
    TooLarge(String),
    /// The content is not what it must be by its digest.
    #[error("{what} is not what was promised: its digest is {found}, {expected} was expected")]
    Digest {
        /// The thing.
        what: String,
        /// The digest that was promised.
        expected: String,
        /// The digest of what came.
        found: String,
    },
    /// What was published under a version is other content.
    #[error(
        "`{skill}` is there already, with other content, and what is published never changes: give the skill a new \
         version"
    )]
    Taken {
        /// Name and version of the skill.
        skill: String,
    },
    /// A tag is taken by something else.
    #[error(
        "the tag `{tag}` leads to something that is no version of `{skill}`: name another tag, or none"
    )]
    TagTaken {
        /// The tag.
        tag: String,
        /// The name of the skill.
        skill: String,
    },
    /// An entry that no folder of skills may have.
    #[error("refused: `{path}` {problem}")]
    Entry {
        /// Its path, escaped.
        path: String,
        /// The problem, after the path.
        problem: &'static str,
    },
    /// The bytes are not of the format that they claim.
    #[error("{what} is damaged: {problem}")]
    Damaged {
        /// The thing.
        what: &'static str,
        /// The problem.
        problem: String,
    },
    /// A file or folder on this machine cannot be read.
    #[error("{path}: {cause}")]
    File {
        /// The path as the user wrote it.
        path: String,
        /// The failure.
        cause: io::Error,
    },
}

impl SourceError {
    #[expect(clippy::needless_pass_by_value, reason = "`map_err` passes errors by value")]
    pub(crate) fn damaged(what: &'static str, problem: impl ToString) -> Self {
        Self::Damaged { what, problem: shown(&problem.to_string()) }
    }

    pub(crate) fn entry(path: &str, problem: &'static str) -> Self {
        Self::Entry { path: shown(path), problem }
    }
}

/// Longest text of a stranger in a message, in characters.
const MAX_SHOWN: usize = 300;

/// A text of a stranger on one line, without characters that would control a terminal.
pub(crate) fn shown(text: &str) -> String {
    let cut = text.chars().take(MAX_SHOWN);
    let mut shown = String::new();
    for character in cut {
        // Marks of direction and joiners change what a line seems to say.
        let is_odd = character.is_control()
            || matches!(character, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
        if is_odd {
            shown.extend(character.escape_unicode());
        } else {
            shown.push(character);
        }
    }
    shown
}
