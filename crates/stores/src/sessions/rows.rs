//! Sessions, cells, checkpoints and packs as a database holds them. Times are milliseconds since the
//! Unix epoch.

use std::fmt;

use wardian_vocabulary::ids::{CheckpointId, Digest, SessionId, TenantId};
use wardian_vocabulary::units::ByteCount;

/// Bytes that a cell counts in the quota of its tenant in addition to its texts, so that cells without
/// any are bounded too.
const CELL_BYTES: u64 = 256;

/// A session to add.
#[derive(Debug, Clone)]
pub struct NewSession {
    /// Its owner.
    pub tenant: TenantId,
    /// Its id.
    pub id: SessionId,
    /// A text for people.
    pub label: Option<String>,
    /// The image that its first cell begins with.
    pub image: Digest,
    /// How its guest is made, as JSON that only the caller understands.
    pub setup: String,
    /// The time of its creation.
    pub created_ms: u64,
    /// How long it is kept after its last use, in milliseconds.
    pub idle_ms: u64,
    /// How long it is kept after its creation, in milliseconds.
    pub max_age_ms: u64,
    /// Its key, wrapped.
    pub key: String,
}

impl NewSession {
    /// Bytes of its texts, which count in the quota of its tenant.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        length(&self.setup).saturating_add(self.label.as_deref().map_or(0, length))
    }
}

/// A fork to add. All else is that of the session that it is made of.
#[derive(Debug, Clone)]
pub struct NewFork {
    /// Its id.
    pub id: SessionId,
    /// What it does not share with that session.
    pub own: ForkParts,
    /// Its own key, and those of the sessions whose packs it needs, all wrapped for it.
    pub keys: Vec<WrappedKey>,
}

/// What a fork does not share with the session that it is made of.
#[derive(Debug, Clone, Default)]
pub struct ForkParts {
    /// How its guest is made, if that is not as the other one's.
    pub setup: Option<String>,
    /// True if it has the ended cells before its checkpoint, which count in the quota once more.
    pub has_cells: bool,
}

/// A session's key as another one may use it.
#[derive(Clone, PartialEq, Eq)]
pub struct WrappedKey {
    /// The session that sealed its packs with the key.
    pub origin: SessionId,
    /// The wrapped key in base64.
    pub wrapped: String,
}

/// Shows no key.
impl fmt::Debug for WrappedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WrappedKey").field("origin", &self.origin).finish_non_exhaustive()
    }
}

/// The state of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionState {
    /// It can be used, unless its time is over.
    Open,
    /// Its time was over, and all that it had is gone.
    Expired,
}

/// A session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredSession {
    /// Its id.
    pub id: SessionId,
    /// A text for people.
    pub label: Option<String>,
    /// The image that its first cell begins with.
    pub image: Digest,
    /// How its guest is made, as JSON that only the caller understands.
    pub setup: String,
    /// Whether it can be used.
    pub state: SessionState,
    /// The time of its creation.
    pub created_ms: u64,
    /// The time of its last cell or restoration.
    pub used_ms: u64,
    /// The time at which it ends or has ended, unless it is used before.
    pub expires_ms: u64,
    /// The number of its last cell; that of a fork begins with the cell that it was made after.
    pub cells: u32,
    /// The checkpoint that it is at; `None` before its first cell is done.
    pub head: Option<CheckpointId>,
    /// The state that it was forked from; `None` if it began by itself.
    pub forked_from: Option<ForkedFrom>,
}

/// The state that a session was forked from. Neither the session nor its checkpoint need exist any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForkedFrom {
    /// The session.
    pub session: SessionId,
    /// Its checkpoint.
    pub checkpoint: CheckpointId,
}

/// Bytes of the files of the packs that a session needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParkedBytes {
    /// The session.
    pub session: SessionId,
    /// Of packs that no other session needs. They are gone when the session is closed.
    pub own: u64,
    /// Of packs that other sessions need too: it was forked, or is a fork.
    pub shared: u64,
}

/// A place in the list of a tenant's sessions: behind this one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionPlace {
    /// The time of its creation.
    pub created_ms: u64,
    /// The session.
    pub id: SessionId,
}

/// The sums over the sessions of a tenant.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SessionUsage {
    /// Sessions that are open.
    pub sessions: u64,
    /// Bytes of their sealed packs and of their texts.
    pub bytes: u64,
}

/// The sums over all sessions of a database.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SessionTotals {
    /// Sessions that are open.
    pub sessions: u64,
    /// Sessions of which a cell waits for its caller, parked.
    pub waiting: u64,
    /// Bytes of sealed packs and of texts.
    pub bytes: u64,
}

