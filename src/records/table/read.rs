//! Reads the records of one tenant.
//!
//! INVARIANT(own-records-only): every statement names the tenant, so a run of another tenant is
//! found no more than one that does not exist.

use sqlx::{QueryBuilder, Sqlite};

use crate::database::DatabaseError;
use crate::ids::{RunId, SkillName, TenantId};
use crate::records::record::{MAX_RESULT, RunKind, RunOutcomeKind, RunSummary};
use crate::records::table::{RecordTable, StoredLog, before, bound_at, count, number};

/// Most records that a page with filters reads. So a filter that fits nothing costs a caller many
/// short calls, and the server no long one.
pub const SCANNED: u64 = 5_000;

/// The records that a list has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunFilter {
    /// Only runs of this method.
    pub kind: Option<RunKind>,
    /// Only runs that ended so.
    pub outcome: Option<RunOutcomeKind>,
    /// Only runs of this skill.
    pub skill: Option<SkillName>,
    /// Only runs that began at this time or later, in milliseconds since the Unix epoch.
    pub since_ms: Option<u64>,
}

impl RunFilter {
    /// True if a record can be left out although its time fits.
    const fn leaves_out(&self) -> bool {
        self.kind.is_some() || self.outcome.is_some() || self.skill.is_some()
    }
}

/// A page of the list of runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListedRuns {
    /// The runs, newest first.
    pub runs: Vec<RunSummary>,
    /// The id from which the next page goes on, if there may be more.
    pub next: Option<RunId>,
}

/// Columns of a summary: id, kind, skill, version, outcome, type of the error, start, duration and
/// length of the log.
type Columns =
    (String, String, Option<String>, Option<String>, String, Option<String>, i64, i64, i64);

impl RecordTable {
    /// Lists at most `limit` runs of a tenant that began before `cursor`, newest first. With filters
    /// a page may have fewer runs, and even none, although there are more.
    ///
    /// # Errors
    ///
    /// The database failed.
    pub async fn list(
        &self,
        tenant: &TenantId,
        filter: &RunFilter,
        cursor: Option<&RunId>,
        limit: u64,
    ) -> Result<ListedRuns, DatabaseError> {
        let newest = before(cursor);
        let mut oldest = bound_at(filter.since_ms.unwrap_or(0));
        let mut end_of_window = None;
        if filter.leaves_out() {
            let last: Option<String> = sqlx::query_scalar(
                "SELECT run_id FROM runs WHERE tenant = $1 AND run_id < $2 AND run_id >= $3 \
                 ORDER BY run_id DESC LIMIT 1 OFFSET $4",
            )
            .bind(tenant.as_str().to_owned())
            .bind(newest.clone())
            .bind(oldest.clone())
            .bind(number(SCANNED.saturating_sub(1)))
            .fetch_optional(self.database.connections())
            .await?;
            if let Some(last) = last {
                oldest.clone_from(&last);
                end_of_window = Some(last);
            }
        }
        let mut statement: QueryBuilder<Sqlite> = QueryBuilder::new(
            "SELECT run_id, kind, skill, version, outcome, error_type, started_ms, duration_us, \
             log_bytes FROM runs WHERE tenant = ",
        );
        statement.push_bind(tenant.as_str().to_owned());
        statement.push(" AND run_id < ").push_bind(newest);
        statement.push(" AND run_id >= ").push_bind(oldest);
        if let Some(kind) = filter.kind {
            statement.push(" AND kind = ").push_bind(kind.name());
        }
        if let Some(outcome) = filter.outcome {
            statement.push(" AND outcome = ").push_bind(outcome.name());
        }
        if let Some(skill) = &filter.skill {
            statement.push(" AND skill = ").push_bind(skill.as_str().to_owned());
        }
        statement.push(" ORDER BY run_id DESC LIMIT ");
        statement.push_bind(number(limit.saturating_add(1)));
        let rows: Vec<Columns> =
            statement.build_query_as().fetch_all(self.database.connections()).await?;
        let mut runs: Vec<RunSummary> = rows.into_iter().filter_map(summary).collect();
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let has_more = runs.len() > limit;
        runs.truncate(limit);
        let next = match has_more {
            true => runs.last().map(|run| run.run_id.clone()),
            false => end_of_window.and_then(|id| RunId::parse(&id).ok()),
        };
        Ok(ListedRuns { runs, next })
    }

    /// The tenants that have records, by name, at most `limit`: each is found by a look into the
    /// index, whatever number of records it has.
    ///
    /// # Errors
    ///
    /// The database failed.
    pub async fn tenants(&self, limit: usize) -> Result<Vec<TenantId>, DatabaseError> {
        let (mut tenants, mut last) = (Vec::new(), String::new());
        while tenants.len() < limit {
            let next: Option<String> =
                sqlx::query_scalar("SELECT MIN(tenant) FROM runs WHERE tenant > $1")
                    .bind(last)
                    .fetch_one(self.database.connections())
                    .await?;
            let Some(next) = next else { break };
            tenants.extend(TenantId::parse(&next).ok());
            last = next;
        }
        Ok(tenants)
    }

