//! Permits for a resource that all tenants use, such as connections.
//!
//! A tenant holds at most a part of the permits. While none is free, a permit that is given back
//! goes to the waiting tenant that holds the fewest. So a tenant that takes all it can get cannot
//! keep another from its first permits for longer than it takes one permit to come back.
//!
//! INVARIANT(bounded-share): no tenant holds more permits than its part, and all together never
//! more than there are.
//! INVARIANT(fewest-first): a permit that is given back goes to the waiting tenant that holds the
//! fewest. A permit is free only while no tenant waits that may have it.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::oneshot;

use crate::ids::TenantId;

/// Permits, shared between tenants. Its clones share the same permits.
#[derive(Debug, Clone)]
pub struct FairShare(Arc<Mutex<Shares<oneshot::Sender<SharePermit>>>>);

/// A permit of a tenant, given back when it is dropped.
#[derive(Debug)]
pub struct SharePermit {
    share: FairShare,
    tenant: TenantId,
}

impl FairShare {
    /// `total` permits, of which one tenant may hold `most`.
    #[must_use]
    pub fn new(total: usize, most: usize) -> Self {
        Self(Arc::new(Mutex::new(Shares::new(total, most))))
    }

    /// Waits for a permit.
    ///
    /// Cancellation: the place is given up.
    pub async fn acquire(&self, tenant: &TenantId) -> SharePermit {
        loop {
            let (grant, granted) = oneshot::channel();
            let asked = self.0.lock().ask(tenant, grant);
            let Some(place) = asked else { return self.permit(tenant.clone()) };
            let _place = Place { share: self, tenant, place };
            // A grant is never dropped before it is sent, so this does not repeat.
            if let Ok(permit) = granted.await {
                return permit;
            }
        }
    }

    /// Takes a permit if the tenant may have one at once.
    #[must_use]
    pub fn try_acquire(&self, tenant: &TenantId) -> Option<SharePermit> {
        let is_taken = self.0.lock().try_take(tenant);
        is_taken.then(|| self.permit(tenant.clone()))
    }

    fn permit(&self, tenant: TenantId) -> SharePermit {
        SharePermit { share: self.clone(), tenant }
    }
}

impl Drop for SharePermit {
    fn drop(&mut self) {
        let next = self.share.0.lock().give_back(&self.tenant);
        if let Some((tenant, grant)) = next {
            let permit = self.share.permit(tenant);
            // The permit of a caller that has gone away is dropped, and so given back.
            drop(grant.send(permit));
        }
    }
}

/// A place in the line of a tenant, given up when it is dropped.
struct Place<'share> {
    share: &'share FairShare,
    tenant: &'share TenantId,
    place: u64,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let left = self.share.0.lock().leave(self.tenant, self.place);
        drop(left);
    }
}

/// The state of a [`FairShare`]: plain data. `G` is the way to grant a permit.
#[derive(Debug)]
struct Shares<G> {
    most: usize,
    free: usize,
    next_place: u64,
    /// Tenants that hold permits or wait for one.
    tenants: BTreeMap<TenantId, Share<G>>,
}

#[derive(Debug)]
struct Share<G> {
    held: usize,
    waiting: VecDeque<(u64, G)>,
}

impl<G> Share<G> {
    const fn new() -> Self {
        Self { held: 0, waiting: VecDeque::new() }
    }
}

impl<G> Shares<G> {
    fn new(total: usize, most: usize) -> Self {
        Self {
            most: most.clamp(1, total.max(1)),
            free: total,
            next_place: 0,
            tenants: BTreeMap::new(),
        }
    }

    /// Takes a permit, or returns the place in which the tenant waits for one.
    fn ask(&mut self, tenant: &TenantId, grant: G) -> Option<u64> {
        if self.try_take(tenant) {
            return None;
        }
        let place = self.next_place;
        self.next_place = place.saturating_add(1);
        let share = self.tenants.entry(tenant.clone()).or_insert_with(Share::new);
        share.waiting.push_back((place, grant));
        Some(place)
    }