/// A cell to begin.
#[derive(Debug, Clone)]
pub struct NewCell {
    /// The owner of its session.
    pub tenant: TenantId,
    /// Its session.
    pub session: SessionId,
    /// The program; `None` if it is too long to be kept.
    pub source: Option<String>,
    /// The checkpoint that the session must be at, if the caller has said so.
    pub if_checkpoint: Option<CheckpointId>,
    /// True if its beginning survives a loss of power when it has begun.
    pub is_settled: bool,
    /// The time at which it begins.
    pub now_ms: u64,
}

/// The state of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CellState {
    /// It has begun.
    Running,
    /// It waits for its caller. Its session is where it was before, and no other cell begins.
    Waiting,
    /// It is done, and its checkpoint is the state after it.
    Kept,
    /// It left no trace in its session.
    RolledBack,
}

impl CellState {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::Kept => "kept",
            Self::RolledBack => "rolled_back",
        }
    }

    pub(crate) fn of_name(name: &str) -> Option<Self> {
        [Self::Running, Self::Waiting, Self::Kept, Self::RolledBack]
            .into_iter()
            .find(|state| state.name() == name)
    }
}

/// A cell that waits for its caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitingCell {
    /// Its number in its session.
    pub number: u32,
    /// What it has asked, as text that only the caller understands.
    pub asked: String,
    /// The result of its parts so far, if it was kept.
    pub result: Option<String>,
}

/// A cell that is to go on.
#[derive(Debug, Clone)]
pub struct AnsweredCell {
    /// The owner of its session.
    pub tenant: TenantId,
    /// Its session.
    pub session: SessionId,
    /// The cell, as it waits.
    pub cell: WaitingCell,
    /// The time at which it goes on.
    pub now_ms: u64,
}

/// The end of a cell.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CellEnd {
    /// Its result, as text that only the caller understands; `None` if it is too long to be kept.
    pub result: Option<String>,
    /// The fuel that it used, if that was counted: since it began, or since it went on.
    pub fuel: Option<u64>,
}

/// A cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredCell {
    /// Its number in its session, from 1 on.
    pub number: u32,
    /// The program, if it was kept.
    pub source: Option<String>,
    /// How it ended, if it has.
    pub state: CellState,
    /// Its result, if it was kept. That of a cell that waits says what it asks.
    pub result: Option<String>,
    /// The fuel that it used so far, if that was counted.
    pub fuel: Option<u64>,
    /// The state after it. The checkpoint may have been thinned out.
    pub checkpoint: Option<CheckpointId>,
    /// The time at which it began.
    pub began_ms: u64,
    /// The number of the cell in whose state it began; 0 for a new guest. In a fork that may be a cell of the
    /// session that it was made of.
    pub began_after: u32,
}

/// Bytes that a cell with these texts counts in the quota of its tenant.
pub(crate) fn cell_bytes(source: Option<&str>, result: Option<&str>) -> u64 {
    let texts = source.map_or(0, length).saturating_add(result.map_or(0, length));
    CELL_BYTES.saturating_add(texts)
}

fn length(text: &str) -> u64 {
    ByteCount::from(text.len()).as_u64()
}

/// The facts of a pack, as the worker that made it states them. They are sealed together with the pack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackDescription {
    /// The place in its chain: 0 for a whole pack, and one more for each delta.
    pub sequence: u32,
    /// The digest of the pack that a delta continues; `None` for a whole pack.
    pub base: Option<Digest>,
    /// The digest of its bytes.
    pub digest: Digest,
    /// The number of its bytes.
    pub size: ByteCount,
}

/// Names a pack: the checkpoint that made it. Forks have that checkpoint too, so they share the pack.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PackId {
    /// The session whose cell made it. That session may be closed.
    pub origin: SessionId,
    /// The checkpoint after that cell.
    pub checkpoint: CheckpointId,
}

/// A pack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredPack {
    /// Its name.
    pub id: PackId,
    /// Its facts.
    pub description: PackDescription,
    /// Bytes of its file.
    pub stored_bytes: u64,
}

/// A checkpoint of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredCheckpoint {
    /// Its id.
    pub id: CheckpointId,
    /// The checkpoint before its cell, which may have been thinned out.
    pub parent: Option<CheckpointId>,
    /// The name that keeps it from being thinned out.
    pub name: Option<String>,
    /// The time at which it was made, or at which its session was forked from it.
    pub made_ms: u64,
    /// Its pack, the last one of its chain.
    pub pack: StoredPack,
}
