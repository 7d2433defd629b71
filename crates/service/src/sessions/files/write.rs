//! Writes and removes files of a session: each change is a cell of its own, without a program.

use std::time::Duration;

use serde::Serialize;

use crate::caller::Caller;
use crate::error::ServiceError;
use crate::sessions::files::SessionFiles;
use crate::sessions::files::error::FilesError;
use crate::sessions::files::guest::CarriedOut;
use crate::sessions::files::read::refused;
use crate::sessions::setup::{setup_of, workspace_of};
use crate::sessions::turns::end_turn::{description_of, too_long_after};
use crate::sessions::views::{checkpoint_id, wait_of};
use crate::transfers::TransferPermit;
use crate::transfers::upload::UPLOAD_MEMORY;
use wardian_dispatch::{CheckedPack, FileDraft, NotParked, SealedContent};
use wardian_formats::job::session::files::{FilesAnswer, FilesOrder, FilesRefusal, is_file_path};
use wardian_formats::protocol::methods::cells::{CellFate, SessionResult};
use wardian_sessions::{CellEnd, SessionLook, SessionsError, StoredSession};
use wardian_vocabulary::budget::CallMemory;
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
    permit: TransferPermit,
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
        Ok(FileUpload { session, path, announced, draft, _memory: memory, permit })
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
        let FileUpload { draft, permit, .. } = upload;
        // The content has come, and waits for its session without being a transfer.
        drop(permit);
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

    /// Takes the turn of a session for a change. Content that waits for it takes the part of its tenant of the
    /// memory that all have for what waits.
    async fn turn_for(
        &self,
        caller: &Caller,
        session: &StoredSession,
        wait: Duration,
        content: Option<&SealedContent>,
    ) -> Result<SessionLook, ServiceError> {
        if content.is_none() || wait.is_zero() {
            return self.turn_of(caller, &session.id, wait).await;
        }
        let at_once = self.turn_of(caller, &session.id, Duration::ZERO).await;
        if !matches!(at_once, Err(ServiceError::Session(SessionsError::Busy { .. }))) {
            return at_once;
        }
        let shares = self.0.sessions().shares();
        let waiting = shares.begin_waiting(&caller.tenant, &caller.memory);
        let _waiting = waiting.map_err(|_full| FilesError::CannotWait)?;
        self.turn_of(caller, &session.id, wait).await
    }

    /// Carries out a change as a cell, whose source is a note for people. There is no cell before the change
    /// is known to be possible, so one that is refused leaves nothing.
    async fn change(
        &self,
        caller: &Caller,
        (session, order, source): (&StoredSession, ChangeOrder<'_>, String),
        (files, path): (FilesOrder, String),
        content: Option<SealedContent>,
    ) -> Result<FileChange, ServiceError> {
        let (room, wait) = (self.0.sessions(), wait_of(order.wait_ms));
        let expected = expected_by(order)?;
        let look = self.turn_for(caller, session, wait, content.as_ref()).await?;
        if expected.is_some() && expected.as_ref() != look.head() {
            return Err(SessionsError::Conflict { head: look.head().cloned() }.into());
        }
        let size = content.as_ref().map(SealedContent::size);
        let order = (files, content.as_ref());
        let done = self.0.order_files(caller, session, &look, order).await;
        let mut done = done.map_err(|error| room.note_damage(caller, &session.id, error))?;
        let replaced = match &done.answer {
            FilesAnswer::Written { replaced } => *replaced,
            FilesAnswer::Removed => true,
            answer => {
                let error = refused_change(answer, (path.as_str(), content.is_some()), session);
                self.put_back(&look, &mut done);
                return Err(error);
            }
        };
        let CarriedOut { mut finished, guest, host: _host, .. } = done;
        let most = ByteCount::bytes(caller.memory.budget().limit().as_u64() / 2);
        let (cell, at) = keep(look, finished.pack.take(), most, (source, expected)).await?;
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

/// The error for a change of this path that was refused. Folders that are missing are made for a file, so
/// there is nothing only where a link leads.
fn refused_change(
    answer: &FilesAnswer,
    (path, is_write): (&str, bool),
    session: &StoredSession,
) -> ServiceError {
    match answer {
        FilesAnswer::Refused(FilesRefusal::NotFound) if is_write => {
            FilesError::LooseLink { path: path.to_owned() }.into()
        }
        answer => refused(answer, path, session),
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

/// Keeps the state after a change, as a cell with this source. Returns its number and its checkpoint.
async fn keep(
    look: SessionLook,
    pack: Option<Result<CheckedPack, NotParked>>,
    most: ByteCount,
    (source, expected): (String, Option<CheckpointId>),
) -> Result<(u32, CheckpointId), ServiceError> {
    let reason = match pack {
        None => "the state after it could not be saved".to_owned(),
        Some(Err(not_parked)) => not_parked.to_string(),
        Some(Ok(pack)) => match too_long_after(look.chain_bytes(), &pack, most).await {
            Some(reason) => reason,
            // From here on there is a cell. What was refused before has none.
            None => {
                let turn = look.begin(source, expected).await?;
                let (cell, description) = (turn.number(), description_of(&turn, &pack.facts));
                let at = turn.commit_change(description, pack.bytes, CellEnd::default()).await?;
                return Ok((cell, at));
            }
        },
    };
    Err(FilesError::NotKept { reason }.into())
}
