//! Removes old records, a few in one transaction, so that new ones do not wait for long.

use crate::database::DatabaseError;
use crate::records::config::RecordsConfig;
use crate::records::table::titles::forget_titles;
use crate::records::table::write::add_to_totals;
use crate::records::table::{RecordTable, bound_at, count, number};

/// Most records, and most logs, of a tenant that are removed in one transaction.
const AT_ONCE: u64 = 500;

/// The result of removing old records.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::records) struct Trimmed {
    /// Records that were removed.
    pub(in crate::records) records: u64,
    /// Logs that were removed while their records stayed.
    pub(in crate::records) logs: u64,
    /// True if there is more to remove.
    pub(in crate::records) has_more: bool,
}

impl Trimmed {
    pub(in crate::records) const fn add(&mut self, other: Self) {
        self.records = self.records.saturating_add(other.records);
        self.logs = self.logs.saturating_add(other.logs);
        self.has_more |= other.has_more;
    }
}

impl RecordTable {
    /// Removes old records of tenants over their limit, and old logs of tenants over their log quota.
    pub(in crate::records) async fn trim_to_limits(
        &self,
        config: &RecordsConfig,
    ) -> Result<Trimmed, DatabaseError> {
        let (most, quota) = (config.max_count, config.log_quota.as_u64());
        let over: Vec<(String, i64, i64)> = sqlx::query_as(
            "SELECT tenant, runs, log_bytes FROM run_totals WHERE runs > $1 OR log_bytes > $2",
        )
        .bind(number(most))
        .bind(number(quota))
        .fetch_all(self.database.connections())
        .await?;
        let mut trimmed = Trimmed::default();
        for (tenant, runs, bytes) in over {
            let excess = count(runs).saturating_sub(most);
            if excess > 0 {
                trimmed.add(self.remove_oldest(&tenant, None, excess).await?);
            }
            let excess = count(bytes).saturating_sub(quota);
            if excess > 0 {
                trimmed.add(self.remove_logs(&tenant, excess).await?);
            }
        }
        Ok(trimmed)
    }

    /// Removes some of the records of each tenant that began before this time, in milliseconds since
    /// the Unix epoch.
    pub(in crate::records) async fn trim_to_age(
        &self,
        time_ms: u64,
    ) -> Result<Trimmed, DatabaseError> {
        let tenants: Vec<String> = sqlx::query_scalar("SELECT tenant FROM run_totals")
            .fetch_all(self.database.connections())
            .await?;
        let (bound, mut trimmed) = (bound_at(time_ms), Trimmed::default());
        for tenant in tenants {
            let oldest: Option<String> = sqlx::query_scalar(
                "SELECT run_id FROM runs WHERE tenant = $1 ORDER BY run_id LIMIT 1",
            )
            .bind(tenant.clone())
            .fetch_optional(self.database.connections())
            .await?;
            if oldest.is_some_and(|oldest| oldest < bound) {
                trimmed.add(self.remove_oldest(&tenant, Some(&bound), u64::MAX).await?);
            }
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
        let mut transaction = self.database.begin().await?;
        let first_kept: Option<String> = sqlx::query_scalar(
            "SELECT run_id FROM runs WHERE tenant = $1 ORDER BY run_id LIMIT 1 OFFSET $2",
        )
        .bind(tenant.to_owned())
        .bind(number(wanted.min(AT_ONCE)))
        .fetch_optional(&mut *transaction)
        .await?;
        let bounds = [first_kept.as_deref(), bound];
        let Some(bound) = bounds.into_iter().flatten().min().map(str::to_owned) else {
            return Ok(Trimmed::default());
        };
        let bytes: i64 = sqlx::query_scalar(
            "SELECT CAST(COALESCE(SUM(bytes), 0) AS BIGINT) FROM run_logs \
             WHERE tenant = $1 AND run_id < $2",
        )
        .bind(tenant.to_owned())
        .bind(bound.clone())
        .fetch_one(&mut *transaction)
        .await?;
        sqlx::query("DELETE FROM run_logs WHERE tenant = $1 AND run_id < $2")
            .bind(tenant.to_owned())
            .bind(bound.clone())
            .execute(&mut *transaction)
            .await?;
        forget_titles(&mut transaction, tenant, &bound).await?;
        let removed = sqlx::query("DELETE FROM runs WHERE tenant = $1 AND run_id < $2")
            .bind(tenant.to_owned())
            .bind(bound)
            .execute(&mut *transaction)
            .await?
            .rows_affected();
        let (fewer, less) = (number(removed).saturating_neg(), bytes.saturating_neg());
        add_to_totals(&mut transaction, tenant, fewer, less).await?;
        transaction.commit().await?;
        Ok(Trimmed { records: removed, logs: 0, has_more: removed >= AT_ONCE && wanted > removed })
    }

    /// Removes the oldest logs of a tenant until `excess` bytes are gone.
    async fn remove_logs(&self, tenant: &str, excess: u64) -> Result<Trimmed, DatabaseError> {
        let mut transaction = self.database.begin().await?;
        let oldest: Vec<(String, i64)> = sqlx::query_as(
            "SELECT run_id, bytes FROM run_logs WHERE tenant = $1 ORDER BY run_id LIMIT $2",
        )
        .bind(tenant.to_owned())
        .bind(number(AT_ONCE))
        .fetch_all(&mut *transaction)
        .await?;
        let (mut freed, mut last) = (0_u64, None);
        for (run_id, bytes) in oldest {
            if freed >= excess {
                break;
            }
            freed = freed.saturating_add(count(bytes));
            last = Some(run_id);
        }
        let Some(last) = last else { return Ok(Trimmed::default()) };
        let removed = sqlx::query("DELETE FROM run_logs WHERE tenant = $1 AND run_id <= $2")
            .bind(tenant.to_owned())
            .bind(last)
            .execute(&mut *transaction)
            .await?
            .rows_affected();
        add_to_totals(&mut transaction, tenant, 0, number(freed).saturating_neg()).await?;
        transaction.commit().await?;
        Ok(Trimmed { records: 0, logs: removed, has_more: freed < excess })
    }
}
