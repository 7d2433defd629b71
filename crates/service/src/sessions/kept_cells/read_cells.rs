//! The kept cells of a session, read part by part within the memory of the call.

use crate::caller::Caller;
use crate::error::ServiceError;
use wardian_sessions::{MAX_ASKED, Sessions, StoredCell};
use wardian_vocabulary::ids::SessionId;
use wardian_vocabulary::units::ByteCount;

/// Cells that are read at once. Others wait for the database meanwhile.
const CELLS_AT_ONCE: u64 = 8;

/// Memory for as many cells, with the longest programs and results. One of them may wait.
const READ_AT_ONCE: u64 = CELLS_AT_ONCE * (1 << 20 | 256 << 10);

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
    let at_once = ByteCount::from(MAX_ASKED).as_u64().saturating_add(READ_AT_ONCE);
    caller.memory.reserve(ByteCount::bytes(at_once))?;
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
