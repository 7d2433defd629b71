//! Counts what a run uses of the network, against its limits and for its record.
//!
//! The record names hosts and numbers. It has no paths, queries or headers.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use serde::Serialize;

use crate::config::NetworkLimits;
use crate::error::NetworkError;
use crate::policy::target::HostName;
use wardian_vocabulary::ids::TenantId;

/// Hosts that the record names; a guest chooses the names of refused ones.
const MAX_HOSTS: usize = 64;

/// Stands for all hosts beyond that, and for refused texts that are not names.
const OTHERS: &str = "(others)";

/// What a run did in the network.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct NetworkSummary {
    /// Connections that were granted.
    pub connections: u64,
    /// Requests that were granted.
    pub requests: u64,
    /// Bytes to servers.
    pub sent_bytes: u64,
    /// Bytes from servers.
    pub received_bytes: u64,
    /// What was refused by rules.
    pub refusals: u64,
    /// Each host, by name.
    pub hosts: Vec<HostSummary>,
}

/// What a run did with one host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HostSummary {
    /// The name, or `(others)`.
    pub host: String,
    /// Requests that were granted.
    pub requests: u64,
    /// Bytes to it.
    pub sent_bytes: u64,
    /// Bytes from it.
    pub received_bytes: u64,
    /// What was refused by rules.
    pub refusals: u64,
}

/// Counts of one host.
#[derive(Debug, Default)]
pub struct HostMeter {
    requests: AtomicU64,
    sent: AtomicU64,
    received: AtomicU64,
    refusals: AtomicU64,
}

/// Counts of a run.
#[derive(Debug)]
pub struct Meter {
    /// The tenant of the run.
    tenant: TenantId,
    limits: NetworkLimits,
    connections: AtomicU64,
    lookups: AtomicU64,
    requests: AtomicU64,
    sent: AtomicU64,
    received: AtomicU64,
    refusals: AtomicU64,
    hosts: Mutex<BTreeMap<String, Arc<HostMeter>>>,
}

impl Meter {
    pub(crate) fn new(tenant: TenantId, limits: NetworkLimits) -> Self {
        Self {
            tenant,
            limits,
            connections: AtomicU64::new(0),
            lookups: AtomicU64::new(0),
            requests: AtomicU64::new(0),
            sent: AtomicU64::new(0),
            received: AtomicU64::new(0),
            refusals: AtomicU64::new(0),
            hosts: Mutex::new(BTreeMap::new()),
        }
    }

    pub(crate) const fn tenant(&self) -> &TenantId {
        &self.tenant
    }

    pub(crate) const fn limits(&self) -> &NetworkLimits {
        &self.limits
    }

    /// The counts of `host`, or of all others if there are too many.
    pub fn host(&self, host: Option<&HostName>) -> Arc<HostMeter> {
        let mut hosts = self.hosts.lock();
        let name = host.map_or(OTHERS, HostName::as_str);
        if let Some(known) = hosts.get(name) {
            return Arc::clone(known);
        }
        let name = if hosts.len() < MAX_HOSTS { name } else { OTHERS };
        Arc::clone(hosts.entry(name.to_owned()).or_default())
    }

    pub(crate) fn add_refusal(&self, host: Option<&HostName>) {
        self.refusals.fetch_add(1, Ordering::Relaxed);
        self.host(host).refusals.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn add_connection(&self) -> Result<(), NetworkError> {
        take_one(&self.connections, self.limits.connections, "connections")
    }

    pub(crate) fn add_lookup(&self) -> Result<(), NetworkError> {
        take_one(&self.lookups, self.limits.connections, "look-ups of names")
    }

    pub(crate) fn add_request(&self, host: &HostMeter) -> Result<(), NetworkError> {
        take_one(&self.requests, self.limits.requests, "requests")?;
        host.requests.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// Counts bytes to a server. Fails once the sum exceeds the limit.
    pub(crate) fn add_sent(&self, host: &HostMeter, count: u64) -> Result<(), NetworkError> {
        let before = self.sent.fetch_add(count, Ordering::Relaxed);
        host.sent.fetch_add(count, Ordering::Relaxed);
        check_bytes(before.saturating_add(count), self.limits.sent.as_u64(), "sent")
    }

    /// Counts bytes from a server. Fails once the sum exceeds the limit.
    pub(crate) fn add_received(&self, host: &HostMeter, count: u64) -> Result<(), NetworkError> {
        let before = self.received.fetch_add(count, Ordering::Relaxed);
        host.received.fetch_add(count, Ordering::Relaxed);
        check_bytes(before.saturating_add(count), self.limits.received.as_u64(), "received")
    }

    pub(crate) fn summary(&self) -> NetworkSummary {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let hosts = self.hosts.lock();
        NetworkSummary {
            connections: read(&self.connections),
            requests: read(&self.requests),
            sent_bytes: read(&self.sent),
            received_bytes: read(&self.received),
            refusals: read(&self.refusals),
            hosts: hosts
                .iter()
                .map(|(host, meter)| HostSummary {
                    host: host.clone(),
                    requests: read(&meter.requests),
                    sent_bytes: read(&meter.sent),
                    received_bytes: read(&meter.received),
                    refusals: read(&meter.refusals),
                })
                .collect(),
        }
    }
}

fn check_bytes(used: u64, limit: u64, what: &str) -> Result<(), NetworkError> {
    if used <= limit {
        return Ok(());
    }
    Err(NetworkError::limit(format!("the run has {what} its limit of {limit} bytes")))
}

fn take_one(count: &AtomicU64, limit: u64, what: &str) -> Result<(), NetworkError> {
    let next = |used: u64| (used < limit).then(|| used.saturating_add(1));
    match count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next) {
        Ok(_) => Ok(()),
        Err(_) => Err(NetworkError::limit(format!("the run has used up its {limit} {what}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_a_guest_makes_up_do_not_grow_the_record() {
        let meter = Meter::new(TenantId::local(), NetworkLimits::default());
        for number in 0..1_000 {
            let name = HostName::parse(&format!("a{number}.example.com")).unwrap();
            meter.add_refusal(Some(&name));
        }
        let summary = meter.summary();
        assert_eq!(summary.hosts.len(), MAX_HOSTS + 1);
        assert_eq!(summary.hosts.iter().map(|host| host.refusals).sum::<u64>(), 1_000);
    }

    #[test]
    fn limits_are_exact() {
        let limits = NetworkLimits { requests: 2, ..NetworkLimits::default() };
        let meter = Meter::new(TenantId::local(), limits);
        let host = meter.host(None);
        assert!(meter.add_request(&host).is_ok() && meter.add_request(&host).is_ok());
        assert_eq!(meter.add_request(&host).unwrap_err().errno(), crate::error::errno::EDQUOT);
        assert_eq!(meter.summary().requests, 2);
    }
}
