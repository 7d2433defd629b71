//! The two kinds of networks of reproducible runs.

use crate::scripted::player::NetworkPlayer;
use crate::scripted::recorder::NetworkRecorder;

/// The network of a reproducible run.
#[derive(Debug)]
pub enum NetworkScript {
    /// The world, whose answers are recorded.
    Records(NetworkRecorder),
    /// A record.
    Replays(NetworkPlayer),
}
