//! Reads the cells of a session from the store, in pages and as a notebook.

use crate::caller::Caller;
use crate::error::ServiceError;
use crate::sessions::notebook::download::NotebookDownload;
use crate::sessions::notebook::notebook_of;
use crate::sessions::room::SessionRoom;
use crate::sessions::views::{CellPage, CellView, session_id};
use crate::transfers::BlobTransfers;
use wardian_sessions::{Sessions, StoredCell};
use wardian_vocabulary::ids::SessionId;
use wardian_vocabulary::units::ByteCount;

/// Cells of one page at most. Each has a program and a result.
const MAX_CELLS: u64 = 100;

/// Cells that a notebook has at most.
const MAX_NOTEBOOK: u64 = 1_000;

/// Cells that are read at once. Others wait for the database meanwhile.
const CELLS_AT_ONCE: u64 = 8;

/// Memory for as many cells, with the longest programs and results.
const READ_AT_ONCE: u64 = CELLS_AT_ONCE * (1 << 20 | 256 << 10);

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
        let cells = read_cells(store, caller, &id, 0, most).await?;
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

/// Reads the cells of a session with higher numbers than `after`: at most so many, and with the last of them
/// not many more than so many bytes.
pub(crate) async fn read_cells(
    store: &Sessions,
    caller: &Caller,
    id: &SessionId,
    mut after: u32,
    (most, most_bytes): (u64, u64),
) -> Result<Vec<StoredCell>, ServiceError> {
    let (mut cells, mut left, mut bytes) = (Vec::new(), most, 0_u64);
    caller.memory.reserve(ByteCount::bytes(READ_AT_ONCE))?;
    while left > 0 && bytes < most_bytes {
        let page = store.cells(&caller.tenant, id, after, left.min(CELLS_AT_ONCE)).await?;
        let Some(last) = page.last() else { break };
        after = last.number;
        let length = page.iter().map(text_length).fold(0, u64::saturating_add);
        bytes = bytes.saturating_add(length);
        left = left.saturating_sub(u64::try_from(page.len()).unwrap_or(u64::MAX));
        // They are in the answer once more.
        caller.memory.reserve(ByteCount::bytes(length.saturating_mul(2)))?;
        cells.extend(page);
    }
    Ok(cells)
}

/// Bytes of the program and the result of a cell.
pub(crate) fn text_length(cell: &StoredCell) -> u64 {
    let texts = [cell.source.as_ref(), cell.result.as_ref()];
    let length = texts.into_iter().flatten().map(String::len).fold(0, usize::saturating_add);
    ByteCount::from(length).as_u64()
}
