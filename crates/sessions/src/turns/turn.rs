//! One cell, from its beginning to its checkpoint or its roll-back.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tracing::warn;

use crate::error::SessionsError;
use crate::keys::PackKey;
use crate::seal::sealed_size;
use crate::sessions::{Inner, Sessions, ended, in_task, on_thread};
use crate::turns::cell_ends::{CellEnds, bounded, bounded_end};
use crate::turns::chain::{MAX_CHAIN, UnsealedPack};
use crate::turns::continuation::Continuation;
use crate::turns::own_key::own_key;
use crate::turns::turn_table::TurnPermit;
use wardian_stores::blobs::local::disk::{Disk, LocalDisk};
use wardian_stores::sessions::{
    Begun, BegunCell, CellCommit, CellEnd, Committed, NewCell, PackDescription, PackId,
    RARE_USE_MS, SessionSync, StoredCheckpoint, StoredPack,
};
use wardian_vocabulary::budget::CallMemory;
use wardian_vocabulary::error::CauseChain;
use wardian_vocabulary::ids::{CheckpointId, SessionId, TenantId};
use wardian_vocabulary::units::ByteCount;

/// Longest program that is kept with a cell, in bytes.
pub const MAX_SOURCE: usize = 1 << 20;

/// Most bytes of what a cell asks that waits, in its result. They count beside the others, because nobody
/// could answer it without them.
pub const MAX_ASKED: usize = (1 << 20) + (64 << 10);

/// A cell to begin.
#[derive(Debug, Clone, Default)]
pub struct TurnRequest {
    /// The program. One longer than [`MAX_SOURCE`] is not kept.
    pub source: String,
    /// The checkpoint that the session must be at, if the caller has said so.
    pub if_checkpoint: Option<CheckpointId>,
    /// How long the call waits for its turn.
    pub wait: Duration,
}

/// The turn of a cell in its session. No other cell begins while it exists.
///
/// It ends with [`commit`](Self::commit), [`park`](Self::park) or [`roll_back`](Self::roll_back). Dropped
/// before, it is rolled back with [the end that was set](Self::set_end_if_dropped), unless it has waited
/// and has [not gone on](Self::continuation).
#[derive(Debug)]
pub struct SessionTurn<D: Disk = LocalDisk> {
    inner: Arc<Inner<D>>,
    tenant: TenantId,
    session: SessionId,
    cell: BegunCell,
    /// Whether the state that the cell has waited in may have been continued.
    continuation: Continuation,
    /// How the cell ends if nobody ends it.
    end_if_dropped: CellEnd,
    /// Finds the key that its pack is sealed with, while the cell runs.
    own_key: JoinHandle<Result<Option<PackKey>, SessionsError>>,
    /// `None` once the turn is at its end.
    permit: Option<TurnPermit>,
}

/// How a cell ends whose state is kept, or a part of it.
#[derive(Debug)]
struct Ending {
    ends: CellEnds,
    /// What it has asked, if it waits.
    asked: Option<String>,
    /// True if the next cell must reseed whatever this one has done.
    must_reseed: bool,
}

impl<D: Disk> Sessions<D> {
    /// Begins the next cell of a session.
    ///
    /// When this returns, it is noted that the state has been continued: whatever becomes of the cell, the
    /// next one that begins at the same state is told to reseed. So it is after a loss of power, in which
    /// the note may be lost: then all sessions reseed that were used shortly before.
    ///
    /// # Errors
    ///
    /// [`SessionsError::NotFound`], [`SessionsError::Expired`], [`SessionsError::Busy`] if another cell is
    /// running and does not end in time, [`SessionsError::Conflict`] if the session is not at the expected
    /// checkpoint, [`SessionsError::MayHaveGoneBack`] once after a loss of power if the caller expects none,
    /// [`SessionsError::Full`], or the store fails.
    pub async fn take_turn(
        &self,
        tenant: &TenantId,
        session: &SessionId,
        order: TurnRequest,
    ) -> Result<SessionTurn<D>, SessionsError> {
        let used_ms = self.find(tenant, session).await?.used_ms;
        let permit = self.0.turns.take(session, order.wait).await;
        let permit = permit.ok_or_else(|| SessionsError::Busy { session: session.clone() })?;
        let of = (tenant.clone(), session.clone());
        SessionTurn::begin(Arc::clone(&self.0), of, order, (used_ms, permit)).await
    }
}

