//! What callers see of sessions, and how they name them. Times are milliseconds since the Unix epoch.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::time::Duration;

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::error::ServiceError;
use crate::sessions::reproducible::cell_record::without_record;
use wardian_formats::protocol::methods::cells::{CellFate, SessionResult};
use wardian_formats::protocol::params_error::ParamsError;
use wardian_sessions::{
    CellState, ParkedBytes, SessionPlace, StoredCell, StoredCheckpoint, StoredSession,
};
use wardian_vocabulary::ids::{CheckpointId, RunId, SessionId};
use wardian_vocabulary::units::ByteCount;

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
    /// Bytes of the memory of that interpreter, if they are known.
    pub guest_memory_bytes: Option<u64>,
    /// Bytes on the disk of states that it alone needs. They are free again when it is closed.
    pub parked_own_bytes: u64,
    /// Bytes on the disk of states that other sessions need too: it was forked, or is a fork.
    pub parked_shared_bytes: u64,
    /// The state that it was forked from.
    pub forked_from: Option<ForkedFromView>,
    /// The run of its cell that is running.
    pub run_id: Option<RunId>,
}

/// The state that a session was forked from. Neither need exist any more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForkedFromView {
    /// The session.
    pub session: SessionId,
    /// Its checkpoint.
    pub checkpoint: CheckpointId,
}

/// What a server knows of a session beside its row.
#[derive(Debug, Clone, Default)]
pub(crate) struct LiveSession {
    /// True if a worker has its interpreter.
    pub(crate) is_warm: bool,
    /// The memory of that, if it is known.
    pub(crate) guest_memory: Option<ByteCount>,
    /// The run of its cell that is running.
    pub(crate) run_id: Option<RunId>,
}

impl SessionView {
    pub(crate) fn of(
        session: &StoredSession,
        live: LiveSession,
        parked: Option<&ParkedBytes>,
    ) -> Self {
        let forked_from = session.forked_from.as_ref().map(|from| ForkedFromView {
            session: from.session.clone(),
            checkpoint: from.checkpoint.clone(),
        });
        Self {
            id: session.id.clone(),
            label: session.label.clone(),
            created_ms: session.created_ms,
            used_ms: session.used_ms,
            expires_ms: session.expires_ms,
            cells: session.cells,
            checkpoint: session.head.clone(),
            is_warm: live.is_warm,
            guest_memory_bytes: live.guest_memory.map(ByteCount::as_u64),
            parked_own_bytes: parked.map_or(0, |parked| parked.own),
            parked_shared_bytes: parked.map_or(0, |parked| parked.shared),
            forked_from,
            run_id: live.run_id,
        }
    }
}

/// What all sessions of a server take at present.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SessionReport {
    /// Sessions that are open, when they were last counted.
    pub open: u64,
    /// Sessions of which a cell waits for its caller.
    pub waiting: u64,
    /// Bytes of their states and texts on the disk, when they were last counted.
    pub parked: ByteCount,
    /// Interpreters that workers keep.
    pub guests: u64,
    /// Memory images that they began as.
    pub images: u64,
    /// Bytes of these images on the disk.
    pub image_bytes: ByteCount,
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
    /// The cell of the first checkpoint that is not in this list, if there are more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_out_from_cell: Option<u32>,
}

impl SessionDetail {
    /// A session with `most` of these checkpoints.
    pub(crate) fn of(session: SessionView, found: &[StoredCheckpoint], most: u64) -> Self {
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let (shown, others) = found.split_at_checked(most).unwrap_or((found, &[]));
        let left_out_from_cell = others.first().map(|first| first.id.cell());
        let checkpoints = shown.iter().map(CheckpointView::of).collect();
        Self { session, checkpoints, left_out_from_cell }
    }
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
    /// Its result as its call was answered, if it was short enough to be kept.
    pub result: Option<Box<RawValue>>,
    /// Why it is rolled back, if its result does not say so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Cow<'static, str>>,
    /// True if it was kept, and the session has gone back to a checkpoint before it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub left: bool,
}

