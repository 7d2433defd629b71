//! Why a tool of a server was not called, or gave nothing.

use crate::fault::Fault;
use wardian_stores::secrets::SecretsError;
use wardian_vocabulary::error::{CauseChain, ErrorKind};

/// Why a call has no answer. The texts are for the program that called.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ToolError {
    /// It does not exist, or the run was not granted it.
    #[error("there is no tool `{tool}`")]
    Unknown {
        /// Its name.
        tool: String,
    },
    /// It is not what was listed any more.
    #[error("the tool `{tool}` has changed since it was listed: list the tools again")]
    Changed {
        /// Its name.
        tool: String,
    },
    /// The caller has to approve of these arguments first.
    #[error("the tool `{tool}` needs the approval of the caller for these arguments")]
    NeedsApproval {
        /// Its name.
        tool: String,
    },
    /// The arguments cannot be sent.
    #[error("the arguments of `{tool}` {problem}")]
    Arguments {
        /// Its name.
        tool: String,
        /// The problem, as the end of a sentence.
        problem: String,
    },
    /// The run has called too often.
    #[error("the run has used up its {limit} calls of tools of `{server}`")]
    TooManyCalls {
        /// The server.
        server: String,
        /// The bound.
        limit: u32,
    },
    /// It took too long.
    #[error("`{tool}` did not answer in time")]
    Late {
        /// Its name.
        tool: String,
    },
    /// The answer exceeds a bound of the operator, or the memory that the gateway has for it now.
    #[error("the answer of `{tool}` is larger than this server takes")]
    TooLarge {
        /// Its name.
        tool: String,
    },
    /// The credentials for its server cannot be used.
    #[error("this server has no credentials for `{tool}`: its operator can set them")]
    Credentials {
        /// Its name.
        tool: String,
        /// What is wrong with them.
        #[source]
        cause: SecretsError,
    },
    /// There is no connection to its server.
    #[error("`{tool}` failed: its server cannot be reached")]
    Unreachable {
        /// Its name.
        tool: String,
        /// What is wrong, for the operator: it may name the place of the server.
        detail: String,
    },
    /// The server gave no usable answer.
    #[error("`{tool}` failed: {problem}")]
    Failed {
        /// Its name.
        tool: String,
        /// What is wrong, as a clause.
        problem: String,
    },
}

impl ToolError {
    /// A fault of the server while it answered a call of `tool`.
    pub(crate) fn of(fault: Fault, tool: &str) -> Self {
        let failed = |problem: String| Self::Failed { tool: tool.to_owned(), problem };
        match fault {
            Fault::Late => Self::Late { tool: tool.to_owned() },
            Fault::TooLarge | Fault::Memory => Self::TooLarge { tool: tool.to_owned() },
            Fault::Credentials(cause) => Self::Credentials { tool: tool.to_owned(), cause },
            Fault::Arguments(problem) => Self::Arguments { tool: tool.to_owned(), problem },
            Fault::Unreachable(detail) => Self::Unreachable { tool: tool.to_owned(), detail },
            Fault::Broken(text) => failed(text),
            Fault::SessionLost => failed("its server forgets its sessions at once".to_owned()),
            Fault::Refused { message, .. } => failed(message),
        }
    }

    /// The kind, for the edges.
    #[must_use]
    pub const fn kind(&self) -> ErrorKind {
        match self {
            Self::Unknown { .. } | Self::Changed { .. } | Self::Arguments { .. } => {
                ErrorKind::InvalidParams
            }
            Self::NeedsApproval { .. } => ErrorKind::Forbidden,
            Self::TooManyCalls { .. } => ErrorKind::QuotaExceeded,
            Self::TooLarge { .. } => ErrorKind::TooLarge,
            Self::Credentials { .. } => ErrorKind::SecretUnavailable,
            Self::Late { .. } | Self::Unreachable { .. } | Self::Failed { .. } => {
                ErrorKind::Internal
            }
        }
    }

    /// The text for the operator, which may name the place of a server.
    #[must_use]
    pub fn for_operator(&self) -> String {
        match self {
            Self::Unreachable { detail, .. } => format!("{self}: {detail}"),
            other => CauseChain(other).to_string(),
        }
    }
}
