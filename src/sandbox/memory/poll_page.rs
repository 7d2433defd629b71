//! The page that a guest reads at every poll. Making it inaccessible stops the guest.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::sandbox::memory::mapping::Mapping;
use crate::sandbox::memory::{MemoryError, PAGE};

/// The poll page of one slot: where the [polls](crate::engine::code::polls) of its guest load from.
///
/// Readable and zero, until it is closed. The guest never writes to it, so there is nothing
/// to reset but its protection.
#[derive(Debug)]
pub struct PollPage {
    /// Keeps the addresses: a page must not be closed once it belongs to another guest.
    mapping: Arc<Mapping>,
    offset: usize,
    is_closed: AtomicBool,
}

impl PollPage {
    /// Makes the page at `offset` readable.
    pub(super) fn open(mapping: &Arc<Mapping>, offset: usize) -> Result<Arc<Self>, MemoryError> {
        mapping.show(offset, PAGE)?;
        let (mapping, is_closed) = (Arc::clone(mapping), AtomicBool::new(false));
        Ok(Arc::new(Self { mapping, offset, is_closed }))
    }

    /// Stops the guest that runs, at its next poll.
    ///
    /// A guest that is in a call of the host is stopped when it comes back. The slot's next reset
    /// opens the page again.
    ///
    /// # Errors
    ///
    /// The operating system refuses: the guest goes on.
    pub fn close(&self) -> Result<(), MemoryError> {
        self.is_closed.store(true, Ordering::SeqCst);
        self.mapping.close(self.offset, PAGE)
    }

    /// Lets the next guest run. Costs nothing if the last one was not stopped.
    pub(super) fn open_again(&self) -> Result<(), MemoryError> {
        if self.is_closed.swap(false, Ordering::SeqCst) {
            self.mapping.show(self.offset, PAGE)?;
        }
        Ok(())
    }
}
