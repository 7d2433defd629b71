//! Writes records, many in one transaction.

use std::collections::BTreeMap;

use crate::database::engine::Writing;
use crate::database::numbers::number;
use crate::database::records::StoredRecords;
use crate::database::records::removal::{remove_note, remove_note_of};
use crate::database::records::servers::is_present;
use crate::database::records::titles::{insert_blobs, insert_titles};
use crate::database::statement::{Statement, statement};
use crate::database_error::DatabaseError;
use crate::records::row::Row;
use crate::records::server_id::RunHolder;

/// Records of one statement. A statement of SQLite takes 32,766 values, one of PostgreSQL 65,535.
const ROWS: usize = 256;

const INSERT: &str = "INSERT INTO runs (tenant, run_id, kind, skill, version, outcome, error_type, \
                      started_ms, duration_us, log_bytes, record) ";

const INSERT_LOGS: &str =
    "INSERT INTO run_logs (tenant, run_id, bytes, pieces, result, document, content) ";

impl StoredRecords {
    pub(super) async fn insert_all(&self, rows: &[Row], now_ms: u64) -> Result<u64, DatabaseError> {
        let mut transaction = self.begin().await?;
        let (mut written, mut late) = (Vec::with_capacity(rows.len()), 0_u64);
        let mut present: Option<(&RunHolder, bool)> = None;
        for row in rows {
            let Some(holder) = &row.holder else {
                if row.is_detached {
                    remove_note(&mut transaction, &row.tenant, &row.run_id).await?;
                }
                written.push(row);
                continue;
            };
            let is_present = match present {
                Some((known, is_present)) if known == holder => is_present,
                _ => is_present(&mut transaction, holder).await?,
            };
            present = Some((holder, is_present));
            let place = (row.tenant.as_str(), row.run_id.as_str());
            if is_present && remove_note_of(&mut transaction, place, holder).await? {
                written.push(row);
            } else if !is_written(&mut transaction, row).await? {
                late = late.saturating_add(1);
            }
        }
        insert_ended(&mut transaction, &written, now_ms).await?;
        transaction.commit().await?;
        Ok(late)
    }
}

/// Writes the records of runs that are over, whose notes are removed.
pub(super) async fn insert_ended(
    transaction: &mut Writing,
    rows: &[&Row],
    now_ms: u64,
) -> Result<(), DatabaseError> {
    for rows in rows.chunks(ROWS) {
        insert_rows(transaction, rows).await?;
        for row in rows.iter().filter(|row| row.is_detached) {
            keep_name_from(transaction, row, now_ms).await?;
        }
    }
    Ok(())
}

/// True if this very record was written before: its batch is written again.
async fn is_written(transaction: &mut Writing, row: &Row) -> Result<bool, DatabaseError> {
    let found = statement("SELECT record FROM runs WHERE tenant = $1 AND run_id = $2");
    let found = found.bind(row.tenant.as_str()).bind(row.run_id.as_str());
    let found: Option<(String,)> = transaction.fetch_optional(found).await?;
    Ok(found.is_some_and(|(record,)| record == row.record))
}

type Sums<'a> = BTreeMap<&'a str, (u64, u64)>;

async fn insert_rows(transaction: &mut Writing, rows: &[&Row]) -> Result<(), DatabaseError> {
    let mut insert = Statement::building(transaction.dialect(), INSERT);
    insert.push_rows(rows, |row| {
        [
            row.tenant.as_str().into(),
            row.run_id.as_str().into(),
            row.kind.into(),
            row.skill.as_deref().into(),
            row.version.as_deref().into(),
            row.outcome.into(),
            row.error_type.as_deref().into(),
            number(row.started_ms).into(),
            number(row.duration_us).into(),
            number(row.log_bytes).into(),
            row.record.as_str().into(),
        ]
    });
    insert.push(" ON CONFLICT DO NOTHING");
    let written = transaction.execute(insert).await?;
    insert_logs(transaction, rows).await?;
    insert_titles(transaction, rows).await?;
    insert_blobs(transaction, rows).await?;
    let all_new = usize::try_from(written) == Ok(rows.len());
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

async fn insert_logs(transaction: &mut Writing, rows: &[&Row]) -> Result<(), DatabaseError> {
    let logged: Vec<&Row> = rows.iter().copied().filter(|row| row.kept_bytes() > 0).collect();
    if logged.is_empty() {
        return Ok(());
    }
    let mut insert = Statement::building(transaction.dialect(), INSERT_LOGS);
    insert.push_rows(logged, |row| {
        [
            row.tenant.as_str().into(),
            row.run_id.as_str().into(),
            number(row.kept_bytes()).into(),
            row.pieces.as_deref().unwrap_or("[]").into(),
            row.result.as_deref().into(),
            row.document.as_deref().into(),
            row.content.as_deref().into(),
        ]
    });
    insert.push(" ON CONFLICT DO NOTHING");
    transaction.execute(insert).await.map(drop)
}

/// The name of a run that has ended is kept for its time from now on.
async fn keep_name_from(
    transaction: &mut Writing,
    row: &Row,
    now_ms: u64,
) -> Result<(), DatabaseError> {
    let keep = statement("UPDATE call_names SET noted_ms = $3 WHERE tenant = $1 AND run_id = $2");
    let keep = keep.bind(row.tenant.as_str()).bind(row.run_id.as_str()).bind(number(now_ms));
    transaction.execute(keep).await.map(drop)
}

pub(super) async fn add_to_totals(
    transaction: &mut Writing,
    tenant: &str,
    runs: i64,
    log_bytes: i64,
) -> Result<(), DatabaseError> {
    const ADD: &str = "INSERT INTO run_totals (tenant, runs, log_bytes) VALUES ($1, $2, $3) \
         ON CONFLICT (tenant) DO UPDATE SET runs = run_totals.runs + excluded.runs, \
         log_bytes = run_totals.log_bytes + excluded.log_bytes";
    let add = statement(ADD).bind(tenant).bind(runs).bind(log_bytes);
    transaction.execute(add).await.map(drop)
}

/// Counts what a tenant has. The row of its sums is held from before the count, so whatever another
/// transaction changes is either counted here, or added by it afterwards.
async fn count_again(transaction: &mut Writing, tenant: &str) -> Result<(), DatabaseError> {
    const COUNT: &str = "UPDATE run_totals SET \
         runs = (SELECT COUNT(*) FROM runs WHERE tenant = $1), log_bytes = \
         (SELECT CAST(COALESCE(SUM(bytes), 0) AS BIGINT) FROM run_logs WHERE tenant = $1) \
         WHERE tenant = $1";
    add_to_totals(transaction, tenant, 0, 0).await?;
    transaction.execute(statement(COUNT).bind(tenant)).await.map(drop)
}
