//! Whether a cell that has waited has gone on. Its turn asks when it ends, and others say so meanwhile.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Says whether the state that a cell has waited in may have been continued. Clones are of the same cell.
#[derive(Debug, Clone)]
pub struct Continuation {
    /// True for a cell that has not waited.
    is_first: bool,
    is_continued: Arc<AtomicBool>,
}

impl Continuation {
    /// That of a cell that begins, or of one that has waited.
    pub(super) fn of(has_waited: bool) -> Self {
        let (is_first, is_continued) = (!has_waited, Arc::new(AtomicBool::new(!has_waited)));
        Self { is_first, is_continued }
    }

    /// Notes whether the cell may have gone on. One that has not waited always has.
    pub fn note(&self, is_continued: bool) {
        self.is_continued.store(is_continued || self.is_first, Ordering::Release);
    }

    /// True if the state may have been continued: the cell cannot wait in it any more.
    #[must_use]
    pub fn has_happened(&self) -> bool {
        self.is_continued.load(Ordering::Acquire)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_cell_that_has_waited_can_wait_on() {
        let (first, waited) = (Continuation::of(false), Continuation::of(true));
        assert!(first.has_happened() && !waited.has_happened());
        first.note(false);
        assert!(first.has_happened(), "it has nothing to wait for");
        waited.clone().note(true);
        assert!(waited.has_happened());
        waited.note(false);
        assert!(!waited.has_happened());
    }
}
