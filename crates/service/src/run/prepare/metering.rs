//! The state of the metered code, which counts fuel. It is compiled when a call first sets a fuel
//! limit.

use parking_lot::Mutex;
use tokio::sync::Notify;

use wardian_vocabulary::error::ErrorKind;

/// The reason why fuel cannot be counted now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotMetering {
    /// The code is being compiled.
    #[error(
        "fuel cannot be counted yet: the metered code is being compiled, which takes a minute or \
        two, once; try again then, or omit `limits.fuel`"
    )]
    Compiling,
    /// The code could not be compiled.
    #[error("fuel cannot be counted on this server: omit `limits.fuel`")]
    Failed,
    /// The code does not exist, and calls do not start its compilation.
    #[error(
        "this server does not count fuel, because its operator has not installed the metered code \
        (`wardian engine install --metered`): omit `limits.fuel`"
    )]
    NotInstalled,
}

impl NotMetering {
    /// The kind of the error, as callers branch on it.
    pub(crate) const fn kind(self) -> ErrorKind {
        match self {
            Self::Compiling => ErrorKind::Overloaded,
            Self::Failed => ErrorKind::Internal,
            Self::NotInstalled => ErrorKind::InvalidParams,
        }
    }
}

/// Tracks the state of the metered code.
#[derive(Debug)]
pub struct Metering {
    state: Mutex<State>,
    asked: Notify,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Missing,
    Compiling,
    Failed,
    NotInstalled,
    Ready,
}

impl Metering {
    /// For workers that have the metered code.
    #[must_use]
    pub fn ready() -> Self {
        Self::new(State::Ready)
    }

    /// For workers that get the metered code when a call first needs it.
    #[must_use]
    pub fn missing() -> Self {
        Self::new(State::Missing)
    }

    /// For workers that do not have the metered code, on a server that never compiles it.
    #[must_use]
    pub fn not_installed() -> Self {
        Self::new(State::NotInstalled)
    }

    fn new(state: State) -> Self {
        Self { state: Mutex::new(state), asked: Notify::new() }
    }

    /// Makes sure that fuel can be counted now. The first call that needs the missing code starts
    /// its compilation.
    pub(crate) fn ensure(&self) -> Result<(), NotMetering> {
        let mut state = self.state.lock();
        match *state {
            State::Ready => Ok(()),
            State::Failed => Err(NotMetering::Failed),
            State::NotInstalled => Err(NotMetering::NotInstalled),
            State::Compiling => Err(NotMetering::Compiling),
            State::Missing => {
                *state = State::Compiling;
                self.asked.notify_one();
                Err(NotMetering::Compiling)
            }
        }
    }

    /// Waits until a call needs the missing code.
    pub async fn asked(&self) {
        self.asked.notified().await;
    }

    /// Records that every worker has the code.
    pub fn succeeded(&self) {
        *self.state.lock() = State::Ready;
    }

    /// Records that the code could not be compiled.
    pub fn failed(&self) {
        *self.state.lock() = State::Failed;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_first_who_asks_starts_the_compilation_and_all_wait_for_its_end() {
        let metering = Metering::missing();
        assert_eq!(metering.ensure(), Err(NotMetering::Compiling));
        metering.asked().await;
        assert_eq!(metering.ensure(), Err(NotMetering::Compiling));
        metering.succeeded();
        assert_eq!(metering.ensure(), Ok(()));
    }

    #[test]
    fn a_compilation_that_failed_is_not_tried_again() {
        let metering = Metering::missing();
        metering.ensure().unwrap_err();
        metering.failed();
        assert_eq!(metering.ensure(), Err(NotMetering::Failed));
        assert_eq!(Metering::ready().ensure(), Ok(()));
    }

    #[tokio::test]
    async fn a_server_that_never_compiles_is_asked_for_nothing() {
        let metering = Metering::not_installed();
        for _ in 0..2 {
            assert_eq!(metering.ensure(), Err(NotMetering::NotInstalled));
        }
        let asked = tokio::time::timeout(std::time::Duration::from_millis(20), metering.asked());
        assert!(asked.await.is_err());
    }
}
