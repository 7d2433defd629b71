//! Reads records.

use sqlx::{QueryBuilder, Sqlite};

use crate::database::sqlite::numbers::{count, number};
use crate::database::sqlite::records::SqliteRecords;
use crate::records::filter::{RunFilter, RunSearch, WhoseRuns};
use crate::records::record::RunKind;
use crate::records::store::{ListedRow, MADE_BY, RecordPart, StoredLog, Window};
use wardian_vocabulary::ids::{RunId, TenantId};

/// Columns of a listed row: id, tenant, title, kind, skill, version, outcome, type of the error, start,
/// duration and length of the log.
type Columns = (
    String,
    String,
    Option<String>,
    String,
    Option<String>,
    Option<String>,
    String,
    Option<String>,
    i64,
    i64,
    i64,
);

impl SqliteRecords {
    pub(super) async fn list_window(
        &self,
        whose: &WhoseRuns,
        filter: &RunFilter,
        window: &Window,
        limit: u64,
    ) -> Result<Vec<ListedRow>, sqlx::Error> {
        let mut statement = listing(whose, filter, window);
        statement.push(" ORDER BY runs.run_id DESC LIMIT ").push_bind(number(limit));
        let rows: Vec<Columns> =
            statement.build_query_as().fetch_all(self.file.connections()).await?;
        Ok(rows.into_iter().map(listed).collect())
    }

    pub(super) async fn run_in_window(
        &self,
        whose: &WhoseRuns,
        window: &Window,
        place: u64,
    ) -> Result<Option<String>, sqlx::Error> {
        let mut statement: QueryBuilder<Sqlite> =
            QueryBuilder::new("SELECT runs.run_id FROM runs WHERE ");
        push_window(&mut statement, whose, window);
        statement.push(" ORDER BY runs.run_id DESC LIMIT 1 OFFSET ").push_bind(number(place));
        statement.build_query_scalar().fetch_optional(self.file.connections()).await
    }

    /// A column of the row of a run. The name of the column is that of a statement, never a value.
    pub(super) async fn find_column<T>(
        &self,
        column: &'static str,
        tenant: &TenantId,
        kind: Option<RunKind>,
        run: &RunId,
    ) -> Result<Option<T>, sqlx::Error>
    where
        (T,): for<'row> sqlx::FromRow<'row, sqlx::sqlite::SqliteRow>,
        T: Send + Unpin,
    {
        let mut statement: QueryBuilder<Sqlite> =
            QueryBuilder::new(format!("SELECT {column} FROM runs WHERE tenant = "));
        statement.push_bind(tenant.as_str().to_owned());
        statement.push(" AND run_id = ").push_bind(run.as_str().to_owned());
        if let Some(kind) = kind {
            statement.push(" AND kind = ").push_bind(kind.name());
        }
        statement.build_query_scalar().fetch_optional(self.file.connections()).await
    }

    pub(super) async fn find_sizes(
        &self,
        tenant: &TenantId,
        kind: Option<RunKind>,
        run: &RunId,
    ) -> Result<Option<StoredLog>, sqlx::Error> {
        let found: Option<i64> = self.find_column("log_bytes", tenant, kind, run).await?;
        let Some(bytes) = found else { return Ok(None) };
        let size = "SELECT bytes FROM run_logs WHERE tenant = $1 AND run_id = $2";
        let size = sqlx::query_scalar::<_, i64>(size)
            .bind(tenant.as_str().to_owned())
            .bind(run.as_str().to_owned());
        let size = size.fetch_optional(self.file.connections()).await?;
        Ok(Some(StoredLog { bytes: count(bytes), size: size.map(count) }))
    }

    pub(super) async fn find_result_size(
        &self,
        tenant: &TenantId,
        run: &RunId,
    ) -> Result<Option<u64>, sqlx::Error> {
        let size = "SELECT bytes FROM run_logs \
             WHERE tenant = $1 AND run_id = $2 AND result IS NOT NULL";
        let size = sqlx::query_scalar::<_, i64>(size)
            .bind(tenant.as_str().to_owned())
            .bind(run.as_str().to_owned());
        Ok(size.fetch_optional(self.file.connections()).await?.map(count))
    }

