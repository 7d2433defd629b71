//! Limits the number of open connections, and that of each address: the longest-idle one is closed
//! to make room.
//!
//! INVARIANT(room-for-others): when as many connections are open as allowed, the longest-idle one
//! is closed for a new one. So clients that open connections and send nothing, or send their
//! requests byte by byte, cannot block others. A connection whose request is being answered is
//! never closed; if all connections are busy, the new one waits.
//! INVARIANT(share-of-connections): the connections of one address make room for each other before
//! they make room with those of others, and an address whose connections are all busy gets no
//! further one. So a client that keeps its connections busy, with slow uploads or long runs, leaves
//! the rest to others.

use std::collections::{BTreeSet, HashMap};
use std::net::{IpAddr, Ipv6Addr};
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
    /// Numbers of the connections of each address, but those that are closing for another.
    of_address: HashMap<AddressBlock, BTreeSet<u64>>,
}

/// The addresses of one client: an IPv4 address, or the network of 64 bits of an IPv6 address. A
/// machine has all addresses of its network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct AddressBlock(IpAddr);

impl AddressBlock {
    pub(crate) fn of(address: IpAddr) -> Self {
        Self(match address.to_canonical() {
            IpAddr::V4(address) => IpAddr::V4(address),
            IpAddr::V6(address) => {
                let network = address.to_bits() >> 64 << 64;
                IpAddr::V6(Ipv6Addr::from_bits(network))
            }
        })
    }
}

#[derive(Debug)]
struct Connection {
    address: AddressBlock,
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

    /// Makes room for another connection of an address that may have `most`: if it has as many, its
    /// longest-idle one is closed. Returns false if none of them is idle.
    pub(crate) fn make_room_within(&self, address: AddressBlock, most: usize) -> bool {
        let connections = &mut *self.connections.lock();
        let Some(numbers) = connections.of_address.get_mut(&address) else { return true };
        if numbers.len() < most {
            return true;
        }
        let open = &mut connections.open;
        let waiting = numbers.iter().filter_map(|number| {
            let since = open.get(number).and_then(|connection| connection.phase.waiting_since());
            since.map(|since| (since, *number))
        });
        let Some((_, longest)) = waiting.min() else { return false };
        numbers.remove(&longest);
        if let Some(connection) = open.get_mut(&longest) {
            connection.is_closing = true;
            connection.close.notify_one();
        }
        true
    }

    /// Admits a connection of `address` whose phase is `phase`. If too many are open, the
    /// longest-idle one is closed; if none is idle, this waits until one becomes idle or ends.
    /// Connections are admitted one after the other.
    pub(crate) async fn admit(
        self: &Arc<Self>,
        address: AddressBlock,
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
        connections.of_address.entry(address).or_default().insert(number);
        let connection =
            Connection { address, phase, close: Arc::clone(&close), is_closing: false };
        connections.open.insert(number, connection);
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
        let connections = &mut *self.limit.connections.lock();
        let Some(connection) = connections.open.remove(&self.number) else { return };
        if let Some(numbers) = connections.of_address.get_mut(&connection.address) {
            numbers.remove(&self.number);
            if numbers.is_empty() {
                connections.of_address.remove(&connection.address);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    const SHORT: Duration = Duration::from_millis(20);

    fn address(last: u8) -> AddressBlock {
        AddressBlock::of([192, 0, 2, last].into())
    }

    #[tokio::test]
    async fn room_for_others_is_made_by_the_longest_idle() {
        let limit = ConnectionLimit::new(2);
        let (first, busy) = (ConnectionPhase::default(), ConnectionPhase::default());
        busy.begin_request();
        let first = limit.admit(address(1), first).await.unwrap();
        let busy = limit.admit(address(1), busy).await.unwrap();
        let admitting = limit.admit(address(1), ConnectionPhase::default());
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
        let busy = limit.admit(address(1), phase).await.unwrap();
        let admitting = limit.admit(address(1), ConnectionPhase::default());
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
        let first = limit.admit(address(1), phases[0].clone()).await.unwrap();
        let second = limit.admit(address(1), phases[1].clone()).await.unwrap();
        let admitting = limit.admit(address(1), limit.new_phase());
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
            drop(limit.admit(address(1), ConnectionPhase::default()).await.unwrap());
        }
        let connections = limit.connections.lock();
        assert!(connections.open.is_empty() && connections.of_address.is_empty());
    }

    #[tokio::test]
    async fn share_of_connections_is_used_by_the_idle_ones_of_the_same_address() {
        let limit = ConnectionLimit::new(10);
        let others = limit.admit(address(2), ConnectionPhase::default()).await.unwrap();
        let first = limit.admit(address(1), ConnectionPhase::default()).await.unwrap();
        assert!(limit.make_room_within(address(1), 2), "there is room for a second one");
        let second = limit.admit(address(1), ConnectionPhase::default()).await.unwrap();
        assert!(limit.make_room_within(address(1), 2));
        first.revoked().await;
        for kept in [&others, &second] {
            assert!(timeout(SHORT, kept.revoked()).await.is_err());
        }
        // The one that is closing counts no more.
        let third = limit.admit(address(1), ConnectionPhase::default()).await.unwrap();
        drop(first);
        assert!(limit.make_room_within(address(1), 2));
        second.revoked().await;
        drop((second, third, others));
        assert!(limit.connections.lock().of_address.is_empty());
    }

    #[tokio::test]
    async fn share_of_connections_that_is_all_busy_admits_no_further_one() {
        let limit = ConnectionLimit::new(10);
        let phase = ConnectionPhase::default();
        phase.begin_request();
        let busy = limit.admit(address(1), phase).await.unwrap();
        assert!(!limit.make_room_within(address(1), 1));
        assert!(limit.make_room_within(address(2), 1), "others are not concerned");
        assert!(timeout(SHORT, busy.revoked()).await.is_err());
        drop(busy);
        assert!(limit.make_room_within(address(1), 1));
    }

    #[test]
    fn a_network_of_ipv6_is_one_client() {
        let block = |text: &str| AddressBlock::of(text.parse().unwrap());
        assert_eq!(block("2001:db8:0:1::1"), block("2001:db8:0:1:ffff::2"));
        assert_ne!(block("2001:db8:0:1::1"), block("2001:db8:0:2::1"));
        assert_eq!(block("::ffff:192.0.2.7"), block("192.0.2.7"));
        assert_ne!(block("192.0.2.7"), block("192.0.2.8"));
    }
}
