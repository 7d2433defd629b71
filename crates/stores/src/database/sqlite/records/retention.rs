//! Removes old records.

use async_trait::async_trait;

use crate::database::sqlite::numbers::{count, number};
use crate::database::sqlite::records::SqliteRecords;
use crate::database::sqlite::records::titles::forget_titles;
use crate::database::sqlite::records::write::add_to_totals;
use crate::database_error::DatabaseError;
use crate::records::store::{RecordRetention, RecordTotals, RemovedLogs};

#[async_trait]
impl RecordRetention for SqliteRecords {
    async fn tenants_over(
        &self,
        runs: u64,
        log_bytes: u64,
    ) -> Result<Vec<RecordTotals>, DatabaseError> {
        let over: Vec<(String, i64, i64)> = sqlx::query_as(
            "SELECT tenant, runs, log_bytes FROM run_totals WHERE runs > $1 OR log_bytes > $2",
        )
        .bind(number(runs))
        .bind(number(log_bytes))
        .fetch_all(self.file.connections())
        .await?;
        let totals = |(tenant, runs, bytes)| RecordTotals {
            tenant,
            runs: count(runs),
            log_bytes: count(bytes),
        };
        Ok(over.into_iter().map(totals).collect())
    }

    async fn tenants_before(&self, bound: &str) -> Result<Vec<String>, DatabaseError> {
        let tenants = sqlx::query_scalar(
            "SELECT tenant FROM run_totals AS totals WHERE EXISTS \
             (SELECT 1 FROM runs WHERE tenant = totals.tenant AND run_id < $1)",
        );
        Ok(tenants.bind(bound.to_owned()).fetch_all(self.file.connections()).await?)
    }

    async fn remove_oldest(
        &self,
        tenant: &str,
        bound: Option<&str>,
        most: u64,
    ) -> Result<u64, DatabaseError> {
        let mut transaction = self.begin().await?;
        let first_kept: Option<String> = sqlx::query_scalar(
            "SELECT run_id FROM runs WHERE tenant = $1 ORDER BY run_id LIMIT 1 OFFSET $2",
        )
        .bind(tenant.to_owned())
        .bind(number(most))
        .fetch_optional(&mut *transaction)
        .await?;
        let bounds = [first_kept.as_deref(), bound];
        let Some(bound) = bounds.into_iter().flatten().min().map(str::to_owned) else {
            return Ok(0);
        };
        // What was deleted is subtracted, not what was there before: another server may delete too.
        let logs: Vec<i64> = sqlx::query_scalar(
            "DELETE FROM run_logs WHERE tenant = $1 AND run_id < $2 RETURNING bytes",
        )
        .bind(tenant.to_owned())
        .bind(bound.clone())
        .fetch_all(&mut *transaction)
        .await?;
        let bytes = logs.into_iter().fold(0, i64::saturating_add);
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
        Ok(removed)
    }

    async fn remove_logs(
        &self,
        tenant: &str,
        excess: u64,
        most: u64,
    ) -> Result<RemovedLogs, DatabaseError> {
        let mut transaction = self.begin().await?;
        let oldest: Vec<(String, i64)> = sqlx::query_as(
            "SELECT run_id, bytes FROM run_logs WHERE tenant = $1 ORDER BY run_id LIMIT $2",
        )
        .bind(tenant.to_owned())
        .bind(number(most))
        .fetch_all(&mut *transaction)
        .await?;
        let (mut bytes, mut last) = (0_u64, None);
        for (run_id, size) in oldest {
            if bytes >= excess {
                break;
            }
            bytes = bytes.saturating_add(count(size));
            last = Some(run_id);
        }
        let Some(last) = last else { return Ok(RemovedLogs::default()) };
        let logs = sqlx::query("DELETE FROM run_logs WHERE tenant = $1 AND run_id <= $2")
            .bind(tenant.to_owned())
            .bind(last)
            .execute(&mut *transaction)
            .await?
            .rows_affected();
        add_to_totals(&mut transaction, tenant, 0, number(bytes).saturating_neg()).await?;
        transaction.commit().await?;
        Ok(RemovedLogs { logs, bytes })
    }
}
