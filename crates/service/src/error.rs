//! Errors of method calls.

use std::io;
use std::time::Duration;

use tokio::task::JoinError;

use crate::fleet::error::FleetError;
use crate::run::packages::packages_error::PackagesError;
use crate::run::prepare::metering::NotMetering;
use crate::sessions::files::error::FilesError;
use wardian_dispatch::DispatchError;
use wardian_formats::protocol::params_error::ParamsError;
use wardian_formats::provenance::{OtherInputs, ProvenanceError};
use wardian_images::{NotReproducible, PinFault};
use wardian_sessions::SessionsError;
use wardian_skills::registry::RegistryError;
use wardian_skills::registry::publishing::PublishError;
use wardian_stores::blobs::BlobError;
use wardian_stores::blobs::content::kind::InvalidKind;
use wardian_stores::database::DatabaseError;
use wardian_stores::secrets::SecretsError;
use wardian_stores::tenants::{InvalidKey, UnknownCaller};
use wardian_vocabulary::budget::BudgetExhausted;
use wardian_vocabulary::error::ErrorKind;
use wardian_vocabulary::ids::{CheckpointId, InvalidId, RunId};
use wardian_vocabulary::quotas::TooManyCalls;
use wardian_vocabulary::units::ByteCount;

/// Errors of method calls.
///
/// `Display` is written for the caller and never shows a cause; `source()` is for the log.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    /// A parameter has a wrong value.
    #[error(transparent)]
    Params(#[from] ParamsError),
    /// The caller has no valid credential.
    #[error(transparent)]
    Unauthorized(UnknownCaller),
    /// Credentials cannot be checked now.
    #[error(transparent)]
    KeysUnavailable(UnknownCaller),
    /// The caller lacks a right.
    #[error("the caller lacks the scope `{right}`")]
    Forbidden {
        /// The name of the right.
        right: &'static str,
    },
    /// A name or version is malformed.
    #[error(transparent)]
    Id(#[from] InvalidId),
    /// A MIME type is malformed.
    #[error(transparent)]
    Kind(#[from] InvalidKind),
    /// A text that is not a well-formed blob id, so there is no such blob.
    #[error("the blob `{}` does not \
        exist", .id.chars().take(80).collect::<String>().escape_debug())]
    NoSuchBlob {
        /// The id as sent.
        id: String,
    },
    /// The caller has no such run, or its record is not kept any more.
    #[error("there is no record of a run `{}`", .id.chars().take(80).collect::<String>().escape_debug())]
    NoSuchRun {
        /// The id as sent.
        id: String,
    },
    /// No call of the tenant is in progress that has this run and takes answers.
    #[error(
        "no run `{}` of yours takes answers now: its call has ended, or has not declared `tools` and \
        accepted events", .id.chars().take(80).collect::<String>().escape_debug()
    )]
    NotAsking {
        /// The id as sent.
        id: String,
    },
    /// A text that is no well-formed id of a session, so there is no such session.
    #[error("the session `{}` does not \
        exist; begin a new one", .id.chars().take(80).collect::<String>().escape_debug())]
    NoSuchSession {
        /// The id as sent.
        id: String,
    },
    /// A text that is neither the id nor the name of a checkpoint.
    #[error("the session has no checkpoint with the id or name `{}`", .id.chars().take(80).collect::<String>().escape_debug())]
    NoSuchCheckpoint {
        /// The id as sent.
        id: String,
    },
    /// The state of a session cannot be used.
    #[error(
        "the session cannot go on from checkpoint `{checkpoint}`: {reason}; restore an earlier \
        checkpoint, or begin a new session"
    )]
    StateUnusable {
        /// The checkpoint that it is at.
        checkpoint: CheckpointId,
        /// The reason.
        reason: String,
    },
    /// This process keeps no sessions.
    #[error("this server keeps no sessions")]
    NoSessions,
    /// A session cannot be used as asked.
    #[error(transparent)]
    Session(#[from] SessionsError),
    /// The image of a new session cannot be kept.
    #[error(transparent)]
    SessionImage(#[from] PinFault),
    /// A file of a session cannot be read or changed.
    #[error(transparent)]
    Files(#[from] FilesError),
    /// A run is in progress, or has ended and its record is not written yet.
    #[error("the record of this run is not written yet; repeat the request after the run")]
    RecordNotWritten,
    /// The tenant has as many runs in the background as it may have.
    #[error(
        "the tenant has reached its limit of background runs: at most {most}, with at most \
         16 MiB of programs and arguments and 512 blobs together"
    )]
    TooManyDetached {
        /// The most that it may have.
        most: usize,
    },
    /// The program and the arguments of a run in the background are too large.
    #[error(
        "the program and the arguments of a detached run may have at most {largest} together; put \
         large content into a blob"
    )]
    DetachedTooLarge {
        /// The most that they may have.
        largest: ByteCount,
    },
    /// A call in a fleet.
    #[error(transparent)]
    Fleet(#[from] FleetError),
    /// Another call has the name of a run in the background.
    #[error("parameter `idempotency_key` names another call; choose another name")]
    KeyOfOtherCall,
    /// A run in the background has begun before. Its caller gets that run.
    #[error("the run has already started")]
    KnownRun,
    /// A call was repeated, and the result of its run does not exist.
    #[error(
        "the run of this call has ended and its result is not kept; GET /v1/runs/{run} has its \
        outcome"
    )]
    ResultNotKept {
        /// The run.
        run: RunId,
    },
    /// A call was repeated while the first one was refused.
    #[error(
        "the first call with this `idempotency_key` was refused at this moment; repeat the call"
    )]
    FirstCallRefused,
    /// The engine is not prepared yet.
    #[error("the server is not ready: {why}; nothing was executed: call again in {} s", .retry.as_secs().max(1))]
    NotPrepared {
        /// What is missing, and how far it is.
        why: String,
        /// The delay after which a call can succeed.
        retry: Duration,
    },
    /// The server stops and begins no run.
    #[error("the server is shutting down")]
    Stopping,
    /// The log of a run was removed before its record.
    #[error("the log of this run is no longer kept")]
    LogNotKept,
    /// A run has no document that is kept.
    #[error("there is no document of this run: {reason}")]
    NoDocument {
        /// The reason.
        reason: &'static str,
    },
    /// A session has no document.
    #[error("there is no record of this session: {reason}")]
    NoSessionDocument {
        /// The reason.
        reason: &'static str,
    },
    /// A key that is asked for has a wrong name or scope.
    #[error(transparent)]
    InvalidKey(#[from] InvalidKey),
    /// Keys are made for a server that takes none.
    #[error("this server accepts no keys: set `auth.mode` to `keys`, or `auth.jwt.accept_keys`")]
    TakesNoKeys,
    /// Keys cannot be written.
    #[error("the keys of this server cannot be changed now")]
    Keys(#[source] DatabaseError),
    /// The program of a run, its arguments and its output are not kept.
    #[error("the program of this run is not kept: {reason}")]
    ContentNotKept {
        /// The reason.
        reason: &'static str,
    },
    /// The server keeps no records.
    #[error("this server keeps no records of runs")]
    NoRecords,
    /// Records cannot be read.
    #[error("records of runs cannot be read")]
    Records(#[from] DatabaseError),
    /// A skill was not published.
    #[error(transparent)]
    Publish(#[from] PublishError),
    /// The skill has no code.
    #[error("skill `{name}` is an instruction skill, which cannot be executed: read its SKILL.md")]
    NotExecutable {
        /// The skill's name.
        name: String,
    },
    /// The skill has scripts, and no entrypoint.
    #[error("skill `{name}` has no entrypoint: name in `script` {scripts}")]
    NoEntrypoint {
        /// The skill's name.
        name: String,
        /// Its scripts, in words.
        scripts: String,
    },
    /// Arguments do not fit the skill's inputs.
    #[error("the arguments do not fit the inputs of skill `{name}`: {problems}")]
    Arguments {
        /// The skill's name.
        name: String,
        /// The problems, one after another.
        problems: String,
    },
    /// A secret that the skill declares cannot be handed out.
    #[error("skill `{skill}` cannot run here: {cause}")]
    Secrets {
        /// The skill's name.
        skill: String,
        /// The reason. Its own causes are in the log already.
        cause: SecretsError,
    },
    /// A run cannot be recorded so that others can repeat it.
    #[error("the run cannot be recorded: {reason}")]
    NotRecordable {
        /// The reason.
        reason: &'static str,
    },
    /// The repetition of a recorded run would have other inputs.
    #[error("{0}")]
    OtherInputs(OtherInputs),
    /// The repetition of a recorded program has asked for something else than the program did.
    #[error("{0}")]
    OtherRequests(String),
    /// A recorded run had limits that no run has here.
    #[error(
        "the document has limits above those of this server: raise `limits.max` (see `wardian \
         config --explain`); nothing was executed"
    )]
    LimitsOfRecord,
    /// The document of a run cannot be made.
    #[error(transparent)]
    Provenance(#[from] ProvenanceError),
    /// A skill, or a file of a skill, cannot be read.
    #[error(transparent)]
    Registry(#[from] RegistryError),
    /// A blob cannot be read or stored.
    #[error(transparent)]
    Blob(#[from] BlobError),
    /// Fuel cannot be counted now.
    #[error(transparent)]
    Metering(#[from] NotMetering),
    /// Runs cannot be reproducible now.
    #[error(transparent)]
    Reproducible(#[from] NotReproducible),
    /// No worker can take the run.
    #[error(transparent)]
    Dispatch(#[from] DispatchError),
    /// Packages of a run are missing.
    #[error(transparent)]
    Packages(#[from] PackagesError),
    /// A result cannot be written.
    #[error("a result cannot be written")]
    Unserialisable(#[source] serde_json::Error),
    /// The output of a run cannot be read.
    #[error("the output of a run cannot be read")]
    Unreadable(#[source] io::Error),
    /// As many blobs are being transferred as allowed.
    #[error("too many blobs are being transferred; repeat the call a little later")]
    TooManyTransfers,
    /// As many calls of the tenant wait for runs of others as may.
    #[error(
        "too many calls of this tenant are waiting for runs that other calls started; retry \
        later"
    )]
    TooManyWaits,
    /// The tenant has made too many calls.
    #[error(transparent)]
    TooManyCalls(#[from] TooManyCalls),
    /// The memory budget for clients is used up.
    #[error(transparent)]
    Memory(#[from] BudgetExhausted),
    /// A run has ended, and its result cannot be made or sent.
    #[error(transparent)]
    AfterRun(Box<ServiceError>),
    /// A background thread of the call panicked or was cancelled.
    #[error("the call was interrupted")]
    Interrupted(#[source] JoinError),
}

impl ServiceError {
    /// The kind of the error, as callers branch on it.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Params(_)
            | Self::Id(_)
            | Self::Kind(_)
            | Self::Arguments { .. }
            | Self::KeyOfOtherCall
            | Self::TakesNoKeys
            | Self::InvalidKey(_)
            | Self::NotRecordable { .. }
            | Self::OtherInputs(_)
            | Self::OtherRequests(_)
            | Self::LimitsOfRecord => ErrorKind::InvalidParams,
            Self::NoSessions | Self::NoSessionDocument { .. } => ErrorKind::InvalidParams,
            Self::Session(error) => error.kind(),
            Self::SessionImage(error) => error.kind(),
            Self::Files(error) => error.kind(),
            Self::NoSuchSession { .. } => ErrorKind::SessionNotFound,
            Self::NoSuchCheckpoint { .. } => ErrorKind::CheckpointNotFound,
            Self::StateUnusable { .. } => ErrorKind::SessionDamaged,
            Self::Publish(error) => error.kind(),
            Self::Unauthorized(_) => ErrorKind::Unauthorized,
            Self::Forbidden { .. } => ErrorKind::Forbidden,
            Self::Secrets { .. } => ErrorKind::SecretUnavailable,
            Self::NoSuchBlob { .. } => ErrorKind::BlobNotFound,
            Self::NoSuchRun { .. }
            | Self::NotAsking { .. }
            | Self::ResultNotKept { .. }
            | Self::LogNotKept
            | Self::NoDocument { .. }
            | Self::ContentNotKept { .. }
            | Self::NoRecords => ErrorKind::RunNotFound,
            Self::NotExecutable { .. } | Self::NoEntrypoint { .. } => ErrorKind::NotExecutable,
            Self::AfterRun(error) => error.kind(),
            Self::Registry(error) => error.kind(),
            Self::Blob(error) => error.kind(),
            Self::Dispatch(error) => error.kind(),
            Self::Fleet(error) => error.kind(),
            Self::Packages(error) => error.kind(),
            Self::TooManyCalls(_) | Self::TooManyDetached { .. } | Self::TooManyWaits => {
                ErrorKind::RateLimited
            }
            Self::DetachedTooLarge { .. } => ErrorKind::TooLarge,
            Self::Metering(error) => error.kind(),
            Self::Reproducible(NotReproducible::InTheMaking)
            | Self::Memory(_)
            | Self::TooManyTransfers
            | Self::RecordNotWritten
            | Self::Stopping
            | Self::NotPrepared { .. }
            | Self::FirstCallRefused
            | Self::KeysUnavailable(_) => ErrorKind::Overloaded,
            Self::Unserialisable(_)
            | Self::Provenance(_)
            | Self::Unreadable(_)
            | Self::Records(_)
            | Self::Keys(_)
            | Self::KnownRun
            | Self::Reproducible(NotReproducible::Failed)
            | Self::Interrupted(_) => ErrorKind::Internal,
        }
    }

    /// The parameter that caused the error, if a parameter did.
    #[must_use]
    pub fn parameter(&self) -> Option<&str> {
        match self {
            Self::Params(error) => Some(error.parameter()),
            Self::Files(error) => error.parameter(),
            Self::Arguments { .. } => Some("args"),
            Self::Kind(_) => Some("kind"),
            Self::KeyOfOtherCall => Some("idempotency_key"),
            Self::AfterRun(error) => error.parameter(),
            Self::Registry(RegistryError::InvalidParameter { parameter, .. }) => Some(parameter),
            _ => None,
        }
    }

    /// The delay after which a retry can succeed, if it can.
    ///
    /// INVARIANT(retried-is-unexecuted): an error with a delay says that nothing was executed, so
    /// clients repeat the call without asking.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        if let Self::AfterRun(_) = self {
            return None;
        }
        if let Self::NotPrepared { retry, .. } = self {
            return Some(*retry);
        }
        if let Self::Metering(NotMetering::Compiling) = self {
            return Some(Duration::from_secs(30));
        }
        if let Self::Dispatch(error) = self
            && let Some(delay) = error.retry_after()
        {
            return Some(delay);
        }
        if let Self::TooManyCalls(error) = self {
            return Some(error.retry_after);
        }
        match self.kind() {
            ErrorKind::Overloaded | ErrorKind::RateLimited => Some(Duration::from_secs(1)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retried_is_unexecuted() {
        let busy = || ServiceError::Memory(BudgetExhausted);
        assert!(busy().retry_after().is_some());
        let after = ServiceError::AfterRun(Box::new(busy()));
        assert_eq!(after.retry_after(), None);
        assert_eq!((after.kind(), after.to_string()), (busy().kind(), busy().to_string()));
    }
}
