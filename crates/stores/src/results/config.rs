//! The bounds of kept results.

use std::time::Duration;

use wardian_vocabulary::units::ByteCount;

/// The bounds of kept results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResultsConfig {
    /// Maximum number of bytes of all results; with 0 none is kept. Default 16 MiB.
    pub memory: ByteCount,
    /// How long a result is kept. Default one hour.
    pub max_age: Duration,
    /// Most results of one tenant; for a further one its oldest goes. Default 1,000.
    pub max_count: usize,
}

impl Default for ResultsConfig {
    fn default() -> Self {
        Self {
            memory: ByteCount::mebibytes(16),
            max_age: Duration::from_hours(1),
            max_count: 1_000,
        }
    }
}
