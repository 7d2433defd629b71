//! What sessions need of a database: the statements, each of them one transaction, which is durable when
//! it returns. Those of cells may survive a loss of power later (`sessions/losses.rs`).
//!
//! A database implements the traits below, which are [`SessionStore`] together. Each method fails if the
//! database does. Statements that name no tenant are for sessions that their caller has found.
//!
//! INVARIANT(needed-packs-stay): a pack has a row as long as the chain of a checkpoint of any session
//! needs it, and no longer.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::RangeInclusive;

use async_trait::async_trait;

use crate::database_error::DatabaseError;
use crate::sessions::losses::SessionLosses;
use crate::sessions::rows::{
    AnsweredCell, CellEnd, NewCell, NewFork, NewSession, PackDescription, PackId, ParkedBytes,
    SessionPlace, SessionTotals, SessionUsage, StoredCell, StoredCheckpoint, StoredPack,
    StoredSession, WaitingCell, WrappedKey,
};
use wardian_vocabulary::ids::{CheckpointId, Digest, SessionId, TenantId};

/// Checkpoints of a session that are never thinned out: the newest ones.
pub const KEPT_NEWEST: u64 = 8;

/// Of older checkpoints those stay that have a name, or whose cell is a multiple of this.
pub const KEPT_INTERVAL: u64 = 10;

/// Sessions of a tenant that have expired and are remembered, so that their callers learn why they end.
pub const MAX_EXPIRED: u64 = 256;

/// A database of sessions: all statements.
#[async_trait]
pub trait SessionStore:
    SessionRows + SessionCells + SessionCheckpoints + SessionLosses + fmt::Debug
{
    /// Closes the database.
    async fn close(&self);
}

/// Sessions and their keys.
#[async_trait]
pub trait SessionRows: Send + Sync {
    /// Adds a session with its key, unless its tenant has `most` open ones. Returns false then.
    async fn create(&self, session: &NewSession, most: u64) -> Result<bool, DatabaseError>;

    /// Adds forks of a checkpoint, which must reseed, as long as the tenant has room for them.
    async fn fork(
        &self,
        tenant: &TenantId,
        from: (&SessionId, &CheckpointId),
        forks: &[NewFork],
        now_ms: u64,
        room: ForkRoom,
    ) -> Result<Forked, DatabaseError>;

    /// A session of this tenant, also one that has expired.
    async fn find(
        &self,
        tenant: &TenantId,
        session: &SessionId,
    ) -> Result<Option<StoredSession>, DatabaseError>;

    /// Sessions that have not expired, newest first, at most `limit`.
    async fn list(
        &self,
        tenant: &TenantId,
        behind: Option<&SessionPlace>,
        now_ms: u64,
        limit: u64,
    ) -> Result<Vec<StoredSession>, DatabaseError>;

    /// The sums over a tenant's sessions.
    async fn usage(&self, tenant: &TenantId, now_ms: u64) -> Result<SessionUsage, DatabaseError>;

    /// The sums over all sessions.
    async fn totals(&self, now_ms: u64) -> Result<SessionTotals, DatabaseError>;

    /// The bytes of the packs of each of these sessions, in the order of their ids. Sessions without packs are
    /// left out.
    async fn parked_bytes(&self, sessions: &[SessionId])
    -> Result<Vec<ParkedBytes>, DatabaseError>;

    /// The images that open sessions began as.
    async fn images(&self) -> Result<BTreeSet<Digest>, DatabaseError>;

    /// The keys that a session has, by the session that made them.
    async fn keys(&self, session: &SessionId) -> Result<Vec<WrappedKey>, DatabaseError>;

    /// Ends an open session: its keys, cells and checkpoints are removed. Returns the packs that nothing
    /// needs any more; `None` if there is no such session.
    async fn remove(
        &self,
        tenant: &TenantId,
        session: &SessionId,
        removal: Removal,
    ) -> Result<Option<Vec<PackId>>, DatabaseError>;

    /// Open sessions whose time is over, at most `limit`.
    async fn due(
        &self,
        now_ms: u64,
        limit: u64,
    ) -> Result<Vec<(TenantId, SessionId)>, DatabaseError>;

    /// Forgets sessions that have expired before this time. Returns their number.
    async fn forget_expired(&self, before_ms: u64) -> Result<u64, DatabaseError>;
}

/// The cells of sessions.
#[async_trait]
pub trait SessionCells: Send + Sync {
    /// Begins the next cell of a session, unless its tenant has more than `max_bytes`. A cell that is
    /// running has been given up, and is rolled back.
    ///
    /// The session must reseed from now on, until a cell is committed: a second cell that begins at the
    /// same checkpoint is told so. That survives a loss of power if `cell` says so. It may otherwise survive
    /// it later, because [`begin_life`](SessionLosses::begin_life) makes up for it.
    async fn begin_cell(&self, cell: &NewCell, max_bytes: u64) -> Result<Begun, DatabaseError>;