    /// Takes a permit if the tenant may have one at once. None is free that somebody waits for.
    fn try_take(&mut self, tenant: &TenantId) -> bool {
        let held = self.tenants.get(tenant).map_or(0, |share| share.held);
        if self.free == 0 || held >= self.most {
            return false;
        }
        self.free = self.free.saturating_sub(1);
        let share = self.tenants.entry(tenant.clone()).or_insert_with(Share::new);
        share.held = share.held.saturating_add(1);
        true
    }

    /// Takes a permit back. Returns the grant that gets it, with its tenant.
    fn give_back(&mut self, tenant: &TenantId) -> Option<(TenantId, G)> {
        if let Some(share) = self.tenants.get_mut(tenant) {
            share.held = share.held.saturating_sub(1);
            self.free = self.free.saturating_add(1);
        }
        let granted = self.grant();
        self.forget_if_unused(tenant);
        granted
    }

    /// Grants a free permit to the waiting tenant that holds the fewest; among equals, to the one
    /// that has waited longest.
    fn grant(&mut self) -> Option<(TenantId, G)> {
        if self.free == 0 {
            return None;
        }
        let may_have = |(tenant, share): (&TenantId, &Share<G>)| {
            let (place, _) = share.waiting.front()?;
            (share.held < self.most).then(|| (share.held, *place, tenant.clone()))
        };
        let (_, _, tenant) = self.tenants.iter().filter_map(may_have).min()?;
        let share = self.tenants.get_mut(&tenant)?;
        let (_, grant) = share.waiting.pop_front()?;
        share.held = share.held.saturating_add(1);
        self.free = self.free.saturating_sub(1);
        Some((tenant, grant))
    }

    /// Gives up a place. Returns its grant if it was still waiting.
    fn leave(&mut self, tenant: &TenantId, place: u64) -> Option<G> {
        let share = self.tenants.get_mut(tenant)?;
        let at = share.waiting.iter().position(|(waiting, _)| *waiting == place)?;
        let (_, grant) = share.waiting.remove(at)?;
        self.forget_if_unused(tenant);
        Some(grant)
    }

