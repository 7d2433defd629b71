//! Removes old records.

use async_trait::async_trait;

use crate::database::numbers::{count, number};
use crate::database::records::StoredRecords;
use crate::database::records::titles::forget_titles;
use crate::database::records::write::add_to_totals;
use crate::database::statement::statement;
use crate::database_error::DatabaseError;
use crate::records::store::{RecordRetention, RecordTotals, RemovedLogs};

#[async_trait]
impl RecordRetention for StoredRecords {
    async fn tenants_over(
        &self,
        runs: u64,
        log_bytes: u64,
    ) -> Result<Vec<RecordTotals>, DatabaseError> {
        const OVER: &str =
            "SELECT tenant, runs, log_bytes FROM run_totals WHERE runs > $1 OR log_bytes > $2";
        let over = statement(OVER).bind(number(runs)).bind(number(log_bytes));
        let over: Vec<(String, i64, i64)> = self.database.fetch_all(over).await?;
        let totals = |(tenant, runs, bytes)| RecordTotals {
            tenant,
            runs: count(runs),
            log_bytes: count(bytes),
        };
        Ok(over.into_iter().map(totals).collect())
    }

    async fn tenants_before(&self, bound: &str) -> Result<Vec<String>, DatabaseError> {
        const TENANTS: &str = "SELECT tenant FROM run_totals AS totals WHERE EXISTS \
                               (SELECT 1 FROM runs WHERE tenant = totals.tenant AND run_id < $1)";
        let tenants: Vec<(String,)> =
            self.database.fetch_all(statement(TENANTS).bind(bound)).await?;
        Ok(tenants.into_iter().map(|(tenant,)| tenant).collect())
    }

    async fn remove_oldest(
        &self,
        tenant: &str,
        bound: Option<&str>,
        most: u64,
    ) -> Result<u64, DatabaseError> {
        const FIRST_KEPT: &str =
            "SELECT run_id FROM runs WHERE tenant = $1 ORDER BY run_id LIMIT 1 OFFSET $2";
        let mut transaction = self.begin().await?;
        let first_kept = statement(FIRST_KEPT).bind(tenant).bind(number(most));
        let first_kept: Option<(String,)> = transaction.fetch_optional(first_kept).await?;
        let bounds = [first_kept.as_ref().map(|(run,)| run.as_str()), bound];
        let Some(bound) = bounds.into_iter().flatten().min() else { return Ok(0) };
        // What was deleted is subtracted, not what was there before: another server may delete too.
        let logs =
            statement("DELETE FROM run_logs WHERE tenant = $1 AND run_id < $2 RETURNING bytes");
        let logs: Vec<(i64,)> = transaction.fetch_all(logs.bind(tenant).bind(bound)).await?;
        let bytes = sum(logs);
        forget_titles(&mut transaction, tenant, bound).await?;
        let removed = statement("DELETE FROM runs WHERE tenant = $1 AND run_id < $2");
        let removed = transaction.execute(removed.bind(tenant).bind(bound)).await?;
        let (fewer, less) = (number(removed).saturating_neg(), bytes.saturating_neg());
        add_to_totals(&mut transaction, tenant, fewer, less).await?;
        transaction.commit().await?;
        Ok(removed)
    }

    async fn remove_logs(
        &self,
        tenant: &str,
        excess: u64,
        most: u64,
    ) -> Result<RemovedLogs, DatabaseError> {
        const OLDEST: &str =
            "SELECT run_id, bytes FROM run_logs WHERE tenant = $1 ORDER BY run_id LIMIT $2";
        let mut transaction = self.begin().await?;
        let oldest = statement(OLDEST).bind(tenant).bind(number(most));
        let oldest: Vec<(String, i64)> = transaction.fetch_all(oldest).await?;
        let (mut bytes, mut last) = (0_u64, None);
        for (run_id, size) in oldest {
            if bytes >= excess {
                break;
            }
            bytes = bytes.saturating_add(count(size));
            last = Some(run_id);
        }
        let Some(last) = last else { return Ok(RemovedLogs::default()) };
        let removed =
            statement("DELETE FROM run_logs WHERE tenant = $1 AND run_id <= $2 RETURNING bytes");
        let removed: Vec<(i64,)> = transaction.fetch_all(removed.bind(tenant).bind(last)).await?;
        let (logs, bytes) = (removed.len(), sum(removed));
        add_to_totals(&mut transaction, tenant, 0, bytes.saturating_neg()).await?;
        transaction.commit().await?;
        let logs = u64::try_from(logs).unwrap_or(u64::MAX);
        Ok(RemovedLogs { logs, bytes: count(bytes) })
    }
}

fn sum(numbers: Vec<(i64,)>) -> i64 {
    numbers.into_iter().fold(0, |sum, (number,)| sum.saturating_add(number))
}
