//! How a call of a tool of a server has ended.

use crate::answer::ToolAnswer;
use crate::error::ToolError;

/// How a call of a tool of a server has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServedCallEnd {
    /// The tool answered.
    Answered,
    /// The tool reported an error, or its server was too slow, sent too much, or failed otherwise.
    Failed,
    /// Its server was not asked: there is no such tool, it has changed, or arguments, credentials, an approval or
    /// the number of calls are not as they must be.
    Refused,
}

impl ServedCallEnd {
    /// The end of a call.
    #[must_use]
    pub const fn of(called: &Result<ToolAnswer, ToolError>) -> Self {
        match called {
            Ok(ToolAnswer { is_error: false, .. }) => Self::Answered,
            Ok(ToolAnswer { is_error: true, .. })
            | Err(
                ToolError::Late { .. }
                | ToolError::TooLarge { .. }
                | ToolError::Unreachable { .. }
                | ToolError::Failed { .. },
            ) => Self::Failed,
            Err(
                ToolError::Unknown { .. }
                | ToolError::NeedsApproval { .. }
                | ToolError::Changed { .. }
                | ToolError::Arguments { .. }
                | ToolError::TooManyCalls { .. }
                | ToolError::Credentials { .. },
            ) => Self::Refused,
        }
    }
}
