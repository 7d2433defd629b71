//! How a cell ends.

use std::fmt;

use crate::error::SessionsError;
use wardian_stores::sessions::CellEnd;

/// Longest result that is kept with a cell, in bytes.
pub const MAX_RESULT: usize = 256 << 10;

/// The end of a cell whose state is to be kept, and another one in case that it cannot be.
pub struct CellEnds {
    pub(super) end: CellEnd,
    pub(super) refused: Box<dyn FnOnce(&SessionsError) -> CellEnd + Send>,
}

impl CellEnds {
    /// The end `end`, and in its place that which `refused` makes of the error.
    #[must_use]
    pub fn new(
        end: CellEnd,
        refused: impl FnOnce(&SessionsError) -> CellEnd + Send + 'static,
    ) -> Self {
        Self { end, refused: Box::new(refused) }
    }
}

impl From<CellEnd> for CellEnds {
    fn from(end: CellEnd) -> Self {
        let refused = end.clone();
        Self::new(end, move |_| refused)
    }
}

impl fmt::Debug for CellEnds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CellEnds").finish_non_exhaustive()
    }
}

/// The text, unless it is longer than `most` bytes.
pub(super) fn bounded(text: String, most: usize) -> Option<String> {
    (text.len() <= most).then_some(text)
}

/// The end of a cell without a result that is longer than [`MAX_RESULT`] and `more`.
pub(super) fn bounded_end(end: CellEnd, more: usize) -> CellEnd {
    let most = MAX_RESULT.saturating_add(more);
    CellEnd { result: end.result.and_then(|result| bounded(result, most)), ..end }
}
