//! The sessions of a server.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::spawn_blocking;

use crate::config::SessionsConfig;
use crate::error::SessionsError;
use crate::keys::{PackKey, TenantKey, random};
use crate::pack_folder::{IMAGES, PackFolder};
use crate::syncs::unsynced::Unsynced;
use crate::turns::turn_table::TurnTable;
use wardian_stores::blobs::local::disk::{Disk, LocalDisk};
use wardian_stores::database::DatabaseError;
use wardian_stores::sessions::{
    NewSession, PackId, ParkedBytes, Removal, SessionPlace, SessionState, SessionStore,
    SessionTotals, SessionUsage, StoredCell, StoredSession, TenantSessionKeys,
};
use wardian_vocabulary::clock::Clock;
use wardian_vocabulary::ids::{Digest, SessionId, TenantId};
use wardian_vocabulary::units::ByteCount;

/// Sessions that are ended in one pass at most.
const MAX_ENDED: u64 = 1_000;

/// How long a session that has expired is remembered.
const REMEMBERED: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// The sessions of a server. Clones share them.
///
/// Changes are done by tasks of their own, which go on if the future of a call is dropped.
#[derive(Debug)]
pub struct Sessions<D: Disk = LocalDisk>(pub(crate) Arc<Inner<D>>);

impl<D: Disk> Clone for Sessions<D> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

#[derive(Debug)]
pub(crate) struct Inner<D: Disk> {
    pub(crate) store: Arc<dyn SessionStore>,
    pub(crate) keys: TenantSessionKeys,
    pub(crate) folder: Arc<PackFolder<D>>,
    pub(crate) config: SessionsConfig,
    pub(crate) clock: Clock,
    pub(crate) turns: TurnTable,
    pub(crate) unsynced: Unsynced,
}

/// A session to make. The label and the setup are bounded by the caller; they count in the quota of their
/// tenant.
#[derive(Debug, Clone)]
pub struct SessionOrder {
    /// A text for people.
    pub label: Option<String>,
    /// The image that its first cell begins with.
    pub image: Digest,
    /// How its guest is made, as JSON that only the caller understands.
    pub setup: String,
    /// How long it is kept after its last use, if that is less than the server's setting.
    pub idle: Option<Duration>,
    /// How long it is kept after its creation, if that is less than the server's setting.
    pub max_age: Option<Duration>,
}

/// A page of a list of sessions, newest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionPage {
    /// The sessions.
    pub sessions: Vec<StoredSession>,
    /// The place of the next page, if there may be one.
    pub next: Option<SessionPlace>,
}

impl Sessions {
    /// Opens the packs on this machine's disk. Rolls back the cells that a former life of the server has
    /// left, and those that a loss of power has undone, and removes packs that have no row, unless they are
    /// many.
    ///
    /// # Errors
    ///
    /// [`SessionsError::OtherDatabase`] if the folder has packs and the database has never had a session,
    /// [`SessionsError::Store`] if another server uses the folder, or it or the database fails.
    pub async fn open(
        config: SessionsConfig,
        store: Arc<dyn SessionStore>,
        keys: TenantSessionKeys,
        clock: Clock,
    ) -> Result<Self, SessionsError> {
        Self::open_on(LocalDisk, config, store, keys, clock).await
    }
}

impl<D: Disk> Sessions<D> {
    /// Opens the packs on any [`Disk`], as [`Sessions::open`] does.
    pub(crate) async fn open_on(
        disk: D,
        config: SessionsConfig,
        store: Arc<dyn SessionStore>,
        keys: TenantSessionKeys,
        clock: Clock,
    ) -> Result<Self, SessionsError> {
        let (root, sync) = (config.root.clone(), config.sync);
        let (folder, packs) = on_thread(move || {
            let folder = PackFolder::open(disk, root, sync)?;
            let packs = folder.list()?;
            folder.reserve();
            Ok((Arc::new(folder), packs))
        })
        .await?;
        ensure_of_folder(&*store, packs.len()).await?;
        store.roll_back_running().await?;
        let (turns, unsynced) = (TurnTable::default(), Unsynced::default());
        let inner = Inner { store, keys, folder, config, clock, turns, unsynced };
        let sessions = Self(Arc::new(inner));
        sessions.0.begin_life().await?;
        sessions.0.spawn_syncs();
        sessions.0.tidy_up(&packs).await?;
        Ok(sessions)
    }

    /// The longest time for which a cell is held.
    #[must_use]
    pub fn longest_wait(&self) -> Duration {
        self.0.config.longest_wait
    }

    /// The folder for the images that open sessions began as, and the space that they may take. This crate
    /// keeps none: it says which ones are needed.
    #[must_use]
    pub fn image_folder(&self) -> (PathBuf, ByteCount) {
        (self.0.config.root.join(IMAGES), self.0.config.max_images)
    }

