//! All open connections, and who has to go when there is no room for another.
//!
//! INVARIANT(room-for-others): when there are as many connections as allowed, a new one takes the
//! place of the one that has kept us waiting longest. So clients that open connections and send
//! nothing, or send it byte by byte, cannot keep others out. A connection whose request is being
//! answered is never given up; if all are, the new one waits.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

use crate::http::pace::Phase;

/// The open connections.
#[derive(Debug)]
pub(crate) struct Crowd {
    places: Arc<Semaphore>,
    members: Mutex<Members>,
    /// Told whenever a connection has been answered and has nothing more to do.
    rested: Arc<Notify>,
}

#[derive(Debug, Default)]
struct Members {
    next: u64,
    open: HashMap<u64, Member>,
}

#[derive(Debug)]
struct Member {
    phase: Phase,
    leave: Arc<Notify>,
    is_leaving: bool,
}

/// A connection's place; given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    crowd: Arc<Crowd>,
    number: u64,
    leave: Arc<Notify>,
    _permit: OwnedSemaphorePermit,
}

impl Crowd {
    pub(crate) fn new(places: usize) -> Arc<Self> {
        let places = Arc::new(Semaphore::new(places.min(Semaphore::MAX_PERMITS)));
        Arc::new(Self { places, members: Mutex::default(), rested: Arc::default() })
    }

    /// The phase of a connection that is about to join.
    pub(crate) fn new_phase(&self) -> Phase {
        Phase::telling(Arc::clone(&self.rested))
    }

    /// A place for a connection in this phase. If there is none, whoever has kept us waiting
    /// longest has to leave; if nobody has, this waits until somebody does or leaves by itself.
    /// One connection joins after the other.
    pub(crate) async fn join(self: &Arc<Self>, phase: Phase) -> Option<Place> {
        let places = Arc::clone(&self.places);
        let permit = match places.try_acquire_owned() {
            Ok(permit) => permit,
            Err(_) => self.wait_for_place().await?,
        };
        let leave = Arc::new(Notify::new());
        let mut members = self.members.lock();
        let number = members.next;
        members.next = number.wrapping_add(1);
        members.open.insert(number, Member { phase, leave: Arc::clone(&leave), is_leaving: false });
        drop(members);
        Some(Place { crowd: Arc::clone(self), number, leave, _permit: permit })
    }

    async fn wait_for_place(&self) -> Option<OwnedSemaphorePermit> {
        let mut acquired = pin!(Arc::clone(&self.places).acquire_owned());
        loop {
            self.make_room();
            tokio::select! {
                biased;
                permit = &mut acquired => return permit.ok(),
                // What happened since `make_room` looked is remembered.
                () = self.rested.notified() => {}
            }
        }
    }

    /// Sends away whoever has kept us waiting longest, unless somebody is leaving already.
    fn make_room(&self) {
        let mut members = self.members.lock();
        if members.open.values().any(|member| member.is_leaving) {
            return;
        }
        let waiting = members
            .open
            .values_mut()
            .filter_map(|member| member.phase.waiting_since().map(|since| (since, member)));
        if let Some((_, member)) = waiting.min_by_key(|(since, _)| *since) {
            member.is_leaving = true;
            member.leave.notify_one();
        }
    }
}

impl Place {
    /// Resolves when the connection has to leave.
    pub(crate) async fn lost(&self) {
        self.leave.notified().await;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.crowd.members.lock().open.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    const SHORT: Duration = Duration::from_millis(20);

    #[tokio::test]
    async fn room_for_others_is_made_by_whoever_waits_longest() {
        let crowd = Crowd::new(2);
        let (first, busy) = (Phase::default(), Phase::default());
        busy.begin_request();
        let first = crowd.join(first).await.unwrap();
        let busy = crowd.join(busy).await.unwrap();
        let joining = crowd.join(Phase::default());
        tokio::pin!(joining);
        assert!(timeout(SHORT, &mut joining).await.is_err(), "there is no place yet");
        first.lost().await;
        assert!(timeout(SHORT, busy.lost()).await.is_err(), "it is busy");
        drop(first);
        assert!(joining.await.is_some());
    }

    #[tokio::test]
    async fn nobody_leaves_whose_request_is_being_answered() {
        let crowd = Crowd::new(1);
        let phase = Phase::default();
        phase.begin_request();
        let busy = crowd.join(phase).await.unwrap();
        let joining = crowd.join(Phase::default());
        tokio::pin!(joining);
        assert!(timeout(SHORT, &mut joining).await.is_err());
        assert!(timeout(SHORT, busy.lost()).await.is_err());
        drop(busy);
        assert!(joining.await.is_some());
    }

    #[tokio::test]
    async fn room_for_others_is_made_as_soon_as_somebody_has_been_answered() {
        let crowd = Crowd::new(2);
        let phases = [crowd.new_phase(), crowd.new_phase()];
        for phase in &phases {
            phase.begin_request();
        }
        let first = crowd.join(phases[0].clone()).await.unwrap();
        let second = crowd.join(phases[1].clone()).await.unwrap();
        let joining = crowd.join(crowd.new_phase());
        tokio::pin!(joining);
        assert!(timeout(SHORT, &mut joining).await.is_err(), "both are busy");
        for phase in &phases {
            phase.end_request();
            assert!(phase.rest());
        }
        assert!(timeout(SHORT, &mut joining).await.is_err(), "nobody has left yet");
        first.lost().await;
        assert!(timeout(SHORT, second.lost()).await.is_err(), "one place is enough");
        drop(first);
        assert!(joining.await.is_some());
    }

    #[tokio::test]
    async fn a_place_is_given_back() {
        let crowd = Crowd::new(1);
        for _ in 0..3 {
            drop(crowd.join(Phase::default()).await.unwrap());
        }
        assert!(crowd.members.lock().open.is_empty());
    }
}
