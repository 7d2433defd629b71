//! How a cell ends whose state is to be kept.

use std::fmt;

use crate::error::SessionsError;
use wardian_stores::sessions::CellEnd;

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
