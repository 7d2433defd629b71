//! Reads the records of one tenant.
//!
//! INVARIANT(own-records-only): every statement names the tenant, so another tenant's run looks like
//! one that does not exist. The one exception is the list of an operator
//! ([`WhoseRuns::Operator`]), which has nothing that a program or its caller wrote.

use sqlx::{QueryBuilder, Sqlite};

use crate::database::DatabaseError;
use crate::records::record::{MAX_RESULT, RunKind, RunOutcomeKind, RunSummary};
use crate::records::table::{RecordTable, StoredLog, before, bound_at, count, number};
use wardian_vocabulary::ids::{BlobId, RunId, SkillName, TenantId};

/// Most records that a page with filters reads. So a filter that fits nothing costs a caller many
/// short calls, and the server no long one.
pub(crate) const SCANNED: u64 = 5_000;

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
    /// Only runs that began at this time or earlier, in milliseconds since the Unix epoch.
    pub until_ms: Option<u64>,
    /// Only runs in which all of these words are found.
    pub search: Option<RunSearch>,
    /// Only runs that stored this blob: the newest thousand.
    pub blob: Option<BlobId>,
}

/// Words that are searched for: in titles, in names of skills, and in errors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunSearch(Vec<String>);

impl RunSearch {
    /// Most words of a search.
    pub const MAX_WORDS: usize = 8;

    /// Longest text of a search, in bytes.
    pub const MAX_LENGTH: usize = 200;

    /// The words of a text. `None` if it has none, too many, or is too long.
    #[must_use]
    pub fn of(text: &str) -> Option<Self> {
        let words: Vec<String> =
            text.to_lowercase().split_whitespace().map(str::to_owned).collect();
        let fits = text.len() <= Self::MAX_LENGTH && (1..=Self::MAX_WORDS).contains(&words.len());
        fits.then_some(Self(words))
    }
}

/// Maximum number of runs that are listed for one blob.
const MADE_BY: u64 = 1_000;

/// Whose runs are listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WhoseRuns {
    /// Those of one tenant, with their titles.
    Own(TenantId),
    /// Those of one tenant, or of all, for an operator. Titles are shown, and searched, only of the
    /// runs of `reader`: they are a part of what the others wrote.
    Operator {
        /// The tenant; `None` for all.
        tenant: Option<TenantId>,
        /// The tenant of the operator, if its key sees all runs of it.
        reader: Option<TenantId>,
    },
}

impl RunFilter {
    /// True if a record can be left out although its time fits.
    const fn leaves_out(&self) -> bool {
        self.kind.is_some()
            || self.outcome.is_some()
            || self.skill.is_some()
            || self.search.is_some()
    }
}

/// A page of the list of runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListedRuns {
    /// The runs, newest first.
    pub runs: Vec<RunSummary>,
    /// The id from which the next page continues, if there may be more.
    pub next: Option<RunId>,
}

