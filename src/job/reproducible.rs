//! What a reproducible run sees in place of time and chance.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// What the time and the randomness of a reproducible run follow from. Such a run has metered code
/// and the image of reproducible runs, and sees nothing of its machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reproducible {
    /// Decides all randomness, the id that the program sees included.
    pub seed: u64,
    /// The time of day at which the run begins, since the Unix epoch.
    pub epoch: Duration,
}
