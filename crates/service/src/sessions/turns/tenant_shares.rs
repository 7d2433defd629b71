//! The parts that tenants have of the memory for clients, for what waits or is large.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use wardian_vocabulary::budget::{BudgetExhausted, CallMemory, SMALL, WaitingMemory};
use wardian_vocabulary::ids::TenantId;
use wardian_vocabulary::units::ByteCount;

/// How long the state of a session waits until others of its tenant are restored, which take some seconds.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// The unit in which the part for states is given out.
const UNIT: ByteCount = SMALL;

/// The parts of all tenants that use theirs.
#[derive(Debug, Default)]
pub(crate) struct TenantShares(Mutex<BTreeMap<TenantId, Arc<TenantShare>>>);

/// The part of one tenant.
#[derive(Debug)]
struct TenantShare {
    /// What its content takes that has come and waits for the turn of its session.
    waiting: Arc<WaitingMemory>,
    /// What is left for its states that are being restored.
    states: Arc<Semaphore>,
    /// Units of all of it: half of the memory for clients, as much as the largest state takes.
    units: u32,
}

impl TenantShare {
    fn of(memory: ByteCount) -> Self {
        let units = (memory.as_u64() / 2).div_ceil(UNIT.as_u64());
        let units = u32::try_from(units).unwrap_or(u32::MAX).max(1);
        let most = usize::try_from(units).unwrap_or(usize::MAX).min(Semaphore::MAX_PERMITS);
        let states = Arc::new(Semaphore::new(most));
        Self { waiting: Arc::default(), states, units }
    }
}

/// A state that is being restored: dropped when a worker has made a guest of it.
#[derive(Debug)]
pub(crate) struct RestoringState {
    memory: CallMemory,
    _permit: Option<OwnedSemaphorePermit>,
    _share: Arc<TenantShare>,
}

impl RestoringState {
    /// The account of the memory that its packs take.
    pub(crate) const fn memory(&self) -> &CallMemory {
        &self.memory
    }
}

/// Content that waits for the turn of its session, until this is dropped.
#[derive(Debug)]
pub(crate) struct WaitingContent {
    memory: CallMemory,
    _share: Arc<TenantShare>,
}

impl TenantShares {
    /// The part of a tenant of all the memory. It is remembered as long as somebody uses it.
    fn of(&self, tenant: &TenantId, memory: &CallMemory) -> Arc<TenantShare> {
        let all = memory.budget().limit();
        let mut shares = self.0.lock();
        shares.retain(|_, share| Arc::strong_count(share) > 1);
        let share = shares.entry(tenant.clone());
        Arc::clone(share.or_insert_with(|| Arc::new(TenantShare::of(all))))
    }

    /// Lets a state of this size be read for a call, whose memory this is, and waits until others of its
    /// tenant leave it room. The smallest ones need not wait.
    ///
    /// # Errors
    ///
    /// The others take too long.
    pub(crate) async fn begin_restoring(
        &self,
        tenant: &TenantId,
        memory: &CallMemory,
        size: ByteCount,
    ) -> Result<RestoringState, BudgetExhausted> {
        let share = self.of(tenant, memory);
        let permit = if size <= SMALL {
            None
        } else {
            let units = size.as_u64().div_ceil(UNIT.as_u64());
            let units = u32::try_from(units).unwrap_or(u32::MAX).min(share.units);
            let acquiring = Arc::clone(&share.states).acquire_many_owned(units);
            let acquired = timeout(LONGEST_WAIT, acquiring).await.ok().and_then(Result::ok);
            Some(acquired.ok_or(BudgetExhausted)?)
        };
        Ok(RestoringState { memory: memory.of_call(), _permit: permit, _share: share })
    }

    /// Lets the content of a call wait, whose memory this is.
    ///
    /// # Errors
    ///
    /// The content of this tenant that waits, or that of all, takes too much with it.
    pub(crate) fn begin_waiting(
        &self,
        tenant: &TenantId,
        memory: &CallMemory,
    ) -> Result<WaitingContent, BudgetExhausted> {
        let share = self.of(tenant, memory);
        memory.begin_waiting(Arc::clone(&share.waiting))?;
        Ok(WaitingContent { memory: memory.clone(), _share: share })
    }
}

impl Drop for WaitingContent {
    fn drop(&mut self) {
        self.memory.end_waiting();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wardian_vocabulary::budget::MemoryBudget;

    fn tenant(name: &str) -> TenantId {
        TenantId::parse(name).unwrap()
    }

    #[test]
    fn one_tenant_has_a_part_of_what_waits_and_others_have_room() {
        let budget = MemoryBudget::new(ByteCount::mebibytes(64));
        let shares = TenantShares::default();
        let call = |size| {
            let memory = CallMemory::new(&budget);
            memory.reserve(ByteCount::mebibytes(size)).unwrap();
            memory
        };
        let [first, second, third] = [call(6), call(3), call(4)];
        let waiting = shares.begin_waiting(&tenant("a"), &first).unwrap();
        assert!(shares.begin_waiting(&tenant("a"), &second).is_err());
        let other = shares.begin_waiting(&tenant("b"), &third).unwrap();
        assert_eq!(shares.0.lock().len(), 2);
        drop(waiting);
        let waiting = shares.begin_waiting(&tenant("a"), &second).unwrap();
        drop((waiting, other));
        let _last = shares.begin_waiting(&tenant("c"), &first).unwrap();
        assert_eq!(shares.0.lock().len(), 1, "those without anything are forgotten");
    }

    #[tokio::test]
    async fn the_states_of_one_tenant_wait_for_one_another_and_not_for_others() {
        let (budget, shares) =
            (MemoryBudget::new(ByteCount::mebibytes(64)), TenantShares::default());
        let memory = CallMemory::new(&budget);
        let (shares, memory) = (&shares, &memory);
        let restore = |name: &'static str, size: u64| async move {
            let name = tenant(name);
            shares.begin_restoring(&name, memory, ByteCount::mebibytes(size)).await
        };
        let first = restore("a", 20).await.unwrap();
        first.memory().reserve(ByteCount::mebibytes(20)).unwrap();
        let waits = timeout(Duration::from_millis(20), restore("a", 13)).await;
        assert!(waits.is_err(), "it did not wait");
        let other = restore("b", 32).await.unwrap();
        let second = restore("a", 12).await.unwrap();
        assert!(restore("a", 0).await.is_ok(), "a small one needs no room");
        let (third, ()) = tokio::join!(restore("a", 50), async {
            drop((first, second));
        });
        assert!(third.is_ok(), "none is larger than the part of its tenant");
        assert_eq!(budget.used(), ByteCount::default(), "its charge ends with it");
        drop(other);
    }
}
