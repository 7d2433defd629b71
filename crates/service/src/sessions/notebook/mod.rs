//! Notebooks: the cells of a session as one that a client downloads, and a session of the cells of one.
//!
//! The format is nbformat 4.5 of the Jupyter project: `nbformat.readthedocs.io`. The text of a notebook has
//! marks in the places of pictures, which are read from the store of blobs while the notebook is sent.

mod cells;
pub(crate) mod download;
pub(crate) mod imported;
pub(crate) mod language;
mod pictures;
mod programs;
pub(crate) mod stored_cells;

use data_encoding::HEXLOWER;

use crate::caller::Caller;
use crate::error::ServiceError;
use crate::sessions::notebook::cells::NotebookCells;
use crate::sessions::notebook::download::NotebookDownload;
use crate::sessions::notebook::pictures::ChosenPictures;
use crate::sessions::views::CellView;
use crate::transfers::BlobTransfers;
use crate::transfers::download::DOWNLOAD_MEMORY;
use wardian_sessions::ForkedFrom;
use wardian_vocabulary::crypto::fill_random;

/// What a notebook is made of.
#[derive(Debug, Default)]
pub(crate) struct NotebookParts {
    pub(crate) cells: Vec<CellView>,
    /// Cells from this one on have no room.
    pub(crate) left_out: Option<u32>,
    /// The fork before which cells are missing: their session is closed, or too many forks away.
    pub(crate) missing: Option<ForkedFrom>,
}

/// The notebook of these cells. Cells whose program is not kept are left out, with a note in the notebook's
/// metadata.
///
/// # Errors
///
/// The server is busy with other downloads, its memory is used up, or the store of blobs fails.
pub(crate) async fn notebook_of(
    caller: &Caller,
    blobs: &BlobTransfers,
    NotebookParts { cells, left_out, missing }: NotebookParts,
) -> Result<NotebookDownload, ServiceError> {
    let memory = caller.memory.clone();
    let reading = memory.on_thread(move || NotebookCells::of(cells));
    let cells = reading.await.map_err(ServiceError::Interrupted)?;
    let ChosenPictures { fates, pictures } =
        ChosenPictures::of(caller, blobs, cells.blobs()).await?;
    let mark = random_mark()?;
    let marked = mark.clone();
    let writing =
        memory.on_thread(move || cells.write((left_out, missing.as_ref()), &fates, &marked));
    let written = writing.await.map_err(ServiceError::Interrupted)?;
    let mut text = written.map_err(ServiceError::Unserialisable)?;
    text.shrink_to_fit();
    // What the notebook was made of is gone.
    memory.shrink_to(text.len().saturating_add(DOWNLOAD_MEMORY.as_usize()));
    Ok(NotebookDownload::new(text, &mark, pictures, memory))
}

/// A text that no program knows, so that none can write it.
fn random_mark() -> Result<String, ServiceError> {
    let mut random = [0; 16];
    fill_random(&mut random).map_err(ServiceError::Unreadable)?;
    Ok(HEXLOWER.encode(&random))
}
