//! A bounded queue that is fair between tenants.
//!
//! Tenants take turns. Entries of one tenant are served in the order of their arrival. When the
//! queue is full, a new entry takes the place of the youngest entry of the tenant that has the most
//! entries, unless the new entry's tenant would then have more. So a tenant with many requests can
//! neither delay the others nor displace them.
//!
//! INVARIANT(fair-turns): with `n` tenants waiting, each gets every `n`-th place.
//! INVARIANT(fair-room): a tenant with fewer entries than another is not turned away.

use std::collections::{BTreeMap, VecDeque};

use crate::ids::TenantId;

/// Entries of type `T`, each waiting for its turn.
#[derive(Debug)]
pub(crate) struct FairQueue<T> {
    /// The waiting entries of each tenant. No line is empty.
    lines: BTreeMap<TenantId, VecDeque<T>>,
    /// The tenants of `lines`, in the order of their turns.
    turns: VecDeque<TenantId>,
    length: usize,
    capacity: usize,
}

/// The decision about a new entry.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Enqueued<T> {
    /// The entry waits.
    Waits,
    /// The entry waits, and this older entry has lost its place to it.
    Displaces(T),
    /// There is no room for the entry.
    NoRoom(T),
}

impl<T> FairQueue<T> {
    pub(crate) fn new(capacity: usize) -> Self {
        Self { lines: BTreeMap::new(), turns: VecDeque::new(), length: 0, capacity }
    }

    pub(crate) const fn len(&self) -> usize {
        self.length
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Adds `item` at the end of its tenant's line.
    pub(crate) fn push(&mut self, tenant: &TenantId, item: T) -> Enqueued<T> {
        if self.length < self.capacity {
            self.append(tenant, item);
            return Enqueued::Waits;
        }
        match self.displace(tenant) {
            Some(displaced) => {
                self.append(tenant, item);
                Enqueued::Displaces(displaced)
            }
            None => Enqueued::NoRoom(item),
        }
    }

    /// Takes out the entry whose turn it is.
    pub(crate) fn pop(&mut self) -> Option<T> {
        let tenant = self.turns.pop_front()?;
        let line = self.lines.get_mut(&tenant)?;
        let item = line.pop_front();
        if line.is_empty() {
            self.lines.remove(&tenant);
        } else {
            self.turns.push_back(tenant);
        }
        self.length = self.length.saturating_sub(usize::from(item.is_some()));
        item
    }

    /// Removes the first entry of `tenant` for which `is_wanted` holds.
    pub(crate) fn remove(
        &mut self,
        tenant: &TenantId,
        is_wanted: impl FnMut(&T) -> bool,
    ) -> Option<T> {
        let line = self.lines.get_mut(tenant)?;
        let at = line.iter().position(is_wanted)?;
        let item = line.remove(at);
        self.forget_if_empty(tenant);
        self.length = self.length.saturating_sub(usize::from(item.is_some()));
        item
    }

    fn append(&mut self, tenant: &TenantId, item: T) {
        let line = self.lines.entry(tenant.clone()).or_default();
        if line.is_empty() {
            self.turns.push_back(tenant.clone());
        }
        line.push_back(item);
        self.length = self.length.saturating_add(1);
    }

    /// Removes the youngest entry of the longest line, if that line stays at least as long as
    /// the one of `tenant` will be.
    fn displace(&mut self, tenant: &TenantId) -> Option<T> {
        let own = self.lines.get(tenant).map_or(0, VecDeque::len);
        let (longest, line) = self.lines.iter_mut().max_by_key(|(_, line)| line.len())?;
        if line.len() <= own.saturating_add(1) {
            return None;
        }
        let longest = longest.clone();
        let item = line.pop_back();
        self.forget_if_empty(&longest);
        self.length = self.length.saturating_sub(usize::from(item.is_some()));
        item
    }

    fn forget_if_empty(&mut self, tenant: &TenantId) {
        if self.lines.get(tenant).is_some_and(VecDeque::is_empty) {
            self.lines.remove(tenant);
            self.turns.retain(|other| other != tenant);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn tenant(name: &str) -> TenantId {
        TenantId::parse(name).unwrap()
    }

    fn drain<T>(queue: &mut FairQueue<T>) -> Vec<T> {
        std::iter::from_fn(|| queue.pop()).collect()
    }

    #[test]
    fn fair_turns_however_many_one_tenant_brings() {
        let mut queue = FairQueue::new(100);
        for item in ["a1", "a2", "a3", "a4", "b1", "c1", "b2"] {
            assert_eq!(queue.push(&tenant(item.get(..1).unwrap()), item), Enqueued::Waits);
        }
        assert_eq!(drain(&mut queue), ["a1", "b1", "c1", "a2", "b2", "a3", "a4"]);
    }

    #[test]
    fn fair_room_when_the_queue_is_full() {
        let mut queue = FairQueue::new(4);
        for item in ["a1", "a2", "a3", "a4"] {
            assert_eq!(queue.push(&tenant("a"), item), Enqueued::Waits);
        }
        assert_eq!(queue.push(&tenant("a"), "a5"), Enqueued::NoRoom("a5"));
        assert_eq!(queue.push(&tenant("b"), "b1"), Enqueued::Displaces("a4"));
        assert_eq!(queue.push(&tenant("b"), "b2"), Enqueued::Displaces("a3"));
        assert_eq!(queue.push(&tenant("b"), "b3"), Enqueued::NoRoom("b3"), "two each is fair");
        assert_eq!(drain(&mut queue), ["a1", "b1", "a2", "b2"]);
    }

    #[test]
    fn a_removed_entry_is_not_served() {
        let mut queue = FairQueue::new(4);
        for item in ["a1", "b1", "b2"] {
            queue.push(&tenant(item.get(..1).unwrap()), item);
        }
        assert_eq!(queue.remove(&tenant("b"), |item| *item == "b1"), Some("b1"));
        assert_eq!(queue.remove(&tenant("a"), |item| *item == "a1"), Some("a1"));
        assert_eq!(queue.remove(&tenant("a"), |item| *item == "a1"), None);
        assert_eq!(drain(&mut queue), ["b2"]);
    }

    #[test]
    fn a_queue_without_capacity_refuses_every_entry() {
        let mut queue = FairQueue::new(0);
        assert_eq!(queue.push(&tenant("a"), 1), Enqueued::NoRoom(1));
    }

    proptest! {
        #[test]
        fn whatever_happens_the_length_is_right(
            steps in proptest::collection::vec((0_u8..4, 0_usize..3), 0..200),
        ) {
            let names = [tenant("a"), tenant("b"), tenant("c")];
            let mut queue = FairQueue::new(10);
            for (number, (step, who)) in steps.into_iter().enumerate() {
                match step {
                    0 | 1 => drop(queue.push(&names[who], number)),
                    2 => drop(queue.pop()),
                    _ => drop(queue.remove(&names[who], |_| true)),
                }
                let waiting: usize = queue.lines.values().map(VecDeque::len).sum();
                prop_assert_eq!(queue.len(), waiting);
                prop_assert_eq!(queue.turns.len(), queue.lines.len());
                prop_assert!(queue.len() <= 10);
            }
            let length = queue.len();
            prop_assert_eq!(drain(&mut queue).len(), length);
        }
    }
}
