//! Interrupts a guest from another thread.

use std::sync::Arc;

use wasmtime::Engine;

use crate::memory::{ControlPages, MemoryError};

/// The way to interrupt the guest that runs.
#[derive(Clone)]
pub(crate) enum Interrupter {
    /// Closes the pages that the guest's polls and charges use.
    Pages(Arc<ControlPages>),
    /// Begins the next epoch of the engine. A turn lives for the epoch in which it begins, so one that
    /// was interrupted ends no turn of another guest. No epoch begins by itself, so a turn that is not
    /// interrupted meets none.
    Epoch(Engine),
}

impl Interrupter {
    /// Stops the guest, which cannot continue after that. A guest that is in a host call is stopped
    /// after its return.
    pub(crate) fn interrupt(&self) -> Result<(), MemoryError> {
        match self {
            Self::Pages(pages) => pages.close(),
            Self::Epoch(engine) => {
                engine.increment_epoch();
                Ok(())
            }
        }
    }
}

impl From<Arc<ControlPages>> for Interrupter {
    fn from(pages: Arc<ControlPages>) -> Self {
        Self::Pages(pages)
    }
}
