//! Reads records.

use crate::database::numbers::{count, number};
use crate::database::records::StoredRecords;
use crate::database::statement::{Dialect, Statement, statement};
use crate::database_error::DatabaseError;
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

impl StoredRecords {
    pub(super) async fn list_window(
        &self,
        whose: &WhoseRuns,
        filter: &RunFilter,
        window: &Window,
        limit: u64,
    ) -> Result<Vec<ListedRow>, DatabaseError> {
        let mut list = listing(self.database.dialect(), whose, filter, window);
        list.push(" ORDER BY runs.run_id DESC LIMIT ").push_value(number(limit));
        let rows: Vec<Columns> = self.database.fetch_all(list).await?;
        Ok(rows.into_iter().map(listed).collect())
    }

    pub(super) async fn run_in_window(
        &self,
        whose: &WhoseRuns,
        window: &Window,
        place: u64,
    ) -> Result<Option<String>, DatabaseError> {
        let mut find =
            Statement::building(self.database.dialect(), "SELECT runs.run_id FROM runs WHERE ");
        push_window(&mut find, whose, window);
        find.push(" ORDER BY runs.run_id DESC LIMIT 1 OFFSET ").push_value(number(place));
        Ok(self.database.fetch_optional::<(String,)>(find).await?.map(|(run,)| run))
    }

    /// The record of a run as JSON.
    pub(super) async fn find_record(
        &self,
        tenant: &TenantId,
        kind: Option<RunKind>,
        run: &RunId,
    ) -> Result<Option<String>, DatabaseError> {
        let mut find = Statement::building(self.database.dialect(), "SELECT record FROM runs");
        push_run(&mut find, tenant, kind, run);
        Ok(self.database.fetch_optional::<(String,)>(find).await?.map(|(record,)| record))
    }

    pub(super) async fn find_sizes(
        &self,
        tenant: &TenantId,
        kind: Option<RunKind>,
        run: &RunId,
    ) -> Result<Option<StoredLog>, DatabaseError> {
        let mut find = Statement::building(self.database.dialect(), "SELECT log_bytes FROM runs");
        push_run(&mut find, tenant, kind, run);
        let found: Option<(i64,)> = self.database.fetch_optional(find).await?;
        let Some((bytes,)) = found else { return Ok(None) };
        let size = statement("SELECT bytes FROM run_logs WHERE tenant = $1 AND run_id = $2");
        let size = size.bind(tenant.as_str()).bind(run.as_str());
        let size: Option<(i64,)> = self.database.fetch_optional(size).await?;
        Ok(Some(StoredLog { bytes: count(bytes), size: size.map(|(size,)| count(size)) }))
    }

    pub(super) async fn find_result_size(
        &self,
        tenant: &TenantId,
        run: &RunId,
    ) -> Result<Option<u64>, DatabaseError> {
        const SIZE: &str = "SELECT bytes FROM run_logs \
                            WHERE tenant = $1 AND run_id = $2 AND result IS NOT NULL";
        let size = statement(SIZE).bind(tenant.as_str()).bind(run.as_str());
        Ok(self.database.fetch_optional::<(i64,)>(size).await?.map(|(size,)| count(size)))
    }

    pub(super) async fn read_part(
        &self,
        tenant: &TenantId,
        run: &RunId,
        part: RecordPart,
    ) -> Result<Option<String>, DatabaseError> {
        let text = statement(match part {
            RecordPart::Log => "SELECT pieces FROM run_logs WHERE tenant = $1 AND run_id = $2",
            RecordPart::Result => "SELECT result FROM run_logs WHERE tenant = $1 AND run_id = $2",
            RecordPart::Document => {
                "SELECT document FROM run_logs WHERE tenant = $1 AND run_id = $2"
            }
            RecordPart::Content => "SELECT content FROM run_logs WHERE tenant = $1 AND run_id = $2",
        });
        let text = text.bind(tenant.as_str()).bind(run.as_str());
        let text: Option<(Option<String>,)> = self.database.fetch_optional(text).await?;
        Ok(text.and_then(|(text,)| text))
    }
}

/// The conditions on one run.
fn push_run(statement: &mut Statement, tenant: &TenantId, kind: Option<RunKind>, run: &RunId) {
    statement.push(" WHERE tenant = ").push_value(tenant.as_str());
    statement.push(" AND run_id = ").push_value(run.as_str());
    if let Some(kind) = kind {
        statement.push(" AND kind = ").push_value(kind.name());
    }
}

/// The conditions on the tenant, if there is one, and on the ids.
fn push_window(statement: &mut Statement, whose: &WhoseRuns, window: &Window) {
    if let Some(tenant) = whose.tenant() {
        statement.push("runs.tenant = ").push_value(tenant.as_str()).push(" AND ");
    }
    statement.push("runs.run_id < ").push_value(window.newest.clone());
    statement.push(" AND runs.run_id >= ").push_value(window.oldest.clone());
}

/// The statement of a list, without its order.
fn listing(dialect: Dialect, whose: &WhoseRuns, filter: &RunFilter, window: &Window) -> Statement {
    let mut statement = Statement::building(
        dialect,
        "SELECT runs.run_id, runs.tenant, titles.title, kind, skill, version, outcome, error_type, \
         started_ms, duration_us, log_bytes \
         FROM runs LEFT JOIN run_titles AS titles \
         ON titles.tenant = runs.tenant AND titles.run_id = runs.run_id WHERE ",
    );
    push_window(&mut statement, whose, window);
    if let Some(kind) = filter.kind {
        statement.push(" AND kind = ").push_value(kind.name());
    }
    if let Some(outcome) = filter.outcome {
        statement.push(" AND outcome = ").push_value(outcome.name());
    }
    if let Some(skill) = &filter.skill {
        statement.push(" AND skill = ").push_value(skill.as_str().to_owned());
    }
    if let Some(blob) = &filter.blob {
        statement.push(
            " AND (runs.tenant, runs.run_id) IN (SELECT tenant, run_id FROM run_blobs WHERE ",
        );
        if let WhoseRuns::Own(tenant) = whose {
            statement.push("tenant = ").push_value(tenant.as_str()).push(" AND ");
        }
        statement.push("blob_id = ").push_value(blob.to_string());
        statement.push(" ORDER BY run_id DESC LIMIT ").push_value(number(MADE_BY)).push(")");
    }
    for word in filter.search.iter().flat_map(RunSearch::words) {
        push_word(&mut statement, word, whose, dialect);
    }
    statement
}

/// The condition that a run is found by a word. Of runs that the reader may not read, only the skill is
/// searched, which the caller did not write into its program.
fn push_word(statement: &mut Statement, word: &str, whose: &WhoseRuns, dialect: Dialect) {
    const SKILL: &str = "lower(kind || ' ' || runs.run_id || ' ' || COALESCE(skill, '') || ' ' || \
                         COALESCE(version, ''))";
    statement.push(match dialect {
        Dialect::Sqlite => " AND instr(",
        Dialect::Postgres => " AND strpos(",
    });
    match whose {
        WhoseRuns::Own(_) => {
            statement.push("titles.search");
        }
        WhoseRuns::Operator { reader: None, .. } => {
            statement.push(SKILL);
        }
        WhoseRuns::Operator { reader: Some(reader), .. } => {
            statement.push("CASE WHEN runs.tenant = ").push_value(reader.as_str().to_owned());
            statement.push(&format!(" THEN titles.search ELSE {SKILL} END"));
        }
    }
    statement.push(", ").push_value(word.to_owned()).push(") > 0");
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
