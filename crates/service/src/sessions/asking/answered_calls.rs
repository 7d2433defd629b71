//! Calls of tools that have ended, as operators see them.

use wardian_vocabulary::ids::Digest;

/// A call of a tool of the caller that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AnsweredCall {
    /// The id of the request.
    pub(crate) id: String,
    pub(crate) tool: String,
    pub(crate) arguments: Digest,
    /// What identifies its output or its error.
    pub(crate) result: Digest,
    pub(crate) end: CallEnd,
}

/// The ends of calls of tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallEnd {
    /// The program has an output.
    Answered,
    /// The caller has answered with an error.
    Failed,
    /// The arguments or the output do not fit the schemas.
    Refused,
}

impl CallEnd {
    pub(crate) const ALL: [Self; 3] = [Self::Answered, Self::Failed, Self::Refused];

    /// Its name in metrics and in the audit log.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::Failed => "failed",
            Self::Refused => "refused",
        }
    }
}
