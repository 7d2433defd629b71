//! One cell at a time.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::OwnedMutexGuard;
use tokio::time::timeout;

use wardian_vocabulary::ids::SessionId;

/// How long everybody waits for the end of a turn that is being rolled back: the caller of its cell has its
/// answer already, and may go on at once.
const ENDING: Duration = Duration::from_secs(10);

/// The sessions that have a turn, or whose turn is waited for.
#[derive(Debug, Clone, Default)]
pub(crate) struct TurnTable(Arc<Mutex<HashMap<SessionId, Arc<TurnPlace>>>>);

/// The turn of one session.
#[derive(Debug, Default)]
struct TurnPlace {
    lock: Arc<tokio::sync::Mutex<()>>,
    /// True while it is being rolled back.
    is_ending: AtomicBool,
}

/// The turn of a session, given back when it is dropped.
#[derive(Debug)]
pub(crate) struct TurnPermit {
    table: TurnTable,
    session: SessionId,
    place: Option<Arc<TurnPlace>>,
    guard: Option<OwnedMutexGuard<()>>,
}

impl TurnTable {
    /// Takes the turn of a session, and waits for it for this time. Those that wait get it in their order.
    ///
    /// Cancellation: the place is given up.
    pub(crate) async fn take(&self, session: &SessionId, wait: Duration) -> Option<TurnPermit> {
        // Tidies up if the wait is given up.
        let place = Arc::clone(self.0.lock().entry(session.clone()).or_default());
        let (table, session) = (self.clone(), session.clone());
        let turn = Arc::clone(&place.lock);
        let mut permit = TurnPermit { table, session, place: Some(place), guard: None };
        permit.guard = match Arc::clone(&turn).try_lock_owned() {
            Ok(guard) => Some(guard),
            Err(_) => {
                let wait = if permit.is_ending() { wait.max(ENDING) } else { wait };
                if wait.is_zero() { None } else { timeout(wait, turn.lock_owned()).await.ok() }
            }
        };
        permit.guard.as_ref()?;
        permit.note(false);
        Some(permit)
    }
}

impl TurnTable {
    /// Waits for the end of a turn that is being rolled back. Returns false if none is.
    pub(crate) async fn await_ending(&self, session: &SessionId) -> bool {
        let place = self.0.lock().get(session).map(Arc::clone);
        let is_ending = place.is_some_and(|place| place.is_ending.load(Ordering::Acquire));
        is_ending && self.take(session, Duration::ZERO).await.is_some()
    }
}

impl TurnPermit {
    /// Says that the turn is being rolled back: whoever comes now waits for it.
    pub(crate) fn begin_ending(&self) {
        self.note(true);
    }

    fn note(&self, is_ending: bool) {
        if let Some(place) = &self.place {
            place.is_ending.store(is_ending, Ordering::Release);
        }
    }

    fn is_ending(&self) -> bool {
        self.place.as_ref().is_some_and(|place| place.is_ending.load(Ordering::Acquire))
    }
}

impl Drop for TurnPermit {
    fn drop(&mut self) {
        drop(self.guard.take());
        drop(self.place.take());
        let mut turns = self.table.0.lock();
        if turns.get(&self.session).is_some_and(|turn| Arc::strong_count(turn) == 1) {
            turns.remove(&self.session);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_turn_is_taken_once_and_waited_for() {
        let (table, short) = (TurnTable::default(), Duration::from_millis(1));
        let [one, other] = [1, 2].map(|number| SessionId::of_random(&[number; 16]));
        let held = table.take(&one, Duration::ZERO).await.unwrap();
        assert!(table.take(&one, Duration::ZERO).await.is_none());
        assert!(table.take(&one, short).await.is_none());
        assert!(table.take(&other, Duration::ZERO).await.is_some());
        let waiting = tokio::spawn({
            let (table, one) = (table.clone(), one.clone());
            async move { table.take(&one, Duration::from_secs(600)).await }
        });
        while table.0.lock().get(&one).is_some_and(|turn| Arc::strong_count(turn) < 3) {
            tokio::task::yield_now().await;
        }
        assert!(!waiting.is_finished());
        drop(held);
        let held = waiting.await.unwrap();
        assert!(held.is_some() && table.take(&one, Duration::ZERO).await.is_none());
        drop(held);
        assert!(table.0.lock().is_empty(), "nothing is left of them");
    }

    #[tokio::test]
    async fn a_turn_that_is_being_rolled_back_is_waited_for() {
        let (table, one) = (TurnTable::default(), SessionId::of_random(&[1; 16]));
        let held = table.take(&one, Duration::ZERO).await.unwrap();
        held.begin_ending();
        let (next, ()) = tokio::join!(table.take(&one, Duration::ZERO), async {
            tokio::task::yield_now().await;
            drop(held);
        });
        let next = next.unwrap();
        assert!(table.take(&one, Duration::ZERO).await.is_none(), "the next turn is not ending");
        assert!(!table.await_ending(&one).await, "nor is it waited for");
        next.begin_ending();
        let (has_ended, ()) = tokio::join!(table.await_ending(&one), async {
            tokio::task::yield_now().await;
            drop(next);
        });
        assert!(has_ended && !table.await_ending(&one).await);
        let next = table.take(&one, Duration::ZERO).await.unwrap();
        drop(next);
        assert!(table.0.lock().is_empty());
    }
}
