//! Time: the only reader of the time of day, the calendar, and pauses between attempts.

pub mod backoff;
pub mod calendar;

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The source of the time of day.
#[derive(Debug, Clone, Copy)]
pub enum Clock {
    /// The operating system's clock.
    System,
    /// A clock that always shows this time since the Unix epoch, for tests.
    Fixed(Duration),
    /// A clock that tests set, in milliseconds since the Unix epoch.
    Set(&'static AtomicU64),
}

impl Clock {
    /// Time since the Unix epoch; zero if the machine's clock is before it.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "this is the one place that reads the clock")]
    pub fn now(self) -> Duration {
        match self {
            Self::System => SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default(),
            Self::Fixed(time) => time,
            Self::Set(milliseconds) => Duration::from_millis(milliseconds.load(Ordering::Acquire)),
        }
    }
}