    /// The images that open sessions began as.
    ///
    /// # Errors
    ///
    /// The store fails.
    pub async fn images(&self) -> Result<BTreeSet<Digest>, SessionsError> {
        Ok(self.0.store.images().await?)
    }

    /// Makes a session. It has no checkpoint before its first cell is done.
    ///
    /// # Errors
    ///
    /// [`SessionsError::TooMany`], or the store fails.
    pub async fn create(
        &self,
        tenant: &TenantId,
        order: SessionOrder,
    ) -> Result<StoredSession, SessionsError> {
        let inner = &self.0;
        let id = SessionId::of_random(&random()?);
        let tenant_key = TenantKey::ensure(&inner.keys, tenant).await?;
        let key = tenant_key.wrap(&id, &id, &PackKey::generate()?)?.wrapped;
        let within = |asked: Option<Duration>, limit: Duration| {
            milliseconds(asked.map_or(limit, |asked| asked.min(limit)))
        };
        let session = NewSession {
            tenant: tenant.clone(),
            id: id.clone(),
            label: order.label,
            image: order.image,
            setup: order.setup,
            created_ms: inner.now_ms(),
            idle_ms: within(order.idle, inner.config.idle),
            max_age_ms: within(order.max_age, inner.config.max_age),
            key,
        };
        if !inner.store.create(&session, inner.config.max_sessions).await? {
            return Err(inner.too_many());
        }
        self.find(tenant, &id).await
    }

    /// Finds a session.
    ///
    /// # Errors
    ///
    /// [`SessionsError::NotFound`], [`SessionsError::Expired`], or the store fails.
    pub async fn find(
        &self,
        tenant: &TenantId,
        session: &SessionId,
    ) -> Result<StoredSession, SessionsError> {
        let found = self.0.store.find(tenant, session).await?;
        let found = found.ok_or_else(|| SessionsError::NotFound { session: session.clone() })?;
        if found.state == SessionState::Expired || found.expires_ms <= self.0.now_ms() {
            let at = Duration::from_millis(found.expires_ms);
            return Err(SessionsError::Expired { session: session.clone(), at });
        }
        Ok(found)
    }

    /// True if the time of a session is over, unless it was used since it was read.
    #[must_use]
    pub fn is_due(&self, session: &StoredSession) -> bool {
        session.expires_ms <= self.0.now_ms()
    }

    /// Notes that a session is used: the time after which it ends by itself is counted from now on.
    ///
    /// # Errors
    ///
    /// The store fails.
    pub async fn note_use(&self, session: &SessionId) -> Result<(), SessionsError> {
        Ok(self.0.store.use_session(session, self.0.now_ms()).await?)
    }

    /// Lists the sessions of a tenant, newest first: those behind a place, at most `limit`.
    ///
    /// # Errors
    ///
    /// The store fails.
    pub async fn list(
        &self,
        tenant: &TenantId,
        behind: Option<&SessionPlace>,
        limit: u64,
    ) -> Result<SessionPage, SessionsError> {
        let sessions = self.0.store.list(tenant, behind, self.0.now_ms(), limit).await?;
        let is_full = u64::try_from(sessions.len()).is_ok_and(|count| count >= limit);
        let next = sessions
            .last()
            .filter(|_| is_full)
            .map(|last| SessionPlace { created_ms: last.created_ms, id: last.id.clone() });
        Ok(SessionPage { sessions, next })
    }

    /// The number of a tenant's sessions, and what is kept of them.
    ///
    /// # Errors
    ///
    /// The store fails.
    pub async fn usage(&self, tenant: &TenantId) -> Result<SessionUsage, SessionsError> {
        Ok(self.0.store.usage(tenant, self.0.now_ms()).await?)
    }

    /// The sums over the sessions of all tenants.
    ///
    /// # Errors
    ///
    /// The store fails.
    pub async fn totals(&self) -> Result<SessionTotals, SessionsError> {
        Ok(self.0.store.totals(self.0.now_ms()).await?)
    }

    /// What each of these sessions keeps, unless it keeps nothing.
    ///
    /// # Errors
    ///
    /// The store fails.
    pub async fn parked_bytes(
        &self,
        sessions: &[SessionId],
    ) -> Result<Vec<ParkedBytes>, SessionsError> {
        Ok(self.0.store.parked_bytes(sessions).await?)
    }

    /// The cells of a session with higher numbers than `after`, in order, at most `limit`.
    ///
    /// # Errors
    ///
    /// As [`find`](Self::find).
    pub async fn cells(
        &self,
        tenant: &TenantId,
        session: &SessionId,
        after: u32,
        limit: u64,
    ) -> Result<Vec<StoredCell>, SessionsError> {
        self.find(tenant, session).await?;
        Ok(self.0.store.cells(session, after, limit).await?)
    }