    /// The record of a run as JSON, if the tenant has such a run, of this kind if one is given.
    ///
    /// # Errors
    ///
    /// The database failed.
    pub async fn find(
        &self,
        tenant: &TenantId,
        kind: Option<RunKind>,
        run: &RunId,
    ) -> Result<Option<String>, DatabaseError> {
        let mut statement: QueryBuilder<Sqlite> =
            QueryBuilder::new("SELECT record FROM runs WHERE tenant = ");
        one(&mut statement, tenant, kind, run);
        let found = statement.build_query_scalar();
        Ok(found.fetch_optional(self.database.connections()).await?)
    }

    /// The most bytes that the result of a run in the background has, if it is kept.
    ///
    /// # Errors
    ///
    /// The database failed.
    pub async fn find_result(
        &self,
        tenant: &TenantId,
        run: &RunId,
    ) -> Result<Option<u64>, DatabaseError> {
        let size = "SELECT bytes FROM run_logs \
             WHERE tenant = $1 AND run_id = $2 AND result IS NOT NULL";
        let size = sqlx::query_scalar::<_, i64>(size)
            .bind(tenant.as_str().to_owned())
            .bind(run.as_str().to_owned());
        let size = size.fetch_optional(self.database.connections()).await?;
        let most = u64::try_from(MAX_RESULT).unwrap_or(u64::MAX);
        Ok(size.map(|size| count(size).min(most)))
    }

    /// The result of a run in the background, as JSON, if it is kept.
    ///
    /// # Errors
    ///
    /// The database failed.
    pub async fn read_result(
        &self,
        tenant: &TenantId,
        run: &RunId,
    ) -> Result<Option<String>, DatabaseError> {
        let result = "SELECT result FROM run_logs WHERE tenant = $1 AND run_id = $2";
        let result = sqlx::query_scalar::<_, Option<String>>(result)
            .bind(tenant.as_str().to_owned())
            .bind(run.as_str().to_owned());
        Ok(result.fetch_optional(self.database.connections()).await?.flatten())
    }

    /// The document of a run, if it is kept.
    ///
    /// # Errors
    ///
    /// The database failed.
    pub async fn read_document(
        &self,
        tenant: &TenantId,
        run: &RunId,
    ) -> Result<Option<String>, DatabaseError> {
        let document = "SELECT document FROM run_logs WHERE tenant = $1 AND run_id = $2";
        let document = sqlx::query_scalar::<_, Option<String>>(document)
            .bind(tenant.as_str().to_owned())
            .bind(run.as_str().to_owned());
        Ok(document.fetch_optional(self.database.connections()).await?.flatten())
    }

    /// The sizes of the log of a run, if the tenant has such a run.
    ///
    /// # Errors
    ///
    /// The database failed.
    pub async fn find_log(
        &self,
        tenant: &TenantId,
        kind: Option<RunKind>,
        run: &RunId,
    ) -> Result<Option<StoredLog>, DatabaseError> {
        let mut statement: QueryBuilder<Sqlite> =
            QueryBuilder::new("SELECT log_bytes FROM runs WHERE tenant = ");
        one(&mut statement, tenant, kind, run);
        let found = statement.build_query_scalar::<i64>();
        let Some(bytes) = found.fetch_optional(self.database.connections()).await? else {
            return Ok(None);
        };
        let size: Option<i64> =
            sqlx::query_scalar("SELECT bytes FROM run_logs WHERE tenant = $1 AND run_id = $2")
                .bind(tenant.as_str().to_owned())
                .bind(run.as_str().to_owned())
                .fetch_optional(self.database.connections())
                .await?;
        Ok(Some(StoredLog { bytes: count(bytes), size: size.map(count) }))
    }

    /// The pieces of the log of a run, as a JSON list.
    ///
    /// # Errors
    ///
    /// The database failed.
    pub async fn read_log(
        &self,
        tenant: &TenantId,
        run: &RunId,
    ) -> Result<Option<String>, DatabaseError> {
        let pieces = "SELECT pieces FROM run_logs WHERE tenant = $1 AND run_id = $2";
        let pieces = sqlx::query_scalar(pieces)
            .bind(tenant.as_str().to_owned())
            .bind(run.as_str().to_owned());
        Ok(pieces.fetch_optional(self.database.connections()).await?)
    }
}

fn one(
    statement: &mut QueryBuilder<Sqlite>,
    tenant: &TenantId,
    kind: Option<RunKind>,
    run: &RunId,
) {
    statement.push_bind(tenant.as_str().to_owned());
    statement.push(" AND run_id = ").push_bind(run.as_str().to_owned());
    if let Some(kind) = kind {
        statement.push(" AND kind = ").push_bind(kind.name());
    }
}

/// The summary in these columns; `None` if the id is malformed, which only a damaged file has.
fn summary(columns: Columns) -> Option<RunSummary> {
    let (run_id, kind, skill, version, outcome, error_type, started, duration, log) = columns;
    let run_id = RunId::parse(&run_id).ok()?;
    let (started_ms, duration_us, log_bytes) = (count(started), count(duration), count(log));
    Some(RunSummary {
        run_id,
        kind,
        skill,
        version,
        outcome,
        error_type,
        started_ms,
        duration_us,
        log_bytes,
    })
}
