//! A call as it waits in the database, and what came of its submission.

use std::time::Duration;

use crate::records::named_call::RequestKey;
use crate::records::record::RunRecord;
use crate::records::table::idempotency_keys::KnownKey;
use wardian_vocabulary::ids::{RunId, TenantId};

/// A call that is to wait for a server.
#[derive(Debug, Clone)]
pub struct QueuedOrder {
    /// The record of its run if the server that begins it ends before the run does.
    pub record: RunRecord,
    /// The client's own name for the call.
    pub key: Option<RequestKey>,
    /// What it asks for, as text that the database need not understand.
    pub sealed: String,
    /// Most runs in the background of its tenant that have no record yet.
    pub most: u64,
    /// How long it may wait.
    pub longest_wait: Duration,
    /// True if this server claims it at once.
    pub claims: bool,
}

/// What came of a submission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Submitted {
    /// It waits for a server.
    Waiting,
    /// This server has claimed it, in this epoch.
    Claimed {
        /// The epoch.
        epoch: u64,
    },
    /// A call has the name, so nothing waits.
    Known(KnownKey),
    /// The tenant has as many runs as it may have, so nothing waits.
    TooMany,
}

/// A run that a server has claimed and not begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimedRun {
    /// The tenant of its call.
    pub tenant: TenantId,
    /// The run.
    pub run: RunId,
    /// What its call asks for.
    pub sealed: String,
    /// Its record if the server ends before the run does, as JSON.
    pub record: String,
}

/// How far a run in the background is that has no record yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnrecordedState {
    /// It waits for a server.
    Waiting,
    /// A server is about to begin it.
    Claimed,
    /// A server executes it.
    Begun,
}

/// A run in the background that has no record yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnrecordedView {
    /// The run.
    pub run: RunId,
    /// Its record if its server ends before the run does, as JSON.
    pub record: String,
    /// How far it is.
    pub state: UnrecordedState,
}
