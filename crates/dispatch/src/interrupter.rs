//! Interrupts the turn that a guest has.

use std::sync::Arc;

use tokio::sync::watch;

/// What a guest does, as its interrupters see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Progress {
    Idle,
    InTurn,
    Interrupted,
}

/// Interrupts the turn in progress of one [`HeldGuest`](crate::HeldGuest), from any task or thread.
///
/// A cell sees a `KeyboardInterrupt` and keeps its state, unless it does not end within
/// [`INTERRUPT_GRACE`](wardian_formats::job::session::cell::INTERRUPT_GRACE). Any other turn is stopped. A
/// turn that still waits for its worker is interrupted as soon as it begins.
#[derive(Debug, Clone)]
pub struct TurnInterrupter(Arc<watch::Sender<Progress>>);

impl TurnInterrupter {
    pub(crate) fn new() -> Self {
        Self(Arc::new(watch::Sender::new(Progress::Idle)))
    }

    /// Interrupts the turn in progress, once. Waits for nothing. False if there is none, and then nothing
    /// happens: a later turn is not affected.
    pub fn interrupt(&self) -> bool {
        let mut is_in_turn = false;
        self.0.send_if_modified(|progress| {
            is_in_turn = *progress != Progress::Idle;
            let is_first = *progress == Progress::InTurn;
            if is_first {
                *progress = Progress::Interrupted;
            }
            is_first
        });
        is_in_turn
    }

    /// Notes that a turn begins, until the value is dropped.
    pub(crate) fn begin_turn(&self) -> TurnInProgress<'_> {
        self.0.send_replace(Progress::InTurn);
        TurnInProgress(self)
    }
}

/// A turn that can be interrupted.
#[derive(Debug)]
pub(crate) struct TurnInProgress<'guest>(&'guest TurnInterrupter);

impl TurnInProgress<'_> {
    /// Ends the turn. True if it was interrupted.
    pub(crate) fn end(self) -> bool {
        self.0.0.send_replace(Progress::Idle) == Progress::Interrupted
    }

    /// The interruption of this turn.
    pub(crate) fn interruption(&self) -> TurnInterruption {
        TurnInterruption(Some(self.0.0.subscribe()))
    }
}

impl Drop for TurnInProgress<'_> {
    fn drop(&mut self) {
        self.0.0.send_replace(Progress::Idle);
    }
}

/// The interruption of one turn, which may happen.
#[derive(Debug, Clone)]
pub(crate) struct TurnInterruption(Option<watch::Receiver<Progress>>);

impl TurnInterruption {
    /// That of a run, which nobody interrupts.
    pub(crate) const fn never() -> Self {
        Self(None)
    }

    /// Waits until the turn is interrupted. Returns once.
    ///
    /// Cancellation: nothing is lost.
    pub(crate) async fn happens(&mut self) {
        if let Some(progress) = &mut self.0
            && progress.wait_for(|progress| *progress == Progress::Interrupted).await.is_ok()
        {
            self.0 = None;
            return;
        }
        std::future::pending::<()>().await;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    async fn has_happened(interruption: &mut TurnInterruption) -> bool {
        timeout(Duration::from_millis(5), interruption.happens()).await.is_ok()
    }

    #[tokio::test]
    async fn one_turn_is_interrupted_once_and_no_other() {
        let interrupter = TurnInterrupter::new();
        assert!(!interrupter.interrupt(), "there is no turn");
        let turn = interrupter.begin_turn();
        let mut interruption = turn.interruption();
        assert!(!has_happened(&mut interruption).await);
        let other = interrupter.clone();
        assert!(other.interrupt() && interrupter.interrupt());
        // Whoever looks later sees it too.
        assert!(has_happened(&mut turn.interruption()).await);
        assert!(has_happened(&mut interruption).await);
        assert!(!has_happened(&mut interruption).await, "it was told twice");
        assert!(turn.end());
        assert!(!interrupter.interrupt());
        assert!(!interrupter.begin_turn().end(), "it was not interrupted");
        let mut next = interrupter.begin_turn().interruption();
        assert!(!has_happened(&mut next).await);
        assert!(!has_happened(&mut TurnInterruption::never()).await);
    }
}
