//! Sessions: interpreters that several calls use one after another.
//!
//! A *cell* is one call in a session. A *checkpoint* is the state after a cell, and a *pack* is what a
//! worker made of that state: bytes that only a worker understands. This crate keeps them, and decides
//! who may go on from which state. It knows no worker, no guest and no HTTP.
//!
//! | part              | does                                                                    |
//! | ----------------- | ----------------------------------------------------------------------- |
//! | `sessions.rs`     | the sessions of a server: made, found, listed, closed, expired           |
//! | `checkpoints.rs`  | their checkpoints: forked, restored, named, forgotten                    |
//! | `turns`           | one cell at a time, from its beginning to its checkpoint or its roll-back, |
//! |                   | and its waits for its caller                                             |
//! | `keys.rs`         | the keys of sessions, and how they are kept                              |
//! | `seal.rs`         | the encryption of packs                                                  |
//! | `pack_folder.rs`  | packs as files                                                           |
//! | `orphans.rs`      | packs that the database does not know, at the start                      |
//! | `syncs`           | when states survive a loss of power, and sessions that have lost theirs   |
//!
//! The rows are in [`wardian_stores::sessions`]. The packs are files in one folder:
//!
//! ```text
//! <root>/lock                        held while a server uses the folder
//! <root>/draft-<n>                   being written; removed at the next start
//! <root>/<session>.<checkpoint>      a sealed pack, named by the checkpoint that made it
//! <root>/orphans                     packs that a database did not know, set aside by a start
//! <root>/images                      the images that open sessions began as, kept by `wardian_images`
//! ```
//!
//! INVARIANT(whole-cells): a session is at the end of a cell that was committed, or where it was before,
//! whenever and however the server ends. A pack is written before its row. A cell that waits for its caller
//! is not at its end.
//!
//! INVARIANT(told-of-losses): a loss of power undoes no more than the cells of the last second, whole ones
//! and the last ones of their session, and the next caller of such a session is told so.
//!
//! INVARIANT(one-owner): a session is seen by its tenant alone. For others it is like one that does not
//! exist.
//!
//! INVARIANT(continued-once): a state is continued without reseeding at most once, by the session that
//! made it. All other cells that begin at it are told to reseed, also after a crash.
//!
//! INVARIANT(sealed-packs): a pack is returned whole and as it was stored, or not at all. Without the key
//! of its session it is noise, and closing a session deletes the key first.
//!
//! # Why
//!
//! Which server has a session is not noted in its row. The packs are files in the data folder of one
//! server, whose lock keeps other servers out, so turns are kept in memory. A cell whose server ended is
//! rolled back at the next start.

mod checkpoints;
mod config;
mod error;
mod keys;
mod orphans;
mod pack_folder;
mod seal;
mod sessions;
mod syncs;
mod turns;

#[cfg(test)]
mod fault_tests;
#[cfg(test)]
mod model_tests;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

pub use crate::checkpoints::MAX_FORKS;
pub use crate::config::SessionsConfig;
pub use crate::error::SessionsError;
pub use crate::sessions::{SessionOrder, SessionPage, Sessions};
pub use crate::turns::cell_ends::{CellEnds, MAX_RESULT};
pub use crate::turns::chain::{MAX_CHAIN, UnsealedPack};
pub use crate::turns::continuation::Continuation;
pub use crate::turns::look::SessionLook;
pub use crate::turns::turn::{MAX_ASKED, MAX_SOURCE, SessionTurn, TurnRequest};
pub use wardian_stores::sessions::{
    CellEnd, CellState, ForkParts, ForkedFrom, PackDescription, PackId, ParkedBytes, SessionPlace,
    SessionState, SessionSync, SessionTotals, SessionUsage, StoredCell, StoredCheckpoint,
    StoredPack, StoredSession, WaitingCell,
};
