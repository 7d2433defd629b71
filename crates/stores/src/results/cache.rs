//! Values under digests, bounded by bytes, count and age.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use crate::results::config::ResultsConfig;
use wardian_vocabulary::clock::Clock;
use wardian_vocabulary::ids::{Digest, TenantId};
use wardian_vocabulary::units::ByteCount;

/// Memory of an entry besides its value: keys, counts and places in the tables.
const ENTRY: u64 = 512;

/// Values of tenants. A tenant that keeps much takes no room of others: beyond the most of all, the
/// oldest value of the tenant that has the most goes.
#[derive(Debug)]
pub struct KeptValues<T> {
    config: ResultsConfig,
    clock: Clock,
    kept: Mutex<Kept<T>>,
}

#[derive(Debug)]
struct Kept<T> {
    tenants: HashMap<TenantId, OfTenant<T>>,
    bytes: u64,
    /// Numbers values in the order in which they were kept.
    last: u64,
}

#[derive(Debug)]
struct OfTenant<T> {
    entries: HashMap<Digest, Entry<T>>,
    /// The keys of values, oldest first.
    order: BTreeMap<u64, Digest>,
    bytes: u64,
}

#[derive(Debug)]
struct Entry<T> {
    value: Arc<T>,
    size: u64,
    number: u64,
    kept_at: Duration,
}

impl<T> KeptValues<T> {
    /// Keeps values within these bounds.
    #[must_use]
    pub fn new(config: ResultsConfig, clock: Clock) -> Self {
        let kept = Kept { tenants: HashMap::new(), bytes: 0, last: 0 };
        Self { config, clock, kept: Mutex::new(kept) }
    }

    /// The value of a tenant under this key, unless it is too old.
    pub fn find(&self, tenant: &TenantId, key: &Digest) -> Option<Arc<T>> {
        let now = self.clock.now();
        let mut kept = self.kept.lock();
        let entry = kept.tenants.get(tenant)?.entries.get(key)?;
        if now.saturating_sub(entry.kept_at) < self.config.max_age {
            return Some(Arc::clone(&entry.value));
        }
        kept.remove(tenant, key);
        None
    }

    /// Keeps a value of this size, unless it alone is too large.
    pub fn keep(&self, tenant: &TenantId, key: Digest, value: T, size: ByteCount) {
        let size = size.as_u64().saturating_add(ENTRY);
        let (most, now) = (self.config.memory.as_u64(), self.clock.now());
        if size > most / 4 || self.config.max_count == 0 {
            return;
        }
        let mut kept = self.kept.lock();
        kept.remove(tenant, &key);
        while kept.bytes.saturating_add(size) > most && kept.remove_oldest_of_largest() {}
        while kept.tenants.get(tenant).is_some_and(|of| of.order.len() >= self.config.max_count) {
            kept.remove_oldest(tenant);
        }
        kept.last = kept.last.saturating_add(1);
        let number = kept.last;
        kept.bytes = kept.bytes.saturating_add(size);
        let of = kept.tenants.entry(tenant.clone()).or_insert_with(|| OfTenant {
            entries: HashMap::new(),
            order: BTreeMap::new(),
            bytes: 0,
        });
        of.bytes = of.bytes.saturating_add(size);
        of.order.insert(number, key);
        of.entries.insert(key, Entry { value: Arc::new(value), size, number, kept_at: now });
    }

    /// Forgets a value.
    pub fn forget(&self, tenant: &TenantId, key: &Digest) {
        self.kept.lock().remove(tenant, key);
    }
}

impl<T> Kept<T> {
    fn remove(&mut self, tenant: &TenantId, key: &Digest) {
        let Some(of) = self.tenants.get_mut(tenant) else { return };
        let Some(entry) = of.entries.remove(key) else { return };
        of.order.remove(&entry.number);
        of.bytes = of.bytes.saturating_sub(entry.size);
        self.bytes = self.bytes.saturating_sub(entry.size);
        if of.entries.is_empty() {
            self.tenants.remove(tenant);
        }
    }

