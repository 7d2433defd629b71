//! Names and identifiers. They are checked once, when they are parsed.

/// The reason why a text is not a valid identifier.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} {problem}")]
pub struct InvalidId {
    what: &'static str,
    problem: String,
}

impl InvalidId {
    fn new(what: &'static str, problem: impl Into<String>) -> Self {
        Self { what, problem: problem.into() }
    }
}

/// Implements the conversions that all checked texts share.
macro_rules! checked_text {
    ($name:ident) => {
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }
        impl FromStr for $name {
            type Err = InvalidId;
            fn from_str(text: &str) -> Result<Self, InvalidId> {
                Self::parse(text)
            }
        }
        impl TryFrom<String> for $name {
            type Error = InvalidId;
            fn try_from(text: String) -> Result<Self, InvalidId> {
                Self::parse(&text)
            }
        }
        impl From<$name> for String {
            fn from(value: $name) -> String {
                value.to_string()
            }
        }
    };
}

fn is_name_segment(segment: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    segment.bytes().all(|byte| plain(byte) || byte == b'-')
        && segment.bytes().next().is_some_and(plain)
        && segment.bytes().next_back().is_some_and(plain)
}

mod blob;
mod digest;
mod run;
mod session;
mod skill;
mod tenant;
mod tool;
mod workspace_path;

pub use crate::ids::blob::{BlobId, BlobName, MAX_BLOB_NAME, MAX_NAMES_OF_BLOB};
pub use crate::ids::digest::{Digest, DigestInPieces};
pub use crate::ids::run::RunId;
pub use crate::ids::session::{CheckpointId, SessionId};
pub use crate::ids::skill::{MAX_SKILL_NAME, MAX_VERSION, SkillName, SkillVersion};
pub use crate::ids::tenant::TenantId;
pub use crate::ids::tool::{MAX_TOOL_NAME, is_tool_name};
pub use crate::ids::workspace_path::{MAX_WORKSPACE_PATH, WorkspacePath};
