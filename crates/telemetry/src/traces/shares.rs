//! The shares of tenants in the queue of spans.
//!
//! INVARIANT(room-for-spans-of-others): a tenant has at most [`FACTOR`] times as many spans waiting as
//! there is room left. So one with any number of calls leaves a fifth of the queue to others, and
//! several of them leave less, but never nothing to a tenant that has few.

use std::collections::HashMap;
use std::sync::Arc;

use wardian_vocabulary::ids::TenantId;

/// The spans of one tenant that may wait, as a multiple of the room that is left.
const FACTOR: usize = 4;

/// The spans that wait, by tenant. A tenant without any takes no memory.
#[derive(Debug)]
pub(super) struct SpanShares {
    most: usize,
    total: usize,
    of_tenants: HashMap<Arc<TenantId>, usize>,
}

impl SpanShares {
    /// No spans, in a queue for `most`.
    pub(super) fn new(most: usize) -> Self {
        Self { most, total: 0, of_tenants: HashMap::new() }
    }

    /// Counts a span, unless its tenant has its share.
    pub(super) fn admit(&mut self, tenant: &Arc<TenantId>) -> bool {
        let own = self.of_tenants.get(tenant).copied().unwrap_or(0);
        let left = self.most.saturating_sub(self.total);
        let is_admitted = own < left.saturating_mul(FACTOR);
        if is_admitted {
            self.of_tenants.insert(Arc::clone(tenant), own.saturating_add(1));
            self.total = self.total.saturating_add(1);
        }
        is_admitted
    }

    /// Counts a span no more.
    pub(super) fn release(&mut self, tenant: &Arc<TenantId>) {
        let Some(own) = self.of_tenants.get_mut(tenant) else { return };
        *own = own.saturating_sub(1);
        self.total = self.total.saturating_sub(1);
        if *own == 0 {
            self.of_tenants.remove(tenant);
        }
    }

    /// The spans that wait.
    pub(super) const fn total(&self) -> usize {
        self.total
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MOST: usize = 500;

    fn tenant(number: usize) -> Arc<TenantId> {
        Arc::new(TenantId::parse(&format!("t{number}")).unwrap())
    }

    #[test]
    fn room_for_spans_of_others_is_left_by_a_tenant_with_many() {
        let mut shares = SpanShares::new(MOST);
        let admitted = (0..10 * MOST).filter(|_| shares.admit(&tenant(0))).count();
        assert_eq!(admitted, MOST * 4 / 5);
        assert!((0..50).all(|_| shares.admit(&tenant(1))));
        for _ in 0..admitted {
            shares.release(&tenant(0));
        }
        assert_eq!((shares.total(), shares.of_tenants.len()), (50, 1));
    }

    proptest! {
        #[test]
        fn room_for_spans_of_others_is_never_used_up(
            steps in proptest::collection::vec((0_usize..20, any::<bool>()), 0..4_000),
        ) {
            let mut shares = SpanShares::new(MOST);
            let mut model = [0_usize; 20];
            for (number, is_new) in steps {
                if is_new {
                    model[number] += usize::from(shares.admit(&tenant(number)));
                } else if model[number] > 0 {
                    shares.release(&tenant(number));
                    model[number] -= 1;
                }
                prop_assert_eq!(shares.total(), model.iter().sum::<usize>());
                prop_assert!(shares.total() < MOST);
            }
            prop_assert!(shares.admit(&tenant(99)), "a tenant without spans");
        }
    }
}
