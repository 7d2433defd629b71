//! Writes and removes files of a session: each change is a cell of its own, without a program.
//!
//! INVARIANT(refused-changes-leave-nothing): a change that is refused for what is in the workspace uses no
//! number, leaves no cell and no other state, and the guest that a worker keeps is as before.

use std::time::{Duration, Instant};

use serde::Serialize;
use tracing::warn;

use crate::caller::Caller;
use crate::error::ServiceError;
use crate::sessions::files::SessionFiles;
use crate::sessions::files::error::FilesError;
use crate::sessions::files::guest::CarriedOut;
use crate::sessions::files::read::refused;
use crate::sessions::setup::{setup_of, workspace_of};
use crate::sessions::turns::end_turn::{description_of, too_long};
use crate::sessions::views::{checkpoint_id, wait_of};
use crate::transfers::TransferPermit;
use crate::transfers::upload::UPLOAD_MEMORY;
use wardian_dispatch::{CheckedPack, FileDraft, NotParked, SealedContent};
use wardian_formats::job::session::files::{FilesAnswer, FilesOrder, is_file_path};
use wardian_formats::protocol::methods::cells::{CellFate, SessionResult};
use wardian_sessions::{
    CellEnd, SessionLook, SessionTurn, SessionsError, StoredSession, TurnRequest,
};
use wardian_vocabulary::budget::CallMemory;
use wardian_vocabulary::error::CauseChain;
use wardian_vocabulary::ids::{CheckpointId, WorkspacePath};
use wardian_vocabulary::units::ByteCount;

/// How long an upload waits for its session at most that holds more memory than its tenant's waiting uploads
/// may.
const SHORT_WAIT: Duration = Duration::from_secs(1);

/// When a file of a session is changed.
#[derive(Debug, Clone, Copy, Default)]
pub struct ChangeOrder<'a> {
    /// The checkpoint that the session must be at, as sent.
    pub if_checkpoint: Option<&'a str>,
    /// How long the call waits for a cell that runs, in milliseconds.
    pub wait_ms: Option<u64>,
}

/// A change of a file, which is in the checkpoint that the session is at now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FileChange {
    /// The path of the file.
    pub path: String,
    /// Bytes of its content; `None` if it was removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<u64>,
    /// True if there was a file of this path before.
    pub replaced: bool,
    /// The session. The change counts as a cell.
    pub session: SessionResult,
}

/// The content of a file that arrives. Dropped before it is [written](SessionFiles::write), it leaves
/// nothing.
#[derive(Debug)]
pub struct FileUpload {
    session: StoredSession,
    path: WorkspacePath,
    announced: ByteCount,
    draft: FileDraft,
    /// How long the call may wait for its session yet.
    wait: Duration,
    /// Keeps the charge.
    memory: CallMemory,
    permit: TransferPermit,
}

/// A change of a file that is not carried out yet.
struct Change {
    files: FilesOrder,
    path: String,
    /// What people read in the list of cells.
    note: String,
    content: Option<SealedContent>,
    if_checkpoint: Option<CheckpointId>,
}