    /// Those of the cells of a session with these numbers that led to the state after the cell `last`, or to its
    /// present one. A fork has only those that ran in itself.
    ///
    /// # Errors
    ///
    /// As [`find`](Self::find).
    pub async fn cells_of_state(
        &self,
        tenant: &TenantId,
        session: &SessionId,
        last: Option<u32>,
        among: RangeInclusive<u32>,
    ) -> Result<BTreeSet<u32>, SessionsError> {
        let head = self.find(tenant, session).await?.head;
        let last = last.or(head.map(|head| head.cell()));
        let Some(last) = last else { return Ok(BTreeSet::new()) };
        Ok(self.0.store.cells_up_to(session, last, among).await?)
    }

    /// Closes a session, also while a cell is running in it, which can be committed no more. Its keys go
    /// first, and then the packs that no fork needs. On a full disk, room is used that was set aside for it.
    ///
    /// # Errors
    ///
    /// As [`find`](Self::find).
    pub async fn close(&self, tenant: &TenantId, session: &SessionId) -> Result<(), SessionsError> {
        self.find(tenant, session).await?;
        let (inner, tenant, session) = (Arc::clone(&self.0), tenant.clone(), session.clone());
        in_task(async move {
            let mut removed = inner.store.remove(&tenant, &session, Removal::Closed).await;
            let is_full = matches!(removed, Err(DatabaseError::Full(_)));
            if is_full && inner.give_up_reserve().await? {
                removed = inner.store.remove(&tenant, &session, Removal::Closed).await;
            }
            let removed = removed?.ok_or(SessionsError::NotFound { session })?;
            inner.remove_files(removed).await?;
            if is_full { inner.reserve().await } else { Ok(()) }
        })
        .await
    }

    /// Ends sessions whose time is over and that are not running a cell, and forgets those that have
    /// ended long ago. Returns those that were ended, at most 1,000 in one pass.
    ///
    /// # Errors
    ///
    /// The store fails.
    pub async fn end_expired(&self) -> Result<Vec<(TenantId, SessionId)>, SessionsError> {
        let inner = Arc::clone(&self.0);
        in_task(async move {
            let (now_ms, mut ended) = (inner.now_ms(), Vec::new());
            for (tenant, session) in inner.store.due(now_ms, MAX_ENDED).await? {
                let Some(_permit) = inner.turns.take(&session, Duration::ZERO).await else {
                    continue;
                };
                let removal = Removal::Expired { now_ms };
                if let Some(removed) = inner.store.remove(&tenant, &session, removal).await? {
                    inner.remove_files(removed).await?;
                    ended.push((tenant, session));
                }
            }
            let before_ms = now_ms.saturating_sub(milliseconds(REMEMBERED));
            inner.store.forget_expired(before_ms).await?;
            Ok(ended)
        })
        .await
    }
}

impl<D: Disk> Inner<D> {
    /// The present time, in milliseconds since the Unix epoch.
    pub(crate) fn now_ms(&self) -> u64 {
        milliseconds(self.clock.now())
    }

    pub(crate) fn too_many(&self) -> SessionsError {
        let limit = self.config.max_sessions;
        let advice = "close some that are not needed";
        SessionsError::TooMany { of: "sessions of this tenant", limit, advice }
    }

    async fn reserve(&self) -> Result<(), SessionsError> {
        let folder = Arc::clone(&self.folder);
        on_thread(move || {
            folder.reserve();
            Ok(())
        })
        .await
    }

    async fn give_up_reserve(&self) -> Result<bool, SessionsError> {
        let folder = Arc::clone(&self.folder);
        on_thread(move || Ok(folder.give_up_reserve())).await
    }

    /// Removes the files of packs whose rows are gone.
    pub(crate) async fn remove_files(&self, packs: Vec<PackId>) -> Result<(), SessionsError> {
        if packs.is_empty() {
            return Ok(());
        }
        let folder = Arc::clone(&self.folder);
        on_thread(move || {
            folder.remove(&packs);
            Ok(())
        })
        .await
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Refuses a database that has never had a session, for a folder that has packs.
///
/// # Errors
///
/// [`SessionsError::OtherDatabase`], or the store fails.
async fn ensure_of_folder(store: &dyn SessionStore, packs: usize) -> Result<(), SessionsError> {
    if packs == 0 || store.has_had_sessions().await? {
        return Ok(());
    }
    Err(SessionsError::OtherDatabase { packs })
}

/// Does work that blocks. It goes on if the future is dropped.
pub(crate) async fn on_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, SessionsError> + Send + 'static,
) -> Result<T, SessionsError> {
    spawn_blocking(work).await.map_err(ended)?
}

/// Does several steps. They go on if the future is dropped.
pub(crate) async fn in_task<T: Send + 'static>(
    steps: impl Future<Output = Result<T, SessionsError>> + Send + 'static,
) -> Result<T, SessionsError> {
    tokio::spawn(steps).await.map_err(ended)?
}

/// The error for a task that has not ended by itself.
pub(crate) fn ended(cause: tokio::task::JoinError) -> SessionsError {
    SessionsError::Store { what: "use", cause: cause.into() }
}