impl<D: Disk> SessionTurn<D> {
    /// Begins a cell in a turn that is taken. The session was last used at `used_ms`.
    pub(super) async fn begin(
        inner: Arc<Inner<D>>,
        (tenant, session): (TenantId, SessionId),
        order: TurnRequest,
        (used_ms, permit): (u64, TurnPermit),
    ) -> Result<Self, SessionsError> {
        let cell = NewCell {
            tenant,
            session,
            source: bounded(order.source, MAX_SOURCE),
            if_checkpoint: order.if_checkpoint,
            is_settled: inner.now_ms().saturating_sub(used_ms) > RARE_USE_MS,
            now_ms: inner.now_ms(),
        };
        // A cell that has begun has a turn, which ends it, also if nobody waits for it any more.
        in_task(async move {
            let begun = inner.store.begin_cell(&cell, inner.config.max_parked.as_u64()).await?;
            inner.note_change(None, Vec::new()).await?;
            Self::of(inner, (cell.tenant, cell.session), begun, permit)
        })
        .await
    }

    /// The turn of a cell that has begun or goes on.
    pub(super) fn of(
        inner: Arc<Inner<D>>,
        (tenant, session): (TenantId, SessionId),
        begun: Begun,
        permit: TurnPermit,
    ) -> Result<Self, SessionsError> {
        match begun {
            Begun::Cell(cell) => {
                let (cell, permit) = (*cell, Some(permit));
                let continuation = Continuation::of(cell.parked.is_some());
                let own_key =
                    tokio::spawn(own_key(Arc::clone(&inner), tenant.clone(), session.clone()));
                Ok(Self {
                    inner,
                    tenant,
                    session,
                    cell,
                    continuation,
                    end_if_dropped: CellEnd::default(),
                    own_key,
                    permit,
                })
            }
            Begun::NotFound => Err(SessionsError::NotFound { session }),
            Begun::Waits { cell } => Err(SessionsError::Waiting { session, cell }),
            Begun::NotWaiting => Err(SessionsError::NotWaiting { session }),
            Begun::Expired { at_ms } => {
                Err(SessionsError::Expired { session, at: Duration::from_millis(at_ms) })
            }
            Begun::Conflict { head } => Err(SessionsError::Conflict { head }),
            Begun::MayHaveGoneBack { head } => Err(SessionsError::MayHaveGoneBack { head }),
            Begun::Full => Err(SessionsError::Full { limit: inner.config.max_parked }),
        }
    }

    /// The session.
    #[must_use]
    pub const fn session(&self) -> &SessionId {
        &self.session
    }

    /// The owner of the session.
    #[must_use]
    pub const fn owner(&self) -> &TenantId {
        &self.tenant
    }

    /// The number of the cell in its session, from 1 on.
    #[must_use]
    pub const fn number(&self) -> u32 {
        self.cell.number
    }

    /// The checkpoint that the cell begins at; `None` for a new guest.
    #[must_use]
    pub const fn head(&self) -> Option<&StoredCheckpoint> {
        self.cell.head.as_ref()
    }

    /// The pack of the state that the cell begins or goes on in; `None` for a new guest.
    #[must_use]
    pub fn state(&self) -> Option<&StoredPack> {
        self.cell.state()
    }

    /// True if the state has been continued before, or may be elsewhere: the guest must reseed before it
    /// runs the cell, and confirm it.
    #[must_use]
    pub const fn must_reseed(&self) -> bool {
        self.cell.must_reseed
    }

