//! What keeps a server from executing calls, and how far it is.

use std::fmt;
use std::time::Duration;

/// The longest time after which a client is asked to call again while the engine is prepared. The
/// time that is left is an estimate, and another process may be faster.
const LONGEST_RETRY: Duration = Duration::from_secs(30);

/// The time after which a client is asked to call again if nothing is known about the time left.
const USUAL_RETRY: Duration = Duration::from_secs(5);

/// A step of the preparation, with as much as is known about it. Clients see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreparationStep {
    /// What is being done and how far it is, in words.
    pub text: String,
    /// The share that is done.
    pub percent: Option<u8>,
    /// The time that is left at the speed so far.
    pub remaining: Option<Duration>,
}

/// The reason why nothing can be executed yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Preparation {
    /// Something is being prepared.
    Going {
        /// The part of the server that is missing, such as `the engine`.
        part: &'static str,
        /// The step, if it takes long enough to be told.
        step: Option<PreparationStep>,
    },
    /// It could not be prepared, and is tried again.
    Failed {
        /// The reason, and what to do.
        reason: String,
        /// The time until the next attempt.
        retry: Duration,
    },
}

impl Preparation {
    /// The preparation of `part`, about which nothing more is known.
    #[must_use]
    pub const fn of(part: &'static str) -> Self {
        Self::Going { part, step: None }
    }

    /// The delay after which a call can succeed.
    pub(super) fn retry(&self) -> Duration {
        match self {
            Self::Going { step, .. } => {
                let left = step.as_ref().and_then(|step| step.remaining);
                let least = Duration::from_secs(1);
                left.map_or(USUAL_RETRY, |left| left.clamp(least, LONGEST_RETRY))
            }
            Self::Failed { retry, .. } => *retry,
        }
    }
}

/// `waiting for the engine: compiling the engine: 40 %, about 2 minutes left`.
impl fmt::Display for Preparation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Going { part, step: None } => write!(f, "waiting for {part}"),
            Self::Going { part, step: Some(step) } => {
                write!(f, "waiting for {part}: {}", step.text)
            }
            Self::Failed { reason, retry } => write!(
                f,
                "the engine could not be prepared; next attempt in {} s: {reason}",
                retry.as_secs().max(1)
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_is_asked_to_come_back_when_it_is_worth_it() {
        let going = |remaining: Option<u64>| {
            let remaining = remaining.map(Duration::from_secs);
            let step =
                PreparationStep { text: "compiling".to_owned(), percent: Some(1), remaining };
            Preparation::Going { part: "the engine", step: Some(step) }.retry().as_secs()
        };
        for (remaining, retry) in [(None, 5), (Some(0), 1), (Some(12), 12), (Some(900), 30)] {
            assert_eq!(going(remaining), retry, "{remaining:?}");
        }
        let retry = Duration::from_secs(240);
        let failed = Preparation::Failed { reason: "no network".to_owned(), retry };
        assert_eq!(failed.retry(), retry);
        assert_eq!(
            failed.to_string(),
            "the engine could not be prepared; next attempt in 240 s: no network"
        );
        assert_eq!(Preparation::of("the workers").to_string(), "waiting for the workers");
    }
}
