//! The places for cells that wait in the middle of a call.
//!
//! Such a cell holds a worker, and its result is in the server's memory until it goes on. So their number is
//! bounded, for each tenant too, and the memory is charged. A cell without a place is rolled back; one that
//! has a place keeps it until it ends, whatever others do.

use std::sync::{Arc, OnceLock};

use wardian_vocabulary::budget::{BudgetExhausted, CallMemory, WaitingMemory};
use wardian_vocabulary::ids::TenantId;
use wardian_vocabulary::quotas::{FairShare, SharePermit};
use wardian_vocabulary::units::ByteCount;

/// Why a cell cannot wait in the middle of a call.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NoPlace {
    #[error(
        "as many cells wait in functions as this tenant may have, or as the server can hold; answer or abandon \
         one of them, or ask with `await` at the top level or in coroutines, which holds no worker"
    )]
    TooMany,
    #[error("the result of the cell cannot be held while it waits in a function: {0}")]
    Memory(#[from] BudgetExhausted),
}

/// The places of a server.
#[derive(Debug, Default)]
pub(crate) struct HeldPlaces {
    /// `None` where nothing is shared.
    shares: OnceLock<FairShare>,
    memory: Arc<WaitingMemory>,
}

/// The place of a cell, given back when it is dropped.
#[derive(Debug)]
pub(crate) struct HeldPlace {
    permit: Option<SharePermit>,
    _memory: CallMemory,
}

impl HeldPlaces {
    /// Bounds the places: so many of all tenants, and so many of one. Only the first call has an effect.
    pub(crate) fn bound(&self, (all, of_tenant): (usize, usize)) {
        self.shares.get_or_init(|| FairShare::new(all, of_tenant));
    }

    /// A place for a cell of this tenant that holds so many bytes, which are charged to the budget of
    /// `memory`. A cell that has gone on has a place `before`, and keeps it.
    ///
    /// # Errors
    ///
    /// There is none.
    pub(crate) fn take(
        &self,
        tenant: &TenantId,
        (memory, bytes): (&CallMemory, usize),
        before: Option<HeldPlace>,
    ) -> Result<HeldPlace, NoPlace> {
        let permit = match (before, self.shares.get()) {
            (Some(HeldPlace { permit, .. }), _) => permit,
            (None, None) => None,
            (None, Some(shares)) => Some(shares.try_acquire(tenant).ok_or(NoPlace::TooMany)?),
        };
        // It stays when the call is answered, so it has the share of those for whom nobody waits.
        let memory = memory.in_background(Arc::clone(&self.memory));
        memory.reserve(ByteCount::from(bytes))?;
        Ok(HeldPlace { permit, _memory: memory })
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
    fn a_tenant_has_its_part_of_the_places_and_a_cell_keeps_its_own() {
        let (places, memory) = (HeldPlaces::default(), CallMemory::unlimited());
        let take = |name: &str, before| places.take(&tenant(name), (&memory, 10), before);
        assert!(take("a", None).is_ok(), "there is no bound");
        places.bound((3, 2));
        let [first, _second] = [(); 2].map(|()| take("a", None).unwrap());
        assert_eq!(take("a", None).map(drop), Err(NoPlace::TooMany));
        let _other = take("b", None).unwrap();
        assert_eq!(take("c", None).map(drop), Err(NoPlace::TooMany));
        let first = take("a", Some(first)).unwrap();
        drop(first);
        assert!(take("c", None).is_ok());
    }

    #[test]
    fn what_is_held_is_charged_until_the_place_is_given_back() {
        let budget = MemoryBudget::new(ByteCount::mebibytes(8));
        let (places, call) = (HeldPlaces::default(), CallMemory::new(&budget));
        let take = |bytes, before| places.take(&tenant("a"), (&call, bytes), before);
        let place = take(100 << 10, None).unwrap();
        assert_eq!(budget.used(), ByteCount::kibibytes(100));
        let place = take(300 << 10, Some(place)).unwrap();
        assert_eq!(budget.used(), ByteCount::kibibytes(300));
        assert!(matches!(take(1 << 20, None), Err(NoPlace::Memory(_))));
        drop(place);
        assert_eq!(budget.used(), ByteCount::default());
    }
}