    /// Whether a cell that has waited may have gone on, to be noted and asked. One that has not, and whose
    /// turn is dropped, waits on. A new turn of such a cell has not gone on; other cells always have.
    #[must_use]
    pub fn continuation(&self) -> Continuation {
        self.continuation.clone()
    }

    /// Sets the end with which the cell is rolled back if its turn is dropped.
    pub fn set_end_if_dropped(&mut self, end: CellEnd) {
        self.end_if_dropped = bounded_end(end, 0);
    }

    /// The packs that lead to the state that the cell begins or goes on in, from the whole one on; none for a
    /// new guest. `memory` is charged for them before they are read.
    ///
    /// # Errors
    ///
    /// [`SessionsError::Damaged`] if one of them, its row or its key is not as it was stored,
    /// [`SessionsError::Memory`] if there is no room for them, or the store fails.
    pub async fn packs(&self, memory: &CallMemory) -> Result<Vec<UnsealedPack>, SessionsError> {
        let Some(head) = self.state().map(|state| &state.id.checkpoint) else {
            return Ok(Vec::new());
        };
        self.inner.packs_of((&self.tenant, &self.session), head, memory).await
    }

    /// Bytes of all packs that lead to the state that the cell begins or goes on in. Zero for a new guest.
    ///
    /// # Errors
    ///
    /// The store fails.
    pub async fn chain_bytes(&self) -> Result<u64, SessionsError> {
        let Some(state) = self.state() else { return Ok(0) };
        let chain = self.inner.store.chain(&self.session, &state.id.checkpoint).await?;
        Ok(chain.iter().map(|pack| pack.stored_bytes).fold(0, u64::saturating_add))
    }

    /// Ends the cell with the state after it. When this returns, the session is at the returned checkpoint,
    /// whatever becomes of the server; when that survives a loss of power is a setting. A result longer than
    /// [`MAX_RESULT`](crate::MAX_RESULT) is not kept.
    ///
    /// # Errors
    ///
    /// [`SessionsError::Conflict`] if the pack does not continue the state that the cell began at,
    /// [`SessionsError::NotFound`] if the session was closed, [`SessionsError::Full`],
    /// [`SessionsError::DiskFull`], [`SessionsError::Late`], [`SessionsError::Damaged`] if the session's key
    /// is, or the store fails. The cell is rolled back then.
    pub async fn commit(
        self,
        description: PackDescription,
        bytes: Vec<u8>,
        end: impl Into<CellEnds>,
    ) -> Result<CheckpointId, SessionsError> {
        let ending = Ending { ends: end.into(), asked: None, must_reseed: false };
        self.end_with(description, bytes, ending).await
    }

    /// As [`commit`](Self::commit), for a change of the state that ran no program: what was to be reseeded
    /// before is to be reseeded still.
    ///
    /// # Errors
    ///
    /// As [`commit`](Self::commit).
    pub async fn commit_change(
        self,
        description: PackDescription,
        bytes: Vec<u8>,
        end: CellEnd,
    ) -> Result<CheckpointId, SessionsError> {
        let must_reseed = self.must_reseed();
        let ending = Ending { ends: end.into(), asked: None, must_reseed };
        self.end_with(description, bytes, ending).await
    }

    /// Lets the cell wait for its caller: keeps the state that it is in, and what it asks, as text that only
    /// the caller of this understands. When this returns, the state is kept as that of
    /// [`commit`](Self::commit) is; the session is where it was before the cell. Its result may be longer, by
    /// [`MAX_ASKED`]. Returns the name of the state.
    ///
    /// # Errors
    ///
    /// As [`commit`](Self::commit). The cell is rolled back then.
    pub async fn park(
        self,
        description: PackDescription,
        bytes: Vec<u8>,
        end: impl Into<CellEnds>,
        asked: String,
    ) -> Result<CheckpointId, SessionsError> {
        let ending = Ending { ends: end.into(), asked: Some(asked), must_reseed: false };
        self.end_with(description, bytes, ending).await
    }