/// The name of the state of cells that were kept.
const KEPT: &str = "kept";

/// The reason for a cell that was rolled back without a result.
const NEVER_ENDED: &str = "the server stopped before the cell had ended, or has lost its state";

/// The reason for a cell that was rolled back after it had been kept.
const LOST: &str = "its state was lost: the server's machine lost its power, or a file is gone";

impl CellView {
    /// A cell of this session.
    pub(crate) fn of(session: &SessionId, mut cell: StoredCell) -> Self {
        if cell.state == CellState::Kept {
            cell.result = cell.result.take().map(|text| with_session(session, &cell, text));
        }
        Self::without_session(cell)
    }

    /// A cell whose result need not say what has become of its session.
    pub(crate) fn without_session(cell: StoredCell) -> Self {
        let state = match cell.state {
            CellState::Running => "running",
            CellState::Waiting => "waiting",
            CellState::Kept => KEPT,
            CellState::RolledBack => "rolled_back",
        };
        let reason = reason_beside(&cell);
        Self {
            number: cell.number,
            source: cell.source,
            state: state.to_owned(),
            checkpoint: cell.checkpoint,
            began_ms: cell.began_ms,
            result: cell.result.and_then(|text| RawValue::from_string(text).ok()),
            reason,
            left: false,
        }
    }

    /// The same cell of a session whose present state these cells led to.
    pub(crate) fn in_state_of(self, path: &BTreeSet<u32>) -> Self {
        let left = self.state == KEPT && !path.contains(&self.number);
        Self { left, ..self }
    }
}

/// Why a cell is rolled back, unless its result says it.
fn reason_beside(cell: &StoredCell) -> Option<Cow<'static, str>> {
    #[derive(Deserialize)]
    struct WithSession {
        session: Option<IgnoredAny>,
    }
    let (CellState::RolledBack, result) = (cell.state, &cell.result) else { return None };
    let Some(text) = result else { return Some(NEVER_ENDED.into()) };
    let is_said =
        serde_json::from_str(text).is_ok_and(|result: WithSession| result.session.is_some());
    (!is_said).then_some(LOST.into())
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

/// The result of a cell that was kept, with the member `session` of its answer. When the result was stored,
/// its checkpoint had no name yet; results of other cells have the member already.
fn with_session(id: &SessionId, cell: &StoredCell, result: String) -> String {
    let (mut result, state_digest) = without_record(result);
    let (id, number, checkpoint) = (id.clone(), cell.number, cell.checkpoint.clone());
    let (state, reason) = (CellFate::Kept, None);
    let session = SessionResult { id, cell: number, checkpoint, state, reason, state_digest };
    if let Ok(session) = serde_json::to_string(&session)
        && result.ends_with('}')
    {
        result.pop();
        let comma = if result.ends_with('{') { "" } else { "," };
        result.push_str(&format!("{comma}\"session\":{session}}}"));
    }
    result
}

/// The id of a session. A text that is none names no session.
pub(crate) fn session_id(text: &str) -> Result<SessionId, ServiceError> {
    SessionId::parse(text).map_err(|_malformed| ServiceError::NoSuchSession { id: text.to_owned() })
}

/// The id of a checkpoint. A text that is none names no checkpoint.
pub(crate) fn checkpoint_id(text: &str) -> Result<CheckpointId, ServiceError> {
    CheckpointId::parse(text)
        .map_err(|_malformed| ServiceError::NoSuchCheckpoint { id: text.to_owned() })
}

/// The place that a cursor names.
pub(crate) fn place_of(cursor: &str) -> Result<SessionPlace, ParamsError> {
    let read = || {
        let (created, id) = cursor.split_once('-')?;
        let (created_ms, id) = (created.parse().ok()?, SessionId::parse(id).ok()?);
        Some(SessionPlace { created_ms, id })
    };
    read().ok_or_else(|| {
        ParamsError::wrong("cursor", "the `next_cursor` of an earlier answer", "something else")
    })
}