impl SessionFiles<'_> {
    /// Begins to take the content of a file of this length, after everything that would be refused later. If
    /// the call may wait for a cell that runs, it does so here, where it holds nothing yet.
    ///
    /// # Errors
    ///
    /// The tenant has no such session, the session is reproducible, the path is malformed, the content does
    /// not fit into the workspace, the session is not where it is expected to be, or the server is busy.
    pub async fn begin(
        &self,
        caller: &Caller,
        id: &str,
        (path, announced): (&str, ByteCount),
        order: ChangeOrder<'_>,
    ) -> Result<FileUpload, ServiceError> {
        let path = WorkspacePath::parse(path).map_err(FilesError::WritePath)?;
        let session = self.find(caller, id).await?;
        refuse_reproducible(&session, path.as_str())?;
        let (expected, limit) = (expected_by(order)?, workspace_of(&session)?);
        if expected.is_some() && expected != session.head {
            return Err(SessionsError::Conflict { head: session.head }.into());
        }
        if announced > limit {
            return Err(FilesError::TooLarge { size: announced, limit }.into());
        }
        let room = caller.memory.budget().most_of_states().as_u64();
        let limit = ByteCount::bytes(room.saturating_sub(UPLOAD_MEMORY.as_u64()));
        if announced > limit {
            return Err(FilesError::NotReceivable { size: announced, limit }.into());
        }
        let (mut wait, begun) = (wait_of(order.wait_ms), Instant::now());
        if !wait.is_zero() {
            let look = self.0.sessions().store()?.look(&caller.tenant, &session.id, wait).await?;
            ensure_at(&look, expected.as_ref())?;
            wait = wait.saturating_sub(begun.elapsed());
        }
        let permit = self.0.transfers.begin_other_upload()?;
        let memory = caller.memory.for_states_of(&caller.tenant);
        memory.reserve(UPLOAD_MEMORY)?;
        memory.reserve(announced)?;
        let draft = FileDraft::begin().map_err(ServiceError::Unreadable)?;
        Ok(FileUpload { session, path, announced, draft, wait, memory, permit })
    }

    /// Writes a file whose content has come. When this returns, it is durable.
    ///
    /// # Errors
    ///
    /// The content is shorter than was announced, the session is closed or not where it is expected to be, a
    /// cell is running or waits, the workspace or a quota is full, or no worker can do it. Nothing was
    /// changed then.
    pub async fn write(
        &self,
        caller: &Caller,
        upload: FileUpload,
        order: ChangeOrder<'_>,
    ) -> Result<FileChange, ServiceError> {
        let FileUpload { session, path, announced, draft, wait, memory, permit } = upload;
        if draft.size() != announced {
            return Err(FilesError::WrongLength { announced }.into());
        }
        let content = Some(draft.finish().map_err(ServiceError::Unreadable)?);
        // The content has come. What may have to wait from now on is bounded for each tenant.
        drop(permit);
        let may_wait = memory.begin_waiting(&caller.tenant).is_ok();
        let wait = if may_wait { wait } else { wait.min(SHORT_WAIT) };
        let store = self.0.sessions().store()?;
        let look = store.look(&caller.tenant, &session.id, wait).await;
        memory.end_waiting();
        let path_text = path.to_string();
        let note = format!("# wrote {path_text} ({announced})");
        let (files, if_checkpoint) = (FilesOrder::Write { path }, expected_by(order)?);
        let change = Change { files, path: path_text, note, content, if_checkpoint };
        Box::pin(self.change(caller, &session, look?, change)).await
    }

    /// Removes a file, a link or an empty folder of a session. When this returns, that is durable.
    ///
    /// # Errors
    ///
    /// As [`write`](Self::write), and if there is no such file.
    pub async fn remove(
        &self,
        caller: &Caller,
        id: &str,
        path: &str,
        order: ChangeOrder<'_>,
    ) -> Result<FileChange, ServiceError> {
        if !is_file_path(path) {
            return Err(FilesError::Path.into());
        }
        let session = self.find(caller, id).await?;
        refuse_reproducible(&session, path)?;
        let (wait, if_checkpoint) = (wait_of(order.wait_ms), expected_by(order)?);
        let look = self.0.sessions().store()?.look(&caller.tenant, &session.id, wait).await?;
        let path = path.to_owned();
        let files = FilesOrder::Remove { path: path.clone() };
        let note = format!("# removed {}", path.escape_debug());
        let change = Change { files, path, note, content: None, if_checkpoint };
        Box::pin(self.change(caller, &session, look, change)).await
    }

    /// Carries out a change. Only one that was carried out becomes a cell, whose source is a note for people.
    async fn change(
        &self,
        caller: &Caller,
        session: &StoredSession,
        look: SessionLook,
        change: Change,
    ) -> Result<FileChange, ServiceError> {
        let Change { files, path, note, content, if_checkpoint } = change;
        ensure_at(&look, if_checkpoint.as_ref())?;
        let (room, size) = (self.0.sessions(), content.as_ref().map(SealedContent::size));
        let order = (files, content.as_ref());
        let done = self.0.order_files(caller, session, &look, order).await;
        let mut done = done.map_err(|error| room.note_damage(caller, &session.id, error))?;
        let replaced = match done.answer {
            FilesAnswer::Written { replaced } => replaced,
            FilesAnswer::Removed => true,
            ref answer => {
                let refused = refused(answer, &path, session);
                // A guest that is kept for another reason may have changed.
                if matches!(done.finished.pack, Some(Err(NotParked::Unchanged))) {
                    self.keep_guest(&look, &mut done);
                }
                return Err(refused);
            }
        };
        let CarriedOut { mut finished, guest, host: _host, .. } = done;
        let pack = pack_of(finished.pack.take())?;
        let request = TurnRequest { source: note, if_checkpoint, wait: Duration::ZERO };
        let turn = look.begin_change(request).await?;
        let cell = turn.number();
        let most = ByteCount::bytes(caller.memory.budget().limit().as_u64() / 2);
        let at = keep(turn, pack, most).await?;
        if let Some(guest) = guest {
            let memory = finished.outcome.usage.memory_peak;
            room.guests().put(session.id.clone(), at.clone(), guest, memory);
        }
        let (id, checkpoint, state) = (session.id.clone(), Some(at), CellFate::Kept);
        let session =
            SessionResult { id, cell, checkpoint, state, reason: None, state_digest: None };
        let size_bytes = size.map(ByteCount::as_u64);
        Ok(FileChange { path, size_bytes, replaced, session })
    }
}

