//! Interrupts a guest from another thread.

use std::sync::Arc;

use wasmtime::Engine;

use crate::sandbox::memory::{MemoryError, PollPage};

/// The way to interrupt the guest that runs.
pub(crate) enum Interrupter {
    /// Closes the page that the guest's polls read.
    PollPage(Arc<PollPage>),
    /// Begins the next epoch of the engine. A guest lives for the epoch in which it was made. No
    /// epoch begins by itself, so a guest that is not interrupted meets none.
    Epoch(Engine),
}

impl Interrupter {
    /// Stops the guest, which cannot go on after that. A guest that is in a host call is stopped
    /// after its return.
    pub(crate) fn interrupt(&self) -> Result<(), MemoryError> {
        match self {
            Self::PollPage(page) => page.close(),
            Self::Epoch(engine) => {
                engine.increment_epoch();
                Ok(())
            }
        }
    }
}

impl From<Arc<PollPage>> for Interrupter {
    fn from(page: Arc<PollPage>) -> Self {
        Self::PollPage(page)
    }
}
