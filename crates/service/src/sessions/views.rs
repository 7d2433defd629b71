//! What callers see of sessions. Times are milliseconds since the Unix epoch.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use wardian_sessions::{CellState, StoredCell, StoredCheckpoint, StoredSession};
use wardian_vocabulary::ids::{CheckpointId, SessionId};

/// A session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionView {
    /// Its id.
    pub id: SessionId,
    /// The text that its caller gave it.
    pub label: Option<String>,
    /// The time of its creation.
    pub created_ms: u64,
    /// The time of its last cell or restoration.
    pub used_ms: u64,
    /// The time at which it ends, unless it is used before.
    pub expires_ms: u64,
    /// The number of its last cell.
    pub cells: u32,
    /// The checkpoint that it is at; `None` before its first cell is kept.
    pub checkpoint: Option<CheckpointId>,
    /// True if its interpreter was left with a worker, so that its next cell need not restore it.
    pub is_warm: bool,
}

impl SessionView {
    pub(crate) fn of(session: &StoredSession, is_warm: bool) -> Self {
        Self {
            id: session.id.clone(),
            label: session.label.clone(),
            created_ms: session.created_ms,
            used_ms: session.used_ms,
            expires_ms: session.expires_ms,
            cells: session.cells,
            checkpoint: session.head.clone(),
            is_warm,
        }
    }
}

/// A page of the sessions of a tenant, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionList {
    /// The sessions.
    pub sessions: Vec<SessionView>,
    /// The cursor of the next page, if there may be one.
    pub next_cursor: Option<String>,
    /// What all of the tenant's sessions take.
    pub usage: SessionUsageView,
}

/// What the sessions of a tenant take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionUsageView {
    /// The number of sessions.
    pub sessions: u64,
    /// Bytes on the disk.
    pub bytes: u64,
}

/// A session with its checkpoints.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionDetail {
    /// The session.
    #[serde(flatten)]
    pub session: SessionView,
    /// Its checkpoints, in the order of their cells.
    pub checkpoints: Vec<CheckpointView>,
}

/// A checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckpointView {
    /// Its id.
    pub id: CheckpointId,
    /// The checkpoint before its cell. It may have been thinned out.
    pub parent: Option<CheckpointId>,
    /// The number of its cell.
    pub cell: u32,
    /// The name that keeps it from being thinned out.
    pub name: Option<String>,
    /// The time at which it was made.
    pub created_ms: u64,
    /// Bytes that it takes on the disk, beside the checkpoints that it continues.
    pub bytes: u64,
}

impl CheckpointView {
    pub(crate) fn of(checkpoint: &StoredCheckpoint) -> Self {
        Self {
            id: checkpoint.id.clone(),
            parent: checkpoint.parent.clone(),
            cell: checkpoint.id.cell(),
            name: checkpoint.name.clone(),
            created_ms: checkpoint.made_ms,
            bytes: checkpoint.pack.stored_bytes,
        }
    }
}

/// A page of the cells of a session, in order.
#[derive(Debug, Serialize, Deserialize)]
pub struct CellPage {
    /// The cells.
    pub cells: Vec<CellView>,
}

/// A cell.
#[derive(Debug, Serialize, Deserialize)]
pub struct CellView {
    /// Its number in its session, from 1 on.
    pub number: u32,
    /// The program, if it was short enough to be kept.
    pub source: Option<String>,
    /// `running`, `waiting`, `kept` or `rolled_back`.
    pub state: String,
    /// The state after it.
    pub checkpoint: Option<CheckpointId>,
    /// The time at which it began.
    pub began_ms: u64,
    /// Its result as its call was answered, without `session`, if it was short enough to be kept.
    pub result: Option<Box<RawValue>>,
}

impl CellView {
    pub(crate) fn of(cell: StoredCell) -> Self {
        let state = match cell.state {
            CellState::Running => "running",
            CellState::Waiting => "waiting",
            CellState::Kept => "kept",
            CellState::RolledBack => "rolled_back",
        };
        Self {
            number: cell.number,
            source: cell.source,
            state: state.to_owned(),
            checkpoint: cell.checkpoint,
            began_ms: cell.began_ms,
            result: cell.result.and_then(|text| RawValue::from_string(text).ok()),
        }
    }
}

/// Which state is forked, how often, and how the forks go on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ForkOrder {
    /// The checkpoint; the one that the session is at without it.
    pub checkpoint: Option<String>,
    /// The number of forks; one without it.
    pub count: Option<u64>,
    /// The seed of their randomness from there on, if the session is reproducible. They go on with the same
    /// random numbers without it.
    pub seed: Option<u64>,
}

/// The answer to a fork.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Forks {
    /// Each fork, or why it was not made.
    pub forks: Vec<ForkView>,
}

/// A fork, or why it was not made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ForkView {
    /// The new session.
    Made(SessionView),
    /// The tenant has no room for it.
    Refused {
        /// The reason.
        error: String,
    },
}

/// The answer to an interrupt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct InterruptView {
    /// False if no cell was running.
    pub interrupted: bool,
}
