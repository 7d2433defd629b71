//! When the states after cells survive a loss of power, and what becomes of those that did not.
//!
//! With [`SessionSync::Always`] a pack is synced before its row is, and both before the answer. With
//! [`SessionSync::Second`] a task does the same for all that has changed in the last moments, after the
//! answers. It syncs packs first and then the log of the database, so most of what a loss of power leaves is
//! a database that is behind the packs. It can be ahead too, since the database syncs its log by itself now
//! and then, so the row of a pack says whether the pack was synced.
//!
//! A file that a row does not need any more is removed once the change of the row is durable: the row may
//! come back, and with it the state at which a session is.

use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::sleep;
use tracing::{error, warn};

use crate::error::SessionsError;
use crate::pack_folder::ReadFault;
use crate::sessions::{Inner, Sessions, in_task, on_thread};
use wardian_stores::blobs::local::disk::Disk;
use wardian_stores::sessions::{PackId, ServerLife, SessionSync, StoredPack};
use wardian_vocabulary::error::CauseChain;
use wardian_vocabulary::ids::TenantId;

/// The time from a change to its sync, which takes its own time: both are less than a second on a disk that
/// is not overloaded.
const DELAY: Duration = Duration::from_millis(500);

impl<D: Disk> Sessions<D> {
    /// Makes all that was answered survive a loss of power, and notes that nothing can be lost: the end of a
    /// server. Changes after it are made, and may be lost.
    ///
    /// # Errors
    ///
    /// The store fails. The next start makes up for it.
    pub async fn shut_down(&self) -> Result<(), SessionsError> {
        self.0.sync_changes().await?;
        self.0.store.sync().await?;
        Ok(self.0.store.end_life().await?)
    }
}

/// Syncs changes soon after they were made. An attempt that fails is repeated, unless it never succeeds again.
async fn sync_soon<D: Disk>(sessions: Weak<Inner<D>>, is_changed: Arc<Notify>) {
    loop {
        is_changed.notified().await;
        sleep(DELAY).await;
        let Some(inner) = sessions.upgrade() else { return };
        let Err(cause) = inner.sync_changes().await else { continue };
        if inner.folder.is_sealed() {
            return;
        }
        warn!(
            error = %CauseChain(&cause),
            "what sessions have changed could not be synced, and would be lost with the power"
        );
        is_changed.notify_one();
    }
}

impl<D: Disk> Inner<D> {
    /// Notes what the end of a cell has changed: the pack that was written, and those that nothing needs any
    /// more, whose files are removed now or later.
    pub(crate) async fn note_change(
        &self,
        written: Option<PackId>,
        released: Vec<PackId>,
    ) -> Result<(), SessionsError> {
        if self.config.sync == SessionSync::Always {
            return self.remove_files(released).await;
        }
        let mut changes = self.unsynced.changes.lock();
        changes.has_rows = true;
        changes.written.extend(written);
        changes.released.extend(released);
        self.unsynced.is_changed.notify_one();
        Ok(())
    }

    /// Starts the task that syncs changes soon after they were made.
    pub(crate) fn spawn_syncs(self: &Arc<Self>) {
        if self.config.sync == SessionSync::Always {
            return;
        }
        let is_changed = Arc::clone(&self.unsynced.is_changed);
        let task = tokio::spawn(sync_soon(Arc::downgrade(self), is_changed));
        *self.unsynced.task.lock() = Some(task.abort_handle());
    }

    /// Makes all changes survive a loss of power that were noted so far. It goes on if the future is dropped.
    pub(crate) async fn sync_changes(self: &Arc<Self>) -> Result<(), SessionsError> {
        let inner = Arc::clone(self);
        in_task(async move {
            let _turn = inner.unsynced.turn.lock().await;
            let changes = std::mem::take(&mut *inner.unsynced.changes.lock());
            if !changes.has_rows {
                return Ok(());
            }
            if let Err(cause) = inner.sync_all(&changes.written).await {
                let mut later = inner.unsynced.changes.lock();
                later.has_rows = true;
                later.written.extend(changes.written);
                later.released.extend(changes.released);
                return Err(cause);
            }
            inner.remove_files(changes.released).await
        })
        .await
    }

    /// Makes the packs of a chain survive a loss of power. Their rows do after the next change that waits for
    /// the disk: there is one log.
    pub(crate) async fn sync_chain(&self, chain: &[StoredPack]) -> Result<(), SessionsError> {
        if self.config.sync == SessionSync::Always {
            return Ok(());
        }
        let folder = Arc::clone(&self.folder);
        let packs: Vec<PackId> = chain.iter().map(|pack| pack.id.clone()).collect();
        on_thread(move || folder.sync(&packs)).await
    }

    /// Syncs packs, and then all rows.
    async fn sync_all(&self, packs: &[PackId]) -> Result<(), SessionsError> {
        if packs.is_empty() {
            return Ok(self.store.sync().await?);
        }
        let (folder, written) = (Arc::clone(&self.folder), packs.to_vec());
        on_thread(move || folder.sync(&written)).await?;
        self.store.sync().await?;
        Ok(self.store.settle_packs(packs).await?)
    }

    /// Begins the life of the server: sessions go back of which the former one has lost states. When this
    /// returns, all that is left survives a loss of power.
    pub(crate) async fn begin_life(&self) -> Result<(), SessionsError> {
        let life = ServerLife { boot: self.config.boot.clone(), sync: self.config.sync };
        if self.store.begin_life(&life).await? {
            warn!(
                "the machine was started anew while a server was running: sessions may have lost what they did \
                 in their last second, and their callers are told so"
            );
        }
        let mut intact = Vec::new();
        for (tenant, pack) in self.store.unsettled_packs().await? {
            match self.is_intact(&tenant, &pack).await {
                Ok(true) => intact.push(pack.id),
                Ok(false) => self.lose(&pack.id).await?,
                // It is looked at again by whoever needs it, and at the next start.
                Err(cause) => warn!(
                    session.id = %pack.id.origin, error = %CauseChain(&cause),
                    "it cannot be seen whether the state of a session is whole"
                ),
            }
        }
        if intact.is_empty() { Ok(()) } else { self.sync_all(&intact).await }
    }

    /// Whether a pack is as it was stored.
    async fn is_intact(&self, tenant: &TenantId, pack: &StoredPack) -> Result<bool, SessionsError> {
        let (session, checkpoint) = (&pack.id.origin, &pack.id.checkpoint);
        let chain = std::slice::from_ref(pack);
        // Without its key nothing can be said of a pack.
        let keys = self.keys_of_chain(tenant, session, checkpoint, chain).await?;
        let Some(key) = keys.get(session).cloned() else { return Ok(true) };
        let (folder, pack) = (Arc::clone(&self.folder), pack.clone());
        on_thread(move || match folder.check(&pack, &key) {
            Ok(()) => Ok(true),
            Err(ReadFault::Damaged) => Ok(false),
            Err(ReadFault::Failed(cause)) => Err(SessionsError::from_disk("read")(cause)),
        })
        .await
    }

    async fn lose(&self, pack: &PackId) -> Result<(), SessionsError> {
        let (session, checkpoint) = (&pack.origin, &pack.checkpoint);
        if self.store.lose_pack(pack).await? {
            warn!(
                session.id = %session,
                "a loss of power has undone checkpoint `{checkpoint}`: its session has gone back"
            );
        } else {
            error!(
                session.id = %session,
                "a loss of power has undone checkpoint `{checkpoint}`, and sessions have nothing to go back to"
            );
        }
        Ok(())
    }
}
