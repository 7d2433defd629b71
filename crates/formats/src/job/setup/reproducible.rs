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
    /// What uses fuel besides instructions.
    pub fuel_rules: FuelRules,
}

/// The version of the rules by which the host's work for a guest uses fuel. A record names the rules
/// of its run, and a repetition has the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FuelRules(u32);

impl FuelRules {
    /// Codecs use fuel.
    pub const FIRST: Self = Self(1);
    /// Bytes that are read, written and listed, random bytes, and the steps of paths do as well.
    pub const BYTES: Self = Self(2);
    /// The rules of runs that begin now.
    pub const PRESENT: Self = Self::BYTES;

    /// True if there are such rules.
    #[must_use]
    pub(crate) fn are_known(self) -> bool {
        self >= Self::FIRST && self <= Self::PRESENT
    }
}

impl Default for FuelRules {
    /// Those of records that name none.
    fn default() -> Self {
        Self::FIRST
    }
}