impl FileUpload {
    /// Appends a piece of the content.
    ///
    /// # Errors
    ///
    /// There is more than was announced, or the operating system has no memory.
    pub fn append(&mut self, piece: &[u8]) -> Result<(), ServiceError> {
        let more = ByteCount::from(piece.len()).as_u64();
        let size = self.draft.size().as_u64().saturating_add(more);
        if size > self.announced.as_u64() {
            return Err(FilesError::WrongLength { announced: self.announced }.into());
        }
        self.draft.append(piece).map_err(ServiceError::Unreadable)
    }
}

/// The checkpoint that the session has to be at.
fn expected_by(order: ChangeOrder<'_>) -> Result<Option<CheckpointId>, ServiceError> {
    order.if_checkpoint.map(checkpoint_id).transpose()
}

/// Refuses a change of a session that is at another checkpoint than the caller expects.
fn ensure_at(look: &SessionLook, expected: Option<&CheckpointId>) -> Result<(), SessionsError> {
    if expected.is_none() || expected == look.head() {
        return Ok(());
    }
    Err(SessionsError::Conflict { head: look.head().cloned() })
}

/// Refuses a change of which the record of a session would say nothing.
fn refuse_reproducible(session: &StoredSession, path: &str) -> Result<(), ServiceError> {
    match setup_of(session)?.reproducible {
        Some(_) => Err(FilesError::Reproducible { path: path.to_owned() }.into()),
        None => Ok(()),
    }
}

/// The state after a change, if it can be kept.
fn pack_of(pack: Option<Result<CheckedPack, NotParked>>) -> Result<CheckedPack, FilesError> {
    let reason = match pack {
        Some(Ok(pack)) => return Ok(pack),
        Some(Err(not_parked)) => not_parked.to_string(),
        None => "the state after it could not be saved".to_owned(),
    };
    Err(FilesError::NotKept { reason })
}

/// Keeps the state after a change.
async fn keep(
    turn: SessionTurn,
    pack: CheckedPack,
    most: ByteCount,
) -> Result<CheckpointId, ServiceError> {
    if let Some(reason) = too_long(&turn, &pack, most).await {
        leave(turn).await;
        return Err(FilesError::NotKept { reason }.into());
    }
    let description = description_of(&turn, &pack.facts);
    Ok(turn.commit_change(description, pack.bytes, CellEnd::default()).await?)
}

/// Leaves the session where it was.
async fn leave(turn: SessionTurn) {
    let session = turn.session().clone();
    if let Err(cause) = turn.roll_back(CellEnd::default()).await {
        warn!(session.id = %session, "a change of a file could not be ended: {}", CauseChain(&cause));
    }
}