    /// Ends a running cell with a checkpoint, and thins the session's checkpoints out. The session must
    /// reseed from then on only if the commit says so. Changes nothing if the tenant would have more than
    /// `max_bytes` then.
    async fn commit_cell(
        &self,
        commit: &CellCommit,
        max_bytes: u64,
    ) -> Result<Committed, DatabaseError>;

    /// Lets a running cell wait for its caller, in the state that its pack has. The session stays at its
    /// checkpoint. Changes nothing if the tenant would have more than `max_bytes` then.
    async fn park_cell(
        &self,
        commit: &CellCommit,
        asked: &str,
        max_bytes: u64,
    ) -> Result<Committed, DatabaseError>;

    /// The cell of a session that waits for its caller.
    async fn waiting_cell(&self, session: &SessionId)
    -> Result<Option<WaitingCell>, DatabaseError>;

    /// Changes what a cell that waits has asked, if it still waits for that. Returns false otherwise.
    async fn ask_anew(
        &self,
        place: (&TenantId, &SessionId),
        cell: &WaitingCell,
        asked: &str,
    ) -> Result<bool, DatabaseError>;

    /// Lets a cell go on that waits. Its state is continued once: whatever ends the cell, it waits in this
    /// state no more.
    async fn resume_cell(&self, cell: &AnsweredCell) -> Result<Begun, DatabaseError>;

    /// Lets a cell wait on that was to go on and has not. Returns false if it is not running, or has not waited.
    async fn suspend_cell(&self, session: &SessionId, number: u32) -> Result<bool, DatabaseError>;

    /// Notes that an open session is used. Its end by disuse is counted from there.
    async fn use_session(&self, session: &SessionId, now_ms: u64) -> Result<(), DatabaseError>;

    /// Ends a cell that is running or waits, without a checkpoint. Returns the packs that nothing needs any
    /// more; `None` if it has ended before.
    async fn roll_back_cell(
        &self,
        session: &SessionId,
        number: u32,
        end: &CellEnd,
    ) -> Result<Option<Vec<PackId>>, DatabaseError>;

    /// Rolls back all cells that are running, which a server has left. Those that wait go on waiting.
    /// Returns their number.
    async fn roll_back_running(&self) -> Result<u64, DatabaseError>;

    /// Cells of a session with higher numbers than `after`, in order, at most `limit`.
    async fn cells(
        &self,
        session: &SessionId,
        after: u32,
        limit: u64,
    ) -> Result<Vec<StoredCell>, DatabaseError>;

    /// Those of the cells with these numbers that led to the state after the cell `last`, that one among them.
    async fn cells_up_to(
        &self,
        session: &SessionId,
        last: u32,
        among: RangeInclusive<u32>,
    ) -> Result<BTreeSet<u32>, DatabaseError>;
}

/// The checkpoints of sessions, and their packs.
#[async_trait]
pub trait SessionCheckpoints: Send + Sync {
    /// A checkpoint of a session.
    async fn checkpoint(
        &self,
        session: &SessionId,
        checkpoint: &CheckpointId,
    ) -> Result<Option<StoredCheckpoint>, DatabaseError>;

    /// Checkpoints of a session after cells with higher numbers than `after`, in order, at most `limit`.
    async fn checkpoints(
        &self,
        session: &SessionId,
        after: u32,
        limit: u64,
    ) -> Result<Vec<StoredCheckpoint>, DatabaseError>;

    /// The packs that lead to a checkpoint, or to the state in which a cell waits, from the whole one on;
    /// none if there is no such state.
    async fn chain(
        &self,
        session: &SessionId,
        checkpoint: &CheckpointId,
    ) -> Result<Vec<StoredPack>, DatabaseError>;

    /// Gives a checkpoint a name that no other one of its session has, or takes its name away.
    async fn name_checkpoint(
        &self,
        session: &SessionId,
        checkpoint: &CheckpointId,
        name: Option<&str>,
    ) -> Result<CheckpointNaming, DatabaseError>;

    /// The checkpoint with this name, the newest one if there are several.
    async fn named_checkpoint(
        &self,
        session: &SessionId,
        name: &str,
    ) -> Result<Option<CheckpointId>, DatabaseError>;

    /// Removes a checkpoint that its session is not at.
    async fn forget_checkpoint(
        &self,
        session: &SessionId,
        checkpoint: &CheckpointId,
    ) -> Result<Forgotten, DatabaseError>;

