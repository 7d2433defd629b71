//! What sessions have changed and a loss of power may undo.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::task::AbortHandle;

use wardian_stores::sessions::PackId;

/// What has changed and may not survive a loss of power.
#[derive(Debug, Default)]
pub(crate) struct Unsynced {
    pub(super) changes: Mutex<Changes>,
    pub(super) is_changed: Arc<Notify>,
    /// Held while changes are synced, so that whoever waits for it knows that all before were.
    pub(super) turn: tokio::sync::Mutex<()>,
    /// The task that syncs.
    pub(crate) task: Mutex<Option<AbortHandle>>,
}

#[derive(Debug, Default)]
pub(super) struct Changes {
    /// True if rows have changed.
    pub(super) has_rows: bool,
    /// Packs that were written.
    pub(super) written: Vec<PackId>,
    /// Packs whose rows are gone, and whose files are not.
    pub(super) released: Vec<PackId>,
}

impl Drop for Unsynced {
    fn drop(&mut self) {
        if let Some(task) = self.task.lock().take() {
            task.abort();
        }
    }
}
