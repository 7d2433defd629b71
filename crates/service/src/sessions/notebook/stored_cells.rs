//! Reads the cells of a session from the store, in pages and as a notebook.

use std::ops::RangeInclusive;

use crate::caller::Caller;
use crate::error::ServiceError;
use crate::sessions::kept_cells::read_cells::{read_cells, text_length};
use crate::sessions::notebook::download::NotebookDownload;
use crate::sessions::notebook::{NotebookParts, notebook_of};
use crate::sessions::room::SessionRoom;
use crate::sessions::views::{CellPage, CellView, session_id};
use crate::transfers::BlobTransfers;
use wardian_sessions::{ForkedFrom, Sessions, SessionsError, StoredCell};
use wardian_vocabulary::ids::SessionId;
use wardian_vocabulary::units::ByteCount;

/// Cells of one page at most. Each has a program and a result.
const MAX_CELLS: u64 = 100;

/// Cells that a notebook has at most.
const MAX_NOTEBOOK: u64 = 1_000;

/// Sessions before a fork whose cells are in its notebook: each was forked from the one before.
const MAX_ORIGINS: usize = 16;

/// Bytes of programs and results after which a page is full.
const MAX_PAGE_BYTES: u64 = 4 << 20;

/// Bytes of programs and results after which a notebook or a record is full.
pub(crate) const MAX_NOTEBOOK_BYTES: u64 = 32 << 20;

impl SessionRoom {
    /// The cells of a session with higher numbers than `after`, in order: at most `limit`, and fewer if they
    /// are long. An empty page is the last one.
    ///
    /// # Errors
    ///
    /// As [`show`](Self::show).
    pub async fn cells(
        &self,
        caller: &Caller,
        id: &str,
        after: u32,
        limit: u64,
    ) -> Result<CellPage, ServiceError> {
        let (store, id) = (self.of(caller)?, session_id(id)?);
        let most = (limit.clamp(1, MAX_CELLS), MAX_PAGE_BYTES);
        let mut cells = read_cells(store, caller, &id, after, most).await?;
        self.held().show(&id, &mut cells);
        // A cell that is kept meanwhile is not among these.
        let path = store.cells_of_state(&caller.tenant, &id, None, numbers_of(&cells)).await?;
        let view = |cell| CellView::of(&id, cell).in_state_of(&path);
        Ok(CellPage { cells: cells.into_iter().map(view).collect() })
    }

    /// The cells of a session as a notebook, in the format of Jupyter, those before a fork among them. Pictures that
    /// they displayed are read from `blobs` while it is sent.
    ///
    /// # Errors
    ///
    /// As [`show`](Self::show), or the server is busy with other downloads.
    pub async fn notebook(
        &self,
        caller: &Caller,
        id: &str,
        blobs: &BlobTransfers,
    ) -> Result<NotebookDownload, ServiceError> {
        let (store, id) = (self.of(caller)?, session_id(id)?);
        let (sessions, missing) = sessions_of_notebook(store, caller, &id).await?;
        let mut parts = NotebookParts { missing, ..NotebookParts::default() };
        let (mut left, mut bytes) = (MAX_NOTEBOOK, MAX_NOTEBOOK_BYTES);
        for NotebookSession { session, last } in sessions {
            let most = last.map_or(left, |last| left.min(last.into()));
            let mut cells = read_cells(store, caller, &session, 0, (most, bytes)).await?;
            cells.retain(|cell| last.is_none_or(|last| cell.number <= last));
            if session == id {
                self.held().show(&id, &mut cells);
            }
            let lengths = cells.iter().map(text_length).fold(0, u64::saturating_add);
            // Results are read, and written once more.
            caller.memory.reserve(ByteCount::bytes(lengths.saturating_mul(3)))?;
            left = left.saturating_sub(u64::try_from(cells.len()).unwrap_or(u64::MAX));
            bytes = bytes.saturating_sub(lengths);
            let end = cells.last().map_or(0, |cell| cell.number);
            let further = store.cells(&caller.tenant, &session, end, 1).await?;
            let among = numbers_of(&cells);
            let path = store.cells_of_state(&caller.tenant, &session, last, among).await?;
            let view = |cell| CellView::without_session(cell).in_state_of(&path);
            parts.cells.extend(cells.into_iter().map(view));
            let further = further.first().map(|next| next.number);
            parts.left_out = further.filter(|next| last.is_none_or(|last| *next <= last));
            if parts.left_out.is_some() {
                break;
            }
        }
        notebook_of(caller, blobs, parts).await
    }
}

/// The numbers from that of the first of these cells to that of the last one.
fn numbers_of(cells: &[StoredCell]) -> RangeInclusive<u32> {
    let [first, last] =
        [cells.first(), cells.last()].map(|cell| cell.map_or(0, |cell| cell.number));
    first..=last
}

/// A session whose cells are in a notebook.
struct NotebookSession {
    session: SessionId,
    /// The last one of them, in a session that another one was forked from.
    last: Option<u32>,
}

/// The sessions whose cells led to the states of this one, the oldest first, and what is missing before them.
async fn sessions_of_notebook(
    store: &Sessions,
    caller: &Caller,
    id: &SessionId,
) -> Result<(Vec<NotebookSession>, Option<ForkedFrom>), ServiceError> {
    let mut sessions = vec![NotebookSession { session: id.clone(), last: None }];
    let mut found = store.find(&caller.tenant, id).await?;
    let mut missing = None;
    while let Some(from) = found.forked_from {
        let first = store.cells(&caller.tenant, &found.id, 0, 1).await?;
        let has_them = first.first().is_some_and(|cell| cell.number <= from.checkpoint.cell());
        if has_them {
            break;
        }
        let origin = store.find(&caller.tenant, &from.session).await;
        found = match origin {
            Ok(origin) if sessions.len() <= MAX_ORIGINS => origin,
            Ok(_) | Err(SessionsError::NotFound { .. } | SessionsError::Expired { .. }) => {
                missing = Some(from);
                break;
            }
            Err(cause) => return Err(cause.into()),
        };
        let last = Some(from.checkpoint.cell());
        sessions.push(NotebookSession { session: from.session, last });
    }
    sessions.reverse();
    Ok((sessions, missing))
}
