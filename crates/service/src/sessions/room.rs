//! The sessions of a server, for the edges and for cells.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::authorisation::ensure_has;
use crate::caller::Caller;
use crate::error::ServiceError;
use crate::runs::active::{ActiveRun, StopReason};
use crate::sessions::asking::open_runs::OpenRuns;
use crate::sessions::held::places::HeldPlaces;
use crate::sessions::held::session_guests::SessionGuests;
use crate::sessions::held_cells::HeldCells;
use crate::sessions::kept_guests::KeptGuests;
use crate::sessions::observed::{SessionEvent, SessionObserver};
use crate::sessions::setup::parts_of_fork;
use crate::sessions::views::{
    CheckpointView, ForkOrder, ForkView, Forks, InterruptView, LiveSession, SessionDetail,
    SessionList, SessionReport, SessionUsageView, SessionView, checkpoint_id, place_of, session_id,
};
use wardian_dispatch::{HeldGuest, TurnInterrupter};
use wardian_formats::protocol::params_error::ParamsError;
use wardian_images::PinnedImages;
use wardian_sessions::{MAX_FORKS, SessionTotals, Sessions, SessionsError, StoredSession};
use wardian_stores::tenants::Right;
use wardian_vocabulary::error::ErrorKind;
use wardian_vocabulary::ids::{CheckpointId, SessionId};
use wardian_vocabulary::units::ByteCount;

/// Sessions of one page at most.
const MAX_PAGE: u64 = 500;

/// Checkpoints that are shown at most: more than are kept of a session, unless many have names.
const MAX_CHECKPOINTS: u64 = 1_000;

/// Memory for one session or checkpoint while a list is made, with its part of the answer.
const LISTED: u64 = 2 << 10;

/// Longest name of a checkpoint, in characters.
const MAX_NAME: usize = 200;

/// The sessions of a server, the guests that workers keep of them, and the cells that are running.
///
/// Commands have none, and neither has a server before its database is open.
#[derive(Debug, Default)]
pub struct SessionRoom {
    store: OnceLock<Sessions>,
    observer: OnceLock<SessionObserver>,
    guests: SessionGuests,
    places: HeldPlaces,
    /// Tells that a cell is held from now on.
    pub(super) holds: Notify,
    /// The images that open sessions began as.
    pinned: Arc<OnceLock<PinnedImages>>,
    running: Mutex<BTreeMap<SessionId, Running>>,
}

/// A cell that is running.
#[derive(Debug)]
struct Running {
    run: Arc<ActiveRun>,
    /// Reaches its guest, once there is one.
    interrupter: Option<TurnInterrupter>,
}

/// The place of a running cell. Dropping it ends the entry.
#[derive(Debug)]
pub(crate) struct RunningCell<'a> {
    room: &'a SessionRoom,
    session: SessionId,
}

impl SessionRoom {
    /// Lets sessions be made from now on, whose events are told to the observer. Only the first call has an
    /// effect.
    pub fn open(&self, store: Sessions, observer: SessionObserver) {
        let (folder, limit) = store.image_folder();
        let pinned = self.pinned.get_or_init(|| PinnedImages::at(folder, limit));
        observer.tend_images(pinned);
        observer.tend_guests(&self.guests);
        self.observer.set(observer).ok();
        self.store.set(store).ok();
    }

    /// Takes the events of sessions.
    pub(crate) fn observer(&self) -> SessionObserver {
        self.observer.get().cloned().unwrap_or_default()
    }

    /// What all sessions take at present.
    #[must_use]
    pub fn report(&self) -> SessionReport {
        let SessionTotals { sessions, waiting, bytes } = self.observer().totals();
        let count = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
        let pinned = self.pinned.get().map(PinnedImages::report).unwrap_or_default();
        SessionReport {
            open: sessions,
            waiting: waiting.saturating_add(count(self.held().count())),
            parked: ByteCount::bytes(bytes),
            guests: count(self.guests().count(HeldGuest::is_kept)),
            images: pinned.images,
            image_bytes: pinned.bytes,
        }
    }

