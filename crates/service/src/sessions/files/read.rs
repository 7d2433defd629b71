//! Lists and reads the files of a session.

use std::sync::Arc;
use std::{fmt, io};

use serde::{Deserialize, Serialize};

use crate::caller::Caller;
use crate::error::ServiceError;
use crate::sessions::files::SessionFiles;
use crate::sessions::files::error::FilesError;
use crate::sessions::files::guest::CarriedOut;
use crate::sessions::setup::workspace_of;
use crate::sessions::views::wait_of;
use crate::transfers::TransferPermit;
use crate::transfers::download::{BlobBytes, DOWNLOAD_MEMORY, PIECE};
use wardian_dispatch::CheckedPayload;
use wardian_formats::job::session::files::{
    FilesAnswer, FilesOrder, FilesPage, ListedFile, ListedFiles, MAX_LISTED, is_file_path,
};
use wardian_formats::protocol::params_error::ParamsError;
use wardian_sessions::{SessionLook, StoredSession};
use wardian_stores::blobs::content::file_name::kind_of_file;
use wardian_vocabulary::budget::CallMemory;
use wardian_vocabulary::ids::{CheckpointId, Digest};
use wardian_vocabulary::units::ByteCount;

/// Which files of a session are listed.
#[derive(Debug, Clone, Copy, Default)]
pub struct FileListOrder<'a> {
    /// The folder, below the working folder; all files without it.
    pub folder: Option<&'a str>,
    /// The `next_cursor` of the page before.
    pub cursor: Option<&'a str>,
    /// Most files of the page.
    pub limit: u64,
    /// How long the call waits for a cell that runs, in milliseconds.
    pub wait_ms: Option<u64>,
}

/// A page of the files of a session, in the order of their paths.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionFileList {
    /// The files, folders and links.
    pub files: Vec<ListedFile>,
    /// The cursor of the next page, if there is one.
    pub next_cursor: Option<String>,
    /// Those within the page that are left out, because their paths are too long.
    pub unlisted: u64,
    /// The checkpoint that the session is at; `None` before its first one.
    pub checkpoint: Option<CheckpointId>,
}

/// The content of a file of a session. It is charged to the call until it is dropped.
pub struct FileDownload {
    /// Its path below the working folder.
    pub path: String,
    /// Its MIME type, by its name.
    pub kind: &'static str,
    /// Its length.
    pub size: u64,
    /// The digest of the content.
    pub digest: Digest,
    content: Arc<CheckedPayload>,
    memory: CallMemory,
    _permit: TransferPermit,
}

/// Prints no byte of the content.
impl fmt::Debug for FileDownload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileDownload").field("size", &self.size).finish_non_exhaustive()
    }
}

