//! The position of a tenant in fair queueing: the time of workers that it has had, divided by its
//! weight.

use std::num::NonZeroU32;
use std::time::Duration;

/// Parts of a nanosecond that are counted, so that dividing by a weight loses nothing that matters.
const PARTS: u128 = 1 << 20;

/// A time of workers divided by a weight. It cannot overflow: it holds 10^13 years.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct VirtualTime(u128);

impl VirtualTime {
    pub(crate) const ZERO: Self = Self(0);

    /// The time `taken` by a tenant with this weight.
    pub(crate) fn of(taken: Duration, weight: NonZeroU32) -> Self {
        Self::shared(taken, weight.get().into())
    }

    /// The time `taken`, shared between tenants with these weights together.
    pub(crate) fn shared(taken: Duration, weights: u64) -> Self {
        let parts = taken.as_nanos().saturating_mul(PARTS);
        Self(parts.checked_div(u128::from(weights)).unwrap_or(parts))
    }

    pub(crate) const fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    pub(crate) const fn minus(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}
