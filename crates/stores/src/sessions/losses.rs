//! What a loss of power may undo, and how a server goes on after one.

use std::fmt;

use async_trait::async_trait;

use crate::database_error::DatabaseError;
use crate::sessions::rows::{PackId, StoredPack};
use wardian_vocabulary::ids::TenantId;

/// The time since a session's last use from which on the beginning of a cell survives a loss of power.
///
/// So sessions of which such a loss may have undone something were used at most this long before the last
/// use of any session that the database has noted.
pub const RARE_USE_MS: u64 = 10 * 60 * 1_000;

/// When the end of a cell survives a loss of power. It survives the end of the server in any case.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SessionSync {
    /// Within a second of the answer.
    #[default]
    Second,
    /// Before the answer.
    Always,
}

impl fmt::Display for SessionSync {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Second => "second",
            Self::Always => "always",
        })
    }
}

/// The time from a server's start to its end.
#[derive(Debug, Clone)]
pub struct ServerLife {
    /// Names the time since the machine was started; `None` if the system has no such name.
    pub boot: Option<String>,
    /// When the ends of its cells survive a loss of power.
    pub sync: SessionSync,
}

/// What a loss of power may undo.
#[async_trait]
pub trait SessionLosses: Send + Sync {
    /// Begins the life of a server. Returns true if the power may have been lost in the one before it, which
    /// has not ended.
    ///
    /// The sessions that were used last must reseed then. If ends of cells may be lost, the next caller of
    /// each of these sessions is told so ([`Begun::MayHaveGoneBack`](crate::sessions::Begun)).
    async fn begin_life(&self, life: &ServerLife) -> Result<bool, DatabaseError>;

    /// Ends the life of a server, once all changes survive a loss of power.
    async fn end_life(&self) -> Result<(), DatabaseError>;

    /// Makes all changes survive a loss of power.
    async fn sync(&self) -> Result<(), DatabaseError>;

    /// Packs of which it was not noted that they survive a loss of power, with their owners.
    async fn unsettled_packs(&self) -> Result<Vec<(TenantId, StoredPack)>, DatabaseError>;

    /// Notes that these packs survive a loss of power.
    async fn settle_packs(&self, packs: &[PackId]) -> Result<(), DatabaseError>;

    /// Removes a pack that is lost, and all that needs it. Sessions that are at a checkpoint that is gone go
    /// back to the one before it, must reseed, and their next caller is told so.
    ///
    /// Returns false, and changes nothing, if there is nothing to which a session could go back.
    async fn lose_pack(&self, pack: &PackId) -> Result<bool, DatabaseError>;
}