impl SessionFiles<'_> {
    /// Lists files of a session.
    ///
    /// # Errors
    ///
    /// The tenant has no such session or folder, a cell is running or waits, or no worker can do it.
    pub async fn list(
        &self,
        caller: &Caller,
        id: &str,
        order: FileListOrder<'_>,
    ) -> Result<SessionFileList, ServiceError> {
        let FileListOrder { folder, cursor, limit, wait_ms } = order;
        let limit = usize::try_from(limit).unwrap_or(usize::MAX).min(MAX_LISTED);
        let Some(limit) = u32::try_from(limit).ok().filter(|limit| *limit > 0) else {
            return Err(ParamsError::wrong("limit", "at least 1", "0").into());
        };
        for (name, path) in [("folder", folder), ("cursor", cursor)] {
            if path.is_some_and(|path| !is_file_path(path)) {
                let expected = "a path below the working folder, such as `data`";
                return Err(ParamsError::wrong(name, expected, "another text").into());
            }
        }
        let page = FilesPage {
            folder: folder.map(str::to_owned),
            after: cursor.map(str::to_owned),
            limit,
        };
        let looked = self.look(caller, id, wait_ms, FilesOrder::List(page));
        let (look, done) = Box::pin(looked).await?;
        let FilesAnswer::Listed(ListedFiles { files, has_more, unlisted }) = done.answer else {
            let session = self.find(caller, id).await?;
            return Err(refused(&done.answer, folder.unwrap_or("."), &session));
        };
        let last = files.last().map(|file| file.path.clone());
        let checkpoint = look.head().cloned();
        Ok(SessionFileList { files, next_cursor: last.filter(|_| has_more), unlisted, checkpoint })
    }

    /// Reads a file of a session.
    ///
    /// # Errors
    ///
    /// The tenant has no such session or file, a cell is running or waits, or no worker can do it.
    pub async fn read(
        &self,
        caller: &Caller,
        id: &str,
        path: &str,
        wait_ms: Option<u64>,
    ) -> Result<FileDownload, ServiceError> {
        if !is_file_path(path) {
            return Err(FilesError::Path.into());
        }
        let order = FilesOrder::Read { path: path.to_owned() };
        let (_look, done) = Box::pin(self.look(caller, id, wait_ms, order)).await?;
        // A read that waits for its session keeps nobody from a transfer.
        let permit = self.0.transfers.begin_other_download()?;
        caller.memory.reserve(DOWNLOAD_MEMORY)?;
        let content = match (done.answer, done.host.content()) {
            (FilesAnswer::Read { .. }, Some(content)) => content,
            (answer, _) => return Err(refused(&answer, path, &self.find(caller, id).await?)),
        };
        let (size, hashed) = (content.size().as_u64(), Arc::clone(&content));
        let digest = caller.memory.on_thread(move || digest_of(&hashed)).await;
        let digest = digest.map_err(ServiceError::Interrupted)?;
        Ok(FileDownload {
            path: path.to_owned(),
            kind: kind_of_file(path),
            size,
            digest: digest.map_err(ServiceError::Unreadable)?,
            content,
            memory: caller.memory.clone(),
            _permit: permit,
        })
    }

    /// Has an order carried out that changes nothing. The guest is kept for the next cell.
    async fn look(
        &self,
        caller: &Caller,
        id: &str,
        wait_ms: Option<u64>,
        order: FilesOrder,
    ) -> Result<(SessionLook, CarriedOut), ServiceError> {
        let session = self.find(caller, id).await?;
        let room = self.0.sessions();
        let look = room.store()?.look(&caller.tenant, &session.id, wait_of(wait_ms)).await?;
        let done = self.0.order_files(caller, &session, &look, (order, None)).await;
        let mut done = done.map_err(|error| room.note_damage(caller, &session.id, error))?;
        self.keep_guest(&look, &mut done);
        Ok((look, done))
    }

    /// Keeps the guest of an order that has changed nothing, for the next cell.
    pub(super) fn keep_guest(&self, look: &SessionLook, done: &mut CarriedOut) {
        if let (Some(guest), Some(head)) = (done.guest.take(), look.head()) {
            let memory = done.finished.outcome.usage.memory_peak;
            self.0.sessions().guests().put(look.session().clone(), head.clone(), guest, memory);
        }
    }
}

/// The error for an order of this path that was refused.
pub(super) fn refused(answer: &FilesAnswer, path: &str, session: &StoredSession) -> ServiceError {
    match answer {
        FilesAnswer::Refused(refusal) => {
            let limit = workspace_of(session).unwrap_or_default();
            FilesError::of(*refusal, path, limit).into()
        }
        _ => FilesError::Failed { reason: "it sent no content".to_owned() }.into(),
    }
}

fn digest_of(content: &CheckedPayload) -> io::Result<Digest> {
    let size = content.size().as_u64();
    let mut hasher = Digest::in_pieces();
    let (mut piece, mut offset) = (vec![0; PIECE], 0_u64);
    while offset < size {
        let left = usize::try_from(size.saturating_sub(offset)).unwrap_or(PIECE).min(PIECE);
        let part = piece.get_mut(..left).unwrap_or_default();
        content.read_exact_at(part, offset)?;
        hasher.add(part);
        offset = offset.saturating_add(ByteCount::from(left).as_u64());
    }
    Ok(hasher.finish())
}

impl FileDownload {
    /// Reads `length` bytes at `offset`, at most [`PIECE`]. A caller keeps two results at a time.
    ///
    /// # Errors
    ///
    /// The content ends before, or the operating system reports an error.
    pub async fn read(&self, offset: u64, length: usize) -> Result<BlobBytes, ServiceError> {
        let (content, length) = (Arc::clone(&self.content), length.min(PIECE));
        let reading = self.memory.on_thread(move || {
            let mut bytes = vec![0; length];
            content.read_exact_at(&mut bytes, offset).map(|()| bytes)
        });
        let read = reading.await.map_err(ServiceError::Interrupted)?;
        Ok(BlobBytes::charged_to(&self.memory, read.map_err(ServiceError::Unreadable)?))
    }
}