/// How long a call waits for its turn in a session.
pub(crate) fn wait_of(wait_ms: Option<u64>) -> Duration {
    Duration::from_millis(wait_ms.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::sessions::reproducible::testing::noted_after;
    use wardian_sessions::{PackDescription, PackId, StoredPack};
    use wardian_vocabulary::ids::Digest;

    #[test]
    fn the_result_of_a_kept_cell_says_what_its_answer_said() {
        let session = SessionId::of_random(&[1; 16]);
        let checkpoint = CheckpointId::new(3, &Digest::of(b"x"));
        let cell = |state, result: &str| StoredCell {
            number: 3,
            source: None,
            state,
            result: Some(result.to_owned()),
            fuel: None,
            checkpoint: Some(checkpoint.clone()),
            began_ms: 0,
            began_after: 2,
        };
        let view = |state, result: &str| -> Value {
            let view = CellView::of(&session, cell(state, result));
            serde_json::from_str(view.result.unwrap().get()).unwrap()
        };
        let expected = json!({"id": session, "cell": 3, "checkpoint": checkpoint, "state": "kept"});
        let kept = view(CellState::Kept, r#"{"output":1}"#);
        assert_eq!(kept, json!({"output": 1, "session": expected}));
        assert_eq!(view(CellState::Kept, "{}")["session"], expected);
        let noted = view(CellState::Kept, &noted_after(None).unwrap());
        assert_eq!(noted["session"]["state_digest"], json!(Digest::of(b"state")));
        assert_eq!((&noted["status"], noted.get("record")), (&json!("failed"), None));
        let left = r#"{"output":null,"session":{"state":"rolled_back"}}"#;
        assert_eq!(view(CellState::RolledBack, left)["session"]["state"], "rolled_back");

        let reason = |cell: StoredCell| CellView::of(&session, cell).reason;
        assert_eq!(reason(cell(CellState::RolledBack, left)), None, "the result says it");
        assert_eq!(reason(cell(CellState::RolledBack, "{}")).as_deref(), Some(LOST));
        let open = |state| StoredCell { result: None, ..cell(state, "") };
        assert_eq!(reason(open(CellState::RolledBack)).as_deref(), Some(NEVER_ENDED));
        assert_eq!(reason(open(CellState::Kept)), None);
    }

    #[test]
    fn a_session_with_many_checkpoints_says_which_are_not_shown() {
        let session = json!({
            "id": SessionId::of_random(&[1; 16]), "label": null, "created_ms": 1, "used_ms": 1,
            "expires_ms": 1, "cells": 3, "checkpoint": null, "is_warm": false,
            "guest_memory_bytes": null, "parked_own_bytes": 0, "parked_shared_bytes": 0,
            "forked_from": null, "run_id": null,
        });
        let session: SessionView = serde_json::from_value(session).unwrap();
        let checkpoint = |cell| {
            let id = CheckpointId::new(cell, &Digest::of(b"x"));
            let pack = PackId { origin: session.id.clone(), checkpoint: id.clone() };
            let digest = Digest::of(b"x");
            let description =
                PackDescription { sequence: 0, base: None, digest, size: ByteCount::default() };
            let pack = StoredPack { id: pack, description, stored_bytes: 1 };
            StoredCheckpoint { id, parent: None, name: None, made_ms: 1, pack }
        };
        let found: Vec<StoredCheckpoint> = (1..=3).map(checkpoint).collect();
        let shown = |most| {
            let detail = SessionDetail::of(session.clone(), &found, most);
            (detail.checkpoints.len(), detail.left_out_from_cell)
        };
        assert_eq!((shown(2), shown(3), shown(4)), ((2, Some(3)), (3, None), (3, None)));
    }
}