    /// True if sessions can be made: their store is open.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.store.get().is_some()
    }

    /// The store of sessions.
    ///
    /// # Errors
    ///
    /// This process keeps no sessions.
    pub(crate) fn store(&self) -> Result<&Sessions, ServiceError> {
        self.store.get().ok_or(ServiceError::NoSessions)
    }

    /// The images that open sessions began as, once the store is open.
    pub(crate) const fn pinned(&self) -> &Arc<OnceLock<PinnedImages>> {
        &self.pinned
    }

    pub(crate) fn guests(&self) -> &KeptGuests {
        self.guests.kept()
    }

    /// The cells that wait in the middle of a call.
    pub(crate) const fn held(&self) -> &Arc<HeldCells> {
        self.guests.held()
    }

    /// The places for them.
    pub(crate) const fn places(&self) -> &HeldPlaces {
        &self.places
    }

    /// True if a cell of the session is running.
    pub(crate) fn is_running(&self, session: &SessionId) -> bool {
        self.running.lock().contains_key(session)
    }

    /// The runs whose callers answer while their calls go on.
    pub(crate) const fn open_runs(&self) -> &Arc<OpenRuns> {
        self.guests.open_runs()
    }

    /// Lets the cell that this run is be interrupted by its session.
    pub(crate) fn note_running(&self, session: SessionId, run: Arc<ActiveRun>) -> RunningCell<'_> {
        self.running.lock().insert(session.clone(), Running { run, interrupter: None });
        RunningCell { room: self, session }
    }

    /// Lists the sessions of the caller's tenant, newest first.
    ///
    /// # Errors
    ///
    /// The cursor is malformed, or the store fails.
    pub async fn list(
        &self,
        caller: &Caller,
        cursor: Option<&str>,
        limit: u64,
    ) -> Result<SessionList, ServiceError> {
        let store = self.of(caller)?;
        if limit == 0 {
            return Err(ParamsError::wrong("limit", "at least 1", "0").into());
        }
        let limit = limit.min(MAX_PAGE);
        caller.memory.reserve(ByteCount::bytes(LISTED.saturating_mul(limit)))?;
        let behind = cursor.map(place_of).transpose()?;
        let page = store.list(&caller.tenant, behind.as_ref(), limit).await?;
        let usage = store.usage(&caller.tenant).await?;
        Ok(SessionList {
            sessions: self.views(&page.sessions).await?,
            next_cursor: page.next.map(|next| format!("{}-{}", next.created_ms, next.id)),
            usage: SessionUsageView { sessions: usage.sessions, bytes: usage.bytes },
        })
    }

    /// A session with its checkpoints.
    ///
    /// # Errors
    ///
    /// The tenant has no such session, or the store fails.
    pub async fn show(&self, caller: &Caller, id: &str) -> Result<SessionDetail, ServiceError> {
        let (store, id) = (self.of(caller)?, session_id(id)?);
        caller.memory.reserve(ByteCount::bytes(LISTED.saturating_mul(MAX_CHECKPOINTS)))?;
        let session = store.find(&caller.tenant, &id).await?;
        let most = MAX_CHECKPOINTS.saturating_add(1);
        let found = store.checkpoints(&caller.tenant, &id, 0, most).await?;
        let session = self.view(&session).await?;
        Ok(SessionDetail::of(session, &found, MAX_CHECKPOINTS))
    }

    /// Makes sessions of a checkpoint of another one. Those of a reproducible session have its cells, and go
    /// on with its random numbers unless they have a seed.
    ///
    /// # Errors
    ///
    /// The tenant has no such session or checkpoint, `count` is too large, the session takes no seed, or the
    /// store fails.
    pub async fn fork(
        &self,
        caller: &Caller,
        id: &str,
        order: &ForkOrder,
    ) -> Result<Forks, ServiceError> {
        let (store, id) = (self.of(caller)?, session_id(id)?);
        let checkpoint = match order.checkpoint.as_deref() {
            Some(text) => Some(checkpoint_of(store, caller, &id, text).await?),
            None => None,
        };
        let count = order.count.unwrap_or(1);
        let most = usize::try_from(count).ok().filter(|count| (1..=MAX_FORKS).contains(count));
        let Some(count) = most else {
            let expected = format!("a number from 1 to {MAX_FORKS}");
            return Err(ParamsError::wrong("count", expected, count.to_string()).into());
        };
        let parent = store.find(&caller.tenant, &id).await?;
        // A cell may end meanwhile, and its state is not the one that the caller knows.
        let checkpoint = checkpoint.as_ref().or(parent.head.as_ref());
        let own = parts_of_fork(&parent, checkpoint, order.seed)?;
        let made = store.fork(&caller.tenant, &id, checkpoint, count, &own).await;
        let made = made.map_err(|cause| self.note_damage(caller, &id, cause.into()))?;
        let mut forks = Vec::with_capacity(made.len());
        for fork in made {
            forks.push(match fork {
                Ok(fork) => {
                    let about = format!("{fork} of {id}");
                    self.observer().note(SessionEvent::Forked, caller, &about);
                    let fork = store.find(&caller.tenant, &fork).await?;
                    ForkView::Made(self.view(&fork).await?)
                }
                Err(refused) => ForkView::Refused { error: refused.to_string() },
            });
        }
        Ok(Forks { forks })
    }

    /// Lets a session go on from one of its checkpoints.
    ///
    /// # Errors
    ///
    /// The tenant has no such session or checkpoint, a cell is running or waits, or the store fails.
    pub async fn restore(
        &self,
        caller: &Caller,
        id: &str,
        checkpoint: &str,
    ) -> Result<SessionView, ServiceError> {
        let (store, id) = (self.of(caller)?, session_id(id)?);
        let checkpoint = checkpoint_of(store, caller, &id, checkpoint).await?;
        self.ensure_not_held(&id).await?;
        store.restore(&caller.tenant, &id, &checkpoint).await?;
        self.observer().note(SessionEvent::Restored, caller, &format!("{id} to {checkpoint}"));
        self.guests().close(&id);
        self.view(&store.find(&caller.tenant, &id).await?).await
    }

    /// Gives a checkpoint a name, so that it is kept as long as its session. Without a checkpoint, the
    /// one that the session is at is meant.
    ///
    /// # Errors
    ///
    /// The tenant has no such session or checkpoint, the name is too long, or the store fails.
    pub async fn name_checkpoint(
        &self,
        caller: &Caller,
        id: &str,
        checkpoint: Option<&str>,
        name: &str,
    ) -> Result<CheckpointView, ServiceError> {
        let (store, id) = (self.of(caller)?, session_id(id)?);
        if name.is_empty() || name.chars().count() > MAX_NAME || name.contains(char::is_control) {
            let expected =
                format!("a text of 1 to {MAX_NAME} characters without control characters");
            return Err(ParamsError::wrong("name", expected, "another text").into());
        }
        if checkpoint_id(name).is_ok() {
            let expected = "a text that is not the id of a checkpoint";
            return Err(ParamsError::wrong("name", expected, format!("`{name}`")).into());
        }
        let checkpoint = match checkpoint {
            Some(text) => checkpoint_of(store, caller, &id, text).await?,
            None => {
                let head = store.find(&caller.tenant, &id).await?.head;
                head.ok_or(SessionsError::NoCheckpoint { checkpoint: None })?
            }
        };
        store.name_checkpoint(&caller.tenant, &id, &checkpoint, Some(name)).await?;
        let after = checkpoint.cell().saturating_sub(1);
        let found = store.checkpoints(&caller.tenant, &id, after, MAX_CHECKPOINTS).await?;
        let named = found.iter().find(|found| found.id == checkpoint).map(CheckpointView::of);
        let checkpoint = Some(checkpoint);
        Ok(named.ok_or(SessionsError::NoCheckpoint { checkpoint })?)
    }

    /// Removes a checkpoint.
    ///
    /// # Errors
    ///
    /// The tenant has no such session or checkpoint, the session is at it, or the store fails.
    pub async fn forget_checkpoint(
        &self,
        caller: &Caller,
        id: &str,
        checkpoint: &str,
    ) -> Result<(), ServiceError> {
        let (store, id) = (self.of(caller)?, session_id(id)?);
        let checkpoint = checkpoint_of(store, caller, &id, checkpoint).await?;
        Ok(store.forget_checkpoint(&caller.tenant, &id, &checkpoint).await?)
    }

    /// Interrupts the cell that is running in a session, if one is.
    ///
    /// # Errors
    ///
    /// The tenant has no such session, or the store fails.
    pub async fn interrupt(
        &self,
        caller: &Caller,
        id: &str,
    ) -> Result<InterruptView, ServiceError> {
        let (store, id) = (self.of(caller)?, session_id(id)?);
        store.find(&caller.tenant, &id).await?;
        let running = self.running.lock();
        let interrupted = running.get(&id).is_some_and(|running| match &running.interrupter {
            Some(interrupter) => interrupter.interrupt(),
            // Its guest is not there yet, so there is no state to keep.
            None => {
                running.run.stop(StopReason::Cancelled);
                true
            }
        });
        Ok(InterruptView { interrupted })
    }

    /// Closes a session: its state is removed, and a cell that is running in it is stopped.
    ///
    /// # Errors
    ///
    /// The tenant has no such session, or the store fails.
    pub async fn close(&self, caller: &Caller, id: &str) -> Result<(), ServiceError> {
        let (store, id) = (self.of(caller)?, session_id(id)?);
        store.close(&caller.tenant, &id).await?;
        self.observer().note(SessionEvent::Closed, caller, id.as_str());
        self.guests.end(&id);
        if let Some(running) = self.running.lock().get(&id) {
            running.run.stop(StopReason::Cancelled);
        }
        Ok(())
    }

    /// Notes that a state of a session cannot be used, if this error says so.
    pub(crate) fn note_damage(
        &self,
        caller: &Caller,
        session: &SessionId,
        error: ServiceError,
    ) -> ServiceError {
        if error.kind() == ErrorKind::SessionDamaged {
            self.observer().note(SessionEvent::Damaged, caller, session.as_str());
        }
        error
    }

    /// What callers see of a session.
    ///
    /// # Errors
    ///
    /// The store fails.
    pub(crate) async fn view(&self, session: &StoredSession) -> Result<SessionView, ServiceError> {
        let parked = self.store()?.parked_bytes(std::slice::from_ref(&session.id)).await?;
        Ok(SessionView::of(session, self.live(session), parked.first()))
    }

    /// What callers see of sessions.
    async fn views(&self, sessions: &[StoredSession]) -> Result<Vec<SessionView>, ServiceError> {
        let ids: Vec<SessionId> = sessions.iter().map(|session| session.id.clone()).collect();
        let parked = self.store()?.parked_bytes(&ids).await?;
        let parked: BTreeMap<_, _> = parked.iter().map(|one| (&one.session, one)).collect();
        let view = |session: &StoredSession| {
            SessionView::of(session, self.live(session), parked.get(&session.id).copied())
        };
        Ok(sessions.iter().map(view).collect())
    }

    /// What this process knows of a session.
    fn live(&self, session: &StoredSession) -> LiveSession {
        let id = &session.id;
        let guest_memory = session
            .head
            .as_ref()
            .and_then(|head| self.guests().memory_of(id, head, HeldGuest::is_kept));
        let run_id = self.running.lock().get(id).map(|running| running.run.id.clone());
        // A cell that waits in the middle of a call has its interpreter too.
        let is_warm = guest_memory.is_some() || self.held().number_of(id).is_some();
        LiveSession { is_warm, guest_memory, run_id }
    }

    /// The store, for a caller that may run code.
    pub(super) fn of(&self, caller: &Caller) -> Result<&Sessions, ServiceError> {
        ensure_has(caller, Right::Code)?;
        self.store()
    }
}

impl RunningCell<'_> {
    /// Lets an interrupt of the session reach its guest from now on.
    pub(crate) fn can_interrupt(&self, guest: &HeldGuest) {
        if let Some(running) = self.room.running.lock().get_mut(&self.session) {
            running.interrupter = Some(guest.interrupter());
        }
    }
}

impl Drop for RunningCell<'_> {
    fn drop(&mut self) {
        self.room.running.lock().remove(&self.session);
    }
}

/// The checkpoint of a session that a caller means: by its id or by its name.
async fn checkpoint_of(
    store: &Sessions,
    caller: &Caller,
    session: &SessionId,
    text: &str,
) -> Result<CheckpointId, ServiceError> {
    if let Ok(id) = checkpoint_id(text) {
        return Ok(id);
    }
    let named = store.named_checkpoint(&caller.tenant, session, text).await?;
    named.ok_or_else(|| ServiceError::NoSuchCheckpoint { id: text.to_owned() })
}