    async fn end_with(
        mut self,
        description: PackDescription,
        bytes: Vec<u8>,
        Ending { ends, asked, must_reseed }: Ending,
    ) -> Result<CheckpointId, SessionsError> {
        in_task(async move {
            let more = if asked.is_some() { MAX_ASKED } else { 0 };
            let end = bounded_end(ends.end, more);
            let committed = self.try_commit(description, bytes, (end, asked, must_reseed)).await;
            match committed {
                Ok(checkpoint) => {
                    self.give_turn_back();
                    Ok(checkpoint)
                }
                Err(cause) => {
                    let end = bounded_end((ends.refused)(&cause), 0);
                    self.end_without_trace(&end).await;
                    Err(cause)
                }
            }
        })
        .await
    }

    /// Says that the cell is about to be rolled back: whoever wants the next turn waits for it.
    pub fn begin_ending(&self) {
        if let Some(permit) = &self.permit {
            permit.begin_ending();
        }
    }

    /// Ends the cell without a trace: the session stays where it was. A result longer than
    /// [`MAX_RESULT`](crate::MAX_RESULT) is not kept.
    ///
    /// # Errors
    ///
    /// The store fails. The cell is rolled back later then.
    pub async fn roll_back(self, end: CellEnd) -> Result<(), SessionsError> {
        in_task(async move {
            let end = bounded_end(end, 0);
            let inner = Arc::clone(&self.inner);
            let rolled_back =
                inner.store.roll_back_cell(&self.session, self.cell.number, &end).await;
            self.give_turn_back();
            inner.note_change(None, rolled_back?.unwrap_or_default()).await
        })
        .await
    }

    async fn try_commit(
        &mut self,
        description: PackDescription,
        bytes: Vec<u8>,
        (end, asked, must_reseed): (CellEnd, Option<String>, bool),
    ) -> Result<CheckpointId, SessionsError> {
        let base = self.base_of(&description, &bytes)?;
        let checkpoint = CheckpointId::new(self.cell.number, &description.digest);
        let (stored, limit) = (sealed_size(description.size), self.inner.config.max_parked);
        if stored > limit.as_u64() {
            return Err(SessionsError::Full { limit });
        }
        let damaged = || SessionsError::Damaged { checkpoint: checkpoint.clone() };
        let key = (&mut self.own_key).await.map_err(ended)??.ok_or_else(damaged)?;
        let (inner, head) = (&self.inner, self.cell.head.as_ref());
        let pack = PackId { origin: self.session.clone(), checkpoint: checkpoint.clone() };
        let commit = CellCommit {
            session: self.session.clone(),
            number: self.cell.number,
            head: head.map(|head| head.id.clone()),
            checkpoint: checkpoint.clone(),
            description,
            base,
            stored_bytes: stored,
            is_settled: inner.config.sync == SessionSync::Always,
            end,
            must_reseed,
            now_ms: inner.now_ms(),
        };
        // The file first, so that a row never is without its pack.
        self.write(pack.clone(), (commit.description.clone(), bytes), key).await?;
        let committed = match &asked {
            None => inner.store.commit_cell(&commit, limit.as_u64()).await,
            Some(asked) => inner.store.park_cell(&commit, asked, limit.as_u64()).await,
        };
        let refusal = match committed {
            Ok(Committed::Done(removed)) => {
                // The next start removes what stays.
                if let Err(cause) = inner.note_change(Some(pack), removed).await {
                    warn!(error = %CauseChain(&cause), "packs could not be removed");
                }
                return Ok(checkpoint);
            }
            Ok(Committed::Full) => SessionsError::Full { limit },
            Ok(Committed::Gone) => SessionsError::NotFound { session: self.session.clone() },
            // The change may have been made nevertheless. If that cannot be found out, the file stays: the
            // next start removes it if there is no row.
            Err(cause) => match inner.store.chain(&self.session, &checkpoint).await {
                Ok(chain) if !chain.is_empty() => {
                    inner.note_change(Some(pack), Vec::new()).await?;
                    return Ok(checkpoint);
                }
                Ok(_) => cause.into(),
                Err(_) => return Err(cause.into()),
            },
        };
        inner.remove_files(vec![pack]).await?;
        Err(refusal)
    }

