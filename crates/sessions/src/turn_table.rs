//! One cell at a time.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::OwnedMutexGuard;
use tokio::time::timeout;

use wardian_vocabulary::ids::SessionId;

/// The sessions that have a turn, or whose turn is waited for.
#[derive(Debug, Clone, Default)]
pub(crate) struct TurnTable(Arc<Mutex<HashMap<SessionId, Arc<tokio::sync::Mutex<()>>>>>);

/// The turn of a session, given back when it is dropped.
#[derive(Debug)]
pub(crate) struct TurnPermit {
    table: TurnTable,
    session: SessionId,
    guard: Option<OwnedMutexGuard<()>>,
}

impl TurnTable {
    /// Takes the turn of a session, and waits for it for this time. Those that wait get it in their order.
    ///
    /// Cancellation: the place is given up.
    pub(crate) async fn take(&self, session: &SessionId, wait: Duration) -> Option<TurnPermit> {
        // Tidies up if the wait is given up.
        let mut permit = TurnPermit { table: self.clone(), session: session.clone(), guard: None };
        let turn = Arc::clone(self.0.lock().entry(session.clone()).or_default());
        permit.guard = match Arc::clone(&turn).try_lock_owned() {
            Ok(guard) => Some(guard),
            Err(_) if wait.is_zero() => None,
            Err(_) => timeout(wait, turn.lock_owned()).await.ok(),
        };
        permit.guard.is_some().then_some(permit)
    }
}

impl Drop for TurnPermit {
    fn drop(&mut self) {
        drop(self.guard.take());
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
}
