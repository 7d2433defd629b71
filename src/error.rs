//! The closed list of reasons a call can fail, shared by every layer.

use std::error::Error;
use std::fmt;

/// The reason why a call failed, in terms its caller can act on.
///
/// A new kind is worth adding only if some client would react to it differently. What each
/// kind looks like on the wire is decided in `protocol::error_codes`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// A parameter is missing, unknown, of the wrong type or out of range.
    InvalidParams,
    /// No skill of that name.
    SkillNotFound,
    /// The skill exists, this version of it does not.
    VersionNotFound,
    /// The skill has no such file.
    FileNotFound,
    /// No blob of that id is visible to this tenant.
    BlobNotFound,
    /// The skill is there but has no code to execute.
    NotExecutable,
    /// A size limit would be passed.
    TooLarge,
    /// No credentials, or credentials we do not know.
    Unauthorized,
    /// Known caller, but this tenant may not do this.
    Forbidden,
    /// This tenant's own rate is used up; repeating later can help.
    RateLimited,
    /// Every worker is taken and the queue is full; repeating soon can help.
    Overloaded,
    /// The tenant's stored quota is used up.
    QuotaExceeded,
    /// Our fault. Callers get one fixed sentence; the log gets the chain.
    Internal,
}

/// Prints an error followed by all of its causes: for logs, never for callers.
#[derive(Debug)]
pub struct CauseChain<'a>(pub &'a (dyn Error + 'static));

impl fmt::Display for CauseChain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)?;
        let mut next = self.0.source();
        while let Some(cause) = next {
            write!(f, ": {cause}")?;
            next = cause.source();
        }
        Ok(())
    }
}