    fn forget_if_unused(&mut self, tenant: &TenantId) {
        let is_unused = |share: &Share<G>| share.held == 0 && share.waiting.is_empty();
        if self.tenants.get(tenant).is_some_and(is_unused) {
            self.tenants.remove(tenant);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;
    use tokio::time::timeout;

    use super::*;

    const TOTAL: usize = 8;
    const MOST: usize = 6;

    fn tenant(number: usize) -> TenantId {
        TenantId::parse(&format!("t{number}")).unwrap()
    }

    #[derive(Debug, Clone, Copy)]
    enum Step {
        Ask(usize),
        GiveBack(usize),
        Leave(usize),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            4 => (0_usize..5).prop_map(Step::Ask),
            3 => (0_usize..16).prop_map(Step::GiveBack),
            1 => (0_usize..16).prop_map(Step::Leave),
        ]
    }

    /// Who holds a permit, and who waits in which place.
    #[derive(Default)]
    struct Simulation {
        held: Vec<TenantId>,
        waiting: Vec<(TenantId, u64)>,
    }

    impl Simulation {
        fn holds(&self, tenant: &TenantId) -> usize {
            self.held.iter().filter(|holder| *holder == tenant).count()
        }

        fn take(&mut self, shares: &mut Shares<TenantId>, step: Step) {
            match step {
                Step::Ask(number) => match shares.ask(&tenant(number), tenant(number)) {
                    None => self.held.push(tenant(number)),
                    Some(place) => self.waiting.push((tenant(number), place)),
                },
                Step::GiveBack(at) if at < self.held.len() => {
                    let holder = self.held.remove(at);
                    let Some((next, grant)) = shares.give_back(&holder) else { return };
                    assert_eq!(next, grant);
                    let fewest = self.waiting.iter().map(|(who, _)| self.holds(who)).min();
                    assert_eq!(Some(self.holds(&next)), fewest, "fewest first");
                    let at = self.waiting.iter().position(|(who, _)| *who == next).unwrap();
                    self.waiting.remove(at);
                    self.held.push(next);
                }
                Step::Leave(at) if at < self.waiting.len() => {
                    let (who, place) = self.waiting.remove(at);
                    assert_eq!(shares.leave(&who, place), Some(who.clone()));
                    assert_eq!(shares.leave(&who, place), None);
                }
                Step::GiveBack(_) | Step::Leave(_) => {}
            }
        }

        fn check(&self, shares: &Shares<TenantId>) {
            assert_eq!(shares.free + self.held.len(), TOTAL, "a permit is lost or doubled");
            for (who, _) in &self.waiting {
                assert!(shares.free == 0 || self.holds(who) == MOST, "{who} waits for nothing");
            }
            assert!(self.held.iter().all(|who| self.holds(who) <= MOST), "bounded share");
            let known =
                |who: &TenantId| self.holds(who) > 0 || self.waiting.iter().any(|(w, _)| w == who);
            assert!(shares.tenants.keys().all(known), "a tenant that has gone is remembered");
        }
    }

    proptest! {
        #[test]
        fn bounded_share_and_fewest_first_whatever_happens(
            steps in proptest::collection::vec(step(), 0..200),
        ) {
            let (mut shares, mut simulation) = (Shares::new(TOTAL, MOST), Simulation::default());
            for step in steps {
                simulation.take(&mut shares, step);
                simulation.check(&shares);
            }
            while !simulation.held.is_empty() {
                simulation.take(&mut shares, Step::GiveBack(0));
                simulation.check(&shares);
            }
            prop_assert!(simulation.waiting.is_empty(), "a tenant waits for ever");
            prop_assert!(shares.tenants.is_empty());
        }

        #[test]
        fn a_greedy_tenant_cannot_keep_another_waiting(greedy in 1_usize..50, modest in 1_usize..3) {
            let (mut shares, mut simulation) = (Shares::new(TOTAL, MOST), Simulation::default());
            (0..greedy).for_each(|_| simulation.take(&mut shares, Step::Ask(0)));
            (0..modest).for_each(|_| simulation.take(&mut shares, Step::Ask(1)));
            prop_assert_eq!(simulation.holds(&tenant(1)), modest.min(TOTAL - MOST));
        }
    }

    async fn has_one(share: &FairShare, of: &TenantId) -> Option<SharePermit> {
        timeout(Duration::from_millis(10), share.acquire(of)).await.ok()
    }

    #[test]
    fn what_is_not_free_at_once_is_not_waited_for() {
        let share = FairShare::new(3, 2);
        let (one, other) = (tenant(1), tenant(2));
        let held = [share.try_acquire(&one).unwrap(), share.try_acquire(&one).unwrap()];
        assert!(share.try_acquire(&one).is_none(), "one tenant took all");
        let last = share.try_acquire(&other).unwrap();
        assert!(share.try_acquire(&other).is_none());
        drop((held, last));
        assert!(share.0.lock().tenants.is_empty() && share.0.lock().free == 3);
    }

    #[tokio::test]
    async fn a_permit_goes_on_when_its_holder_or_its_waiter_leaves() {
        let share = FairShare::new(2, 1);
        let (one, other) = (tenant(1), tenant(2));
        let first = has_one(&share, &one).await.unwrap();
        assert!(has_one(&share, &one).await.is_none(), "one tenant took all");
        let second = has_one(&share, &other).await.unwrap();
        drop(first);
        let third = has_one(&share, &one).await.unwrap();
        {
            // Waits, gets the permit, and leaves before it looks.
            let mut waiting = std::pin::pin!(share.acquire(&one));
            assert!(timeout(Duration::from_millis(10), &mut waiting).await.is_err());
            drop(third);
        }
        assert!(has_one(&share, &one).await.is_some(), "a permit is lost");
        drop(second);
        assert_eq!(share.0.lock().free, 2);
        assert!(share.0.lock().tenants.is_empty());
    }
}
