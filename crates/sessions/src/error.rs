//! Errors of sessions.

use std::error::Error;
use std::io;
use std::time::Duration;

use wardian_stores::database::DatabaseError;
use wardian_vocabulary::budget::BudgetExhausted;
use wardian_vocabulary::clock::calendar::rfc3339;
use wardian_vocabulary::error::ErrorKind;
use wardian_vocabulary::ids::{CheckpointId, SessionId};
use wardian_vocabulary::units::ByteCount;

/// Errors of sessions. Texts are for callers; causes are for the log.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SessionsError {
    /// The tenant has no such session.
    #[error("the session `{session}` does not exist; it may have been closed")]
    NotFound {
        /// The requested id.
        session: SessionId,
    },
    /// The session has no such checkpoint.
    #[error(
        "the session has no {}",
        checkpoint.as_ref().map_or_else(
            || "checkpoint yet; call `run_code` in it first".to_owned(),
            |id| format!("checkpoint `{id}`; it may have been thinned out"),
        )
    )]
    NoCheckpoint {
        /// The requested checkpoint; `None` if no cell of the session is done.
        checkpoint: Option<CheckpointId>,
    },
    /// The time of the session is over.
    #[error("the session `{session}` expired at {}; begin a new one", rfc3339(*at))]
    Expired {
        /// The requested id.
        session: SessionId,
        /// The time at which it ended, since the Unix epoch.
        at: Duration,
    },
    /// A cell of the session is running.
    #[error("a cell of the session `{session}` is running; wait for its end")]
    Busy {
        /// The session.
        session: SessionId,
    },
    /// A cell of the session waits for its caller.
    #[error(
        "cell {cell} of the session `{session}` waits for its caller; send `answers` to its requests, or \
         `abandon` it"
    )]
    Waiting {
        /// The session.
        session: SessionId,
        /// The number of the cell.
        cell: u32,
    },
    /// No cell of the session waits for its caller.
    #[error(
        "no cell of the session `{session}` waits for these answers; they may have been given before"
    )]
    NotWaiting {
        /// The session.
        session: SessionId,
    },
    /// Another call has answered the cell that a call waits with, or has interrupted it.
    #[error(
        "the cell of the session `{session}` has gone on with another call, which has its result"
    )]
    AnsweredElsewhere {
        /// The session.
        session: SessionId,
    },
    /// The interpreter is gone in which a cell has waited. The cell is rolled back.
    #[error(
        "cell {cell} of the session `{session}` was rolled back while it waited, because its interpreter was \
         lost; the session is where it was before, and the cell can be executed again; what it has done \
         elsewhere, with tools for example, is not undone"
    )]
    WaitLost {
        /// The session.
        session: SessionId,
        /// The number of the cell.
        cell: u32,
    },
    /// The cell that the answers are for does not wait any more: it was rolled back.
    #[error(
        "cell {cell} of the session `{session}` was rolled back and takes no answers: {reason}; the session \
         is where it was before, and the cell can be executed again; what it has done elsewhere, with tools for \
         example, is not undone"
    )]
    WaitOver {
        /// The session.
        session: SessionId,
        /// The number of the cell.
        cell: u32,
        /// Why.
        reason: String,
    },
    /// The session is not in the state that the caller expects.
    #[error(
        "the session has moved on: it is at {}",
        place(head.as_ref())
    )]
    Conflict {
        /// The checkpoint that it is at; `None` before its first cell is done.
        head: Option<CheckpointId>,
    },
    /// A loss of power may have undone cells of the session, or has. The next call is not refused.
    #[error(
        "the server has lost its power, and what the session did in the last second before may be lost: it is \
         at {}; call again to go on from there",
        place(head.as_ref())
    )]
    MayHaveGoneBack {
        /// The checkpoint that it is at; `None` for its beginning.
        head: Option<CheckpointId>,
    },
    /// The session is at the checkpoint that is to be removed.
    #[error(
        "the session is at checkpoint `{checkpoint}`; restore another one before you remove it"
    )]
    IsCurrent {
        /// The checkpoint.
        checkpoint: CheckpointId,
    },
    /// Another checkpoint of the session has the name.
    #[error(
        "checkpoint `{checkpoint}` has this name already; give another one, or remove that checkpoint"
    )]
    NameTaken {
        /// The checkpoint that has it.
        checkpoint: CheckpointId,
    },
    /// A pack or key that a checkpoint needs is not as it was stored.
    #[error(
        "checkpoint `{checkpoint}` is damaged; restore an earlier one if there is one, or begin a new session (a cell that \
         waits in it can be given up with `abandon`)"
    )]
    Damaged {
        /// The checkpoint.
        checkpoint: CheckpointId,
    },
    /// The tenant has as many sessions as it may have, or asks for too many forks.
    #[error("at most {limit} {of} are possible; {advice}")]
    TooMany {
        /// The counted things.
        of: &'static str,
        /// Their maximum number.
        limit: u64,
        /// What the caller can do.
        advice: &'static str,
    },
    /// The tenant's quota is used up.
    #[error(
        "this tenant may keep {limit} of sessions, and its quota is used up; close some, or remove checkpoints that are \
         not needed"
    )]
    Full {
        /// The quota.
        limit: ByteCount,
    },
    /// The state after a cell was not written in time. The session is as it was before.
    #[error(
        "the state after the cell could not be written to the disk within {} s; repeat the cell, or tell \
         the server's operator that its disk is slow",
        limit.as_secs()
    )]
    Late {
        /// The time.
        limit: Duration,
    },
    /// There is no memory for the state of the session now.
    #[error(transparent)]
    Memory(#[from] BudgetExhausted),
    /// The disk is full. The session is as it was before.
    #[error("the server's disk is full; close sessions that are not needed, or tell its operator")]
    DiskFull(#[source] Box<dyn Error + Send + Sync>),
    /// The folder has packs, and the database has never had a session: it is not the one of the folder.
    #[error(
        "the folder `sessions` of the data folder has {packs} states, and its `sessions.db` is new: put the \
         `sessions.db` back that belongs to them (with `-wal` and `-shm`, if they exist), or move the folder \
         `sessions` away if these sessions are not needed any more"
    )]
    OtherDatabase {
        /// The packs in the folder.
        packs: usize,
    },
    /// The store failed. `what` is safe to show; the cause is for the log.
    #[error("could not {what} the store of sessions")]
    Store {
        /// Verb, such as "read" or "write to".
        what: &'static str,
        /// The cause.
        #[source]
        cause: Box<dyn Error + Send + Sync>,
    },
}