    fn remove_oldest(&mut self, tenant: &TenantId) {
        let oldest = self.tenants.get(tenant).and_then(|of| of.order.values().next().copied());
        if let Some(key) = oldest {
            self.remove(tenant, &key);
        }
    }

    /// False if there is nothing left.
    fn remove_oldest_of_largest(&mut self) -> bool {
        let largest = self.tenants.iter().max_by_key(|(_, of)| of.bytes);
        let Some(tenant) = largest.map(|(tenant, _)| tenant.clone()) else { return false };
        self.remove_oldest(&tenant);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: u64) -> Digest {
        Digest::of(&number.to_le_bytes())
    }

    fn tenant(name: &str) -> TenantId {
        TenantId::parse(name).unwrap()
    }

    const SIZE: ByteCount = ByteCount::bytes(488);

    fn values(entries: u64, max_count: usize) -> KeptValues<u64> {
        let memory = ByteCount::bytes(1_000 * entries);
        let config = ResultsConfig { memory, max_count, ..ResultsConfig::default() };
        KeptValues::new(config, Clock::Fixed(Duration::from_secs(10)))
    }

    #[test]
    fn own_results() {
        let (values, acme, other) = (values(10, 10), tenant("acme"), tenant("other"));
        values.keep(&acme, key(1), 7, SIZE);
        assert_eq!(values.find(&acme, &key(1)).as_deref(), Some(&7));
        assert_eq!(values.find(&other, &key(1)), None);
        assert_eq!(values.find(&acme, &key(2)), None);
        values.forget(&other, &key(1));
        assert!(values.find(&acme, &key(1)).is_some());
        values.forget(&acme, &key(1));
        assert_eq!(values.find(&acme, &key(1)), None);
        assert_eq!(values.kept.lock().bytes, 0);
    }

    #[test]
    fn the_oldest_go_and_those_of_the_tenant_that_has_most() {
        let (values, acme, other) = (values(8, 100), tenant("acme"), tenant("other"));
        values.keep(&other, key(0), 0, SIZE);
        for number in 1..=20 {
            values.keep(&acme, key(number), number, SIZE);
        }
        let found = |of: &TenantId, numbers: std::ops::RangeInclusive<u64>| -> Vec<u64> {
            numbers.filter(|number| values.find(of, &key(*number)).is_some()).collect()
        };
        assert_eq!(found(&other, 0..=0), [0], "a tenant that keeps little loses nothing");
        assert_eq!(found(&acme, 1..=20), [14, 15, 16, 17, 18, 19, 20]);
        values.keep(&acme, key(50), 0, ByteCount::bytes(2_001));
        assert_eq!(found(&acme, 50..=50), Vec::<u64>::new(), "one value is no quarter of all");
    }

    #[test]
    fn there_are_few_of_a_tenant_and_none_without_memory() {
        let (few, acme) = (values(100, 2), tenant("acme"));
        for number in [1, 2, 1, 3] {
            few.keep(&acme, key(number), number, SIZE);
        }
        let found: Vec<_> =
            (1..=3).filter(|number| few.find(&acme, &key(*number)).is_some()).collect();
        assert_eq!(found, [1, 3]);
        let none = values(0, 2);
        none.keep(&acme, key(1), 1, SIZE);
        assert_eq!(none.find(&acme, &key(1)), None);
    }

    #[test]
    fn a_value_that_is_too_old_is_forgotten() {
        let (mut values, acme) = (values(10, 10), tenant("acme"));
        values.keep(&acme, key(1), 7, SIZE);
        values.clock = Clock::Fixed(Duration::from_secs(10 + 3_599));
        assert!(values.find(&acme, &key(1)).is_some());
        values.clock = Clock::Fixed(Duration::from_secs(10 + 3_600));
        assert_eq!(values.find(&acme, &key(1)), None);
        assert_eq!(values.kept.lock().bytes, 0);
    }
}
