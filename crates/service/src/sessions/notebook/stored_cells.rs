//! Reads the cells of a session from the store, in pages and as a notebook.

use crate::caller::Caller;
use crate::error::ServiceError;
use crate::sessions::kept_cells::read_cells::{read_cells, text_length};
use crate::sessions::notebook::download::NotebookDownload;
use crate::sessions::notebook::notebook_of;
use crate::sessions::room::SessionRoom;
use crate::sessions::views::{CellPage, CellView, session_id};
use crate::transfers::BlobTransfers;
use wardian_vocabulary::units::ByteCount;

/// Cells of one page at most. Each has a program and a result.
const MAX_CELLS: u64 = 100;

/// Cells that a notebook has at most.
const MAX_NOTEBOOK: u64 = 1_000;

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
        Ok(CellPage { cells: cells.into_iter().map(|cell| CellView::of(&id, cell)).collect() })
    }

    /// The cells of a session as a notebook, in the format of Jupyter. Pictures that they displayed are read
    /// from `blobs` while it is sent.
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
        let most = (MAX_NOTEBOOK, MAX_NOTEBOOK_BYTES);
        let mut cells = read_cells(store, caller, &id, 0, most).await?;
        self.held().show(&id, &mut cells);
        let last = cells.last().map_or(0, |last| last.number);
        let further = store.cells(&caller.tenant, &id, last, 1).await?;
        let lengths = cells.iter().map(text_length).fold(0, u64::saturating_add);
        // Results are read, and written once more.
        caller.memory.reserve(ByteCount::bytes(lengths.saturating_mul(3)))?;
        let cells: Vec<CellView> = cells.into_iter().map(CellView::without_session).collect();
        let left_out = further.first().map(|next| next.number);
        notebook_of(caller, blobs, cells, left_out).await
    }
}
