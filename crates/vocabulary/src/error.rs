//! The closed list of error kinds that every layer shares.

use std::error::Error;
use std::fmt;

/// The reason why a call failed, in terms its caller can act on.
///
/// A new kind is useful only if a client would react to it differently. `protocol::error_codes`
/// assigns the wire form of each kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// A parameter is missing, unknown, of the wrong type or out of range.
    InvalidParams,
    /// No skill of that name.
    SkillNotFound,
    /// The skill exists, but not in this version.
    VersionNotFound,
    /// The skill, or the workspace of the session, has no such file.
    FileNotFound,
    /// No blob of that id is visible to this tenant.
    BlobNotFound,
    /// No record of a run of that id is visible to this caller.
    RunNotFound,
    /// No session of that id is visible to this tenant.
    SessionNotFound,
    /// The time of the session is over, and nothing of it is left.
    SessionExpired,
    /// A cell of the session is running; a later retry can succeed.
    SessionBusy,
    /// The session is not at the checkpoint that the call expects.
    SessionConflict,
    /// The state of the session cannot be used. An earlier checkpoint may be.
    SessionDamaged,
    /// The session has no such checkpoint.
    CheckpointNotFound,
    /// The skill has no code to execute.
    NotExecutable,
    /// A size limit would be exceeded.
    TooLarge,
    /// The server has no usable value for a secret that the skill declares; its operator can set it.
    SecretUnavailable,
    /// Missing or unknown credentials.
    Unauthorized,
    /// The caller has no right to the call.
    Forbidden,
    /// The tenant's rate limit is exceeded; a later retry can succeed.
    RateLimited,
    /// The server has no free worker or memory; a retry soon can succeed.
    Overloaded,
    /// The tenant's storage quota is used up.
    QuotaExceeded,
    /// Packages that a skill needs are not on this server. Its operator has to fetch them.
    PackagesMissing,
    /// The server failed. Callers get one fixed sentence; the log gets the causes.
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
