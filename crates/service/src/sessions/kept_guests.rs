//! The guests of sessions that workers keep, by session.
//!
//! A kept guest is a cache: its session goes on from its last checkpoint without it. The pool decides how
//! many guests workers keep and which of them it gives up; here is only the way to those that may be left.

use std::collections::HashMap;

use parking_lot::Mutex;

use crate::sessions::held::ended_sessions::EndedSessions;
use wardian_dispatch::HeldGuest;
use wardian_vocabulary::ids::{CheckpointId, SessionId};
use wardian_vocabulary::units::ByteCount;

/// Guests that are remembered at most. Most of them may be lost already.
const MOST: usize = 1_024;

/// The kept guests, each at a checkpoint of its session.
#[derive(Debug)]
pub(crate) struct KeptGuests<G = HeldGuest>(Mutex<Table<G>>);

#[derive(Debug)]
struct Table<G> {
    guests: HashMap<SessionId, Kept<G>>,
    /// Counts guests that were added.
    added: u64,
    ended: EndedSessions,
}

#[derive(Debug)]
struct Kept<G> {
    guest: G,
    /// The checkpoint of its session at which it is.
    at: CheckpointId,
    /// The size of its memory.
    memory: ByteCount,
    /// Its number among all that were added.
    added: u64,
}

impl<G> Default for KeptGuests<G> {
    fn default() -> Self {
        let (guests, ended) = (HashMap::new(), EndedSessions::default());
        Self(Mutex::new(Table { guests, added: 0, ended }))
    }
}

impl<G> KeptGuests<G> {
    /// Keeps the guest of a session, which is at this checkpoint and has so much memory. That of a session
    /// that has ended meanwhile is closed.
    pub(crate) fn put(&self, session: SessionId, at: CheckpointId, guest: G, memory: ByteCount) {
        let mut table = self.0.lock();
        if table.ended.has(&session) {
            drop(table);
            drop(guest);
            return;
        }
        table.added = table.added.saturating_add(1);
        let added = table.added;
        let before = table.guests.insert(session, Kept { guest, at, memory, added });
        let oldest = table.guests.iter().min_by_key(|(_, kept)| kept.added);
        let oldest = oldest.filter(|_| table.guests.len() > MOST).map(|(id, _)| id.clone());
        let surplus = oldest.and_then(|id| table.guests.remove(&id));
        drop(table);
        // Guests are closed outside of the lock.
        drop((before, surplus));
    }

    /// Takes the guest of a session out, if it is at this checkpoint. One that is at another is closed:
    /// its session has been restored.
    pub(crate) fn take(&self, session: &SessionId, at: &CheckpointId) -> Option<G> {
        let kept = self.0.lock().guests.remove(session)?;
        (kept.at == *at).then_some(kept.guest)
    }

    /// Closes the guest of a session, if there is one.
    pub(crate) fn close(&self, session: &SessionId) {
        let kept = self.0.lock().guests.remove(session);
        drop(kept);
    }

    /// Closes the guest of a session that has ended, also one that comes later.
    pub(crate) fn end(&self, session: &SessionId) {
        let mut table = self.0.lock();
        table.ended.note(session);
        let kept = table.guests.remove(session);
        drop(table);
        drop(kept);
    }

    /// The number of guests that are not lost, as far as `is_kept` can tell.
    pub(crate) fn count(&self, is_kept: impl Fn(&G) -> bool) -> usize {
        self.0.lock().guests.values().filter(|kept| is_kept(&kept.guest)).count()
    }

    /// The memory of the guest of a session, if one was kept at this checkpoint and is not lost, as far as
    /// `is_kept` can tell.
    pub(crate) fn memory_of(
        &self,
        session: &SessionId,
        at: &CheckpointId,
        is_kept: impl FnOnce(&G) -> bool,
    ) -> Option<ByteCount> {
        let table = self.0.lock();
        let kept = table.guests.get(session).filter(|kept| kept.at == *at);
        kept.filter(|kept| is_kept(&kept.guest)).map(|kept| kept.memory)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use wardian_vocabulary::ids::Digest;

    fn session(number: u128) -> SessionId {
        SessionId::of_random(&number.to_le_bytes())
    }

    fn checkpoint(cell: u32) -> CheckpointId {
        CheckpointId::new(cell, &Digest::of(&cell.to_le_bytes()))
    }

    const MEMORY: ByteCount = ByteCount::mebibytes(40);

    #[test]
    fn a_guest_is_taken_at_its_checkpoint_and_closed_at_any_other() {
        let (kept, guest) = (KeptGuests::default(), Arc::new(()));
        let put = |cell| kept.put(session(1), checkpoint(cell), Arc::clone(&guest), MEMORY);
        let memory = |cell| kept.memory_of(&session(1), &checkpoint(cell), |_| true);
        put(1);
        assert_eq!((memory(1), memory(2)), (Some(MEMORY), None));
        assert_eq!(kept.memory_of(&session(1), &checkpoint(1), |_| false), None, "it is lost");
        assert!(kept.take(&session(2), &checkpoint(1)).is_none());
        assert!(kept.take(&session(1), &checkpoint(1)).is_some());
        assert!(kept.take(&session(1), &checkpoint(1)).is_none(), "it was taken");

        put(2);
        assert!(kept.take(&session(1), &checkpoint(1)).is_none());
        assert_eq!(Arc::strong_count(&guest), 1, "it was closed");
        put(2);
        put(3);
        assert_eq!(Arc::strong_count(&guest), 2, "a session has one guest");
        kept.close(&session(1));
        assert_eq!(Arc::strong_count(&guest), 1);
    }

    #[test]
    fn a_session_that_has_ended_keeps_no_guest() {
        let (kept, guest) = (KeptGuests::default(), Arc::new(()));
        let put = |number| kept.put(session(number), checkpoint(1), Arc::clone(&guest), MEMORY);
        put(1);
        kept.end(&session(1));
        put(1);
        assert_eq!(Arc::strong_count(&guest), 1, "it came too late");
        put(2);
        assert_eq!(Arc::strong_count(&guest), 2);
    }

    #[test]
    fn the_oldest_guests_make_room() {
        let kept = KeptGuests::default();
        let most = u128::try_from(MOST).unwrap();
        for number in 0..=most {
            kept.put(session(number), checkpoint(1), (), MEMORY);
        }
        let has = |number| kept.memory_of(&session(number), &checkpoint(1), |()| true).is_some();
        assert!(!has(0));
        assert_eq!((kept.count(|()| true), kept.count(|()| false)), (MOST, 0));
        assert!((1..=most).all(has));
    }
}