    /// Lets an open session be at a checkpoint, and reseed. Returns false if there is no such one.
    async fn restore(
        &self,
        session: &SessionId,
        checkpoint: &CheckpointId,
        now_ms: u64,
    ) -> Result<bool, DatabaseError>;

    /// Those of these packs that have a row, in any order.
    async fn known_packs(&self, packs: &[PackId]) -> Result<Vec<PackId>, DatabaseError>;

    /// False if the database has never had a session. Then no pack can be one of its own.
    async fn has_had_sessions(&self) -> Result<bool, DatabaseError>;
}

/// The room that a tenant has for forks.
#[derive(Debug, Clone, Copy)]
pub struct ForkRoom {
    /// Open sessions at most.
    pub sessions: u64,
    /// Bytes of all its sessions at most. Only forks that have cells take some.
    pub bytes: u64,
}

/// The outcome of a fork.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Forked {
    /// So many forks were made, the first of those that were asked for.
    Done(usize),
    /// The same, and the tenant's bytes have no room for the cells of another one.
    Full(usize),
    /// There is no such session, or its time is over.
    NoSession,
    /// The session has no such checkpoint.
    NoCheckpoint,
}

/// What became of the name of a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CheckpointNaming {
    /// The checkpoint has it, or has none any more.
    Done,
    /// The session has no such checkpoint.
    NotFound,
    /// This one has it.
    Taken(CheckpointId),
}

/// How a session ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Removal {
    /// It is closed, and forgotten.
    Closed,
    /// It is remembered as expired. Nothing happens if its time is not over at this time.
    Expired {
        /// The present time.
        now_ms: u64,
    },
}

/// The outcome of beginning a cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Begun {
    /// It has begun.
    Cell(Box<BegunCell>),
    /// There is no such session.
    NotFound,
    /// A cell of the session waits for its caller.
    Waits {
        /// Its number.
        cell: u32,
    },
    /// No cell waits, or it has asked something else.
    NotWaiting,
    /// The time of the session was over at this time.
    Expired {
        /// The time, in milliseconds since the Unix epoch.
        at_ms: u64,
    },
    /// The session is not at the expected checkpoint.
    Conflict {
        /// The checkpoint that it is at.
        head: Option<CheckpointId>,
    },
    /// A loss of power may have undone cells of the session, or has. The next call begins a cell.
    MayHaveGoneBack {
        /// The checkpoint that it is at.
        head: Option<CheckpointId>,
    },
    /// The tenant has no room left.
    Full,
}

/// A cell that has begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BegunCell {
    /// Its number.
    pub number: u32,
    /// The checkpoint that it begins at; `None` for a new guest.
    pub head: Option<StoredCheckpoint>,
    /// True if the state at that checkpoint has been continued before, or may be elsewhere.
    pub must_reseed: bool,
    /// The state in which it has waited, if it goes on in that one.
    pub parked: Option<StoredPack>,
}

impl BegunCell {
    /// The pack of the state that it begins or goes on in; `None` for a new guest.
    #[must_use]
    pub fn state(&self) -> Option<&StoredPack> {
        self.parked.as_ref().or(self.head.as_ref().map(|head| &head.pack))
    }
}

/// The end of a cell, or of a part of it, whose state is kept.
#[derive(Debug, Clone)]
pub struct CellCommit {
    /// Its session.
    pub session: SessionId,
    /// Its number.
    pub number: u32,
    /// The checkpoint that it began at.
    pub head: Option<CheckpointId>,
    /// The checkpoint after it; for a part of a cell, the name of the state in which it waits.
    pub checkpoint: CheckpointId,
    /// The facts of its pack.
    pub description: PackDescription,
    /// The pack that its own continues, if it is a delta.
    pub base: Option<PackId>,
    /// Bytes of the pack's file.
    pub stored_bytes: u64,
    /// True if that file survives a loss of power.
    pub is_settled: bool,
    /// Its end.
    pub end: CellEnd,
    /// True if the next cell that begins at the checkpoint must reseed, because this one was to and has
    /// not: it was a change of files, which runs no program.
    pub must_reseed: bool,
    /// The time of its end.
    pub now_ms: u64,
}

/// The outcome of committing a cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Committed {
    /// The session is at the new checkpoint. These packs are needed no more.
    Done(Vec<PackId>),
    /// The session is closed, or at another checkpoint, or the cell is not running.
    Gone,
    /// The tenant has no room for it.
    Full,
}

/// The outcome of forgetting a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Forgotten {
    /// It is gone. These packs are needed no more.
    Done(Vec<PackId>),
    /// There is no such checkpoint.
    NotFound,
    /// Its session is at it.
    IsHead,
}
