//! Limits the number of open connections: the longest-idle one is closed to make room.
//!
//! INVARIANT(room-for-others): when as many connections are open as allowed, the longest-idle one
//! is closed for a new one. So clients that open connections and send nothing, or send their
//! requests byte by byte, cannot block others. A connection whose request is being answered is
//! never closed; if all connections are busy, the new one waits.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

use crate::http::connection::timeouts::ConnectionPhase;

/// The open connections.
#[derive(Debug)]
pub(crate) struct ConnectionLimit {
    permits: Arc<Semaphore>,
    connections: Mutex<Connections>,
    /// Notified whenever a connection has been answered and becomes idle.
    rested: Arc<Notify>,
}

#[derive(Debug, Default)]
struct Connections {
    next: u64,
    open: HashMap<u64, Connection>,
}

#[derive(Debug)]
struct Connection {
    phase: ConnectionPhase,
    close: Arc<Notify>,
    is_closing: bool,
}

/// The permit of one open connection. Dropping it admits another.
#[derive(Debug)]
pub(crate) struct ConnectionPermit {
    limit: Arc<ConnectionLimit>,
    number: u64,
    close: Arc<Notify>,
    _permit: OwnedSemaphorePermit,
}

impl ConnectionLimit {
    pub(crate) fn new(permits: usize) -> Arc<Self> {
        let permits = Arc::new(Semaphore::new(permits.min(Semaphore::MAX_PERMITS)));
        Arc::new(Self { permits, connections: Mutex::default(), rested: Arc::default() })
    }

    /// The phase of a connection that is about to be admitted.
    pub(crate) fn new_phase(&self) -> ConnectionPhase {
        ConnectionPhase::telling(Arc::clone(&self.rested))
    }

    /// Admits a connection whose phase is `phase`. If too many are open, the longest-idle one is
    /// closed; if none is idle, this waits until one becomes idle or ends. Connections are admitted
    /// one after the other.
    pub(crate) async fn admit(
        self: &Arc<Self>,
        phase: ConnectionPhase,
    ) -> Option<ConnectionPermit> {
        let permits = Arc::clone(&self.permits);
        let permit = match permits.try_acquire_owned() {
            Ok(permit) => permit,
            Err(_) => self.wait_for_room().await?,
        };
        let close = Arc::new(Notify::new());
        let mut connections = self.connections.lock();
        let number = connections.next;
        connections.next = number.wrapping_add(1);
        connections
            .open
            .insert(number, Connection { phase, close: Arc::clone(&close), is_closing: false });
        drop(connections);
        Some(ConnectionPermit { limit: Arc::clone(self), number, close, _permit: permit })
    }

    async fn wait_for_room(&self) -> Option<OwnedSemaphorePermit> {
        let mut acquired = pin!(Arc::clone(&self.permits).acquire_owned());
        loop {
            self.make_room();
            tokio::select! {
                biased;
                permit = &mut acquired => return permit.ok(),
                // Notifications since the call of `make_room` are remembered.
                () = self.rested.notified() => {}
            }
        }
    }

    /// Closes the longest-idle connection, unless one is closing already.
    fn make_room(&self) {
        let mut connections = self.connections.lock();
        if connections.open.values().any(|connection| connection.is_closing) {
            return;
        }
        let waiting = connections.open.values_mut().filter_map(|connection| {
            connection.phase.waiting_since().map(|since| (since, connection))
        });
        if let Some((_, connection)) = waiting.min_by_key(|(since, _)| *since) {
            connection.is_closing = true;
            connection.close.notify_one();
        }
    }
}

impl ConnectionPermit {
    /// Resolves when the connection must close.
    pub(crate) async fn revoked(&self) {
        self.close.notified().await;
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        self.limit.connections.lock().open.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    const SHORT: Duration = Duration::from_millis(20);

    #[tokio::test]
    async fn room_for_others_is_made_by_the_longest_idle() {
        let limit = ConnectionLimit::new(2);
        let (first, busy) = (ConnectionPhase::default(), ConnectionPhase::default());
        busy.begin_request();
        let first = limit.admit(first).await.unwrap();
        let busy = limit.admit(busy).await.unwrap();
        let admitting = limit.admit(ConnectionPhase::default());
        tokio::pin!(admitting);
        assert!(timeout(SHORT, &mut admitting).await.is_err(), "there is no place yet");
        first.revoked().await;
        assert!(timeout(SHORT, busy.revoked()).await.is_err(), "it is busy");
        drop(first);
        assert!(admitting.await.is_some());
    }

    #[tokio::test]
    async fn a_connection_whose_request_is_being_answered_is_not_closed() {
        let limit = ConnectionLimit::new(1);
        let phase = ConnectionPhase::default();
        phase.begin_request();
        let busy = limit.admit(phase).await.unwrap();
        let admitting = limit.admit(ConnectionPhase::default());
        tokio::pin!(admitting);
        assert!(timeout(SHORT, &mut admitting).await.is_err());
        assert!(timeout(SHORT, busy.revoked()).await.is_err());
        drop(busy);
        assert!(admitting.await.is_some());
    }

    #[tokio::test]
    async fn room_for_others_is_made_as_soon_as_a_connection_becomes_idle() {
        let limit = ConnectionLimit::new(2);
        let phases = [limit.new_phase(), limit.new_phase()];
        for phase in &phases {
            phase.begin_request();
        }
        let first = limit.admit(phases[0].clone()).await.unwrap();
        let second = limit.admit(phases[1].clone()).await.unwrap();
        let admitting = limit.admit(limit.new_phase());
        tokio::pin!(admitting);
        assert!(timeout(SHORT, &mut admitting).await.is_err(), "both are busy");
        for phase in &phases {
            phase.end_request();
            assert!(phase.rest());
        }
        assert!(timeout(SHORT, &mut admitting).await.is_err(), "nobody has left yet");
        first.revoked().await;
        assert!(timeout(SHORT, second.revoked()).await.is_err(), "one place is enough");
        drop(first);
        assert!(admitting.await.is_some());
    }

    #[tokio::test]
    async fn a_dropped_permit_admits_another_connection() {
        let limit = ConnectionLimit::new(1);
        for _ in 0..3 {
            drop(limit.admit(ConnectionPhase::default()).await.unwrap());
        }
        assert!(limit.connections.lock().open.is_empty());
    }
}
