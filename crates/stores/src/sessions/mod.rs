//! The rows of sessions: what the gateway knows of interpreters that several calls use.
//!
//! | part            | does                                                                      |
//! | --------------- | ------------------------------------------------------------------------- |
//! | `rows.rs`       | sessions, cells, checkpoints and packs as a database holds them           |
//! | `store.rs`      | what a database must do: each statement is a method                       |
//! | `losses.rs`     | the same after a loss of power                                            |
//! | `tenant_key.rs` | the keys of tenants, under which the keys of their sessions are kept       |
//!
//! The packs themselves are files. They, and the rules of sessions, are in the crate `sessions`.
//!
//! # Why
//!
//! Sessions have a file of their own. Each cell waits for two of its changes, and should wait for no batch
//! of records; and these changes may survive a loss of power later than those of keys. The keys of tenants
//! are in the database of keys: who has the database of sessions and the packs, and not that one, can read
//! no pack.

pub(crate) mod losses;
pub(crate) mod rows;
pub(crate) mod store;
pub(crate) mod tenant_key;

pub use crate::sessions::losses::{RARE_USE_MS, ServerLife, SessionLosses, SessionSync};
pub use crate::sessions::rows::{
    AnsweredCell, CellEnd, CellState, ForkParts, ForkedFrom, NewCell, NewFork, NewSession,
    PackDescription, PackId, ParkedBytes, SessionPlace, SessionState, SessionTotals, SessionUsage,
    StoredCell, StoredCheckpoint, StoredPack, StoredSession, WaitingCell, WrappedKey,
};
pub use crate::sessions::store::{
    Begun, BegunCell, CellCommit, CheckpointNaming, Committed, Forgotten, ForkRoom, Forked,
    KEPT_INTERVAL, KEPT_NEWEST, MAX_EXPIRED, Removal, SessionCells, SessionCheckpoints,
    SessionRows, SessionStore,
};
pub use crate::sessions::tenant_key::{SESSION_KEY_LENGTH, TenantSessionKeys};
