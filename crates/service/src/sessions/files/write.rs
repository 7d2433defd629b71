//! Writes and removes files of a session: each change is a cell of its own, without a program.

use serde::Serialize;
use tracing::warn;

use crate::caller::Caller;
use crate::error::ServiceError;
use crate::sessions::files::SessionFiles;
use crate::sessions::files::error::FilesError;
use crate::sessions::files::guest::{CarriedOut, TakenTurn};
use crate::sessions::files::read::refused;
use crate::sessions::setup::{setup_of, workspace_of};
use crate::sessions::turns::end_turn::{description_of, too_long};
use crate::sessions::views::{checkpoint_id, wait_of};
use crate::transfers::TransferPermit;
use crate::transfers::upload::UPLOAD_MEMORY;
use wardian_dispatch::{CheckedPack, FileDraft, NotParked, SealedContent};
use wardian_formats::job::session::files::{FilesAnswer, FilesOrder, is_file_path};
use wardian_formats::protocol::methods::cells::{CellFate, SessionResult};
use wardian_sessions::{CellEnd, SessionTurn, SessionsError, StoredSession, TurnRequest};
use wardian_vocabulary::budget::CallMemory;
use wardian_vocabulary::error::CauseChain;
use wardian_vocabulary::ids::{CheckpointId, WorkspacePath};
use wardian_vocabulary::units::ByteCount;

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
    /// Keeps the charge.
    _memory: CallMemory,
    _permit: TransferPermit,
}

impl SessionFiles<'_> {
    /// Begins to take the content of a file of this length, after everything that would be refused later.
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
        let permit = self.0.transfers.begin_other_upload()?;
        let memory = caller.memory.clone();
        memory.reserve(UPLOAD_MEMORY)?;
        memory.reserve(announced)?;
        let draft = FileDraft::begin().map_err(ServiceError::Unreadable)?;
        Ok(FileUpload { session, path, announced, draft, _memory: memory, _permit: permit })
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
        let FileUpload { session, path, announced, draft, .. } = &upload;
        if draft.size() != *announced {
            return Err(FilesError::WrongLength { announced: *announced }.into());
        }
        let (session, shown) = (session.clone(), path.to_string());
        let files = FilesOrder::Write { path: path.clone() };
        let note = format!("# wrote {shown} ({announced})");
        let FileUpload { draft, _memory, _permit, .. } = upload;
        let content = draft.finish().map_err(ServiceError::Unreadable)?;
        let change = self.change(caller, (&session, order, note), (files, shown), Some(content));
        Box::pin(change).await
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
        let files = FilesOrder::Remove { path: path.to_owned() };
        let note = format!("# removed {}", path.escape_debug());
        let change = self.change(caller, (&session, order, note), (files, path.to_owned()), None);
        Box::pin(change).await
    }

    /// Carries out a change as a cell, whose source is a note for people.
    async fn change(
        &self,
        caller: &Caller,
        (session, order, source): (&StoredSession, ChangeOrder<'_>, String),
        (files, path): (FilesOrder, String),
        content: Option<SealedContent>,
    ) -> Result<FileChange, ServiceError> {
        let (room, wait) = (self.0.sessions(), wait_of(order.wait_ms));
        let if_checkpoint = expected_by(order)?;
        let request = TurnRequest { source, if_checkpoint, wait };
        let turn = room.store()?.take_turn(&caller.tenant, &session.id, request).await?;
        let (cell, size) = (turn.number(), content.as_ref().map(SealedContent::size));
        let order = (files, content.as_ref());
        let done = self.0.order_files(caller, session, TakenTurn::Turn(&turn), order).await;
        let (replaced, done) = match done {
            Ok(CarriedOut { answer: FilesAnswer::Written { replaced }, .. }) => (replaced, done?),
            Ok(CarriedOut { answer: FilesAnswer::Removed, .. }) => (true, done?),
            Ok(CarriedOut { answer, .. }) => {
                leave(turn).await;
                return Err(refused(&answer, &path, session));
            }
            Err(error) => {
                leave(turn).await;
                return Err(room.note_damage(caller, &session.id, error));
            }
        };
        let CarriedOut { mut finished, guest, host: _host, .. } = done;
        let most = ByteCount::bytes(caller.memory.budget().limit().as_u64() / 2);
        let at = keep(turn, finished.pack.take(), most).await?;
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

/// Refuses a change of which the record of a session would say nothing.
fn refuse_reproducible(session: &StoredSession, path: &str) -> Result<(), ServiceError> {
    match setup_of(session)?.reproducible {
        Some(_) => Err(FilesError::Reproducible { path: path.to_owned() }.into()),
        None => Ok(()),
    }
}

/// Keeps the state after a change.
async fn keep(
    turn: SessionTurn,
    pack: Option<Result<CheckedPack, NotParked>>,
    most: ByteCount,
) -> Result<CheckpointId, ServiceError> {
    let reason = match pack {
        None => "the state after it could not be saved".to_owned(),
        Some(Err(not_parked)) => not_parked.to_string(),
        Some(Ok(pack)) => match too_long(&turn, &pack, most).await {
            None => {
                let description = description_of(&turn, &pack.facts);
                return Ok(turn.commit_change(description, pack.bytes, CellEnd::default()).await?);
            }
            Some(reason) => reason,
        },
    };
    leave(turn).await;
    Err(FilesError::NotKept { reason }.into())
}

/// Leaves the session where it was.
async fn leave(turn: SessionTurn) {
    let session = turn.session().clone();
    if let Err(cause) = turn.roll_back(CellEnd::default()).await {
        warn!(session.id = %session, "a change of a file could not be ended: {}", CauseChain(&cause));
    }
}