impl SessionsError {
    /// The kind of the error, as callers branch on it.
    #[must_use]
    pub const fn kind(&self) -> ErrorKind {
        match self {
            Self::NotFound { .. } => ErrorKind::SessionNotFound,
            Self::NoCheckpoint { .. } => ErrorKind::CheckpointNotFound,
            Self::Expired { .. } => ErrorKind::SessionExpired,
            Self::Busy { .. } | Self::Waiting { .. } => ErrorKind::SessionBusy,
            Self::Conflict { .. }
            | Self::MayHaveGoneBack { .. }
            | Self::IsCurrent { .. }
            | Self::NameTaken { .. }
            | Self::NotWaiting { .. }
            | Self::AnsweredElsewhere { .. }
            | Self::WaitLost { .. }
            | Self::WaitOver { .. } => ErrorKind::SessionConflict,
            Self::Damaged { .. } => ErrorKind::SessionDamaged,
            Self::TooMany { .. } | Self::Full { .. } | Self::DiskFull(_) => {
                ErrorKind::QuotaExceeded
            }
            Self::Memory(_) | Self::Late { .. } => ErrorKind::Overloaded,
            Self::OtherDatabase { .. } | Self::Store { .. } => ErrorKind::Internal,
        }
    }

    /// Converts an error of the operating system into an error about the operation `what`.
    pub(crate) fn from_disk(what: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |cause| match cause.kind() {
            io::ErrorKind::StorageFull
            | io::ErrorKind::QuotaExceeded
            | io::ErrorKind::FileTooLarge => Self::DiskFull(cause.into()),
            _ => Self::Store { what, cause: cause.into() },
        }
    }
}

/// The place of a session, in words.
fn place(head: Option<&CheckpointId>) -> String {
    head.map_or_else(|| "its beginning".to_owned(), |id| format!("checkpoint `{id}`"))
}

impl From<DatabaseError> for SessionsError {
    fn from(cause: DatabaseError) -> Self {
        match cause {
            DatabaseError::Full(_) => Self::DiskFull(cause.into()),
            _ => Self::Store { what: "use", cause: cause.into() },
        }
    }
}
