//! The settings of sessions.

use std::path::PathBuf;
use std::time::Duration;

use wardian_stores::sessions::SessionSync;
use wardian_vocabulary::units::ByteCount;

/// The settings of sessions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionsConfig {
    /// The folder of the packs. It is created if it does not exist.
    pub root: PathBuf,
    /// Maximum number of open sessions of one tenant.
    pub max_sessions: u64,
    /// Maximum size of the packs, programs and results that are kept of one tenant.
    pub max_parked: ByteCount,
    /// Maximum size of the memory images that open sessions began as.
    pub max_images: ByteCount,
    /// The longest time for which a session is kept after its last use.
    pub idle: Duration,
    /// The longest time for which a session is kept after its creation.
    pub max_age: Duration,
    /// The longest time for which a worker holds a cell that waits for its caller in the middle of a call.
    pub longest_wait: Duration,
    /// The longest time in which a state is written to the disk.
    pub longest_save: Duration,
    /// When the state after a cell survives a loss of power.
    pub sync: SessionSync,
    /// Names the time since the machine was started: a server that has ended in another one without saying so
    /// may have lost its power. `None` if the system has no such name.
    pub boot: Option<String>,
}

impl SessionsConfig {
    /// The defaults with packs in this folder: 64 sessions and 2 GiB for a tenant, 4 GiB of images, 24 hours
    /// after the last use, seven days, ten minutes for an answer, durable within a second, and a minute for a
    /// state to be written.
    #[must_use]
    pub const fn at(root: PathBuf) -> Self {
        Self {
            root,
            max_sessions: 64,
            max_parked: ByteCount::mebibytes(2 << 10),
            max_images: ByteCount::mebibytes(4 << 10),
            idle: Duration::from_secs(24 * 60 * 60),
            max_age: Duration::from_secs(7 * 24 * 60 * 60),
            longest_wait: Duration::from_secs(10 * 60),
            longest_save: Duration::from_secs(60),
            sync: SessionSync::Second,
            boot: None,
        }
    }
}