    /// Writes a pack, unless that takes too long. A file that comes too late is removed.
    async fn write(
        &self,
        pack: PackId,
        (description, bytes): (PackDescription, Vec<u8>),
        key: PackKey,
    ) -> Result<(), SessionsError> {
        let (folder, id) = (Arc::clone(&self.inner.folder), pack.clone());
        let mut writing =
            Box::pin(on_thread(move || folder.write(&id, &description, &key, &bytes)));
        let limit = self.inner.config.longest_save;
        let Ok(written) = timeout(limit, &mut writing).await else {
            let inner = Arc::clone(&self.inner);
            tokio::spawn(async move {
                // What stays is removed by the next start.
                writing.await.ok();
                inner.remove_files(vec![pack]).await.ok();
            });
            return Err(SessionsError::Late { limit });
        };
        written
    }

    /// The pack that one with these facts continues. Refuses facts that do not fit the bytes, or the state
    /// that the cell began at.
    fn base_of(
        &self,
        description: &PackDescription,
        bytes: &[u8],
    ) -> Result<Option<PackId>, SessionsError> {
        let head = self.cell.head.as_ref();
        let conflict = || SessionsError::Conflict { head: head.map(|head| head.id.clone()) };
        if description.size != ByteCount::from(bytes.len()) {
            return Err(conflict());
        }
        match (description.base, self.state()) {
            (None, _) if description.sequence == 0 => Ok(None),
            (Some(base), Some(pack))
                if base == pack.description.digest
                    && pack.description.sequence.checked_add(1) == Some(description.sequence)
                    && description.sequence < MAX_CHAIN =>
            {
                Ok(Some(pack.id.clone()))
            }
            _ => Err(conflict()),
        }
    }

    /// Rolls the cell back after an error. If that fails, the next cell or the next start does it.
    async fn end_without_trace(self, end: &CellEnd) {
        roll_back_quietly(&self.inner, &self.session, self.cell.number, end).await;
        self.give_turn_back();
    }

    fn give_turn_back(mut self) {
        self.permit = None;
    }
}

impl<D: Disk> Drop for SessionTurn<D> {
    fn drop(&mut self) {
        // Without a runtime the server is ending, and its next start rolls the cell back.
        if let (Some(permit), Ok(runtime)) = (self.permit.take(), Handle::try_current()) {
            permit.begin_ending();
            let (inner, session) = (Arc::clone(&self.inner), self.session.clone());
            let (number, is_continued) = (self.cell.number, self.continuation.has_happened());
            let end = std::mem::take(&mut self.end_if_dropped);
            runtime.spawn(async move {
                if is_continued {
                    roll_back_quietly(&inner, &session, number, &end).await;
                } else if let Err(cause) = inner.store.suspend_cell(&session, number).await {
                    // The next cell or the next start rolls it back.
                    warn!(session.id = %session, error = %CauseChain(&cause), "a cell cannot wait on");
                }
                drop(permit);
            });
        }
    }
}

async fn roll_back_quietly<D: Disk>(
    inner: &Inner<D>,
    session: &SessionId,
    number: u32,
    end: &CellEnd,
) {
    let rolled_back = match inner.store.roll_back_cell(session, number, end).await {
        Ok(removed) => inner.note_change(None, removed.unwrap_or_default()).await,
        Err(cause) => Err(cause.into()),
    };
    if let Err(cause) = rolled_back {
        warn!(session.id = %session, error = %CauseChain(&cause), "a cell could not be rolled back");
    }
}
