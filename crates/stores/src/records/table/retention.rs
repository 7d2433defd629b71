//! Removes old records, a few in one transaction, so that new ones do not wait for long.

use crate::database_error::DatabaseError;
use crate::records::config::RecordsConfig;
use crate::records::table::{RecordTable, bound_at};

/// Most records, and most logs, of a tenant that are removed in one transaction.
const AT_ONCE: u64 = 500;

/// The result of removing old records.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Trimmed {
    /// Records that were removed.
    pub(crate) records: u64,
    /// Logs that were removed while their records stayed.
    pub(crate) logs: u64,
    /// True if there is more to remove.
    pub(crate) has_more: bool,
}

impl Trimmed {
    pub(crate) const fn add(&mut self, other: Self) {
        self.records = self.records.saturating_add(other.records);
        self.logs = self.logs.saturating_add(other.logs);
        self.has_more |= other.has_more;
    }
}

impl RecordTable {
    /// Removes old records of tenants over their limit, and old logs of tenants over their log quota.
    pub(crate) async fn trim_to_limits(
        &self,
        config: &RecordsConfig,
    ) -> Result<Trimmed, DatabaseError> {
        let (most, quota) = (config.max_count, config.log_quota.as_u64());
        let mut trimmed = Trimmed::default();
        for totals in self.store.tenants_over(most, quota).await? {
            let excess = totals.runs.saturating_sub(most);
            if excess > 0 {
                trimmed.add(self.remove_oldest(&totals.tenant, None, excess).await?);
            }
            let excess = totals.log_bytes.saturating_sub(quota);
            if excess > 0 {
                let removed = self.store.remove_logs(&totals.tenant, excess, AT_ONCE).await?;
                let has_more = removed.logs > 0 && removed.bytes < excess;
                trimmed.add(Trimmed { records: 0, logs: removed.logs, has_more });
            }
        }
        Ok(trimmed)
    }

    /// Removes some of the records of each tenant that began before this time, in milliseconds since
    /// the Unix epoch.
    pub(crate) async fn trim_to_age(&self, time_ms: u64) -> Result<Trimmed, DatabaseError> {
        let (bound, mut trimmed) = (bound_at(time_ms), Trimmed::default());
        for tenant in self.store.tenants_before(&bound).await? {
            trimmed.add(self.remove_oldest(&tenant, Some(&bound), u64::MAX).await?);
        }
        Ok(trimmed)
    }

    /// Removes the oldest records of a tenant: at most `wanted`, and none from `bound` on.
    async fn remove_oldest(
        &self,
        tenant: &str,
        bound: Option<&str>,
        wanted: u64,
    ) -> Result<Trimmed, DatabaseError> {
        let removed = self.store.remove_oldest(tenant, bound, wanted.min(AT_ONCE)).await?;
        Ok(Trimmed { records: removed, logs: 0, has_more: removed >= AT_ONCE && wanted > removed })
    }
}