    pub(super) async fn read_part(
        &self,
        tenant: &TenantId,
        run: &RunId,
        part: RecordPart,
    ) -> Result<Option<String>, sqlx::Error> {
        let text = sqlx::query_scalar::<_, Option<String>>(match part {
            RecordPart::Log => "SELECT pieces FROM run_logs WHERE tenant = $1 AND run_id = $2",
            RecordPart::Result => "SELECT result FROM run_logs WHERE tenant = $1 AND run_id = $2",
            RecordPart::Document => {
                "SELECT document FROM run_logs WHERE tenant = $1 AND run_id = $2"
            }
            RecordPart::Content => "SELECT content FROM run_logs WHERE tenant = $1 AND run_id = $2",
        });
        let text = text.bind(tenant.as_str().to_owned()).bind(run.as_str().to_owned());
        Ok(text.fetch_optional(self.file.connections()).await?.flatten())
    }
}

/// The conditions on the tenant, if there is one, and on the ids.
fn push_window(statement: &mut QueryBuilder<Sqlite>, whose: &WhoseRuns, window: &Window) {
    if let Some(tenant) = whose.tenant() {
        statement.push("runs.tenant = ").push_bind(tenant.as_str().to_owned()).push(" AND ");
    }
    statement.push("runs.run_id < ").push_bind(window.newest.clone());
    statement.push(" AND runs.run_id >= ").push_bind(window.oldest.clone());
}

/// The statement of a list, without its order.
fn listing(whose: &WhoseRuns, filter: &RunFilter, window: &Window) -> QueryBuilder<Sqlite> {
    let mut statement: QueryBuilder<Sqlite> = QueryBuilder::new(
        "SELECT runs.run_id, runs.tenant, titles.title, kind, skill, version, outcome, error_type, \
         started_ms, duration_us, log_bytes \
         FROM runs LEFT JOIN run_titles AS titles \
         ON titles.tenant = runs.tenant AND titles.run_id = runs.run_id WHERE ",
    );
    push_window(&mut statement, whose, window);
    if let Some(kind) = filter.kind {
        statement.push(" AND kind = ").push_bind(kind.name());
    }
    if let Some(outcome) = filter.outcome {
        statement.push(" AND outcome = ").push_bind(outcome.name());
    }
    if let Some(skill) = &filter.skill {
        statement.push(" AND skill = ").push_bind(skill.as_str().to_owned());
    }
    if let Some(blob) = &filter.blob {
        statement.push(
            " AND (runs.tenant, runs.run_id) IN (SELECT tenant, run_id FROM run_blobs WHERE ",
        );
        if let WhoseRuns::Own(tenant) = whose {
            statement.push("tenant = ").push_bind(tenant.as_str().to_owned()).push(" AND ");
        }
        statement.push("blob_id = ").push_bind(blob.to_string());
        statement.push(" ORDER BY run_id DESC LIMIT ").push_bind(number(MADE_BY)).push(")");
    }
    for word in filter.search.iter().flat_map(RunSearch::words) {
        push_word(&mut statement, word, whose);
    }
    statement
}

/// The condition that a run is found by a word. Of runs that the reader may not read, only the skill is
/// searched, which the caller did not write into its program.
fn push_word(statement: &mut QueryBuilder<Sqlite>, word: &str, whose: &WhoseRuns) {
    const SKILL: &str = "lower(kind || ' ' || runs.run_id || ' ' || COALESCE(skill, '') || ' ' || \
                         COALESCE(version, ''))";
    statement.push(" AND instr(");
    match whose {
        WhoseRuns::Own(_) => {
            statement.push("titles.search");
        }
        WhoseRuns::Operator { reader: None, .. } => {
            statement.push(SKILL);
        }
        WhoseRuns::Operator { reader: Some(reader), .. } => {
            statement.push("CASE WHEN runs.tenant = ").push_bind(reader.as_str().to_owned());
            statement.push(format!(" THEN titles.search ELSE {SKILL} END"));
        }
    }
    statement.push(", ").push_bind(word.to_owned()).push(") > 0");
}

fn listed(columns: Columns) -> ListedRow {
    let (run_id, tenant, title, kind, skill, version, outcome, error_type, started, duration, log) =
        columns;
    ListedRow {
        run_id,
        tenant,
        title,
        kind,
        skill,
        version,
        outcome,
        error_type,
        started_ms: count(started),
        duration_us: count(duration),
        log_bytes: count(log),
    }
}