/// Columns of a summary: id, tenant, title, kind, skill, version, outcome, type of the error, start,
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
        self.list_of(&WhoseRuns::Own(tenant.clone()), filter, cursor, limit).await
    }

    /// As [`Self::list`], also of other tenants.
    ///
    /// # Errors
    ///
    /// The database failed.
    pub async fn list_of(
        &self,
        whose: &WhoseRuns,
        filter: &RunFilter,
        cursor: Option<&RunId>,
        limit: u64,
    ) -> Result<ListedRuns, DatabaseError> {
        let mut window = Window {
            newest: before(cursor),
            oldest: bound_at(filter.since_ms.unwrap_or(0)),
            end: None,
        };
        if let Some(until) = filter.until_ms {
            window.newest = window.newest.min(bound_at(until.saturating_add(1)));
        }
        // The runs of one blob are few, and an index has them.
        if filter.leaves_out() && filter.blob.is_none() {
            self.narrow(whose, &mut window).await?;
        }
        let mut statement = listing(whose, filter, &window);
        statement.push(" ORDER BY runs.run_id DESC LIMIT ");
        statement.push_bind(number(limit.saturating_add(1)));
        let rows: Vec<Columns> =
            statement.build_query_as().fetch_all(self.database.connections()).await?;
        let mut runs: Vec<RunSummary> =
            rows.into_iter().filter_map(|row| summary(row, whose)).collect();
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let has_more = runs.len() > limit;
        runs.truncate(limit);
        let next = match has_more {
            true => runs.last().map(|run| run.run_id.clone()),
            false => window.end.and_then(|id| RunId::parse(&id).ok()),
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

    /// Ends a window after [`SCANNED`] records.
    async fn narrow(&self, whose: &WhoseRuns, window: &mut Window) -> Result<(), DatabaseError> {
        let mut statement: QueryBuilder<Sqlite> =
            QueryBuilder::new("SELECT runs.run_id FROM runs WHERE ");
        push_owner(&mut statement, whose);
        statement.push("runs.run_id < ").push_bind(window.newest.clone());
        statement.push(" AND runs.run_id >= ").push_bind(window.oldest.clone());
        statement.push(" ORDER BY runs.run_id DESC LIMIT 1 OFFSET ");
        statement.push_bind(number(SCANNED.saturating_sub(1)));
        let last: Option<String> =
            statement.build_query_scalar().fetch_optional(self.database.connections()).await?;
        if let Some(last) = last {
            window.oldest.clone_from(&last);
            window.end = Some(last);
        }
        Ok(())
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

    /// Upper bound on the size of the stored result of a background run, in bytes, if it is kept.
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

    /// What a run was given and what it left, as JSON, if it is kept.
    ///
    /// # Errors
    ///
    /// The database failed.
    pub async fn read_content(
        &self,
        tenant: &TenantId,
        run: &RunId,
    ) -> Result<Option<String>, DatabaseError> {
        let content = "SELECT content FROM run_logs WHERE tenant = $1 AND run_id = $2";
        let content = sqlx::query_scalar::<_, Option<String>>(content)
            .bind(tenant.as_str().to_owned())
            .bind(run.as_str().to_owned());
        Ok(content.fetch_optional(self.database.connections()).await?.flatten())
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

/// The ids of the records that a page may read.
struct Window {
    /// All ids are before this one.
    newest: String,
    /// The first of them.
    oldest: String,
    /// The id from which the next page continues, if this page ends before the last record.
    end: Option<String>,
}

/// The condition on the tenant, if there is one.
fn push_owner(statement: &mut QueryBuilder<Sqlite>, whose: &WhoseRuns) {
    let (WhoseRuns::Own(tenant) | WhoseRuns::Operator { tenant: Some(tenant), .. }) = whose else {
        return;
    };
    statement.push("runs.tenant = ").push_bind(tenant.as_str().to_owned()).push(" AND ");
}

/// The statement of a list, without its order.
fn listing(whose: &WhoseRuns, filter: &RunFilter, window: &Window) -> QueryBuilder<Sqlite> {
    let mut statement: QueryBuilder<Sqlite> =
        QueryBuilder::new("SELECT runs.run_id, runs.tenant, ");
    let reader = match whose {
        WhoseRuns::Own(_) => {
            statement.push("titles.title");
            None
        }
        WhoseRuns::Operator { reader, .. } => {
            let reader = reader.as_ref().map_or_else(String::new, ToString::to_string);
            statement.push("CASE WHEN runs.tenant = ").push_bind(reader.clone());
            statement.push(" THEN titles.title END");
            Some(reader)
        }
    };
    statement.push(
        ", kind, skill, version, outcome, error_type, started_ms, duration_us, log_bytes \
         FROM runs LEFT JOIN run_titles AS titles \
         ON titles.tenant = runs.tenant AND titles.run_id = runs.run_id WHERE ",
    );
    push_owner(&mut statement, whose);
    statement.push("runs.run_id < ").push_bind(window.newest.clone());
    statement.push(" AND runs.run_id >= ").push_bind(window.oldest.clone());
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
    for word in filter.search.iter().flat_map(|search| &search.0) {
        push_word(&mut statement, word, reader.as_deref());
    }
    statement
}

/// The condition that a run is found by a word. Records of earlier versions have no text to search
/// in; of those of others only the skill is searched, which they did not write into their program.
fn push_word(statement: &mut QueryBuilder<Sqlite>, word: &str, reader: Option<&str>) {
    const SKILL: &str = "lower(kind || ' ' || runs.run_id || ' ' || COALESCE(skill, '') || ' ' || \
                         COALESCE(version, '')";
    let own = format!("COALESCE(titles.search, {SKILL} || ' ' || COALESCE(error_type, '')))");
    statement.push(" AND instr(");
    match reader {
        None => statement.push(own),
        Some(reader) => {
            statement.push("CASE WHEN runs.tenant = ").push_bind(reader.to_owned());
            statement.push(format!(" THEN {own} ELSE {SKILL}) END"))
        }
    };
    statement.push(", ").push_bind(word.to_owned()).push(") > 0");
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
fn summary(columns: Columns, whose: &WhoseRuns) -> Option<RunSummary> {
    let (run_id, tenant, title, kind, skill, version, outcome, error_type, started, duration, log) =
        columns;
    let run_id = RunId::parse(&run_id).ok()?;
    let is_foreign = match whose {
        WhoseRuns::Own(_) => false,
        WhoseRuns::Operator { reader, .. } => {
            reader.as_ref().is_none_or(|reader| reader.as_str() != tenant)
        }
    };
    // The program chooses the class of an exception.
    let is_chosen = is_foreign && outcome == RunOutcomeKind::Exception.name();
    let error_type = error_type.filter(|_| !is_chosen);
    let (started_ms, duration_us, log_bytes) = (count(started), count(duration), count(log));
    Some(RunSummary {
        run_id,
        tenant: matches!(whose, WhoseRuns::Operator { .. }).then_some(tenant),
        title,
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
