//! Writes records, many in one transaction.

use std::collections::BTreeMap;

use sqlx::{QueryBuilder, Sqlite, Transaction};

use crate::database::DatabaseError;
use crate::records::record::RunRecord;
use crate::records::table::titles::{TitleRow, insert_blobs, insert_titles, search_text};
use crate::records::table::{RecordTable, number};
use wardian_vocabulary::units::ByteCount;

/// Records of one statement. A statement of SQLite takes 32,766 values.
const ROWS: usize = 256;

/// A record as its tables hold it.
#[derive(Debug, Clone)]
pub(in crate::records) struct Row {
    pub(in crate::records) tenant: String,
    pub(in crate::records) run_id: String,
    pub(in crate::records) kind: &'static str,
    pub(in crate::records) skill: Option<String>,
    pub(in crate::records) version: Option<String>,
    pub(in crate::records) outcome: &'static str,
    pub(in crate::records) error_type: Option<String>,
    pub(in crate::records) started_ms: u64,
    pub(in crate::records) duration_us: u64,
    pub(in crate::records) log_bytes: u64,
    pub(in crate::records) record: String,
    /// The pieces of the log as JSON.
    pub(in crate::records) pieces: Option<String>,
    /// The result of a run in the background, as JSON.
    pub(in crate::records) result: Option<String>,
    /// The document of a reproducible run.
    pub(in crate::records) document: Option<String>,
    /// What the run was given and what it left, as JSON.
    pub(in crate::records) content: Option<String>,
    pub(in crate::records) title: Option<String>,
    /// What a search reads.
    pub(in crate::records) search: String,
    /// The blobs that it stored.
    pub(in crate::records) blobs: Vec<String>,
    pub(in crate::records) is_detached: bool,
}

impl Row {
    /// The record as its tables hold it.
    pub(in crate::records) fn of(
        record: &RunRecord,
        pieces: Option<String>,
        result: Option<String>,
    ) -> Result<Self, serde_json::Error> {
        Ok(Self {
            tenant: record.tenant.to_string(),
            run_id: record.run_id.to_string(),
            kind: record.kind.name(),
            skill: record.skill.as_ref().map(|skill| skill.name.to_string()),
            version: record.skill.as_ref().map(|skill| skill.version.to_string()),
            outcome: record.outcome.name(),
            error_type: record.error.as_ref().map(|error| error.error_type.clone()),
            started_ms: record.started_ms,
            duration_us: record.duration_us,
            log_bytes: record.log.bytes,
            record: serde_json::to_string(record)?,
            pieces,
            result,
            document: None,
            content: None,
            title: record.label.as_ref().or(record.title.as_ref()).cloned(),
            search: search_text(record),
            blobs: record.output_blobs.iter().map(ToString::to_string).collect(),
            is_detached: record.detached,
        })
    }

    fn found_by(&self) -> TitleRow<'_> {
        TitleRow {
            tenant: &self.tenant,
            run_id: &self.run_id,
            title: self.title.as_deref(),
            search: &self.search,
            blobs: &self.blobs,
        }
    }

    /// Bytes of the log, the result, the document and the content.
    fn kept_bytes(&self) -> u64 {
        let texts = [&self.pieces, &self.result, &self.document, &self.content];
        texts.into_iter().flatten().map(|text| length(text)).sum()
    }
}

impl RecordTable {
    /// Writes all of these records or none. Existing ones stay unchanged, so a batch can be written
    /// again after an error that may have come too late. The names of their runs are kept from
    /// `now_ms` on, in milliseconds since the Unix epoch.
    pub(in crate::records) async fn insert(
        &self,
        rows: &[Row],
        now_ms: u64,
    ) -> Result<(), DatabaseError> {
        let mut transaction = self.database.begin().await?;
        for rows in rows.chunks(ROWS) {
            insert_rows(&mut transaction, rows).await?;
            for row in rows.iter().filter(|row| row.is_detached) {
                remove_note(&mut transaction, &row.tenant, &row.run_id).await?;
                keep_name_from(&mut transaction, row, now_ms).await?;
            }
        }
        transaction.commit().await?;
        Ok(())
    }
}

type Sums<'a> = BTreeMap<&'a str, (u64, u64)>;

async fn insert_rows(
    transaction: &mut Transaction<'static, Sqlite>,
    rows: &[Row],
) -> Result<(), sqlx::Error> {
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
    let titles: Vec<TitleRow<'_>> = rows.iter().map(Row::found_by).collect();
    insert_titles(transaction, &titles).await?;
    insert_blobs(transaction, &titles).await?;
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

/// Removes the note of a run whose record is written.
pub(super) async fn remove_note(
    transaction: &mut Transaction<'static, Sqlite>,
    tenant: &str,
    run_id: &str,
) -> Result<(), sqlx::Error> {
    sqlx::query("DELETE FROM detached_runs WHERE tenant = $1 AND run_id = $2")
        .bind(tenant.to_owned())
        .bind(run_id.to_owned())
        .execute(&mut **transaction)
        .await
        .map(drop)
}

/// The name of a run that has ended is kept for its time from now on.
async fn keep_name_from(
    transaction: &mut Transaction<'static, Sqlite>,
    row: &Row,
    now_ms: u64,
) -> Result<(), sqlx::Error> {
    sqlx::query("UPDATE run_keys SET noted_ms = $3 WHERE tenant = $1 AND run_id = $2")
        .bind(row.tenant.clone())
        .bind(row.run_id.clone())
        .bind(number(now_ms))
        .execute(&mut **transaction)
        .await
        .map(drop)
}

fn length(text: &str) -> u64 {
    ByteCount::from(text.len()).as_u64()
}

pub(super) async fn add_to_totals(
    transaction: &mut Transaction<'static, Sqlite>,
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

async fn count_again(
    transaction: &mut Transaction<'static, Sqlite>,
    tenant: &str,
) -> Result<(), sqlx::Error> {
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
