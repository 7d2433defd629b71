//! Writes records, many in one transaction.

use std::collections::BTreeMap;

use sqlx::{QueryBuilder, Sqlite};

use crate::database::sqlite::connections::Writing;
use crate::database::sqlite::numbers::number;
use crate::database::sqlite::records::SqliteRecords;
use crate::database::sqlite::records::notes::remove_note;
use crate::database::sqlite::records::titles::{insert_blobs, insert_titles};
use crate::records::row::Row;

/// Records of one statement. A statement of SQLite takes 32,766 values.
const ROWS: usize = 256;

impl SqliteRecords {
    pub(super) async fn insert_all(&self, rows: &[Row], now_ms: u64) -> Result<(), sqlx::Error> {
        let mut transaction = self.begin().await?;
        for rows in rows.chunks(ROWS) {
            insert_rows(&mut transaction, rows).await?;
            for row in rows.iter().filter(|row| row.is_detached) {
                remove_note(&mut transaction, &row.tenant, &row.run_id).await?;
                keep_name_from(&mut transaction, row, now_ms).await?;
            }
        }
        transaction.commit().await
    }
}

type Sums<'a> = BTreeMap<&'a str, (u64, u64)>;

async fn insert_rows(transaction: &mut Writing, rows: &[Row]) -> Result<(), sqlx::Error> {
    let mut statement: QueryBuilder<Sqlite> = QueryBuilder::new(
        "INSERT INTO runs (tenant, run_id, kind, skill, version, outcome, error_type, started_ms, \
         duration_us, log_bytes, record) ",
    );
    statement.push_values(rows, |mut values, row| {
        values
            .push_bind(row.tenant.as_str())
            .push_bind(row.run_id.as_str())
            .push_bind(row.kind)
            .push_bind(row.skill.as_deref())
            .push_bind(row.version.as_deref())
            .push_bind(row.outcome)
            .push_bind(row.error_type.as_deref())
            .push_bind(number(row.started_ms))
            .push_bind(number(row.duration_us))
            .push_bind(number(row.log_bytes))
            .push_bind(row.record.as_str());
    });
    statement.push(" ON CONFLICT DO NOTHING");
    let written = statement.build().persistent(false).execute(&mut **transaction).await?;
    let logged: Vec<&Row> = rows.iter().filter(|row| row.kept_bytes() > 0).collect();
    if !logged.is_empty() {
        let mut statement: QueryBuilder<Sqlite> = QueryBuilder::new(
            "INSERT INTO run_logs (tenant, run_id, bytes, pieces, result, document, content) ",
        );
        statement.push_values(logged, |mut values, row| {
            values
                .push_bind(row.tenant.as_str())
                .push_bind(row.run_id.as_str())
                .push_bind(number(row.kept_bytes()))
                .push_bind(row.pieces.as_deref().unwrap_or("[]"))
                .push_bind(row.result.as_deref())
                .push_bind(row.document.as_deref())
                .push_bind(row.content.as_deref());
        });
        statement.push(" ON CONFLICT DO NOTHING");
        statement.build().persistent(false).execute(&mut **transaction).await?;
    }
    insert_titles(transaction, rows).await?;
    insert_blobs(transaction, rows).await?;
    let all_new = usize::try_from(written.rows_affected()) == Ok(rows.len());
    let mut sums = Sums::new();
    for row in rows {
        let (runs, bytes) = sums.entry(&row.tenant).or_default();
        *runs = runs.saturating_add(1);
        *bytes = bytes.saturating_add(row.kept_bytes());
    }
    for (tenant, (runs, bytes)) in sums {
        if all_new {
            add_to_totals(transaction, tenant, number(runs), number(bytes)).await?;
        } else {
            count_again(transaction, tenant).await?;
        }
    }
    Ok(())
}

/// The name of a run that has ended is kept for its time from now on.
async fn keep_name_from(
    transaction: &mut Writing,
    row: &Row,
    now_ms: u64,
) -> Result<(), sqlx::Error> {
    sqlx::query("UPDATE call_names SET noted_ms = $3 WHERE tenant = $1 AND run_id = $2")
        .bind(row.tenant.clone())
        .bind(row.run_id.clone())
        .bind(number(now_ms))
        .execute(&mut **transaction)
        .await
        .map(drop)
}

pub(super) async fn add_to_totals(
    transaction: &mut Writing,
    tenant: &str,
    runs: i64,
    log_bytes: i64,
) -> Result<(), sqlx::Error> {
    sqlx::query(
        "INSERT INTO run_totals (tenant, runs, log_bytes) VALUES ($1, $2, $3) \
         ON CONFLICT (tenant) DO UPDATE SET runs = run_totals.runs + excluded.runs, \
         log_bytes = run_totals.log_bytes + excluded.log_bytes",
    )
    .bind(tenant.to_owned())
    .bind(runs)
    .bind(log_bytes)
    .execute(&mut **transaction)
    .await
    .map(drop)
}

async fn count_again(transaction: &mut Writing, tenant: &str) -> Result<(), sqlx::Error> {
    let count = "SELECT COUNT(*) FROM runs WHERE tenant = $1";
    let runs: i64 =
        sqlx::query_scalar(count).bind(tenant.to_owned()).fetch_one(&mut **transaction).await?;
    let sum = "SELECT CAST(COALESCE(SUM(bytes), 0) AS BIGINT) FROM run_logs WHERE tenant = $1";
    let bytes: i64 =
        sqlx::query_scalar(sum).bind(tenant.to_owned()).fetch_one(&mut **transaction).await?;
    let remove = "DELETE FROM run_totals WHERE tenant = $1";
    sqlx::query(remove).bind(tenant.to_owned()).execute(&mut **transaction).await?;
    add_to_totals(transaction, tenant, runs, bytes).await
}
