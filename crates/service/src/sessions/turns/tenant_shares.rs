//! The parts that tenants have of the memory for clients, for what waits or is large.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;

use wardian_vocabulary::budget::{BudgetExhausted, CallMemory, WaitingMemory};
use wardian_vocabulary::ids::TenantId;

/// The parts of all tenants that use theirs.
#[derive(Debug, Default)]
pub(crate) struct TenantShares(Mutex<BTreeMap<TenantId, Arc<TenantShare>>>);

/// The part of one tenant.
#[derive(Debug, Default)]
struct TenantShare {
    /// What its content takes that has come and waits for the turn of its session.
    waiting: Arc<WaitingMemory>,
}

/// Content that waits for the turn of its session, until this is dropped.
#[derive(Debug)]
pub(crate) struct WaitingContent {
    memory: CallMemory,
    _share: Arc<TenantShare>,
}

impl TenantShares {
    /// The part of a tenant. It is remembered as long as somebody uses it.
    fn of(&self, tenant: &TenantId) -> Arc<TenantShare> {
        let mut shares = self.0.lock();
        shares.retain(|_, share| Arc::strong_count(share) > 1);
        Arc::clone(shares.entry(tenant.clone()).or_default())
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
        let share = self.of(tenant);
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
    use wardian_vocabulary::units::ByteCount;

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
}
