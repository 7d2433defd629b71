//! The page that a guest reads at every poll. Making it inaccessible stops the guest.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::sandbox::memory::mapping::Mapping;
use crate::sandbox::memory::{MemoryError, PAGE};

/// The poll page of one slot. The [polls](crate::engine::code::polls) of its guest load from it.
///
/// It is readable and zero until it is closed. The guest cannot write to it, so a reset restores
/// only its protection.
#[derive(Debug)]
pub struct PollPage {
    /// Keeps the addresses reserved, so that a late close cannot reach other memory.
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
    /// A guest that is in a host call is stopped after its return. The slot's next reset opens the
    /// page again.
    ///
    /// # Errors
    ///
    /// The operating system refuses: the guest goes on.
    pub fn close(&self) -> Result<(), MemoryError> {
        self.is_closed.store(true, Ordering::SeqCst);
        self.mapping.close(self.offset, PAGE)
    }

    /// Makes the page readable for the next guest. Costs nothing if it was not closed.
    pub(super) fn open_again(&self) -> Result<(), MemoryError> {
        if self.is_closed.swap(false, Ordering::SeqCst) {
            self.mapping.show(self.offset, PAGE)?;
        }
        Ok(())
    }
}
